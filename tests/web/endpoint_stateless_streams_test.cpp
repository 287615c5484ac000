// Answers that come later to requests that stand alone: streams, listening, clients that go away.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stateless.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::equals;

constexpr std::string_view subscription = "io.modelcontextprotocol/subscriptionId";

// Streams.

TEST_F(Stateless, ProgressMakesAStreamOfOneLinePerMessage) {
  FakeExchange& x =
      site.send(site.modern_tool("7", "steps", "{}", R"(,"_meta":{"progressToken":"p"})"));
  EXPECT_EQ(x.status, 200);
  EXPECT_EQ(x.type, "text/event-stream");
  EXPECT_TRUE(x.ended());
  EXPECT_EQ(x.field("X-Accel-Buffering"), "no");
  EXPECT_EQ(x.field("Cache-Control"), "no-cache");
  const auto events = x.events();
  ASSERT_EQ(events.size(), 3u) << x.body;
  for (const auto& event : events) {
    EXPECT_EQ(event.data.size(), 1u);
    EXPECT_FALSE(event.id);
    EXPECT_FALSE(event.retry);
  }
  const auto messages = x.messages();
  EXPECT_EQ(messages[0]["method"].as_string(), "notifications/progress");
  EXPECT_EQ(messages[1]["params"]["message"].as_string(), "done\r\nall");
  EXPECT_EQ(test::text_of(messages[2]), "two steps");
  EXPECT_EQ(messages[2]["id"].dump(), "7");
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Stateless, WithoutATokenThereIsNothingToStream) {
  FakeExchange& x = site.send(site.modern_tool("7", "steps"));
  EXPECT_EQ(x.type, "application/json");
  EXPECT_EQ(outcome(x), "200 result 7");
}

TEST_F(Stateless, ALateAnswerIsJsonIfNothingWasSaidBefore) {
  FakeExchange& x = site.send(site.modern_tool("7", "wait"));
  EXPECT_EQ(x.state, FakeExchange::State::open);
  EXPECT_EQ(site.web().open_exchanges(), 1u);
  parked.replies[0]("late");
  EXPECT_GT(site.woken, 0);
  EXPECT_EQ(x.state, FakeExchange::State::open);
  site.process();
  EXPECT_EQ(outcome(x), "200 result 7");
  EXPECT_EQ(x.type, "application/json");
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Stateless, ALateAnswerEndsTheStreamThatBeganBefore) {
  FakeExchange& x =
      site.send(site.modern_tool("7", "wait", "{}", R"(,"_meta":{"progressToken":1})"));
  parked.replies[0].context().progress(1);
  site.process();
  ASSERT_TRUE(x.streaming());
  EXPECT_EQ(x.messages().size(), 1u);
  parked.replies[0]("late");
  site.process();
  EXPECT_TRUE(x.ended());
  EXPECT_EQ(test::text_of(x.answer()), "late");
}

TEST_F(Stateless, ALateErrorHasTheStatusThatFitsIt) {
  const std::pair<Error, const char*> cases[] = {
      {Error{.code = -32021, .message = "x", .data = {}}, "400 -32021 7"},
      {rpc::invalid_params("x"), "200 -32602 7"},
      {rpc::internal_error("x"), "200 -32603 7"}};
  for (const auto& [error, expected] : cases) {
    parked.replies.clear();
    FakeExchange& x = site.send(site.modern_tool("7", "wait"));
    parked.replies[0](error);
    site.process();
    EXPECT_EQ(outcome(x), expected);
  }
}

TEST(StatelessLate, ABlockingHandlerThatLacksACapabilityIs400) {
  for (const bool now : {true, false}) {
    InlineExecutor inline_executor;
    LaterExecutor later;
    SiteOptions options;
    options.server.executor = now ? static_cast<Executor*>(&inline_executor) : &later;
    Site site(std::move(options));
    site.server.tool("t", "", blocking([](Context& cx) -> Result<std::string> {
                       auto roots = cx.roots("r");
                       if (!roots) return roots.error();
                       return "roots";
                     }));
    FakeExchange& x = site.send(Site::modern_tool("7", "t"));
    later.run();
    site.process();
    EXPECT_EQ(outcome(x), "400 -32021 7") << now;
    FakeExchange& y = site.send(Site::modern_tool("8", "t", "{}", "", R"({"roots":{}})"));
    later.run();
    site.process();
    EXPECT_EQ(y.answer()["result"]["resultType"].as_string(), "input_required") << y.body;
  }
}

TEST_F(Stateless, AReplyThatIsDroppedIsAnswered) {
  FakeExchange& x = site.send(site.modern_tool("7", "wait"));
  parked.replies.clear();
  site.process();
  EXPECT_EQ(outcome(x), "200 -32603 7");
}

TEST_F(Stateless, KeepAliveCommentsGoOutWhileNothingElseDoes) {
  FakeExchange& x = listen();
  ASSERT_TRUE(x.streaming());
  const std::size_t before = x.pieces.size();
  ASSERT_TRUE(site.web().next_deadline());
  EXPECT_LE(*site.web().next_deadline(), site.clock.now() + Limits{}.sse_keep_alive);
  site.pass(Limits{}.sse_keep_alive - 1ms);
  EXPECT_EQ(x.pieces.size(), before);
  site.pass(1ms);
  ASSERT_EQ(x.pieces.size(), before + 1);
  EXPECT_EQ(x.pieces.back(), ":\n\n");
  for (int i = 0; i < 10; ++i) site.pass(Limits{}.sse_keep_alive);
  EXPECT_EQ(x.pieces.size(), before + 11);
  EXPECT_EQ(x.messages().size(), 1u);
}

TEST_F(Stateless, ALongSilenceIsKeptAliveToo) {
  FakeExchange& x = site.send(site.modern_tool("7", "wait"));
  site.pass(Limits{}.sse_keep_alive - 1ms);
  EXPECT_EQ(x.state, FakeExchange::State::open);
  site.pass(1ms);
  EXPECT_TRUE(x.streaming());
  EXPECT_EQ(x.body, ":\n\n");
  parked.replies[0]("late");
  site.process();
  EXPECT_TRUE(x.ended());
  EXPECT_EQ(test::text_of(x.answer()), "late");
}

TEST_F(Stateless, NoDeadlineIsLeftBehindByWhatIsOver) {
  FakeExchange& x = site.send(site.modern_tool("7", "wait"));
  parked.replies[0]("late");
  site.process();
  EXPECT_FALSE(x.waiting());
  site.pass(1h);
  EXPECT_FALSE(site.web().next_deadline());
}

TEST_F(Stateless, AClientThatDoesNotReadIsGivenUp) {
  FakeExchange& x =
      site.send(site.modern_tool("7", "wait", "{}", R"(,"_meta":{"progressToken":1})"));
  x.stuck = true;
  const std::stop_token stop = parked.replies[0].cancelled();
  const std::string line(1u << 20, 'x');
  for (int i = 1; i < 20 && !x.aborted(); ++i) {
    parked.replies[0].context().progress(i, {}, line);
    site.process();
  }
  EXPECT_TRUE(x.aborted());
  EXPECT_LE(x.body.size(), 4 * Limits{}.output_queue_bytes + 2 * line.size());
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_EQ(site.web().open_exchanges(), 0u);
  parked.replies[0]("late");
  site.process();
}

// Going away.

TEST_F(Stateless, AClientThatGoesAwayTakesItsRequestBackAtOnce) {
  FakeExchange& x = site.send(site.modern_tool("7", "wait"));
  const std::stop_token stop = parked.replies[0].cancelled();
  x.go();
  EXPECT_EQ(site.web().open_exchanges(), 0u);
  EXPECT_TRUE(stop.stop_requested()) << "the handler works on for nobody";
}

TEST_F(Stateless, AClientThatGoesAwayTakesItsRequestBackBeforeTheNextCall) {
  // What the endpoint does by itself or when it is called next, but not by the passing of time.
  FakeExchange& x = site.send(site.modern_tool("7", "wait"));
  const std::stop_token stop = parked.replies[0].cancelled();
  x.go();
  site.process();
  EXPECT_TRUE(stop.stop_requested());
  parked.replies[0].context().progress(1);
  parked.replies[0]("late");
  site.process();
  EXPECT_EQ(x.body, "");
  EXPECT_FALSE(x.waiting());
  EXPECT_EQ(outcome(site.send(site.modern_tool("7", "echo", oslo))), "200 result 7");
}

TEST_F(Stateless, AClientThatGoesAwayFromAStreamGetsNothingMore) {
  FakeExchange& x =
      site.send(site.modern_tool("7", "wait", "{}", R"(,"_meta":{"progressToken":1})"));
  parked.replies[0].context().progress(1);
  site.process();
  ASSERT_TRUE(x.streaming());
  const std::size_t size = x.body.size();
  x.go();
  parked.replies[0].context().progress(2);
  parked.replies[0]("late");
  site.process();
  site.pass(1h);
  EXPECT_EQ(x.body.size(), size);
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Stateless, TheSlotOfOneThatWentAwayIsFree) {
  site.server.tool("one", "", parked.handler(), {.concurrency = 1});
  for (int i = 0; i < 5; ++i) {
    FakeExchange& x = site.send(site.modern_tool("7", "one"));
    ASSERT_TRUE(x.waiting()) << i << x.body;
    x.go();
    parked.replies.clear();  // the handler sees that it is to stop
    site.process();
  }
}

TEST_F(Stateless, AnEndpointThatIsDestroyedLeavesNobodyWaiting) {
  FakeExchange& late = site.send(site.modern_tool("7", "wait"));
  FakeExchange& stream = listen();
  const std::stop_token stop = parked.replies[0].cancelled();
  site.endpoint.reset();
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_FALSE(late.waiting()) << "it still has an owner, which is gone";
  EXPECT_FALSE(stream.waiting()) << "it still has an owner, which is gone";
}

// Listening.

TEST_F(Stateless, AListenIsAcknowledgedFirstAndTellsChanges) {
  for (const char* id : {"21", R"("21")"}) {
    FakeExchange& x = listen(id);
    ASSERT_TRUE(x.streaming());
    EXPECT_EQ(x.type, "text/event-stream");
    auto messages = x.messages();
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0]["method"].as_string(), "notifications/subscriptions/acknowledged");
    EXPECT_TRUE(equals(messages[0]["params"]["notifications"], R"({"toolsListChanged":true})"));
    site.server.tool("new", "", [] { return ""; });
    EXPECT_GT(site.woken, 0);
    site.process();
    messages = x.messages();
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_EQ(messages[1]["method"].as_string(), "notifications/tools/list_changed");
    for (const json::Value& message : messages) {
      EXPECT_TRUE(test::same_json(message["params"]["_meta"][subscription].dump(), id));
    }
    site.server.prompt("q", "", [] { return ""; });
    site.process();
    EXPECT_EQ(x.messages().size(), 2u);
    x.go();
    site.process();
    site.server.tool("newer", "", [] { return ""; });
    site.process();
    EXPECT_EQ(x.messages().size(), 2u);
    EXPECT_EQ(site.web().open_exchanges(), 0u);
  }
}

TEST_F(Stateless, ManyListensEachGetTheirOwn) {
  std::vector<FakeExchange*> all;
  for (int i = 0; i < 200; ++i) all.push_back(&listen("1"));
  for (int i = 0; i < 200; i += 2) all[static_cast<std::size_t>(i)]->go();
  site.server.tool("new", "", [] { return ""; });
  site.process();
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i]->messages().size(), i % 2 == 0 ? 1u : 2u) << i;
  }
  EXPECT_EQ(site.web().open_exchanges(), 100u);
}

TEST_F(Stateless, DrainAnswersListensAndLetsRunningHandlersFinish) {
  FakeExchange& x = listen();
  FakeExchange& y = site.send(site.modern_tool("7", "wait"));
  const std::stop_token stop = parked.replies[0].cancelled();
  site.web().drain();
  EXPECT_TRUE(x.ended());
  EXPECT_TRUE(equals(x.answer()["result"]["_meta"][subscription], "21")) << x.body;
  EXPECT_EQ(x.answer()["result"]["resultType"].as_string(), "complete");
  EXPECT_EQ(x.answer()["id"].dump(), "21");
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_TRUE(y.waiting());
  FakeExchange& refused = site.send(site.modern_tool("8", "echo", oslo));
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.field("Retry-After"), "");
  parked.replies[0]("finished");
  site.process();
  EXPECT_EQ(test::text_of(y.answer()), "finished");
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

}  // namespace
}  // namespace godwit::inline v0
