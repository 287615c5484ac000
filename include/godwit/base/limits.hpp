// Limits: every bound the library puts on what a peer may cost, in one place, each with its reason.
// Memory is bounded by this struct, not by the peer.
#pragma once

#include <chrono>
#include <cstddef>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

struct Limits {
  /// One message from the peer. Large enough for an embedded image, small enough to hold many at
  /// once.
  std::size_t message_bytes_in = 4u << 20;
  /// One message to the peer; a larger answer becomes an internal error "response too large".
  std::size_t message_bytes_out = 16u << 20;

  /// Nested arrays and objects. Deeper text is never written by people or tools, only by attackers.
  std::size_t json_depth = 128;
  std::size_t json_members = 10'000;
  std::size_t json_items = 1'000'000;
  std::size_t json_key_bytes = 8u << 10;
  /// 1,100 characters hold every finite double written out in full (at most 1,077 significant
  /// places).
  std::size_t json_number_chars = 1'100;

  /// Entries of a batch; each also counts as a request in flight.
  std::size_t batch_entries = 100;
  /// Requests of the peer that are not answered yet; one more is refused as "busy".
  std::size_t in_flight = 128;
  /// Own calls waiting for an answer; one more fails at once.
  std::size_t pending_calls = 10'000;
  /// Own calls that set no timeout of their own.
  Duration call_timeout = std::chrono::seconds(60);

  /// Bytes waiting to be written to a slow peer. Reading from it pauses above this bound and
  /// resumes at half of it; a peer that lets its own answers pile up past four times the bound is
  /// closed.
  std::size_t output_queue_bytes = 1u << 20;
  /// An over-long line is thrown away up to this much before the connection is given up.
  std::size_t discard_bytes = 64u << 20;
  /// Connections a listener keeps open at once.
  std::size_t connections = 10'000;

  /// The last bytes of a child's stderr that are kept to explain its death.
  std::size_t child_stderr_tail = 64u << 10;
  /// After the input ended: how long handlers may take to finish before the program ends.
  Duration eof_grace = std::chrono::seconds(1);

  bool operator==(const Limits&) const = default;
};

}  // namespace godwit::inline v0
