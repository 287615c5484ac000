#include "godwit/mcp/memory_ledger.hpp"

#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace godwit::inline v0 {
namespace {

/// The entry, its places in the map and the list, and what the allocator adds.
constexpr std::size_t entry_bytes = 200;

/// One text for both, so that ("a", "bc") and ("ab", "c") stay apart.
std::string name_of(std::string_view chain, std::string_view key) {
  std::string name = std::to_string(chain.size());
  name.reserve(name.size() + 1 + chain.size() + key.size());
  name += ':';
  name += chain;
  name += key;
  return name;
}

}  // namespace

struct MemoryLedger::State {
  struct Entry {
    bool done = false;
    TimePoint done_at{};
    std::string result{};
    /// The place in `order`, if it is done.
    std::list<const std::string*>::iterator place{};
  };
  using Entries = std::unordered_map<std::string, Entry>;

  State(MemoryLedgerOptions given, const Clock* a_clock)
      : options(given), clock(a_clock ? a_clock : &steady_clock()) {}

  static std::size_t size_of(const Entries::value_type& entry) noexcept {
    return entry_bytes + entry.first.size() + entry.second.result.size();
  }

  void forget(Entries::iterator entry) {
    bytes -= size_of(*entry);
    if (entry->second.done) {
      done_bytes -= size_of(*entry);
      order.erase(entry->second.place);
    }
    entries.erase(entry);
  }

  void forget_expired() {
    const TimePoint now = clock->now();
    while (!order.empty()) {
      const auto oldest = entries.find(*order.front());
      if (now - oldest->second.done_at < options.time_to_live) return;
      forget(oldest);
    }
  }

  /// Forgets the effects done longest ago until there is room. If what runs leaves too little,
  /// forgets nothing and gives false.
  bool make_room(std::size_t more_entries, std::size_t more_bytes) {
    const auto fit = [&](std::size_t used, std::size_t more, std::size_t bound) {
      return more <= bound && used <= bound - more;
    };
    if (!fit(entries.size() - order.size(), more_entries, options.entries) ||
        !fit(bytes - done_bytes, more_bytes, options.bytes)) {
      return false;
    }
    while (!fit(entries.size(), more_entries, options.entries) ||
           !fit(bytes, more_bytes, options.bytes)) {
      forget(entries.find(*order.front()));
    }
    return true;
  }

  /// The entry, if the effect is running.
  Entries::iterator running(std::string_view chain, std::string_view key) {
    const auto entry = entries.find(name_of(chain, key));
    return entry != entries.end() && entry->second.done ? entries.end() : entry;
  }

  const MemoryLedgerOptions options;
  const Clock* const clock;
  mutable std::mutex mutex;
  Entries entries;
  /// Names of what was done, longest ago first. They point into the map, whose keys stay in place.
  std::list<const std::string*> order;
  std::size_t bytes = 0;
  /// The part of them that can be forgotten.
  std::size_t done_bytes = 0;
};

MemoryLedger::MemoryLedger(MemoryLedgerOptions options, const Clock* clock)
    : state_(std::make_unique<State>(options, clock)) {}
MemoryLedger::~MemoryLedger() = default;

Claim MemoryLedger::claim(std::string_view chain, std::string_view key) {
  std::string name = name_of(chain, key);
  const std::lock_guard lock(state_->mutex);
  state_->forget_expired();
  if (const auto known = state_->entries.find(name); known != state_->entries.end()) {
    if (!known->second.done) return {.state = Claim::State::running};
    return {.state = Claim::State::done, .result = known->second.result};
  }
  if (!state_->make_room(1, entry_bytes + name.size())) return {.state = Claim::State::running};
  const auto [entry, made] = state_->entries.try_emplace(std::move(name));
  state_->bytes += State::size_of(*entry);
  return {.state = Claim::State::claimed};
}

void MemoryLedger::complete(std::string_view chain, std::string_view key, std::string result) {
  const std::lock_guard lock(state_->mutex);
  const auto entry = state_->running(chain, key);
  if (entry == state_->entries.end()) return;
  if (!state_->make_room(0, result.size())) {
    state_->forget(entry);
    return;
  }
  entry->second.place = state_->order.insert(state_->order.end(), &entry->first);
  entry->second.done = true;
  entry->second.done_at = state_->clock->now();
  entry->second.result = std::move(result);
  state_->bytes += entry->second.result.size();
  state_->done_bytes += State::size_of(*entry);
}

void MemoryLedger::release(std::string_view chain, std::string_view key) {
  const std::lock_guard lock(state_->mutex);
  const auto entry = state_->running(chain, key);
  if (entry != state_->entries.end()) state_->forget(entry);
}

std::size_t MemoryLedger::size() const {
  const std::lock_guard lock(state_->mutex);
  return state_->entries.size();
}

std::size_t MemoryLedger::bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->bytes;
}

}  // namespace godwit::inline v0
