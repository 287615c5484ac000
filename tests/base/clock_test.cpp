#include "godwit/base/clock.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace godwit {
namespace {

using namespace std::chrono_literals;

TEST(ManualClock, MovesOnlyWhenTold) {
  ManualClock clock;
  const Clock& read = clock;
  const TimePoint begin = read.now();
  EXPECT_EQ(read.now(), begin);
  EXPECT_GT(begin, TimePoint());  // so that "never" can be the epoch
  clock.advance(5s);
  EXPECT_EQ(read.now() - begin, 5s);
  clock.advance(1ns);
  EXPECT_EQ(read.now() - begin, 5s + 1ns);
}

TEST(SteadyClock, FollowsTheSystemClock) {
  const TimePoint before = std::chrono::steady_clock::now();
  const TimePoint now = steady_clock().now();
  const TimePoint after = std::chrono::steady_clock::now();
  EXPECT_LE(before, now);
  EXPECT_LE(now, after);
  EXPECT_EQ(&steady_clock(), &steady_clock());
}

TEST(SecondsText, IsShort) {
  EXPECT_EQ(seconds_text(2s), "2 s");
  EXPECT_EQ(seconds_text(250ms), "250 ms");
  EXPECT_EQ(seconds_text(Duration(0)), "0 s");
}

}  // namespace
}  // namespace godwit
