// Lets the n-th heap allocation of the library's threads fail, by replacing operator new and delete
// in all forms. For one source of a program of its own, which is not built with sanitizers.
//
// Every thread counts but those that say otherwise: the test's own.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <new>
#include <utility>

namespace godwit::test {

inline thread_local bool own_thread = false;  // of the test: what it allocates never fails
inline std::atomic<long> until_failure{0};    // counted down to 0; 0 when nothing is to fail
inline std::atomic<bool> has_failed{false};

inline bool fails_now() noexcept {
  if (own_thread || until_failure.load(std::memory_order_relaxed) <= 0) return false;
  if (until_failure.fetch_sub(1) != 1) return false;
  has_failed = true;
  return true;
}

/// Runs code of the library on the test's own thread, where allocations may fail then too. True if
/// it came to its end; the end of memory is the only thing that may be thrown.
template <class Run>
bool may_fail(Run&& run) {
  const bool before = std::exchange(own_thread, false);
  bool done = false;
  try {
    run();
    done = true;
  } catch (const std::bad_alloc&) {
  }
  own_thread = before;
  return done;
}

/// Runs `round` again and again, with the first, the second, … allocation failing in it, until none
/// fails any more; after each of them `check`, in which nothing fails. Gives how many there were.
/// GODWIT_ALLOCATION_ROUNDS in the environment repeats all of it.
inline int fail_each_allocation(const std::function<void()>& round,
                                const std::function<void()>& check) {
  own_thread = true;
  round();  // what is made once is there
  check();
  const char* const wanted = std::getenv("GODWIT_ALLOCATION_ROUNDS");
  int failures = 0;
  for (int times = wanted ? std::atoi(wanted) : 1; times > 0; --times) {
    // Threads do not always do the same: a round without failure is not the last one yet.
    int without = 0;
    for (long n = 1; without < 3; ++n) {
      has_failed = false;
      until_failure = n;
      round();
      until_failure = 0;
      without = has_failed ? 0 : without + 1;
      failures += has_failed ? 1 : 0;
      check();
      if (testing::Test::HasFailure()) {
        ADD_FAILURE() << "after the failure of allocation " << n;
        return failures;
      }
    }
  }
  return failures;
}

inline void* allocate(std::size_t size, std::size_t alignment = 0) noexcept {
  if (fails_now()) return nullptr;
  if (size == 0) size = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
inline void* allocate_or_throw(std::size_t size, std::size_t alignment = 0) {
  if (void* memory = allocate(size, alignment)) return memory;
  throw std::bad_alloc();
}
// Not inlined: g++ would see free() of what operator new gave, and warn.
[[gnu::noinline]] inline void give_back(void* memory) noexcept { std::free(memory); }

}  // namespace godwit::test

void* operator new(std::size_t size) { return godwit::test::allocate_or_throw(size); }
void* operator new[](std::size_t size) { return godwit::test::allocate_or_throw(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return godwit::test::allocate(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return godwit::test::allocate(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return godwit::test::allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return godwit::test::allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return godwit::test::allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return godwit::test::allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { godwit::test::give_back(memory); }
void operator delete[](void* memory) noexcept { godwit::test::give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { godwit::test::give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { godwit::test::give_back(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  godwit::test::give_back(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  godwit::test::give_back(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept { godwit::test::give_back(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { godwit::test::give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  godwit::test::give_back(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  godwit::test::give_back(memory);
}
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  godwit::test::give_back(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  godwit::test::give_back(memory);
}
