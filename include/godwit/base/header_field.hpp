// HeaderField: a name and a value that travel beside a message, as in HTTP. A view: it lives as
// long as what it was read from.
#pragma once

#include <cstddef>
#include <string_view>

#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

struct HeaderField {
  std::string_view name{};
  std::string_view value{};
  bool operator==(const HeaderField&) const = default;
};

namespace detail::base {
GODWIT_API bool same_letters(const char* a, const char* b, std::size_t size) noexcept;
}

/// Names of header fields do not distinguish case (ASCII). Most are told apart by their length.
inline bool same_header_name(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && detail::base::same_letters(a.data(), b.data(), a.size());
}

}  // namespace godwit::inline v0
