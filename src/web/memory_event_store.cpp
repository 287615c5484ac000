#include "godwit/web/memory_event_store.hpp"

#include <deque>
#include <string>

namespace godwit::inline v0 {

struct MemoryEventStore::Stream {
  std::string name;
  std::deque<std::string> events;  // the last is number `last`
  std::uint64_t last = 0;
  std::size_t bytes = 0;
};

namespace {

/// What an event costs beside its text, roughly.
constexpr std::size_t overhead = 48;

}  // namespace

MemoryEventStore::MemoryEventStore(const Limits& limits)
    : most_events_(limits.stream_events),
      most_bytes_(limits.stream_bytes),
      most_total_(limits.event_store_bytes) {}

MemoryEventStore::~MemoryEventStore() = default;

void MemoryEventStore::drop_oldest(Stream& stream) {
  const std::size_t size = stream.events.front().size() + overhead;
  stream.events.pop_front();
  stream.bytes -= size;
  total_ -= size;
}

void MemoryEventStore::append(std::string_view stream, std::uint64_t number,
                              std::string_view data) {
  const std::lock_guard lock(mutex_);
  auto found = by_name_.find(stream);
  if (found == by_name_.end()) {
    streams_.push_back({.name = std::string(stream), .events = {}, .last = number - 1, .bytes = 0});
    found = by_name_.emplace(streams_.back().name, std::prev(streams_.end())).first;
  } else {
    streams_.splice(streams_.end(), streams_, found->second);
  }
  Stream& to = *found->second;
  to.events.emplace_back(data);
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
  std::deque<std::string> events;
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_name_.find(stream);
    if (found == by_name_.end()) return false;
    const Stream& from = *found->second;
    const std::uint64_t first = from.last - from.events.size() + 1;
    if (after > from.last || after + 1 < first) return false;
    events.assign(from.events.begin() + static_cast<std::ptrdiff_t>(after + 1 - first),
                  from.events.end());
    number = after;
  }
  for (const std::string& event : events) each(++number, event);
  return true;
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
