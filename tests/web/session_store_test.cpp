// Sessions that outlive their endpoint, and session stores that are slow or fail.
#include "godwit/mcp/session_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

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

std::string last_id(const FakeExchange& x) {
  std::string id;
  for (const auto& event : x.events()) id = event.id.value_or(id);
  return id;
}

/// What several servers share.
struct Stores {
  std::shared_ptr<SlowEvents> events = std::make_shared<SlowEvents>();
  std::shared_ptr<SlowSessions> sessions = std::make_shared<SlowSessions>();
};

/// "Bearer ada" is ada.
std::shared_ptr<http::Admission> believe() {
  return http::make_admission([](const http::Request& head, http::Decision& decision) {
    const auto field = head.fields.find("Authorization");
    if (!field) return decision.admit({});
    decision.admit({.identity = std::make_shared<const rpc::Identity>(rpc::Identity{
                        .issuer = "test", .subject = std::string(field->substr(7))})});
  });
}

SiteOptions with(const Stores& stores, std::string name) {
  SiteOptions options;
  options.endpoint.events = stores.events;
  options.endpoint.sessions = stores.sessions;
  options.endpoint.name = std::move(name);
  options.endpoint.admission = believe();
  return options;
}

/// One of the servers.
struct Place final : Stateful {
  Place(const Stores& stores, std::string name, SiteOptions options)
      : Stateful([&] {
          SiteOptions all = with(stores, std::move(name));
          all.server.limits = options.server.limits;
          return all;
        }()) {
    site.server.tool("who", "", [](Context& cx) {
      return cx.client().name + "|" + (cx.identity() ? cx.identity()->subject : "nobody");
    });
    site.server.tool("log", "", [](Context& cx) {
      cx.log(LoggingLevel::info, "said");
      return "logged";
    });
    site.server.resource("x:2", "x2", [] { return "x"; });
  }
  Place(const Stores& stores, std::string name) : Place(stores, std::move(name), {}) {}
  void TestBody() override {}

  FakeExchange& ask(std::string_view session, std::string_view id, std::string_view method,
                    std::string_view params = "{}") {
    return site.send(Site::in(session, Site::legacy_body(id, method, params)));
  }
  std::size_t lines(std::string_view text) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(site.log, [&](const std::string& line) { return has(line, text); }));
  }
};

struct Sessions : testing::Test {
  Place& a() { return a_ ? *a_ : a_.emplace(stores, "a"); }
  Place& b() { return b_ ? *b_ : b_.emplace(stores, "b"); }
  SlowSessions& store() { return *stores.sessions; }

  Stores stores;
  std::optional<Place> a_, b_;
};

// Going on elsewhere.

TEST_F(Sessions, GoesOnAtAnotherServerWhenTheFirstIsGone) {
  for (const std::string_view revision : http_revisions) {
    SCOPED_TRACE(revision);
    a_.reset();
    b_.reset();
    const std::string session = a().site.connect(revision);
    EXPECT_EQ(outcome(a().ask(session, "1", "logging/setLevel", R"({"level":"error"})")),
              "200 result 1");
    EXPECT_EQ(outcome(a().ask(session, "2", "resources/subscribe", R"({"uri":"x:1"})")),
              "200 result 2");
    EXPECT_EQ(outcome(a().ask(session, "3", "resources/subscribe", R"({"uri":"x:2"})")),
              "200 result 3");
    EXPECT_EQ(outcome(a().ask(session, "4", "resources/unsubscribe", R"({"uri":"x:2"})")),
              "200 result 4");
    // While the first has it, the second refuses.
    FakeExchange& early = b().call(session, "5", "who");
    EXPECT_EQ(early.status, 503);
    EXPECT_NE(early.field("Retry-After"), "");
    EXPECT_EQ(b().lines("another server has"), 1u);
    a_.reset();
    EXPECT_EQ(test::text_of(b().call(session, "6", "who").answer()), "tester|nobody");
    EXPECT_EQ(b().site.web().sessions(), 1u);
    // The level, and that the handshake is complete.
    FakeExchange& logged = b().call(session, "7", "log");
    EXPECT_EQ(logged.type, "application/json") << "less than an error is not told";
    FakeExchange& stream = b().site.send(Site::get(session));
    b().site.server.resource_updated("x:1");
    b().site.server.resource_updated("x:2");
    b().site.process();
    ASSERT_EQ(stream.messages().size(), 1u) << stream.body;
    EXPECT_EQ(stream.messages()[0]["params"]["uri"].get<std::string>(), "x:1");
    // A second handshake is refused, as ever.
    EXPECT_EQ(
        outcome(b().site.send(Site::in(session, Site::initialize_body(revision)))).substr(0, 10),
        "400 -32600");
    EXPECT_EQ(b().site.send(Site::remove(session)).status, 204);
    EXPECT_EQ(stores.sessions->inner->sessions(), 0u);
    EXPECT_EQ(b().call(session, "8", "who").status, 404);
  }
}

TEST_F(Sessions, AServerThatKeepsItsNameGetsItsSessionsBackAfterACrash) {
  std::optional<Place> first(std::in_place, stores, "a");
  const std::string session = first->site.connect();
  // It releases nothing.
  store().set("release", Mode::drop);
  first.reset();
  EXPECT_EQ(b().call(session, "1", "who").status, 503);
  EXPECT_EQ(test::text_of(a().call(session, "1", "who").answer()), "tester|nobody");
}

TEST_F(Sessions, BelongsToWhoeverBeganIt) {
  const auto as = [](std::string who, FakeRequest request) {
    return request.with("Authorization", "Bearer " + who);
  };
  FakeExchange& begun =
      a().site.send(as("ada", Site::post(Site::initialize_body(test::legacy_revision))));
  const std::string session = begun.field("Mcp-Session-Id");
  ASSERT_NE(session, "");
  a_.reset();
  const std::string body = Site::tool_body("1", "who");
  FakeExchange& unknown = b().site.send(as("bob", Site::in("00" + std::string(32, '0'), body)));
  for (FakeExchange* refused : {&b().site.send(as("bob", Site::in(session, body))),
                                &b().site.send(Site::in(session, body))}) {
    EXPECT_EQ(refused->status, 404);
    EXPECT_EQ(refused->body, unknown.body) << "nobody learns that it is there";
  }
  EXPECT_EQ(b().site.web().sessions(), 0u);
  EXPECT_EQ(test::text_of(b().site.send(as("ada", Site::in(session, body))).answer()),
            "tester|ada");
  EXPECT_EQ(b().site.send(as("bob", Site::in(session, body))).status, 404);
}

TEST_F(Sessions, ADrainedServerLetsGoOfWhatIsIdleAndTakesNothing) {
  const std::string session = a().site.connect();
  const std::string busy = a().site.connect();
  a().call(busy, "1", "wait", "{}", with_token);
  a().site.web().drain();
  EXPECT_EQ(test::text_of(b().call(session, "1", "who").answer()), "tester|nobody");
  EXPECT_EQ(b().call(busy, "2", "who").status, 503);
  EXPECT_EQ(a().call(session, "3", "who").status, 503) << "it must not take it back";
}

TEST_F(Sessions, WhatEndsIsRemoved) {
  const std::string session = a().site.connect();
  const std::string other = a().site.connect();
  a().site.send(Site::remove(session));
  EXPECT_EQ(b().call(session, "1", "who").status, 404);
  a().site.pass(Limits{}.session_idle);
  EXPECT_EQ(store().inner->sessions(), 0u);
  EXPECT_EQ(b().call(other, "1", "who").status, 404);
}

TEST_F(Sessions, WithoutAChangeNothingIsSaved) {
  const std::string session = a().site.connect();
  EXPECT_EQ(store().count("save"), 2u) << "the handshake and its end";
  for (int i = 1; i < 20; ++i) a().call(session, std::to_string(i), "echo", oslo);
  EXPECT_EQ(store().count("save"), 2u);
  a().ask(session, "30", "resources/subscribe", R"({"uri":"x:1"})");
  EXPECT_EQ(store().count("save"), 3u);
}

TEST_F(Sessions, StatesThatCannotBeReadAreNoSessions) {
  const auto keep = [&](std::string_view id, std::string_view state) {
    stores.sessions->inner->save(id, "z", state, Done<void>([](Result<void>) {}));
    stores.sessions->inner->release(id, "z", Done<void>([](Result<void>) {}));
  };
  const std::string session = b().site.connect();
  std::string good;
  stores.sessions->inner->find(
      session, "b", Done<SessionPlace>([&](Result<SessionPlace> place) { good = place->state; }));
  ASSERT_NE(good, "");
  int n = 0;
  for (const std::string& bad :
       {std::string(), std::string("x"), std::string("{}"), std::string("[]"),
        std::string(R"({"format":2,"service":{}})"), std::string(R"({"format":1,"service":{}})"),
        std::string(R"({"format":1,"service":{"revision":"1999-01-01"}})"),
        std::string(R"({"format":1,"owner":7,"service":{}})"), good.substr(0, good.size() - 1),
        good + "}"}) {
    const std::string id = "00bad" + std::to_string(++n);
    keep(id, bad);
    EXPECT_EQ(a().call(id, "1", "who").status, 404) << bad;
    EXPECT_EQ(b().call(id, "1", "who").status, 404) << "another one may have it, which has no luck";
  }
  EXPECT_EQ(a().site.web().sessions(), 0u);
  keep("00good", good);
  EXPECT_EQ(a().call("00good", "1", "who").status, 200);
  EXPECT_EQ(a().call(std::string(10'000, 'x'), "1", "who").status, 404);
}

// An id names a thread; a server with fewer threads has one place for it, too.
TEST_F(Sessions, OfManyThreadsGoOnAtAServerWithFewer) {
  Server server{test::server_options()};
  server.tool("echo", "", [](City in) { return in.city; });
  Loop loop;
  const auto metrics = std::make_shared<Metrics>();
  const auto listen = [&](std::string name, unsigned threads) {
    return WebServer::listen(loop, server, {"127.0.0.1", 0},
                             {.endpoint = {.metrics = name == "few" ? metrics : nullptr,
                                           .events = stores.events->inner,
                                           .sessions = stores.sessions->inner,
                                           .name = std::move(name)},
                              .threads = threads});
  };
  const auto post = [](const WebServer& to, std::string_view session, std::string_view body) {
    return "POST /mcp HTTP/1.1\r\nHost: " + to.address() +
           "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" +
           (session.empty() ? "" : "Mcp-Session-Id: " + std::string(session) + "\r\n") +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
  };
  std::map<std::string, std::string> sessions;  // by what their ids begin with
  {
    auto many = listen("many", 4);
    ASSERT_TRUE(many);
    for (int tries = 0; tries < 300 && sessions.size() < 4; ++tries) {
      test::RawClient client(loop, many->address());
      const std::string id =
          client.ask(post(*many, "", Site::initialize_body("2025-06-18"))).field("mcp-session-id");
      ASSERT_NE(id, "");
      sessions.emplace(id.substr(0, 2), id);
    }
    ASSERT_EQ(sessions.size(), 4u) << "the system gives some threads no connection";
  }
  auto few = listen("few", 2);
  ASSERT_TRUE(few);
  for (const auto& [prefix, id] : sessions) {
    for (int i = 0; i < 10; ++i) {  // whichever thread the connection is given to
      test::RawClient client(loop, few->address());
      EXPECT_EQ(client.ask(post(*few, id, Site::tool_body("1", "echo", oslo))).status, 200)
          << prefix;
    }
  }
  EXPECT_TRUE(has(metrics->text(), "\ngodwit_sessions 4\n")) << "each is there once";
}

// Streams.

TEST_F(Sessions, StreamsCanBeComeBackToAtAnotherServer) {
  const std::string session = a().site.connect();
  FakeExchange& x = a().call(session, "1", "steps", "{}", with_token);
  ASSERT_EQ(x.messages().size(), 2u);
  const std::string first = *x.events()[0].id;
  const std::string last = last_id(x);
  const std::size_t rest = x.events()[0].data[0].empty() ? 2 : 1;  // one that only has an id
  a_.reset();
  FakeExchange& y = b().site.send(Site::get(session, first));
  EXPECT_TRUE(y.ended());
  EXPECT_EQ(test::text_of(y.answer()), "two steps");
  EXPECT_EQ(y.messages().size(), rest);
  EXPECT_EQ(last_id(y), last) << "under the same ids";
  FakeExchange& nothing = b().site.send(Site::get(session, last));
  EXPECT_TRUE(nothing.ended());
  EXPECT_TRUE(nothing.messages().empty());
  for (const std::string& bad : {std::string("x.1"), first + "9", std::string(100, 'a') + ".1",
                                 "s" + first, std::string("A.1")}) {
    EXPECT_EQ(b().site.send(Site::get(session, bad)).status, 400) << bad;
  }
  EXPECT_EQ(b().site.web().open_exchanges(), 0u);
}

TEST_F(Sessions, ARequestThatDiedWithItsServerIsNotWaitedFor) {
  const std::string session = a().site.connect();
  FakeExchange& x = a().call(session, "1", "wait", "{}", with_token);
  const std::string primed = last_id(x);
  a().parked.replies[0].context().progress(1);
  a().site.process();
  const std::string first = last_id(x);
  a_.reset();
  FakeExchange& y = b().site.send(Site::get(session, primed));
  EXPECT_TRUE(y.ended());
  EXPECT_EQ(y.messages().size(), 1u) << "what was kept is sent";
  EXPECT_EQ(b().site.send(Site::get(session, primed)).messages().size(), 1u) << "once more";
  EXPECT_EQ(b().site.send(Site::get(session, first)).status, 400) << "nothing more will come";
}

TEST_F(Sessions, TheStreamOfASessionGoesOnWithItsNumbers) {
  const std::string session = a().site.connect();
  FakeExchange& x = a().site.send(Site::get(session));
  a().change();
  const std::string first = last_id(x);
  x.go();
  a().change();
  a_.reset();
  FakeExchange& y = b().site.send(Site::get(session, first));
  EXPECT_TRUE(y.streaming());
  EXPECT_EQ(y.messages().size(), 1u);
  b().change();
  EXPECT_EQ(y.messages().size(), 2u);
  EXPECT_EQ(last_id(y), first.substr(0, first.size() - 1) + "3");
  EXPECT_EQ(b().site.send(Site::get(session)).status, 409);
}

TEST_F(Sessions, WhatIsSaidWhileAStreamIsLookedUpComesAfterIt) {
  const std::string session = a().site.connect();
  FakeExchange& x = a().site.send(Site::get(session));
  a().change();
  const std::string first = last_id(x);
  x.go();
  a().change();
  a_.reset();
  stores.events->set("read", Mode::later);
  FakeExchange& y = b().site.send(Site::get(session, first));
  EXPECT_EQ(y.status, 0);
  b().change();
  stores.events->answer();
  stores.events->set("read", Mode::now);
  b().site.process();
  EXPECT_EQ(y.messages().size(), 2u);
  EXPECT_EQ(last_id(y), first.substr(0, first.size() - 1) + "3");
  // One that is gone begins anew, and loses nothing of what was said meanwhile.
  b_.reset();
  stores.events->set("read", Mode::later);
  FakeExchange& z = a().site.send(Site::get(session, "s0123.1"));
  a().change();
  stores.events->answer();
  stores.events->set("read", Mode::now);
  a().site.process();
  EXPECT_EQ(z.status, 400);
  FakeExchange& again = a().site.send(Site::get(session));
  EXPECT_EQ(again.messages().size(), 1u);
}

// Slow ones.

TEST_F(Sessions, AHandshakeIsAnsweredWhenItIsSaved) {
  store().set("save", Mode::later);
  FakeExchange& x = a().site.send(Site::post(Site::initialize_body(test::legacy_revision)));
  EXPECT_TRUE(x.waiting());
  EXPECT_EQ(x.status, 0) << "not even a stream has begun";
  // Others do not notice.
  store().set("save", Mode::now);
  const std::string other = a().site.connect();
  for (int i = 1; i < 20; ++i) {
    EXPECT_EQ(a().call(other, std::to_string(i), "echo", oslo).status, 200);
  }
  EXPECT_TRUE(x.waiting());
  store().answer();
  EXPECT_TRUE(x.waiting()) << "on whichever thread that is";
  a().site.process();
  EXPECT_EQ(outcome(x), "200 result 0");
  EXPECT_EQ(a().call(x.field("Mcp-Session-Id"), "1", "echo", oslo).status, 200);
}

TEST_F(Sessions, WhatASessionSaysWaitsInOrder) {
  const std::string session = a().site.connect();
  FakeExchange& stream = a().site.send(Site::get(session));
  store().set("save", Mode::later);
  FakeExchange& level = a().ask(session, "1", "logging/setLevel", R"({"level":"error"})");
  FakeExchange& echo = a().call(session, "2", "echo", oslo);
  FakeExchange& note = a().ask(session, "", "notifications/roots/list_changed");
  a().change();
  FakeExchange& again = a().ask(session, "3", "resources/subscribe", R"({"uri":"x:1"})");
  for (FakeExchange* each : {&level, &echo, &note, &again}) EXPECT_TRUE(each->waiting());
  EXPECT_EQ(stream.messages().size(), 0u);
  EXPECT_EQ(store().waiting(), 1u);
  store().answer(1);
  a().site.process();
  EXPECT_EQ(outcome(level), "200 result 1");
  EXPECT_EQ(outcome(echo), "200 result 2");
  EXPECT_EQ(note.status, 202);
  EXPECT_EQ(stream.messages().size(), 1u);
  EXPECT_TRUE(again.waiting()) << "that was changed after what is saved";
  EXPECT_EQ(store().waiting(), 1u);
  store().answer(1);
  a().site.process();
  EXPECT_EQ(outcome(again), "200 result 3");
  EXPECT_EQ(a().site.web().open_exchanges(), 1u);
}

TEST_F(Sessions, AnOutcomeMayComeFromAnotherThreadOrAfterTheEnd) {
  const std::string session = a().site.connect();
  store().set("save", Mode::later);
  FakeExchange& level = a().ask(session, "1", "logging/setLevel", R"({"level":"error"})");
  std::thread([&] { store().answer(); }).join();
  a().site.process();
  EXPECT_EQ(outcome(level), "200 result 1");
  FakeExchange& last = a().ask(session, "2", "logging/setLevel", R"({"level":"error"})");
  a().site.send(Site::remove(session));
  EXPECT_FALSE(last.waiting());
  store().answer();
  a().site.process();
  const std::string other = a().site.send(Site::post(Site::initialize_body("2025-06-18"))).body;
  EXPECT_EQ(other, "");
  a_.reset();
  store().answer();
}

TEST_F(Sessions, LookUpsWaitTogether) {
  const std::string session = a().site.connect();
  a_.reset();
  store().set("find", Mode::later);
  FakeExchange& first = b().call(session, "1", "who");
  FakeExchange& second = b().call(session, "2", "who");
  FakeExchange& gone = b().call(session, "3", "who");
  FakeExchange& other = b().call("00unknown", "4", "who");
  EXPECT_EQ(store().waiting(), 2u) << "one for each session";
  EXPECT_EQ(b().site.web().open_exchanges(), 4u);
  gone.go();
  // Others do not wait.
  const std::string own = b().site.connect();
  EXPECT_EQ(b().call(own, "1", "echo", oslo).status, 200);
  store().answer();
  b().site.process();
  EXPECT_EQ(outcome(first), "200 result 1");
  EXPECT_EQ(outcome(second), "200 result 2");
  EXPECT_EQ(other.status, 404);
  EXPECT_EQ(b().site.web().sessions(), 2u);
  EXPECT_EQ(b().site.web().open_exchanges(), 0u);
}

TEST_F(Sessions, ALookUpThatTakesTooLongIsAnswered) {
  const std::string session = a().site.connect();
  a_.reset();
  store().set("find", Mode::later);
  FakeExchange& x = b().call(session, "1", "who");
  b().site.pass(Limits{}.store_time - 1ms);
  EXPECT_TRUE(x.waiting());
  b().site.pass(1ms);
  EXPECT_EQ(x.status, 503);
  EXPECT_EQ(b().site.web().open_exchanges(), 0u);
  store().answer();
  b().site.process();
  store().set("find", Mode::now);
  EXPECT_EQ(b().call(session, "2", "who").status, 200) << "the store says that it is here";
  // One that never comes, and the end of the endpoint.
  store().set("find", Mode::later);
  FakeExchange& last = b().call("00other", "1", "who");
  b().site.endpoint.reset();
  EXPECT_TRUE(last.aborted());
  store().answer();
}

// Failing ones.

TEST_F(Sessions, AHandshakeThatCannotBeSavedDoesNotSucceed) {
  for (const Mode mode : {Mode::fail, Mode::throw_, Mode::drop}) {
    store().set("save", mode);
    FakeExchange& x = a().site.send(Site::post(Site::initialize_body(test::legacy_revision)));
    EXPECT_EQ(outcome(x), "503 -32603 0");
    EXPECT_EQ(x.field("Mcp-Session-Id"), "");
    EXPECT_NE(x.field("Retry-After"), "");
    EXPECT_TRUE(has(x.body, "could not be saved")) << x.body;
    EXPECT_FALSE(has(x.body, "disk"));
    EXPECT_EQ(a().site.web().sessions(), 0u);
  }
  store().set("save", Mode::later);
  FakeExchange& x = a().site.send(Site::post(Site::initialize_body(test::legacy_revision)));
  store().fail_next();
  a().site.process();
  EXPECT_EQ(outcome(x), "503 -32603 0");
  FakeExchange& never = a().site.send(Site::post(Site::initialize_body(test::legacy_revision)));
  a().site.pass(Limits{}.store_time);
  EXPECT_EQ(outcome(never), "503 -32603 0");
  EXPECT_EQ(a().site.web().sessions(), 0u);
  EXPECT_EQ(a().site.web().open_exchanges(), 0u);
  store().answer();  // late
  store().set("save", Mode::now);
  a().site.connect();
  EXPECT_EQ(a().site.web().sessions(), 1u);
}

TEST_F(Sessions, AChangeThatCannotBeSavedIsAnErrorAndOthersAreNot) {
  const std::string session = a().site.connect();
  for (const Mode mode : {Mode::fail, Mode::throw_, Mode::drop}) {
    store().set("save", mode);
    EXPECT_EQ(outcome(a().ask(session, "1", "logging/setLevel", R"({"level":"error"})")),
              "503 -32603 1");
    EXPECT_EQ(outcome(a().ask(session, "2", "resources/subscribe", R"({"uri":"x:1"})")),
              "503 -32603 2");
    EXPECT_EQ(outcome(a().ask(session, "3", "resources/subscribe", R"({"uri":"x:1"})")),
              "503 -32603 3")
        << "also if it is so already";
    EXPECT_EQ(a().ask(session, "", "notifications/initialized").status, 503);
    EXPECT_EQ(outcome(a().call(session, "4", "echo", oslo)), "200 result 4");
    EXPECT_EQ(
        outcome(a().ask(session, "5", "resources/subscribe", R"({"uri":"none:1"})")).substr(0, 8),
        "200 -320")
        << "what is refused anyway stays what it is";
  }
  store().set("save", Mode::later);
  FakeExchange& level = a().ask(session, "6", "logging/setLevel", R"({"level":"error"})");
  FakeExchange& echo = a().call(session, "7", "echo", oslo);
  a().site.pass(Limits{}.store_time);
  EXPECT_EQ(outcome(level), "503 -32603 6");
  EXPECT_EQ(outcome(echo), "200 result 7") << "which changed nothing";
  store().drop_all();
  store().set("save", Mode::now);
  EXPECT_EQ(outcome(a().ask(session, "8", "resources/subscribe", R"({"uri":"x:1"})")),
            "200 result 8");
}

TEST_F(Sessions, AnswersToABatchAreErrorsOneByOne) {
  const std::string session = a().site.connect("2025-03-26");
  store().set("save", Mode::fail);
  FakeExchange& x = a().site.send(
      Site::in(session, "[" + Site::legacy_body("1", "logging/setLevel", R"({"level":"error"})") +
                            "," + Site::legacy_body("\"two\"", "ping") + "]"));
  const json::Value answers = x.answer();
  ASSERT_TRUE(answers.is_array()) << x.body;
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(x.status, 503);
  EXPECT_TRUE(has(x.body, "\"two\""));
  EXPECT_FALSE(has(x.body, "result"));
}

TEST_F(Sessions, LookUpsThatFailAreClearErrors) {
  const std::string session = a().site.connect();
  a_.reset();
  for (const Mode mode : {Mode::fail, Mode::throw_, Mode::drop}) {
    store().set("find", mode);
    FakeExchange& x = b().call(session, "1", "who");
    EXPECT_EQ(x.status, 503) << x.body;
    EXPECT_NE(x.field("Retry-After"), "");
    EXPECT_FALSE(has(x.body, "disk"));
  }
  EXPECT_EQ(b().lines("could not be looked up"), 3u);
  store().set("find", Mode::now);
  EXPECT_EQ(b().call(session, "2", "who").status, 200);
}

TEST_F(Sessions, TooMuchThatWaitsForTheStoreIsAFailure) {
  SiteOptions options;
  options.server.limits.unkept_bytes = 500;
  Place place(stores, "a", std::move(options));
  const std::string session = place.site.connect();
  store().set("save", Mode::later);
  FakeExchange& level = place.ask(session, "1", "logging/setLevel", R"({"level":"error"})");
  const std::string long_city = R"({"city":")" + std::string(600, 'x') + "\"}";
  FakeExchange& first = place.call(session, "2", "echo", long_city);
  EXPECT_TRUE(first.waiting()) << "what waits already decides";
  FakeExchange& second = place.call(session, "3", "echo", long_city);
  EXPECT_EQ(outcome(level), "503 -32603 1");
  EXPECT_EQ(outcome(first), "200 result 2");
  EXPECT_EQ(outcome(second), "200 result 3");
}

TEST_F(Sessions, TheStoreMayDestroyTheEndpointWhileItIsAsked) {
  for (const std::string operation : {"save", "find", "release", "remove"}) {
    Place place(stores, "a");
    store().on_ask = nullptr;
    const std::string session = place.site.connect();
    store().on_ask = [&](std::string_view name) {
      if (name == operation) place.site.endpoint.reset();
    };
    FakeExchange x;
    FakeRequest request =
        operation == "save"
            ? Site::in(session, Site::legacy_body("1", "logging/setLevel", R"({"level":"error"})"))
        : operation == "find"   ? Site::in("00none", Site::tool_body("1", "who"))
        : operation == "remove" ? Site::remove(session)
                                : Site::in(session, Site::tool_body("1", "who"));
    place.site.endpoint->on_request(request.get(), x);
    if (operation == "release") place.site.endpoint->drain();
    EXPECT_FALSE(x.waiting()) << operation;
    EXPECT_FALSE(place.site.endpoint) << operation;
    store().on_ask = nullptr;
  }
}

}  // namespace
}  // namespace godwit::inline v0
