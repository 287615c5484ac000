#include "godwit/transport/websocket_decoder.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "godwit/base/work.hpp"

namespace godwit::inline v0 {

namespace {

/// What a quiet connection holds.
constexpr std::size_t small = 1u << 10;
/// What a busy one grows to, if its messages are no larger.
constexpr std::size_t busy = 64u << 10;
/// Room for a read that is worth its system call, in a buffer of this size.
constexpr std::size_t enough(std::size_t capacity) { return std::min(capacity / 4, small); }
/// The payload of a control frame (RFC 6455 5.5).
constexpr std::size_t control_bytes = 125;

std::uint64_t big_endian(const char* at, std::size_t size) noexcept {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < size; ++i) {
    number = number << 8 | static_cast<std::uint8_t>(at[i]);
  }
  return number;
}

/// RFC 6455 7.4 and what IANA has registered since.
bool may_be_sent(std::uint16_t code) noexcept {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
         (code >= 3000 && code <= 4999);
}

/// Each byte with its byte of the mask, which begins at `shift`.
void apply_mask(char* at, std::size_t size, const std::uint8_t* mask, std::size_t shift) noexcept {
  std::uint8_t turned[8];
  for (std::size_t i = 0; i < 8; ++i) turned[i] = mask[(shift + i) % 4];
  std::uint64_t wide = 0;
  std::memcpy(&wide, turned, 8);
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at + i, 8);
    word ^= wide;
    std::memcpy(at + i, &word, 8);
  }
  for (; i < size; ++i) at[i] = static_cast<char>(static_cast<std::uint8_t>(at[i]) ^ turned[i % 8]);
}

}  // namespace

WebSocketDecoder::WebSocketDecoder(WebSocketSide side, const Limits& limits)
    : most_(limits.message_bytes_in), most_fragments_(limits.ws_fragments), side_(side) {
  resize(small);
}

// --- the buffer

void WebSocketDecoder::resize(std::size_t capacity) {
  auto fresh = std::make_unique_for_overwrite<char[]>(capacity + padding);
  std::memset(fresh.get() + capacity, 0, padding);
  const std::size_t from = begin();
  detail::base::count_work(end_ - from);
  if (end_ > from) std::memcpy(fresh.get(), buffer_.get() + from, end_ - from);
  buffer_ = std::move(fresh);
  capacity_ = capacity;
  text_ = 0;
  at_ -= from;
  end_ -= from;
}

void WebSocketDecoder::move_to_front() noexcept {
  const std::size_t from = begin();
  detail::base::count_work(end_ - from);
  std::memmove(buffer_.get(), buffer_.get() + from, end_ - from);
  text_ = 0;
  at_ -= from;
  end_ -= from;
}

std::span<char> WebSocketDecoder::prepare() {
  view_ = {};
  if (state_ == State::over) {  // thrown away
    fragments_ = 0;
    at_ = end_ = 0;
  }
  if (begin() == end_) {
    text_ = at_ = end_ = 0;
    if (capacity_ > busy) resize(busy);
  }
  if (std::exchange(filled_, false) && capacity_ < busy) resize(capacity_ * 2);
  if (capacity_ - end_ < enough(capacity_) && begin() > 0) move_to_front();
  // Memory follows what really came, not what a frame announces.
  if (capacity_ - end_ < enough(capacity_)) {
    resize(std::max(capacity_ + small, std::min(capacity_ * 2, most_ + 2 * small)));
  }
  return {buffer_.get() + end_, capacity_ - end_};
}

void WebSocketDecoder::commit(std::size_t size) noexcept {
  end_ += size;
  filled_ = end_ == capacity_;
}

std::size_t WebSocketDecoder::spare() const noexcept {
  return static_cast<std::size_t>(buffer_.get() + capacity_ + padding -
                                  (view_.data() + view_.size()));
}

bool WebSocketDecoder::partial() const noexcept {
  return state_ != State::over && (fragments_ > 0 || at_ < end_ || state_ != State::head);
}

// --- frames

WebSocketDecoder::Event WebSocketDecoder::next() {
  view_ = {};
  Event event = Event::none;
  bool more = true;
  while (more) {
    switch (state_) {
      case State::head:
        more = read_head(event);
        break;
      case State::data:
        more = read_data(event);
        break;
      case State::control:
        more = read_control(event);
        break;
      case State::over:
        return event;
    }
  }
  return event;
}

/// Each of these gives false when it can go no further: bytes are missing, or there is an event.
bool WebSocketDecoder::read_head(Event& event) {
  const std::size_t here = end_ - at_;
  detail::base::count_work(1);
  if (here < 2) return false;
  const auto first = static_cast<std::uint8_t>(buffer_[at_]);
  const auto second = static_cast<std::uint8_t>(buffer_[at_ + 1]);
  const auto refuse = [&](std::uint16_t code, std::string_view why) {
    event = fail(code, why);
    return false;
  };
  const auto wrong = [&](std::string_view why) { return refuse(close_code::protocol_error, why); };
  if (first & 0x70) return wrong("a reserved bit is set, but no extension was agreed on");
  const bool masked = (second & 0x80) != 0;
  if (masked != (side_ == WebSocketSide::server)) {
    return wrong(masked ? "a server must not mask its frames" : "a client must mask its frames");
  }
  const bool final = (first & 0x80) != 0;
  const auto opcode = static_cast<WebSocketOpcode>(first & 0x0f);
  const bool control = (first & 0x08) != 0;
  std::uint64_t length = second & 0x7f;
  switch (opcode) {
    case WebSocketOpcode::continuation:
      if (fragments_ == 0) return wrong("a message begins with a continuation frame");
      break;
    case WebSocketOpcode::text:
    case WebSocketOpcode::binary:
      if (fragments_ > 0) return wrong("a message begins before the one before it has ended");
      if (opcode == WebSocketOpcode::binary) {
        return refuse(close_code::unsupported_data, "messages are text here, not binary data");
      }
      break;
    case WebSocketOpcode::close:
    case WebSocketOpcode::ping:
    case WebSocketOpcode::pong:
      if (!final) return wrong("a control frame must not come in fragments");
      if (length > control_bytes) return wrong("a control frame is larger than 125 bytes");
      break;
    default:
      return wrong("an opcode that RFC 6455 does not know");
  }

  const std::size_t wide = length == 126 ? 2 : length == 127 ? 8 : 0;
  const std::size_t size = 2 + wide + (masked ? 4 : 0);
  if (here < size) return false;
  if (wide > 0) {
    length = big_endian(&buffer_[at_ + 2], wide);
    if (length < (wide == 2 ? 126u : 65'536u)) return wrong("a length is not in its shortest form");
    if (length >> 63) return wrong("a length has its highest bit set");
  }
  if (masked) std::memcpy(mask_.data(), &buffer_[at_ + size - 4], 4);
  masked_ = 0;
  left_ = length;
  at_ += size;
  if (control) {
    opcode_ = opcode;
    state_ = State::control;
    return true;
  }
  final_ = final;
  if (fragments_ == 0) {
    text_ = at_;
    size_ = 0;
    utf8_ = {};
  }
  if (length > most_ || size_ > most_ - length) {
    return refuse(close_code::too_big,
                  "the message is larger than " + std::to_string(most_) + " bytes");
  }
  if (++fragments_ > most_fragments_) {
    return refuse(close_code::policy, "the message comes in more than " +
                                          std::to_string(most_fragments_) + " fragments");
  }
  state_ = State::data;
  return true;
}

bool WebSocketDecoder::read_data(Event& event) {
  const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, end_ - at_));
  detail::base::count_work(size + 1);
  char* const to = &buffer_[text_ + size_];
  if (text_ + size_ != at_) std::memmove(to, &buffer_[at_], size);
  unmask(to, size);
  at_ += size;
  size_ += size;
  left_ -= size;
  const bool last = final_ && left_ == 0;
  // As soon as it can be known, not when all of a large message has come.
  if (!utf8_.feed(to, size) || (last && !utf8_.complete())) {
    event = fail(close_code::invalid_text, "the message is not valid UTF-8");
    return false;
  }
  if (left_ > 0) return false;
  state_ = State::head;
  if (!last) return true;
  fragments_ = 0;
  view_ = {buffer_.get() + text_, size_};
  event = Event::message;
  return false;
}

bool WebSocketDecoder::read_control(Event& event) {
  const auto size = static_cast<std::size_t>(left_);
  if (end_ - at_ < size) return false;
  unmask(&buffer_[at_], size);
  view_ = {buffer_.get() + at_, size};
  at_ += size;
  state_ = State::head;
  switch (opcode_) {
    case WebSocketOpcode::ping:
      event = Event::ping;
      break;
    case WebSocketOpcode::pong:
      event = Event::pong;
      break;
    default:
      event = read_close(view_);
  }
  return false;
}

WebSocketDecoder::Event WebSocketDecoder::read_close(std::string_view payload) {
  state_ = State::over;
  if (payload.empty()) {
    code_ = close_code::none;
    return Event::close;
  }
  if (payload.size() == 1) {
    return fail(close_code::protocol_error, "a close frame has half a code");
  }
  const auto code = static_cast<std::uint16_t>(big_endian(payload.data(), 2));
  if (!may_be_sent(code)) {
    return fail(close_code::protocol_error, "a close frame has a code that must not be sent");
  }
  payload.remove_prefix(2);
  Utf8 words;
  if (!words.feed(payload.data(), payload.size()) || !words.complete()) {
    return fail(close_code::invalid_text, "the words of a close frame are not valid UTF-8");
  }
  code_ = code;
  view_ = payload;
  return Event::close;
}

/// The sentence is kept at the front of the buffer, whose content nobody needs any more.
WebSocketDecoder::Event WebSocketDecoder::fail(std::uint16_t code, std::string_view why) {
  state_ = State::over;
  code_ = code;
  const std::size_t size = std::min(why.size(), control_bytes - 2);
  std::memcpy(buffer_.get(), why.data(), size);
  view_ = {buffer_.get(), size};
  return Event::failed;
}

void WebSocketDecoder::unmask(char* at, std::size_t size) noexcept {
  if (side_ == WebSocketSide::client || size == 0) return;
  apply_mask(at, size, mask_.data(), masked_ % 4);
  masked_ += size;
}

// --- text

bool WebSocketDecoder::Utf8::feed(const char* at, std::size_t size) noexcept {
  const char* const end = at + size;
  while (at < end) {
    if (need == 0) {
      while (end - at >= 8) {  // mostly it is ASCII
        std::uint64_t word = 0;
        std::memcpy(&word, at, 8);
        if (word & 0x8080808080808080u) break;
        at += 8;
      }
      if (at == end) break;
    }
    const auto byte = static_cast<std::uint8_t>(*at++);
    if (need > 0) {
      if (byte < low || byte > high) return false;
      low = 0x80;
      high = 0xbf;
      --need;
    } else if (byte >= 0x80) {
      // Table 3-7 of the Unicode standard.
      if (byte < 0xc2 || byte > 0xf4) return false;
      need = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
      if (byte == 0xe0) low = 0xa0;
      if (byte == 0xed) high = 0x9f;
      if (byte == 0xf0) low = 0x90;
      if (byte == 0xf4) high = 0x8f;
    }
  }
  return true;
}

// --- writing

void finish_websocket_frame(std::string& out, std::size_t begin, WebSocketOpcode opcode,
                            std::optional<std::uint32_t> mask) {
  const std::uint64_t length = out.size() - begin;
  char head[14];
  std::size_t size = 0;
  const auto put = [&](std::uint64_t byte) { head[size++] = static_cast<char>(byte & 0xff); };
  const std::uint8_t masked = mask ? 0x80 : 0;
  put(0x80u | static_cast<std::uint8_t>(opcode));
  const std::size_t wide = length < 126 ? 0 : length < 65'536 ? 2 : 8;
  put(masked | (wide == 0 ? length : wide == 2 ? 126u : 127u));
  for (std::size_t i = wide; i > 0; --i) put(length >> (8 * (i - 1)));
  if (mask) {
    std::uint8_t key[4];
    for (std::size_t i = 0; i < 4; ++i) {
      key[i] = static_cast<std::uint8_t>(*mask >> (8 * i));
      put(key[i]);
    }
    apply_mask(out.data() + begin, out.size() - begin, key, 0);
  }
  out.insert(begin, head, size);
}

}  // namespace godwit::inline v0
