#include <gtest/gtest.h>

#include "rig.hpp"

using namespace std::chrono_literals;
using godwit::ClientOptions;
using godwit::RequestOptions;
using godwit::json::Value;
using godwit::test::Outcome;
using godwit::test::Rig;

namespace {

std::string contents(std::string_view text, std::string_view ttl = "1000") {
  return R"({"resultType":"complete","contents":[{"uri":"f:a","text":")" + std::string(text) +
         R"("}],"ttlMs":)" + std::string(ttl) + R"(,"cacheScope":"private"})";
}

std::string tools(std::string_view name, std::string_view next = "",
                  std::string_view ttl = "1000") {
  return R"({"tools":[{"name":")" + std::string(name) + R"(","inputSchema":{"type":"object"}}])" +
         (next.empty() ? "" : R"(,"nextCursor":")" + std::string(next) + '"') + R"(,"ttlMs":)" +
         std::string(ttl) + R"(,"cacheScope":"public"})";
}

/// Reads; gives the text, or "asked" if the server was asked for it (and answered with `answer`).
std::string read(Rig& rig, std::string_view uri, std::string_view answer,
                 RequestOptions options = {}) {
  Outcome<godwit::ReadResult> outcome;
  rig.session().read_resource(uri, outcome.taker(), std::move(options));
  const bool asked = !rig.silent();
  if (asked) rig.answer(rig.next("resources/read"), answer);
  EXPECT_TRUE(outcome.good()) << outcome.message();
  if (asked) return "asked";
  return std::get<godwit::TextResourceContents>(outcome.value().contents.at(0)).text;
}

/// Lists the tools; how many requests that took.
std::size_t list(Rig& rig, std::vector<std::string> answers) {
  Outcome<std::vector<godwit::Tool>> outcome;
  rig.session().list_tools(outcome.taker());
  std::size_t asked = 0;
  while (!rig.silent()) {
    if (asked >= answers.size()) {
      ADD_FAILURE() << "asked too often";
      break;
    }
    rig.answer(rig.next("tools/list"), answers[asked++]);
  }
  EXPECT_TRUE(outcome.good()) << outcome.message();
  return asked;
}

}  // namespace

TEST(Cache, AnswersAreKeptAsLongAsTheySay) {
  const auto rig = Rig::stateless();
  EXPECT_EQ(read(*rig, "f:a", contents("one")), "asked");
  EXPECT_EQ(read(*rig, "f:a", contents("two")), "one");
  EXPECT_EQ(read(*rig, "f:b", contents("b")), "asked");
  rig->pass(999ms);
  EXPECT_EQ(read(*rig, "f:a", contents("two")), "one");
  rig->pass(1ms);
  EXPECT_EQ(read(*rig, "f:a", contents("two")), "asked");
  EXPECT_EQ(read(*rig, "f:a", contents("three")), "two");
}

TEST(Cache, OddTimesMeanNotAtAll) {
  const auto rig = Rig::stateless();
  for (const char* ttl : {"0", "-1", "null", "\"1000\"", "1.5", "{}"}) {
    EXPECT_EQ(read(*rig, "f:a", contents("x", ttl)), "asked") << ttl;
  }
  EXPECT_EQ(read(*rig, "f:a", R"({"contents":[{"uri":"f:a","text":"x"}]})"), "asked");
  EXPECT_EQ(read(*rig, "f:a", contents("x", "9223372036854775807")), "asked");
  EXPECT_EQ(read(*rig, "f:a", contents("y")), "x");
  rig->pass(25h);  // longer than anything is believed
  EXPECT_EQ(read(*rig, "f:a", contents("y")), "asked");
}

TEST(Cache, ItCanBePassedByAndSwitchedOff) {
  const auto rig = Rig::stateless();
  EXPECT_EQ(read(*rig, "f:a", contents("one")), "asked");
  EXPECT_EQ(read(*rig, "f:a", contents("two"), {.fresh = true}), "asked");
  EXPECT_EQ(read(*rig, "f:a", contents("x")), "two");
  EXPECT_EQ(read(*rig, "f:a", contents("x"), {.meta = {{"a/b", 1}}}), "asked");
  EXPECT_EQ(read(*rig, "f:a", contents("x")), "two");
  ClientOptions options;
  options.cache = false;
  const auto off = Rig::stateless(options);
  EXPECT_EQ(read(*off, "f:a", contents("one")), "asked");
  EXPECT_EQ(read(*off, "f:a", contents("one")), "asked");
  const auto stateful = Rig::stateful();
  EXPECT_EQ(read(*stateful, "f:a", contents("one")), "asked");
  EXPECT_EQ(read(*stateful, "f:a", contents("one")), "asked");
}

TEST(Cache, ListsAreKeptByPageAndBeginAnewTogether) {
  const auto rig = Rig::stateless();
  EXPECT_EQ(list(*rig, {tools("a", "1"), tools("b")}), 2u);
  EXPECT_EQ(list(*rig, {}), 0u);
  // The second page is short-lived: only it is asked for again.
  const auto other = Rig::stateless();
  EXPECT_EQ(list(*other, {tools("a", "1"), tools("b", "", "0")}), 2u);
  EXPECT_EQ(list(*other, {tools("b")}), 1u);
  EXPECT_EQ(list(*other, {}), 0u);
  // A new first page does not go with an old second one.
  const auto third = Rig::stateless();
  EXPECT_EQ(list(*third, {tools("a", "1", "10"), tools("b")}), 2u);
  third->pass(10ms);
  EXPECT_EQ(list(*third, {tools("c", "1"), tools("d")}), 2u);
}

TEST(Cache, ChangesEndIt) {
  const auto rig = Rig::stateless();
  godwit::Listen listen =
      rig->session().listen({.toolsListChanged = true, .resourceSubscriptions = {{"f:a"}}}, {});
  const std::string id = rig->next()["id"].dump();
  const std::string meta = R"({"_meta":{"io.modelcontextprotocol/subscriptionId":)" + id + "}";
  rig->tell(
      "notifications/subscriptions/acknowledged",
      meta + R"(,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["f:a"]}})");
  EXPECT_EQ(list(*rig, {tools("a")}), 1u);
  EXPECT_EQ(read(*rig, "f:a", contents("one")), "asked");
  EXPECT_EQ(read(*rig, "f:b", contents("one")), "asked");
  rig->tell("notifications/tools/list_changed", meta + "}");
  EXPECT_EQ(list(*rig, {tools("a")}), 1u);
  EXPECT_EQ(read(*rig, "f:a", contents("two")), "one");
  rig->tell("notifications/resources/updated", meta + R"(,"uri":"f:a/part"})");
  EXPECT_EQ(read(*rig, "f:a", contents("two")), "asked");
  EXPECT_EQ(read(*rig, "f:b", contents("two")), "one");
}

TEST(Cache, ItIsForgottenWhereChangesMayHaveBeenMissed) {
  const auto rig = Rig::stateless();
  EXPECT_EQ(list(*rig, {tools("a")}), 1u);
  EXPECT_EQ(read(*rig, "f:a", contents("one")), "asked");
  EXPECT_EQ(read(*rig, "f:b", contents("one")), "asked");
  rig->session().forget_answers({.promptsListChanged = true, .resourceSubscriptions = {{"f:a"}}});
  EXPECT_EQ(list(*rig, {}), 0u);
  EXPECT_EQ(read(*rig, "f:a", contents("two")), "asked");
  EXPECT_EQ(read(*rig, "f:b", contents("two")), "one");
  rig->session().forget_answers({.toolsListChanged = true});
  EXPECT_EQ(list(*rig, {tools("a")}), 1u);
}

TEST(Cache, ErrorsAndOtherMethodsAreNotKept) {
  const auto rig = Rig::stateless();
  Outcome<godwit::ReadResult> failed;
  rig->session().read_resource("f:a", failed.taker());
  rig->refuse(rig->next(), -32602, "no");
  EXPECT_EQ(read(*rig, "f:a", contents("one")), "asked");
  for (int i = 0; i < 2; ++i) {
    Outcome<godwit::ToolResult> call;
    rig->session().call_tool("x", {}, call.taker());
    rig->answer(rig->next("tools/call"), R"({"content":[],"ttlMs":1000})");
    EXPECT_TRUE(call.good());
  }
}

TEST(Cache, ItIsBounded) {
  const auto rig = Rig::stateless();
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(read(*rig, "f:" + std::to_string(i), contents("x", std::to_string(10'000 + i))),
              "asked");
  }
  EXPECT_EQ(read(*rig, "f:0", contents("y")), "asked");  // those that end first went first
  EXPECT_EQ(read(*rig, "f:299", contents("y")), "x");
  const std::string large(3u << 20, 'x');
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(read(*rig, "g:" + std::to_string(i), contents(large, "20000")), "asked");
  }
  EXPECT_EQ(read(*rig, "f:299", contents("z")), "asked");
  EXPECT_EQ(read(*rig, "g:9", contents("z")).size(), large.size());
}

TEST(Cache, Discover) {
  const auto rig = Rig::stateless();
  Outcome<godwit::Verdict> first, second;
  rig->session().discover(first.taker());
  rig->answer(rig->next("server/discover"),
              R"({"supportedVersions":[")" + godwit::test::newest() +
                  R"("],"capabilities":{"prompts":{}},"ttlMs":1000,"cacheScope":"public"})");
  ASSERT_TRUE(first.good()) << first.message();
  EXPECT_TRUE(rig->session().server_capabilities().prompts);
  EXPECT_FALSE(rig->session().server_capabilities().tools);
  rig->session().discover(second.taker());
  EXPECT_TRUE(second.good() && rig->silent());
  Outcome<void> pong;
  rig->session().ping(pong.taker());
  EXPECT_FALSE(rig->silent());
  const auto stateful = Rig::stateful();
  Outcome<godwit::Verdict> known;
  stateful->session().discover(known.taker());
  EXPECT_TRUE(known.good() && stateful->silent());
}
