// OutputBuffer: messages on their way into a Stream. Whoever writes a message appends it to text()
// and says when it is complete; only complete ones are written. What a slow reader lets wait is
// kept in pieces, so that it is never copied again and its memory goes back piece by piece.
//
// Owner: a transport or a connection. Threads: the owner's.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>

#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/io/stream.hpp"

namespace godwit::inline v0 {

class GODWIT_API OutputBuffer {
 public:
  /// In a burst of large answers, this much is written without waiting for the end of the burst.
  static constexpr std::size_t early_write = 256u << 10;
  /// While the reader is slow, text() moves on to a new piece when it has this much.
  static constexpr std::size_t piece_bytes = 64u << 10;

  /// An empty buffer keeps memory of at most `keep` bytes for the next message.
  explicit OutputBuffer(std::size_t keep = early_write) noexcept : keep_(keep) {}

  std::string& text() noexcept { return text_; }
  /// What was appended is complete. Afterwards text() may be another string.
  void finish_message() noexcept;
  /// Where a message that is just being appended begins.
  std::size_t ready() const noexcept { return ready_; }
  bool composing() const noexcept { return text_.size() != ready_; }
  /// Takes back what was appended since the last complete message. Needs no memory.
  void undo_message() noexcept { text_.resize(ready_); }
  /// Bytes of complete messages that are not written yet.
  std::size_t unsent() const noexcept { return in_pieces_ + ready_ - sent_; }

  /// Writes what the stream takes at once. An error is final.
  Result<void> write(Stream& stream);
  /// Forgets what was not written.
  void drop() noexcept;
  /// Gives the memory of an empty buffer back.
  void release() noexcept;

 private:
  void begin_piece() noexcept;
  void clear() noexcept;

  std::size_t keep_;
  std::list<std::string> pieces_;  // complete, before what is in text_
  std::size_t in_pieces_ = 0;      // their bytes
  std::string text_;
  std::size_t sent_ = 0;   // of the first piece, or of text_ if there is none
  std::size_t ready_ = 0;  // end of the last complete message in text_
  bool waiting_ = false;   // the stream did not take all of it
};

}  // namespace godwit::inline v0
