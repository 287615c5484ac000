// Whether cost grows no faster than the input, by the steps that the library counts and not by the
// clock.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "godwit/base/work.hpp"

/// One way through the library: how an input of a size is made, and what is done with it.
struct WorkCase {
  std::string name;
  std::function<std::string(std::size_t size)> make;
  std::function<void(const std::string& input)> run;
  /// Sizes are doubled from here.
  std::size_t size = 1'000;
};

/// The steps that this takes on this thread.
template <class Run>
std::uint64_t work_of(Run&& run) {
  const std::uint64_t before = godwit::detail::base::work_done();
  run();
  return godwit::detail::base::work_done() - before;
}

/// Fails unless each doubling of the input takes at most 2.5 times the steps, and unless steps are
/// counted at all. Skips where the library does not count.
inline void expect_linear(const std::vector<WorkCase>& cases) {
  if (!godwit::detail::base::counts_work) GTEST_SKIP() << "built without GODWIT_COUNT_WORK";
  for (const WorkCase& one : cases) {
    std::uint64_t last = 0;
    for (std::size_t size = one.size; size <= 4 * one.size; size *= 2) {
      const std::string input = one.make(size);
      const std::uint64_t steps = work_of([&] { one.run(input); });
      EXPECT_GE(steps, size) << one.name << ": the work for size " << size << " is not counted";
      if (last != 0) {
        EXPECT_LE(steps, last * 5 / 2)
            << one.name << ": size " << size << " takes " << steps << " steps, half of it " << last;
      }
      last = steps;
    }
  }
}
