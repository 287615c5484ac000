#include <algorithm>
#include <cstddef>
#include <string>

#include "format.hpp"
#include "number.hpp"

namespace godwit::inline v0::json::detail {

namespace {

bool digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool hex_digit(char c) noexcept {
  return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool one_of(char c, std::string_view set) noexcept { return set.find(c) != std::string_view::npos; }

constexpr std::string_view sub_delims = "!$&'()*+,;=";

/// Letters, digits, sub-delims, escapes, and what `more` lists.
bool consists_of(std::string_view text, std::string_view more, bool international,
                 bool private_use = false) noexcept {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (letter(c) || digit(c) || one_of(c, "-._~") || one_of(c, sub_delims) || one_of(c, more)) {
      continue;
    }
    if (c == '%') {
      if (i + 2 >= text.size() || !hex_digit(text[i + 1]) || !hex_digit(text[i + 2])) return false;
      i += 2;
      continue;
    }
    if (!international || static_cast<unsigned char>(c) < 0x80) return false;
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0) return false;
    const auto first = static_cast<unsigned char>(c);
    const auto second = static_cast<unsigned char>(text[i + 1]);
    if (first == 0xc2 && second < 0xa0) return false;  // controls
    const bool is_private = first == 0xee || (first == 0xef && second < 0xa4) ||
                            (first == 0xf3 && second >= 0xb0) || first == 0xf4;
    if (is_private && !private_use) return false;
    i += length - 1;
  }
  return true;
}

bool is_ip_literal(std::string_view text) noexcept {
  if (text.starts_with('v') || text.starts_with('V')) {
    const auto dot = text.find('.');
    if (dot == std::string_view::npos || dot < 2 || dot + 1 == text.size()) return false;
    const std::string_view version = text.substr(1, dot - 1);
    return std::all_of(version.begin(), version.end(), hex_digit) &&
           text.find('%') == std::string_view::npos &&
           consists_of(text.substr(dot + 1), ":", false);
  }
  return is_ipv6(text);
}

bool is_authority(std::string_view text, bool international) noexcept {
  if (const auto at = text.find('@'); at != std::string_view::npos) {
    if (!consists_of(text.substr(0, at), ":", international)) return false;
    text = text.substr(at + 1);
  }
  std::string_view port;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos || !is_ip_literal(text.substr(1, end - 1))) return false;
    port = text.substr(end + 1);
    if (!port.empty() && port[0] != ':') return false;
  } else {
    const auto colon = text.find(':');
    if (!consists_of(text.substr(0, colon), "", international)) return false;
    if (colon != std::string_view::npos) port = text.substr(colon);
  }
  if (!port.empty()) port.remove_prefix(1);
  return std::all_of(port.begin(), port.end(), digit);
}

bool is_scheme(std::string_view text) noexcept {
  return !text.empty() && letter(text[0]) && std::all_of(text.begin(), text.end(), [](char c) {
    return letter(c) || digit(c) || one_of(c, "+-.");
  });
}

bool is_quoted_local(std::string_view text, bool international) noexcept {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return false;
  text = text.substr(1, text.size() - 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x80) {
      if (!international) return false;
    } else if (c == '\\') {
      if (++i >= text.size() || text[i] < 0x20 || text[i] == 0x7f) return false;
    } else if (c < 0x20 || c == 0x7f || c == '"') {
      return false;
    }
  }
  return true;
}

bool is_dotted_local(std::string_view text, bool international) noexcept {
  if (text.empty() || text.front() == '.' || text.back() == '.') return false;
  if (text.find("..") != std::string_view::npos) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    if (static_cast<unsigned char>(c) >= 0x80) return international;
    return letter(c) || digit(c) || one_of(c, ".!#$%&'*+-/=?^_`{|}~");
  });
}

bool is_mail_domain(std::string_view text, bool international) {
  if (text.starts_with('[') && text.ends_with(']')) {
    text = text.substr(1, text.size() - 2);
    if (text.starts_with("IPv6:")) return is_ipv6(text.substr(5));
    return is_ipv4(text);
  }
  if (!international) return is_hostname(text);
  constexpr std::size_t longest = 1'012;  // 253 characters of up to four bytes
  if (text.size() > longest) return false;
  // RFC 6531 wants U-labels, but mail is read before it is normalised: only the ASCII part of the
  // rules is held against it.
  std::string ascii;
  for (char c : text) ascii.push_back(static_cast<unsigned char>(c) < 0x80 ? c : 'u');
  return is_hostname(ascii) || is_idn_hostname(text);
}

}  // namespace

bool is_ipv4(std::string_view text) noexcept {
  for (int part = 0; part < 4; ++part) {
    if (part > 0) {
      if (!text.starts_with('.')) return false;
      text.remove_prefix(1);
    }
    std::size_t count = 0;
    int value = 0;
    while (count < text.size() && count < 4 && digit(text[count])) {
      value = value * 10 + (text[count++] - '0');
    }
    // A leading zero is octal to some and decimal to others.
    if (count == 0 || value > 255 || count > 3 || (count > 1 && text[0] == '0')) return false;
    text.remove_prefix(count);
  }
  return text.empty();
}

bool is_ipv6(std::string_view text) noexcept {
  int groups = 0;
  bool gap = false;
  if (text.starts_with("::")) {
    gap = true;
    text.remove_prefix(2);
  }
  while (!text.empty()) {
    std::size_t count = 0;
    while (count < text.size() && hex_digit(text[count])) ++count;
    if (count < text.size() && text[count] == '.') {
      groups += 2;
      if (!is_ipv4(text)) return false;
      text = {};
      break;
    }
    if (count == 0 || count > 4) return false;
    ++groups;
    text.remove_prefix(count);
    if (text.empty()) break;
    if (text.starts_with("::")) {
      if (gap) return false;
      gap = true;
      text.remove_prefix(2);
    } else if (text[0] == ':' && text.size() > 1) {
      text.remove_prefix(1);
    } else {
      return false;
    }
  }
  return gap ? groups < 8 : groups == 8;
}

bool is_uri(std::string_view text, bool international, bool relative) noexcept {
  if (const auto hash = text.find('#'); hash != std::string_view::npos) {
    if (!consists_of(text.substr(hash + 1), ":@/?", international)) return false;
    text = text.substr(0, hash);
  }
  if (const auto mark = text.find('?'); mark != std::string_view::npos) {
    if (!consists_of(text.substr(mark + 1), ":@/?", international, true)) return false;
    text = text.substr(0, mark);
  }
  const auto colon = text.find(':');
  const auto slash = text.find('/');
  // A colon before any slash ends a scheme; a relative path may not have one there.
  if (colon != std::string_view::npos && (slash == std::string_view::npos || colon < slash)) {
    if (!is_scheme(text.substr(0, colon))) return false;
    text = text.substr(colon + 1);
  } else if (!relative) {
    return false;
  }
  if (text.starts_with("//")) {
    const auto end = text.find('/', 2);
    if (!is_authority(text.substr(2, end == std::string_view::npos ? end : end - 2),
                      international)) {
      return false;
    }
    text = end == std::string_view::npos ? std::string_view() : text.substr(end);
  }
  return consists_of(text, ":@/", international);
}

bool is_email(std::string_view text, bool international) {
  const auto at = text.rfind('@');
  if (at == std::string_view::npos || at > 64) return false;  // RFC 5321, 4.5.3.1.1
  const std::string_view local = text.substr(0, at);
  return (is_dotted_local(local, international) || is_quoted_local(local, international)) &&
         is_mail_domain(text.substr(at + 1), international);
}

}  // namespace godwit::inline v0::json::detail
