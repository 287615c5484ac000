#include "godwit/io/wakeup.hpp"

#include <atomic>
#include <boost/asio/post.hpp>
#include <utility>

#include "io/loop_core.hpp"
#include "io/op_memory.hpp"

namespace godwit::inline v0 {

struct Wakeup::State {
  State(detail::io::LoopCore& loop, Function<void()> what) : core(loop), work(std::move(what)) {}

  detail::io::LoopCore& core;
  Function<void()> work;
  std::atomic<bool> posted{false};  // whoever sets it owns the memory
  bool closed = false;
  detail::io::OpMemory memory;

  void run() {
    posted.store(false, std::memory_order_release);
    if (!closed) work();
  }
};

Wakeup::Wakeup(Loop& loop, Function<void()> work)
    : state_(std::make_shared<State>(detail::io::core(loop), std::move(work))) {}

Wakeup::~Wakeup() { state_->closed = true; }

void Wakeup::signal(std::shared_ptr<void> alive) noexcept {
  const std::shared_ptr<State> state = state_;  // what is kept alive may have this Wakeup
  if (state->posted.exchange(true, std::memory_order_acq_rel)) return;
  boost::asio::post(
      state->core.context,
      detail::io::InMemory(state->memory, [state, alive = std::move(alive)] { state->run(); }));
  state->core.touch();
}

}  // namespace godwit::inline v0
