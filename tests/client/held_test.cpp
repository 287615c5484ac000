// A login that a person needs minutes for is nothing that the server is to blame for: none of the
// deadlines of a session runs meanwhile.
#include <gtest/gtest.h>

#include <string>

#include "godwit/client/client_session.hpp"
#include "rig.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::Outcome;
using test::Rig;

void hold(Rig& rig, const json::Value& request, bool held) {
  rig.peer->on_held(rpc::Id(request["id"].get<std::int64_t>()), held);
}

TEST(Held, TheProbeAndTheStartWait) {
  Rig rig;
  rig.start();
  const json::Value probe = rig.next("server/discover");
  rig.pass(4s);
  hold(rig, probe, true);
  rig.pass(10min);
  EXPECT_TRUE(rig.silent());
  EXPECT_FALSE(rig.started);
  hold(rig, probe, false);
  rig.pass(900ms);
  EXPECT_TRUE(rig.silent());
  rig.answer(probe, Rig::discover_result());
  ASSERT_TRUE(rig.started);
  EXPECT_TRUE(*rig.started);
}

TEST(Held, AfterTheLoginTheRestOfTheTimeRuns) {
  Rig rig({.lifecycle = Lifecycle::stateful});
  rig.start();
  const json::Value request = rig.next("initialize");
  rig.pass(20s);
  hold(rig, request, true);
  rig.pass(1h);
  hold(rig, request, false);
  rig.pass(40s - 1ns);
  EXPECT_FALSE(rig.started);
  rig.pass(1ns);
  ASSERT_TRUE(rig.started);
  EXPECT_NE(rig.started->error().message.find("within 60 s"), std::string::npos)
      << rig.started->error().message;
}

TEST(Held, ACallAndItsTotal) {
  const auto rig = Rig::stateless();
  Outcome<ToolResult> outcome;
  rig->session().call_tool(
      "t", {}, outcome.taker(),
      {.timeout = 10s, .on_progress = [](const Progress&) {}, .max_total = 15s});
  const json::Value request = rig->next("tools/call");
  rig->pass(9s);
  hold(*rig, request, true);
  rig->pass(5min);
  hold(*rig, request, false);
  // Without the pause, the total would be over and progress could not save the call.
  rig->tell("notifications/progress", R"({"progressToken":)" +
                                          request["params"]["_meta"]["progressToken"].dump() +
                                          R"(,"progress":1})");
  rig->pass(6s - 1ns);
  EXPECT_FALSE(outcome);
  rig->pass(1ns);
  EXPECT_TRUE(is_timeout(outcome.error()));
}

TEST(Held, AListOverPagesHasItsTimeForAllOfThem) {
  const auto rig = Rig::stateless();
  Outcome<std::vector<Tool>> outcome;
  rig->session().list_tools(outcome.taker(), {.timeout = 10s});
  const json::Value first = rig->next("tools/list");
  hold(*rig, first, true);
  rig->pass(5min);
  hold(*rig, first, false);
  rig->pass(4s);
  rig->answer(first, R"({"resultType":"complete","tools":[],"nextCursor":"2","ttlMs":0,)"
                     R"("cacheScope":"private"})");
  rig->next("tools/list");
  rig->pass(6s - 1ns);
  EXPECT_FALSE(outcome);
  rig->pass(1ns);
  EXPECT_TRUE(is_timeout(outcome.error())) << outcome.message();
}

TEST(Held, ASubscriptionIsAcknowledgedAfterTheLogin) {
  const auto rig = Rig::stateless();
  int ended = 0;
  const Listen listen = rig->session().listen({.toolsListChanged = true},
                                              {.ended = [&](const Result<void>&) { ++ended; }});
  const json::Value request = rig->next("subscriptions/listen");
  rig->pass(59s);
  hold(*rig, request, true);
  rig->pass(5min);
  EXPECT_EQ(ended, 0);
  hold(*rig, request, false);
  rig->pass(1s - 1ns);
  EXPECT_EQ(ended, 0);
  rig->pass(1ns);
  EXPECT_EQ(ended, 1);
}

TEST(Held, ALoginThatFailedIsNoQuestionOfTheEra) {
  Rig rig;
  rig.start();
  const json::Value probe = rig.next("server/discover");
  const Error denied{
      .code = 4711, .message = "the login was denied", .cause = Cause::not_authorized};
  rig.peer->on_failure(rpc::Id(probe["id"].get<std::int64_t>()), denied);
  ASSERT_TRUE(rig.started);
  EXPECT_EQ(rig.started->error(), denied);
  EXPECT_TRUE(is_not_authorized(rig.started->error()));
  EXPECT_TRUE(rig.silent()) << "a handshake would only ask the person again";
}

TEST(Held, ASessionMayEndMeanwhile) {
  const auto rig = Rig::stateless();
  Outcome<void> outcome;
  const ClientCall call = rig->session().ping(outcome.taker());
  const json::Value request = rig->next();
  hold(*rig, request, true);
  rig->session().cancel(call, "enough");
  EXPECT_TRUE(is_cancelled(outcome.error()));
  hold(*rig, request, false);
  rig->destroy_session();
  hold(*rig, request, true);
}

}  // namespace
}  // namespace godwit::inline v0
