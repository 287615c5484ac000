// Event stores that are slow, that fail, and that do anything while they are asked.
#include "godwit/mcp/event_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "godwit/base/executor.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/web/web_server.hpp"
#include "raw_client.hpp"
#include "slow_stores.hpp"
#include "stateful.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using Mode = Asked::Mode;
using test::has;

/// The ids of the events that have data, "-" where there is none, without the name of the stream.
std::string numbers(const FakeExchange& x) {
  std::string text;
  for (const auto& event : x.events()) {
    if (event.data.empty() || event.data[0].empty()) continue;
    text +=
        (text.empty() ? "" : " ") + (event.id ? event.id->substr(event.id->rfind('.') + 1) : "-");
  }
  return text;
}

std::string last_id(const FakeExchange& x) {
  std::string id;
  for (const auto& event : x.events()) id = event.id.value_or(id);
  return id;
}

struct Events : Stateful {
  Events() : Events(std::make_shared<SlowEvents>()) {}
  explicit Events(std::shared_ptr<SlowEvents> events, SiteOptions options = {})
      : Stateful([&] {
          options.endpoint.events = events;
          return std::move(options);
        }()),
        store(std::move(events)) {}

  FakeExchange& start(const std::string& session, std::string_view id = "1") {
    return call(session, id, "wait", "{}", with_token);
  }
  void say(int number, std::size_t which = 0, std::size_t size = 0) {
    parked.replies[which].context().progress(number, {}, std::string(size, 'x'));
    site.process();
  }
  std::size_t lines(std::string_view text) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(site.log, [&](const std::string& line) { return has(line, text); }));
  }

  std::shared_ptr<SlowEvents> store;
};

/// For a test that needs several.
struct OwnEvents final : Events {
  using Events::Events;
  void TestBody() override {}
};

TEST_F(Events, AnEventIsSentWhenItIsKeptAndInOrder) {
  const std::string session = site.connect();
  FakeExchange& x = start(session);
  store->set("append", Mode::later);
  say(1);
  say(2);
  EXPECT_EQ(numbers(x), "");
  EXPECT_EQ(store->waiting(), 2u) << "several are under way";
  // The second one first.
  auto first = store->take();
  auto second = store->take();
  second(true);
  site.process();
  EXPECT_EQ(numbers(x), "");
  first(true);
  EXPECT_EQ(numbers(x), "") << "on whichever thread it is";
  site.process();
  EXPECT_EQ(numbers(x), "1 2");
  parked.replies[0]("late");
  site.process();
  EXPECT_TRUE(x.streaming());
  store->answer();
  site.process();
  EXPECT_EQ(numbers(x), "1 2 3");
  EXPECT_TRUE(x.ended());
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Events, FastOnesWaitForSlowOnesBeforeThem) {
  const std::string session = site.connect();
  FakeExchange& x = start(session);
  store->set("append", Mode::later);
  say(1);
  store->set("append", Mode::now);
  say(2);
  EXPECT_EQ(numbers(x), "");
  store->answer();
  site.process();
  EXPECT_EQ(numbers(x), "1 2");
}

TEST_F(Events, OthersGoOnMeanwhile) {
  const std::string session = site.connect();
  FakeExchange& x = start(session);
  store->set("append", Mode::later);
  say(1);
  for (int i = 2; i < 50; ++i) {
    EXPECT_EQ(outcome(call(session, std::to_string(i), "echo", oslo)),
              "200 result " + std::to_string(i));
  }
  const std::string other = site.connect();
  EXPECT_EQ(outcome(call(other, "1", "echo", oslo)), "200 result 1");
  EXPECT_EQ(numbers(x), "");
  store->answer();
  site.process();
  EXPECT_EQ(numbers(x), "1");
}

TEST_F(Events, AnAcknowledgementMayComeFromAnyThread) {
  const std::string session = site.connect();
  FakeExchange& x = start(session);
  store->set("append", Mode::later);
  for (int i = 1; i <= 20; ++i) say(i);
  const int woken = site.woken;
  std::thread other([&] { store->answer(); });
  other.join();
  EXPECT_GT(site.woken, woken);
  site.process();
  EXPECT_EQ(x.messages().size(), 20u);
}

TEST_F(Events, AStoreThatFailsLeavesAStreamWithoutIds) {
  for (const Mode mode : {Mode::fail, Mode::throw_, Mode::drop}) {
    site.log.clear();
    parked.replies.clear();
    store->set("append", Mode::now);
    const std::string session = site.connect();
    FakeExchange& x = start(session);
    say(1);
    store->set("append", mode);
    say(2);
    store->set("append", Mode::now);
    const std::size_t asked = store->count("append");
    say(3);
    EXPECT_EQ(store->count("append"), asked) << "a gap cannot be filled";
    EXPECT_EQ(numbers(x), "1 - -");
    EXPECT_EQ(lines("goes on without ids"), 1u);
    parked.replies[0]("late");
    site.process();
    EXPECT_EQ(numbers(x), "1 - - -");
    EXPECT_TRUE(x.ended());
    EXPECT_EQ(test::text_of(x.answer()), "late");
    EXPECT_EQ(site.send(Site::get(session, last_id(x))).status, 400) << "it cannot be come back to";
    EXPECT_EQ(site.web().open_exchanges(), 0u);
  }
  EXPECT_EQ(store->inner->bytes(), 0u) << "what nobody can come back to is forgotten";
}

TEST_F(Events, AFailureThatComesLateFreesWhatWaitsBehindIt) {
  const std::string session = site.connect();
  FakeExchange& x = start(session);
  store->set("append", Mode::later);
  for (int i = 1; i <= 4; ++i) say(i);
  store->answer(1);
  store->fail_next();
  site.process();
  EXPECT_EQ(numbers(x), "1 - - -");
  store->answer();  // nobody waits for it
  site.process();
  parked.replies[0]("late");
  site.process();
  EXPECT_EQ(numbers(x), "1 - - - -");
  EXPECT_TRUE(x.ended());
}

TEST_F(Events, OneThatNeverAnswersIsNotWaitedForForEver) {
  const std::string session = site.connect();
  FakeExchange& x = start(session);
  store->set("append", Mode::later);
  say(1);
  parked.replies[0]("late");
  site.process();
  site.pass(Limits{}.store_time - 1ms);
  EXPECT_EQ(numbers(x), "");
  site.pass(1ms);
  EXPECT_EQ(numbers(x), "- -");
  EXPECT_TRUE(x.ended());
  EXPECT_EQ(lines("goes on without ids"), 1u);
}

TEST(EventStoreLimit, OfWhatWaitsForTheStore) {
  for (const int more : {0, 1}) {
    SiteOptions options;
    options.server.limits.unkept_bytes = 1000;
    const auto store = std::make_shared<SlowEvents>();
    options.endpoint.events = store;
    Site site(std::move(options));
    Parked parked;
    site.server.tool("wait", "", parked.handler());
    const std::string session = site.connect();
    FakeExchange& x = site.send(Site::in(session, Site::tool_body("1", "wait", "{}", with_token)));
    // What is counted is the event as it is sent.
    store->set("append", Mode::now);
    const std::size_t before = x.body.size();
    parked.replies[0].context().progress(1, {}, "x");
    site.process();
    const std::size_t event = x.body.size() - before - 1;
    store->set("append", Mode::later);
    parked.replies[0].context().progress(
        2, {}, std::string(1000 - event + static_cast<std::size_t>(more), 'x'));
    site.process();
    EXPECT_EQ(numbers(x), "1");
    parked.replies[0].context().progress(3, {}, "x");
    site.process();
    EXPECT_EQ(numbers(x), more ? "1 - -" : "1") << "what waits already decides";
    store->answer();
    site.process();
    EXPECT_EQ(numbers(x), more ? "1 - -" : "1 2 3");
  }
}

TEST_F(Events, AnOutcomeThatComesAfterTheEndDoesNothing) {
  store->set("append", Mode::later);
  const std::string session = site.connect();
  FakeExchange& x = start(session);
  say(1);
  site.send(Site::remove(session));
  EXPECT_FALSE(x.waiting());
  store->answer();
  site.process();
  // And after the end of the endpoint.
  parked.replies.clear();
  const std::string other = site.connect();
  FakeExchange& y = start(other);
  say(1);
  site.endpoint.reset();
  EXPECT_FALSE(y.waiting());
  store->answer();
}

TEST_F(Events, ASecondOutcomeDoesNothing) {
  struct Twice final : EventStore {
    void append(StreamKey, std::uint64_t, std::string_view, bool, Done<void> done) override {
      done({});
      done(error("no"));
    }
    void read(StreamKey, std::uint64_t, std::size_t, Done<EventPage> done) override {
      done(EventPage{.gone = true});
    }
    void forget(StreamKey, Done<void>) override {}
    void forget_session(std::string_view, Done<void>) override {}
  };
  SiteOptions options;
  options.endpoint.events = std::make_shared<Twice>();
  Site other(std::move(options));
  other.server.tool("steps", "", [](Context& cx) {
    cx.progress(1, 2);
    return "two steps";
  });
  FakeExchange& x =
      other.send(Site::in(other.connect(), Site::tool_body("1", "steps", "{}", with_token)));
  EXPECT_EQ(numbers(x), "1 2");
  EXPECT_TRUE(x.ended());
}

TEST_F(Events, TheStoreMayDestroyTheEndpointWhileItIsAsked) {
  for (const char* operation : {"append", "read", "forget_session"}) {
    OwnEvents own;
    const std::string session = own.site.connect();
    FakeExchange& x = own.start(session);
    own.say(1);
    const std::string primed = last_id(x);
    own.say(2);
    const auto destroy = [&](std::string_view name) {
      if (name == operation) own.site.endpoint.reset();
    };
    own.store->on_ask = destroy;
    if (operation == std::string_view("append")) {
      own.parked.replies[0].context().progress(3);
      own.site.endpoint->process();
    } else if (operation == std::string_view("read")) {
      FakeRequest request = Site::get(session, primed);
      FakeExchange y;
      own.site.endpoint->on_request(request.get(), y);
      EXPECT_FALSE(y.waiting());
    } else {
      FakeRequest request = Site::remove(session);
      FakeExchange y;
      own.site.endpoint->on_request(request.get(), y);
      EXPECT_FALSE(y.waiting());
    }
    EXPECT_FALSE(own.site.endpoint) << operation;
    EXPECT_FALSE(x.waiting()) << operation;
    own.store->on_ask = nullptr;
  }
}

TEST_F(Events, TheStoreMayCallTheEndpointWhileItIsAsked) {
  const std::string session = site.connect();
  FakeExchange& x = start(session);
  start(session, "2");
  bool once = false;
  store->on_ask = [&](std::string_view name) {
    if (name != "append" || std::exchange(once, true)) return;
    parked.replies[0].context().progress(2);
    site.process();
    parked.replies[1]("other");
    site.process();
    EXPECT_EQ(outcome(call(session, "3", "echo", oslo)), "200 result 3");
  };
  say(1);
  site.process();
  EXPECT_EQ(numbers(x), "1 2");
  ASSERT_EQ(x.messages().size(), 2u);
  EXPECT_EQ(x.messages()[0]["params"]["progress"].get<int>(), 1);
}

// Coming back.

TEST_F(Events, ComingBackWaitsForTheStore) {
  for (const bool copies : {false, true}) {
    parked.replies.clear();
    store->copies = copies;
    store->set("read", Mode::later);
    const std::string session = site.connect();
    FakeExchange& x = start(session);
    const std::string primed = last_id(x);
    for (int i = 1; i <= 3; ++i) say(i, 0, 100'000);
    x.go();
    FakeExchange& y = site.send(Site::get(session, primed));
    EXPECT_EQ(y.status, 0) << "it is not known yet whether it can be sent again";
    EXPECT_EQ(site.web().open_exchanges(), 1u);
    for (int i = 0; i < 20 && store->waiting() > 0; ++i) {
      say(4 + i, 0, 10);
      store->answer(1);
      site.process();
    }
    store->set("read", Mode::now);
    store->answer();
    site.process();
    EXPECT_EQ(y.status, 200);
    const auto messages = y.messages();
    ASSERT_GE(messages.size(), 4u);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      EXPECT_EQ(messages[i]["params"]["progress"].get<int>(), static_cast<int>(i) + 1);
    }
    parked.replies[0]("late");
    site.process();
    EXPECT_EQ(test::text_of(y.answer()), "late");
    EXPECT_EQ(site.web().open_exchanges(), 0u);
  }
}

TEST_F(Events, WhatIsSentMeanwhileAndNotAcknowledgedYetComesAfterTheRest) {
  const std::string session = site.connect();
  FakeExchange& x = start(session);
  const std::string primed = last_id(x);
  say(1);
  x.go();
  store->set("append", Mode::later);
  say(2);
  FakeExchange& y = site.send(Site::get(session, primed));
  EXPECT_EQ(numbers(y), "1");
  say(3);
  EXPECT_EQ(numbers(y), "1");
  store->answer();
  site.process();
  EXPECT_EQ(numbers(y), "1 2 3");
}

TEST_F(Events, AStoreThatCannotBeReadIsAClearError) {
  const std::string session = site.connect();
  FakeExchange& x = start(session);
  const std::string primed = last_id(x);
  say(1);
  x.go();
  for (const Mode mode : {Mode::fail, Mode::throw_, Mode::drop}) {
    store->set("read", mode);
    FakeExchange& y = site.send(Site::get(session, primed));
    EXPECT_EQ(y.status, 503);
    EXPECT_NE(y.field("Retry-After"), "");
    EXPECT_TRUE(has(y.body, "busy"));
    EXPECT_FALSE(has(y.body, "disk")) << "what the store says is for the log";
  }
  // Later.
  store->set("read", Mode::later);
  FakeExchange& y = site.send(Site::get(session, primed));
  store->fail_next();
  site.process();
  EXPECT_EQ(y.status, 503);
  // Never.
  FakeExchange& z = site.send(Site::get(session, primed));
  site.pass(Limits{}.store_time);
  EXPECT_EQ(z.status, 503);
  EXPECT_EQ(site.web().open_exchanges(), 0u);
  // And again.
  store->drop_all();
  store->set("read", Mode::now);
  EXPECT_EQ(numbers(site.send(Site::get(session, primed))), "1");
}

TEST_F(Events, AClientThatComesBackAndLeavesAgainIsForgotten) {
  const std::string session = site.connect();
  FakeExchange& x = start(session);
  const std::string primed = last_id(x);
  say(1);
  x.go();
  store->set("read", Mode::later);
  FakeExchange& y = site.send(Site::get(session, primed));
  y.go();
  FakeExchange& z = site.send(Site::get(session, primed));
  FakeExchange& again = site.send(Site::get(session, primed));
  EXPECT_EQ(z.status, 409);
  store->answer();
  site.process();
  EXPECT_EQ(numbers(again), "1");
  EXPECT_EQ(site.web().open_exchanges(), 1u);
  again.go();
  FakeExchange& last = site.send(Site::get(session, primed));
  site.send(Site::remove(session));
  EXPECT_EQ(last.status, 404);
  store->answer();
  site.process();
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Events, WhatWaitsForSlowReadersIsBoundedAlsoIfTheStoreDoesNotHoldIt) {
  SiteOptions options;
  options.server.limits.resumption_bytes = 500'000;
  OwnEvents own(std::make_shared<SlowEvents>(), std::move(options));
  own.store->copies = true;
  const std::string session = own.site.connect();
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < 4; ++i) {
    FakeExchange& x = own.start(session, std::to_string(i));
    ids.push_back(last_id(x));
    own.say(1, i, 200'000);
    x.go();
  }
  std::vector<std::unique_ptr<FakeExchange>> back;
  for (const std::string& id : ids) {
    FakeRequest request = Site::get(session, id);
    back.push_back(std::make_unique<FakeExchange>());
    back.back()->stuck = true;
    own.site.web().on_request(request.get(), *back.back());
  }
  EXPECT_EQ(std::ranges::count_if(back, [](const auto& x) { return x->aborted(); }), 2);
  const std::size_t reads = own.store->count("read");
  for (int i = 0; i < 100; ++i) {
    if (back[0]->waiting()) back[0]->take();
  }
  EXPECT_EQ(back[0]->messages().size(), 1u);
  EXPECT_EQ(own.store->count("read"), reads) << "an event is not read again for each piece of it";
  own.site.endpoint.reset();
}

TEST_F(Events, AListenerWaitsForTheStoreAndGoesOnWithoutWhatIsGone) {
  const std::string session = site.connect();
  change();
  change();
  store->set("read", Mode::later);
  FakeExchange& x = site.send(Site::get(session));
  EXPECT_EQ(x.status, 0);
  EXPECT_EQ(site.send(Site::get(session)).status, 409);
  store->answer();
  site.process();
  EXPECT_EQ(x.messages().size(), 2u);
  x.go();
  change();
  store->inner->forget_session(session, Done<void>([](Result<void>) {}));
  store->set("read", Mode::now);
  FakeExchange& y = site.send(Site::get(session));
  EXPECT_TRUE(y.streaming());
  EXPECT_EQ(y.messages().size(), 0u);
  change();
  EXPECT_EQ(y.messages().size(), 1u);
}

TEST_F(Events, AListenerOfAStreamThatCouldNotBeKeptBeginsANewOne) {
  const std::string session = site.connect();
  store->set("append", Mode::fail);
  change();
  store->set("append", Mode::now);
  FakeExchange& x = site.send(Site::get(session));
  EXPECT_TRUE(x.streaming());
  change();
  EXPECT_EQ(numbers(x), "1");
}

TEST_F(Events, WhatEndsIsForgottenAndNothingElse) {
  const std::string session = site.connect();
  FakeExchange& x = call(session, "1", "steps", "{}", with_token);
  EXPECT_TRUE(x.ended());
  EXPECT_EQ(store->count("forget"), 0u);
  site.pass(Limits{}.stream_time);
  EXPECT_EQ(store->count("forget"), 1u);
  EXPECT_EQ(store->inner->bytes(), 0u);
  call(session, "2", "steps", "{}", with_token);
  site.send(Site::remove(session));
  EXPECT_EQ(store->count("forget_session"), 1u);
  EXPECT_EQ(store->inner->bytes(), 0u);
  // An endpoint that goes away leaves what it kept.
  call(site.connect(), "3", "steps", "{}", with_token);
  site.endpoint.reset();
  EXPECT_GT(store->inner->bytes(), 0u);
  EXPECT_EQ(store->count("forget_session"), 1u);
}

TEST_F(Events, FailuresToForgetEndNothing) {
  for (const Mode mode : {Mode::fail, Mode::throw_, Mode::drop, Mode::later}) {
    store->set("forget", mode);
    store->set("forget_session", mode);
    const std::string session = site.connect();
    call(session, "1", "steps", "{}", with_token);
    site.pass(Limits{}.stream_time);
    EXPECT_EQ(outcome(call(session, "2", "echo", oslo)), "200 result 2");
    call(session, "3", "steps", "{}", with_token);
    EXPECT_EQ(site.send(Site::remove(session)).status, 204);
  }
  EXPECT_GT(lines("could not be forgotten"), 0u);
  store->answer();
}

// With sockets, and a store that works on a thread of its own.

struct ThreadEvents final : EventStore {
  void append(StreamKey key, std::uint64_t number, std::string_view data, bool final,
              Done<void> done) override {
    pool.execute([this, session = std::string(key.session), stream = std::string(key.stream),
                  number, text = std::string(data), final, done = std::move(done)]() mutable {
      inner.append({session, stream}, number, text, final, std::move(done));
    });
  }
  void read(StreamKey key, std::uint64_t after, std::size_t most, Done<EventPage> done) override {
    pool.execute([this, session = std::string(key.session), stream = std::string(key.stream), after,
                  most, done = std::move(done)]() mutable {
      inner.read({session, stream}, after, most, std::move(done));
    });
  }
  void forget(StreamKey, Done<void> done) override { done({}); }
  void forget_session(std::string_view, Done<void> done) override { done({}); }

  MemoryEventStore inner;
  ThreadPool pool{1};
};

TEST(EventStoreThread, KeepsUpWithAServer) {
  Loop loop;
  Server server{test::server_options()};
  static constexpr int most = 200;
  server.tool("steps", "", [](Context& cx) {
    for (int i = 1; i <= most; ++i) cx.progress(i, most);
    return "done";
  });
  const auto store = std::make_shared<ThreadEvents>();
  auto web = WebServer::listen(loop, server, {"127.0.0.1", 0}, {.endpoint = {.events = store}});
  ASSERT_TRUE(web);
  const auto request = [&](std::string_view method, std::string_view more, std::string_view body) {
    return std::string(method) + " /mcp HTTP/1.1\r\nHost: " + web->address() +
           "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" +
           std::string(more) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           std::string(body);
  };
  test::RawClient client(loop, web->address());
  const std::string in =
      "Mcp-Session-Id: " +
      client.ask(request("POST", "", Site::initialize_body("2025-06-18"))).field("mcp-session-id") +
      "\r\n";
  const auto ids = [](const std::string& body) {
    FakeExchange whole;
    whole.body = body;
    return numbers(whole);
  };
  std::string all;
  for (int i = 1; i <= most + 1; ++i) all += (i > 1 ? " " : "") + std::to_string(i);
  for (int round = 0; round < 20; ++round) {
    const auto answer =
        client.ask(request("POST", in, Site::tool_body("1", "steps", "{}", with_token)));
    EXPECT_EQ(answer.status, 200);
    ASSERT_EQ(ids(answer.body), all);
    const std::size_t id = answer.body.find("id: ");
    const std::string first = answer.body.substr(id + 4, answer.body.find('\n', id) - id - 4);
    const auto rest = client.ask(request("GET", in + "Last-Event-ID: " + first + "\r\n", ""));
    EXPECT_EQ(rest.status, 200);
    EXPECT_EQ("1 " + ids(rest.body), all) << "and the rest of it once more";
  }
}

}  // namespace
}  // namespace godwit::inline v0
