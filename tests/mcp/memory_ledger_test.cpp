#include "godwit/mcp/memory_ledger.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using State = Claim::State;

Claim done(std::string result) { return {.state = State::done, .result = std::move(result)}; }

/// A ledger whose outcomes come inside the call, and which remembers the last token of each effect.
class Book {
 public:
  explicit Book(MemoryLedgerOptions options = {}, const Clock* clock = nullptr)
      : ledger_(options, clock) {}

  Claim claim(const std::string& chain, const std::string& key) {
    std::optional<Result<Claim>> told;
    ledger_.claim(chain, key, Done<Claim>([&](Result<Claim> claim) { told = std::move(claim); }));
    if (!told || !*told) {
      ADD_FAILURE() << "no claim inside the call";
      return {};
    }
    if ((*told)->state == State::claimed) {
      const std::lock_guard lock(mutex_);
      tokens_[{chain, key}] = (*told)->token;
    }
    return **told;
  }
  bool renew(const std::string& chain, const std::string& key, std::uint64_t token) {
    return well([&](Done<void> done) { ledger_.renew(chain, key, token, std::move(done)); });
  }
  bool complete(const std::string& chain, const std::string& key, std::string result,
                std::optional<std::uint64_t> token = {}) {
    return well([&](Done<void> done) {
      ledger_.complete(chain, key, token.value_or(token_of(chain, key)), std::move(result),
                       std::move(done));
    });
  }
  bool release(const std::string& chain, const std::string& key,
               std::optional<std::uint64_t> token = {}) {
    return well([&](Done<void> done) {
      ledger_.release(chain, key, token.value_or(token_of(chain, key)), std::move(done));
    });
  }
  std::uint64_t token_of(const std::string& chain, const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto known = tokens_.find({chain, key});
    return known == tokens_.end() ? 0 : known->second;
  }
  std::size_t size() const { return ledger_.size(); }
  std::size_t bytes() const { return ledger_.bytes(); }
  Ledger& ledger() { return ledger_; }

 private:
  /// Whether it was done. If not, the claim was lost.
  template <class Call>
  static bool well(Call call) {
    std::optional<Result<void>> told;
    call(Done<void>([&](Result<void> outcome) { told = std::move(outcome); }));
    if (!told) {
      ADD_FAILURE() << "no outcome inside the call";
      return false;
    }
    if (!*told) {
      EXPECT_TRUE(is_claim_lost(told->error())) << told->error().message;
    }
    return told->has_value();
  }

  MemoryLedger ledger_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> tokens_;
};

void finish(Book& ledger, const std::string& chain, const std::string& key,
            const std::string& result) {
  ASSERT_EQ(ledger.claim(chain, key).state, State::claimed) << chain << " " << key;
  EXPECT_TRUE(ledger.complete(chain, key, result));
}

TEST(MemoryLedger, GivesAClaimOnceAndThenTheResult) {
  Book ledger;
  const Claim claim = ledger.claim("chain", "key");
  EXPECT_EQ(claim.state, State::claimed);
  EXPECT_EQ(claim.lease, Duration::max());
  EXPECT_EQ(ledger.claim("chain", "key"), Claim{.state = State::running});
  ledger.complete("chain", "key", "result");
  EXPECT_EQ(ledger.claim("chain", "key"), done("result"));
  EXPECT_EQ(ledger.claim("chain", "key"), done("result"));
  EXPECT_EQ(ledger.size(), 1u);
}

TEST(MemoryLedger, ChainAndKeyBothCount) {
  Book ledger;
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
  Book ledger;
  EXPECT_EQ(ledger.claim("c", "k").state, State::claimed);
  ledger.release("c", "k");
  EXPECT_EQ(ledger.size(), 0u);
  EXPECT_EQ(ledger.bytes(), 0u);
  finish(ledger, "c", "k", "second");
  EXPECT_EQ(ledger.claim("c", "k"), done("second"));
}

TEST(MemoryLedger, OnlyWhatRunsCanEnd) {
  Book ledger;
  EXPECT_FALSE(ledger.complete("c", "k", "never claimed"));
  EXPECT_FALSE(ledger.release("c", "k"));
  EXPECT_FALSE(ledger.renew("c", "k", 0));
  EXPECT_EQ(ledger.size(), 0u);
  finish(ledger, "c", "k", "first");
  EXPECT_FALSE(ledger.complete("c", "k", "late"));
  EXPECT_FALSE(ledger.release("c", "k"));
  EXPECT_FALSE(ledger.renew("c", "k", ledger.token_of("c", "k")));
  EXPECT_EQ(ledger.claim("c", "k"), done("first"));
}

TEST(MemoryLedger, ForgetsWhenTheTimeIsOver) {
  ManualClock clock;
  Book ledger({}, &clock);
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
  Book ledger({.entries = 3});
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
  Book ledger({.entries = 2});
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
  Book ledger({.bytes = 10'000});
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

TEST(MemoryLedger, WhenTheLeaseEndsAnotherGetsTheClaimAndTheFirstIsRefused) {
  ManualClock clock;
  Book ledger({.lease = 30s}, &clock);
  const Claim first = ledger.claim("c", "k");
  EXPECT_EQ(first.lease, 30s);
  clock.advance(30s - 1ns);
  EXPECT_EQ(ledger.claim("c", "k").state, State::running);
  clock.advance(1ns);
  EXPECT_EQ(ledger.size(), 1u);  // nobody else wants it yet
  const Claim second = ledger.claim("c", "k");
  EXPECT_EQ(second.state, State::claimed);
  EXPECT_GT(second.token, first.token);
  EXPECT_EQ(ledger.size(), 1u);
  EXPECT_FALSE(ledger.renew("c", "k", first.token));
  EXPECT_FALSE(ledger.release("c", "k", first.token));
  EXPECT_FALSE(ledger.complete("c", "k", "late", first.token));
  EXPECT_EQ(ledger.claim("c", "k").state, State::running);
  EXPECT_TRUE(ledger.complete("c", "k", "second", second.token));
  EXPECT_FALSE(ledger.complete("c", "k", "late", first.token));
  EXPECT_EQ(ledger.claim("c", "k"), done("second"));
}

TEST(MemoryLedger, ARenewedClaimStays) {
  ManualClock clock;
  Book ledger({.lease = 30s}, &clock);
  const Claim claim = ledger.claim("c", "k");
  for (int i = 0; i < 10; ++i) {
    clock.advance(20s);
    EXPECT_TRUE(ledger.renew("c", "k", claim.token));
    EXPECT_EQ(ledger.claim("c", "k").state, State::running);
  }
  clock.advance(30s);
  EXPECT_TRUE(ledger.complete("c", "k", "done", claim.token));  // late, but nobody took it over
  EXPECT_EQ(ledger.claim("c", "k"), done("done"));
}

TEST(MemoryLedger, ClaimsWhoseOwnersDiedFillNoBoundForEver) {
  ManualClock clock;
  Book ledger({.entries = 2, .lease = 30s}, &clock);
  const Claim dead = ledger.claim("c", "1");
  clock.advance(1s);
  const Claim alive = ledger.claim("c", "2");
  clock.advance(28s);
  EXPECT_TRUE(ledger.renew("c", "2", alive.token));
  EXPECT_EQ(ledger.claim("c", "3").state, State::running);
  clock.advance(1s);
  EXPECT_EQ(ledger.claim("c", "3").state, State::claimed);
  EXPECT_EQ(ledger.claim("c", "4").state, State::running);
  EXPECT_FALSE(ledger.complete("c", "1", "late", dead.token));
  EXPECT_TRUE(ledger.complete("c", "2", "two", alive.token));
  EXPECT_EQ(ledger.size(), 2u);
}

TEST(MemoryLedger, TokensRiseAlsoForWhatWasForgotten) {
  Book ledger;
  std::uint64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    const Claim claim = ledger.claim("c", "k");
    EXPECT_GT(claim.token, last);
    last = claim.token;
    EXPECT_TRUE(ledger.release("c", "k"));
  }
}

TEST(MemoryLedger, MayBeCalledFromInsideAnOutcome) {
  Book book;
  Ledger& ledger = book.ledger();
  std::string result;
  ledger.claim("c", "k", Done<Claim>([&](Result<Claim> claim) {
                 ledger.complete("c", "k", claim->token, "inside", Done<void>([&](Result<void>) {
                                   ledger.claim("c", "k", Done<Claim>([&](Result<Claim> again) {
                                                  result = again->result;
                                                }));
                                 }));
               }));
  EXPECT_EQ(result, "inside");
}

TEST(MemoryLedger, OneOfManyThreadsGetsTheClaim) {
  Book ledger({.entries = 500});
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
  Book ledger;
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
