#include "godwit/mcp/memory_event_store.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "godwit/base/work.hpp"

namespace godwit::inline v0 {

struct MemoryEventStore::Stream {
  std::string name;
  /// Shared with whoever is just being given one. The last is number `last`.
  std::deque<std::shared_ptr<const std::string>> events;
  std::uint64_t last = 0;
  std::size_t bytes = 0;
};

namespace {

/// What an event costs beside its text, roughly.
constexpr std::size_t overhead = 80;

}  // namespace

MemoryEventStore::MemoryEventStore(const Limits& limits)
    : most_events_(limits.stream_events),
      most_bytes_(limits.stream_bytes),
      most_total_(limits.event_store_bytes) {}

MemoryEventStore::~MemoryEventStore() = default;

void MemoryEventStore::drop_oldest(Stream& stream) {
  detail::base::count_work(1);
  const std::size_t size = stream.events.front()->size() + overhead;
  stream.events.pop_front();
  stream.bytes -= size;
  total_ -= size;
}

void MemoryEventStore::append(std::string_view stream, std::uint64_t number,
                              std::string_view data) {
  detail::base::count_work(1);
  const std::lock_guard lock(mutex_);
  auto found = by_name_.find(stream);
  if (found == by_name_.end()) {
    streams_.push_back({.name = std::string(stream), .events = {}, .last = number - 1, .bytes = 0});
    found = by_name_.emplace(streams_.back().name, std::prev(streams_.end())).first;
  } else {
    streams_.splice(streams_.end(), streams_, found->second);
  }
  Stream& to = *found->second;
  to.events.push_back(std::make_shared<const std::string>(data));
  to.last = number;
  to.bytes += data.size() + overhead;
  total_ += data.size() + overhead;
  while (to.events.size() > most_events_ || to.bytes > most_bytes_) drop_oldest(to);
  while (total_ > most_total_) {
    Stream& quietest = streams_.front();
    while (total_ > most_total_ && !quietest.events.empty()) drop_oldest(quietest);
    if (!quietest.events.empty() || &quietest == &to) continue;
    by_name_.erase(quietest.name);
    streams_.pop_front();
  }
}

bool MemoryEventStore::replay(std::string_view stream, std::uint64_t after, const Each& each) {
  // Not further than now, whatever is appended meanwhile.
  std::optional<std::uint64_t> until;
  for (;;) {
    std::shared_ptr<const std::string> event;
    {
      const std::lock_guard lock(mutex_);
      const auto found = by_name_.find(stream);
      if (found == by_name_.end()) return false;
      const Stream& from = *found->second;
      const std::uint64_t first = from.last - from.events.size() + 1;
      if (after > from.last || after + 1 < first) return false;
      if (!until) until = from.last;
      if (after >= *until) return true;
      event = from.events[static_cast<std::size_t>(after + 1 - first)];
    }
    detail::base::count_work(1);
    if (!each(++after, *event)) return true;
  }
}

void MemoryEventStore::forget(std::string_view stream) {
  const std::lock_guard lock(mutex_);
  const auto found = by_name_.find(stream);
  if (found == by_name_.end()) return;
  const auto at = found->second;
  total_ -= at->bytes;
  by_name_.erase(found);
  streams_.erase(at);
}

std::size_t MemoryEventStore::bytes() const {
  const std::lock_guard lock(mutex_);
  return total_;
}

}  // namespace godwit::inline v0
