// WebSocket frames as a test writes them: by hand, so that every rule can be broken.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace godwit::test {

struct FrameShape {
  int opcode = 1;
  bool final = true;
  /// As a client does.
  bool masked = true;
  int reserved = 0;
  /// Bytes of the length beyond the seven bits: 0, 2 or 8; -1 is as many as it takes.
  int wide = -1;
  /// What the frame says, if it is not the truth.
  std::int64_t length = -1;
};

inline std::string ws_frame(std::string_view payload, const FrameShape& shape = {}) {
  const std::uint64_t length =
      shape.length < 0 ? payload.size() : static_cast<std::uint64_t>(shape.length);
  const int wide = shape.wide >= 0 ? shape.wide : length < 126 ? 0 : length < 65'536 ? 2 : 8;
  std::string out;
  const auto put = [&](std::uint64_t byte) { out.push_back(static_cast<char>(byte & 0xff)); };
  put((shape.final ? 0x80u : 0u) | static_cast<unsigned>(shape.reserved) << 4 |
      static_cast<unsigned>(shape.opcode));
  put((shape.masked ? 0x80u : 0u) | (wide == 0 ? length : wide == 2 ? 126u : 127u));
  for (int i = wide - 1; i >= 0; --i) put(length >> (8 * i));
  constexpr std::string_view mask = "\x12\x9a\x03\xf7";
  if (shape.masked) out += mask;
  for (std::size_t i = 0; i < payload.size(); ++i) {
    put(static_cast<std::uint8_t>(payload[i]) ^
        (shape.masked ? static_cast<std::uint8_t>(mask[i % 4]) : 0u));
  }
  return out;
}

inline std::string ws_close(int code, std::string_view words = {}, bool masked = true) {
  std::string payload;
  payload.push_back(static_cast<char>(code >> 8));
  payload.push_back(static_cast<char>(code & 0xff));
  payload += words;
  return ws_frame(payload, {.opcode = 8, .masked = masked});
}

/// A frame as a server sends it.
inline std::string ws_unmasked(std::string_view payload, int opcode = 1) {
  return ws_frame(payload, {.opcode = opcode, .masked = false});
}

}  // namespace godwit::test
