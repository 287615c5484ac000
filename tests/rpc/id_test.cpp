#include "godwit/rpc/id.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <unordered_set>

#include "godwit/json/document.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/rpc/message.hpp"
#include "rpc_station.hpp"

namespace godwit::inline v0::rpc {
namespace {

using test::error_of;
using test::same_json;
using test::Station;

std::optional<Id> read(std::string_view text) {
  json::Document document;
  const auto root = document.parse(text);
  EXPECT_TRUE(root) << text;
  return Id::from(*root);
}

TEST(Id, KeepsTheTextOfEveryKind) {
  for (const char* text : {"null",
                           "0",
                           "1",
                           "-7",
                           "9007199254740993",
                           "9223372036854775807",
                           "-9223372036854775808",
                           "9223372036854775808",
                           "18446744073709551615",
                           "18446744073709551616",
                           "123456789012345678901234567890123456789012345678901234567890",
                           "1.5",
                           "1.0",
                           "1e3",
                           "1E+3",
                           "-0",
                           "-0.0",
                           "\"\"",
                           "\"1\"",
                           "\"a\\\"b\\n\"",
                           "\"\\u0000\"",
                           "\"\xc3\xa9\""}) {
    const auto id = read(text);
    ASSERT_TRUE(id) << text;
    EXPECT_EQ(id->text(), text);
    std::string written;
    json::Writer writer(written);
    json::Document document;
    write_id(writer, *document.parse(text));
    EXPECT_EQ(written, text);
  }
}

TEST(Id, IsNothingElse) {
  for (const char* text : {"true", "false", "[]", "[1]", "{}", "{\"id\":1}"}) {
    EXPECT_FALSE(read(text)) << text;
  }
  EXPECT_FALSE(Id::from(json::View()));
}

TEST(Id, TypeAndValueCount) {
  EXPECT_EQ(Id(1), Id(1u));
  EXPECT_NE(Id(1), Id("1"));
  EXPECT_NE(Id(), Id(""));
  EXPECT_NE(Id(), Id(0));
  EXPECT_NE(*read("1"), *read("1.0"));
  EXPECT_NE(*read("18446744073709551616"), Id("18446744073709551616"));
  EXPECT_EQ(*read("18446744073709551615"), Id(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_EQ(*read("\"\\u0061\""), Id("a"));  // the escape is spelling, not value

  std::unordered_set<Id, IdHash> set;
  for (const char* text : {"1", "\"1\"", "1.0", "null", "\"null\"", "18446744073709551616"}) {
    EXPECT_TRUE(set.insert(*read(text)).second) << text;
    EXPECT_FALSE(set.insert(*read(text)).second) << text;
  }
}

TEST(Id, TellsItsKind) {
  EXPECT_TRUE(Id().is_null());
  EXPECT_TRUE(Id(5).is_number());
  EXPECT_EQ(Id(5).integer(), 5);
  EXPECT_FALSE(Id(5).string());
  EXPECT_TRUE(Id(std::numeric_limits<std::uint64_t>::max()).is_number());
  EXPECT_FALSE(Id(std::numeric_limits<std::uint64_t>::max()).integer());
  EXPECT_TRUE(Id("x").is_string());
  EXPECT_EQ(Id("x").string(), "x");
  EXPECT_FALSE(Id("x").is_number());
  EXPECT_FALSE(Id().is_number());
}

TEST(Id, IsAFieldOfAStruct) {
  struct Cancelled {
    Id id{};
    std::optional<Id> other{};
  };
  const auto in = json::decode<Cancelled>(R"({"id":12345678901234567890})");
  ASSERT_TRUE(in);
  EXPECT_EQ(in->id.text(), "12345678901234567890");
  EXPECT_EQ(json::encode(*in), R"({"id":12345678901234567890})");
  EXPECT_EQ(json::decode<Cancelled>(R"({"id":[]})").error().message,
            "/id: expected a string or a number, got an array of 0");
}

// The same ids through a peer: the answer carries what came, character by character.

TEST(Id, ComesBackAsItWasSent) {
  auto router = std::make_shared<Router>();
  router->on("one", [] { return 1; });
  router->on("later", [](Reply<int> reply) { reply(1); });
  Station station(router);
  for (const char* id :
       {"0", "-1", "9007199254740993", "18446744073709551615", "18446744073709551616",
        "-123456789012345678901234567890", "1.5", "1.0", "2E3", "-0", "\"\"", "\"7\"",
        "\"\\\"\\\\\\n\"", "\"\xf0\x9f\x90\xa6\"", "null"}) {
    for (const char* method : {"one", "later", "none"}) {
      const std::string answer = station.receive(std::string(R"({"jsonrpc":"2.0","method":")") +
                                                 method + R"(","id":)" + id + "}");
      EXPECT_NE(answer.find(std::string(R"("id":)") + id + ","), answer.npos) << answer;
    }
  }
}

TEST(Id, RulesDecideAboutNullAndFractions) {
  auto router = std::make_shared<Router>();
  router->on("one", [] { return 1; });
  const char* null_id = R"({"jsonrpc":"2.0","method":"one","id":null})";
  const char* fraction = R"({"jsonrpc":"2.0","method":"one","id":1.5})";
  const char* exponent = R"({"jsonrpc":"2.0","method":"one","id":1e2})";

  Station plain(router);
  EXPECT_TRUE(same_json(plain.receive(null_id), R"({"jsonrpc":"2.0","id":null,"result":1})"));
  EXPECT_EQ(plain.receive(fraction), R"({"jsonrpc":"2.0","id":1.5,"result":1})");
  EXPECT_EQ(plain.receive(exponent), R"({"jsonrpc":"2.0","id":1e2,"result":1})");

  Station strict(router, {.rules = {.null_id = false, .fractional_id = false}});
  EXPECT_EQ(error_of(strict.receive(null_id)), "-32600 null");
  EXPECT_EQ(error_of(strict.receive(fraction)), "-32600 null");
  EXPECT_EQ(error_of(strict.receive(exponent)), "-32600 null");
  EXPECT_EQ(strict.receive(R"({"jsonrpc":"2.0","method":"one","id":18446744073709551616})"),
            R"({"jsonrpc":"2.0","id":18446744073709551616,"result":1})");
  EXPECT_FALSE(parse_message(null_id, {.null_id = false}));
  EXPECT_TRUE(parse_message(null_id));
  EXPECT_FALSE(parse_message(fraction, {.fractional_id = false}));
  EXPECT_TRUE(parse_message(fraction));
}

}  // namespace
}  // namespace godwit::inline v0::rpc
