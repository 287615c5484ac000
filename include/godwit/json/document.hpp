// Document: JSON text, parsed. Reusable: each parse() replaces the last one and keeps the memory,
// so a connection that parses a message after the other allocates nothing in the steady state.
// Views of the last parse die with the next. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "godwit/base/export.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/view.hpp"

namespace godwit::inline v0::json {

/// What is taken for JSON. The grammar itself is RFC 8259 to the letter and has no options: no
/// comments, no trailing commas, no byte order mark, no NaN, no lone surrogates, only valid UTF-8.
struct ParseOptions {
  /// Nested containers allowed.
  std::size_t depth = 128;
  /// A name that occurs twice in one object: refused, or (by default) the last one wins.
  bool refuse_duplicates = false;
  /// Bounds for text from a peer; 0 means unbounded.
  std::size_t members = 0;
  std::size_t items = 0;
  std::size_t key_bytes = 0;
  /// Characters of one number.
  std::size_t number_chars = 1'100;

  /// The bounds of a Limits struct.
  static ParseOptions from(const Limits& limits) noexcept {
    return {.depth = limits.json_depth,
            .refuse_duplicates = false,
            .members = limits.json_members,
            .items = limits.json_items,
            .key_bytes = limits.json_key_bytes,
            .number_chars = limits.json_number_chars};
  }
};

/// Where and why text is not JSON. Line and column count from 1, the offset from 0; all in bytes.
struct ParseError {
  std::size_t offset = 0;
  std::size_t line = 1;
  std::size_t column = 1;
  std::string message{};

  bool operator==(const ParseError&) const = default;
  /// The JSON-RPC parse error: a sentence with the place, and the place again as data.
  GODWIT_API Error to_error() const;
};

class GODWIT_API Document {
 public:
  /// Bytes that must be readable after the text for parsing in place.
  static constexpr std::size_t padding = 64;

  Document();
  ~Document();
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;

  /// Parses the text. With `spare` >= padding readable bytes behind it the text is used in place
  /// and must outlive the views that are asked for their source(); otherwise it is copied.
  Result<View> parse(std::string_view text, const ParseOptions& options = {},
                     std::size_t spare = 0);

  /// The root of the last good parse; absent before the first.
  View root() const noexcept;

  /// Where the last parse failed; empty message if it did not.
  const ParseError& failure() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace godwit::inline v0::json
