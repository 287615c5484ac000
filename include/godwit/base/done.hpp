// Done<T>: what is called when an operation that may take time is over, with its result or an
// error. Stores and other interfaces that a program implements get one with each call.
//
// Owner: whoever has it must call it or drop it. It is moved, never copied. Threads: any; also
// inside the call that brought it. Only the first outcome counts; destroyed without one it gives an
// error, so that nobody waits for ever.
#pragma once

#include <utility>

#include "godwit/base/error.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/result.hpp"

namespace godwit::inline v0 {

template <class T>
class Done {
 public:
  /// `take` is called once. It must not throw when it is given an error.
  explicit Done(Function<void(Result<T>)> take) noexcept : take_(std::move(take)) {}
  ~Done() { drop(); }
  Done(Done&& other) noexcept : take_(std::exchange(other.take_, nullptr)) {}
  Done& operator=(Done&& other) noexcept {
    if (this != &other) {
      drop();
      take_ = std::exchange(other.take_, nullptr);
    }
    return *this;
  }

  void operator()(Result<T> outcome) {
    if (auto take = std::exchange(take_, nullptr)) take(std::move(outcome));
  }

 private:
  void drop() noexcept {
    if (!take_) return;
    const auto dropped = [] { return error("the operation was dropped without an outcome"); };
    (*this)(Result<T>(or_out_of_memory(dropped)));
  }

  Function<void(Result<T>)> take_;
};

}  // namespace godwit::inline v0
