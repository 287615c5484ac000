#include "godwit/http/url.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "http/syntax.hpp"

namespace godwit::inline v0::http {

namespace {

std::uint16_t default_port(std::string_view scheme) noexcept {
  if (scheme == "http" || scheme == "ws") return 80;
  if (scheme == "https" || scheme == "wss") return 443;
  return 0;
}

/// Says why. A text that may hold a password is not repeated, since errors end up in logs.
Error refused(std::string_view text, std::string_view why) {
  const bool secret = text.find('@') != text.npos;
  return error((secret ? "the URL" : "the URL " + shown(text)) +
               " is refused: " + std::string(why));
}

/// What is wrong with a byte of the text. A backslash is a slash to browsers and a character to
/// others, so it could hide which host is meant.
std::optional<Error> bad_byte(std::string_view text) {
  for (const char c : text) {
    if (c <= 0x20 || c >= 0x7f || c == '\\')
      return refused(text, "it holds the byte " + byte_name(c) + ", which has to be escaped");
  }
  return std::nullopt;
}

/// The length of "scheme" in "scheme:...", or 0 if there is none.
std::size_t scheme_size(std::string_view text) noexcept {
  const std::size_t end = text.find_first_of(":/?#");
  if (end == text.npos || text[end] != ':' || end == 0) return 0;
  const char first = to_lower(text[0]);
  if (first < 'a' || first > 'z') return 0;
  return end;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), to_lower);
  return out;
}

/// RFC 3986 5.2.4, for a path that begins with a slash: "." is left out, ".." takes the segment
/// before it away.
std::string without_dots(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/', 1), path.size());
    const std::string_view segment = path.substr(0, end);
    path.remove_prefix(end);
    if (segment == "/." || segment == "/..") {
      if (segment == "/..") out.resize(out.empty() ? 0 : out.rfind('/'));
      if (path.empty()) out += '/';
    } else {
      out += segment;
    }
  }
  return out;
}

/// Path and query, with the dots of the path resolved.
std::string clean_target(std::string_view target) {
  const std::size_t query = std::min(target.find('?'), target.size());
  return without_dots(target.substr(0, query)) + std::string(target.substr(query));
}

}  // namespace

Result<Url> Url::parse(std::string_view text) {
  if (auto bad = bad_byte(text)) return std::move(*bad);
  const std::size_t colon = scheme_size(text);
  Url url;
  url.scheme = lower(text.substr(0, colon));
  if (colon == 0) return refused(text, "it has no scheme such as \"https://\"");
  url.port = default_port(url.scheme);
  if (url.port == 0) return refused(text, "the scheme is not http, https, ws or wss");
  std::string_view behind = text.substr(colon + 1);
  if (!behind.starts_with("//")) return refused(text, "\"//\" is missing behind the scheme");
  behind.remove_prefix(2);

  const std::size_t end = std::min(behind.find_first_of("/?#"), behind.size());
  std::string_view authority = behind.substr(0, end);
  if (authority.find('@') != authority.npos)
    return refused(text, "a user name or password does not belong into it");
  // "host:" is the same as "host" (RFC 3986 3.2.3).
  if (authority.ends_with(':')) authority.remove_suffix(1);
  std::string_view host;
  std::string_view port;
  if (!split_authority(authority, host, port))
    return refused(text, "behind \"//\" a host was expected, with a port or without");
  url.host = lower(host);
  if (!port.empty()) std::from_chars(port.data(), port.data() + port.size(), url.port);
  if (url.port == 0) return refused(text, "0 is no port to connect to");

  behind.remove_prefix(end);
  behind = behind.substr(0, behind.find('#'));
  url.target = behind.starts_with('/') ? "" : "/";
  url.target += behind;
  return url;
}

Result<Url> Url::resolve(std::string_view reference) const {
  if (auto bad = bad_byte(reference)) return std::move(*bad);
  if (scheme_size(reference) > 0 || reference.starts_with("//")) {
    Result<Url> url = parse(scheme_size(reference) > 0 ? std::string(reference)
                                                       : scheme + ":" + std::string(reference));
    if (url) url->target = clean_target(url->target);
    return url;
  }
  Url url = *this;
  reference = reference.substr(0, reference.find('#'));
  const std::string_view path = std::string_view(target).substr(0, target.find('?'));
  if (reference.starts_with('/')) {
    url.target = clean_target(reference);
  } else if (reference.starts_with('?')) {
    url.target = std::string(path) + std::string(reference);
  } else if (!reference.empty()) {
    url.target =
        clean_target(std::string(path.substr(0, path.rfind('/') + 1)) + std::string(reference));
  }
  return url;
}

std::string Url::describe(std::string_view reference) const {
  constexpr std::size_t most = 300;
  std::string text(reference.substr(0, reference.find('#')));
  const std::size_t slashes = text.find("//");
  if (slashes != text.npos && text.find_first_of("/?") >= slashes) {
    const std::size_t begin = slashes + 2;
    const std::size_t end = std::min(text.find_first_of("/?", begin), text.size());
    const std::size_t at = std::string_view(text).substr(0, end).rfind('@');
    if (at != text.npos && at >= begin) text.erase(begin, at + 1 - begin);
  }
  const Result<Url> url = resolve(text);
  if (!url) return text.find('@') == text.npos ? shown(text) : "an address that cannot be read";
  text = url->text();
  if (text.size() > most) text = text.substr(0, most) + "...";
  return text;
}

std::string Url::authority() const {
  std::string out = host.find(':') == host.npos ? host : "[" + host + "]";
  if (port != default_port(scheme)) out.append(":").append(std::to_string(port));
  return out;
}

std::string Url::origin() const { return scheme + "://" + authority(); }

std::string Url::text() const { return origin() + target; }

}  // namespace godwit::inline v0::http
