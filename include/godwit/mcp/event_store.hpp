// EventStore: keeps the events of streams, so that a client that lost its connection can come back
// for those it did not get, also to another process that has the same store. In memory and bounded
// by default (MemoryEventStore); docs/stores.md says how to write one.
//
// Each operation ends with one call of its Done: inside the call or later, on any thread, with an
// error or without. What is thrown counts as an error of that operation. Whoever asked may be
// destroyed meanwhile; the outcome is then nobody's business. The views in the arguments are good
// during the call only.
//
// Threads: any. Calls for one stream come from one thread at a time, in order; several may be under
// way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/base/done.hpp"
#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

/// Names a stream. Nobody can guess the session; a stream is named anew within each session, in
/// letters and digits.
struct StreamKey {
  std::string_view session;
  std::string_view stream;
};

struct KeptEvent {
  std::uint64_t number = 0;
  /// Shared with the store, if that holds it in memory.
  std::shared_ptr<const std::string> data{};
};

/// A part of what is kept of a stream.
struct EventPage {
  /// In order, without a gap.
  std::vector<KeptEvent> events{};
  /// The number of the last event of the stream, which need not be in this page.
  std::uint64_t last = 0;
  /// The final event was kept: none will follow.
  bool ended = false;
  /// There is no such stream (any more), or some of the events that were asked for are gone. The
  /// rest says nothing then.
  bool gone = false;
};

class GODWIT_API EventStore {
 public:
  virtual ~EventStore();

  /// Keeps an event. Numbers rise by one within a stream. The event is sent when this has
  /// succeeded; after a failure no more events of this stream are kept.
  virtual void append(StreamKey stream, std::uint64_t number, std::string_view data, bool final,
                      Done<void> done) = 0;
  /// Gives the events after this number: at least one if there is one, and no more once they have
  /// `most_bytes`. Events behind a gap are never given: EventPage::gone says so. An error is for a
  /// store that could not find out.
  virtual void read(StreamKey stream, std::uint64_t after, std::size_t most_bytes,
                    Done<EventPage> done) = 0;
  /// Nobody will come back to this stream. It need not be there.
  virtual void forget(StreamKey stream, Done<void> done) = 0;
  /// Nobody will come back to any stream of this session.
  virtual void forget_session(std::string_view session, Done<void> done) = 0;
};

}  // namespace godwit::inline v0
