// Answers that come later and from other threads. Built once with the thread sanitizer.
#include "godwit/rpc/reply.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "godwit/base/executor.hpp"
#include "godwit/rpc/peer.hpp"
#include "rpc_station.hpp"

namespace godwit::inline v0::rpc {
namespace {

using test::error_of;
using test::message_of;
using test::Station;

std::string request(int id, std::string_view method, std::string_view params = "[]") {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":)" + json::quote(method) +
         ",\"params\":" + std::string(params) + "}";
}

/// What PeerOptions::wake rings, and the peer's thread waits for.
class Bell {
 public:
  void ring() {
    const std::lock_guard lock(mutex_);
    ++rung_;
    changed_.notify_all();
  }
  /// Calls process() whenever it rings, until the condition holds.
  template <class Condition>
  void serve(Peer& peer, Condition condition) {
    for (;;) {
      peer.process();
      if (condition()) return;
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::seconds(10), [&] { return rung_ > seen_; });
      ASSERT_GT(rung_, seen_) << "nobody rang for ten seconds";
      seen_ = rung_;
    }
  }
  int count() {
    const std::lock_guard lock(mutex_);
    return rung_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int rung_ = 0;
  int seen_ = 0;
};

struct Waiting {
  Waiting() {
    router->on("later", [this](Reply<int> reply) { replies.push_back(std::move(reply)); });
    router->on("nothing", [this](Reply<> reply) { empty.push_back(std::move(reply)); });
  }
  std::shared_ptr<Router> router = std::make_shared<Router>();
  std::deque<Reply<int>> replies;
  std::deque<Reply<>> empty;
};

TEST(Reply, AnswersOnce) {
  Waiting w;
  Bell bell;
  Station station(w.router, {.wake = [&] { bell.ring(); }});
  EXPECT_EQ(station.receive(request(1, "later")), "");
  EXPECT_EQ(station.peer->in_flight(), 1u);
  Reply<int> moved = std::move(w.replies.at(0));
  w.replies.at(0)(5);  // moved from: does nothing
  station.peer->process();
  EXPECT_TRUE(station.sent.empty());
  EXPECT_EQ(bell.count(), 0);
  moved(7);
  moved(8);
  moved(Error{.message = "nine"});
  EXPECT_EQ(bell.count(), 1);
  EXPECT_TRUE(station.sent.empty());
  station.peer->process();
  station.peer->process();
  EXPECT_EQ(station.all_sent(), R"({"jsonrpc":"2.0","id":1,"result":7})");
  EXPECT_EQ(station.peer->in_flight(), 0u);
}

TEST(Reply, AnswersWithAnErrorOrNothing) {
  Waiting w;
  Station station(w.router);
  station.receive(request(1, "later"));
  station.receive(request(2, "nothing"));
  station.receive(request(3, "nothing"));
  w.replies.at(0)(application_error(4, "four"));
  w.empty.at(0)();
  w.empty.at(1)(Result<void>(application_error(5, "five")));
  station.peer->process();
  EXPECT_EQ(station.sent, (std::vector<std::string>{
                              R"({"jsonrpc":"2.0","id":1,"error":{"code":4,"message":"four"}})",
                              R"({"jsonrpc":"2.0","id":2,"result":null})",
                              R"({"jsonrpc":"2.0","id":3,"error":{"code":5,"message":"five"}})"}));
}

TEST(Reply, AnswersEvenWhenItIsDropped) {
  Waiting w;
  Station station(w.router);
  station.receive(request(1, "later"));
  station.receive(request(2, "later"));
  station.receive(request(3, "later"));
  w.replies.at(0) = std::move(w.replies.at(1));  // drops the first
  station.peer->process();
  EXPECT_EQ(error_of(station.all_sent()), "-32603 1");
  EXPECT_EQ(message_of(station.all_sent()), "Internal error: the request was dropped unanswered");
  station.sent.clear();
  w.replies.clear();
  station.peer->process();
  ASSERT_EQ(station.sent.size(), 2u);
  EXPECT_EQ(station.peer->in_flight(), 0u);
}

TEST(Reply, OutlivesThePeer) {
  Waiting w;
  int rung = 0;
  {
    Station station(w.router, {.wake = [&] { ++rung; }, .user = std::make_shared<int>(1)});
    station.receive(request(1, "later"));
    station.receive(request(2, "later"));
    station.receive("[" + request(3, "later") + "]");
    w.replies.at(0)(1);
    EXPECT_EQ(rung, 1);
  }
  EXPECT_TRUE(w.replies.at(1).cancelled().stop_requested());
  w.replies.at(1)(2);
  w.replies.at(2)(Error{});
  w.replies.clear();
  EXPECT_EQ(rung, 1);
}

TEST(Reply, IsSentWithTheNextMessageIfTheHostCouldNotBeWoken) {
  Waiting w;
  Station station(w.router, {.wake = [] { throw std::runtime_error("no bell"); }});
  station.receive(request(1, "later"));
  w.replies.at(0)(7);
  EXPECT_EQ(station.receive(R"({"jsonrpc":"2.0","method":"nothing"})"),
            R"({"jsonrpc":"2.0","id":1,"result":7})");
}

TEST(Reply, RingsOncePerProcess) {
  Waiting w;
  Bell bell;
  Station station(w.router, {.wake = [&] { bell.ring(); }});
  for (int id = 0; id < 10; ++id) station.receive(request(id, "later"));
  for (Reply<int>& reply : w.replies) reply(1);
  EXPECT_EQ(bell.count(), 1);
  station.peer->process();
  EXPECT_EQ(station.sent.size(), 10u);
  station.receive(request(1, "later"));
  w.replies.back()(1);
  EXPECT_EQ(bell.count(), 2);
}

TEST(Reply, ComesFromManyThreads) {
  Waiting w;
  Bell bell;
  Station station(w.router, {.limits = {.in_flight = 1000}, .wake = [&] { bell.ring(); }});
  for (int id = 0; id < 800; ++id) station.receive(request(id, "later"));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < 800; i += 4) {
        Reply<int> reply = std::move(w.replies[i]);
        if (i % 3 != 0) reply(static_cast<int>(i));  // every third is dropped
      }
    });
  }
  bell.serve(*station.peer, [&] { return station.peer->in_flight() == 0; });
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(station.sent.size(), 800u);
  for (const std::string& answer : station.sent) {
    const json::Value value = *json::parse(answer);
    const int id = value["id"].get<int>();
    if (id % 3 == 0) {
      EXPECT_EQ(error_of(answer), "-32603 " + std::to_string(id));
    } else {
      EXPECT_EQ(value["result"], value["id"]);
    }
  }
}

TEST(Reply, RacesWithCloseAndDestruction) {
  for (int round = 0; round < 100; ++round) {
    Waiting w;
    std::atomic<int> rung = 0;
    std::optional<Station> station;
    station.emplace(w.router, PeerOptions{.wake = [&] { ++rung; }});
    for (int id = 0; id < 20; ++id) station->receive(request(id, "later"));
    std::thread other([&] {
      for (Reply<int>& reply : w.replies) reply(1);
      w.replies.clear();
    });
    if (round % 3 == 0) station->peer->cancel_incoming(Id(19));
    if (round % 2 == 0) station->peer->process();
    if (round % 5 == 0) station->peer->close();
    station.reset();
    const int at_destruction = rung;
    other.join();
    EXPECT_EQ(rung, at_destruction);  // the host is not called after the peer is gone
  }
}

// Blocking handlers.

TEST(Blocking, RunOnTheExecutor) {
  ThreadPool pool(2);
  Bell bell;
  auto router = std::make_shared<Router>(&pool);
  const std::thread::id here = std::this_thread::get_id();
  router->on("where", blocking([&](Context& cx) {
               EXPECT_EQ(cx.peer(), nullptr);
               EXPECT_EQ(cx.method(), "where");
               EXPECT_FALSE(cx.is_notification());
               return std::this_thread::get_id() != here;
             }));
  router->on("user", blocking([](Context& cx) { return *cx.user<int>(); }));
  router->on("square", {"x"}, blocking([](int x) -> Result<int> {
               if (x > 100) return invalid_params("too large");
               return x * x;
             }));
  router->on("nothing", blocking([] {}));
  router->on("throw", blocking([]() -> int { throw std::runtime_error("secret"); }));
  router->on("speak", blocking([](Context& cx) {
               cx.notify("progress", json::Array{1});
               cx.notify("progress", json::Array{2});
               return 3;
             }));
  Station station(router, {.wake = [&] { bell.ring(); }, .user = std::make_shared<int>(77)});
  const auto ask = [&](std::string_view method, std::string_view params = "[]") {
    station.sent.clear();
    station.peer->receive(request(1, method, params));
    bell.serve(*station.peer, [&] { return station.peer->in_flight() == 0; });
    return station.all_sent();
  };
  EXPECT_EQ(ask("where"), R"({"jsonrpc":"2.0","id":1,"result":true})");
  EXPECT_EQ(ask("user"), R"({"jsonrpc":"2.0","id":1,"result":77})");
  EXPECT_EQ(ask("square", "[9]"), R"({"jsonrpc":"2.0","id":1,"result":81})");
  EXPECT_EQ(ask("square", R"({"x":9})"), R"({"jsonrpc":"2.0","id":1,"result":81})");
  EXPECT_EQ(error_of(ask("square", "[101]")), "-32602 1");
  EXPECT_EQ(error_of(ask("square", R"(["x"])")), "-32602 1");
  EXPECT_EQ(ask("nothing"), R"({"jsonrpc":"2.0","id":1,"result":null})");
  EXPECT_EQ(ask("throw"),
            R"({"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}})");
  EXPECT_TRUE(station.logged("the handler of \"throw\" threw: secret"));
  EXPECT_EQ(ask("speak"),
            "{\"jsonrpc\":\"2.0\",\"method\":\"progress\",\"params\":[1]}\n"
            "{\"jsonrpc\":\"2.0\",\"method\":\"progress\",\"params\":[2]}\n"
            R"({"jsonrpc":"2.0","id":1,"result":3})");
}

TEST(Blocking, KnowsThatItIsANotification) {
  ThreadPool pool(1);
  Bell bell;
  std::atomic<int> notified = 0;
  auto router = std::make_shared<Router>(&pool);
  router->on("note", blocking([&](Context& cx) { notified += cx.is_notification() ? 1 : 100; }));
  Station station(router, {.wake = [&] { bell.ring(); }});
  station.peer->receive(R"({"jsonrpc":"2.0","method":"note"})");
  bell.serve(*station.peer, [&] { return station.peer->in_flight() == 0; });
  EXPECT_EQ(notified, 1);
  EXPECT_TRUE(station.sent.empty());
}

TEST(Blocking, StopsOnCancellationAndOnClose) {
  for (const bool close : {false, true}) {
    ThreadPool pool(1);
    std::atomic<bool> stopped = false;
    std::atomic<bool> begun = false;
    auto router = std::make_shared<Router>(&pool);
    router->on("wait", blocking([&](Context& cx) {
                 begun = true;
                 begun.notify_all();
                 std::atomic<bool> stop = false;
                 const std::stop_callback callback(cx.cancelled(), [&] {
                   stop = true;
                   stop.notify_all();
                 });
                 stop.wait(false);
                 stopped = true;
                 stopped.notify_all();
                 return 1;
               }));
    Station station(router);
    station.peer->receive(request(1, "wait"));
    begun.wait(false);
    if (close) {
      station.peer->close();
    } else {
      EXPECT_TRUE(station.peer->cancel_incoming(Id(1)));
    }
    stopped.wait(false);
    station.peer->process();
    EXPECT_TRUE(station.sent.empty());
  }
}

TEST(Blocking, IsAnsweredWhenTheExecutorDropsIt) {
  struct Nowhere final : Executor {
    void execute(Function<void()>) override {}
  } nowhere;
  auto router = std::make_shared<Router>(&nowhere);
  router->on("m", blocking([] { return 1; }));
  Station station(router);
  EXPECT_EQ(error_of(station.receive(request(1, "m"))), "-32603 1");
}

TEST(Blocking, KeepsItsRouterAlive) {
  Bell bell;
  std::atomic<int> ran = 0;
  ThreadPool pool(1);
  std::atomic<bool> go = false;
  pool.execute([&] { go.wait(false); });  // holds the only thread
  {
    auto router = std::make_shared<Router>(&pool);
    router->on("m", blocking([&, text = std::string(100, 'x')](Context& cx) {
                 ran += static_cast<int>(text.size());
                 return cx.cancelled().stop_requested();
               }));
    router->on("end", blocking([] {}));
    Station station(std::exchange(router, nullptr));
    station.peer->receive(R"({"jsonrpc":"2.0","method":"m"})");
  }
  pool.execute([&] { bell.ring(); });
  go = true;
  go.notify_all();
  Station idle;
  bell.serve(*idle.peer, [&] { return bell.count() > 0; });
  EXPECT_EQ(ran, 0);  // cancelled before it began
}

TEST(Blocking, ManyPeersWithEqualIdsAreNotMixedUp) {
  ThreadPool pool(4);
  auto router = std::make_shared<Router>(&pool);
  router->on("whose", {"secret"}, blocking([](std::string secret, Context& cx) {
               return secret + "/" + *cx.user<std::string>();
             }));
  const int peers = 8;
  const int calls = 200;
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int p = 0; p < peers; ++p) {
    threads.emplace_back([&, p] {
      const std::string secret = "peer" + std::to_string(p);
      Bell bell;
      Station station(router, {.limits = {.in_flight = 1000},
                               .wake = [&] { bell.ring(); },
                               .user = std::make_shared<std::string>(secret)});
      for (int id = 0; id < calls; ++id) {
        station.peer->receive(request(id, "whose", "[\"" + secret + std::to_string(id) + "\"]"));
      }
      bell.serve(*station.peer, [&] { return station.peer->in_flight() == 0; });
      std::map<int, int> answers;
      for (const std::string& answer : station.sent) {
        const json::Value value = *json::parse(answer);
        const int id = value["id"].get<int>();
        ++answers[id];
        if (value["result"] == json::Value(secret + std::to_string(id) + "/" + secret)) ++right;
      }
      EXPECT_EQ(answers.size(), static_cast<std::size_t>(calls));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, peers * calls);
}

}  // namespace
}  // namespace godwit::inline v0::rpc
