// Work that a peer does later: at a time, or because another thread asked for it.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "godwit/rpc/peer.hpp"
#include "rpc_station.hpp"

namespace godwit::inline v0::rpc {
namespace {

using std::chrono::seconds;
using test::Station;

TEST(PeerTimers, RunOnceInTheOrderOfTheirTimes) {
  Station station;
  std::vector<int> ran;
  station.peer->schedule(seconds(3), [&] { ran.push_back(3); });
  station.peer->schedule(seconds(1), [&] { ran.push_back(1); });
  station.peer->schedule(seconds(1), [&] { ran.push_back(2); });
  EXPECT_EQ(station.peer->next_deadline(), station.clock.now() + seconds(1));
  station.pass(seconds(1));
  EXPECT_EQ(ran, (std::vector{1, 2}));
  station.pass(seconds(5));
  EXPECT_EQ(ran, (std::vector{1, 2, 3}));
  EXPECT_EQ(station.peer->next_deadline(), std::nullopt);
}

TEST(PeerTimers, TheEarlierOfCallAndTimerIsTheDeadline) {
  Station station;
  station.peer->call("slow", no_params, [](const Result<json::Value>&) {}, {.timeout = seconds(2)});
  const TimerHandle timer = station.peer->schedule(seconds(1), [] {});
  EXPECT_EQ(station.peer->next_deadline(), station.clock.now() + seconds(1));
  station.peer->unschedule(timer);
  EXPECT_EQ(station.peer->next_deadline(), station.clock.now() + seconds(2));
}

TEST(PeerTimers, TellTheHostOnlyWhenTheDeadlineComesCloser) {
  int moved = 0;
  PeerOptions options;
  options.deadline_moved = [&] { ++moved; };
  Station station(nullptr, std::move(options));
  station.peer->schedule(seconds(5), [] {});
  EXPECT_EQ(moved, 1);
  station.peer->schedule(seconds(9), [] {});
  EXPECT_EQ(moved, 1);
  station.peer->schedule(seconds(1), [] {});
  EXPECT_EQ(moved, 2);
}

TEST(PeerTimers, OneThatSetsAnotherDoesNotRunForever) {
  Station station;
  int ran = 0;
  std::function<void()> again = [&] {
    ++ran;
    station.peer->schedule(Duration(0), again);
  };
  station.peer->schedule(Duration(0), again);
  station.pass(seconds(1));
  EXPECT_EQ(ran, 1);
  station.pass(seconds(1));
  EXPECT_EQ(ran, 2);
}

TEST(PeerTimers, DieWithTheConnectionAndSurviveAThrow) {
  Station station;
  int ran = 0;
  station.peer->schedule(seconds(1), [] { throw std::runtime_error("oops"); });
  station.peer->schedule(seconds(1), [&] { ++ran; });
  station.pass(seconds(1));
  EXPECT_EQ(ran, 1);
  EXPECT_TRUE(station.logged("oops"));
  const auto held = std::make_shared<int>();
  station.peer->schedule(seconds(1), [&ran, held] { ++ran; });
  station.peer->close();
  EXPECT_EQ(held.use_count(), 1);
  station.peer->schedule(seconds(1), [&] { ++ran; });
  station.pass(seconds(2));
  EXPECT_EQ(ran, 1);
}

TEST(PeerPoster, RunsWorkOfOtherThreadsInProcess) {
  std::atomic<int> woken = 0;
  PeerOptions options;
  options.wake = [&] { ++woken; };
  Station station(nullptr, std::move(options));
  int sum = 0;
  const Poster poster = station.peer->poster();
  std::vector<std::thread> threads;
  for (int i = 1; i <= 4; ++i) {
    threads.emplace_back([&, i] { poster([&sum, i] { sum += i; }); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(woken, 1);
  EXPECT_EQ(sum, 0);
  station.peer->process();
  EXPECT_EQ(sum, 10);
}

TEST(PeerPoster, OutlivesThePeerAndThenDoesNothing) {
  Poster poster;
  poster([] { FAIL(); });  // of no peer at all
  const auto held = std::make_shared<int>();
  {
    Station station;
    poster = station.peer->poster();
    poster([held] { FAIL(); });
  }
  poster([held] { FAIL(); });
  EXPECT_EQ(held.use_count(), 1);
}

TEST(PeerPreparedPost, RunsItsWorkOnce) {
  Station station;
  int ran = 0;
  PreparedPost post(station.peer->poster(), [&] { ++ran; });
  station.peer->process();
  EXPECT_EQ(ran, 0);
  std::thread([&] { post(); }).join();
  post();
  station.peer->process();
  EXPECT_EQ(ran, 1);
  PreparedPost of_no_peer(Poster(), [] { FAIL(); });
  of_no_peer();
}

TEST(PeerOptionsAttach, MakesTheUserDataOfEachPeer) {
  PeerOptions options;
  int made = 0;
  options.attach = [&](Peer&) { return std::make_shared<int>(++made); };
  auto router = std::make_shared<Router>();
  router->on("which", [](Context& context) { return *context.user<int>(); });
  Station first(router, options);
  Station second(router, options);
  const char* request = R"({"jsonrpc":"2.0","id":1,"method":"which"})";
  EXPECT_EQ(first.receive(request), R"({"jsonrpc":"2.0","id":1,"result":1})");
  EXPECT_EQ(second.receive(request), R"({"jsonrpc":"2.0","id":1,"result":2})");
}

TEST(PeerRules, ChangeFromTheNextMessageOn) {
  auto router = std::make_shared<Router>();
  Rules strict;
  strict.batch = false;
  strict.busy_code = code::internal_error;
  Station station(router, {.rules = strict});
  const char* batch = R"([{"jsonrpc":"2.0","id":1,"method":"x"}])";
  EXPECT_EQ(test::error_of(station.receive(batch)), "-32600 null");
  strict.batch = true;
  station.peer->set_rules(strict);
  EXPECT_EQ(station.receive(batch).substr(0, 2), "[{");
}

}  // namespace
}  // namespace godwit::inline v0::rpc
