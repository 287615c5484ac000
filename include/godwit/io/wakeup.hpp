// Wakeup: has a function run by a Loop, soon, as often as it is asked for. All that it needs is
// there when it is made: asking allocates nothing and cannot fail, so that the end of something,
// which must always be possible, can be left to the loop.
//
// Owner: whoever has something to do on the loop's thread. Threads: signal() from any thread, as
// long as the Wakeup is there; everything else on the one that drives the loop.
#pragma once

#include <memory>

#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/io/loop.hpp"

namespace godwit::inline v0 {

class GODWIT_API Wakeup {
 public:
  Wakeup(Loop& loop, Function<void()> work);
  /// `work` is not called any more. May be destroyed by it.
  ~Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  /// Runs the work on the driving thread, later, never inside this call; once if it was asked for
  /// several times before it began. Any thread.
  void signal() noexcept { signal(nullptr); }
  /// The same, and keeps something alive until the work has run, or the loop is gone: what has a
  /// Wakeup may keep itself so.
  void signal(std::shared_ptr<void> alive) noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace godwit::inline v0
