#include "godwit/io/output_buffer.hpp"

#include <utility>

namespace godwit::inline v0 {

namespace {

/// What an empty buffer may keep.
constexpr std::size_t keep_capacity = 256u << 10;

}  // namespace

Result<void> OutputBuffer::write(Stream& stream) {
  if (unsent() > 0) {
    const Result<std::size_t> put =
        stream.write_some(std::string_view(text_).substr(sent_, unsent()));
    if (!put) return put.error();
    sent_ += *put;
  }
  compact();
  return {};
}

void OutputBuffer::drop() noexcept {
  sent_ = ready_;
  compact();
}

/// Forgets what was written, unless a message is just being appended: its writer counts from the
/// start.
void OutputBuffer::compact() noexcept {
  if (composing() || sent_ == 0) return;
  if (sent_ == ready_) {
    text_.clear();
    sent_ = ready_ = 0;
    if (text_.capacity() > keep_capacity) std::string().swap(text_);
  } else if (sent_ > ready_ / 2) {
    text_.erase(0, sent_);
    ready_ -= std::exchange(sent_, 0);
  }
}

}  // namespace godwit::inline v0
