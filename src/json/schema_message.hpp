// Pieces of the sentences that violations are told with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/json/view.hpp"

namespace godwit::inline v0::json::detail {

/// A short form of the value: scalars as JSON, cut if they are long; "an array of 3 items".
std::string excerpt(View value);
/// The text in quotes, cut if it is long.
std::string text_excerpt(std::string_view text);
/// "an integer", "a string or null".
std::string type_names(unsigned type_bits);
/// `one of "a", "b"`; the first few of them.
std::string choice_list(const std::vector<View>& choices);
/// "1 item", "2 items".
std::string counted(std::uint64_t count, std::string_view what);
/// Code points of valid UTF-8.
std::uint64_t count_characters(std::string_view text) noexcept;

}  // namespace godwit::inline v0::json::detail
