#include "http/syntax.hpp"

#include <algorithm>
#include <charconv>

namespace godwit::inline v0::http {

std::string_view next_member(std::string_view& list) noexcept {
  std::string_view member = list.substr(0, list.find(','));
  if (member.find('"') != member.npos) {  // the comma may be inside of quotes
    const char* at = list.data();
    const char* const end = at + list.size();
    for (bool quoted = false; at != end && (quoted || *at != ','); ++at) {
      if (*at == '"') quoted = !quoted;
      if (quoted && *at == '\\' && at + 1 != end) ++at;
    }
    member = {list.data(), static_cast<std::size_t>(at - list.data())};
  }
  list.remove_prefix(std::min(member.size() + 1, list.size()));
  return member;
}

std::string byte_name(char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return {'0', 'x', digits[byte >> 4], digits[byte & 15]};
}

std::string shown(std::string_view text) {
  constexpr std::size_t most = 40;
  std::string out = "\"";
  for (const char c : text.substr(0, most)) out += c < 0x20 || c > 0x7e ? '?' : c;
  out += text.size() > most ? "...\"" : "\"";
  return out;
}

bool split_authority(std::string_view text, std::string_view& host, std::string_view& port) {
  const bool ipv6 = text.starts_with('[');
  std::string_view behind;
  if (ipv6) {
    const std::size_t size = span_of(text.substr(1), ipv6_char);
    host = text.substr(1, size);
    if (std::count(host.begin(), host.end(), ':') < 2) return false;
    behind = text.substr(1 + size);
    if (!behind.starts_with(']')) return false;
    behind.remove_prefix(1);
  } else {
    const std::size_t size = span_of(text, host_char);
    host = text.substr(0, size);
    behind = text.substr(size);
  }
  port = {};
  // 255 is the most that the name service knows (RFC 1035 2.3.4).
  if (host.empty() || host.size() > 255) return false;
  if (behind.empty()) return true;
  if (behind[0] != ':') return false;
  port = behind.substr(1);
  std::uint16_t number = 0;
  const auto read = std::from_chars(port.data(), port.data() + port.size(), number);
  return port.size() <= 5 && read.ec == std::errc() && read.ptr == port.data() + port.size();
}

}  // namespace godwit::inline v0::http
