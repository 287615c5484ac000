// IpAddress: a numeric address of a machine, to be compared and counted by. A plain value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

struct GODWIT_API IpAddress {
  /// As IPv6 writes it; an IPv4 address is ::ffff:a.b.c.d.
  std::array<std::uint8_t, 16> bytes{};

  /// Reads "192.0.2.1" and "2001:db8::1", and nothing else: no names, brackets, ports or zones.
  static std::optional<IpAddress> parse(std::string_view text);

  bool is_v4() const noexcept;
  /// Of 127.0.0.0/8, or ::1.
  bool is_loopback() const noexcept;
  /// Who has it: an IPv4 address itself, of an IPv6 address the network (/64), since whoever has
  /// one address there has all of them.
  IpAddress owner() const noexcept;

  auto operator<=>(const IpAddress&) const = default;
};

/// Addresses that begin with the same bits: "10.0.0.0/8", or one address.
struct GODWIT_API IpNetwork {
  IpAddress address{};
  unsigned bits = 128;  // of the form with 128

  /// Reads "10.0.0.0/8", "2001:db8::/32", and an address alone. The bits beyond must be 0.
  static std::optional<IpNetwork> parse(std::string_view text);

  bool contains(const IpAddress& other) const noexcept;
  bool operator==(const IpNetwork&) const = default;
};

}  // namespace godwit::inline v0

template <>
struct std::hash<godwit::IpAddress> {
  std::size_t operator()(const godwit::IpAddress& address) const noexcept {
    return std::hash<std::string_view>{}(std::string_view(
        reinterpret_cast<const char*>(address.bytes.data()), address.bytes.size()));
  }
};
