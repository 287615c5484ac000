#include "godwit/base/clock.hpp"

#include <ctime>

namespace godwit::inline v0 {

Clock::~Clock() = default;

namespace {
class SteadyClock final : public Clock {
 public:
  TimePoint now() const noexcept override { return std::chrono::steady_clock::now(); }
#if defined(CLOCK_MONOTONIC_COARSE)
  TimePoint coarse() const noexcept override {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return TimePoint(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
#endif
};
}  // namespace

const Clock& steady_clock() noexcept {
  static const SteadyClock clock;
  return clock;
}

std::string seconds_text(Duration duration) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

}  // namespace godwit::inline v0
