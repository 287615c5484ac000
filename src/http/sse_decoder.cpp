#include "godwit/http/sse_decoder.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "godwit/base/work.hpp"

namespace godwit::inline v0::http {

namespace {

/// Memory that is kept from one event to the next; what a large one needed beyond is given back.
constexpr std::size_t usual = 64u << 10;

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// Where the byte is, or the end of the text.
std::size_t find_byte(std::string_view text, char byte) noexcept {
  if (text.empty()) return 0;
  const void* const found = std::memchr(text.data(), byte, text.size());
  return found ? static_cast<std::size_t>(static_cast<const char*>(found) - text.data())
               : text.size();
}

void empty(std::string& text) {
  if (text.capacity() > usual) {
    text = std::string();
  } else {
    text.clear();
  }
}

}  // namespace

SseDecoder::SseDecoder(const Limits& limits) : most_(limits.sse_event_bytes) {}

void SseDecoder::feed(std::string_view bytes) {
  event_ = {};
  if (failed_) return;
  // What is moved here came with the last piece, so each byte is moved once at most.
  godwit::detail::base::count_work(bytes.size() + (at_ > 0 ? in_.size() - at_ : 0));
  in_.erase(0, at_);
  scanned_ -= at_;
  lf_ -= at_;
  at_ = 0;
  if (in_.empty()) empty(in_);
  in_ += bytes;
}

SseDecoder::Event SseDecoder::next() {
  if (failed_) return Event::failed;
  if (std::exchange(handed_out_, false)) begin_event();
  if (at_start_ && !skip_start()) return Event::none;
  for (std::string_view line;;) {
    const bool complete = find_line(line);
    // What is kept so far and the line that is being read, complete or not.
    const std::size_t size = type_.size() + data_.size() + id_.size() + line.size();
    if (size > most_) {
      failed_ = true;
      begin_event();
      empty(in_);
      at_ = scanned_ = lf_ = 0;
      error_ = Error{.message = "an event of the stream is longer than the limit of " +
                                std::to_string(most_) + " bytes"};
      return Event::failed;
    }
    if (!complete) return Event::none;
    if (!line.empty()) {
      take_line(line);
      continue;
    }
    ++event_bytes_;  // the blank line itself
    if (has_id_) last_id_ = id_;
    if (data_.size() <= 1) idle_bytes_ += event_bytes_;
    if (!has_data_ && !has_id_ && !retry_) {
      begin_event();
      continue;
    }
    if (has_data_) data_.pop_back();  // the break behind the last line
    event_ = {.event = type_, .data = data_, .id = {}, .retry = retry_};
    if (has_id_) event_.id = id_;
    handed_out_ = true;
    return Event::event;
  }
}

/// Skips a byte order mark at the very beginning. False while it is not clear whether there is one.
bool SseDecoder::skip_start() {
  if (in_.size() < byte_order_mark.size() && byte_order_mark.starts_with(in_)) return false;
  if (in_.starts_with(byte_order_mark)) at_ = scanned_ = lf_ = byte_order_mark.size();
  at_start_ = false;
  return true;
}

/// Finds the next line, or what is there of it. Each byte is looked at a fixed number of times,
/// whatever the lines end with: where the next LF is, is remembered across lines that end with CR.
bool SseDecoder::find_line(std::string_view& line) {
  const std::string_view in = in_;
  if (after_cr_ && at_ < in.size()) {
    after_cr_ = false;
    if (in[at_] == '\n') ++at_;
  }
  scanned_ = std::max(scanned_, at_);
  lf_ = std::max(lf_, at_);
  [[maybe_unused]] const std::size_t before = lf_ + scanned_;
  if (lf_ < in.size() && in[lf_] != '\n') lf_ += find_byte(in.substr(lf_), '\n');
  scanned_ += find_byte(in.substr(scanned_, lf_ - scanned_), '\r');
  godwit::detail::base::count_work(lf_ + scanned_ - before + 1);
  line = in.substr(at_, scanned_ - at_);
  if (scanned_ == in.size()) return false;
  after_cr_ = in[scanned_] == '\r';
  at_ = ++scanned_;
  lf_ = std::max(lf_, at_);
  return true;
}

void SseDecoder::take_line(std::string_view line) {
  const std::size_t colon = find_byte(line, ':');
  const std::string_view name = line.substr(0, colon);
  std::string_view value = line.substr(std::min(colon + 1, line.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  event_bytes_ += line.size() + 1;
  if (name == "data") {
    data_.append(value).push_back('\n');
    has_data_ = true;
  } else if (name == "event") {
    type_ = value;
  } else if (name == "id") {
    if (value.find('\0') != value.npos) return;
    id_ = value;
    has_id_ = true;
  } else if (name == "retry") {
    std::uint64_t time = 0;
    const char* const end = value.data() + value.size();
    const auto read = std::from_chars(value.data(), end, time);
    if (read.ec == std::errc() && read.ptr == end) retry_ = time;
  } else {  // a comment, or a field of another standard
    idle_bytes_ += line.size() + 1;
    event_bytes_ -= line.size() + 1;
  }
}

void SseDecoder::begin_event() noexcept {
  empty(type_);
  empty(data_);
  empty(id_);
  has_data_ = has_id_ = false;
  event_bytes_ = 0;
  retry_.reset();
  event_ = {};
}

}  // namespace godwit::inline v0::http
