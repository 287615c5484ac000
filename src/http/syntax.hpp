// Which bytes may stand where in an HTTP message (RFC 9110 5.5 and 5.6, RFC 9112), as one table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace godwit::inline v0::http {

enum CharClass : std::uint8_t {
  /// Names of methods and fields.
  token_char = 1,
  /// Values of fields: visible ASCII, space and tab.
  value_char = 2,
  /// What older servers put into values and reasons: 0x80 and above.
  obs_text_char = 4,
  /// Targets: visible ASCII but '#', which belongs to no request.
  target_char = 8,
  /// Names of hosts and IPv4 addresses. RFC 3986 permits more, of which a name server knows nothing
  /// and on which parsers disagree.
  host_char = 16,
  /// Inside the brackets of an IPv6 address.
  ipv6_char = 32,
};

namespace detail {

constexpr std::array<std::uint8_t, 256> make_char_classes() {
  std::array<std::uint8_t, 256> classes{};
  const auto mark = [&](std::string_view characters, unsigned what) {
    for (const char c : characters) classes[static_cast<unsigned char>(c)] |= what & 0xff;
  };
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  constexpr std::string_view digits = "0123456789";
  mark(letters, token_char | host_char);
  mark(digits, token_char | host_char | ipv6_char);
  mark("!#$%&'*+-.^_`|~", token_char);
  mark("-._", host_char);
  mark("abcdefABCDEF:.", ipv6_char);
  mark(" \t", value_char);
  for (unsigned c = 0x21; c < 0x7f; ++c) classes[c] |= value_char | (c == '#' ? 0 : target_char);
  for (unsigned c = 0x80; c < 0x100; ++c) classes[c] |= obs_text_char;
  return classes;
}

inline constexpr std::array<std::uint8_t, 256> char_classes = make_char_classes();

}  // namespace detail

constexpr bool is_char(char c, unsigned classes) noexcept {
  return (detail::char_classes[static_cast<unsigned char>(c)] & classes) != 0;
}

/// How many bytes at the front of the text are of these classes.
inline std::size_t span_of(std::string_view text, unsigned classes) noexcept {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end && is_char(*at, classes)) ++at;
  return static_cast<std::size_t>(at - text.data());
}

inline bool all_of_class(std::string_view text, unsigned classes) noexcept {
  return span_of(text, classes) == text.size();
}

/// True if every byte is visible ASCII or a space, eight at a time: nearly every value is, and the
/// table decides about the others. A carry can only come from a byte that is refused anyway.
inline bool is_plain_text(std::string_view text) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101u;
  const auto bad = [](const char* at) {
    std::uint64_t bytes;
    std::memcpy(&bytes, at, 8);
    return ((bytes - 0x20 * ones) | (bytes + ones) | bytes) & (0x80 * ones);
  };
  if (text.size() < 8) {
    for (const char c : text)
      if (c < 0x20 || c > 0x7e) return false;
    return true;
  }
  const char* const last = text.data() + text.size() - 8;
  std::uint64_t found = bad(last);
  for (const char* at = text.data(); at < last; at += 8) found |= bad(at);
  return found == 0;
}

constexpr char to_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

/// Without the spaces and tabs around it.
inline std::string_view trim(std::string_view text) noexcept {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

/// Takes the next member off a comma-separated list. A comma inside quotes ends none.
std::string_view next_member(std::string_view& list) noexcept;

/// "0x0b", for sentences about a byte that cannot be shown.
std::string byte_name(char c);
/// The text in quotes, shortened and without bytes that a terminal would act on.
std::string shown(std::string_view text);
/// True for "host", "host:port" and "[ipv6]:port" as a Host field or a URL may have them. Gives the
/// parts: the host without brackets; the port without its colon, empty if there is none.
bool split_authority(std::string_view text, std::string_view& host, std::string_view& port);

}  // namespace godwit::inline v0::http
