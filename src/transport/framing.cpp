#include "godwit/transport/framing.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "godwit/base/work.hpp"

namespace godwit::inline v0 {

namespace {

/// What a quiet connection holds.
constexpr std::size_t small = 4u << 10;
/// What a busy one grows to, if its messages are no larger; a pipe gives no more at once.
constexpr std::size_t busy = 64u << 10;
/// Room for a read that is worth its system call.
constexpr std::size_t enough = 1u << 10;
/// All header lines of one message; two short ones are usual.
constexpr std::size_t header_bytes = 4u << 10;

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

bool name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

std::string_view trim(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

FrameDecoder::FrameDecoder(Framing framing, const Limits& limits)
    : most_(limits.message_bytes_in),
      most_discarded_(limits.discard_bytes),
      framing_(framing),
      state_(framing == Framing::newline ? State::line : State::header) {
  resize(small);
}

void FrameDecoder::resize(std::size_t capacity) {
  detail::base::count_work(end_ - begin_);
  auto fresh = std::make_unique_for_overwrite<char[]>(capacity + padding);
  std::memset(fresh.get() + capacity, 0, padding);
  if (end_ > begin_) std::memcpy(fresh.get(), buffer_.get() + begin_, end_ - begin_);
  buffer_ = std::move(fresh);
  capacity_ = capacity;
  scanned_ -= begin_;
  end_ -= begin_;
  begin_ = 0;
}

std::span<char> FrameDecoder::prepare() {
  message_ = {};
  if (begin_ == end_ || state_ == State::broken) {
    begin_ = scanned_ = end_ = 0;
    if (capacity_ > busy) resize(busy);
  }
  if (std::exchange(filled_, false) && capacity_ < busy) resize(capacity_ * 2);
  if (capacity_ - end_ < enough && begin_ > 0) {
    detail::base::count_work(end_ - begin_);
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    scanned_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  // Memory follows what really came, not what a header announces.
  if (capacity_ - end_ < enough) resize(std::min(capacity_ * 2, most_ + 2 * small));
  return {buffer_.get() + end_, capacity_ - end_};
}

void FrameDecoder::commit(std::size_t size) noexcept {
  detail::base::count_work(size);
  end_ += size;
  filled_ = end_ == capacity_;
}

std::size_t FrameDecoder::spare() const noexcept {
  const char* const end = buffer_.get() + capacity_ + padding;
  return message_.data() == nullptr
             ? 0
             : static_cast<std::size_t>(end - (message_.data() + message_.size()));
}

bool FrameDecoder::partial() const noexcept {
  return begin_ != end_ || state_ == State::skip_line || state_ == State::skip_body ||
         state_ == State::body || (state_ == State::header && header_ > 0);
}

void FrameDecoder::finish() {
  if (state_ != State::line || begin_ == end_) return;
  const std::string_view rest(buffer_.get() + begin_, end_ - begin_);
  const std::size_t last = rest.find_last_not_of(" \t\r");
  if (last == rest.npos || (rest[last] != '}' && rest[last] != ']')) return;
  prepare()[0] = '\n';
  commit(1);
}

FrameDecoder::Event FrameDecoder::next() {
  switch (state_) {
    case State::line:
    case State::skip_line:
      return next_line();
    case State::broken:
      return Event::fatal;
    case State::skip_body:
      skip_body();
      if (state_ == State::skip_body) return Event::none;
      [[fallthrough]];
    case State::header:
    case State::body:
      break;
  }
  if (state_ == State::header) {
    if (const Event event = next_header(); event != Event::none || state_ != State::body)
      return event;
  }
  return next_body();
}

FrameDecoder::Event FrameDecoder::next_line() {
  for (;;) {
    char* const data = buffer_.get();
    const auto* found =
        static_cast<const char*>(std::memchr(data + scanned_, '\n', end_ - scanned_));
    const std::size_t stop = found ? static_cast<std::size_t>(found - data) : end_;
    detail::base::count_work(stop - scanned_ + 1);

    if (state_ == State::skip_line) {
      discarded_ += stop - begin_;
      begin_ = scanned_ = found ? stop + 1 : stop;
      if (discarded_ > most_discarded_) {
        return broken("a line of more than " + std::to_string(most_discarded_) +
                      " bytes was sent; the connection is given up");
      }
      if (!found) return Event::none;
      state_ = State::line;
      continue;
    }

    std::size_t size = stop - begin_;
    // A CR counts only when the line goes on behind it.
    if (size > 0 && data[stop - 1] == '\r') --size;
    if (size > most_) {
      state_ = State::skip_line;
      discarded_ = 0;
      return too_long(0);
    }
    if (!found) {
      scanned_ = end_;
      return Event::none;
    }
    message_ = std::string_view(data + begin_, size);
    begin_ = scanned_ = stop + 1;
    if (message_.find_first_not_of(" \t\r") == message_.npos) continue;  // blank
    return Event::message;
  }
}

FrameDecoder::Event FrameDecoder::next_header() {
  for (;;) {
    char* const data = buffer_.get();
    if (begin_ < end_ && header_ == 0 && (data[begin_] == '{' || data[begin_] == '[')) {
      return broken(
          "a message came without its Content-Length header; does the other side use newline "
          "framing?");
    }
    const auto* found =
        static_cast<const char*>(std::memchr(data + scanned_, '\n', end_ - scanned_));
    const std::size_t stop = found ? static_cast<std::size_t>(found - data) : end_;
    detail::base::count_work(stop - scanned_ + 1);
    if (header_ + (stop - begin_) > header_bytes)
      return broken("the header of a message is longer than " + std::to_string(header_bytes) +
                    " bytes");
    if (!found) {
      scanned_ = end_;
      return Event::none;
    }
    std::string_view line(data + begin_, stop - begin_);
    header_ += line.size() + 1;
    begin_ = scanned_ = stop + 1;
    if (!line.ends_with('\r')) return broken("a header line does not end with CR LF");
    line.remove_suffix(1);
    if (!line.empty()) {
      if (std::string why = header_line(line); !why.empty()) return broken(std::move(why));
      continue;
    }

    if (!std::exchange(length_seen_, false))
      return broken("the header of a message has no Content-Length");
    header_ = 0;
    if (body_ <= most_) {
      state_ = State::body;
      return Event::none;
    }
    if (body_ > most_discarded_) {
      return broken("a message of " + std::to_string(body_) + " bytes was announced; more than " +
                    std::to_string(most_discarded_) + " are not skipped");
    }
    state_ = State::skip_body;
    return too_long(body_);
  }
}

/// Takes one header line; gives what is wrong with it.
std::string FrameDecoder::header_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  if (colon == line.npos || name.empty() || !std::all_of(name.begin(), name.end(), name_char))
    return "a header line is not of the form \"Name: value\"";
  const std::string_view value = trim(line.substr(colon + 1));
  if (std::any_of(value.begin(), value.end(), [](char c) { return c == '\r' || c == '\0'; }))
    return "a header line holds a control character";
  if (!same_name(name, "Content-Length")) return {};  // Content-Type and others change nothing here
  if (std::exchange(length_seen_, true)) return "Content-Length is given twice";
  const auto read = std::from_chars(value.data(), value.data() + value.size(), body_);
  if (value.empty() || read.ec != std::errc() || read.ptr != value.data() + value.size())
    return "Content-Length is not a number of bytes";
  return {};
}

FrameDecoder::Event FrameDecoder::next_body() {
  if (end_ - begin_ < body_) return Event::none;
  message_ = std::string_view(buffer_.get() + begin_, body_);
  begin_ += body_;
  scanned_ = begin_;
  state_ = State::header;
  return Event::message;
}

void FrameDecoder::skip_body() {
  const std::size_t here = std::min(body_, end_ - begin_);
  begin_ += here;
  scanned_ = begin_;
  body_ -= here;
  if (body_ == 0) state_ = State::header;
}

FrameDecoder::Event FrameDecoder::too_long(std::size_t size_known) {
  error_ = Error{.code = -32600,
                 .message = "Invalid Request: the message" +
                            (size_known ? " of " + std::to_string(size_known) + " bytes" : "") +
                            " is longer than the limit of " + std::to_string(most_) + " bytes"};
  return Event::unreadable;
}

FrameDecoder::Event FrameDecoder::broken(std::string why) {
  state_ = State::broken;
  begin_ = scanned_ = end_ = 0;
  message_ = {};
  error_ = Error{.code = -32600, .message = "Invalid Request: " + std::move(why)};
  return Event::fatal;
}

void finish_frame(std::string& out, std::size_t begin, Framing framing) {
  if (framing == Framing::newline) {
    // Line breaks come from JSON that was passed on as text. Inside strings they are always
    // escaped, so each is white space, and a space says the same without ending the line.
    for (std::size_t at = begin; (at = out.find('\n', at)) != out.npos;) out[at] = ' ';
    out.push_back('\n');
    return;
  }
  char header[48] = "Content-Length: ";
  char* at = header + 16;
  at = std::to_chars(at, header + sizeof header, out.size() - begin).ptr;
  std::memcpy(at, "\r\n\r\n", 4);
  out.insert(begin, header, static_cast<std::size_t>(at + 4 - header));
}

}  // namespace godwit::inline v0
