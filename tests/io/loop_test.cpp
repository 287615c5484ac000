#include "godwit/io/loop.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "godwit/io/stream.hpp"
#include "godwit/io/timer.hpp"
#include "wait.hpp"

using namespace std::chrono_literals;
using godwit::Log;
using godwit::LogLevel;
using godwit::Loop;
using godwit::test::run_until;

namespace {

bool readable(int fd, int milliseconds) {
  pollfd one{fd, POLLIN, 0};
  return ::poll(&one, 1, milliseconds) > 0;
}

/// Waits for the descriptor and polls, as a foreign loop does, until the condition holds.
template <class Condition>
bool foreign_until(Loop& loop, Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline || !readable(loop.fd(), 10'000)) return false;
    loop.poll();
  }
  return true;
}

/// Quiet soon: a few polls may be needed to consume what is left over.
bool quiet(Loop& loop) {
  for (int i = 0; i < 5 && readable(loop.fd(), 0); ++i) loop.poll();
  return !readable(loop.fd(), 20);
}

struct Collect : godwit::Stream::Handler {
  std::span<char> on_space() override { return buffer; }
  void on_data(std::size_t size) override { text.append(buffer, size); }
  void on_end(const godwit::Result<void>&) override { ended = true; }
  void on_writable() override {}

  char buffer[256];
  std::string text;
  bool ended = false;
};

}  // namespace

TEST(Loop, RunReturnsWhenNothingIsLeft) {
  Loop loop;
  EXPECT_EQ(loop.run(), 0u);
  int count = 0;
  loop.post([&] { loop.post([&] { ++count; }); });
  EXPECT_EQ(loop.run(), 2u);
  EXPECT_EQ(count, 1);
  loop.post([&] { ++count; });
  EXPECT_EQ(loop.run(), 1u);  // a second time
}

TEST(Loop, PostNeverRunsInsideTheCallAndKeepsTheOrder) {
  Loop loop;
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) loop.post([&, i] { order.push_back(i); });
  EXPECT_TRUE(order.empty());
  loop.poll();
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(Loop, WorkKeepsItRunningAndStopEndsIt) {
  Loop loop;
  const Loop::Work work(loop);
  std::atomic<bool> ran{false};
  std::thread other([&] {
    loop.post([&] { ran = true; });
    loop.post([&] { loop.stop(); });
  });
  loop.run();
  other.join();
  EXPECT_TRUE(ran);
}

TEST(Loop, StopBeforeRunIsNotLost) {
  Loop loop;
  const Loop::Work work(loop);
  loop.stop();
  EXPECT_EQ(loop.run(), 0u);
  bool ran = false;
  loop.post([&] {
    ran = true;
    loop.stop();
  });
  loop.run();  // and it stops only one
  EXPECT_TRUE(ran);
}

TEST(Loop, StopRacesWithRun) {
  Loop loop;
  const Loop::Work work(loop);
  for (int i = 0; i < 300; ++i) {
    std::thread other([&] { loop.stop(); });
    loop.run();
    other.join();
  }
}

TEST(Loop, RunForEndsInTime) {
  Loop loop;
  const Loop::Work work(loop);
  const auto begin = std::chrono::steady_clock::now();
  loop.run_for(20ms);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
}

TEST(Loop, KnowsItsThread) {
  Loop loop;
  EXPECT_FALSE(loop.on_loop_thread());
  bool inside = false, elsewhere = true;
  loop.post([&] {
    inside = loop.on_loop_thread();
    std::thread([&] { elsewhere = loop.on_loop_thread(); }).join();
  });
  loop.run();
  EXPECT_TRUE(inside);
  EXPECT_FALSE(elsewhere);
}

TEST(Loop, PostsFromManyThreadsAllArrive) {
  Loop loop;
  Loop::Work work(loop);
  std::size_t count = 0;  // touched by the loop's thread only
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) loop.post([&] { ++count; });
    });
  }
  EXPECT_TRUE(run_until(loop, [&] { return count == 8000; }));
  for (auto& thread : threads) thread.join();
}

TEST(Loop, ExceptionLeavesAndTheRestStays) {
  Loop loop;
  bool after = false;
  loop.post([] { throw std::runtime_error("mine"); });
  loop.post([&] { after = true; });
  EXPECT_THROW(loop.run(), std::runtime_error);
  loop.run();
  EXPECT_TRUE(after);
}

TEST(Loop, RunsThroughExceptionsIfTheyCanBeLogged) {
  Loop loop;
  std::string said;
  const Log log([&](LogLevel, std::string_view line) { said += std::string(line) + "\n"; });
  int after = 0;
  loop.post([] { throw std::runtime_error("mine"); });
  loop.post([&] { ++after; });
  loop.post([] { throw 42; });
  loop.post([&] { ++after; });
  loop.run(log);
  EXPECT_EQ(after, 2);
  EXPECT_NE(said.find("threw: mine\n"), said.npos) << said;
  EXPECT_NE(said.find("not a std::exception\n"), said.npos) << said;
}

TEST(Loop, UnrunPostsAreDestroyed) {
  auto owned = std::make_shared<int>(1);
  {
    Loop loop;
    loop.post([owned] {});
  }
  EXPECT_EQ(owned.use_count(), 1);
}

TEST(LoopFd, IsQuietWhenThereIsNothingToDo) {
  Loop loop;
  EXPECT_TRUE(readable(loop.fd(), 0));  // something may have been posted before
  EXPECT_TRUE(quiet(loop));
}

TEST(LoopFd, ShowsWhatWasPostedBeforeItWasAskedFor) {
  Loop loop;
  bool ran = false;
  loop.post([&] { ran = true; });
  EXPECT_TRUE(foreign_until(loop, [&] { return ran; }));
  EXPECT_TRUE(quiet(loop));
}

TEST(LoopFd, ShowsTimers) {
  Loop loop;
  ASSERT_TRUE(quiet(loop));
  godwit::Timer timer(loop);
  for (int i = 0; i < 3; ++i) {
    bool fired = false;
    timer.start(15ms, [&] { fired = true; });
    EXPECT_TRUE(foreign_until(loop, [&] { return fired; }));
    EXPECT_TRUE(quiet(loop));
  }
}

TEST(LoopFd, ShowsPostsOfOtherThreads) {
  Loop loop;
  ASSERT_TRUE(quiet(loop));
  for (int i = 0; i < 200; ++i) {
    bool ran = false;
    std::thread other([&] { loop.post([&] { ran = true; }); });
    EXPECT_TRUE(foreign_until(loop, [&] { return ran; }));
    other.join();
  }
  EXPECT_TRUE(quiet(loop));
}

TEST(LoopFd, ShowsPostsOfTheSameThread) {
  Loop loop;
  ASSERT_TRUE(quiet(loop));
  bool ran = false;
  loop.post([&] { ran = true; });
  EXPECT_TRUE(foreign_until(loop, [&] { return ran; }));
  EXPECT_TRUE(quiet(loop));
}

TEST(LoopFd, ShowsPostsMadeWhilePolling) {
  Loop loop;
  ASSERT_TRUE(quiet(loop));
  int depth = 0;
  loop.post([&] {
    ++depth;
    loop.post([&] { ++depth; });
  });
  EXPECT_TRUE(foreign_until(loop, [&] { return depth == 2; }));
  EXPECT_TRUE(quiet(loop));
}

TEST(LoopFd, ShowsSockets) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  godwit::Descriptor far(ends[1]);
  Loop loop;
  ASSERT_TRUE(quiet(loop));
  Collect collect;
  auto stream = godwit::Stream::open(loop, godwit::Descriptor(ends[0]));
  ASSERT_TRUE(stream);
  stream->set_handler(collect);
  // There before the stream reads for the first time: Asio needs no wait, and the fd must still
  // tell.
  ASSERT_EQ(::write(far.get(), "one", 3), 3);
  stream->resume();
  EXPECT_TRUE(foreign_until(loop, [&] { return collect.text == "one"; }));
  EXPECT_TRUE(quiet(loop));
  ASSERT_EQ(::write(far.get(), "two", 3), 3);
  EXPECT_TRUE(foreign_until(loop, [&] { return collect.text == "onetwo"; }));
  EXPECT_TRUE(quiet(loop));
  far.reset();
  EXPECT_TRUE(foreign_until(loop, [&] { return collect.ended; }));
  EXPECT_TRUE(quiet(loop));
}

TEST(LoopFd, ShowsTheRestAfterAnException) {
  Loop loop;
  ASSERT_TRUE(quiet(loop));
  bool after = false;
  loop.post([] { throw std::runtime_error("mine"); });
  loop.post([&] { after = true; });
  ASSERT_TRUE(readable(loop.fd(), 1000));
  EXPECT_THROW(loop.poll(), std::runtime_error);
  EXPECT_TRUE(foreign_until(loop, [&] { return after; }));
}
