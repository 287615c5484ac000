#include "godwit/io/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>

namespace godwit::inline v0 {

namespace {

Error bad(std::string_view text, std::string_view why) {
  // What a person typed is shown back, but never pages of it and never control characters.
  std::string shown(text.substr(0, 64));
  std::replace_if(shown.begin(), shown.end(), [](char c) { return c < ' ' || c == '\x7f'; }, '?');
  return error("address \"" + shown + "\": " + std::string(why) +
               "; write HOST:PORT, for example 127.0.0.1:8080 or [::1]:8080");
}

bool host_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_';
}
bool ipv6_char(char c) { return host_char(c) || c == ':' || c == '%'; }

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x + ('a' - 'A') : x) == y; });
}

}  // namespace

Result<Address> Address::parse(std::string_view text) {
  std::string_view host, port;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == text.npos) return bad(text, "the ']' after the IPv6 address is missing");
    host = text.substr(1, close - 1);
    port = text.substr(close + 1);
    if (!port.starts_with(':')) return bad(text, "the port is missing");
    port.remove_prefix(1);
    if (host.find(':') == host.npos || !std::all_of(host.begin(), host.end(), ipv6_char))
      return bad(text, "what is in brackets is no IPv6 address");
  } else {
    const std::size_t colon = text.rfind(':');
    if (colon == text.npos) return bad(text, "the port is missing");
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (host.empty()) return bad(text, "the host is missing");
    if (host.find(':') != host.npos) return bad(text, "an IPv6 address needs brackets");
    if (host.size() > 253 || !std::all_of(host.begin(), host.end(), host_char))
      return bad(text, "the host has characters that no host name has");
  }
  std::uint16_t number = 0;
  const char* end = port.data() + port.size();
  const auto read = std::from_chars(port.data(), end, number);
  if (port.empty() || port.size() > 5 || read.ec != std::errc() || read.ptr != end)
    return bad(text, "the port must be a number from 0 to 65535");
  return Address{.host = std::string(host), .port = number};
}

std::string Address::text() const {
  const bool ipv6 = host.find(':') != host.npos;
  return (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool is_loopback(std::string_view host) noexcept {
  constexpr std::string_view name = "localhost";
  if (same_letters(host, name)) return true;
  if (host.size() > name.size() + 1 && host[host.size() - name.size() - 1] == '.' &&
      same_letters(host.substr(host.size() - name.size()), name)) {
    return true;
  }
  char text[INET6_ADDRSTRLEN] = {};
  if (host.size() >= sizeof text || host.find('\0') != host.npos) return false;
  host.copy(text, host.size());
  in_addr v4{};
  if (::inet_pton(AF_INET, text, &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6{};
  return ::inet_pton(AF_INET6, text, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace godwit::inline v0
