// Who may send a request: decided by its head, at once or later, before its body is read.
#include "godwit/http/admission.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "godwit/io/timer.hpp"
#include "serving.hpp"

namespace godwit::inline v0::http {
namespace {

using namespace std::chrono_literals;
using Kind = Outcome::Kind;

// A Decision by itself.

Outcome outcome_of(const std::function<void(Decision&)>& decide) {
  Decision decision;
  decide(decision);
  PendingDecision pending = decision.pending();
  return pending ? pending.take() : std::move(decision.outcome());
}

TEST(Decision, TheFirstCallCounts) {
  EXPECT_EQ(outcome_of([](Decision&) {}).kind, Kind::undecided);
  EXPECT_EQ(outcome_of([](Decision& d) { d.pass(); }).kind, Kind::passed);
  EXPECT_EQ(outcome_of([](Decision& d) {
              d.admit();
              d.refuse({.status = 401});
            }).kind,
            Kind::admitted);
  const Outcome refused = outcome_of([](Decision& d) {
    d.refuse({.status = 401});
    d.refuse({.status = 403});
    d.admit();
  });
  EXPECT_EQ(refused.kind, Kind::refused);
  EXPECT_EQ(refused.refusal.status, 401);
}

TEST(Decision, OnlyTheLateOneCountsFromThenOn) {
  const Outcome later = outcome_of([](Decision& d) {
    LateDecision late = d.later();
    d.admit();  // too late: it is the other's
    LateDecision none = d.later();
    none.refuse({.status = 500});
    late.refuse({.status = 401});
    late.admit();
  });
  EXPECT_EQ(later.kind, Kind::refused);
  EXPECT_EQ(later.refusal.status, 401);
  EXPECT_EQ(outcome_of([](Decision& d) {
              d.admit();
              d.later().refuse({.status = 401});
            }).kind,
            Kind::admitted);
}

TEST(Decision, OneThatIsDroppedRefuses) {
  const Outcome dropped = outcome_of([](Decision& d) { d.later(); });
  EXPECT_EQ(dropped.kind, Kind::refused);
  EXPECT_EQ(dropped.refusal.status, 500);
  const Outcome moved = outcome_of([](Decision& d) {
    LateDecision late = d.later();
    LateDecision other = std::move(late);
    late.refuse({.status = 400});  // says nothing any more
    other.admit();
  });
  EXPECT_EQ(moved.kind, Kind::admitted);
}

TEST(Decision, WhoeverAskedIsWokenOnceFromAnyThread) {
  Decision decision;
  LateDecision late = decision.later();
  PendingDecision pending = decision.pending();
  std::atomic<int> woken = 0;
  ASSERT_TRUE(pending.wait([&] { ++woken; }));
  EXPECT_EQ(pending.take().kind, Kind::undecided);
  std::thread([&] { late.admit({.fields = {{"X-Nonce", "1"}}}); }).join();
  EXPECT_EQ(woken, 1);
  const Outcome outcome = pending.take();
  EXPECT_EQ(outcome.kind, Kind::admitted);
  EXPECT_EQ(outcome.admitted.fields.find("X-Nonce"), "1");
}

TEST(Decision, WhoeverIsGoneIsNotWoken) {
  Decision decision;
  LateDecision late = decision.later();
  int woken = 0;
  {
    PendingDecision pending = decision.pending();
    ASSERT_TRUE(pending.wait([&] { ++woken; }));
  }
  late.admit();
  EXPECT_EQ(woken, 0);
}

TEST(Decision, OneThatIsMadeAlreadyIsNotWaitedFor) {
  Decision decision;
  decision.later().admit();
  PendingDecision pending = decision.pending();
  EXPECT_FALSE(pending.wait([] { FAIL(); }));
  EXPECT_EQ(pending.take().kind, Kind::admitted);
}

TEST(Decision, RefusalsCarryWhatTheOneWhoPassedTheQuestionOnAdds) {
  for (const bool later : {false, true}) {
    const Outcome outcome = outcome_of([&](Decision& d) {
      d.set_refusal_fields({{"Vary", "Origin"}});
      Response answer{.status = 401, .fields = {{"WWW-Authenticate", "Bearer"}}};
      later ? d.later().refuse(std::move(answer)) : d.refuse(std::move(answer));
    });
    EXPECT_EQ(outcome.refusal.fields.find("Vary"), "Origin");
    EXPECT_EQ(outcome.refusal.fields.find("WWW-Authenticate"), "Bearer");
  }
}

// An HttpServer that asks.

/// Decides as the test says; answers with what came.
struct Guarded final : Handler {
  void on_head(const Request& head, Decision& decision) override {
    ++asked;
    EXPECT_EQ(head.admitted, nullptr);
    EXPECT_TRUE(head.body.empty() || head.method == "POST");
    if (decide) return decide(head, decision);
    late.push_back(decision.later());
  }
  void on_request(const Request& request, Exchange& exchange) override {
    ++served;
    ASSERT_NE(request.admitted, nullptr);
    EXPECT_TRUE(request.admitted->fields.empty()) << "the server adds them";
    if (request.path() == "/stream") {
      exchange.begin(200, "text/plain");
      exchange.write("piece");
      return exchange.end();
    }
    exchange.respond(200, "text/plain",
                     std::string(request.method) + " " + std::string(request.target) + " " +
                         std::to_string(request.body.size()));
  }
  std::optional<Response> on_upgrade(const Request& request, Stream&, std::string_view) override {
    ++upgrades;
    EXPECT_NE(request.admitted, nullptr);
    return Response{.status = 426};
  }

  int asked = 0, served = 0, upgrades = 0;
  std::function<void(const Request&, Decision&)> decide;
  std::vector<LateDecision> late;
};

struct Admitting : testing::Test {
  void start(Limits limits = {}) {
    auto made = HttpServer::tcp(
        loop, {"127.0.0.1", 0}, app,
        {.limits = limits,
         .log = Log([this](LogLevel, std::string_view s) { log += std::string(s) + "\n"; }),
         .body_bytes = body_bytes});
    ASSERT_TRUE(made) << made.error().message;
    server.emplace(*std::move(made));
  }
  std::unique_ptr<RawClient> connect() {
    if (!server) start();
    return std::make_unique<RawClient>(loop, server->address());
  }
  /// A client whose request waits for a decision.
  std::unique_ptr<RawClient> ask(std::string_view request) {
    auto client = connect();
    const int before = app.asked;
    client->send_some(request);
    EXPECT_TRUE(run_until(loop, [&] { return app.asked > before; }));
    return client;
  }
  void settle() {
    for (int i = 0; i < 20; ++i) loop.poll();
  }

  Loop loop;
  Guarded app;
  std::string log;
  std::shared_ptr<std::atomic<std::size_t>> body_bytes =
      std::make_shared<std::atomic<std::size_t>>(0);
  std::optional<HttpServer> server;
};

const std::string half = "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhello";
const std::string upgrade =
    "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

TEST_F(Admitting, EveryRequestIsAskedAboutOnce) {
  app.decide = [](const Request&, Decision& decision) {
    decision.admit({.fields = {{"X-Nonce", "n"}}});
  };
  auto client = connect();
  for (const std::string method : {"GET", "DELETE", "OPTIONS", "PUT"}) {
    const RawResponse got = client->ask(method + " /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(got.body, method + " /x 0");
    EXPECT_EQ(got.field("x-nonce"), "n");
  }
  EXPECT_EQ(client->ask(post("/x", "hello")).body, "POST /x 5");
  client->send(half);
  ASSERT_TRUE(run_until(loop, [&] { return app.asked == 6; }));
  client->send("world");
  const RawResponse whole = client->response();
  EXPECT_EQ(whole.body, "POST /x 10");
  EXPECT_EQ(whole.field("x-nonce"), "n");
  EXPECT_EQ(client->ask(get("/stream")).field("x-nonce"), "n");
  EXPECT_EQ(app.asked, 7);
  EXPECT_EQ(app.served, 7);
  const RawResponse refused = client->ask(upgrade);
  EXPECT_EQ(refused.status, 426);
  EXPECT_EQ(refused.field("x-nonce"), "n");
  EXPECT_EQ(app.upgrades, 1);
  EXPECT_EQ(app.asked, 8);
}

TEST_F(Admitting, WhatWasFoundOutAboutOneRequestIsNotSaidOfTheNext) {
  app.decide = [&](const Request& head, Decision& decision) {
    if (head.path() == "/1") return decision.admit({.fields = {{"X-Nonce", "n"}}});
    decision.admit();
  };
  auto client = connect();
  EXPECT_EQ(client->ask(get("/1")).field("x-nonce"), "n");
  EXPECT_EQ(client->ask(get("/2")).field("x-nonce"), "");
}

TEST_F(Admitting, ARefusalIsAnsweredAndNothingRuns) {
  app.decide = [](const Request&, Decision& decision) {
    decision.refuse({.status = 401,
                     .fields = {{"WWW-Authenticate", "Bearer"}, {"Content-Type", "text/plain"}},
                     .body = "who?"});
  };
  auto client = connect();
  // Nothing is left of a whole request, so the connection goes on.
  for (const std::string& request : {get("/x"), post("/x", "hello"), upgrade}) {
    const RawResponse refused = client->ask(request);
    EXPECT_EQ(refused.status, 401);
    EXPECT_EQ(refused.field("www-authenticate"), "Bearer");
    EXPECT_EQ(refused.body, "who?");
    EXPECT_EQ(refused.field("connection"), "");
  }
  client->send(get("/1") + get("/2") + "HEAD /3 HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/4"));
  EXPECT_EQ(client->response().status, 401);
  EXPECT_EQ(client->response().status, 401);
  EXPECT_EQ(client->response(true).status, 401);
  EXPECT_EQ(client->response().body, "who?");
  client->send(half);
  const RawResponse last = client->response();
  EXPECT_EQ(last.status, 401);
  EXPECT_EQ(last.field("connection"), "close");
  EXPECT_TRUE(client->wait_end());
  EXPECT_EQ(app.served + app.upgrades, 0);
}

TEST_F(Admitting, ALateDecisionLetsTheRequestGoOn) {
  for (const std::string& request : {get("/x"), post("/x", "hello"), half, upgrade}) {
    auto client = ask(request);
    settle();
    EXPECT_EQ(app.served + app.upgrades, 0);
    Timer timer(loop);
    timer.start(1ms, [&] { app.late.back().admit({.fields = {{"X-Nonce", "n"}}}); });
    if (request == half) client->send("world");
    const RawResponse got = client->response();
    EXPECT_EQ(got.field("x-nonce"), "n");
    EXPECT_EQ(app.served + app.upgrades, 1) << request;
    EXPECT_EQ(got.status, request == upgrade ? 426 : 200);
    app.served = app.upgrades = 0;
    // And the connection is as good as before.
    client->send(get("/again"));
    const std::size_t before = app.late.size();
    ASSERT_TRUE(run_until(loop, [&] { return app.late.size() > before; }));
    app.late.back().admit();
    EXPECT_EQ(client->response().body, "GET /again 0");
    app.served = 0;
  }
}

TEST_F(Admitting, ALateDecisionMayRefuse) {
  for (const std::string& request : {get("/x"), post("/x", "hello"), half, upgrade}) {
    auto client = ask(request + (request == half ? "world" : ""));
    app.late.back().refuse({.status = 403});
    EXPECT_EQ(client->response().status, 403);
    EXPECT_EQ(app.served + app.upgrades, 0);
  }
}

TEST_F(Admitting, AnotherThreadMayDecide) {
  auto client = ask(get("/x"));
  std::thread other([late = std::move(app.late.back())]() mutable { late.admit(); });
  EXPECT_EQ(client->response().body, "GET /x 0");
  other.join();
}

TEST_F(Admitting, NoBodyIsReadBeforeTheDecision) {
  Limits limits;
  start(limits);
  auto client = ask("POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n");
  // What the system takes is all that goes; nobody reads it.
  std::size_t sent = 0;
  const std::string piece(64 << 10, 'x');
  for (int stuck = 0; stuck < 50; loop.poll()) {
    const std::size_t now = sent < 3000000
                                ? client->send_some(std::string_view(piece).substr(
                                      0, std::min<std::size_t>(piece.size(), 3000000 - sent)))
                                : 0;
    sent += now;
    stuck = now == 0 ? stuck + 1 : 0;
  }
  settle();
  EXPECT_EQ(app.served, 0);
  EXPECT_EQ(body_bytes->load(), 0u) << "nothing large was read";
  app.late.back().admit();
  while (sent < 3000000) {
    loop.poll();
    sent += client->send_some(
        std::string_view(piece).substr(0, std::min<std::size_t>(piece.size(), 3000000 - sent)));
  }
  EXPECT_EQ(client->response().body, "POST /x 3000000");
}

TEST_F(Admitting, ContinueIsNotSaidBeforeTheDecision) {
  const std::string waits =
      "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
  auto client = ask(waits);
  settle();
  client->take();
  EXPECT_EQ(client->in, "");
  app.late.back().admit();
  EXPECT_EQ(client->response().status, 100);
  client->send("hello");
  EXPECT_EQ(client->response().body, "POST /x 5");
  auto other = ask(waits);
  app.late.back().refuse({.status = 401});
  EXPECT_EQ(other->response().status, 401);
}

TEST_F(Admitting, RequestsBehindAnUndecidedOneWaitTheirTurn) {
  auto client = ask(get("/1") + get("/2") + post("/3", "abc"));
  settle();
  EXPECT_EQ(app.asked, 1);
  app.late[0].admit();
  EXPECT_EQ(client->response().body, "GET /1 0");
  ASSERT_TRUE(run_until(loop, [&] { return app.asked == 2; }));
  app.late[1].refuse({.status = 401});
  EXPECT_EQ(client->response().status, 401);
  ASSERT_TRUE(run_until(loop, [&] { return app.asked == 3; }));
  app.late[2].admit();
  EXPECT_EQ(client->response().body, "POST /3 3");
  // Also far more of them than are kept.
  client->send(get("/1"));
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += get("/2");
  std::size_t sent = client->send_some(many);
  settle();
  EXPECT_EQ(app.asked, 4);
  app.decide = [](const Request&, Decision& decision) { decision.admit(); };
  app.late[3].admit();
  std::size_t answers = 0;
  for (int turns = 0; answers < 20'001 && turns < 200000; ++turns) {
    loop.poll();
    if (sent < many.size()) sent += client->send_some(std::string_view(many).substr(sent));
    client->take();
    for (std::size_t at; (at = client->in.find("GET /")) != client->in.npos;
         client->in.erase(0, at + 5)) {
      ++answers;
    }
  }
  EXPECT_EQ(answers, 20'001u);
  EXPECT_EQ(app.asked, 20'004);
  EXPECT_EQ(app.served, 20'003);
  EXPECT_EQ(sent, many.size());
}

TEST_F(Admitting, SmuggledRequestsAreRefusedAsBefore) {
  app.decide = [](const Request&, Decision& decision) { decision.admit(); };
  for (const std::string& bad :
       {std::string("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: "
                    "chunked\r\n\r\n0\r\n\r\n"),
        std::string(
            "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"),
        std::string("GET /x HTTP/1.1\r\n\r\n")}) {
    auto client = connect();
    client->send(bad + get("/smuggled"));
    EXPECT_EQ(client->response().status, 400) << bad;
    EXPECT_TRUE(client->wait_end());
  }
  EXPECT_EQ(app.asked, 0);
}

TEST_F(Admitting, WhoeverSaysNothingIsAnsweredForInTime) {
  Limits limits;
  limits.admission_time = 20ms;
  start(limits);
  auto whole = ask(get("/x"));
  auto part = ask(half);
  for (RawClient* client : {whole.get(), part.get()}) {
    const RawResponse late = client->response();
    EXPECT_EQ(late.status, 503);
    EXPECT_EQ(late.field("retry-after"), "1");
  }
  EXPECT_TRUE(part->wait_end());
  app.late.clear();  // says 500, which nobody hears
  whole->send(get("/again"));
  ASSERT_TRUE(run_until(loop, [&] { return app.late.size() == 1; }));
  app.late.back().admit();
  EXPECT_EQ(whole->response().body, "GET /again 0");
  EXPECT_NE(log.find("nobody decided in time"), log.npos) << log;
}

TEST_F(Admitting, AClientThatIsGoneIsNotAnswered) {
  auto gone = ask(get("/x"));
  auto part = ask(half);
  gone->reset();
  part->close();
  settle();
  app.late[0].admit();
  app.late[1].admit();
  ASSERT_TRUE(run_until(loop, [&] { return server->connections() == 0; }));
}

TEST_F(Admitting, ADecisionMayOutliveTheServer) {
  auto client = ask(get("/x"));
  server.reset();
  settle();
  app.late[0].admit();
  settle();
  EXPECT_TRUE(client->wait_end());
  EXPECT_EQ(app.served, 0);
}

TEST_F(Admitting, TheServerMayBeDestroyedByTheOneWhoDecides) {
  app.decide = [&](const Request&, Decision& decision) {
    server.reset();
    decision.admit();
  };
  auto client = connect();
  client->send(get("/x"));
  EXPECT_TRUE(client->wait_end());
  EXPECT_EQ(app.served, 0);
}

TEST_F(Admitting, DrainingWaitsForTheDecision) {
  auto client = ask(get("/x"));
  auto never = ask(get("/y"));
  bool drained = false;
  server->drain([&] { drained = true; }, 200ms);
  app.late[0].admit();
  const RawResponse last = client->response();
  EXPECT_EQ(last.body, "GET /x 0");
  EXPECT_EQ(last.field("connection"), "close");
  EXPECT_FALSE(drained);
  EXPECT_TRUE(run_until(loop, [&] { return drained; }));
  EXPECT_TRUE(never->wait_end());
}

TEST_F(Admitting, OneThatThrowsOrSaysNothingIsAnsweredWith500) {
  int round = 0;
  app.decide = [&](const Request&, Decision& decision) {
    if (round == 0) throw std::runtime_error("secret");
    if (round == 1) return;
    if (round == 2) {
      const LateDecision dropped = decision.later();
      return;
    }
    const LateDecision kept = decision.later();
    throw std::runtime_error("secret");
  };
  for (; round < 4; ++round) {
    for (const std::string& request : {get("/x"), half, upgrade}) {
      auto client = connect();
      client->send(request);
      const RawResponse got = client->response();
      EXPECT_EQ(got.status, 500) << round << request;
      EXPECT_EQ(got.body.find("secret"), got.body.npos);
    }
  }
  EXPECT_EQ(app.served + app.upgrades, 0);
}

TEST_F(Admitting, TheNumberOfUndecidedOnesIsThatOfConnections) {
  Limits limits;
  limits.connections = 4;
  start(limits);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(ask(get("/x")));
  auto more = connect();
  more->send(get("/x"));
  EXPECT_EQ(more->response().status, 503);
  EXPECT_EQ(app.asked, 4);
  for (LateDecision& late : app.late) late.admit();
  for (const auto& client : clients) EXPECT_EQ(client->response().status, 200);
}

TEST_F(Admitting, AFunctionWillDo) {
  const auto admission = make_admission([](const Request& head, Decision& decision) {
    if (head.path() == "/no") return decision.refuse({.status = 401});
    decision.admit();
  });
  app.decide = [&](const Request& head, Decision& decision) { admission->decide(head, decision); };
  auto client = connect();
  EXPECT_EQ(client->ask(get("/no")).status, 401);
  EXPECT_EQ(client->ask(get("/yes")).status, 200);
}

}  // namespace
}  // namespace godwit::inline v0::http
