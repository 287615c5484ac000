#include "godwit/mcp/memory_ledger.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using State = Claim::State;

Claim done(std::string result) { return {.state = State::done, .result = std::move(result)}; }

void finish(Ledger& ledger, const std::string& chain, const std::string& key,
            const std::string& result) {
  ASSERT_EQ(ledger.claim(chain, key).state, State::claimed) << chain << " " << key;
  ledger.complete(chain, key, result);
}

TEST(MemoryLedger, GivesAClaimOnceAndThenTheResult) {
  MemoryLedger ledger;
  EXPECT_EQ(ledger.claim("chain", "key"), Claim{.state = State::claimed});
  EXPECT_EQ(ledger.claim("chain", "key"), Claim{.state = State::running});
  ledger.complete("chain", "key", "result");
  EXPECT_EQ(ledger.claim("chain", "key"), done("result"));
  EXPECT_EQ(ledger.claim("chain", "key"), done("result"));
  EXPECT_EQ(ledger.size(), 1u);
}

TEST(MemoryLedger, ChainAndKeyBothCount) {
  MemoryLedger ledger;
  finish(ledger, "a", "bc", "1");
  finish(ledger, "ab", "c", "2");
  finish(ledger, "", "abc", "3");
  finish(ledger, "abc", "", "4");
  finish(ledger, "1:a", "", "5");
  finish(ledger, std::string("a\0", 2), "b", "6");
  finish(ledger, "a", std::string("\0b", 2), "7");
  EXPECT_EQ(ledger.claim("a", "bc"), done("1"));
  EXPECT_EQ(ledger.claim("abc", ""), done("4"));
  EXPECT_EQ(ledger.size(), 7u);
}

TEST(MemoryLedger, AReleasedEffectIsTriedAgain) {
  MemoryLedger ledger;
  EXPECT_EQ(ledger.claim("c", "k").state, State::claimed);
  ledger.release("c", "k");
  EXPECT_EQ(ledger.size(), 0u);
  EXPECT_EQ(ledger.bytes(), 0u);
  finish(ledger, "c", "k", "second");
  EXPECT_EQ(ledger.claim("c", "k"), done("second"));
}

TEST(MemoryLedger, OnlyWhatRunsCanEnd) {
  MemoryLedger ledger;
  ledger.complete("c", "k", "never claimed");
  ledger.release("c", "k");
  EXPECT_EQ(ledger.size(), 0u);
  finish(ledger, "c", "k", "first");
  ledger.complete("c", "k", "late");
  ledger.release("c", "k");
  EXPECT_EQ(ledger.claim("c", "k"), done("first"));
}

TEST(MemoryLedger, ForgetsWhenTheTimeIsOver) {
  ManualClock clock;
  MemoryLedger ledger({}, &clock);
  EXPECT_EQ(ledger.claim("c", "running").state, State::claimed);
  clock.advance(10min);
  finish(ledger, "c", "early", "1");
  clock.advance(10min);
  finish(ledger, "c", "late", "2");
  clock.advance(5min - 1ns);
  EXPECT_EQ(ledger.claim("c", "early"), done("1"));  // counted from when it was done
  clock.advance(1ns);
  EXPECT_EQ(ledger.claim("c", "early").state, State::claimed);
  EXPECT_EQ(ledger.claim("c", "late"), done("2"));
  clock.advance(24h);
  EXPECT_EQ(ledger.claim("c", "running").state, State::running);
  EXPECT_EQ(ledger.claim("c", "early").state, State::running);
  EXPECT_EQ(ledger.size(), 2u);
}

TEST(MemoryLedger, ForgetsTheOldestWhenThereAreTooMany) {
  MemoryLedger ledger({.entries = 3});
  EXPECT_EQ(ledger.claim("c", "slow").state, State::claimed);
  EXPECT_EQ(ledger.claim("c", "running").state, State::claimed);
  finish(ledger, "c", "1", "one");
  ledger.complete("c", "slow", "slow");  // claimed first, done last
  finish(ledger, "c", "2", "two");
  EXPECT_EQ(ledger.size(), 3u);
  EXPECT_EQ(ledger.claim("c", "slow"), done("slow"));
  EXPECT_EQ(ledger.claim("c", "2"), done("two"));
  EXPECT_EQ(ledger.claim("c", "running").state, State::running);
  EXPECT_EQ(ledger.claim("c", "1").state, State::claimed);  // forgotten, and "slow" for it
  EXPECT_EQ(ledger.claim("c", "2"), done("two"));
  EXPECT_EQ(ledger.claim("c", "slow").state, State::claimed);
  EXPECT_EQ(ledger.size(), 3u);
}

TEST(MemoryLedger, NeverForgetsWhatRuns) {
  MemoryLedger ledger({.entries = 2});
  EXPECT_EQ(ledger.claim("c", "1").state, State::claimed);
  EXPECT_EQ(ledger.claim("c", "2").state, State::claimed);
  EXPECT_EQ(ledger.claim("c", "3").state, State::running);  // no room: later
  EXPECT_EQ(ledger.size(), 2u);
  ledger.release("c", "2");
  EXPECT_EQ(ledger.claim("c", "3").state, State::claimed);
  ledger.complete("c", "1", "one");
  EXPECT_EQ(ledger.claim("c", "1"), done("one"));
  EXPECT_EQ(ledger.claim("c", "4").state, State::claimed);
  EXPECT_EQ(ledger.claim("c", "3").state, State::running);
}

TEST(MemoryLedger, KeepsToItsMemory) {
  MemoryLedger ledger({.bytes = 10'000});
  for (int i = 0; i < 1000; ++i) {
    finish(ledger, "c", std::to_string(i), std::string(1000, 'r'));
    ASSERT_LE(ledger.bytes(), 10'000u);
  }
  EXPECT_GE(ledger.size(), 5u);
  EXPECT_EQ(ledger.claim("c", "999"), done(std::string(1000, 'r')));
  EXPECT_EQ(ledger.claim("c", "990").state, State::claimed);
  ledger.release("c", "990");

  // A result that cannot fit pushes nothing else out.
  EXPECT_EQ(ledger.claim("c", "huge").state, State::claimed);
  const std::size_t size = ledger.size();
  ledger.complete("c", "huge", std::string(20'000, 'r'));
  EXPECT_EQ(ledger.size(), size - 1);
  EXPECT_EQ(ledger.claim("c", "999"), done(std::string(1000, 'r')));
  EXPECT_EQ(ledger.claim("c", "huge").state, State::claimed);
  EXPECT_EQ(ledger.claim(std::string(20'000, 'c'), "").state, State::running);
}

TEST(MemoryLedger, OneOfManyThreadsGetsTheClaim) {
  MemoryLedger ledger({.entries = 500});
  std::vector<std::atomic<int>> claimed(400);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const std::string key = std::to_string(i % 400);
        const Claim claim = ledger.claim("chain", key);
        if (claim.state == State::claimed) {
          if (claimed[static_cast<std::size_t>(i % 400)]++ != 0) ++wrong;
          ledger.complete("chain", key, "result of " + key);
        } else if (claim.state == State::done && claim.result != "result of " + key) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  for (std::size_t i = 0; i < 400; ++i) EXPECT_EQ(claimed[i], 1);
  EXPECT_EQ(ledger.size(), 400u);
}

TEST(MemoryLedger, RetriesByManyThreadsEndInOneResult) {
  MemoryLedger ledger;
  std::atomic<int> inside = 0;
  std::atomic<int> overlaps = 0;
  std::atomic<int> effects = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (;;) {
        const Claim claim = ledger.claim("chain", "key");
        if (claim.state == State::done) return;
        if (claim.state == State::running) {
          std::this_thread::yield();
          continue;
        }
        if (++inside != 1) ++overlaps;
        const bool good = ++effects == 50;  // the first 49 fail
        --inside;
        if (good) {
          ledger.complete("chain", "key", "result");
        } else {
          ledger.release("chain", "key");
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(overlaps, 0);
  EXPECT_EQ(effects, 50);
}

}  // namespace
}  // namespace godwit::inline v0
