// Framing: where one message ends and the next begins in a stream of bytes. No input or output
// here: bytes go in as they arrive, in pieces of any size, and messages come out.
//
// FrameDecoder owns one buffer that is reused; messages are views into it. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/limits.hpp"

namespace godwit::inline v0 {

enum class Framing : std::uint8_t {
  /// One message per line, as MCP and most tools do. CR LF is taken as well, blank lines are
  /// skipped.
  newline,
  /// "Content-Length: 17\r\n\r\n" before each message, as language servers do.
  content_length,
};

class GODWIT_API FrameDecoder {
 public:
  enum class Event : std::uint8_t {
    /// More bytes are needed.
    none,
    /// message() is one whole message.
    message,
    /// A message was too long and is being skipped; error() is what to tell the peer.
    unreadable,
    /// The stream makes no sense any more and has to be closed; error() says why. It stays so.
    fatal,
  };

  /// So many bytes after every message may be read, whatever they hold.
  static constexpr std::size_t padding = 64;

  explicit FrameDecoder(Framing framing = Framing::newline, const Limits& limits = {});

  /// Where to put the next bytes; never empty. Ends the life of earlier messages.
  std::span<char> prepare();
  /// So many bytes were put there.
  void commit(std::size_t size) noexcept;

  /// Nothing more will come. A last line that only lacks its newline counts as a message; one that
  /// was cut off does not.
  void finish();

  /// What comes next in the bytes so far. To be called until it gives none.
  Event next();

  /// Valid until the next prepare().
  std::string_view message() const noexcept { return message_; }
  /// Readable bytes behind message(), at least `padding`.
  std::size_t spare() const noexcept;
  const Error& error() const noexcept { return error_; }

  /// Whether the bytes so far end in the middle of a message.
  bool partial() const noexcept;
  /// Bytes of memory held.
  std::size_t capacity() const noexcept { return capacity_; }

 private:
  enum class State : std::uint8_t { line, skip_line, header, body, skip_body, broken };

  Event next_line();
  Event next_header();
  Event next_body();
  void skip_body();
  Event too_long(std::size_t size_known);
  Event broken(std::string why);
  std::string header_line(std::string_view line);
  void resize(std::size_t capacity);

  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;  // without the padding
  std::size_t begin_ = 0;     // of what was not handed out yet
  std::size_t scanned_ = 0;   // up to here there is no end of line
  std::size_t end_ = 0;
  std::size_t body_ = 0;  // bytes of the body, or of it still to be skipped
  std::size_t discarded_ = 0;
  std::size_t header_ = 0;  // bytes of header lines so far
  std::size_t most_;
  std::size_t most_discarded_;
  Framing framing_;
  State state_;
  bool length_seen_ = false;
  bool filled_ = false;
  std::string_view message_;
  Error error_;
};

/// Turns what was appended to `out` since `begin` into a frame. Line breaks between the tokens of a
/// message (in JSON that is passed on as it came) become spaces where lines are the frames.
GODWIT_API void finish_frame(std::string& out, std::size_t begin, Framing framing);

}  // namespace godwit::inline v0
