#include "godwit/io/output_buffer.hpp"

#include <algorithm>
#include <utility>

namespace godwit::inline v0 {

void OutputBuffer::finish_message() noexcept {
  ready_ = text_.size();
  if (waiting_ && ready_ >= piece_bytes) begin_piece();
}

void OutputBuffer::begin_piece() noexcept {
  try {
    pieces_.emplace_back();
  } catch (...) {  // no memory: this piece grows on
    return;
  }
  pieces_.back().swap(text_);
  in_pieces_ += std::exchange(ready_, 0);
  try {
    // Pieces of one size use each other's memory. One that grew would leave holes of all sizes.
    text_.reserve(piece_bytes + piece_bytes / 4);
  } catch (...) {  // whoever appends finds out
  }
}

Result<void> OutputBuffer::write(Stream& stream) {
  while (unsent() > 0) {
    const std::string& first = pieces_.empty() ? text_ : pieces_.front();
    const std::size_t end = pieces_.empty() ? ready_ : first.size();
    const Result<std::size_t> put =
        stream.write_some(std::string_view(first).substr(sent_, end - sent_));
    if (!put) return put.error();
    sent_ += *put;
    if (sent_ < end) {
      waiting_ = true;
      return {};
    }
    if (pieces_.empty()) break;
    in_pieces_ -= std::exchange(sent_, 0);
    pieces_.pop_front();
  }
  clear();
  return {};
}

void OutputBuffer::drop() noexcept {
  pieces_.clear();
  in_pieces_ = 0;
  sent_ = ready_;
  clear();
}

/// Everything is written. A message that is just being appended stays where it is: its writer
/// counts from the start.
void OutputBuffer::clear() noexcept {
  waiting_ = false;
  if (composing()) return;
  text_.clear();
  sent_ = ready_ = 0;
  if (text_.capacity() > keep_) release();
}

void OutputBuffer::release() noexcept {
  if (text_.empty()) std::string().swap(text_);
}

}  // namespace godwit::inline v0
