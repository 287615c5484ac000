#include "godwit/io/timer.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "wait.hpp"

using namespace std::chrono_literals;
using godwit::Loop;
using godwit::Timer;

namespace {
auto now() { return std::chrono::steady_clock::now(); }
}  // namespace

TEST(Timer, CallsOnceAfterTheDelay) {
  Loop loop;
  Timer timer(loop);
  int count = 0;
  const auto begin = now();
  timer.start(15ms, [&] { ++count; });
  EXPECT_TRUE(timer.active());
  loop.run();
  EXPECT_GE(now() - begin, 15ms);
  EXPECT_EQ(count, 1);
  EXPECT_FALSE(timer.active());
}

TEST(Timer, OrderFollowsTheTimes) {
  Loop loop;
  std::vector<int> order;
  Timer a(loop), b(loop), c(loop);
  a.start(30ms, [&] { order.push_back(3); });
  b.start(1ms, [&] { order.push_back(1); });
  c.start(15ms, [&] { order.push_back(2); });
  loop.run();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(Timer, CancelledAndDestroyedOnesNeverCall) {
  Loop loop;
  Timer kept(loop);
  kept.start(1ms, [] { FAIL(); });
  {
    Timer gone(loop);
    gone.start(1ms, [] { FAIL(); });
  }
  kept.cancel();
  const auto begin = now();
  loop.run();  // and do not keep the loop waiting
  EXPECT_LT(now() - begin, 5s);
}

TEST(Timer, CancelAfterTheTimeHasComeStillHolds) {
  Loop loop;
  Timer first(loop), second(loop);
  bool fired = false;
  // Both are due in the same turn; whichever runs first cancels the other.
  first.start(0ms, [&] {
    EXPECT_FALSE(std::exchange(fired, true));
    second.cancel();
  });
  second.start(0ms, [&] {
    EXPECT_FALSE(std::exchange(fired, true));
    first.cancel();
  });
  loop.run();
  EXPECT_TRUE(fired);
}

TEST(Timer, StartedAgainLater) {
  Loop loop;
  Timer timer(loop);
  const auto begin = now();
  int which = 0;
  timer.start(5ms, [&] { which = 1; });
  timer.start(30ms, [&] { which = 2; });
  loop.run();
  EXPECT_EQ(which, 2);
  EXPECT_GE(now() - begin, 30ms);
}

TEST(Timer, StartedAgainEarlier) {
  Loop loop;
  Timer timer(loop);
  const auto begin = now();
  int which = 0;
  timer.start(1h, [&] { which = 1; });
  timer.start(5ms, [&] { which = 2; });
  loop.run();
  EXPECT_EQ(which, 2);
  EXPECT_LT(now() - begin, 10s);
}

TEST(Timer, MayStartAgainOrDestroyItselfInItsCall) {
  Loop loop;
  auto timer = std::make_unique<Timer>(loop);
  int count = 0;
  timer->start(1ms, [&] {
    ++count;
    timer->start(1ms, [&] {
      ++count;
      timer.reset();
    });
  });
  loop.run();
  EXPECT_EQ(count, 2);
}

TEST(Timer, HugeDelaysDoNotWrapAround) {
  Loop loop;
  Timer timer(loop);
  timer.start(godwit::Duration::max(), [] { FAIL(); });
  loop.run_for(5ms);
  EXPECT_TRUE(timer.active());
}

TEST(Timer, NegativeDelayMeansNow) {
  Loop loop;
  Timer timer(loop);
  bool fired = false;
  timer.start(-1s, [&] { fired = true; });
  loop.run();
  EXPECT_TRUE(fired);
}
