#include "godwit/base/log.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
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

TEST(Log, PutsPartsTogetherAndCutsThem) {
  Lines lines;
  const Log log = into(lines);
  log.write(LogLevel::warning, {"one ", "", "two"});
  log.write(LogLevel::debug, {"too", "quiet"});
  log.write(LogLevel::error, {std::string(3000, 'a'), std::string(3000, 'b')});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], (std::pair(LogLevel::warning, std::string("one two"))));
  EXPECT_EQ(lines[1].second, std::string(3000, 'a') + std::string(1096, 'b'));
}

TEST(Log, SaysWhatWasCaught) {
  Lines lines;
  const Log log = into(lines);
  try {
    throw std::runtime_error("mine");
  } catch (...) {
    log.caught("it failed");
  }
  try {
    throw 42;
  } catch (...) {
    log.caught("it failed");
  }
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], (std::pair(LogLevel::error, std::string("it failed: mine"))));
  EXPECT_EQ(lines[1].second, "it failed: something that is not a std::exception");
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

TEST(Log, LimitedLinesAreCountedOverAllCopies) {
  Lines lines;
  const Log log = into(lines);
  ManualClock clock;
  for (int i = 0; i < 100; ++i) {
    const Log copy = log;  // as each connection has one
    copy.limited(LogLevel::warning, "bad input", clock.now());
  }
  EXPECT_EQ(lines.size(), 10u);
  log.limited(LogLevel::error, "a bug", clock.now());
  ASSERT_EQ(lines.size(), 11u) << "bad input pushed it out";
  EXPECT_EQ(lines.back().second, "a bug");
  log.warning("what the program says itself is not limited");
  EXPECT_EQ(lines.size(), 12u);
  clock.advance(10s);
  log.limited(LogLevel::warning, "bad input", clock.now());
  ASSERT_EQ(lines.size(), 14u);
  EXPECT_EQ(lines[12].second, "(90 similar lines were left out)");
}

TEST(Log, LimitedLinesQuoteLittle) {
  Lines lines;
  const Log log = into(lines);
  log.limited(LogLevel::warning, std::string(511, 'x') + "\u00e9");
  log.limited(LogLevel::warning, std::string(10'000, 'x'));
  log.limited(LogLevel::error, std::string(10'000, 'x'));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].second, std::string(511, 'x')) << "half a character";
  EXPECT_EQ(lines[1].second.size(), 512u);
  EXPECT_EQ(lines[2].second.size(), 4096u);
}

TEST(Log, LimitedLinesOfManyThreads) {
  std::atomic<int> lines = 0;
  const Log log([&](LogLevel, std::string_view) { ++lines; });
  const TimePoint now = steady_clock().now();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&log, now] {
      for (int i = 0; i < 1000; ++i) log.limited(LogLevel::warning, "flood", now);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lines, 10);
}

TEST(Log, ASinkMayLogItself) {
  int lines = 0;
  Log log;
  log = Log([&](LogLevel, std::string_view) {
    if (++lines < 3) log.limited(LogLevel::warning, "again");
  });
  log.limited(LogLevel::warning, "once");
  EXPECT_EQ(lines, 3);
}

TEST(Log, ASinkMayDestroyItsLog) {
  for (const bool limited : {false, true}) {
    std::unique_ptr<Log> log;
    int lines = 0;
    log = std::make_unique<Log>([&, here = std::make_shared<int>(1)](LogLevel, std::string_view) {
      log.reset();
      EXPECT_EQ(*here, 1);
      ++lines;
    });
    limited ? log->limited(LogLevel::warning, "last words") : log->warning("last words");
    EXPECT_EQ(lines, 1);
  }
}

TEST(Log, WhatIsCaughtDoesNotFloodEither) {
  Lines lines;
  const Log log = into(lines);
  for (int i = 0; i < 100; ++i) {
    try {
      throw std::runtime_error("boom");
    } catch (...) {
      log.caught("a callback threw");
    }
  }
  ASSERT_EQ(lines.size(), 10u);
  EXPECT_EQ(lines.front().second, "a callback threw: boom");
}

}  // namespace
}  // namespace godwit
