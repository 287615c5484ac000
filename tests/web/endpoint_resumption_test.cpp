// Coming back to a stream that broke, and letting one go so that the client comes back.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/mcp/memory_event_store.hpp"
#include "stateful.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::has;

/// The number in a progress message.
int progress_of(const json::Value& message) { return message["params"]["progress"].get<int>(); }

/// The id of the last event that has one.
std::string last_id(const FakeExchange& x) {
  std::string id;
  for (const auto& event : x.events()) id = event.id.value_or(id);
  return id;
}

// Coming back.

TEST_F(Stateful, ComingBackGivesWhatWasMissedAndNothingElse) {
  for (const std::string_view revision : http_revisions) {
    parked.replies.clear();
    const std::string session = site.connect(revision);
    FakeExchange& x = call(session, "1", "wait", "{}", with_token);
    for (int i = 1; i <= 3; ++i) parked.replies[0].context().progress(i);
    site.process();
    const auto events = x.events();
    const std::string second = *events[events.size() - 2].id;
    x.go();
    parked.replies[0].context().progress(4);
    site.process();
    FakeExchange& y = site.send(Site::get(session, second));
    EXPECT_EQ(y.status, 200);
    ASSERT_TRUE(y.streaming());
    ASSERT_EQ(y.messages().size(), 2u) << y.body;
    EXPECT_EQ(progress_of(y.messages()[0]), 3);
    EXPECT_EQ(progress_of(y.messages()[1]), 4);
    parked.replies[0]("late");
    site.process();
    EXPECT_TRUE(y.ended());
    EXPECT_EQ(test::text_of(y.answer()), "late");
    // And once more, although it is over.
    FakeExchange& z = site.send(Site::get(session, last_id(x)));
    EXPECT_TRUE(z.ended());
    ASSERT_EQ(z.messages().size(), 2u);
    EXPECT_EQ(test::text_of(z.answer()), "late");
    FakeExchange& nothing = site.send(Site::get(session, last_id(y)));
    EXPECT_TRUE(nothing.ended());
    EXPECT_TRUE(nothing.messages().empty());
    EXPECT_EQ(site.web().open_exchanges(), 0u);
  }
}

TEST_F(Stateful, ComingBackWithThePrimingEventGivesEverything) {
  const std::string session = site.connect();
  FakeExchange& x = call(session, "1", "wait", "{}", with_token);
  const std::string primed = last_id(x);
  ASSERT_NE(primed, "");
  x.go();
  parked.replies[0].context().progress(1);
  parked.replies[0]("late");
  site.process();
  FakeExchange& y = site.send(Site::get(session, primed));
  EXPECT_TRUE(y.ended());
  EXPECT_EQ(y.messages().size(), 2u);
  EXPECT_EQ(test::text_of(y.answer()), "late");
}

TEST_F(Stateful, ComingBackBeforeTheOldConnectionIsKnownToBeGone) {
  const std::string session = site.connect();
  FakeExchange& x = call(session, "1", "wait", "{}", with_token);
  FakeExchange& y = site.send(Site::get(session, last_id(x)));
  EXPECT_TRUE(y.streaming());
  EXPECT_FALSE(x.waiting());
  parked.replies[0]("late");
  site.process();
  EXPECT_EQ(test::text_of(y.answer()), "late");
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Stateful, TheStreamOfASessionCanBeComeBackToAsWell) {
  const std::string session = site.connect();
  FakeExchange& x = site.send(Site::get(session));
  change();
  change();
  change();
  const auto events = x.events();
  const std::string first = *events[1].id;
  x.go();
  change();
  FakeExchange& y = site.send(Site::get(session, first));
  EXPECT_EQ(y.messages().size(), 3u) << y.body;
  change();
  EXPECT_EQ(y.messages().size(), 4u);
  EXPECT_EQ(site.send(Site::get(session)).status, 409);
}

TEST_F(Stateful, IdsThatNameNothingAreAnErrorAndNothingLeaks) {
  const std::string a = site.connect();
  const std::string b = site.connect();
  FakeExchange& x = call(a, "1", "wait", "{}", with_token);
  parked.replies[0].context().progress(1, {}, "secret of a");
  site.process();
  const std::string id = last_id(x);
  const std::string name = id.substr(0, id.rfind('.'));
  FakeExchange& theirs = call(b, "1", "wait", "{}", with_token);
  parked.replies[1].context().progress(1);
  site.process();
  // Of another session.
  FakeExchange& foreign = site.send(Site::get(b, id));
  EXPECT_EQ(foreign.status, 400);
  EXPECT_FALSE(has(foreign.body, "secret"));
  EXPECT_TRUE(x.streaming()) << "another session's client broke it off";
  for (const std::string& bad :
       {std::string("x"), std::string("."), std::string(".1"), name, name + ".", name + ".x",
        name + ".-1", name + ".+1", name + ".1x", name + ".99", name + ". 1",
        name + ".99999999999999999999999", name + "0.1", "0." + id, id + ".1",
        std::string(10'000, 'x'), std::string("00000000000000000000000000000000.1")}) {
    FakeExchange& y = site.send(Site::get(a, bad));
    EXPECT_EQ(y.status, 400) << bad;
    EXPECT_FALSE(has(y.body, "secret")) << bad;
  }
  EXPECT_TRUE(x.streaming());
  EXPECT_TRUE(theirs.streaming());
  // What a has can be replayed by a.
  FakeExchange& own = site.send(Site::get(a, name + ".0"));
  EXPECT_TRUE(has(own.body, "secret"));
}

TEST_F(Stateful, WhatIsTooOldCannotBeComeBackTo) {
  const std::string session = site.connect();
  FakeExchange& x = call(session, "1", "steps", "{}", with_token);
  const std::string first = *x.events()[0].id;
  site.pass(Limits{}.stream_time - 1ms);
  FakeExchange& y = site.send(Site::get(session, first));
  EXPECT_EQ(y.status, 200);
  EXPECT_EQ(y.messages().size(), 2u);
  site.pass(2ms);
  EXPECT_EQ(site.send(Site::get(session, first)).status, 400);
}

TEST(StatefulStore, WhatNoLongerFitsCannotBeComeBackTo) {
  SiteOptions options;
  options.server.limits.stream_events = 5;
  Site site(std::move(options));
  Parked parked;
  site.server.tool("wait", "", parked.handler());
  const std::string session = site.connect();
  FakeExchange& x = site.send(Site::in(session, Site::tool_body("1", "wait", "{}", with_token)));
  for (int i = 1; i <= 8; ++i) parked.replies[0].context().progress(i);
  site.process();
  const auto events = x.events();
  ASSERT_EQ(events.size(), 9u);
  x.go();
  for (std::size_t i = 0; i < 9; ++i) {
    FakeExchange& y = site.send(Site::get(session, *events[i].id));
    if (i < 3) {  // events 4 to 8 are kept
      EXPECT_EQ(y.status, 400) << i;
    } else {
      EXPECT_EQ(y.status, 200) << i;
      EXPECT_EQ(y.messages().size(), 8 - i);
      y.go();
    }
  }
  // The request itself is not lost.
  FakeExchange& last = site.send(Site::get(session, *events[8].id));
  parked.replies[0]("late");
  site.process();
  EXPECT_EQ(test::text_of(last.answer()), "late");
}

TEST(StatefulStore, MessagesThatNobodyListensToAreBounded) {
  SiteOptions options;
  options.server.limits.stream_events = 10;
  auto store = std::make_shared<MemoryEventStore>(options.server.limits);
  options.endpoint.events = store;
  Site site(std::move(options));
  site.server.tool("t", "", [] { return ""; });
  const std::string session = site.connect();
  for (int i = 0; i < 1000; ++i) {
    site.server.tool("t", "", [] { return ""; });
    site.process();
  }
  EXPECT_LT(store->bytes(), 10'000u);
  FakeExchange& x = site.send(Site::get(session));
  EXPECT_TRUE(x.streaming());
  site.server.tool("t", "", [] { return ""; });
  site.process();
  EXPECT_GE(x.messages().size(), 1u);
  EXPECT_LE(x.messages().size(), 11u);
  site.send(Site::remove(session));
  EXPECT_EQ(store->bytes(), 0u) << "a session that ended left events behind";
}

TEST(StatefulStore, EventsAreKeptBeforeTheyAreSent) {
  struct Store final : EventStore {
    void append(StreamKey stream, std::uint64_t number, std::string_view data, bool final,
                Done<void> done) override {
      if (exchange) {
        EXPECT_EQ(exchange->body.find(data), std::string::npos);
      }
      inner.append(stream, number, data, final, std::move(done));
    }
    void read(StreamKey stream, std::uint64_t after, std::size_t most,
              Done<EventPage> done) override {
      inner.read(stream, after, most, std::move(done));
    }
    void forget(StreamKey stream, Done<void> done) override {
      inner.forget(stream, std::move(done));
    }
    void forget_session(std::string_view session, Done<void> done) override {
      inner.forget_session(session, std::move(done));
    }
    MemoryEventStore inner;
    FakeExchange* exchange = nullptr;
  };
  SiteOptions options;
  auto store = std::make_shared<Store>();
  options.endpoint.events = store;
  Site site(std::move(options));
  Parked parked;
  site.server.tool("wait", "", parked.handler());
  const std::string session = site.connect();
  FakeExchange& x = site.send(Site::in(session, Site::tool_body("1", "wait", "{}", with_token)));
  store->exchange = &x;
  parked.replies[0].context().progress(1);
  parked.replies[0]("late");
  site.process();
  EXPECT_EQ(x.messages().size(), 2u);
}

TEST(StatefulStore, ManyCutsLoseNothingDoubleNothingAndKeepTheOrder) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    Site site;
    Parked parked;
    site.server.tool("wait", "", parked.handler());
    const std::string session = site.connect();
    FakeExchange* x = &site.send(Site::in(session, Site::tool_body("1", "wait", "{}", with_token)));
    std::vector<std::string> got;  // progress values that the client has
    std::string last;
    std::size_t taken = 0;  // bytes of the present stream
    // The client reads some whole events of what was written.
    const auto read = [&](std::size_t most) {
      std::size_t index = 0;
      for (const auto& event : x->events()) {
        if (index++ < taken) continue;
        if (most-- == 0) break;
        ++taken;
        if (event.id) last = *event.id;
        if (event.data[0].empty()) continue;
        const json::Value message = test::parse(event.data[0]);
        got.push_back(message.contains("result") ? test::text_of(message)
                                                 : std::to_string(progress_of(message)));
      }
    };
    std::vector<std::string> expected;
    read(1);
    for (int i = 1; i <= 300; ++i) {
      if (i == 300) {
        parked.replies[0]("end");
        expected.push_back("end");
      } else {
        parked.replies[0].context().progress(i);
        expected.push_back(std::to_string(i));
      }
      if (random() % 3 == 0) site.process();
      if (random() % 4 == 0) {
        read(random() % 5);
        if (x->waiting()) x->go();
        if (random() % 2 == 0) site.process();
        x = &site.send(Site::get(session, last));
        ASSERT_EQ(x->status, 200) << "seed " << seed << " at " << i << ": " << x->body;
        taken = 0;
      }
    }
    site.process();
    read(1000);
    EXPECT_EQ(got, expected) << "seed " << seed;
    if (HasFailure()) return;
  }
}

TEST_F(Stateful, AStreamThatIsNotReadIsBrokenOffAndCanBeComeBackTo) {
  const std::string session = site.connect();
  FakeExchange& x = call(session, "1", "wait", "{}", with_token);
  x.stuck = true;
  const std::string line(1u << 20, 'x');
  const std::string primed = last_id(x);
  for (int i = 1; i <= 6; ++i) parked.replies[0].context().progress(i, {}, line);
  site.process();
  EXPECT_TRUE(x.aborted());
  EXPECT_LE(x.body.size(), 4 * Limits{}.output_queue_bytes + 2 * line.size());
  FakeExchange& y = site.send(Site::get(session, primed));
  for (int i = 0; i < 100; ++i) site.process();
  EXPECT_EQ(y.messages().size(), 6u);
  parked.replies[0]("late");
  site.process();
  EXPECT_EQ(test::text_of(y.answer()), "late");
}

// Sending again as the client takes it.

/// What waits for a client that takes nothing, however much is kept for it.
constexpr std::size_t most_held = 100'000;

/// The messages that are there in whole.
std::vector<json::Value> whole_messages(const FakeExchange& x) {
  FakeExchange part;
  const std::size_t end = x.body.rfind("\n\n");
  part.body = end == x.body.npos ? std::string() : x.body.substr(0, end + 2);
  return part.messages();
}

struct Replay : Stateful {
  /// A call whose client is gone, and the id to come back with.
  std::string lost_call(const std::string& session, std::string_view id = "1") {
    FakeExchange& x = call(session, id, "wait", "{}", with_token);
    const std::string primed = last_id(x);
    x.go();
    return primed;
  }
  void say(std::size_t which, int number, std::size_t size = 300'000) {
    parked.replies[which].context().progress(number, {}, std::string(size, 'x'));
    site.process();
  }
  /// Sends so that the client takes nothing.
  FakeExchange& come_back(const std::string& session, const std::string& id) {
    FakeRequest request = Site::get(session, id);
    site.exchanges.push_back(std::make_unique<FakeExchange>());
    FakeExchange& y = *site.exchanges.back();
    y.stuck = true;
    site.web().on_request(request.get(), y);
    return y;
  }
};

TEST_F(Replay, OneThatTakesNothingHoldsLittle) {
  const std::string session = site.connect();
  const std::string primed = lost_call(session);
  say(0, 1, 4u << 20);
  for (int i = 2; i <= 8; ++i) say(0, i);
  FakeExchange& y = come_back(session, primed);
  for (int i = 0; i < 10; ++i) site.process();
  EXPECT_GT(y.body.size(), 10'000u);
  EXPECT_LT(y.unsent(), most_held);
  // What comes meanwhile waits its turn.
  say(0, 9);
  parked.replies[0]("late");
  site.process();
  EXPECT_LT(y.unsent(), most_held);
  for (int i = 0; i < 1'000 && y.waiting(); ++i) {
    y.take();
    EXPECT_LT(y.unsent(), most_held);
    site.process();
  }
  EXPECT_TRUE(y.ended());
  const auto messages = y.messages();
  ASSERT_EQ(messages.size(), 10u);
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(progress_of(messages[static_cast<std::size_t>(i)]), i + 1);
  }
  EXPECT_EQ(test::text_of(messages[9]), "late");
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Replay, OthersHaveTheirTurnInBetween) {
  const std::string session = site.connect();
  const std::string primed = lost_call(session);
  for (int i = 1; i <= 8; ++i) say(0, i);
  FakeExchange& y = site.send(Site::get(session, primed));
  const int woken = site.woken;
  EXPECT_LT(y.body.size(), 600'000u);
  EXPECT_GT(woken, 0);
  for (int i = 0; i < 100; ++i) site.process();
  EXPECT_EQ(y.messages().size(), 8u);
  say(0, 9);
  EXPECT_EQ(y.messages().size(), 9u);
}

TEST_F(Replay, ANewConnectionTakesTheStreamOver) {
  const std::string session = site.connect();
  const std::string primed = lost_call(session);
  for (int i = 1; i <= 8; ++i) say(0, i);
  FakeExchange* last = nullptr;
  for (int i = 0; i < 300; ++i) {
    FakeExchange& y = come_back(session, primed);
    EXPECT_EQ(y.status, 200);
    EXPECT_TRUE(y.streaming());
    EXPECT_LT(y.unsent(), most_held);
    if (last) {
      EXPECT_TRUE(last->ended()) << "it was broken off";
    }
    last = &y;
  }
  EXPECT_EQ(site.web().open_exchanges(), 1u);
  for (int i = 0; i < 1'000; ++i) last->take();
  EXPECT_EQ(last->messages().size(), 8u);
}

TEST_F(Replay, StreamsThatAreSentAgainAtOnceAreBounded) {
  const std::string session = site.connect();
  const std::string other = site.connect();
  const std::size_t most = Limits{}.session_resumptions;
  std::vector<std::string> ids;
  for (std::size_t i = 0; i <= most; ++i) {
    ids.push_back(lost_call(session, std::to_string(i)));
    say(i, 1);
  }
  std::vector<FakeExchange*> open;
  for (std::size_t i = 0; i < most; ++i) {
    open.push_back(&come_back(session, ids[i]));
    EXPECT_TRUE(open.back()->streaming());
  }
  FakeExchange& refused = come_back(session, ids[most]);
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.field("Retry-After"), "");
  EXPECT_TRUE(has(refused.body, "busy"));
  // Taking one over is not one more, and other sessions have their own.
  EXPECT_TRUE(come_back(session, ids[0]).streaming());
  const std::string theirs = lost_call(other, "1");
  say(most + 1, 1);
  EXPECT_TRUE(come_back(other, theirs).streaming());
  // One that has taken everything makes room, although its stream goes on.
  for (int i = 0; i < 100; ++i) open[1]->take();
  EXPECT_TRUE(open[1]->streaming());
  EXPECT_TRUE(come_back(session, ids[most]).streaming());
}

TEST(StatefulStore, WhatIsDroppedDuringAReplayIsNotPassedOver) {
  SiteOptions options;
  options.server.limits.stream_events = 5;
  Site site(std::move(options));
  Parked parked;
  site.server.tool("wait", "", parked.handler());
  const std::string session = site.connect();
  FakeExchange& x = site.send(Site::in(session, Site::tool_body("1", "wait", "{}", with_token)));
  const std::string primed = last_id(x);
  x.go();
  const auto say = [&](int number) {
    parked.replies[0].context().progress(number, {}, std::string(100'000, 'x'));
    site.process();
  };
  for (int i = 1; i <= 4; ++i) say(i);
  FakeRequest request = Site::get(session, primed);
  FakeExchange y;
  y.stuck = true;
  site.web().on_request(request.get(), y);
  ASSERT_TRUE(y.streaming());
  for (int i = 5; i <= 12; ++i) say(i);
  y.take();
  EXPECT_TRUE(y.aborted());
  EXPECT_TRUE(whole_messages(y).empty());
  EXPECT_EQ(site.send(Site::get(session, primed)).status, 400) << "it is told so";
}

TEST_F(Replay, KeepAliveCommentsDoNotBreakAnEventApart) {
  const std::string session = site.connect();
  const std::string primed = lost_call(session);
  say(0, 1);
  FakeExchange& y = come_back(session, primed);
  for (int i = 0; i < 5; ++i) site.pass(Limits{}.sse_keep_alive);
  for (int i = 0; i < 100; ++i) y.take();
  ASSERT_EQ(y.messages().size(), 1u);
  site.pass(Limits{}.sse_keep_alive);
  EXPECT_EQ(y.pieces.back(), ":\n\n");
}

TEST(StatefulStore, ManyCutsInTheMiddleOfEventsLoseNothingEither) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    Site site;
    Parked parked;
    site.server.tool("wait", "", parked.handler());
    const std::string session = site.connect();
    FakeExchange* x = &site.send(Site::in(session, Site::tool_body("1", "wait", "{}", with_token)));
    std::string last = last_id(*x);
    std::vector<std::string> got, expected;
    // The client keeps what has come in whole.
    const auto cut = [&] {
      FakeExchange part;
      const std::size_t end = x->body.rfind("\n\n");
      if (end != x->body.npos) part.body = x->body.substr(0, end + 2);
      for (const auto& event : part.events()) {
        if (event.id) last = *event.id;
        if (event.data[0].empty()) continue;
        const json::Value message = test::parse(event.data[0]);
        got.push_back(message.contains("result") ? test::text_of(message)
                                                 : std::to_string(progress_of(message)));
      }
      if (x->waiting()) x->go();
    };
    const auto come_back = [&] {
      FakeRequest request = Site::get(session, last);
      site.exchanges.push_back(std::make_unique<FakeExchange>());
      x = site.exchanges.back().get();
      x->stuck = random() % 4 != 0;
      site.web().on_request(request.get(), *x);
      ASSERT_EQ(x->status, 200) << "seed " << seed << ": " << x->body;
    };
    for (int i = 1; i <= 100; ++i) {
      if (i == 100) {
        parked.replies[0]("end");
        expected.push_back("end");
      } else {
        parked.replies[0].context().progress(i, {}, std::string(random() % 60'000, 'x'));
        expected.push_back(std::to_string(i));
      }
      if (random() % 3 == 0) site.process();
      for (unsigned n = random() % 4; n > 0; --n) {
        if (x->stuck) x->take();
      }
      if (random() % 4 == 0) {
        cut();
        if (random() % 2 == 0) site.process();
        come_back();
      }
    }
    for (int i = 0; i < 1'000 && (x->waiting() || i == 0); ++i) {
      site.process();
      x->take();
    }
    cut();
    EXPECT_EQ(got, expected) << "seed " << seed;
    EXPECT_EQ(site.web().open_exchanges(), 0u);
    if (testing::Test::HasFailure()) return;
  }
}

// Letting a stream go.

TEST(StatefulLetGo, AHandlerThatRunsLaterClosesTheStreamAndTheClientComesBack) {
  LaterExecutor later;
  SiteOptions options;
  options.server.executor = &later;
  options.endpoint.retry = 1234ms;
  Site site(std::move(options));
  site.server.tool("t", "", blocking([](Context& cx) {
                     cx.progress(1);
                     cx.close_stream();
                     cx.progress(2);
                     return "late";
                   }));
  const std::string session = site.connect();
  FakeExchange& x = site.send(Site::in(session, Site::tool_body("1", "t", "{}", with_token)));
  later.run();
  site.process();
  EXPECT_TRUE(x.ended());
  const auto events = x.events();
  ASSERT_GE(events.size(), 3u) << x.body;
  EXPECT_TRUE(std::ranges::any_of(events, [](const auto& e) { return e.retry == "1234"; }));
  EXPECT_EQ(x.messages().size(), 1u);
  EXPECT_EQ(site.web().open_exchanges(), 0u);
  FakeExchange& y = site.send(Site::get(session, last_id(x)));
  EXPECT_TRUE(y.ended());
  ASSERT_EQ(y.messages().size(), 2u) << y.body;
  EXPECT_EQ(test::text_of(y.answer()), "late");
}

TEST(StatefulLetGo, AHandlerThatRanAtOnceIsAnsweredAtOnce) {
  InlineExecutor now;
  SiteOptions options;
  options.server.executor = &now;
  Site site(std::move(options));
  site.server.tool("t", "", blocking([](Context& cx) {
                     cx.close_stream();
                     return "fast";
                   }));
  const std::string session = site.connect();
  FakeExchange& x = site.send(Site::in(session, Site::tool_body("1", "t")));
  site.process();
  EXPECT_FALSE(x.waiting());
  std::string text = x.body;
  if (!has(text, "fast")) {
    FakeExchange& y = site.send(Site::get(session, last_id(x)));
    text = y.body;
  }
  EXPECT_TRUE(has(text, "fast"));
  // The next request is not let go for it.
  FakeExchange& z = site.send(Site::in(session, Site::legacy_body("2", "ping")));
  EXPECT_EQ(outcome(z), "200 result 2");
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST(StatefulLetGo, AHandlerThatAnswersLaterClosesTheStreamFromInsideTheCall) {
  Site site;
  std::vector<Reply<std::string>> waiting;
  site.server.tool("t", "", [&](Reply<std::string> reply) {
    reply.context().close_stream();
    waiting.push_back(std::move(reply));
  });
  const std::string session = site.connect();
  FakeExchange& x = site.send(Site::in(session, Site::tool_body("1", "t")));
  site.process();
  EXPECT_TRUE(x.ended()) << x.body;
  const std::string id = last_id(x);
  ASSERT_NE(id, "");
  FakeExchange& y = site.send(Site::get(session, id));
  ASSERT_TRUE(y.streaming());
  waiting[0]("late");
  site.process();
  EXPECT_EQ(test::text_of(y.answer()), "late");
}

TEST(StatefulLetGo, ClientsThatDoNotKnowOfItKeepTheirConnection) {
  for (const char* revision : {"2025-03-26", "2025-06-18"}) {
    Site site;
    std::vector<Reply<std::string>> waiting;
    site.server.tool("t", "", [&](Reply<std::string> reply) {
      reply.context().close_stream();
      waiting.push_back(std::move(reply));
    });
    const std::string session = site.connect(revision);
    FakeExchange& x = site.send(Site::in(session, Site::tool_body("1", "t")));
    site.process();
    EXPECT_TRUE(x.waiting()) << revision << ": it takes the end for the end: " << x.body;
    for (const auto& event : x.events()) EXPECT_NE(event.data[0], "") << "cannot be parsed";
    waiting[0]("late");
    site.process();
    if (!x.waiting()) {
      EXPECT_EQ(test::text_of(x.answer()), "late");
    }
  }
}

}  // namespace
}  // namespace godwit::inline v0
