// TrustedProxies: whose word about the client of a request is believed. A server behind a proxy
// sees only the proxy's address; what the proxy says about the client, in a field that any client
// can also send itself, counts only if it comes from an address that is listed here.
//
// A plain value; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/http/request.hpp"
#include "godwit/io/ip_address.hpp"

namespace godwit::inline v0::http {

struct GODWIT_API TrustedProxies {
  /// None by default.
  std::vector<IpNetwork> networks{};
  /// The field that they add the address of their client to, at its end.
  std::string field = "X-Forwarded-For";

  /// Whose request it is: the address of the connection, or, if that is a trusted proxy, the last
  /// one in the field that is not. What cannot be read ends the search at the proxy that passed it
  /// on. Nothing if the connection has no address (a unix socket).
  std::optional<IpAddress> client_of(const Request& request) const;
};

}  // namespace godwit::inline v0::http
