#include "godwit/io/ip_address.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace godwit::inline v0 {

namespace {

constexpr std::array<std::uint8_t, 12> v4_prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != text.npos) return std::nullopt;
  const std::string terminated(text);
  IpAddress out;
  if (text.find(':') != text.npos) {
    if (inet_pton(AF_INET6, terminated.c_str(), out.bytes.data()) != 1) return std::nullopt;
    return out;
  }
  std::copy(v4_prefix.begin(), v4_prefix.end(), out.bytes.begin());
  if (inet_pton(AF_INET, terminated.c_str(), out.bytes.data() + v4_prefix.size()) != 1) {
    return std::nullopt;
  }
  return out;
}

bool IpAddress::is_v4() const noexcept {
  return std::equal(v4_prefix.begin(), v4_prefix.end(), bytes.begin());
}

bool IpAddress::is_loopback() const noexcept {
  if (is_v4()) return bytes[v4_prefix.size()] == 127;
  IpAddress loopback;
  loopback.bytes.back() = 1;
  return *this == loopback;
}

IpAddress IpAddress::owner() const noexcept {
  IpAddress out = *this;
  if (!is_v4()) std::fill(out.bytes.begin() + 8, out.bytes.end(), std::uint8_t{0});
  return out;
}

std::optional<IpNetwork> IpNetwork::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = IpAddress::parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  IpNetwork out{.address = *address, .bits = 128};
  if (slash == text.npos) return out;
  const std::string_view digits = text.substr(slash + 1);
  const bool v4 = text.find(':') == text.npos;
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() ||
      bits > (v4 ? 32u : 128u)) {
    return std::nullopt;
  }
  out.bits = v4 ? bits + 96 : bits;
  for (unsigned bit = out.bits; bit < 128; ++bit) {
    if (out.address.bytes[bit / 8] & (0x80u >> (bit % 8))) return std::nullopt;
  }
  return out;
}

bool IpNetwork::contains(const IpAddress& other) const noexcept {
  const std::size_t whole = bits / 8;
  if (!std::equal(address.bytes.begin(), address.bytes.begin() + static_cast<std::ptrdiff_t>(whole),
                  other.bytes.begin())) {
    return false;
  }
  const unsigned rest = bits % 8;
  if (rest == 0) return true;
  const unsigned mask = 0xff00u >> rest & 0xffu;
  return (address.bytes[whole] & mask) == (other.bytes[whole] & mask);
}

}  // namespace godwit::inline v0
