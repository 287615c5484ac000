#include "godwit/mcp/memory_event_store.hpp"

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "godwit/base/rollback.hpp"
#include "godwit/base/work.hpp"

namespace godwit::inline v0 {

struct MemoryEventStore::Stream {
  std::string name;
  Session* session = nullptr;
  /// Shared with whoever is just being given one. The last is number `last`.
  std::deque<std::shared_ptr<const std::string>> events{};
  std::uint64_t last = 0;
  std::size_t bytes = 0;
  bool ended = false;
};

/// Goes with its last stream.
struct MemoryEventStore::Session {
  explicit Session(std::string_view name_) : name(name_) {}
  const std::string name;
  Streams streams{};  // by their names
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

void MemoryEventStore::drop(Order::iterator stream) {
  detail::base::count_work(1);
  total_ -= stream->bytes;
  Session& session = *stream->session;
  session.streams.erase(stream->name);
  if (session.streams.empty()) sessions_.erase(sessions_.find(session.name));
  streams_.erase(stream);
}

MemoryEventStore::Stream* MemoryEventStore::find(StreamKey key) {
  const auto session = sessions_.find(key.session);
  if (session == sessions_.end()) return nullptr;
  const auto found = session->second->streams.find(key.stream);
  return found == session->second->streams.end() ? nullptr : &*found->second;
}

MemoryEventStore::Stream& MemoryEventStore::stream(StreamKey key, std::uint64_t number) {
  auto session = sessions_.find(key.session);
  if (session == sessions_.end()) {
    auto made = std::make_unique<Session>(key.session);
    const std::string_view name = made->name;
    session = sessions_.emplace(name, std::move(made)).first;
  }
  Session& of = *session->second;
  Rollback undo([&] {
    if (of.streams.empty()) sessions_.erase(session);
  });
  if (const auto found = of.streams.find(key.stream); found != of.streams.end()) {
    streams_.splice(streams_.end(), streams_, found->second);
  } else {
    Order made;
    made.push_back({.name = std::string(key.stream), .session = &of, .last = number - 1});
    of.streams.emplace(made.back().name, made.begin());
    streams_.splice(streams_.end(), made);
  }
  undo.dismiss();
  return streams_.back();
}

void MemoryEventStore::keep(StreamKey key, std::uint64_t number, std::string_view data,
                            bool final) {
  detail::base::count_work(1);
  auto event = std::make_shared<const std::string>(data);
  const std::lock_guard lock(mutex_);
  Stream& to = stream(key, number);
  to.events.push_back(std::move(event));
  to.last = number;
  to.ended = final;
  to.bytes += data.size() + overhead;
  total_ += data.size() + overhead;
  while (to.events.size() > most_events_ || to.bytes > most_bytes_) drop_oldest(to);
  while (total_ > most_total_) {
    Stream& quietest = streams_.front();
    while (total_ > most_total_ && !quietest.events.empty()) drop_oldest(quietest);
    if (!quietest.events.empty() || &quietest == &to) continue;
    drop(streams_.begin());
  }
}

void MemoryEventStore::append(StreamKey stream, std::uint64_t number, std::string_view data,
                              bool final, Done<void> done) {
  keep(stream, number, data, final);
  done({});
}

void MemoryEventStore::read(StreamKey stream, std::uint64_t after, std::size_t most_bytes,
                            Done<EventPage> done) {
  EventPage page{.gone = true};
  {
    const std::lock_guard lock(mutex_);
    if (const Stream* const from = find(stream)) {
      const std::uint64_t first = from->last - from->events.size() + 1;
      page.gone = after > from->last || after + 1 < first;
      page.last = from->last;
      page.ended = from->ended;
      for (std::size_t bytes = 0; !page.gone && after < from->last;) {
        detail::base::count_work(1);
        const auto& event = from->events[static_cast<std::size_t>(after + 1 - first)];
        page.events.push_back({.number = ++after, .data = event});
        bytes += event->size();
        if (bytes >= most_bytes) break;
      }
    }
  }
  done(std::move(page));
}

void MemoryEventStore::forget(StreamKey stream, Done<void> done) {
  {
    const std::lock_guard lock(mutex_);
    const auto session = sessions_.find(stream.session);
    if (session != sessions_.end()) {
      const auto found = session->second->streams.find(stream.stream);
      if (found != session->second->streams.end()) drop(found->second);
    }
  }
  done({});
}

void MemoryEventStore::forget_session(std::string_view session, Done<void> done) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = sessions_.find(session); found != sessions_.end()) {
      for (const auto& [name, stream] : found->second->streams) {
        detail::base::count_work(1);
        total_ -= stream->bytes;
        streams_.erase(stream);
      }
      sessions_.erase(found);
    }
  }
  done({});
}

std::size_t MemoryEventStore::bytes() const {
  const std::lock_guard lock(mutex_);
  return total_;
}

}  // namespace godwit::inline v0
