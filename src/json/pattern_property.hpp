// Names of Unicode properties in patterns: \p{Letter}, \p{Script=Greek}, \p{ASCII}.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "godwit/base/export.hpp"

namespace godwit::inline v0::json::detail {

struct UnicodeProperty {
  enum class Kind : std::uint8_t {
    categories,   // the union of these, each as RE2 names it
    range,        // one range of characters
    unsupported,  // ECMA-262 has it, RE2 does not
    unknown,      // neither has it
  };
  Kind kind = Kind::unknown;
  std::vector<std::string_view> categories{};
  char32_t first = 0;
  char32_t last = 0;
};

/// What stands between the braces of \p{}.
UnicodeProperty unicode_property(std::string_view name);

}  // namespace godwit::inline v0::json::detail
