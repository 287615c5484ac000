#include "godwit/rpc/message.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

#include "rpc_station.hpp"

namespace godwit::inline v0::rpc {
namespace {

using test::error_of;
using test::message_of;
using test::same_json;
using test::Station;

template <class T>
T parse_as(std::string_view text) {
  auto parsed = parse_message(text);
  EXPECT_TRUE(parsed) << text;
  if (!parsed || !parsed->single()) return {};
  T* const held = std::get_if<T>(parsed->single());
  EXPECT_NE(held, nullptr) << text;
  return held ? *held : T{};
}

std::string refused(std::string_view text, const Rules& rules = {}) {
  const auto parsed = parse_message(text, rules);
  if (parsed) return "accepted";
  EXPECT_EQ(parsed.error().code, code::invalid_request) << text;
  return parsed.error().message;
}

TEST(Message, ReadsTheFourKinds) {
  EXPECT_EQ(parse_as<Request>(R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1]}})"),
            make_request(1, "m", json::Object{{"a", json::Array{1}}}));
  EXPECT_EQ(parse_as<Request>(R"({"jsonrpc":"2.0","id":null,"method":"m"})"),
            make_request({}, "m"));
  EXPECT_EQ(parse_as<Notification>(R"({"jsonrpc":"2.0","method":"m","params":[1,2]})"),
            make_notification("m", json::Array{1, 2}));
  EXPECT_EQ(parse_as<Response>(R"({"jsonrpc":"2.0","id":"x","result":null})"),
            make_response("x", nullptr));
  EXPECT_EQ(parse_as<ErrorResponse>(
                R"({"jsonrpc":"2.0","id":null,"error":{"code":7,"message":"m","data": [1, 2]}})"),
            make_error(Id(), Error{.code = 7, .message = "m", .data = "[1, 2]"}));
}

TEST(Message, WritesWhatItReads) {
  for (const char* text :
       {R"({"jsonrpc":"2.0","id":18446744073709551616,"method":"m"})",
        R"({"jsonrpc":"2.0","id":"x","method":"m","params":[1.5,"a"],"trace":{"a":1},"Method":2})",
        R"({"jsonrpc":"2.0","method":"","params":{}})",
        R"({"jsonrpc":"2.0","id":1,"result":[],"x":null})",
        R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}})",
        R"({"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"","data":{"a":null}}})"}) {
    auto parsed = parse_message(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(serialize(*parsed->single()), text);
  }
  const auto unreadable = make_error(std::nullopt, parse_error());
  EXPECT_EQ(serialize(unreadable),
            R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}})");
  EXPECT_EQ(serialize(std::vector<Message>{make_notification("a"), make_response(1, true)}),
            R"([{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":1,"result":true}])");
}

TEST(Message, KeepsUnknownMembers) {
  const auto request = parse_as<Request>(
      R"({"extra":1,"jsonrpc":"2.0","id":1,"method":"m","Params":[1],"method\u0000":"n"})");
  EXPECT_EQ(
      request.extra,
      (json::Object{{"extra", 1}, {"Params", json::Array{1}}, {std::string("method\0", 7), "n"}}));
  EXPECT_FALSE(request.params);
}

TEST(Message, BuildsParamsFromStructs) {
  struct Point {
    int x{};
    double y{};
  };
  const Request request = make_request("p", "move", to_value(Point{.x = 1, .y = 2.5}));
  EXPECT_EQ(serialize(request),
            R"({"jsonrpc":"2.0","id":"p","method":"move","params":{"x":1,"y":2.5}})");
}

TEST(Message, RefusesWhatIsNoMessage) {
  EXPECT_EQ(refused("5"), "Invalid request: a message must be an object, got number");
  EXPECT_EQ(refused("null"), "Invalid request: a message must be an object, got null");
  EXPECT_EQ(refused("{}"), R"(Invalid request: "jsonrpc" must be "2.0")");
  for (const char* version : {"\"1.0\"", "2.0", "\"2\"", "\"2.0 \"", "null", "\"2.0\\u0000\""}) {
    EXPECT_EQ(refused(std::string(R"({"id":1,"method":"m","jsonrpc":)") + version + "}"),
              R"(Invalid request: "jsonrpc" must be "2.0")")
        << version;
  }
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":1})"),
            R"(Invalid request: there is neither "method" nor "result" nor "error")");
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":1,"method":1})"),
            R"(Invalid request: "method" must be a string)");
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":true,"method":"m"})"),
            R"(Invalid request: "id" must be a string or a number)");
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":1,"method":"m","params":"p"})"),
            R"(Invalid request: "params" must be an object or an array)");
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":1,"method":"m","params":null})"),
            R"(Invalid request: "params" must be an object or an array)");
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":1,"method":"m","result":1})"),
            R"(Invalid request: a request must not have "result" or "error")");
}

TEST(Message, RefusesResponsesThatAreNone) {
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"m"}})"),
            R"(Invalid request: a response must not have both "result" and "error")");
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","result":1})"),
            R"(Invalid request: a response must have the "id" of its request)");
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","error":{"code":1,"message":"m"}})"),
            R"(Invalid request: a response must have the "id" of its request, or null)");
  for (const char* error : {"null", "\"no\"", "[]", "7"}) {
    EXPECT_EQ(refused(std::string(R"({"jsonrpc":"2.0","id":1,"error":)") + error + "}"),
              R"(Invalid request: "error" must be an object)");
  }
  for (const char* error : {"{}", R"({"code":"1","message":"m"})", R"({"code":1.5,"message":"m"})",
                            R"({"code":99999999999999999999,"message":"m"})"}) {
    EXPECT_EQ(refused(std::string(R"({"jsonrpc":"2.0","id":1,"error":)") + error + "}"),
              R"(Invalid request: "error" must have an integer "code")");
  }
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":null}})"),
            R"(Invalid request: "error" must have a string "message")");
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","code":2}})"),
            R"(Invalid request: the member "code" occurs twice in "error")");
}

TEST(Message, RefusesDuplicates) {
  for (const char* member : {"jsonrpc", "method", "params", "id", "other"}) {
    std::string text = R"({"jsonrpc":"2.0","method":"m","params":{},"id":1,"other":0,)";
    text += "\"" + std::string(member) + "\":1}";
    EXPECT_EQ(refused(text),
              "Invalid request: the member \"" + std::string(member) + "\" occurs twice");
  }
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","method":"m","\u006dethod":"m","id":1})"),
            R"(Invalid request: the member "method" occurs twice)");
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","method":"m","id":1,"params":{"a":1,"b":1,"a":1}})"),
            R"(Invalid request: the member "a" occurs twice in "params")");
  // Deeper is the business of whoever reads it.
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","method":"m","id":1,"params":{"a":{"b":1,"b":2}}})"),
            "accepted");
}

TEST(Message, RulesTightenWhatIsTaken) {
  const char* positional = R"({"jsonrpc":"2.0","id":1,"method":"m","params":[]})";
  EXPECT_EQ(refused(positional), "accepted");
  EXPECT_EQ(refused(positional, {.array_params = false}),
            R"(Invalid request: "params" must be an object)");
  const char* scalar = R"({"jsonrpc":"2.0","id":1,"result":5})";
  EXPECT_EQ(refused(scalar), "accepted");
  EXPECT_EQ(refused(scalar, {.object_result = true}),
            R"(Invalid request: "result" must be an object)");
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":1,"result":{}})", {.object_result = true}),
            "accepted");
  EXPECT_EQ(refused("[]", {.batch = false}),
            "Invalid request: batches are not part of this protocol; send one message at a time");
  const char* no_id = R"({"jsonrpc":"2.0","error":{"code":1,"message":"m"}})";
  EXPECT_EQ(refused(no_id, {.id_on_unreadable = false}), "accepted");
  // Null stays readable where it should not be sent.
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}})",
                    {.null_id = false, .id_on_unreadable = false}),
            "accepted");
}

TEST(Message, ParsesBatchesEntryByEntry) {
  const auto parsed =
      parse_message(R"([{"jsonrpc":"2.0","method":"a"},5,{"jsonrpc":"2.0","id":1}])");
  ASSERT_TRUE(parsed);
  ASSERT_TRUE(parsed->is_batch());
  EXPECT_EQ(parsed->single(), nullptr);
  const auto& entries = *parsed->batch();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_TRUE(entries[0]);
  EXPECT_EQ(entries[1].error().code, code::invalid_request);
  EXPECT_EQ(entries[2].error().code, code::invalid_request);
  EXPECT_EQ(refused("[]"), "Invalid request: an empty batch");
}

TEST(Message, HonoursTheLimits) {
  const std::string text = R"({"jsonrpc":"2.0","method":"m"})";
  EXPECT_TRUE(parse_message(text, {}, {.message_bytes_in = text.size()}));
  EXPECT_EQ(parse_message(text, {}, {.message_bytes_in = text.size() - 1}).error().code,
            code::invalid_request);
  EXPECT_TRUE(parse_message("[1,1]", {}, {.batch_entries = 2}));
  EXPECT_EQ(parse_message("[1,1,1]", {}, {.batch_entries = 2}).error().message,
            "Invalid request: a batch of 3 entries, more than 2");
  const auto deep = parse_message("[[[[]]]]", {}, {.json_depth = 3});
  EXPECT_EQ(deep.error().code, code::parse_error);
  EXPECT_TRUE(deep.error().message.starts_with("Parse error: ")) << deep.error().message;
  EXPECT_TRUE(json::parse(deep.error().data));  // where
}

TEST(Message, KnowsWhoMaySendWhat) {
  EXPECT_TRUE(as_client_message(make_request(1, "m")));
  EXPECT_TRUE(as_client_message(make_notification("m")));
  EXPECT_EQ(as_client_message(make_response(1, 1)).error().code, code::invalid_request);
  EXPECT_EQ(as_client_message(make_error(Id(1), Error{})).error().code, code::invalid_request);
  EXPECT_EQ(as_server_message(make_request(1, "m")).error().code, code::invalid_request);
  EXPECT_TRUE(as_server_message(make_notification("m")));
  EXPECT_TRUE(as_server_message(make_response(1, 1)));
  EXPECT_TRUE(as_server_message(make_error(Id(1), Error{})));
}

// Names are compared byte for byte: no case, no folding, no NUL that ends a string early.

TEST(Message, VariantsOfMemberNamesAreUnknownMembers) {
  auto router = std::make_shared<Router>();
  router->on("m", [](json::Value params) { return params; });
  Station station(router);
  std::mt19937 random(20240731);
  const std::vector<std::string> names = {"jsonrpc", "method", "params", "id"};
  const auto vary = [&](const std::string& name) {
    std::string out = name;
    switch (random() % 5) {
      case 0:
        return out + "\\u0000";
      case 1:
        return "\\ufeff" + out;
      case 2:
        return out + " ";
      default:
        for (char& c : out) {
          if (random() % 2 == 0) c = static_cast<char>(c - 'a' + 'A');
        }
        return out == name ? out + "\xc5\xbf" : out;  // a long s, which folds to s
    }
  };
  for (int i = 0; i < 500; ++i) {
    const std::string& name = names[random() % names.size()];
    const std::string other = "\"" + vary(name) + "\":\"evil\"";
    // Beside the real one it is ignored …
    EXPECT_EQ(
        station.receive(R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1},)" + other + "}"),
        R"({"jsonrpc":"2.0","id":1,"result":{"a":1}})")
        << other;
    // … and does not take its place.
    EXPECT_EQ(error_of(station.receive(R"({"jsonrpc":"2.0","id":7,)" +
                                       (name == "method" ? other : "\"Method\":\"m\"") + "}")),
              "-32600 7");
  }
}

TEST(Message, APeerTellsWhichRequestItRefused) {
  Station station;
  // The id is clear, so the caller is told at once, whatever else is wrong.
  for (const char* rest :
       {R"("method":"m","method":"n")", R"("method":1)", R"("method":"m","params":3)",
        R"("method":"m","x":1,"x":2)", R"("method":"m","params":{"a":1,"a":2})", R"("x":1)"}) {
    const std::string answer =
        station.receive(std::string(R"({"jsonrpc":"2.0","id":"a",)") + rest + "}");
    EXPECT_EQ(error_of(answer), R"(-32600 "a")") << rest;
  }
  EXPECT_EQ(error_of(station.receive(R"({"jsonrpc":"2.0","id":1,"method":"m","id":2})")),
            "-32600 null");
  EXPECT_EQ(error_of(station.receive(R"({"id":4,"method":"m"})")), "-32600 4");
  EXPECT_EQ(message_of(station.receive(R"({"jsonrpc":"2.0","id":1,"method":"m","id":2})")),
            R"(Invalid request: the member "id" occurs twice)");
}

TEST(Message, AnswersToTheUnreadableWithOrWithoutId) {
  Station plain;
  EXPECT_EQ(error_of(plain.receive("{")), "-32700 null");
  EXPECT_EQ(error_of(plain.receive("5")), "-32600 null");
  Station bare(nullptr, {.rules = {.id_on_unreadable = false}});
  EXPECT_EQ(error_of(bare.receive("{")), "-32700 none");
  EXPECT_EQ(error_of(bare.receive("5")), "-32600 none");
  EXPECT_EQ(error_of(bare.receive(R"({"jsonrpc":"2.0","id":1,"method":5})")), "-32600 1");
  EXPECT_EQ(error_of(bare.receive("\xff\xfe")), "-32700 none");
}

}  // namespace
}  // namespace godwit::inline v0::rpc
