// SseDecoder: finds the events in a text/event-stream, as the HTML standard says. Bytes go in as
// they arrive, in pieces of any size. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/http/sse_event.hpp"

namespace godwit::inline v0::http {

class GODWIT_API SseDecoder {
 public:
  enum class Event : std::uint8_t {
    /// More bytes are needed.
    none,
    /// event() is the next one. Events without data are handed out, too, if they carry an id or a
    /// retry: that is how a server says where to resume.
    event,
    /// An event, or a line of it, is larger than Limits::sse_event_bytes. It stays so.
    failed,
  };

  explicit SseDecoder(const Limits& limits = {});

  /// The next bytes. Ends the life of events handed out before.
  void feed(std::string_view bytes);
  /// To be called until it gives none. What is left without its blank line at the end of the stream
  /// is no event.
  Event next();

  /// Valid until the next feed() or next(). Its data ends without the last line break; its `id` is
  /// set if the event itself had one.
  const SseEvent& event() const noexcept { return event_; }
  /// What to send as Last-Event-ID: the last id of any event so far; empty if there was none.
  const std::string& last_id() const noexcept { return last_id_; }
  const Error& error() const noexcept { return error_; }
  /// Bytes so far that brought no data: comments, lines that mean nothing, events without data.
  std::uint64_t idle_bytes() const noexcept { return idle_bytes_; }

 private:
  bool find_line(std::string_view& line);
  bool skip_start();
  void take_line(std::string_view line);
  void begin_event() noexcept;

  std::size_t most_;
  std::string in_;
  std::size_t at_ = 0;       // of the line that is being read
  std::size_t scanned_ = 0;  // up to here there is neither CR nor LF
  std::size_t lf_ = 0;       // the next LF, or the end of what was searched for it
  bool at_start_ = true;     // a byte order mark may come
  bool after_cr_ = false;    // an LF that comes now belongs to the CR
  bool handed_out_ = false;
  bool failed_ = false;

  // The event that is being read.
  std::string type_;
  std::string data_;
  std::string id_;
  bool has_data_ = false;
  bool has_id_ = false;
  std::optional<std::uint64_t> retry_;
  std::size_t event_bytes_ = 0;  // its lines

  std::uint64_t idle_bytes_ = 0;
  SseEvent event_;
  std::string last_id_;
  Error error_;
};

}  // namespace godwit::inline v0::http
