// OutputBuffer: messages on their way into a Stream. Whoever writes a message appends it to text()
// and says when it is complete; only complete ones are written.
//
// Owner: a transport. Threads: the transport's.
#pragma once

#include <cstddef>
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

  std::string& text() noexcept { return text_; }
  /// What was appended is complete.
  void finish_message() noexcept { ready_ = text_.size(); }
  /// Where a message that is just being appended begins.
  std::size_t ready() const noexcept { return ready_; }
  bool composing() const noexcept { return text_.size() != ready_; }
  /// Bytes of complete messages that are not written yet.
  std::size_t unsent() const noexcept { return ready_ - sent_; }

  /// Writes what the stream takes at once. An error is final.
  Result<void> write(Stream& stream);
  /// Forgets what was not written.
  void drop() noexcept;

 private:
  void compact() noexcept;

  std::string text_;
  std::size_t sent_ = 0;
  std::size_t ready_ = 0;  // end of the last complete message
};

}  // namespace godwit::inline v0
