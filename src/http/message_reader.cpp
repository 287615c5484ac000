#include "http/message_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>

#include "godwit/base/work.hpp"
#include "http/syntax.hpp"

namespace godwit::inline v0::http {

namespace {

/// What a quiet connection holds.
constexpr std::size_t small = 2u << 10;
/// What a busy one grows to, if its messages are no larger.
constexpr std::size_t busy = 64u << 10;
/// Room for a read that is worth its system call.
constexpr std::size_t enough = 512;
/// Fields of an ordinary message.
constexpr std::size_t usual_fields = 16;

std::size_t sum_of(std::initializer_list<std::size_t> parts) noexcept {
  std::size_t sum = 0;
  for (const std::size_t part : parts) sum += std::min(part, SIZE_MAX / 2 - sum);
  return sum;
}

}  // namespace

MessageReader::MessageReader(const Limits& limits, const Kind& kind)
    : kind_(kind),
      most_line_(limits.http_line_bytes),
      most_fields_(limits.http_headers),
      most_field_bytes_(limits.http_header_bytes),
      // What cannot be longer than a few bytes (ends of lines, the size of a chunk) fits into the
      // rest, so that there is always room for what comes next.
      most_capacity_(
          sum_of({limits.http_line_bytes, limits.http_header_bytes, kind.most_body, 2 * small})) {}

// ---- the buffer

std::span<char> MessageReader::prepare() {
  if (!buffer_) resize(small);
  close_gap();
  if (begin_ == end_) {
    begin_ = at_ = scanned_ = end_ = 0;
  }
  // What a large message took is given back, also if the next one has begun already.
  if (capacity_ > busy && end_ - begin_ <= busy / 2) resize(busy);
  if (std::exchange(filled_, false) && capacity_ < busy)
    resize(std::min(capacity_ * 2, most_capacity_));
  if (capacity_ - end_ < enough && begin_ > 0) {
    char* const to = buffer_.get();
    godwit::detail::base::count_work(end_ - begin_);
    std::memmove(to, to + begin_, end_ - begin_);
    move_to(to);
  }
  // Memory follows what really came, not what a field announces.
  if (capacity_ - end_ < enough && capacity_ < most_capacity_)
    resize(std::min(capacity_ * 2, most_capacity_));
  return {buffer_.get() + end_, capacity_ - end_};
}

void MessageReader::commit(std::size_t size) noexcept {
  end_ += std::min(size, capacity_ - end_);
  filled_ = end_ == capacity_;
}

/// What lies between the body so far and the bytes to come, the sizes of chunks, is overwritten:
/// the buffer needs room for the body alone, and most of a body lands where it is to stay.
void MessageReader::close_gap() noexcept {
  if (!has_body_ || body_end_ == at_) return;
  godwit::detail::base::count_work(end_ - at_);
  std::memmove(buffer_.get() + body_end_, buffer_.get() + at_, end_ - at_);
  end_ -= at_ - body_end_;
  at_ = scanned_ = body_end_;
}

void MessageReader::resize(std::size_t capacity) {
  godwit::detail::base::count_work(end_ - begin_);
  auto fresh = std::make_unique_for_overwrite<char[]>(capacity + padding);
  std::memset(fresh.get() + capacity, 0, padding);
  if (end_ > begin_) std::memcpy(fresh.get(), buffer_.get() + begin_, end_ - begin_);
  move_to(fresh.get());
  buffer_ = std::move(fresh);
  capacity_ = capacity;
}

/// The message is at `to` now, and its head is looked at there.
void MessageReader::move_to(char* to) noexcept {
  const char* const from = buffer_.get() + begin_;
  const auto moved = [&](std::string_view text) {
    return std::string_view(to + (text.data() - from), text.size());
  };
  if (start_line_.data() != nullptr) start_line_ = moved(start_line_);
  for (Field& field : fields_) field = {moved(field.name), moved(field.value)};
  if (has_body_) {
    body_begin_ -= begin_;
    body_end_ -= begin_;
  }
  at_ -= begin_;
  scanned_ -= begin_;
  end_ -= begin_;
  begin_ = 0;
}

void MessageReader::drop() noexcept {
  begin_ = scanned_ = at_;
  has_body_ = false;
  field_bytes_ = 0;
  start_line_ = {};
  fields_.clear();
}

void MessageReader::clear() noexcept {
  at_ = end_;
  drop();
}

void MessageReader::release() noexcept {
  if (begin_ != end_) return;
  buffer_.reset();
  capacity_ = begin_ = at_ = scanned_ = end_ = 0;
  filled_ = false;
  std::vector<Field>().swap(fields_);
}

std::size_t MessageReader::capacity() const noexcept {
  return (buffer_ ? capacity_ + padding : 0) + fields_.capacity() * sizeof(Field);
}

std::size_t MessageReader::readable_from(const char* at) const noexcept {
  return static_cast<std::size_t>(buffer_.get() + capacity_ + padding - at);
}

void MessageReader::begin_body() noexcept {
  body_begin_ = body_end_ = at_;
  has_body_ = true;
}

void MessageReader::keep(std::string_view piece) noexcept {
  char* const to = buffer_.get() + body_end_;
  godwit::detail::base::count_work(piece.size());
  if (to != piece.data()) std::memmove(to, piece.data(), piece.size());
  body_end_ += piece.size();
}

// ---- the head

/// Takes one line. How long it is comes first, so that the same line is refused for the same reason
/// whether it is complete or not.
MessageReader::Step MessageReader::next_line(std::size_t most, std::string_view& line,
                                             bool& too_long) {
  const char* const data = buffer_.get();
  const auto* const found =
      scanned_ == end_
          ? nullptr
          : static_cast<const char*>(std::memchr(data + scanned_, '\n', end_ - scanned_));
  const std::size_t stop = found ? static_cast<std::size_t>(found - data) : end_;
  godwit::detail::base::count_work(stop - scanned_ + 1);
  std::size_t size = stop - at_;
  // A CR counts only when the line goes on behind it.
  const bool ends_with_cr = size > 0 && data[stop - 1] == '\r';
  if (ends_with_cr) --size;
  too_long = size > most;
  if (too_long) return Step::failed;
  if (!found) {
    scanned_ = end_;
    return Step::more;
  }
  if (!ends_with_cr) return refuse(400, "a line of the head ends with LF where CR LF was expected");
  line = {data + at_, size};
  at_ = scanned_ = stop + 1;
  return Step::done;
}

MessageReader::Step MessageReader::read_start_line() {
  std::string_view line;
  bool too_long = false;
  const Step step = next_line(most_line_, line, too_long);
  if (too_long) {
    return refuse(kind_.long_start_line, "the " + std::string(kind_.start_line) +
                                             " is longer than the limit of " +
                                             std::to_string(most_line_) + " bytes");
  }
  if (step == Step::done) start_line_ = line;
  return step;
}

MessageReader::Step MessageReader::read_fields() {
  for (;;) {
    // The end of a line counts, too, but for the empty line, which is always taken.
    const std::size_t left = most_field_bytes_ - field_bytes_;
    const std::size_t most = std::min(most_line_, left < 2 ? 0 : left - 2);
    std::string_view line;
    bool too_long = false;
    const Step step = next_line(most, line, too_long);
    if (too_long) {
      return refuse(431, most == most_line_ ? "a header line is longer than the limit of " +
                                                  std::to_string(most_line_) + " bytes"
                                            : "the header is longer than the limit of " +
                                                  std::to_string(most_field_bytes_) + " bytes");
    }
    if (step != Step::done || line.empty()) return step;
    field_bytes_ += line.size() + 2;
    if (const Step taken = take_field(line); taken != Step::done) return taken;
  }
}

MessageReader::Step MessageReader::take_field(std::string_view line) {
  if (fields_.size() == most_fields_) {
    return refuse(431,
                  "there are more header fields than the limit of " + std::to_string(most_fields_));
  }
  const std::size_t colon = span_of(line, token_char);
  if (colon == 0 || colon == line.size() || line[colon] != ':') return refuse_field(line);
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trim(line.substr(colon + 1));
  if (!is_plain_text(value)) {
    if (const std::size_t at = span_of(value, kind_.value_classes); at < value.size()) {
      return refuse(400, "the value of the header field " + shown(name) + " holds the byte " +
                             byte_name(value[at]) + ", which is not taken in a value");
    }
  }
  if (fields_.capacity() == 0) fields_.reserve(usual_fields);
  fields_.push_back({name, value});
  return take_known_field(name, value);
}

/// Says what is wrong with a line that is not "Name: value".
MessageReader::Step MessageReader::refuse_field(std::string_view line) {
  if (line[0] == ' ' || line[0] == '\t') {
    return refuse(400,
                  "a header line begins with white space; lines that continue the one before are "
                  "not taken");
  }
  const std::size_t end = span_of(line, token_char);
  if (end == line.size())
    return refuse(400, "the header line " + shown(line) + " has no colon behind its name");
  if (line[end] == ':') return refuse(400, "a header line has no name before its colon");
  return refuse(400, "the name of the header line " + shown(line) + " holds the byte " +
                         byte_name(line[end]) + "; expected was \"Name: value\"");
}

MessageReader::Step MessageReader::take_known_field(std::string_view name, std::string_view value) {
  const std::size_t index = fields_.size() - 1;
  switch (name.size()) {
    case 4:
      if (!same_name(name, "Host")) break;
      if (facts_.host) return refuse(400, "Host is given twice");
      facts_.host = index;
      break;
    case 6:
      if (!same_name(name, "Expect")) break;
      if (facts_.expect) return refuse(400, "Expect is given twice");
      facts_.expect = index;
      break;
    case 7:
      if (same_name(name, "Upgrade")) facts_.upgrade_to |= !value.empty();
      break;
    case 10:
      if (!same_name(name, "Connection")) break;
      while (!value.empty()) {
        const std::string_view option = trim(next_member(value));
        facts_.close |= same_name(option, "close");
        facts_.keep_alive |= same_name(option, "keep-alive");
        facts_.upgrade |= same_name(option, "upgrade");
      }
      break;
    case 14:
      if (same_name(name, "Content-Length")) return take_length(value);
      break;
    case 17:
      if (!same_name(name, "Transfer-Encoding")) break;
      if (facts_.transfer) return refuse(400, "Transfer-Encoding is given twice");
      facts_.transfer = index;
      facts_.chunked = same_name(value, "chunked");
      break;
    default:
      break;
  }
  return Step::done;
}

MessageReader::Step MessageReader::take_length(std::string_view value) {
  if (facts_.length) return refuse(400, "Content-Length is given twice");
  std::uint64_t length = 0;
  const char* const end = value.data() + value.size();
  const auto read = std::from_chars(value.data(), end, length);
  // Every number of 19 digits fits.
  if (value.empty() || value.size() > 19 || read.ec != std::errc() || read.ptr != end) {
    return refuse(400, "Content-Length is " + shown(value) +
                           "; expected was one number of at most 19 digits");
  }
  facts_.length = length;
  return Step::done;
}

std::optional<Refusal> MessageReader::framing_mistake(bool http_1_0) const {
  if (!facts_.transfer) return std::nullopt;
  if (http_1_0) return Refusal{400, "HTTP/1.0 has no Transfer-Encoding"};
  if (facts_.length)
    return Refusal{400,
                   "there are both Content-Length and Transfer-Encoding; only one may say "
                   "where the body ends"};
  if (facts_.chunked) return std::nullopt;
  return Refusal{501, "Transfer-Encoding is " + shown(fields_[*facts_.transfer].value) +
                          "; only \"chunked\" is known"};
}

MessageReader::Step MessageReader::refuse(int status, std::string why) {
  refusal_ = {status, std::move(why)};
  return Step::failed;
}

}  // namespace godwit::inline v0::http
