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
    std::uint64_t token = 0;
    TimePoint since{};  // the claim was made or renewed, or it was done
    std::string result{};
    /// In `order` if it is done, else in `running_order`.
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
    } else {
      running_order.erase(entry->second.place);
    }
    entries.erase(entry);
  }

  void forget_expired() {
    const TimePoint now = clock->now();
    while (!order.empty()) {
      const auto oldest = entries.find(*order.front());
      if (now - oldest->second.since < options.time_to_live) return;
      forget(oldest);
    }
  }

  /// Forgets the claims whose owners seem to have died. Only where there is no room: they would be
  /// refused if they came after all.
  void forget_ended_leases() {
    const TimePoint now = clock->now();
    while (!running_order.empty()) {
      const auto oldest = entries.find(*running_order.front());
      if (now - oldest->second.since < options.lease) return;
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

  /// The entry, if the effect is running under this token.
  Entries::iterator running(std::string_view chain, std::string_view key, std::uint64_t token) {
    const auto entry = entries.find(name_of(chain, key));
    if (entry == entries.end()) return entry;
    return entry->second.done || entry->second.token != token ? entries.end() : entry;
  }

  void touch(Entry& running) {
    running.since = clock->now();
    running_order.splice(running_order.end(), running_order, running.place);
  }

  Claim give(Entry& entry) {
    entry.token = ++last_token;
    touch(entry);
    return {.state = Claim::State::claimed, .token = entry.token, .lease = options.lease};
  }

  Claim claim(std::string name) {
    forget_expired();
    if (const auto known = entries.find(name); known != entries.end()) {
      Entry& entry = known->second;
      if (entry.done) return {.state = Claim::State::done, .result = entry.result};
      if (clock->now() - entry.since < options.lease) return {.state = Claim::State::running};
      return give(entry);
    }
    const std::size_t size = entry_bytes + name.size();
    if (!make_room(1, size)) {
      forget_ended_leases();
      if (!make_room(1, size)) return {.state = Claim::State::running};
    }
    std::list<const std::string*> place(1);
    const auto [entry, made] = entries.try_emplace(std::move(name));
    place.front() = &entry->first;
    entry->second.place = place.begin();
    running_order.splice(running_order.end(), place);
    bytes += size_of(*entry);
    return give(entry->second);
  }

  const MemoryLedgerOptions options;
  const Clock* const clock;
  mutable std::mutex mutex;
  Entries entries;
  /// Names of what was done, longest ago first. They point into the map, whose keys stay in place.
  std::list<const std::string*> order;
  /// The same of what runs, claimed or renewed longest ago first.
  std::list<const std::string*> running_order;
  std::uint64_t last_token = 0;
  std::size_t bytes = 0;
  /// The part of them that can be forgotten.
  std::size_t done_bytes = 0;
};

MemoryLedger::MemoryLedger(MemoryLedgerOptions options, const Clock* clock)
    : state_(std::make_unique<State>(options, clock)) {}
MemoryLedger::~MemoryLedger() = default;

void MemoryLedger::claim(std::string_view chain, std::string_view key, Done<Claim> done) {
  std::string name = name_of(chain, key);
  std::unique_lock lock(state_->mutex);
  Claim claim = state_->claim(std::move(name));
  lock.unlock();  // whoever is told may call again
  done(std::move(claim));
}

void MemoryLedger::renew(std::string_view chain, std::string_view key, std::uint64_t token,
                         Done<void> done) {
  std::unique_lock lock(state_->mutex);
  const auto entry = state_->running(chain, key, token);
  const bool held = entry != state_->entries.end();
  if (held) state_->touch(entry->second);
  lock.unlock();
  done(held ? Result<void>() : claim_lost());
}

void MemoryLedger::complete(std::string_view chain, std::string_view key, std::uint64_t token,
                            std::string result, Done<void> done) {
  std::unique_lock lock(state_->mutex);
  const auto entry = state_->running(chain, key, token);
  const bool held = entry != state_->entries.end();
  if (held && !state_->make_room(0, result.size())) {
    state_->forget(entry);
  } else if (held) {
    state_->order.splice(state_->order.end(), state_->running_order, entry->second.place);
    entry->second.done = true;
    entry->second.since = state_->clock->now();
    entry->second.result = std::move(result);
    state_->bytes += entry->second.result.size();
    state_->done_bytes += State::size_of(*entry);
  }
  lock.unlock();
  done(held ? Result<void>() : claim_lost());
}

void MemoryLedger::release(std::string_view chain, std::string_view key, std::uint64_t token,
                           Done<void> done) {
  std::unique_lock lock(state_->mutex);
  const auto entry = state_->running(chain, key, token);
  const bool held = entry != state_->entries.end();
  if (held) state_->forget(entry);
  lock.unlock();
  done(held ? Result<void>() : claim_lost());
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
