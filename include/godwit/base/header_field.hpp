// HeaderField: a name and a value that travel beside a message, as in HTTP. A view: it lives as
// long as what it was read from.
#pragma once

#include <string_view>

#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

struct HeaderField {
  std::string_view name{};
  std::string_view value{};
  bool operator==(const HeaderField&) const = default;
};

/// Names of header fields do not distinguish case (ASCII).
GODWIT_API bool same_header_name(std::string_view a, std::string_view b) noexcept;

}  // namespace godwit::inline v0
