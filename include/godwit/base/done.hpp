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
  /// `take` is called once. It must not throw when it is given an error. `dropped` is a sentence
  /// for whoever waits, if nobody calls this; it must live for ever.
  explicit Done(Function<void(Result<T>)> take,
                const char* dropped = "the operation was dropped without an outcome") noexcept
      : take_(std::move(take)), dropped_(dropped) {}
  ~Done() { drop(); }
  Done(Done&& other) noexcept
      : take_(std::exchange(other.take_, nullptr)), dropped_(other.dropped_) {}
  Done& operator=(Done&& other) noexcept {
    if (this != &other) {
      drop();
      take_ = std::exchange(other.take_, nullptr);
      dropped_ = other.dropped_;
    }
    return *this;
  }

  void operator()(Result<T> outcome) {
    if (auto take = std::exchange(take_, nullptr)) take(std::move(outcome));
  }

 private:
  void drop() noexcept {
    if (!take_) return;
    (*this)(Result<T>(or_out_of_memory([&] { return error(dropped_); })));
  }

  Function<void(Result<T>)> take_;
  const char* dropped_;
};

}  // namespace godwit::inline v0
