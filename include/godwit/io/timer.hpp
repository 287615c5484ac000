// Timer: calls a function once, later, on the loop's thread.
//
// Owner: whoever waits. Destroying it cancels it. Threads: the one that drives the loop.
#pragma once

#include <memory>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/io/loop.hpp"

namespace godwit::inline v0 {

class GODWIT_API Timer {
 public:
  explicit Timer(Loop& loop);
  ~Timer();
  Timer(Timer&&) noexcept;
  Timer& operator=(Timer&&) noexcept;

  /// Calls `done` after `delay`, instead of what was started before. Moving the time later, which
  /// is what time-outs do all day, costs no system call.
  void start(Duration delay, Function<void()> done);
  /// `done` will not be called, even if its time has already come.
  void cancel() noexcept;
  /// Started, and neither called nor cancelled yet.
  bool active() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace godwit::inline v0
