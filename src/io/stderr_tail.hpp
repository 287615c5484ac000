// The end of a child's stderr, in bounded memory. Private to the io module.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "godwit/base/function.hpp"
#include "godwit/io/stream.hpp"

namespace godwit::inline v0::detail::io {

/// Shared because on_line, which may destroy the Process, is a member of it and is given views of
/// it.
class StderrTail final : public Stream::Handler, public std::enable_shared_from_this<StderrTail> {
 public:
  StderrTail(std::size_t most, Function<void(std::string_view)> on_line)
      : most_(most), on_line_(std::move(on_line)) {}

  std::span<char> on_space() override { return {buffer_.get(), size_}; }

  void on_data(std::size_t size) override {
    const auto self = shared_from_this();  // on_line may destroy the Process
    const std::string_view bytes(buffer_.get(), size);
    if (on_line_) lines(bytes);
    tail_.append(bytes.substr(size - std::min(size, most_)));
    // Cut only when twice too long, so that a flood is not moved byte by byte.
    if (tail_.size() > 2 * most_) tail_.erase(0, tail_.size() - most_);
  }

  void on_end(const Result<void>&) override {
    const auto self = shared_from_this();
    finished_ = true;
    if (on_line_ && !closed_ && !line_.empty()) on_line_(line_);
    line_.clear();
    if (on_finished) std::exchange(on_finished, nullptr)();
  }

  void on_writable() override {}

  bool finished() const noexcept { return finished_; }

  /// The Process is gone: nothing is told any more.
  void close() noexcept {
    closed_ = true;
    on_finished = nullptr;
  }

  std::string_view text() const noexcept {
    return std::string_view(tail_).substr(tail_.size() - std::min(tail_.size(), most_));
  }

  Function<void()> on_finished;

 private:
  static constexpr std::size_t size_ = 16u << 10;
  static constexpr std::size_t line_bytes_ = 4u << 10;

  void lines(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t room = line_bytes_ - line_.size();
      const std::size_t end = bytes.substr(0, room).find('\n');
      const bool whole = end != bytes.npos;
      line_.append(bytes.substr(0, whole ? end : room));
      bytes.remove_prefix(std::min(bytes.size(), whole ? end + 1 : room));
      if (whole || line_.size() == line_bytes_) {
        if (whole && line_.ends_with('\r')) line_.pop_back();
        on_line_(line_);
        if (closed_) return;
        line_.clear();
      }
    }
  }

  std::size_t most_;
  Function<void(std::string_view)> on_line_;
  std::unique_ptr<char[]> buffer_ = std::make_unique<char[]>(size_);
  std::string tail_;
  std::string line_;
  bool finished_ = false;
  bool closed_ = false;
};

}  // namespace godwit::inline v0::detail::io
