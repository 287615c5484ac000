// Memory for operations of Asio that are started again and again. It is there before it is needed,
// so that going on (reading further, waking a loop) cannot fail for want of memory. Private to the
// io module.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace godwit::inline v0::detail::io {

/// For one operation at a time; a second one at the same time, or a larger one, takes its memory
/// from the heap. Lives at least as long as the operation.
class OpMemory {
 public:
  OpMemory() = default;
  OpMemory(const OpMemory&) = delete;
  OpMemory& operator=(const OpMemory&) = delete;

  void* take(std::size_t size) {
    if (used_ || size > sizeof space_) return ::operator new(size);
    used_ = true;
    return space_;
  }
  void give_back(void* memory) noexcept {
    if (memory == space_) {
      used_ = false;
    } else {
      ::operator delete(memory);
    }
  }

 private:
  bool used_ = false;
  alignas(std::max_align_t) std::byte space_[192];
};

template <class T>
struct OpAllocator {
  using value_type = T;
  explicit OpAllocator(OpMemory& memory) noexcept : memory_(&memory) {}
  template <class U>
  OpAllocator(const OpAllocator<U>& other) noexcept : memory_(other.memory_) {}

  T* allocate(std::size_t count) { return static_cast<T*>(memory_->take(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t) noexcept { memory_->give_back(memory); }
  bool operator==(const OpAllocator&) const noexcept = default;

  OpMemory* memory_;
};

/// A completion handler whose operation lives in this memory.
template <class F>
class InMemory {
 public:
  using allocator_type = OpAllocator<char>;
  InMemory(OpMemory& memory, F call) noexcept : memory_(&memory), call_(std::move(call)) {}
  allocator_type get_allocator() const noexcept { return allocator_type(*memory_); }
  template <class... Args>
  void operator()(Args&&... args) {
    call_(std::forward<Args>(args)...);
  }

 private:
  OpMemory* memory_;
  F call_;
};

}  // namespace godwit::inline v0::detail::io
