// Programs that misbehave: handlers, callbacks and hooks that throw, that close the connection, or
// that destroy it while it works. The peer answers or falls silent, and the next call works.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "godwit/rpc/peer.hpp"
#include "rpc_station.hpp"

namespace godwit::inline v0::rpc {
/// Cannot be written, nor read.
struct Cursed {
  int number = 0;
};
}  // namespace godwit::inline v0::rpc

template <>
struct godwit::json::Codec<godwit::rpc::Cursed> {
  static bool read(View, rpc::Cursed&, DecodeFailure&) { throw std::runtime_error("cursed read"); }
  static void write(Writer& writer, const rpc::Cursed&) {
    writer.begin_object();  // half of it is out when it fails
    writer.key("half");
    throw std::runtime_error("cursed write");
  }
};

namespace godwit::inline v0::rpc {
namespace {

using test::error_of;
using test::message_of;
using test::Station;

std::string request(int id, std::string_view method, std::string_view params = "[]") {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":)" + json::quote(method) +
         ",\"params\":" + std::string(params) + "}";
}

std::shared_ptr<Router> throwing_router() {
  auto router = std::make_shared<Router>();
  router->on("throw", []() -> int { throw std::runtime_error("secret"); });
  router->on("throw int", []() -> int { throw 42; });
  router->on("throw void", [] { throw std::runtime_error("secret"); });
  router->on("throw later", [](Reply<int>) { throw std::runtime_error("secret"); });
  router->on("throw after reply", [](Reply<int> reply) {
    reply(7);
    throw std::runtime_error("secret");
  });
  router->on("cursed", [] { return Cursed{}; });
  router->on("cursed params", [](Cursed) { return 1; });
  router->on("cursed reply", [](Reply<Cursed> reply) { reply(Cursed{}); });
  router->on("good", [] { return 1; });
  return router;
}

void check_throwing(const std::shared_ptr<Router>& router) {
  Station station(router);
  const std::string good = R"({"jsonrpc":"2.0","id":9,"result":1})";
  for (const char* method : {"throw", "throw int", "throw void", "throw later", "cursed",
                             "cursed params", "cursed reply"}) {
    const std::string answer = station.receive(request(1, method));
    EXPECT_EQ(station.sent.size(), 1u) << method;
    EXPECT_EQ(error_of(answer), "-32603 1") << method;
    EXPECT_EQ(answer.find("secret"), answer.npos) << answer;
    EXPECT_EQ(answer.find("cursed"), answer.npos) << answer;
    EXPECT_EQ(answer.find("half"), answer.npos) << answer;
    EXPECT_EQ(station.receive(request(9, "good")), good) << method;
    EXPECT_EQ(station.receive(R"({"jsonrpc":"2.0","method":")" + std::string(method) +
                              R"(","params":[]})"),
              "")
        << method;
    const std::string batch =
        station.receive("[" + request(1, method) + "," + request(9, "good") + "]");
    const auto value = json::parse(batch);
    ASSERT_TRUE(value) << batch;
    EXPECT_EQ(value->size(), 2u) << batch;
    EXPECT_EQ(station.peer->in_flight(), 0u) << method;
    station.clock.advance(std::chrono::minutes(1));
  }
  EXPECT_TRUE(station.logged(R"(the handler of "throw" threw: secret)"));
  EXPECT_TRUE(station.logged(R"(the handler of "cursed reply" threw: cursed write)"));
  EXPECT_EQ(station.receive(request(1, "throw after reply")),
            R"({"jsonrpc":"2.0","id":1,"result":7})");
}

TEST(PeerFaults, HandlersThatThrowAreAnswered) { check_throwing(throwing_router()); }

TEST(PeerFaults, HandlersThatThrowAreAnsweredThroughMiddleware) {
  auto router = throwing_router();
  int before = 0;
  int after = 0;
  router->use({.before = [&](Context& cx) -> Result<void> {
                 ++before;
                 cx.notify("seen", json::Array{});
                 return {};
               },
               .after = [&](Outcome&) { ++after; }});
  Station station(router);
  for (const char* method : {"throw", "throw later", "cursed", "cursed params", "cursed reply"}) {
    station.receive(request(1, method));
    ASSERT_EQ(station.sent.size(), 2u) << method;
    EXPECT_EQ(error_of(station.sent[1]), "-32603 1") << method;
    station.receive(R"({"jsonrpc":"2.0","params":[],"method":")" + std::string(method) + "\"}");
    EXPECT_EQ(station.sent.size(), 1u) << method;
  }
  EXPECT_EQ(before, 10);
  EXPECT_EQ(after, 10);
}

TEST(PeerFaults, AHostileCallerCannotFloodTheLogWithExceptions) {
  Station station(throwing_router());
  for (int i = 0; i < 1000; ++i) station.receive(request(i, "throw"));
  EXPECT_LE(station.log().size(), 20u);
}

TEST(PeerFaults, CallbacksThatThrowHurtNobodyElse) {
  std::vector<int> outcomes;
  Station station;
  for (int i = 0; i < 4; ++i) {
    station.peer->call("m", no_params, [&outcomes, i](Result<json::Value>) {
      outcomes.push_back(i);
      throw std::runtime_error("careless");
    });
  }
  EXPECT_NO_THROW(station.receive(R"([{"jsonrpc":"2.0","id":1,"result":1},
                                      {"jsonrpc":"2.0","id":2,"result":1}])"));
  EXPECT_EQ(outcomes, (std::vector<int>{0, 1}));
  EXPECT_NO_THROW(station.peer->cancel(CallHandle{3}));
  EXPECT_NO_THROW(station.peer->close());
  EXPECT_EQ(outcomes, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_NO_THROW(station.peer->call("late", no_params, [](Result<json::Value>) { throw 1; }));
  EXPECT_TRUE(station.logged(R"(the callback of "m" threw: careless)"));
  EXPECT_TRUE(station.logged(R"(the callback of "late" threw)"));
}

TEST(PeerFaults, AHookThatThrowsDoesNotKeepTheCallFromItsOutcome) {
  int ended = 0;
  Station station(nullptr, {.abandoned = [](Peer&, const Id&, const Error&) { throw 1; }});
  const auto done = [&](Result<json::Value>) { ++ended; };
  const CallHandle call = station.peer->call("a", no_params, done);
  station.peer->call("b", no_params, done);
  EXPECT_NO_THROW(station.peer->cancel(call));
  EXPECT_NO_THROW(station.pass(std::chrono::hours(1)));
  EXPECT_EQ(ended, 2);
}

TEST(PeerFaults, AResultThatCannotBeReadIsStillAnOutcome) {
  Station station;
  std::vector<std::string> outcomes;
  station.peer->call<Cursed>("m", no_params, [&](Result<Cursed> r) {
    outcomes.push_back(r ? "read" : r.error().message);
  });
  station.receive(R"({"jsonrpc":"2.0","id":1,"result":1})");
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_NE(outcomes[0].find("cursed read"), std::string::npos) << outcomes[0];
}

TEST(PeerFaults, ParamsThatCannotBeWrittenLeaveNothingBehind) {
  Station station;
  EXPECT_THROW(station.peer->notify("m", Cursed{}), std::runtime_error);
  EXPECT_THROW(station.peer->call("m", Cursed{}, [](Result<json::Value>) {}), std::runtime_error);
  EXPECT_EQ(station.peer->pending(), 0u);
  station.peer->notify("good");
  EXPECT_EQ(station.all_sent(), R"({"jsonrpc":"2.0","method":"good"})");
}

TEST(PeerFaults, AHandlerMayCloseTheConnection) {
  auto router = std::make_shared<Router>();
  router->on("close", [](Context& cx) {
    cx.peer()->close();
    cx.notify("too late", json::Array{});
    return 1;
  });
  router->on("close later", [](Context& cx, Reply<int> reply) {
    cx.peer()->close();
    reply(1);
  });
  for (const bool watched : {false, true}) {
    if (watched) router->use({.after = [](Outcome&) {}});
    for (const char* method : {"close", "close later"}) {
      Station single(router);
      EXPECT_EQ(single.receive(request(1, method)), "") << method;
      Station batch(router);
      EXPECT_EQ(batch.receive("[" + request(1, "none") + "," + request(2, method) + "," +
                              request(3, "none") + "]"),
                "");
      EXPECT_TRUE(batch.peer->closed());
    }
  }
}

TEST(PeerFaults, AHandlerMayDestroyTheConnection) {
  std::optional<Station> station;
  auto router = std::make_shared<Router>();
  router->on("destroy", [&] {
    station->peer.reset();
    return std::string(1000, 'x');
  });
  router->on("destroy later", [&](Reply<int> reply) {
    station->peer.reset();
    reply(1);
  });
  router->on("destroy and throw", [&]() -> int {
    station->peer.reset();
    throw std::runtime_error("and throw");
  });
  for (const bool watched : {false, true}) {
    if (watched)
      router->use(
          {.before = [](Context&) -> Result<void> { return {}; }, .after = [](Outcome&) {}});
    for (const char* method : {"destroy", "destroy later", "destroy and throw"}) {
      for (const bool batch : {false, true}) {
        station.emplace(router);
        int ended = 0;
        station->peer->call("m", no_params, [&](Result<json::Value>) { ++ended; });
        station->sent.clear();
        const std::string one = request(1, method);
        station->peer->receive(batch ? "[" + one + "," + request(2, "none") + "]" : one);
        EXPECT_TRUE(station->sent.empty());
        EXPECT_EQ(ended, 1);
      }
    }
  }
}

TEST(PeerFaults, MiddlewareMayCloseOrDestroyTheConnection) {
  for (const bool destroy : {false, true}) {
    for (const bool before : {false, true}) {
      std::optional<Station> station;
      int handled = 0;
      const auto end = [&] { destroy ? station->peer.reset() : station->peer->close(); };
      auto router = std::make_shared<Router>();
      router->on("m", [&] { return ++handled; });
      router->on("later", [&](Reply<int> reply) { reply(++handled); });
      if (before) {
        router->use({.before = [&](Context&) -> Result<void> {
          end();
          return {};
        }});
      } else {
        router->use({.after = [&](Outcome&) { end(); }});
      }
      for (const char* method : {"m", "later"}) {
        station.emplace(router);
        handled = 0;
        station->peer->receive(request(1, method));
        EXPECT_TRUE(station->sent.empty());
        EXPECT_EQ(handled, before ? 0 : 1);
      }
    }
  }
}

TEST(PeerFaults, ACallbackMayDestroyTheConnection) {
  const auto with_calls = [](std::optional<Peer>& peer, int& ended) {
    for (int i = 0; i < 3; ++i) {
      peer->call("m", no_params, [&](Result<json::Value>) {
        ++ended;
        peer.reset();
      });
    }
  };
  int ended = 0;
  Station answered;
  with_calls(answered.peer, ended);
  answered.peer->receive(
      R"([{"jsonrpc":"2.0","id":2,"result":1},{"jsonrpc":"2.0","id":1,"result":1}])");
  EXPECT_EQ(ended, 3);
  EXPECT_FALSE(answered.peer);

  ended = 0;
  Station expired;
  with_calls(expired.peer, ended);
  expired.pass(std::chrono::hours(1));
  EXPECT_EQ(ended, 3);

  ended = 0;
  Station cancelled;
  with_calls(cancelled.peer, ended);
  cancelled.peer->cancel(CallHandle{2});
  EXPECT_EQ(ended, 3);

  ended = 0;
  Station closed;
  with_calls(closed.peer, ended);
  closed.peer->close();
  EXPECT_EQ(ended, 3);

  ended = 0;
  Station refused(nullptr, {.limits = {.pending_calls = 3}});
  with_calls(refused.peer, ended);
  refused.peer->call("over", no_params, [&](Result<json::Value>) { refused.peer.reset(); });
  EXPECT_EQ(ended, 3);
}

TEST(PeerFaults, AStopCallbackMayDestroyTheConnection) {
  std::vector<Reply<int>> replies;
  auto router = std::make_shared<Router>();
  router->on("later", [&](Reply<int> reply) { replies.push_back(std::move(reply)); });
  Station station(router);
  station.receive("[" + request(1, "later") + "," + request(2, "later") + "]");
  const std::stop_callback stop(replies.at(0).cancelled(), [&] { station.peer.reset(); });
  EXPECT_TRUE(station.peer->cancel_incoming(Id(1)));
  EXPECT_FALSE(station.peer);
  EXPECT_TRUE(replies.at(1).cancelled().stop_requested());
}

}  // namespace
}  // namespace godwit::inline v0::rpc
