// Regular expressions of JSON Schema: ECMA-262 syntax (with the u flag, but as forgiving about
// escapes and lone brackets as patterns in the wild need), matched by RE2 in linear time. What RE2
// cannot do (lookaround, backreferences) is told apart from what is no regular expression at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "godwit/base/export.hpp"

namespace godwit::inline v0::json::detail {

struct Translation {
  enum class Outcome : std::uint8_t { ok, invalid, unsupported };
  Outcome outcome = Outcome::ok;
  /// The same expression for RE2, or the reason why there is none.
  std::string text{};
  /// About how many instructions RE2 will make of it, if it is ok.
  std::uint64_t size = 0;
};

/// An ECMA-262 pattern as RE2 syntax. Text longer than 4,096 bytes and groups nested deeper than
/// 100 are unsupported: nobody writes them by hand.
Translation translate_pattern(std::string_view ecma);

/// Compiled; immutable, matched from any thread.
class Pattern {
 public:
  /// nullptr with the reason in `why` if the pattern cannot be used. `memory` is what may still be
  /// used; what this one needs is taken from it, at least 128 KiB.
  static std::unique_ptr<const Pattern> compile(std::string_view ecma, std::size_t& memory,
                                                std::string& why);
  ~Pattern();
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  /// True if it matches somewhere in the text.
  bool matches(std::string_view text) const;

  /// As it was written in the schema.
  const std::string& source() const noexcept { return source_; }
  /// Instructions of the compiled program; text length times this bounds the time of a match.
  std::size_t size() const noexcept { return size_; }

 private:
  struct Engine;
  Pattern(std::string source, std::unique_ptr<Engine> engine);

  std::string source_;
  std::unique_ptr<Engine> engine_;
  std::size_t size_ = 0;
};

}  // namespace godwit::inline v0::json::detail
