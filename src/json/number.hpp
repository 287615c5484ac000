// Small pieces that parsing and writing share: numbers and UTF-8 sequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "godwit/base/export.hpp"

namespace godwit::inline v0::json::detail {

/// The double nearest to a valid JSON number, or nothing if it overflows. Too small becomes zero.
std::optional<double> parse_double(std::string_view token) noexcept;

/// A double as an exact integer, if it is one and fits.
std::optional<std::int64_t> whole_int64(double value) noexcept;
std::optional<std::uint64_t> whole_uint64(double value) noexcept;

/// Bytes of the valid UTF-8 sequence at the front; 0 if there is none.
std::size_t utf8_length(std::string_view text) noexcept;

}  // namespace godwit::inline v0::json::detail
