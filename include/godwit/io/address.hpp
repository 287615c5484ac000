// Address: HOST:PORT of a TCP endpoint. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"

namespace godwit::inline v0 {

struct GODWIT_API Address {
  /// A name, an IPv4 address, or an IPv6 address without brackets.
  std::string host = "127.0.0.1";
  /// 0 lets the system choose, when listening.
  std::uint16_t port = 0;

  /// Reads "127.0.0.1:8080", "[::1]:8080" or "localhost:8080". The host must be there: listening on
  /// every interface is something to ask for by name ("0.0.0.0:8080", "[::]:8080").
  static Result<Address> parse(std::string_view text);

  /// What parse() reads.
  std::string text() const;

  bool operator==(const Address&) const = default;
};

/// A name or address of the own machine: "localhost" and names below it, 127.0.0.0/8, ::1. A name
/// that only looks like one, such as "127.evil.example", is none.
GODWIT_API bool is_loopback(std::string_view host) noexcept;

}  // namespace godwit::inline v0
