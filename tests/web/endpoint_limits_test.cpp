// How long sessions and streams live, how much there may be at once, and how an Endpoint ends.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "stateful.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::has;

// Time.

TEST_F(Stateful, KeepAliveCommentsGoToOpenStreams) {
  const std::string session = site.connect();
  FakeExchange& x = site.send(Site::get(session));
  FakeExchange& y = call(session, "1", "wait");
  const std::size_t before_x = x.pieces.size();
  const std::size_t before_y = y.pieces.size();
  for (int i = 0; i < 5; ++i) site.pass(Limits{}.sse_keep_alive);
  EXPECT_GE(x.pieces.size(), before_x + 4);
  EXPECT_GE(y.pieces.size(), before_y + 4);
  EXPECT_EQ(x.pieces.back(), ":\n\n");
  EXPECT_TRUE(x.messages().empty());
  y.go();
  x.go();
  for (int i = 0; i < 3; ++i) site.pass(Limits{}.sse_keep_alive);
}

TEST_F(Stateful, ASessionThatIsNotUsedIsForgotten) {
  const std::string session = site.connect();
  site.pass(Limits{}.session_idle - 1ms);
  EXPECT_EQ(outcome(call(session, "1", "echo", oslo)), "200 result 1");
  site.pass(Limits{}.session_idle - 1ms);
  EXPECT_EQ(outcome(call(session, "1", "echo", oslo)), "200 result 1");
  site.pass(Limits{}.session_idle);
  site.pass(1ms);
  EXPECT_EQ(site.web().sessions(), 0u);
  EXPECT_EQ(call(session, "1", "echo", oslo).status, 404);
  EXPECT_EQ(site.server.sessions(), 0u);
  EXPECT_FALSE(site.web().next_deadline());
}

TEST_F(Stateful, ASessionWithAnOpenStreamOrARunningRequestIsNotForgotten) {
  const std::string listening = site.connect();
  const std::string working = site.connect("2025-06-18");
  const std::string left = site.connect();
  FakeExchange& x = site.send(Site::get(listening));
  FakeExchange& y = call(working, "1", "wait");
  call(left, "1", "wait").go();
  for (int i = 0; i < 10; ++i) site.pass(Limits{}.session_idle);
  EXPECT_EQ(site.web().sessions(), 3u);
  EXPECT_TRUE(x.waiting());
  parked.replies[0]("late");
  parked.replies[1]("late");
  site.process();
  EXPECT_EQ(test::text_of(y.answer()), "late");
  x.go();
  site.pass(Limits{}.session_idle - 1ms);
  EXPECT_EQ(site.web().sessions(), 3u) << "the time runs from the end of the last use";
  for (int i = 0; i < 3; ++i) site.pass(Limits{}.session_idle);
  EXPECT_EQ(site.web().sessions(), 0u);
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Stateful, ManySessionsAreForgottenAtOnce) {
  for (int i = 0; i < 200; ++i) site.connect();
  ASSERT_EQ(site.web().sessions(), 200u);
  site.pass(Limits{}.session_idle);
  EXPECT_EQ(site.web().sessions(), 0u) << "all of them were due";
}

// Bounds.

TEST(StatefulLimits, SessionsOfWhichNoneIsIdle) {
  SiteOptions options;
  options.server.limits.sessions = 2;
  Site site(std::move(options));
  const std::string first = site.connect();
  site.send(Site::get(first));
  site.send(Site::get(site.connect()));
  FakeExchange& x = site.send(Site::post(Site::initialize_body("2025-11-25")));
  EXPECT_EQ(x.status, 503);
  EXPECT_NE(x.field("Retry-After"), "");
  EXPECT_EQ(x.field("Mcp-Session-Id"), "");
  EXPECT_EQ(x.answer()["error"]["code"].dump(), "-32603");
  EXPECT_EQ(site.web().sessions(), 2u);
  site.send(Site::remove(first));
  EXPECT_NE(site.connect(), "");
}

struct InFlight : testing::Test {
  static SiteOptions three() {
    SiteOptions options;
    options.server.limits.in_flight = 3;
    return options;
  }
  InFlight() : site(three()) {
    site.server.tool("wait", "", parked.handler());
    site.server.tool("asks", "", ask_name);
  }
  Parked parked;
  Site site;
};

TEST_F(InFlight, RequestsOfOneSession) {
  const std::string session = site.connect("2025-06-18");
  const std::string other = site.connect("2025-06-18");
  const auto wait = [&](const std::string& in, int id) -> FakeExchange& {
    return site.send(Site::in(in, Site::tool_body(std::to_string(id), "wait")));
  };
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(wait(session, i).waiting());
  FakeExchange& x = wait(session, 4);
  EXPECT_EQ(x.status, 429);
  EXPECT_NE(x.field("Retry-After"), "");
  EXPECT_EQ(x.answer()["error"]["code"].dump(), "-32603");
  EXPECT_TRUE(has(x.body, "busy"));
  EXPECT_TRUE(wait(other, 4).waiting());
  parked.replies[0]("done");
  site.process();
  EXPECT_TRUE(wait(session, 5).waiting());
}

TEST_F(InFlight, AnswersToTheServerAndTakingBackAreAlwaysLetIn) {
  // Else a session whose requests all wait for the client would wait forever.
  const std::string session = site.connect("2025-06-18");
  std::vector<FakeExchange*> asked;
  for (int i = 1; i <= 3; ++i) {
    asked.push_back(&site.send(Site::in(session, Site::tool_body(std::to_string(i), "asks"))));
  }
  FakeExchange& taken_back = site.send(
      Site::in(session, Site::legacy_body("", "notifications/cancelled", R"({"requestId":3})")));
  EXPECT_EQ(outcome(taken_back), "202");
  site.send(Site::in(session, Site::tool_body("4", "wait")));
  const json::Value question = asked[0]->answer();
  FakeExchange& x = site.send(
      Site::in(session, R"({"jsonrpc":"2.0","id":)" + question["id"].dump() +
                            R"(,"result":{"action":"accept","content":{"name":"Ada"}}})"));
  EXPECT_EQ(outcome(x), "202");
  site.process();
  EXPECT_EQ(test::text_of(asked[0]->answer()), "hello Ada") << asked[0]->body;
}

TEST(StatefulLimits, AnswersToTheServerAreLetInWhereTheProcessIsFull) {
  SiteOptions options;
  options.server.limits.process_in_flight = 2;
  Site site(std::move(options));
  site.server.tool("asks", "", ask_name);
  const std::string session = site.connect("2025-06-18");
  FakeExchange& a = site.send(Site::in(session, Site::tool_body("1", "asks")));
  FakeExchange& b = site.send(Site::in(session, Site::tool_body("2", "asks")));
  EXPECT_TRUE(b.waiting());
  FakeExchange& x = site.send(
      Site::in(session, R"({"jsonrpc":"2.0","id":)" + a.answer()["id"].dump() +
                            R"(,"result":{"action":"accept","content":{"name":"Ada"}}})"));
  EXPECT_EQ(outcome(x), "202") << "two requests wait for answers that are not let in";
}

TEST(StatelessLimits, TooManyRequestsInTheProcessAreToldToComeBack) {
  SiteOptions options;
  options.server.limits.process_in_flight = 3;
  Site site(std::move(options));
  Parked parked;
  site.server.tool("wait", "", parked.handler());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(site.send(Site::modern_tool("1", "wait")).waiting());
  FakeExchange& x = site.send(Site::modern_tool("1", "wait"));
  EXPECT_EQ(x.status, 503);
  EXPECT_EQ(x.answer()["error"]["code"].dump(), "-32603");
  EXPECT_TRUE(has(x.body, "busy"));
  EXPECT_NE(x.field("Retry-After"), "");
  parked.replies[0]("done");
  site.process();
  EXPECT_TRUE(site.send(Site::modern_tool("1", "wait")).waiting());
  EXPECT_EQ(site.send(Site::modern_tool("1", "wait")).status, 503);
}

TEST(StatelessLimits, ABodyLargerThanAMessageMayBeIsRefused) {
  // For those HTTP stacks that do not bound it themselves.
  SiteOptions options;
  options.server.limits.message_bytes_in = 1000;
  Site site(std::move(options));
  site.server.tool("t", "", [](json::Value) { return "t"; });
  const auto padded = [](std::size_t size) {
    return Site::modern_tool("7", "t", "{}", R"(,"x":")" + std::string(size, 'x') + "\"");
  };
  EXPECT_EQ(site.send(padded(100)).status, 200);
  EXPECT_EQ(site.send(padded(2000)).status, 413);
}

TEST(StatelessLimits, AnAnswerThatIsTooLargeIsAnError) {
  SiteOptions options;
  options.server.limits.message_bytes_out = 1000;
  Site site(std::move(options));
  site.server.tool("t", "", [] { return std::string(2000, 'x'); });
  FakeExchange& x = site.send(Site::modern_tool("7", "t"));
  EXPECT_EQ(outcome(x), "200 -32603 7");
}

// The end.

TEST_F(Stateful, DrainEndsStreamsAndStillSendsWhatHandlersAnswer) {
  const std::string session = site.connect();
  FakeExchange& stream = site.send(Site::get(session));
  FakeExchange& x = call(session, "1", "wait");
  const std::stop_token stop = parked.replies[0].cancelled();
  site.web().drain();
  EXPECT_TRUE(stream.ended());
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_TRUE(x.waiting());
  EXPECT_EQ(call(session, "2", "echo", oslo).status, 503);
  parked.replies[0]("finished");
  site.process();
  EXPECT_EQ(test::text_of(x.answer()), "finished");
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Stateful, NoStreamIsBegunAfterDrain) {
  const std::string session = site.connect();
  site.web().drain();
  EXPECT_EQ(site.send(Site::get(session)).status, 503) << "a stream that nobody will end";
}

TEST_F(Stateful, TheHostIsToldWhenToCallNext) {
  EXPECT_FALSE(site.web().next_deadline());
  const std::string session = site.connect();
  EXPECT_GT(site.moved, 0);
  ASSERT_TRUE(site.web().next_deadline());
  EXPECT_EQ(*site.web().next_deadline(), site.clock.now() + Limits{}.session_first_message_time);
  const int before = site.moved;
  site.send(Site::get(session));
  EXPECT_GT(site.moved, before);
  EXPECT_EQ(*site.web().next_deadline(), site.clock.now() + Limits{}.sse_keep_alive);
}

TEST_F(Stateful, AnEndpointThatIsDestroyedLeavesNobodyWaiting) {
  const std::string session = site.connect();
  FakeExchange& stream = site.send(Site::get(session));
  FakeExchange& x = call(session, "1", "wait");
  FakeExchange& y = call(site.connect("2025-06-18"), "1", "wait");
  site.endpoint.reset();
  EXPECT_FALSE(stream.waiting());
  EXPECT_FALSE(x.waiting());
  EXPECT_FALSE(y.waiting());
  parked.replies.clear();
  EXPECT_EQ(site.server.sessions(), 0u);
}

}  // namespace
}  // namespace godwit::inline v0
