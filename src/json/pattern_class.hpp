// Classes of characters in patterns: what stands in brackets, and \d, \w and \s.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "godwit/base/export.hpp"

namespace godwit::inline v0::json::detail {

inline constexpr char32_t last_code = 0x10ffff;

struct CodeRange {
  char32_t first;
  char32_t last;
};

inline constexpr std::array<CodeRange, 1> digits{{{'0', '9'}}};
inline constexpr std::array<CodeRange, 4> word{{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}};
// ECMA-262 WhiteSpace and LineTerminator.
inline constexpr std::array<CodeRange, 10> space{{{0x09, 0x0d},
                                                  {0x20, 0x20},
                                                  {0xa0, 0xa0},
                                                  {0x1680, 0x1680},
                                                  {0x2000, 0x200a},
                                                  {0x2028, 0x2029},
                                                  {0x202f, 0x202f},
                                                  {0x205f, 0x205f},
                                                  {0x3000, 0x3000},
                                                  {0xfeff, 0xfeff}}};

/// A class of characters: ranges, and Unicode properties that only RE2 knows.
class CharacterClass {
 public:
  void add(char32_t first, char32_t last) { ranges_.push_back({first, last}); }
  template <std::size_t N>
  void add(const std::array<CodeRange, N>& ranges, bool negated) {
    if (!negated) {
      ranges_.insert(ranges_.end(), ranges.begin(), ranges.end());
      return;
    }
    char32_t next = 0;
    for (const CodeRange& range : ranges) {
      if (range.first > next) add(next, range.first - 1);
      next = range.last + 1;
    }
    add(next, last_code);
  }
  void add_property(std::string text) {
    properties_ += std::move(text);
    ++property_count_;
  }

  /// About how many instructions of RE2 it takes: UTF-8 makes a tree of every range beyond ASCII,
  /// and a property has hundreds of them.
  std::uint64_t size(bool negated) const {
    std::uint64_t total = negated ? 12 : 0;
    for (const CodeRange& range : ranges_) total += range.last < 0x80 ? 1 : 6;
    return total + property_count_ * 1'200;
  }

  /// As RE2 writes it. Surrogates do not occur in UTF-8 text and are left out.
  std::string text(bool negated) const {
    std::string out;
    for (const CodeRange& range : ranges_) {
      if (range.first < 0xd800 && range.last >= 0xd800) {
        append(out, range.first, 0xd7ff);
        if (range.last > 0xdfff) append(out, 0xe000, range.last);
      } else if (range.first >= 0xd800 && range.first <= 0xdfff) {
        if (range.last > 0xdfff) append(out, 0xe000, range.last);
      } else {
        append(out, range.first, range.last);
      }
    }
    out += properties_;
    if (out.empty()) return negated ? "[\\x{0}-\\x{10ffff}]" : "[^\\x{0}-\\x{10ffff}]";
    return (negated ? "[^" : "[") + out + "]";
  }

 private:
  static void append(std::string& out, char32_t first, char32_t last) {
    std::array<char, 40> text;
    const int length = first == last
                           ? std::snprintf(text.data(), text.size(), "\\x{%x}", unsigned{first})
                           : std::snprintf(text.data(), text.size(), "\\x{%x}-\\x{%x}",
                                           unsigned{first}, unsigned{last});
    out.append(text.data(), static_cast<std::size_t>(length));
  }

  std::vector<CodeRange> ranges_;
  std::string properties_;
  std::uint64_t property_count_ = 0;
};

}  // namespace godwit::inline v0::json::detail
