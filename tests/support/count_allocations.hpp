// Counts heap allocations by replacing operator new and delete in all forms. For one source of a
// program of its own, which is not built with sanitizers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "godwit/base/work.hpp"

namespace {

/// Of this thread.
constinit thread_local std::size_t allocations = 0;
/// Those that have room for a text of `large_size`, without what a parser needs to work: each holds
/// a copy of it.
constinit thread_local std::size_t large_allocations = 0;
[[maybe_unused]] std::atomic<std::size_t> large_size = SIZE_MAX;

void* counted(std::size_t size, std::size_t alignment = 0) noexcept {
  ++allocations;
  if (size >= large_size.load(std::memory_order_relaxed) && !godwit::detail::base::is_parsing()) {
    ++large_allocations;
  }
  if (size == 0) size = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
void* counted_or_throw(std::size_t size, std::size_t alignment = 0) {
  if (void* memory = counted(size, alignment)) return memory;
  throw std::bad_alloc();
}
// Not inlined: g++ would see free() of what operator new gave, and warn.
[[gnu::noinline]] void give_back(void* memory) noexcept { std::free(memory); }

}  // namespace

void* operator new(std::size_t size) { return counted_or_throw(size); }
void* operator new[](std::size_t size) { return counted_or_throw(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return counted_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { give_back(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  give_back(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  give_back(memory);
}
