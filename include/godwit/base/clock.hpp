// Clock: where the protocol core gets the time. The core never sleeps and never reads the system
// clock by itself, so a test moves time by hand and nothing waits.
#pragma once

#include <chrono>
#include <string>

#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

using Duration = std::chrono::nanoseconds;
/// Monotonic: not moved by changes of the wall clock.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

class GODWIT_API Clock {
 public:
  virtual ~Clock();
  virtual TimePoint now() const noexcept = 0;
  /// The time to within a few milliseconds, where that is cheaper to get.
  virtual TimePoint coarse() const noexcept { return now(); }
};

/// The steady clock of the system. Lives forever; any thread.
GODWIT_API const Clock& steady_clock() noexcept;

/// "2 s", or "250 ms" where it is no whole number of seconds.
GODWIT_API std::string seconds_text(Duration duration);

/// A clock that stands still until told otherwise.
class GODWIT_API ManualClock final : public Clock {
 public:
  TimePoint now() const noexcept override { return now_; }
  void advance(Duration by) noexcept { now_ += by; }

 private:
  TimePoint now_{std::chrono::hours(1)};
};

}  // namespace godwit::inline v0
