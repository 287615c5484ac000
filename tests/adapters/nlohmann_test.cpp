#include "godwit/adapters/nlohmann.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/json/schema_of.hpp"
#include "godwit/rpc/peer.hpp"
#include "godwit/rpc/router.hpp"

namespace json = godwit::json;
namespace rpc = godwit::rpc;
using godwit::from_nlohmann;
using godwit::to_nlohmann;

namespace {

constexpr std::string_view sample =
    R"({"z":[1,-2,1.5,1.0,"text",null,true,{}],"a":{"b":{"c":[]}},"":"empty \u0000 name"})";

TEST(Nlohmann, ThereAndBack) {
  const json::Value value = *json::parse(sample);
  EXPECT_EQ(to_nlohmann(value), nlohmann::json::parse(sample));
  EXPECT_EQ(from_nlohmann(nlohmann::json::parse(sample)), value);
  EXPECT_EQ(from_nlohmann(to_nlohmann(value)), value);
  // ordered_json keeps the order, too.
  const auto ordered = to_nlohmann<nlohmann::ordered_json>(value);
  EXPECT_EQ(ordered.dump(), nlohmann::ordered_json::parse(sample).dump());
  EXPECT_EQ(from_nlohmann(ordered).dump(), value.dump());
}

TEST(Nlohmann, IntegersAreExact) {
  for (const std::string_view text :
       {"0", "-1", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
        "18446744073709551615", "9007199254740993"}) {
    EXPECT_EQ(to_nlohmann(*json::parse(text)).dump(), text);
    EXPECT_EQ(from_nlohmann(nlohmann::json::parse(text)).dump(), text);
    EXPECT_EQ(json::decode<nlohmann::json>(text)->dump(), text);
    EXPECT_EQ(json::encode(nlohmann::json::parse(text)), text);
  }
  EXPECT_TRUE(to_nlohmann(*json::parse("1.0")).is_number_float());
  EXPECT_TRUE(json::decode<nlohmann::json>("-0")->is_number_float());
  EXPECT_EQ(json::encode(nlohmann::json(1.0)), "1.0");
}

TEST(Nlohmann, IntegersBeyond64BitsBecomeDoubles) {
  const nlohmann::json big = to_nlohmann(*json::parse("18446744073709551616"));
  EXPECT_TRUE(big.is_number_float());
  EXPECT_EQ(big.get<double>(), 0x1p64);
  // Nothing holds these.
  const std::string huge = "[1" + std::string(400, '0') + "]";
  EXPECT_THROW(to_nlohmann(*json::parse(huge)), json::TypeError);
  EXPECT_EQ(json::decode<nlohmann::json>(huge).error().data, R"({"path":"/0"})");
}

TEST(Nlohmann, WhatJsonCannotCarry) {
  EXPECT_EQ(json::encode(nlohmann::json(std::nan(""))), "null");
  EXPECT_EQ(json::encode(nlohmann::json("a\xff")), "\"a\xef\xbf\xbd\"");
  const auto binary = nlohmann::json::binary({1, 255}, 7);
  EXPECT_EQ(json::encode(binary), R"({"bytes":[1,255],"subtype":7})");
  EXPECT_EQ(json::encode(binary), binary.dump());
  EXPECT_EQ(from_nlohmann(binary).dump(), binary.dump());
  EXPECT_EQ(json::encode(nlohmann::json::binary({})), R"({"bytes":[],"subtype":null})");
  EXPECT_TRUE(from_nlohmann(nlohmann::json(nlohmann::json::value_t::discarded)).is_null());
}

TEST(Nlohmann, OfTwoMembersOfOneNameTheLastWins) {
  constexpr std::string_view text = R"({"a":{"x":1},"b":2,"a":3})";
  EXPECT_EQ(json::decode<nlohmann::json>(text)->dump(), R"({"a":3,"b":2})");
  EXPECT_EQ(json::decode<nlohmann::ordered_json>(text)->dump(), R"({"a":3,"b":2})");
}

struct Envelope {
  int version{};
  nlohmann::json payload{};
  std::optional<nlohmann::ordered_json> extra{};
  std::vector<nlohmann::json> list{};
};

TEST(Nlohmann, AsAStructField) {
  constexpr std::string_view text =
      R"({"version":1,"payload":{"k":[1,null]},"extra":{"z":1,"a":2},"list":[true,"x"]})";
  const auto envelope = json::decode<Envelope>(text);
  ASSERT_TRUE(envelope) << envelope.error().message;
  EXPECT_EQ(envelope->payload["k"][0], 1);
  EXPECT_EQ(envelope->extra->begin().key(), "z");
  EXPECT_EQ(json::encode(*envelope), text);
  EXPECT_EQ(json::decode<Envelope>(R"({"version":1,"list":[]})").error().message,
            R"(the member "payload" is missing)");
  EXPECT_EQ(json::schema_of<Envelope>()["properties"]["payload"], json::Value(json::Object{}));
}

struct Ends {
  rpc::MessageSink to_server{[this](std::string_view text) { server->receive(text); }};
  rpc::MessageSink to_client{[this](std::string_view text) { client->receive(text); }};
  std::shared_ptr<rpc::Router> router = std::make_shared<rpc::Router>();
  std::unique_ptr<rpc::Peer> server{};
  std::unique_ptr<rpc::Peer> client{};

  void connect() {
    server = std::make_unique<rpc::Peer>(to_client, router);
    client = std::make_unique<rpc::Peer>(to_server);
  }
};

TEST(Nlohmann, AsArgumentAndResultOfAHandler) {
  Ends ends;
  ends.router->on("merge", [](nlohmann::json in) {
    in["seen"] = in.size();
    return in;
  });
  ends.router->on("pair", {"left", "right"},
                  [](const nlohmann::json& left,
                     nlohmann::ordered_json right) -> godwit::Result<nlohmann::json> {
                    if (left.is_null()) return rpc::invalid_params("left is null");
                    return nlohmann::json::array({left, right});
                  });
  ends.router->on("later", [](nlohmann::json in, rpc::Reply<nlohmann::json> reply) {
    reply(nlohmann::json::object({{"got", std::move(in)}}));
  });
  ends.connect();

  std::vector<std::string> outcomes;
  const auto call = [&](std::string_view method, const auto& params) {
    ends.client->call<nlohmann::json>(method, params, [&](godwit::Result<nlohmann::json> outcome) {
      outcomes.push_back(outcome ? outcome->dump() : outcome.error().message);
    });
  };
  call("merge", nlohmann::json{{"b", 1}, {"a", {1, 2.5, nullptr}}});
  call("merge", nlohmann::json::object());
  call("pair", nlohmann::json::array({1, {{"k", "v"}}}));
  call("pair", nlohmann::json{{"left", nullptr}, {"right", 2}});
  call("later", nlohmann::ordered_json{{"x", 18446744073709551615u}});
  call("later", rpc::no_params);
  ends.server->process();
  EXPECT_EQ(outcomes,
            (std::vector<std::string>{R"({"a":[1,2.5,null],"b":1,"seen":2})", R"({"seen":0})",
                                      R"([1,{"k":"v"}])", "Invalid params: left is null",
                                      R"({"got":{"x":18446744073709551615}})", R"({"got":null})"}));
}

}  // namespace
