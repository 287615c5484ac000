// Any way of cutting the input into pieces gives the same events, and they are those of a plain
// reading of RFC 6455; memory stays bounded; every message has its spare bytes and keeps the limit;
// what is framed is read back.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/transport/websocket_decoder.hpp"

namespace {

using godwit::Limits;
using godwit::WebSocketDecoder;
using godwit::WebSocketOpcode;
using godwit::WebSocketSide;
using Event = WebSocketDecoder::Event;
using Events = std::vector<std::string>;

void check(bool good) {
  if (!good) std::abort();
}

template <class NextSize>
Events run(std::string_view bytes, WebSocketSide side, const Limits& limits, NextSize next_size) {
  WebSocketDecoder decoder(side, limits);
  Events events;
  while (!bytes.empty()) {
    const auto space = decoder.prepare();
    check(!space.empty());
    check(decoder.capacity() <= (64u << 10) + limits.message_bytes_in);
    const std::size_t size = std::min({space.size(), bytes.size(), next_size()});
    std::memcpy(space.data(), bytes.data(), size);
    decoder.commit(size);
    bytes.remove_prefix(size);
    for (;;) {
      const Event event = decoder.next();
      if (event == Event::none) break;
      const std::string payload(decoder.payload());
      switch (event) {
        case Event::message:
          check(decoder.spare() >= WebSocketDecoder::padding);
          check(payload.size() <= limits.message_bytes_in);
          events.push_back("text " + payload);
          continue;
        case Event::ping:
          events.push_back("ping " + payload);
          continue;
        case Event::pong:
          events.push_back("pong " + payload);
          continue;
        case Event::close:
          events.push_back("close " + std::to_string(decoder.code()) + payload);
          return events;
        default:
          check(!payload.empty() && payload.size() <= 123);
          events.push_back("failed " + std::to_string(decoder.code()));
          return events;
      }
    }
  }
  events.push_back(decoder.partial() ? "partial" : "whole");
  return events;
}

/// 1 if valid, 0 if it may become valid, -1 if it never will.
int utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto at = [&](std::size_t k) { return static_cast<std::uint8_t>(text[i + k]); };
    const std::uint8_t c = at(0);
    const std::size_t length = c < 0x80   ? 1
                               : c < 0xc2 ? 0
                               : c < 0xe0 ? 2
                               : c < 0xf0 ? 3
                               : c < 0xf5 ? 4
                                          : 0;
    if (length == 0) return -1;
    for (std::size_t k = 1; k < length; ++k) {
      if (i + k == text.size()) return 0;
      const std::uint8_t low = k > 1 ? 0x80 : c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
      const std::uint8_t high = k > 1 ? 0xbf : c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
      if (at(k) < low || at(k) > high) return -1;
    }
    i += length;
  }
  return 1;
}

/// The same with all bytes at hand, frame by frame.
Events model(std::string_view bytes, WebSocketSide side, const Limits& limits) {
  Events events;
  std::string message;
  std::size_t fragments = 0;
  const auto fail = [&](int code) {
    events.push_back("failed " + std::to_string(code));
    return events;
  };
  std::size_t at = 0;
  const auto byte = [&](std::size_t k) { return static_cast<std::uint8_t>(bytes[at + k]); };
  while (bytes.size() - at >= 2) {
    const bool masked = byte(1) & 0x80;
    const int opcode = byte(0) & 15;
    const bool final = byte(0) & 0x80;
    std::uint64_t length = byte(1) & 0x7f;
    if (byte(0) & 0x70 || masked != (side == WebSocketSide::server)) return fail(1002);
    if (opcode > 10 || (opcode > 2 && opcode < 8)) return fail(1002);
    if (opcode >= 8 && (!final || length > 125)) return fail(1002);
    if (opcode == 0 && fragments == 0) return fail(1002);
    if ((opcode == 1 || opcode == 2) && fragments > 0) return fail(1002);
    if (opcode == 2) return fail(1003);
    const std::size_t wide = length == 126 ? 2 : length == 127 ? 8 : 0;
    const std::size_t head = 2 + wide + (masked ? 4 : 0);
    if (bytes.size() - at < head) break;
    if (wide > 0) {
      length = 0;
      for (std::size_t k = 0; k < wide; ++k) length = length << 8 | byte(2 + k);
      if (length <= (wide == 2 ? 125u : 65'535u) || length >> 63) return fail(1002);
    }
    std::string payload(bytes.substr(at + head, std::min<std::uint64_t>(length, SIZE_MAX)));
    for (std::size_t k = 0; masked && k < payload.size(); ++k) {
      payload[k] = static_cast<char>(payload[k] ^ bytes[at + head - 4 + k % 4]);
    }
    const bool whole = payload.size() == length;
    if (opcode < 8) {
      if (length > limits.message_bytes_in || message.size() + length > limits.message_bytes_in) {
        return fail(1009);
      }
      if (++fragments > limits.ws_fragments) return fail(1008);
      message += payload;
      const int verdict = utf8(message);
      if (verdict < 0 || (whole && final && verdict == 0)) return fail(1007);
    }
    if (!whole) break;
    at += head + payload.size();
    if (opcode == 8) {
      if (payload.size() == 1) return fail(1002);
      const int code = payload.empty() ? 1005
                                       : static_cast<std::uint8_t>(payload[0]) << 8 |
                                             static_cast<std::uint8_t>(payload[1]);
      if (!payload.empty() && (code < 1000 || code > 4999 || (code > 1003 && code < 1007) ||
                               (code > 1014 && code < 3000))) {
        return fail(1002);
      }
      payload.erase(0, 2);
      if (utf8(payload) != 1) return fail(1007);
      events.push_back("close " + std::to_string(code) + payload);
      return events;
    }
    if (opcode == 9) events.push_back("ping " + payload);
    if (opcode == 10) events.push_back("pong " + payload);
    if (opcode < 8 && final) {
      events.push_back("text " + message);
      message.clear();
      fragments = 0;
    }
  }
  events.push_back(at < bytes.size() || fragments > 0 ? "partial" : "whole");
  return events;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  Limits limits;
  limits.message_bytes_in = data[0] * 3u;
  limits.ws_fragments = 1 + data[1] % 16;
  const WebSocketSide side = data[2] & 1 ? WebSocketSide::client : WebSocketSide::server;
  std::uint32_t seed = data[3] | 1u;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 4, size - 4);

  const Events whole = run(bytes, side, limits, [] { return SIZE_MAX; });
  check(whole == model(bytes, side, limits));
  check(run(bytes, side, limits, [] { return std::size_t{1}; }) == whole);
  check(run(bytes, side, limits, [&] {
          seed = seed * 1664525u + 1013904223u;
          return static_cast<std::size_t>(1 + (seed >> 24) % 40);
        }) == whole);

  if (utf8(bytes) == 1) {
    limits.message_bytes_in = bytes.size();
    std::string framed(bytes);
    if (side == WebSocketSide::server) {
      godwit::finish_websocket_frame(framed, 0, WebSocketOpcode::text, seed);
    } else {
      godwit::finish_websocket_frame(framed, 0, WebSocketOpcode::text);
    }
    const Events back = run(framed, side, limits, [] { return std::size_t{7}; });
    check(back.size() == 2 && back[0] == "text " + std::string(bytes) && back[1] == "whole");
  }
  return 0;
}
