// StoreCall: one operation of a store that somebody here waits for. Its outcome may come inside the
// call, and is then used at once, without any memory of its own; or later, on any thread: then the
// conversation that waits is put into the list of those that have mail, which needs no memory
// either. Whoever waits may be gone by then.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "godwit/base/done.hpp"
#include "godwit/base/log.hpp"
#include "godwit/base/result.hpp"

namespace godwit::inline v0::detail::web {

class ReadyList;
struct ReadyPlace;

template <class T>
class StoreCall {
 public:
  struct State;
  /// What a call leaves behind for the next one.
  using Spare = std::shared_ptr<State>;

  /// All the memory that it needs.
  explicit StoreCall(Spare spare = nullptr)
      : state_(spare ? std::move(spare) : std::make_shared<State>()) {}
  StoreCall(StoreCall&&) noexcept = default;
  StoreCall& operator=(StoreCall&&) noexcept = default;

  /// Calls `ask`, code of the program, with the Done. True if the outcome is there; otherwise
  /// `place` is put into `list` when it is. What is thrown is logged, and an error.
  template <class Ask>
  bool ask(const Log& log, const std::shared_ptr<ReadyList>& list,
           const std::shared_ptr<ReadyPlace>& place, Ask&& ask) {
    State& state = *state_;
    try {
      ask(Done<T>([state = state_](Result<T> outcome) { finish(*state, std::move(outcome)); }));
    } catch (...) {
      log.caught("a store threw");
      state_.reset();  // whatever comes of it now
      return true;
    }
    if (state.phase.load(std::memory_order_acquire) == Phase::over) return true;
    state.list = list;
    state.place = place;
    Phase asking = Phase::asking;
    return !state.phase.compare_exchange_strong(asking, Phase::waiting, std::memory_order_acq_rel);
  }

  /// Whether the outcome is there.
  bool over() const noexcept {
    return !state_ || state_->phase.load(std::memory_order_acquire) == Phase::over;
  }
  /// The outcome. Once, when it is there.
  Result<T> take() {
    if (!state_) return or_out_of_memory([] { return error("the store threw"); });
    return *std::move(state_->outcome);
  }
  /// For the next call. Null if the store may still hold on to it.
  Spare spare() && noexcept {
    if (!state_ || state_.use_count() != 1 || state_->by != std::this_thread::get_id()) return {};
    state_->outcome.reset();
    state_->phase.store(Phase::asking, std::memory_order_relaxed);
    return std::move(state_);
  }

 private:
  enum class Phase : std::uint8_t { asking, waiting, over };

  static void finish(State& state, Result<T> outcome) noexcept {
    state.outcome.emplace(std::move(outcome));
    state.by = std::this_thread::get_id();
    const Phase before = state.phase.exchange(Phase::over, std::memory_order_acq_rel);
    if (before == Phase::waiting) state.list->add(state.place);
  }

  std::shared_ptr<State> state_;  // null if the store threw
};

template <class T>
struct StoreCall<T>::State {
  std::atomic<Phase> phase{Phase::asking};
  std::optional<Result<T>> outcome{};
  std::thread::id by{};  // who finished it
  // Set before `waiting`.
  std::shared_ptr<ReadyList> list{};
  std::shared_ptr<ReadyPlace> place{};
};

/// What went wrong with a store, and why, in as many words as there is memory for.
inline void log_failure(const Log& log, std::string_view what, const Error& why) noexcept {
  try {
    log.limited(LogLevel::warning, std::string(what) + ": " + why.message);
  } catch (const std::bad_alloc&) {
    log.limited(LogLevel::warning, what);
  }
}

/// Tells a store something whose outcome nobody waits for; a failure is logged. `what` is a
/// sentence that lives for ever.
template <class Tell>
void tell_store(const Log& log, std::string_view what, Tell&& tell) noexcept {
  try {
    tell(Done<void>([log, what](Result<void> outcome) {
      if (!outcome) log_failure(log, what, outcome.error());
    }));
  } catch (...) {
    log.caught(what);
  }
}

}  // namespace godwit::inline v0::detail::web
