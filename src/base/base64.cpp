#include "godwit/base/base64.hpp"

#include <array>
#include <cstdint>

#include "godwit/base/work.hpp"

namespace godwit::inline v0 {

namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr auto values = [] {
  std::array<std::int8_t, 256> table{};
  table.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    table[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
  }
  return table;
}();

std::uint32_t byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

}  // namespace

std::string base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  std::size_t at = 0;
  for (; at + 3 <= bytes.size(); at += 3) {
    const std::uint32_t three =
        byte_at(bytes, at) << 16 | byte_at(bytes, at + 1) << 8 | byte_at(bytes, at + 2);
    for (int shift = 18; shift >= 0; shift -= 6) out.push_back(alphabet[three >> shift & 63]);
  }
  const std::size_t rest = bytes.size() - at;
  if (rest == 0) return out;
  const std::uint32_t last =
      byte_at(bytes, at) << 16 | (rest == 2 ? byte_at(bytes, at + 1) << 8 : 0u);
  out.push_back(alphabet[last >> 18 & 63]);
  out.push_back(alphabet[last >> 12 & 63]);
  out.push_back(rest == 2 ? alphabet[last >> 6 & 63] : '=');
  out.push_back('=');
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  detail::base::count_work(text.size());
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const std::size_t missing = at + 4 == text.size() ? padding : 0;
    std::uint32_t three = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::int8_t value = i >= 4 - missing ? std::int8_t{0} : values[byte_at(text, at + i)];
      if (value < 0) return std::nullopt;
      three = three << 6 | static_cast<std::uint32_t>(value);
    }
    for (std::size_t i = 0; i < 3 - missing; ++i) {
      out.push_back(static_cast<char>(three >> (16 - 8 * i) & 255));
    }
    // Bits that no byte uses must be zero: one text for one value.
    if (missing > 0 && (three & ((1u << (8 * missing)) - 1)) != 0) return std::nullopt;
  }
  return out;
}

}  // namespace godwit::inline v0
