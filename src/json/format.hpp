// The formats of JSON Schema, each a question about a string. Pure functions of the text.
#pragma once

#include <string_view>

#include "godwit/base/export.hpp"

namespace godwit::inline v0::json::detail {

struct Format {
  std::string_view name;
  /// True if it takes much longer than reading the text.
  bool slow;
  bool (*holds)(std::string_view text);
};

/// nullptr for a format that is not known; such a format is a remark and never fails.
const Format* find_format(std::string_view name) noexcept;

bool is_ipv4(std::string_view text) noexcept;
bool is_ipv6(std::string_view text) noexcept;

/// RFC 3986 and 3987. `international` admits characters beyond ASCII, `relative` admits references.
bool is_uri(std::string_view text, bool international, bool relative) noexcept;

/// RFC 1123; labels that begin with xn-- must stand for a valid international label.
bool is_hostname(std::string_view text);
/// RFC 5890 and following. Compatibility characters are told by block, not by normalising, and
/// joining types are known for the Arabic block only.
bool is_idn_hostname(std::string_view text);

/// RFC 5321 and 6531.
bool is_email(std::string_view text, bool international);

}  // namespace godwit::inline v0::json::detail
