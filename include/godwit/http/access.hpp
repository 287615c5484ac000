// Access: who may talk to an HTTP server. Without such a check any web page that a user opens could
// reach a server on the user's own machine: by a name that resolves to it (DNS rebinding, seen in
// the Host field), or across origins (seen in Origin and Sec-Fetch-Site).
//
// A plain value and a check on it; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/http/request.hpp"

namespace godwit::inline v0::http {

struct GODWIT_API Access {
  /// Names the server may be called by, besides those of the own machine (localhost, 127.0.0.1,
  /// [::1]) with `port`: "mcp.example.com" with any port, or "mcp.example.com:8443".
  std::vector<std::string> hosts{};
  /// Web origins that may call, besides the server's own: "https://app.example.com".
  std::vector<std::string> origins{};
  /// The port it listens on; 0 if unknown, then any port of the own machine will do.
  std::uint16_t port = 0;
  /// Listening beyond the own machine: any numeric address with `port` is then a name for it.
  /// (A page can make a name point here, but not a number.)
  bool wide = false;

  /// Why the request is refused with 403; nothing if it may pass. No Origin at all is fine, since
  /// only browsers send it, unless Sec-Fetch-Site says that a page of another origin asks.
  std::optional<std::string> refusal(const Request& request) const;
  /// The listed origin of this request, to be told to the browser (CORS); empty if it has none.
  std::string_view listed_origin(const Request& request) const noexcept;
};

}  // namespace godwit::inline v0::http
