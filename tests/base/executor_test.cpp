#include "godwit/base/executor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace godwit {
namespace {

TEST(ThreadPool, RunsWorkOnOtherThreads) {
  ThreadPool pool(2);
  std::promise<std::thread::id> where;
  pool.execute([&] { where.set_value(std::this_thread::get_id()); });
  EXPECT_NE(where.get_future().get(), std::this_thread::get_id());
}

TEST(ThreadPool, RunsEachPieceOnceFromManyThreads) {
  constexpr int each = 250;
  constexpr int threads = 4;
  std::vector<std::atomic<int>> runs(each * threads);
  std::latch all(each * threads);
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  for (int t = 0; t < threads; ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; i < each; ++i) {
        pool.execute([&, index = static_cast<std::size_t>(t * each + i)] {
          ++runs[index];
          all.count_down();
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  all.wait();
  for (const std::atomic<int>& count : runs) EXPECT_EQ(count, 1);
}

TEST(ThreadPool, RunsAsManyAtOnceAsItHasThreads) {
  ThreadPool pool(3);
  // Each waits for the others: it ends only if all three run at the same time.
  std::latch together(3);
  std::latch done(3);
  for (int i = 0; i < 3; ++i) {
    pool.execute([&] {
      together.arrive_and_wait();
      done.count_down();
    });
  }
  done.wait();
}

TEST(ThreadPool, OneThreadKeepsTheOrder) {
  for (const std::size_t threads : {0u, 1u}) {  // none asked for still gives one
    std::vector<int> order;
    std::promise<void> done;
    ThreadPool pool(threads);
    for (int i = 0; i < 10; ++i) pool.execute([&, i] { order.push_back(i); });
    pool.execute([&] { done.set_value(); });
    done.get_future().wait();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }
}

TEST(ThreadPool, SurvivesWorkThatThrows) {
  ThreadPool pool(1);
  pool.execute([] { throw std::runtime_error("a bug in some handler"); });
  std::promise<int> next;
  pool.execute([&] { next.set_value(7); });
  EXPECT_EQ(next.get_future().get(), 7);
}

TEST(ThreadPool, ReleasesWhatWorkHeldBeforeTheNext) {
  ThreadPool pool(1);
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = held;
  pool.execute([held = std::move(held)] {});
  std::promise<bool> gone;
  pool.execute([&] { gone.set_value(watch.expired()); });
  EXPECT_TRUE(gone.get_future().get());
}

TEST(ThreadPool, DestructionWaitsForTheRunningAndDropsTheRest) {
  std::promise<void> started;
  std::atomic<bool> finished = false;
  std::atomic<bool> queued_ran = false;
  std::optional<ThreadPool> pool(std::in_place, 1u);
  ThreadPool* const self = &*pool;
  std::weak_ptr<int> first;
  pool->execute([&] {
    started.set_value();
    // Keeps the only thread until the pool refuses work, which it does once destruction has begun.
    for (;;) {
      auto token = std::make_shared<int>(0);
      const std::weak_ptr<int> watch = token;
      if (first.expired()) first = watch;
      self->execute([&, token = std::move(token)] { queued_ran = true; });
      if (watch.expired()) break;
      std::this_thread::yield();
    }
    finished = true;
  });
  started.get_future().wait();
  pool.reset();
  EXPECT_TRUE(finished);
  EXPECT_FALSE(queued_ran);
  EXPECT_TRUE(first.expired());  // what the dropped work held is gone
}

}  // namespace
}  // namespace godwit
