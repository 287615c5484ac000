// The strict parser: RFC 8259 one byte at a time, onto the same kind of tape as simdjson's. It
// takes over where simdjson's DOM cannot help: integers beyond 64 bits, -0 written as an integer,
// and saying where and why a text is wrong. Always right, never fast; fuzzed against the DOM.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/json/document.hpp"

namespace godwit::inline v0::json::detail {

struct StrictTape {
  std::vector<std::uint64_t> words;
  std::string strings;
};

/// Fills the tape, or says what is wrong. All bounds of the options but refuse_duplicates are
/// applied.
std::optional<ParseError> parse_strict(std::string_view text, const ParseOptions& options,
                                       StrictTape& tape);

/// Line and column of an offset.
ParseError locate_error(std::string_view text, std::size_t offset, std::string message);

}  // namespace godwit::inline v0::json::detail
