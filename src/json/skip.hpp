// The skip-scanner: finds where a value of a parsed document stands in its source. The bytes are
// known to be valid JSON, so it only counts quotes and brackets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "godwit/json/view.hpp"

namespace godwit::inline v0::json::detail {

/// The offset just after the value that begins at `at` in valid JSON.
std::size_t skip_value(std::string_view source, std::size_t at) noexcept;

/// The bytes of the value at this index of the tape. Adds to `walked` the bytes that were passed to
/// find it. The sum of them over any questions in any order is linear in the source and in what
/// was asked for.
std::string_view source_of(const Tape& tape, std::uint32_t index, std::size_t& walked);

}  // namespace godwit::inline v0::json::detail
