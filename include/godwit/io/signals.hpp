// Signals: turns signals of the process into callbacks on the loop. The library itself installs no
// signal handler; making one of these is the program's explicit wish to have one.
//
// Owner: the program, usually main(). Destroying it restores the dispositions it found.
// Threads: the one that drives the loop. A Signals keeps Loop::run() waiting.
#pragma once

#include <initializer_list>
#include <memory>

#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/result.hpp"
#include "godwit/io/loop.hpp"

namespace godwit::inline v0 {

class GODWIT_API Signals {
 public:
  /// Calls `on_signal` with the number of each of these signals that arrives, e.g. {SIGINT,
  /// SIGTERM}. Fails for a signal that cannot be caught.
  static Result<Signals> open(Loop& loop, std::initializer_list<int> numbers,
                              Function<void(int number)> on_signal);
  ~Signals();
  Signals(Signals&&) noexcept;
  Signals& operator=(Signals&&) noexcept;

 private:
  struct State;
  explicit Signals(std::shared_ptr<State> state) noexcept;
  std::shared_ptr<State> state_;
};

}  // namespace godwit::inline v0
