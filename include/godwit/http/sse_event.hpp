// SseEvent: one event of a text/event-stream, and how it is written. A plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "godwit/base/export.hpp"

namespace godwit::inline v0::http {

struct SseEvent {
  /// The type; empty means "message".
  std::string_view event{};
  std::string_view data{};
  /// The id field of this event, if it has one.
  std::optional<std::string_view> id{};
  /// Milliseconds to wait before coming back after the stream broke.
  std::optional<std::uint64_t> retry{};
  bool operator==(const SseEvent&) const = default;
};

/// Appends the event. Lines of data (ended by CR, LF or CR LF) become lines of the event. An id or
/// type with a line break or NUL, which would break the stream apart, throws std::invalid_argument.
GODWIT_API void write_event(std::string& out, const SseEvent& event);

/// How far an event is written that is written in parts.
struct SsePart {
  std::size_t offset = 0;  // in the data
  bool begun = false;
  bool in_line = false;
};
/// Appends the next part of what write_event() would, until `out` has about `most` bytes. True once
/// the event is complete. Of an event with many bytes nothing is copied that is not sent yet.
GODWIT_API bool write_event_part(std::string& out, const SseEvent& event, SsePart& part,
                                 std::size_t most);

/// Appends a comment that means nothing: keeps proxies from closing a quiet stream.
GODWIT_API void write_comment(std::string& out);

}  // namespace godwit::inline v0::http
