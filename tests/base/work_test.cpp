#include "godwit/base/work.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace base = godwit::detail::base;

namespace {

TEST(Work, IsCountedPerThread) {
  if (!base::counts_work) GTEST_SKIP() << "built without GODWIT_COUNT_WORK";
  const auto before = base::work_done();
  base::count_work(3);
  base::count_work(4);
  std::thread([] {
    base::count_work(100);
    EXPECT_EQ(base::work_done(), 100u);
  }).join();
  EXPECT_EQ(base::work_done() - before, 7u);
}

}  // namespace
