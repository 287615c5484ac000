// MemoryEventStore: the EventStore of a process on its own. What no longer fits is dropped: the
// oldest events of a stream, and the streams that have been quiet longest. Whoever comes back for
// it is told so. Every operation ends inside the call.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "godwit/base/export.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/mcp/event_store.hpp"

namespace godwit::inline v0 {

class GODWIT_API MemoryEventStore final : public EventStore {
 public:
  /// Uses stream_events, stream_bytes and event_store_bytes.
  explicit MemoryEventStore(const Limits& limits = {});
  ~MemoryEventStore() override;

  void append(StreamKey stream, std::uint64_t number, std::string_view data, bool final,
              Done<void> done) override;
  void read(StreamKey stream, std::uint64_t after, std::size_t most_bytes,
            Done<EventPage> done) override;
  void forget(StreamKey stream, Done<void> done) override;
  void forget_session(std::string_view session, Done<void> done) override;

  /// Bytes of events that are kept.
  std::size_t bytes() const;

 private:
  struct Stream;
  using Order = std::list<Stream>;
  using Streams = std::unordered_map<std::string_view, Order::iterator>;
  struct Session;

  Stream& stream(StreamKey key, std::uint64_t number);
  Stream* find(StreamKey key);
  void keep(StreamKey key, std::uint64_t number, std::string_view data, bool final);
  void drop_oldest(Stream& stream);
  /// With all that is left of its events.
  void drop(Order::iterator stream);

  mutable std::mutex mutex_;
  std::size_t most_events_;
  std::size_t most_bytes_;
  std::size_t most_total_;
  std::size_t total_ = 0;
  Order streams_;  // the one written to last is at the end
  std::unordered_map<std::string_view, std::unique_ptr<Session>> sessions_;
};

}  // namespace godwit::inline v0
