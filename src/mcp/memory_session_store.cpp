#include "godwit/mcp/memory_session_store.hpp"

#include <utility>

namespace godwit::inline v0 {

struct MemorySessionStore::Row {
  std::string id;
  std::string owner;  // empty if nobody has it
  std::string state;
  std::size_t size() const noexcept { return id.size() + owner.size() + state.size() + overhead; }
  /// What a session costs beside its texts, roughly.
  static constexpr std::size_t overhead = 240;
};

MemorySessionStore::MemorySessionStore(const Limits& limits)
    : most_sessions_(limits.sessions), most_bytes_(limits.session_store_bytes) {}

MemorySessionStore::~MemorySessionStore() = default;

void MemorySessionStore::drop(Rows::iterator row) {
  bytes_ -= row->size();
  by_id_.erase(row->id);
  (row->owner.empty() ? free_ : owned_).erase(row);
}

Result<void> MemorySessionStore::keep(std::string_view id, std::string_view owner,
                                      std::string_view state) {
  Rows made;  // all that needs memory, before anything changes
  made.push_back({.id = std::string(id), .owner = std::string(owner), .state = std::string(state)});
  const std::size_t size = made.front().size();
  const std::lock_guard lock(mutex_);
  auto found = by_id_.find(id);
  if (found != by_id_.end() && found->second->owner != owner) {
    return error("the session is not this server's (any more)");
  }
  const std::size_t before = found == by_id_.end() ? 0 : found->second->size();
  const auto full = [&] {
    return bytes_ - before + size > most_bytes_ || (before == 0 && by_id_.size() >= most_sessions_);
  };
  while (full() && !free_.empty()) drop(free_.begin());
  if (full()) return error("the store is full");
  if (before == 0) {
    by_id_.emplace(made.front().id, made.begin());
    owned_.splice(owned_.end(), made);
  } else {
    std::swap(found->second->state, made.front().state);
  }
  bytes_ = bytes_ - before + size;
  return {};
}

void MemorySessionStore::save(std::string_view id, std::string_view owner, std::string_view state,
                              Done<void> done) {
  done(keep(id, owner, state));
}

void MemorySessionStore::find(std::string_view id, std::string_view asker,
                              Done<SessionPlace> done) {
  SessionPlace place;
  {
    std::string name(asker);
    const std::lock_guard lock(mutex_);
    if (const auto found = by_id_.find(id); found != by_id_.end()) {
      Row& row = *found->second;
      using enum SessionPlace::Kind;
      const auto kind = row.owner.empty() ? restorable : row.owner == asker ? here : elsewhere;
      if (kind == elsewhere) {
        place.where = row.owner;
      } else {
        place.state = row.state;
      }
      if (kind == restorable) {
        std::swap(row.owner, name);
        bytes_ += row.owner.size();
        owned_.splice(owned_.end(), free_, found->second);
      }
      place.kind = kind;
    }
  }
  done(std::move(place));
}

void MemorySessionStore::release(std::string_view id, std::string_view owner, Done<void> done) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_id_.find(id);
    if (found != by_id_.end() && !owner.empty() && found->second->owner == owner) {
      bytes_ -= owner.size();
      found->second->owner.clear();
      free_.splice(free_.end(), owned_, found->second);
    }
  }
  done({});
}

void MemorySessionStore::remove(std::string_view id, Done<void> done) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = by_id_.find(id); found != by_id_.end()) drop(found->second);
  }
  done({});
}

std::size_t MemorySessionStore::sessions() const {
  const std::lock_guard lock(mutex_);
  return by_id_.size();
}

std::size_t MemorySessionStore::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace godwit::inline v0
