#include "schema_uri.hpp"

namespace godwit::inline v0::json::detail {

namespace {

struct Parts {
  std::optional<std::string_view> scheme;
  std::optional<std::string_view> authority;
  std::string_view path;
  std::optional<std::string_view> query;
  std::optional<std::string_view> fragment;
};

bool is_scheme(std::string_view text) noexcept {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.empty() || !letter(text[0])) return false;
  for (char c : text) {
    if (!letter(c) && !(c >= '0' && c <= '9') && c != '+' && c != '-' && c != '.') return false;
  }
  return true;
}

Parts parse_parts(std::string_view uri) noexcept {
  Parts parts;
  if (const auto hash = uri.find('#'); hash != std::string_view::npos) {
    parts.fragment = uri.substr(hash + 1);
    uri = uri.substr(0, hash);
  }
  if (const auto mark = uri.find('?'); mark != std::string_view::npos) {
    parts.query = uri.substr(mark + 1);
    uri = uri.substr(0, mark);
  }
  if (const auto colon = uri.find(':');
      colon != std::string_view::npos && is_scheme(uri.substr(0, colon))) {
    parts.scheme = uri.substr(0, colon);
    uri = uri.substr(colon + 1);
  }
  if (uri.starts_with("//")) {
    const auto slash = uri.find('/', 2);
    parts.authority = uri.substr(2, slash == std::string_view::npos ? slash : slash - 2);
    uri = slash == std::string_view::npos ? std::string_view() : uri.substr(slash);
  }
  parts.path = uri;
  return parts;
}

// RFC 3986, 5.2.4.
std::string without_dots(std::string_view in) {
  std::string out;
  const auto drop_last = [&] {
    const auto slash = out.rfind('/');
    out.resize(slash == std::string::npos ? 0 : slash);
  };
  while (!in.empty()) {
    if (in.starts_with("../")) {
      in.remove_prefix(3);
    } else if (in.starts_with("./") || in.starts_with("/./")) {
      in.remove_prefix(2);
    } else if (in == "/.") {
      in = "/";
    } else if (in.starts_with("/../")) {
      in.remove_prefix(3);
      drop_last();
    } else if (in == "/..") {
      in = "/";
      drop_last();
    } else if (in == "." || in == "..") {
      in = {};
    } else {
      const auto next = in.find('/', 1);
      out += in.substr(0, next);
      in = next == std::string_view::npos ? std::string_view() : in.substr(next);
    }
  }
  return out;
}

std::string merged(const Parts& base, std::string_view path) {
  if (base.authority && base.path.empty()) return std::string(1, '/').append(path);
  const auto slash = base.path.rfind('/');
  if (slash == std::string_view::npos) return std::string(path);
  return std::string(base.path.substr(0, slash + 1)) + std::string(path);
}

}  // namespace

std::string resolve_uri(std::string_view base_text, std::string_view reference) {
  const Parts base = parse_parts(base_text);
  Parts target = parse_parts(reference);
  std::string path;
  if (target.scheme || target.authority) {
    path = without_dots(target.path);
    if (!target.scheme) target.scheme = base.scheme;
  } else {
    if (target.path.empty()) {
      path = base.path;
      if (!target.query) target.query = base.query;
    } else if (target.path.starts_with('/')) {
      path = without_dots(target.path);
    } else {
      path = without_dots(merged(base, target.path));
    }
    target.scheme = base.scheme;
    target.authority = base.authority;
  }
  std::string out;
  if (target.scheme) out.append(*target.scheme).push_back(':');
  if (target.authority) out.append("//").append(*target.authority);
  out += path;
  if (target.query) out.append("?").append(*target.query);
  if (target.fragment) out.append("#").append(*target.fragment);
  return out;
}

SplitUri split_fragment(std::string_view uri) noexcept {
  const auto hash = uri.find('#');
  if (hash == std::string_view::npos) return {uri, {}};
  return {uri.substr(0, hash), uri.substr(hash + 1)};
}

std::optional<std::string> percent_decoded(std::string_view text) {
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = digit(text[i + 1]);
    const int low = digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return out;
}

}  // namespace godwit::inline v0::json::detail
