#include "mcp/uri_units.hpp"

namespace godwit::inline v0::uri {

std::optional<unsigned char> triple(std::string_view text, std::size_t at) noexcept {
  const auto digit = [](char c) -> unsigned {
    if (is_digit(c)) return static_cast<unsigned>(c - '0');
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? static_cast<unsigned>(lower - 'a') + 10 : 16;
  };
  if (at + 3 > text.size() || text[at] != '%') return std::nullopt;
  const unsigned high = digit(text[at + 1]);
  const unsigned low = digit(text[at + 2]);
  if (high > 15 || low > 15) return std::nullopt;
  return static_cast<unsigned char>(high << 4 | low);
}

CodePoint code_point(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return {};
  const Unit lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead < 0xc2   ? 0
                           : lead < 0xe0 ? 2
                           : lead < 0xf0 ? 3
                           : lead < 0xf5 ? 4
                                         : 0;
  if (size == 0 || size > text.size()) return {};
  Unit value = lead & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3f);
  }
  // Overlong forms, surrogates, and beyond Unicode.
  if ((size == 3 && value < 0x800) || (size == 4 && value < 0x10000) || value > 0x10ffff ||
      (value >= 0xd800 && value <= 0xdfff)) {
    return {};
  }
  return {value, size};
}

void append_utf8(std::string& out, Unit value) {
  if (value < 0x80) {
    out += static_cast<char>(value);
    return;
  }
  const int more = value < 0x800 ? 1 : value < 0x10000 ? 2 : 3;
  out += static_cast<char>((0xff00u >> (more + 1) & 0xff) | value >> (6 * more));
  for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | (value >> (6 * i) & 0x3f));
}

std::optional<std::vector<Unit>> units(std::string_view text) {
  std::vector<Unit> out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (is_reserved(text[at])) {
      out.push_back(static_cast<Unit>(text[at++]));
      continue;
    }
    // Up to four bytes, each written as itself or as a triple.
    char bytes[4];
    std::size_t ends[4];
    std::size_t count = 0;
    for (std::size_t next = at; count < 4 && next < text.size(); ends[count++] = next) {
      if (text[next] == '%') {
        const auto byte = triple(text, next);
        if (!byte) break;
        bytes[count] = static_cast<char>(*byte);
        next += 3;
      } else {
        bytes[count] = text[next++];
      }
    }
    if (count == 0) return std::nullopt;
    const CodePoint point = code_point({bytes, count});
    if (point.size == 0) {
      out.push_back(static_cast<unsigned char>(bytes[0]) | broken);
      at = ends[0];
      continue;
    }
    const bool control = point.value < 0x20 || point.value == 0x7f;
    if (control && text[at] != '%') return std::nullopt;
    const bool plain = point.value < 0x80 && is_unreserved(static_cast<char>(point.value));
    out.push_back(plain ? point.value : point.value | encoded);
    at = ends[point.size - 1];
  }
  return out;
}

}  // namespace godwit::inline v0::uri
