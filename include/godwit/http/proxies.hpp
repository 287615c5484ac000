// Proxies: which requests go through which proxy. A plain value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/http/url.hpp"

namespace godwit::inline v0::http {

/// One proxy.
struct Proxy {
  Url url{};
  /// What Proxy-Authorization says; empty if the proxy wants no password.
  std::string authorization{};

  bool operator==(const Proxy&) const = default;
};

struct GODWIT_API Proxies {
  /// For http and for https addresses: "http://proxy.example.com:3128" or just "proxy:3128", with
  /// "user:password@" before the host if it wants that (percent-encoded). Empty means none.
  std::string http{};
  std::string https{};
  /// Hosts that are reached directly: "example.com" (and what is below it), ".example.com" (the
  /// same), either with ":port"; "*" is all of them.
  std::vector<std::string> direct{};
  /// Also for the own machine (localhost, 127.0.0.0/8, ::1), which no proxy can know.
  bool loopback = false;

  /// What the variables http_proxy, https_proxy and no_proxy say, or those in capitals. Under CGI
  /// (where REQUEST_METHOD is set) HTTP_PROXY is not read: there it is a header that the client has
  /// chosen.
  static Proxies from_environment();

  /// The proxy for this address; nothing if it is reached directly. An error if there is one that
  /// cannot be used: going around it could be forbidden.
  Result<std::optional<Proxy>> find(const Url& url) const;

  bool operator==(const Proxies&) const = default;
};

}  // namespace godwit::inline v0::http
