#include "godwit/mcp/memory_change_bus.hpp"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace godwit::inline v0 {

/// Shared with the subscriptions, which may outlive the bus.
struct MemoryChangeBus::State {
  struct Hearing {
    Listener listener;
    std::atomic<bool> ended = false;
  };
  using Listeners = std::vector<std::shared_ptr<Hearing>>;

  std::shared_ptr<const Listeners> listeners() {
    const std::lock_guard lock(mutex);
    return all;
  }
  /// Gives the list a new state. Whoever walks over the old one is not disturbed.
  template <class Edit>
  void change(Edit&& edit) {
    std::shared_ptr<const Listeners> before;  // whose listeners may do anything when they go
    const std::lock_guard lock(mutex);
    auto next = std::make_shared<Listeners>(*all);
    edit(*next);
    before = std::exchange(all, std::move(next));
  }

  class Subscribed final : public Subscription {
   public:
    Subscribed(std::weak_ptr<State> state, std::shared_ptr<Hearing> hearing)
        : state_(std::move(state)), hearing_(std::move(hearing)) {}
    ~Subscribed() override {
      hearing_->ended = true;
      const auto state = state_.lock();
      if (!state) return;
      try {
        state->change([&](Listeners& listeners) { std::erase(listeners, hearing_); });
      } catch (...) {  // no memory for a shorter list: it stays there, and is not called
      }
    }

   private:
    std::weak_ptr<State> state_;
    std::shared_ptr<Hearing> hearing_;
  };

  std::mutex mutex;
  std::shared_ptr<const Listeners> all = std::make_shared<Listeners>();
};

MemoryChangeBus::MemoryChangeBus() : state_(std::make_shared<State>()) {}
MemoryChangeBus::~MemoryChangeBus() = default;

void MemoryChangeBus::publish(Change change, Done<void> done) {
  const auto listeners = state_->listeners();  // a listener may destroy the bus
  for (const auto& hearing : *listeners) {
    try {
      if (!hearing->ended) hearing->listener(change);
    } catch (...) {  // the others hear of it all the same
    }
  }
  done({});
}

std::unique_ptr<ChangeBus::Subscription> MemoryChangeBus::subscribe(Listener listener) {
  auto kept = std::make_shared<State::Hearing>();
  kept->listener = std::move(listener);
  auto subscription = std::make_unique<State::Subscribed>(state_, kept);
  state_->change([&](State::Listeners& listeners) { listeners.push_back(std::move(kept)); });
  return subscription;
}

std::size_t MemoryChangeBus::listeners() const { return state_->listeners()->size(); }

}  // namespace godwit::inline v0
