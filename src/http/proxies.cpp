#include "godwit/http/proxies.hpp"

#include <algorithm>
#include <cstdlib>

#include "godwit/base/base64.hpp"
#include "godwit/io/address.hpp"
#include "http/syntax.hpp"

namespace godwit::inline v0::http {

namespace {

std::string variable(const char* lower, const char* upper) {
  const char* value = std::getenv(lower);
  if ((!value || !*value) && upper) value = std::getenv(upper);
  return value ? value : "";
}

bool same_host(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, [](char x, char y) { return to_lower(x) == to_lower(y); });
}

/// Is the host this one, or a name below it?
bool is_below(std::string_view host, std::string_view rule) noexcept {
  if (rule.starts_with('.')) rule.remove_prefix(1);
  if (rule.empty() || host.size() < rule.size()) return false;
  if (!same_host(host.substr(host.size() - rule.size()), rule)) return false;
  return host.size() == rule.size() || host[host.size() - rule.size() - 1] == '.';
}

bool covers(std::string_view rule, const Url& url) {
  rule = trim(rule);
  if (rule == "*") return true;
  std::string_view host = rule;
  std::string_view port;
  // An IPv6 address may stand there without brackets, and then without a port.
  if (rule.starts_with('[') || std::ranges::count(rule, ':') == 1) {
    const bool dot = rule.starts_with('.');
    if (!split_authority(dot ? rule.substr(1) : rule, host, port)) return false;
  }
  if (!port.empty() && port != std::to_string(url.port)) return false;
  return is_below(url.host, host);
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  const char low = to_lower(c);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/// "%41" is "A"; what is no such escape stays as it is.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size();
    const int high = escape ? hex_digit(text[i + 1]) : -1;
    const int low = escape ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      out += text[i];
    } else {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

/// A proxy whose scheme is said. Errors do not repeat its password.
Result<Proxy> parse(std::string text) {
  Proxy out;
  const std::size_t begin = text.find("://") + 3;
  const std::size_t end = std::min(text.find_first_of("/?#", begin), text.size());
  const std::size_t at = std::string_view(text).substr(0, end).rfind('@');
  if (at != text.npos && at >= begin) {
    const std::string secret = text.substr(begin, at - begin);
    const std::size_t colon = std::min(secret.find(':'), secret.size());
    out.authorization =
        "Basic " + base64(unescaped(secret.substr(0, colon)) + ":" +
                          unescaped(secret.substr(std::min(colon + 1, secret.size()))));
    text.erase(begin, at + 1 - begin);
  }
  Result<Url> url = Url::parse(text);
  if (!url) return std::move(url).error();
  out.url = *std::move(url);
  return out;
}

}  // namespace

Proxies Proxies::from_environment() {
  Proxies out;
  out.http = variable("http_proxy", std::getenv("REQUEST_METHOD") ? nullptr : "HTTP_PROXY");
  out.https = variable("https_proxy", "HTTPS_PROXY");
  std::string direct = variable("no_proxy", "NO_PROXY");
  for (std::string_view rest = direct; !rest.empty();) {
    const std::size_t end = std::min(rest.find_first_of(", "), rest.size());
    if (end > 0) out.direct.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

Result<std::optional<Proxy>> Proxies::find(const Url& url) const {
  const std::string& proxy = url.secure() ? https : http;
  if (proxy.empty() || (!loopback && is_loopback(url.host))) return std::optional<Proxy>();
  if (std::ranges::any_of(direct, [&](const std::string& rule) { return covers(rule, url); })) {
    return std::optional<Proxy>();
  }
  Result<Proxy> parsed = parse(proxy.find("://") == proxy.npos ? "http://" + proxy : proxy);
  if (!parsed) return error("the proxy cannot be used: " + parsed.error().message);
  if (parsed->url.target != "/") {
    return error("the proxy cannot be used: it has a path; a '/' in a password is written %2F");
  }
  if (parsed->url.scheme != "http") {
    return error("the proxy " + parsed->url.origin() + " cannot be used: only http:// proxies can");
  }
  return std::optional<Proxy>(*std::move(parsed));
}

}  // namespace godwit::inline v0::http
