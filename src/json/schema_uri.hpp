// URI references as $id and $ref use them (RFC 3986, section 5).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "godwit/base/export.hpp"

namespace godwit::inline v0::json::detail {

/// The reference resolved against the base. Both may be relative; then the result is, too.
std::string resolve_uri(std::string_view base, std::string_view reference);

struct SplitUri {
  /// Everything before the '#'.
  std::string_view resource;
  /// What follows it, still percent-encoded; empty if there is none.
  std::string_view fragment;
};
SplitUri split_fragment(std::string_view uri) noexcept;

/// Percent-decoded text; nothing if an escape is broken.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace godwit::inline v0::json::detail
