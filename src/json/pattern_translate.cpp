#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "number.hpp"
#include "pattern.hpp"
#include "pattern_class.hpp"
#include "pattern_property.hpp"

namespace godwit::inline v0::json::detail {

namespace {

constexpr std::size_t longest_pattern = 4'096;
constexpr int deepest_group = 100;
// What RE2 takes in one repetition; larger counts are written as several.
constexpr unsigned largest_count = 1'000;
constexpr unsigned largest_total = 20'000;
class Translator {
 public:
  explicit Translator(std::string_view source) : source_(source) {}

  Translation run() {
    if (source_.size() > longest_pattern) {
      unsupported("it is longer than 4096 bytes");
    } else {
      disjunction(0);
      if (good() && !done()) invalid("a ')' has no '(' before it");
    }
    using Outcome = Translation::Outcome;
    if (!invalid_.empty()) return {Outcome::invalid, std::move(invalid_), 0};
    if (!unsupported_.empty()) return {Outcome::unsupported, std::move(unsupported_), 0};
    return {Outcome::ok, std::move(out_), size_};
  }

 private:
  bool done() const { return at_ >= source_.size(); }
  bool good() const { return invalid_.empty(); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  bool next_is(std::string_view text) const { return source_.substr(at_).starts_with(text); }
  bool take(std::string_view text) {
    if (!next_is(text)) return false;
    at_ += text.size();
    return true;
  }

  // The first reason is the one that is told. Something unsupported is still read to its end, since
  // it may turn out to be no regular expression at all.
  void invalid(std::string why) {
    if (invalid_.empty()) {
      invalid_ = std::move(why) + " (at character " + std::to_string(at_ + 1) + ")";
    }
    at_ = source_.size();
  }
  void unsupported(std::string why) {
    if (unsupported_.empty()) unsupported_ = std::move(why);
  }

  char32_t take_code() {
    const std::size_t length = std::max<std::size_t>(utf8_length(source_.substr(at_)), 1);
    const auto byte = [&](std::size_t i) {
      return static_cast<char32_t>(static_cast<unsigned char>(source_[at_ + i]));
    };
    char32_t code = byte(0);
    if (length == 2) code = (code & 0x1f) << 6 | (byte(1) & 0x3f);
    if (length == 3) code = (code & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
    if (length == 4) {
      code =
          (code & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
    }
    at_ += length;
    return code;
  }

  void disjunction(int depth) {
    if (depth > deepest_group) {
      unsupported("its groups are nested deeper than 100");
      at_ = source_.size();
      return;
    }
    while (good() && !done() && peek() != ')') {
      if (take("|")) {
        out_ += '|';
      } else {
        term(depth);
      }
    }
  }

  void term(int depth) {
    const std::size_t start = out_.size();
    const std::uint64_t size_before = size_;
    bool quantifiable = true;
    const char c = peek();
    switch (c) {
      case '^':
      case '$':
        ++at_;
        out_ += c;
        quantifiable = false;
        break;
      case '(':
        quantifiable = group(depth);
        break;
      case '.': {
        ++at_;
        out_ += "[^\\n\\r\\x{2028}\\x{2029}]";
        size_ += 21;
        break;
      }
      case '[':
        character_class();
        break;
      case '\\':
        quantifiable = escape();
        break;
      case '*':
      case '+':
      case '?':
        return invalid(std::string("there is nothing before '") + c + "' that could be repeated");
      case '{': {
        unsigned low = 0;
        unsigned high = 0;
        const std::size_t here = at_;
        if (counts(low, high)) {
          at_ = here;
          return invalid("there is nothing before '{' that could be repeated");
        }
        at_ = here + 1;
        literal('{');
        break;
      }
      default:
        literal(take_code());
    }
    ++size_;
    if (good()) quantifier(start, quantifiable, size_before);
  }

  void literal(char32_t code) {
    CharacterClass one;
    one.add(code, code);
    size_ += code < 0x80 ? 1 : 4;
    const bool plain = (code >= '0' && code <= '9') || (code >= 'a' && code <= 'z') ||
                       (code >= 'A' && code <= 'Z') || code == '_' || code == ' ' || code == '-' ||
                       code == '/' || code == ':' || code == '@';
    if (plain) {
      out_ += static_cast<char>(code);
    } else {
      out_ += one.text(false);
    }
  }

  // True if what was read may be repeated.
  bool group(int depth) {
    ++at_;
    bool look = false;
    if (take("?")) {
      if (take("<=") || take("<!") || take("=") || take("!")) {
        look = true;
        unsupported("lookahead and lookbehind cannot be matched in linear time");
      } else if (take("<")) {
        group_name();
      } else if (!take(":")) {
        modifiers();
      }
    }
    out_ += "(?:";
    disjunction(depth + 1);
    if (!good()) return false;
    if (!take(")")) {
      invalid("a '(' is not closed");
      return false;
    }
    out_ += ')';
    return !look;
  }

  void group_name() {
    const std::size_t start = at_;
    while (!done() && peek() != '>') ++at_;
    const std::string_view name = source_.substr(start, at_ - start);
    const auto odd = [](char c) {
      return static_cast<unsigned char>(c) < 0x80 && c != '$' && c != '_' && c != '\\' &&
             !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9');
    };
    if (name.empty() || (name[0] >= '0' && name[0] <= '9') ||
        std::any_of(name.begin(), name.end(), odd) || !take(">")) {
      invalid("a group has no valid name after '(?<'");
    }
  }

  // (?i: and the like, which ECMA-262 has since 2025.
  void modifiers() {
    std::size_t letters = 0;
    while (peek() == 'i' || peek() == 'm' || peek() == 's' || peek() == '-') {
      ++at_;
      ++letters;
    }
    if (letters > 0 && take(":")) {
      unsupported("modifiers such as (?i:...) are not supported");
    } else {
      invalid("the group after '(?' is of no known kind");
    }
  }

  bool counts(unsigned& low, unsigned& high) {
    const auto number = [&](unsigned& value) {
      bool any = false;
      for (; peek() >= '0' && peek() <= '9'; ++at_) {
        any = true;
        value = std::min(value * 10 + static_cast<unsigned>(peek() - '0'), 100'000'000u);
      }
      return any;
    };
    if (!take("{") || !number(low)) return false;
    if (take(",")) {
      if (!number(high)) high = std::numeric_limits<unsigned>::max();
    } else {
      high = low;
    }
    return take("}");
  }

  void quantifier(std::size_t start, bool quantifiable, std::uint64_t size_before) {
    unsigned low = 0;
    unsigned high = std::numeric_limits<unsigned>::max();
    const char c = peek();
    if (c == '*' || c == '?' || c == '+') {
      ++at_;
      if (c == '+') low = 1;
      if (c == '?') high = 1;
    } else if (c == '{') {
      const std::size_t here = at_;
      high = 0;
      if (!counts(low, high)) {
        at_ = here;  // a literal brace, read as the next term
        return;
      }
      if (low > high) return invalid("the numbers in '{}' are out of order");
    } else {
      return;
    }
    if (!quantifiable) return invalid("an assertion cannot be repeated");
    take("?");  // lazy or not makes no difference to whether there is a match
    const unsigned copies = high == std::numeric_limits<unsigned>::max() ? low : high;
    size_ = std::min(size_before + (size_ - size_before) * std::max(copies, 1u),
                     std::uint64_t{1} << 40);
    repeat(start, low, high);
  }

  void repeat(std::size_t start, unsigned low, unsigned high) {
    constexpr unsigned no_end = std::numeric_limits<unsigned>::max();
    if (low == 0 && high == no_end) {
      out_ += '*';
    } else if (low == 1 && high == no_end) {
      out_ += '+';
    } else if (low == 0 && high == 1) {
      out_ += '?';
    } else if (low <= largest_count && (high == no_end || high <= largest_count)) {
      out_.append("{").append(std::to_string(low)).append(",");
      if (high != no_end) out_ += std::to_string(high);
      out_ += "}";
    } else {
      const std::string atom = out_.substr(start);
      const unsigned total = high == no_end ? low : high;
      // Written out several times, and nested ones would multiply: only what is short.
      if (total > largest_total || atom.size() > 200) {
        return unsupported("a repetition of " + std::to_string(total) + " is too large");
      }
      std::string text;
      const auto part = [&](unsigned from, unsigned to) {
        text += atom + "{" + std::to_string(from) + "," + std::to_string(to) + "}";
      };
      unsigned least = low;
      for (; least > largest_count; least -= largest_count) part(largest_count, largest_count);
      if (high == no_end) {
        text += atom + "{" + std::to_string(least) + ",}";
      } else {
        if (least > 0) part(least, least);
        unsigned more = high - low;
        for (; more > largest_count; more -= largest_count) part(0, largest_count);
        if (more > 0) part(0, more);
      }
      out_.resize(start);
      out_ += "(?:" + text + ")";
      return;
    }
    // "a**" would mean something else to RE2 than to the reader.
    out_.insert(start, "(?:");
    out_ += ')';
  }

  // Outside of brackets. True if what was read may be repeated.
  bool escape() {
    ++at_;
    if (done()) {
      invalid("a '\\' stands at the end");
      return false;
    }
    const char c = peek();
    if (c == 'b' || c == 'B') {
      ++at_;
      out_ += '\\';
      out_ += c;
      return false;
    }
    if (c >= '1' && c <= '9') {
      while (peek() >= '0' && peek() <= '9') ++at_;
      unsupported("backreferences cannot be matched in linear time");
      return true;
    }
    if (c == 'k') {
      ++at_;
      if (take("<")) {
        group_name();
        unsupported("backreferences cannot be matched in linear time");
      } else {
        invalid("'\\k' names no group");
      }
      return true;
    }
    CharacterClass set;
    if (const auto code = class_escape(set)) set.add(*code, *code);
    if (good()) out_ += set.text(false);
    size_ += set.size(false);
    return true;
  }

  // What follows a '\': a set is added to `set`, a single character is returned.
  std::optional<char32_t> class_escape(CharacterClass& set) {
    const char c = peek();
    switch (c) {
      case 'd':
      case 'D':
        ++at_;
        set.add(digits, c == 'D');
        return std::nullopt;
      case 'w':
      case 'W':
        ++at_;
        set.add(word, c == 'W');
        return std::nullopt;
      case 's':
      case 'S':
        ++at_;
        set.add(space, c == 'S');
        return std::nullopt;
      case 'p':
      case 'P':
        ++at_;
        property(set, c == 'P');
        return std::nullopt;
      case 't':
        ++at_;
        return U'\t';
      case 'n':
        ++at_;
        return U'\n';
      case 'v':
        ++at_;
        return U'\v';
      case 'f':
        ++at_;
        return U'\f';
      case 'r':
        ++at_;
        return U'\r';
      case 'c': {
        const char letter = peek(1);
        if (!(letter >= 'a' && letter <= 'z') && !(letter >= 'A' && letter <= 'Z')) {
          invalid("'\\c' is not followed by a letter");
          return std::nullopt;
        }
        at_ += 2;
        return static_cast<char32_t>(letter) % 32;
      }
      case 'x':
        ++at_;
        return hex(2);
      case 'u':
        ++at_;
        return unicode();
      case '0':
        ++at_;
        if (peek() >= '0' && peek() <= '9') invalid("'\\0' is followed by a digit");
        return U'\0';
      default:
        break;
    }
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) {
      invalid(std::string("'\\") + c + "' is no escape");
      return std::nullopt;
    }
    return take_code();
  }

  std::optional<char32_t> hex(int count) {
    char32_t code = 0;
    for (int i = 0; i < count; ++i, ++at_) {
      const char c = peek();
      if (c >= '0' && c <= '9') {
        code = code * 16 + static_cast<char32_t>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        code = code * 16 + static_cast<char32_t>(c - 'a' + 10);
      } else if (c >= 'A' && c <= 'F') {
        code = code * 16 + static_cast<char32_t>(c - 'A' + 10);
      } else {
        invalid("an escape has too few hexadecimal digits");
        return std::nullopt;
      }
    }
    return code;
  }

  std::optional<char32_t> unicode() {
    if (take("{")) {
      const std::size_t end = source_.find('}', at_);
      if (end == std::string_view::npos || end == at_ || end - at_ > 6) {
        invalid("'\\u{' is not followed by up to six hexadecimal digits and '}'");
        return std::nullopt;
      }
      const auto code = hex(static_cast<int>(end - at_));
      if (!code) return std::nullopt;
      ++at_;
      if (*code > last_code) invalid("'\\u{}' is beyond the last character of Unicode");
      return code;
    }
    const auto high = hex(4);
    if (!high || *high < 0xd800 || *high > 0xdbff || !next_is("\\u")) return high;
    const std::size_t here = at_;
    at_ += 2;
    if (peek() != '{') {
      const auto low = hex(4);
      if (!low) return std::nullopt;
      if (*low >= 0xdc00 && *low <= 0xdfff) {
        return 0x10000 + ((*high - 0xd800) << 10) + (*low - 0xdc00);
      }
    }
    at_ = here;
    return high;
  }

  void property(CharacterClass& set, bool negated) {
    const std::size_t end = source_.find('}', at_);
    if (!take("{") || end == std::string_view::npos) {
      return invalid("'\\p' is not followed by a property in braces");
    }
    const std::string_view name = source_.substr(at_, end - at_);
    at_ = end + 1;
    const UnicodeProperty property = unicode_property(name);
    if (property.kind == UnicodeProperty::Kind::unknown) {
      return invalid("there is no Unicode property \"" + std::string(name.substr(0, 40)) + "\"");
    }
    const bool several = property.categories.size() > 1;
    if (property.kind == UnicodeProperty::Kind::unsupported || (several && negated)) {
      return unsupported("the Unicode property \"" + std::string(name) + "\" is not supported");
    }
    if (property.kind == UnicodeProperty::Kind::range) {
      const std::array<CodeRange, 1> range{{{property.first, property.last}}};
      if (negated && property.last == last_code) return;  // the complement of everything
      return set.add(range, negated);
    }
    for (const std::string_view category : property.categories) {
      set.add_property((negated ? "\\P{" : "\\p{") + std::string(category) + "}");
    }
  }

  void character_class() {
    ++at_;
    const bool negated = take("^");
    CharacterClass set;
    while (good() && !done() && peek() != ']') {
      const auto first = class_atom(set);
      if (!good()) return;
      if (peek() != '-' || peek(1) == ']' || at_ + 1 >= source_.size()) {
        if (first) set.add(*first, *first);
        continue;
      }
      ++at_;
      const auto last = class_atom(set);
      if (!good()) return;
      if (first && last) {
        if (*first > *last) return invalid("a range in '[]' is out of order");
        set.add(*first, *last);
      } else {
        // "[\w-.]": the '-' stands for itself, as without the u flag.
        set.add('-', '-');
        if (first) set.add(*first, *first);
        if (last) set.add(*last, *last);
      }
    }
    if (!good()) return;
    if (!take("]")) return invalid("a '[' is not closed");
    out_ += set.text(negated);
    size_ += set.size(negated);
  }

  std::optional<char32_t> class_atom(CharacterClass& set) {
    if (peek() != '\\') return take_code();
    ++at_;
    if (done()) {
      invalid("a '\\' stands at the end");
      return std::nullopt;
    }
    if (take("b")) return U'\b';
    if (take("B")) {
      invalid("'\\B' has no meaning in '[]'");
      return std::nullopt;
    }
    return class_escape(set);
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::string out_;
  std::uint64_t size_ = 0;
  std::string invalid_;
  std::string unsupported_;
};

}  // namespace

Translation translate_pattern(std::string_view ecma) { return Translator(ecma).run(); }

}  // namespace godwit::inline v0::json::detail
