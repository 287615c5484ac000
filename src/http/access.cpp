#include "godwit/http/access.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace godwit::inline v0::http {

namespace {

struct Authority {
  std::string_view host;  // with the brackets of an IPv6 address
  std::optional<std::uint16_t> port;
};

/// host[:port]; nothing if the port is none.
std::optional<Authority> split(std::string_view text) {
  Authority out;
  const std::size_t bracket = text.rfind(']');
  const std::size_t colon = text.find(':', bracket == text.npos ? 0 : bracket);
  out.host = text.substr(0, colon);
  if (out.host.empty()) return std::nullopt;
  if (colon == text.npos) return out;
  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    return std::nullopt;
  }
  out.port = port;
  return out;
}

bool is_number(std::string_view host) {
  if (host.starts_with('[')) {
    if (!host.ends_with(']')) return false;
    host = host.substr(1, host.size() - 2);
    return std::ranges::count(host, ':') >= 2 &&
           host.find_first_not_of("0123456789abcdefABCDEF:.") == host.npos;
  }
  return std::ranges::all_of(host, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

bool is_own_machine(std::string_view host) {
  static constexpr std::array<std::string_view, 3> names = {"localhost", "127.0.0.1", "[::1]"};
  return std::ranges::any_of(names, [&](std::string_view name) { return same_name(name, host); });
}

bool is_listed(const Access& access, std::string_view name) {
  return std::ranges::any_of(access.hosts,
                             [&](const std::string& listed) { return same_name(listed, name); });
}

bool is_host(const Access& access, std::string_view text, bool secure) {
  if (is_listed(access, text)) return true;  // the address that it listens on, mostly
  const auto authority = split(text);
  if (!authority) return false;
  const std::uint16_t port = authority->port.value_or(secure ? 443 : 80);
  if (is_own_machine(authority->host) || (access.wide && is_number(authority->host))) {
    if (access.port == 0 || access.port == port) return true;
  }
  return is_listed(access, authority->host);
}

/// The number of another machine is a name for this one only if the request says so, too.
bool is_own_origin(const Access& access, std::string_view origin, std::string_view host) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!origin.starts_with(scheme)) continue;
    const std::string_view authority = origin.substr(scheme.size());
    if (!is_host(access, authority, scheme == "https://")) return false;
    const auto parts = split(authority);
    return !is_number(parts->host) || is_own_machine(parts->host) || same_name(authority, host);
  }
  return false;
}

/// What the browser says about the page that asks. With an Origin that may call, only a page of
/// another site is out of place; without one there is nothing else to judge by.
bool is_own_site(const Request& request) {
  const auto site = request.fields.find("Sec-Fetch-Site");
  if (!site) return true;
  if (request.fields.count("Sec-Fetch-Site") > 1) return false;
  if (request.fields.find("Origin")) return *site != "cross-site";
  return *site == "same-origin" || *site == "none";
}

}  // namespace

std::string_view Access::listed_origin(const Request& request) const noexcept {
  if (origins.empty()) return {};
  const auto origin = request.fields.only("Origin");
  if (!origin) return {};
  const auto found = std::ranges::find(origins, *origin);
  return found == origins.end() ? std::string_view() : std::string_view(*found);
}

std::optional<std::string> Access::refusal(const Request& request) const {
  const auto host = request.fields.only("Host");
  if (!host || !is_host(*this, *host, request.secure)) {
    return "the Host field names another server; this one can be told its names (--allow-host)";
  }
  if (!listed_origin(request).empty()) return std::nullopt;
  if (const auto origin = request.fields.find("Origin")) {
    if (request.fields.count("Origin") > 1 || !is_own_origin(*this, *origin, *host)) {
      return "web pages of this origin may not call here; allow it by name (--allow-origin)";
    }
  }
  if (!is_own_site(request)) {
    return "web pages of other sites may not call here; allow theirs by name (--allow-origin)";
  }
  return std::nullopt;
}

}  // namespace godwit::inline v0::http
