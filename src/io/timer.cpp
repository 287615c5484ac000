#include "godwit/io/timer.hpp"

#include <boost/asio/basic_waitable_timer.hpp>
#include <utility>

#include "godwit/base/rollback.hpp"
#include "io/loop_core.hpp"
#include "io/op_memory.hpp"

namespace godwit::inline v0 {

using AsioTimer =
    boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                      boost::asio::wait_traits<std::chrono::steady_clock>,
                                      detail::io::LoopExecutor>;

/// Shared because a wait of Asio that is under way needs it until it was told the end.
struct Timer::State : std::enable_shared_from_this<State> {
  explicit State(detail::io::LoopCore& loop) : core(loop), timer(loop.context.get_executor()) {}

  detail::io::LoopCore& core;
  AsioTimer timer;
  Function<void()> done;
  TimePoint due{};
  TimePoint armed{};       // what Asio waits for; may be earlier than due
  std::uint64_t wait = 0;  // which wait counts; the handlers of all others return at once
  bool waiting = false;
  detail::io::OpMemory memory;

  /// Seldom needs memory: if a wait that was cancelled is still on its way, or if more timers wait
  /// on this loop than ever before. Without it the timer is cancelled.
  void arm() {
    Rollback undo([&] { cancel(); });
    timer.expires_at(due);
    timer.async_wait(detail::io::InMemory(
        memory, [self = shared_from_this(), mine = ++wait](boost::system::error_code error) {
          if (!error && mine == self->wait) self->fire();
        }));
    undo.dismiss();
    armed = due;
    waiting = true;
    core.touch();
  }

  void fire() {
    waiting = false;
    if (!done) return;
    if (std::chrono::steady_clock::now() < due) return arm();
    // Moved out first: the call may start the timer again, or destroy it.
    Function<void()> call = std::exchange(done, nullptr);
    call();
  }

  void cancel() {
    if (!done && !waiting) return;
    ++wait;
    waiting = false;
    timer.cancel();
    done = nullptr;
  }
};

Timer::Timer(Loop& loop) : state_(std::make_shared<State>(detail::io::core(loop))) {}
Timer::~Timer() { cancel(); }
Timer::Timer(Timer&&) noexcept = default;
Timer& Timer::operator=(Timer&& other) noexcept {
  if (this != &other) {
    cancel();
    state_ = std::move(other.state_);
  }
  return *this;
}

void Timer::start(Duration delay, Function<void()> done) {
  State& state = *state_;
  const TimePoint now = std::chrono::steady_clock::now();
  // A delay of years must not wrap around into the past.
  state.due = delay < TimePoint::max() - now ? now + delay : TimePoint::max();
  Function<void()> old = std::exchange(state.done, std::move(done));
  if (state.waiting && state.armed <= state.due) return;
  state.arm();
}

void Timer::cancel() noexcept {
  if (state_) state_->cancel();
}

bool Timer::active() const noexcept { return state_ && state_->done; }

}  // namespace godwit::inline v0
