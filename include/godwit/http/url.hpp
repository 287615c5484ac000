// Url: an http(s) or ws(s) address taken apart. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"

namespace godwit::inline v0::http {

struct GODWIT_API Url {
  /// "http", "https", "ws" or "wss", in lower case.
  std::string scheme{};
  /// A name in lower case, an IPv4 address, or an IPv6 address without brackets.
  std::string host{};
  /// The scheme's own if the text has none.
  std::uint16_t port = 0;
  /// Path and query; at least "/".
  std::string target = "/";

  /// Refuses other schemes, user names and passwords in the text, an empty host, a bad port,
  /// spaces and control characters. A fragment is dropped.
  static Result<Url> parse(std::string_view text);
  /// What a reference such as "/messages?s=1" means here (RFC 3986 5.2). May leave the origin.
  Result<Url> resolve(std::string_view reference) const;

  /// For people: the address that a reference of a server means here, in quotes if it cannot be
  /// one. Without a fragment, user name and password, and shortened if it is very long.
  std::string describe(std::string_view reference) const;

  bool secure() const noexcept { return scheme == "https" || scheme == "wss"; }
  /// What belongs into the Host field: the port only if it is not the scheme's own.
  std::string authority() const;
  /// "https://example.com:8443": scheme and authority.
  std::string origin() const;
  std::string text() const;
  bool operator==(const Url&) const = default;
};

}  // namespace godwit::inline v0::http
