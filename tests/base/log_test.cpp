#include "godwit/base/log.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace godwit {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::pair<LogLevel, std::string>>;

Log into(Lines& lines, LogLevel least = LogLevel::info) {
  return Log([&lines](LogLevel level, std::string_view line) { lines.emplace_back(level, line); },
             least);
}

TEST(Log, SaysNothingWithoutASink) {
  const Log silent;
  EXPECT_FALSE(silent.enabled(LogLevel::error));
  silent.error("nobody hears this");
  const Log empty{Log::Sink()};
  EXPECT_FALSE(empty.enabled(LogLevel::error));
  empty.error("nor this");
}

TEST(Log, FiltersByLevel) {
  Lines lines;
  const Log log = into(lines, LogLevel::warning);
  EXPECT_FALSE(log.enabled(LogLevel::info));
  EXPECT_TRUE(log.enabled(LogLevel::warning));
  log.debug("a");
  log.info("b");
  log.warning("c");
  log.error("d");
  EXPECT_EQ(lines, (Lines{{LogLevel::warning, "c"}, {LogLevel::error, "d"}}));
  const Log copy = log;
  copy.error("e");
  EXPECT_EQ(lines.size(), 3u);
}

TEST(Log, CutsLongLines) {
  Lines lines;
  const Log log = into(lines);
  log.info(std::string(4096, 'x'));
  log.info(std::string(4097, 'y'));
  EXPECT_EQ(lines[0].second.size(), 4096u);
  EXPECT_EQ(lines[1].second.size(), 4096u);
}

TEST(Log, DropsExceptionsOfTheSink) {
  const Log log([](LogLevel, std::string_view) { throw std::runtime_error("disk full"); });
  log.error("goes nowhere");
}

TEST(Log, LevelNames) {
  EXPECT_EQ(to_string(LogLevel::debug), "debug");
  EXPECT_EQ(to_string(LogLevel::info), "info");
  EXPECT_EQ(to_string(LogLevel::warning), "warning");
  EXPECT_EQ(to_string(LogLevel::error), "error");
}

TEST(Log, StderrGetsOneLinePerMessage) {
  testing::internal::CaptureStderr();
  const Log log = Log::to_stderr(LogLevel::warning);
  log.info("left out");
  log.warning("plain \xc3\xa9");
  log.error("a\ngodwit error: faked\x1b[31m\r");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "godwit warning: plain \xc3\xa9\n"
            "godwit error: a godwit error: faked [31m \n");
}

TEST(LogThrottle, CountsWhatItLeavesOut) {
  Lines lines;
  const Log log = into(lines);
  ManualClock clock;
  LogThrottle throttle(2, 10s);
  for (int i = 0; i < 5; ++i) throttle.write(log, LogLevel::warning, clock.now(), "flood");
  EXPECT_EQ(lines.size(), 2u);
  EXPECT_EQ(throttle.suppressed(), 3u);

  clock.advance(10s - 1ns);
  throttle.write(log, LogLevel::warning, clock.now(), "still the same period");
  EXPECT_EQ(lines.size(), 2u);
  EXPECT_EQ(throttle.suppressed(), 4u);

  clock.advance(1ns);
  throttle.write(log, LogLevel::error, clock.now(), "a new one");
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[2].second, "(4 similar lines were left out)");
  EXPECT_EQ(lines[3].second, "a new one");

  clock.advance(10s);
  throttle.write(log, LogLevel::error, clock.now(), "quiet since");
  EXPECT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[4].second, "quiet since");
}

}  // namespace
}  // namespace godwit
