#include "godwit/io/wakeup.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "wait.hpp"

namespace godwit {
namespace {

TEST(Wakeup, RunsLaterAndOnceForSeveralSignals) {
  Loop loop;
  int runs = 0;
  Wakeup wakeup(loop, [&] { ++runs; });
  loop.poll();
  EXPECT_EQ(runs, 0);
  for (int i = 0; i < 5; ++i) wakeup.signal();
  EXPECT_EQ(runs, 0);
  loop.run();
  EXPECT_EQ(runs, 1);
  wakeup.signal();
  loop.run();
  EXPECT_EQ(runs, 2);
}

TEST(Wakeup, MayBeSignalledByItsOwnWork) {
  Loop loop;
  int runs = 0;
  std::optional<Wakeup> wakeup;
  wakeup.emplace(loop, [&] {
    if (++runs < 3) wakeup->signal();
  });
  wakeup->signal();
  loop.run();
  EXPECT_EQ(runs, 3);
}

TEST(Wakeup, RunsNothingOnceItIsGone) {
  Loop loop;
  int runs = 0;
  auto owned = std::make_shared<int>(1);
  {
    Wakeup wakeup(loop, [&runs, owned] { ++runs; });
    wakeup.signal();
  }
  loop.run();
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(owned.use_count(), 1);
}

TEST(Wakeup, MayBeDestroyedByItsOwnWork) {
  Loop loop;
  int runs = 0;
  std::optional<Wakeup> wakeup;
  wakeup.emplace(loop, [&] {
    wakeup.reset();
    ++runs;
  });
  wakeup->signal();
  loop.run();
  EXPECT_EQ(runs, 1);
}

TEST(Wakeup, WorksAgainAfterItsWorkThrew) {
  Loop loop;
  int runs = 0;
  Wakeup wakeup(loop, [&] {
    if (++runs == 1) throw std::runtime_error("mine");
  });
  wakeup.signal();
  EXPECT_THROW(loop.run(), std::runtime_error);
  wakeup.signal();
  loop.run();
  EXPECT_EQ(runs, 2);
}

TEST(Wakeup, MayBeLeftBehindInALoopThatEnds) {
  auto owned = std::make_shared<int>(1);
  {
    Loop loop;
    Wakeup wakeup(loop, [owned] {});
    wakeup.signal();
  }
  EXPECT_EQ(owned.use_count(), 1);
}

struct Owner : std::enable_shared_from_this<Owner> {
  Owner(Loop& loop, int& counter) : runs(counter), wakeup(loop, [this] { ++runs; }) {}
  int& runs;
  Wakeup wakeup;
};

TEST(Wakeup, KeepsItsOwnerUntilTheWorkHasRun) {
  Loop loop;
  int runs = 0;
  auto owner = std::make_shared<Owner>(loop, runs);
  const std::weak_ptr<Owner> weak = owner;
  owner->wakeup.signal(owner);
  owner->wakeup.signal(owner);
  owner.reset();
  EXPECT_FALSE(weak.expired());
  loop.run();
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(weak.expired());
}

TEST(Wakeup, LetsGoOfItsOwnerWhenTheLoopEnds) {
  std::weak_ptr<Owner> weak;
  int runs = 0;
  {
    Loop loop;
    auto owner = std::make_shared<Owner>(loop, runs);
    weak = owner;
    owner->wakeup.signal(owner);
  }
  EXPECT_TRUE(weak.expired());
  EXPECT_EQ(runs, 0);
}

TEST(Wakeup, TakesSignalsOfManyThreads) {
  Loop loop;
  std::atomic<int> counter{0};
  int seen = 0;
  Wakeup wakeup(loop, [&] { seen = counter.load(); });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 2'000; ++n) {
        ++counter;
        wakeup.signal();
      }
    });
  }
  // Each signal is followed by a run that sees what was there before it.
  EXPECT_TRUE(test::run_until(loop, [&] { return seen == 8'000; }));
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace godwit
