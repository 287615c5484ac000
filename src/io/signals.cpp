#include "godwit/io/signals.hpp"

#include <signal.h>

#include <boost/asio/basic_signal_set.hpp>
#include <string>
#include <utility>
#include <vector>

#include "io/loop_core.hpp"
#include "io/op_memory.hpp"
#include "io/system.hpp"

namespace godwit::inline v0 {

/// Shared because a wait of Asio that is under way needs it until it was told the end.
struct Signals::State : std::enable_shared_from_this<State> {
  State(detail::io::LoopCore& loop, Function<void(int)> callback)
      : core(loop), set(loop.context.get_executor()), on_signal(std::move(callback)) {}

  detail::io::LoopCore& core;
  boost::asio::basic_signal_set<detail::io::LoopExecutor> set;
  Function<void(int)> on_signal;
  std::vector<std::pair<int, struct sigaction>> before;
  bool closed = false;
  detail::io::OpMemory memory;  // waiting for the next one cannot fail

  void wait() {
    set.async_wait(detail::io::InMemory(
        memory, [self = shared_from_this()](boost::system::error_code error, int number) {
          if (error || self->closed) return;
          self->wait();
          self->on_signal(number);
        }));
  }

  void close() noexcept {
    closed = true;
    boost::system::error_code ignored;
    set.clear(ignored);
    set.cancel(ignored);
    // Asio puts back the default action, which need not be what the program had.
    for (const auto& [number, action] : before) ::sigaction(number, &action, nullptr);
    before.clear();
  }
};

Signals::Signals(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
Signals::~Signals() {
  if (state_) state_->close();
}
Signals::Signals(Signals&&) noexcept = default;
Signals& Signals::operator=(Signals&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

Result<Signals> Signals::open(Loop& loop, std::initializer_list<int> numbers,
                              Function<void(int)> on_signal) {
  Signals signals(std::make_shared<State>(detail::io::core(loop), std::move(on_signal)));
  State& state = *signals.state_;
  for (const int number : numbers) {
    struct sigaction action{};
    boost::system::error_code error;
    if (::sigaction(number, nullptr, &action) == 0)
      state.set.add(number, error);
    else
      error.assign(errno, boost::system::system_category());
    if (error) {
      return godwit::error("signal " + std::to_string(number) +
                           " cannot be watched: " + detail::io::text_of(error.value()));
    }
    state.before.emplace_back(number, action);
  }
  state.wait();
  state.core.touch();
  return signals;
}

}  // namespace godwit::inline v0
