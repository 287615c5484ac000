// Middleware that decides later: the call leaves the stack and goes on, or ends, when the decision
// comes, from whatever thread and however late.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "godwit/rpc/peer.hpp"
#include "rpc_station.hpp"

namespace godwit::inline v0::rpc {
namespace {

using test::error_of;
using test::message_of;
using test::Station;

using Lines = std::vector<std::string>;

std::string request(int id, std::string_view method, std::string_view params = "[4]") {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":)" + json::quote(method) +
         R"(,"params":)" + std::string(params) + "}";
}

struct Counted {
  int number = 0;
};

class Decisions : public testing::Test {
 protected:
  Decisions() {
    router->on("plain", [](int n) { return n + 1; });
    router->on("none", [] { return 0; });
    router->on("throw", [](int) -> int { throw std::runtime_error("x"); });
    router->on("later", [this](int, Reply<int> reply) { replies.push_back(std::move(reply)); });
    router->use<Counted>({.before = [this](IncomingCall& call, Counted& state) -> Verdict {
                            state.number = ++number;
                            lines.push_back("begin " + std::to_string(state.number) + " " +
                                            std::string(call.method()));
                            return {};
                          },
                          .after =
                              [this](Outcome& outcome, Counted& state) {
                                std::string line = "end " + std::to_string(state.number);
                                if (outcome.error()) {
                                  line += " " + std::to_string(outcome.error()->code);
                                }
                                if (outcome.is_cancelled()) line += " cancelled";
                                lines.push_back(line + std::string(outcome.result()));
                              }});
    router->use<std::string>(
        {.before = [this](IncomingCall& call, std::string& state) -> Verdict {
           state = "held, and long enough to need memory of its own";
           held.push_back(call.decide_later());
           if (in_before) in_before();
           EXPECT_EQ(state.size(), 47u);
           return {};
         },
         .after = [this](Outcome&,
                         std::string& state) { lines.push_back("after " + state.substr(0, 4)); }});
    router->use({.before = [this](IncomingCall& call) -> Verdict {
      lines.push_back("inner " + std::string(call.params().source()) + " " +
                      (call.id() ? call.id()->text() : "-") + " " +
                      (call.identity() ? call.identity()->subject : "nobody"));
      return {};
    }});
    station.emplace(router);
  }

  std::string decide(Verdict verdict) {
    station->sent.clear();
    Decision decision = std::move(held.back());
    held.pop_back();
    decision(std::move(verdict));
    station->peer->process();
    return station->all_sent();
  }

  std::shared_ptr<Router> router = std::make_shared<Router>();
  int number = 0;
  std::vector<Reply<int>> replies;
  Lines lines;
  std::function<void()> in_before;
  std::vector<Decision> held;
  std::optional<Station> station;
};

TEST_F(Decisions, LetACallGoOnWithAllThatWasKnownOfIt) {
  const Facts facts{
      .identity = std::make_shared<const Identity>(Identity{.issuer = "i", .subject = "ada"})};
  station->peer->receive(request(1, "plain"), 0, facts);
  EXPECT_EQ(station->all_sent(), "");
  EXPECT_EQ(station->peer->in_flight(), 1u);
  EXPECT_EQ(decide({}), R"({"jsonrpc":"2.0","id":1,"result":5})");
  EXPECT_EQ(station->peer->in_flight(), 0u);
  EXPECT_EQ(lines, (Lines{"begin 1 plain", "inner [4] 1 ada", "after held", "end 15"}));
}

TEST_F(Decisions, CoverEveryKindOfHandler) {
  station->receive(request(1, "throw"));
  EXPECT_EQ(error_of(decide({})), "-32603 1");
  station->receive(R"({"jsonrpc":"2.0","id":"a","method":"none"})");
  EXPECT_EQ(decide({}), R"({"jsonrpc":"2.0","id":"a","result":0})");
  station->receive(request(2, "later"));
  EXPECT_EQ(decide({}), "");
  EXPECT_EQ(station->peer->in_flight(), 1u);
  replies.at(0)(7);
  station->peer->process();
  EXPECT_EQ(station->all_sent(), R"({"jsonrpc":"2.0","id":2,"result":7})");
  lines.clear();
  station->receive(R"({"jsonrpc":"2.0","method":"plain","params":[1]})");
  EXPECT_EQ(decide({}), "");
  EXPECT_EQ(lines, (Lines{"begin 4 plain", "inner [1] - nobody", "after held", "end 4"}));
}

TEST_F(Decisions, MayAnswerOrRefuse) {
  station->receive(request(1, "plain"));
  EXPECT_EQ(decide(application_error(9, "no")),
            R"({"jsonrpc":"2.0","id":1,"error":{"code":9,"message":"no"}})");
  station->receive(request(2, "plain"));
  EXPECT_EQ(decide(Verdict::answer("[1]")), R"({"jsonrpc":"2.0","id":2,"result":[1]})");
  // It did not let them through, so it is not told how they ended.
  EXPECT_EQ(lines, (Lines{"begin 1 plain", "end 1 9", "begin 2 plain", "end 2[1]"}));
}

TEST_F(Decisions, DroppedFailTheCall) {
  station->receive(request(1, "plain"));
  held.clear();
  station->peer->process();
  EXPECT_EQ(error_of(station->all_sent()), "-32603 1");
  EXPECT_EQ(lines.back(), "end 1 -32603");
}

TEST_F(Decisions, CountOnceAndNotAfterTheEnd) {
  station->receive(request(1, "plain"));
  Decision decision = std::move(held.at(0));
  decision({});
  decision(application_error(9, "no"));
  station->peer->process();
  EXPECT_EQ(station->all_sent(), R"({"jsonrpc":"2.0","id":1,"result":5})");
  held.clear();
  lines.clear();

  station->receive(request(2, "plain"));
  const std::stop_token stopped = held.at(0).cancelled();
  EXPECT_FALSE(stopped.stop_requested());
  station->peer->cancel_incoming(Id(2));
  EXPECT_TRUE(stopped.stop_requested());
  EXPECT_EQ(decide({}), "");
  EXPECT_EQ(lines, (Lines{"begin 2 plain", "end 2 -32002 cancelled"}));
  lines.clear();

  station->receive(request(3, "plain"));
  station->peer->close();
  EXPECT_EQ(decide({}), "");
  EXPECT_EQ(lines, (Lines{"begin 3 plain", "end 3 -32000 cancelled"}));
}

TEST_F(Decisions, OutliveTheConnection) {
  station->receive(request(1, "plain"));
  station->receive(request(2, "plain"));
  station.reset();
  EXPECT_EQ(lines.size(), 4u);
  router.reset();
  held.at(0)({});
  held.clear();
}

TEST_F(Decisions, MayComeBeforeTheMiddlewareReturns) {
  in_before = [&] {
    held.at(0)({});
    held.clear();
  };
  EXPECT_EQ(station->receive(request(1, "plain")), R"({"jsonrpc":"2.0","id":1,"result":5})");
  in_before = [&] {
    held.at(0)({});
    held.clear();
    station->peer->process();  // it cannot go on while it is here
  };
  EXPECT_EQ(station->receive(request(2, "plain")), R"({"jsonrpc":"2.0","id":2,"result":5})");
  in_before = [&] {
    held.at(0)(application_error(3, "x"));
    held.clear();
    station->peer->process();
  };
  EXPECT_EQ(error_of(station->receive(request(3, "plain"))), "3 3");
  EXPECT_EQ(lines,
            (Lines{"begin 1 plain", "inner [4] 1 nobody", "after held", "end 15", "begin 2 plain",
                   "inner [4] 2 nobody", "after held", "end 25", "begin 3 plain", "end 3 3"}));
}

TEST_F(Decisions, TheCallMayEndWhileItsMiddlewareRuns) {
  in_before = [&] { station->peer->cancel_incoming(Id(1)); };
  EXPECT_EQ(station->receive(request(1, "plain")), "");
  EXPECT_EQ(lines.back(), "end 1 -32002 cancelled");
  EXPECT_EQ(decide({}), "");
  in_before = [&] { throw std::runtime_error("secret"); };
  station->receive(request(2, "plain"));
  EXPECT_EQ(error_of(station->all_sent()), "-32603 2");
  EXPECT_EQ(station->all_sent().find("secret"), std::string::npos);
  EXPECT_EQ(decide({}), "");
  in_before = [&] { station.reset(); };
  station->peer->receive(request(3, "plain"));
  EXPECT_EQ(lines.back(), "end 3 -32000 cancelled");
  EXPECT_EQ(lines.size(), 6u);
}

TEST_F(Decisions, AreOnlyOneForEachMiddleware) {
  std::optional<Decision> second;
  auto twice = std::make_shared<Router>();
  twice->on("m", [] { return 1; });
  std::optional<Decision> first;
  twice->use({.before = [&](IncomingCall& call) -> Verdict {
    first = call.decide_later();
    second = call.decide_later();
    return {};
  }});
  Station one(twice);
  EXPECT_EQ(one.receive(request(1, "m", "[]")), "");
  (*second)(application_error(1, "x"));
  one.peer->process();
  EXPECT_EQ(one.all_sent(), "");
  (*first)({});
  one.peer->process();
  EXPECT_EQ(one.all_sent(), R"({"jsonrpc":"2.0","id":1,"result":1})");
}

TEST_F(Decisions, SeveralInARow) {
  auto many = std::make_shared<Router>();
  std::vector<Decision> all;
  many->on("m", [] { return 1; });
  for (int i = 0; i < 3; ++i) {
    many->use({.before = [&](IncomingCall& call) -> Verdict {
      all.push_back(call.decide_later());
      return {};
    }});
  }
  Station one(many);
  one.receive("[" + request(1, "m", "[]") + "," + request(2, "m", "[]") + "]");
  std::size_t next = 0;
  while (next < all.size()) {
    ASSERT_EQ(one.all_sent(), "");
    Decision decision = std::move(all[next++]);
    decision({});
    one.peer->process();
  }
  EXPECT_EQ(next, 6u);
  EXPECT_EQ(one.all_sent(),
            R"([{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","id":2,"result":1}])");
}

TEST_F(Decisions, CountAsRequestsInFlight) {
  Station small(router, {.limits = {.in_flight = 1}});
  EXPECT_EQ(small.receive(request(1, "plain")), "");
  EXPECT_EQ(error_of(small.receive(request(2, "plain"))), "-32000 2");
  EXPECT_EQ(error_of(small.receive(request(1, "plain"))), "-32600 null");
  EXPECT_EQ(lines.back(), "end 2 -32000");
  ASSERT_EQ(held.size(), 2u);
  held.pop_back();  // of the one that was refused
  held.back()({});
  small.peer->process();
  EXPECT_EQ(small.all_sent().find("\"result\":5") != std::string::npos, true) << small.all_sent();
}

TEST_F(Decisions, WhatComesMeanwhileWaits) {
  router->on("talks", [&](int) {
    station->peer->receive(request(9, "unknown"));
    lines.emplace_back("talked");
    return 1;
  });
  station->receive(request(1, "talks"));
  EXPECT_EQ(decide({}).substr(0, 36), R"({"jsonrpc":"2.0","id":1,"result":1})"
                                      "\n");
  EXPECT_EQ(error_of(station->sent.at(1)), "-32601 9");
}

TEST_F(Decisions, FromOtherThreads) {
  auto shared = std::make_shared<Router>();
  std::vector<Decision> decisions;
  shared->on("m", [](int n) { return n; });
  shared->use<Counted>({.before = [&](IncomingCall& call, Counted& state) -> Verdict {
                          state.number = 1;
                          decisions.push_back(call.decide_later());
                          return {};
                        },
                        .after = [](Outcome&, Counted& state) { EXPECT_EQ(state.number, 1); }});
  Station one(shared);
  for (int i = 0; i < 200; ++i) one.peer->receive(request(i, "m"));
  std::jthread thread([&] {
    for (Decision& decision : decisions) decision({});
  });
  while (one.sent.size() < 200) {
    one.peer->process();
    std::this_thread::yield();
  }
  EXPECT_EQ(one.peer->in_flight(), 0u);
}

}  // namespace
}  // namespace godwit::inline v0::rpc
