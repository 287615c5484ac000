#include "godwit/rpc/meta.hpp"

#include <gtest/gtest.h>

#include <string>

#include "godwit/json/document.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/rpc/message.hpp"
#include "rpc_station.hpp"

namespace godwit::inline v0::rpc {
namespace {

using test::error_of;
using test::message_of;
using test::Station;

Result<std::optional<RequestMeta>> meta_of(std::string_view params) {
  json::Document document;
  return request_meta(*document.parse(params));
}

TEST(Meta, ReadsTheProgressToken) {
  const auto number = meta_of(R"({"_meta":{"progressToken":12345678901234567890}})");
  ASSERT_TRUE(number && *number && (*number)->progress_token);
  EXPECT_EQ((*number)->progress_token->id().text(), "12345678901234567890");
  const auto text = meta_of(R"({"_meta":{"progressToken":"a"}})");
  ASSERT_TRUE(text && *text);
  EXPECT_EQ((*text)->progress_token, ProgressToken("a"));
  EXPECT_NE(ProgressToken("1"), ProgressToken(1));
}

TEST(Meta, KeepsWhatItDoesNotKnow) {
  const auto meta = meta_of(R"({"a":1,"_meta":{"x/y":{"z":[1]},"progressToken":7,"b":null}})");
  ASSERT_TRUE(meta && *meta);
  EXPECT_EQ((*meta)->other,
            (json::Object{{"x/y", json::Object{{"z", json::Array{1}}}}, {"b", nullptr}}));
  EXPECT_EQ(json::encode(**meta), R"({"progressToken":7,"x/y":{"z":[1]},"b":null})");
}

TEST(Meta, IsOptional) {
  for (const char* params : {"{}", R"({"a":1})", "[]", "[1]"}) {
    const auto meta = meta_of(params);
    ASSERT_TRUE(meta) << params;
    EXPECT_FALSE(*meta) << params;
  }
  const auto none = request_meta(json::View());
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
}

TEST(Meta, NamesWhatIsWrong) {
  EXPECT_EQ(meta_of(R"({"_meta":5})").error().message, "/_meta: expected an object, got 5");
  EXPECT_EQ(meta_of(R"({"_meta":{"progressToken":1.5}})").error().message,
            "/_meta/progressToken: expected a string or an integer, got 1.5");
  EXPECT_EQ(meta_of(R"({"_meta":{"progressToken":null}})").error().code, code::invalid_params);
  EXPECT_EQ(meta_of(R"({"_meta":{"progressToken":true}})").error().code, code::invalid_params);
}

TEST(Meta, IsNotJudgedByTheEnvelope) {
  auto router = std::make_shared<Router>();
  router->on("ok", [](json::Value) { return true; });
  Station station(router);
  for (const char* meta : {"5", "null", "[]", R"({"progressToken":[]})"}) {
    const std::string answer = station.receive(
        std::string(R"({"jsonrpc":"2.0","id":1,"method":"ok","params":{"_meta":)") + meta + "}}");
    EXPECT_EQ(answer, R"({"jsonrpc":"2.0","id":1,"result":true})") << meta;
  }
}

TEST(Meta, WithDuplicatesIsRefusedByTheEnvelope) {
  auto router = std::make_shared<Router>();
  router->on("ok", [](json::Value) { return true; });
  Station station(router);
  const std::string answer = station.receive(
      R"({"jsonrpc":"2.0","id":1,"method":"ok","params":{"_meta":{"a":1,"b":2,"a":3}}})");
  EXPECT_EQ(error_of(answer), "-32600 1");
  EXPECT_EQ(message_of(answer), R"(Invalid request: the member "a" occurs twice in "_meta")");
  // A name with a NUL at its end is another name.
  EXPECT_EQ(station.receive(
                R"({"jsonrpc":"2.0","id":1,"method":"ok","params":{"_meta":{"a":1,"a\u0000":3}}})"),
            R"({"jsonrpc":"2.0","id":1,"result":true})");
}

TEST(Meta, OfManyMembersIsReadInLinearTime) {
  std::string params = R"({"_meta":{)";
  for (int i = 0; i < 10'000; ++i) params += "\"" + std::to_string(i) + "\":0,";
  params += R"("progressToken":1}})";
  for (int round = 0; round < 20; ++round) {
    const auto meta = meta_of(params);
    ASSERT_TRUE(meta && *meta);
    EXPECT_EQ((*meta)->other.size(), 10'000u);
  }
}

}  // namespace
}  // namespace godwit::inline v0::rpc
