// The characters of a URI, apart from how they are spelled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace godwit::inline v0::uri {

/// One character of a URI: the code point of a character or of its triples. Two spellings that RFC
/// 3986 (6.2.2) calls equivalent are the same unit.
using Unit = std::uint32_t;
/// Written as triples, because the character may not stand there itself.
inline constexpr Unit encoded = 1u << 31;
/// A byte that is part of no UTF-8 character. Only a literal of the template can ask for it.
inline constexpr Unit broken = 1u << 30;

inline bool is_alpha(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
inline bool is_unreserved(char c) noexcept {
  return is_alpha(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}
inline bool is_reserved(char c) noexcept {
  return c != '\0' && std::string_view(":/?#[]@!$&'()*+,;=").find(c) != std::string_view::npos;
}

/// The byte of the triple at this place, if there is one.
std::optional<unsigned char> triple(std::string_view text, std::size_t at) noexcept;

/// A code point of UTF-8 text and how many bytes it has; 0 bytes if it is not valid there.
struct CodePoint {
  Unit value = 0;
  std::size_t size = 0;
};
CodePoint code_point(std::string_view text) noexcept;
void append_utf8(std::string& out, Unit value);

/// The characters of a URI. Nothing if it has a '%' that begins no triple, or a control character.
std::optional<std::vector<Unit>> units(std::string_view text);

/// The characters that {var} matches.
inline bool is_simple(Unit unit) noexcept {
  if (unit & (encoded | broken)) return !(unit & broken);
  return is_unreserved(static_cast<char>(unit));
}

}  // namespace godwit::inline v0::uri
