#include "godwit/transport/connection.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "godwit/base/executor.hpp"
#include "godwit/transport/memory.hpp"
#include "wait.hpp"

namespace godwit {
namespace {

using namespace std::chrono_literals;

struct Text {
  std::string text{};
};

/// Two peers of one program, joined in memory.
struct Pair {
  explicit Pair(std::shared_ptr<const rpc::Router> router, rpc::PeerOptions options = {}) {
    auto [near_end, far_end] = memory_pair(loop);
    server.emplace(loop, std::move(far_end), std::move(router), options);
    client.emplace(loop, std::move(near_end), nullptr, options);
  }
  Loop loop;
  std::optional<Connection> server;
  std::optional<Connection> client;
};

TEST(Connection, AskDrivesTheLoopUntilTheAnswer) {
  auto router = std::make_shared<rpc::Router>();
  router->on("shout", [](Text in) { return in.text + "!"; });
  Pair pair(router);
  EXPECT_EQ(*pair.client->ask<std::string>("shout", Text{.text = "hey"}), "hey!");
  const auto missing = pair.client->ask<std::string>("whisper");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, rpc::code::method_not_found);
}

TEST(Connection, ThatWasBrokenOffStillRefusesCalls) {
  Pair pair(nullptr);
  pair.client->abort();  // nothing is left to write into
  pair.client->peer().notify("told", Text{.text = "nobody"});
  const auto outcome = pair.client->ask<int>("asked", Text{.text = "nobody"});
  ASSERT_FALSE(outcome);
  EXPECT_TRUE(is_connection_closed(outcome.error()));
}

TEST(Connection, AskInsideACallbackIsRefusedInsteadOfHanging) {
  auto router = std::make_shared<rpc::Router>();
  router->on("one", [] { return 1; });
  Pair pair(router);
  std::optional<Result<int>> inner;
  pair.loop.post([&] { inner = pair.client->ask<int>("one"); });
  ASSERT_TRUE(test::run_until(pair.loop, [&] { return inner.has_value(); }));
  ASSERT_FALSE(*inner);
  EXPECT_NE(inner->error().message.find("peer().call()"), std::string::npos);
}

TEST(Connection, BothSidesMayCall) {
  auto server_side = std::make_shared<rpc::Router>();
  server_side->on("ping", [] { return "pong"; });
  auto client_side = std::make_shared<rpc::Router>();
  client_side->on("name", [] { return "client"; });
  Loop loop;
  auto [a, b] = memory_pair(loop);
  Connection server(loop, std::move(a), server_side);
  Connection client(loop, std::move(b), client_side);
  EXPECT_EQ(*client.ask<std::string>("ping"), "pong");
  EXPECT_EQ(*server.ask<std::string>("name"), "client");
}

TEST(Connection, ATimeoutIsToldWithoutAnyTraffic) {
  auto router = std::make_shared<rpc::Router>();
  std::vector<rpc::Reply<int>> kept;
  router->on("never", [&](rpc::Reply<int> reply) { kept.push_back(std::move(reply)); });
  Pair pair(router);
  const auto outcome = pair.client->ask<int>("never", rpc::no_params, {.timeout = 20ms});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, rpc::code::request_timeout);
  EXPECT_EQ(outcome.error().message, "no answer to \"never\" within 20 ms");
  EXPECT_EQ(pair.client->peer().pending(), 0u);
}

TEST(Connection, ShorterTimeoutsOvertakeLongerOnes) {
  auto router = std::make_shared<rpc::Router>();
  std::vector<rpc::Reply<int>> kept;
  router->on("never", [&](rpc::Reply<int> reply) { kept.push_back(std::move(reply)); });
  Pair pair(router);
  std::vector<int> order;
  const auto call = [&](int name, Duration timeout) {
    pair.client->peer().call<int>("never", rpc::no_params,
                                  [&order, name](Result<int>) { order.push_back(name); },
                                  {.timeout = timeout});
  };
  call(3, 60ms);
  call(1, 10ms);
  call(2, 30ms);
  ASSERT_TRUE(test::run_until(pair.loop, [&] { return order.size() == 3; }));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(Connection, BlockingHandlersAnswerFromTheirThread) {
  ThreadPool pool(2);
  auto router = std::make_shared<rpc::Router>(&pool);
  const auto loop_thread = std::this_thread::get_id();
  router->on("elsewhere", rpc::blocking([=] { return std::this_thread::get_id() != loop_thread; }));
  router->on("quick", [] { return true; });
  Pair pair(router);
  EXPECT_TRUE(*pair.client->ask<bool>("elsewhere"));
  EXPECT_TRUE(*pair.client->ask<bool>("quick"));
}

TEST(Connection, ABlockingHandlerHoldsUpNobody) {
  ThreadPool pool(1);
  auto router = std::make_shared<rpc::Router>(&pool);
  std::atomic<bool> release = false;
  router->on("slow", rpc::blocking([&] {
               release.wait(false);
               return 1;
             }));
  router->on("quick", [] { return 2; });
  Pair pair(router);
  std::optional<int> slow;
  pair.client->peer().call<int>("slow", rpc::no_params, [&](Result<int> r) { slow = *r; });
  EXPECT_EQ(*pair.client->ask<int>("quick"), 2);
  EXPECT_FALSE(slow);
  release = true;
  release.notify_all();
  ASSERT_TRUE(test::run_until(pair.loop, [&] { return slow.has_value(); }));
  EXPECT_EQ(*slow, 1);
}

TEST(Connection, WhenTheOtherSideGoesEveryCallFailsAtOnce) {
  auto router = std::make_shared<rpc::Router>();
  std::vector<rpc::Reply<int>> kept;
  router->on("never", [&](rpc::Reply<int> reply) { kept.push_back(std::move(reply)); });
  Pair pair(router);
  int failed = 0;
  for (int i = 0; i < 100; ++i) {
    pair.client->peer().call<int>("never", rpc::no_params, [&](Result<int> outcome) {
      EXPECT_EQ(outcome.error().code, rpc::code::connection_closed);
      ++failed;
    });
  }
  ASSERT_TRUE(test::run_until(pair.loop, [&] { return kept.size() == 100; }));
  std::optional<Error> closed;
  pair.client->on_close([&](const Error& reason) { closed = reason; });
  pair.server.reset();
  ASSERT_TRUE(test::run_until(pair.loop, [&] { return closed.has_value(); }));
  EXPECT_EQ(failed, 100);
  const auto after = pair.client->ask<int>("never");
  EXPECT_EQ(after.error().code, rpc::code::connection_closed);
}

TEST(Connection, HandlersAreToldToStopAndStillMayAnswer) {
  ThreadPool pool(1);
  auto router = std::make_shared<rpc::Router>(&pool);
  std::atomic<bool> begun = false;
  std::atomic<bool> stopped = false;
  router->on("work", rpc::blocking([&](rpc::Context& context) {
               begun = true;
               const std::stop_token token = context.cancelled();
               while (!token.stop_requested()) std::this_thread::yield();
               stopped = true;
               return 7;
             }));
  Pair pair(router);
  pair.client->peer().call<int>("work", rpc::no_params, [](Result<int>) {});
  ASSERT_TRUE(test::run_until(pair.loop, [&] { return begun.load(); }));
  bool closed = false;
  pair.server->on_close([&](const Error&) { closed = true; });
  pair.server->close();
  ASSERT_TRUE(test::run_until(pair.loop, [&] { return closed; }));
  EXPECT_TRUE(stopped);
}

TEST(Connection, AHandlerThatNeverEndsDelaysTheCloseOnlyByTheGrace) {
  auto router = std::make_shared<rpc::Router>();
  std::vector<rpc::Reply<int>> kept;
  router->on("never", [&](rpc::Reply<int> reply) { kept.push_back(std::move(reply)); });
  rpc::PeerOptions options;
  options.limits.eof_grace = 30ms;
  Pair pair(router, options);
  pair.client->peer().call<int>("never", rpc::no_params, [](Result<int>) {});
  ASSERT_TRUE(test::run_until(pair.loop, [&] { return kept.size() == 1; }));
  bool closed = false;
  pair.server->on_close([&](const Error&) { closed = true; });
  pair.server->close();
  pair.loop.poll();
  EXPECT_FALSE(closed);
  ASSERT_TRUE(test::run_until(pair.loop, [&] { return closed; }));
}

TEST(Connection, MayBeDestroyedWhileRepliesAreStillHeld) {
  auto router = std::make_shared<rpc::Router>();
  std::vector<rpc::Reply<int>> kept;
  router->on("never", [&](rpc::Reply<int> reply) { kept.push_back(std::move(reply)); });
  Pair pair(router);
  pair.client->peer().call<int>("never", rpc::no_params, [](Result<int>) {});
  ASSERT_TRUE(test::run_until(pair.loop, [&] { return kept.size() == 1; }));
  pair.server.reset();
  kept[0](1);  // goes nowhere
  EXPECT_TRUE(kept[0].cancelled().stop_possible() == false);
  kept.clear();
  pair.loop.poll();
}

TEST(Connection, AfterItWasBrokenOffCallsFailAndNotificationsAreDropped) {
  Pair pair(std::make_shared<rpc::Router>());
  pair.client->abort();
  std::optional<Result<int>> outcome;
  pair.client->peer().call<int>("late", Text{.text = "x"},
                                [&](Result<int> result) { outcome = std::move(result); });
  ASSERT_TRUE(outcome.has_value());
  ASSERT_FALSE(*outcome);
  EXPECT_EQ(outcome->error().code, rpc::code::connection_closed);
  pair.client->peer().notify("late", Text{.text = "x"});
  EXPECT_FALSE(pair.client->peer().has_fields());
  rpc::Batch batch = pair.client->peer().batch();
  batch.notify("late", Text{.text = "x"});
  batch.send();
  for (int i = 0; i < 10; ++i) pair.loop.poll();
}

}  // namespace
}  // namespace godwit
