#include "strict_parser.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "godwit/base/work.hpp"
#include "number.hpp"

namespace godwit::inline v0::json::detail {

namespace {

constexpr std::uint64_t tag(char c) {
  return static_cast<std::uint64_t>(static_cast<unsigned char>(c)) << 56;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xc0 | (code >> 6)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else if (code < 0x10000) {
    out.push_back(static_cast<char>(0xe0 | (code >> 12)));
    out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else {
    out.push_back(static_cast<char>(0xf0 | (code >> 18)));
    out.push_back(static_cast<char>(0x80 | ((code >> 12) & 0x3f)));
    out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
  }
}

class StrictParser {
 public:
  StrictParser(std::string_view text, const ParseOptions& options, StrictTape& tape)
      : text_(text), options_(options), words_(tape.words), strings_(tape.strings) {
    words_.clear();
    strings_.clear();
  }

  std::optional<ParseError> run() {
    godwit::detail::base::count_work(text_.size());
    words_.push_back(0);  // the root word, completed at the end
    if (text_.starts_with("\xef\xbb\xbf")) {
      fail("a byte order mark is not JSON; send plain UTF-8");
    } else {
      document();
    }
    if (error_) return locate_error(text_, at_, std::move(*error_));
    words_.push_back(tag('r'));
    words_[0] = tag('r') | words_.size();
    return std::nullopt;
  }

 private:
  struct Open {
    std::uint32_t index;
    std::uint32_t count;
    bool object;
  };

  bool fail(std::string message) {
    if (!error_) error_ = std::move(message);
    return false;
  }

  bool unexpected(std::string_view expected) {
    std::string message = "expected ";
    message.append(expected);
    if (at_ >= text_.size()) {
      message += ", but the text ends here";
    } else {
      message += ", got " + shown(text_[at_]);
    }
    return fail(std::move(message));
  }

  static std::string shown(char c) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f) return std::string("'") + c + "'";
    char hex[16];
    std::snprintf(hex, sizeof hex, "byte 0x%02x", byte);
    return hex;
  }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  bool at(char c) const { return at_ < text_.size() && text_[at_] == c; }

  // The loop keeps its own stack of open containers, so depth costs heap that is bounded by the
  // option, never machine stack.
  bool document() {
    skip_space();
    if (!value()) return false;
    while (!open_.empty()) {
      skip_space();
      Open& top = open_.back();
      const char close = top.object ? '}' : ']';
      if (at(close)) {
        ++at_;
        end_container();
        continue;
      }
      if (top.count > 0) {
        if (!at(',')) return unexpected(top.object ? "',' or '}'" : "',' or ']'");
        ++at_;
        skip_space();
      }
      if (!bounded(++top.count, top.object)) return false;
      if (top.object && !member_name()) return false;
      if (!value()) return false;
    }
    skip_space();
    if (at_ < text_.size()) return unexpected("nothing after the value");
    return true;
  }

  bool bounded(std::uint32_t count, bool object) {
    const std::size_t bound = object ? options_.members : options_.items;
    if (bound == 0 || count <= bound) return true;
    return fail("more than " + std::to_string(bound) +
                (object ? " members in one object" : " items in one array"));
  }

  bool member_name() {
    if (!at('"')) return unexpected("a member name in double quotes");
    const std::size_t start = at_;
    const std::size_t before = strings_.size();
    if (!string()) return false;
    const std::size_t bytes = strings_.size() - before - 5;
    if (options_.key_bytes != 0 && bytes > options_.key_bytes) {
      at_ = start;
      return fail("a member name is longer than " + std::to_string(options_.key_bytes) + " bytes");
    }
    skip_space();
    if (!at(':')) return unexpected("':' after the member name");
    ++at_;
    skip_space();
    return true;
  }

  bool value() {
    if (at_ >= text_.size()) return unexpected("a value");
    switch (text_[at_]) {
      case '{':
      case '[':
        return begin_container();
      case '"':
        return string();
      case 't':
        return literal("true");
      case 'f':
        return literal("false");
      case 'n':
        return literal("null");
      default:
        if (text_[at_] == '-' || is_digit(text_[at_])) return number();
        return unexpected("a value");
    }
  }

  bool begin_container() {
    if (open_.size() >= options_.depth) {
      return fail("nested deeper than " + std::to_string(options_.depth) + " levels");
    }
    const bool object = text_[at_] == '{';
    open_.push_back({static_cast<std::uint32_t>(words_.size()), 0, object});
    words_.push_back(0);
    ++at_;
    return true;
  }

  void end_container() {
    const Open top = open_.back();
    open_.pop_back();
    words_.push_back(tag(top.object ? '}' : ']') | top.index);
    const std::uint64_t count = std::min<std::uint32_t>(top.count, 0xff'ffff);
    words_[top.index] = tag(top.object ? '{' : '[') | (count << 32) | words_.size();
  }

  bool literal(std::string_view word) {
    for (char c : word) {
      if (!at(c)) return unexpected("the word " + std::string(word));
      ++at_;
    }
    words_.push_back(tag(word[0]));
    return true;
  }

  void begin_text(char kind) {
    words_.push_back(tag(kind) | strings_.size());
    strings_.append(4, '\0');
  }
  void end_text(std::size_t begin) {
    const auto length = static_cast<std::uint32_t>(strings_.size() - begin - 4);
    std::memcpy(strings_.data() + begin, &length, sizeof length);
    strings_.push_back('\0');
  }

  bool string() {
    const std::size_t begin = strings_.size();
    begin_text('"');
    ++at_;
    while (at_ < text_.size()) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        end_text(begin);
        return true;
      }
      if (c == '\\') {
        if (!escape()) return false;
      } else if (c < 0x20) {
        return fail("a control character in a string must be escaped (" + shown(text_[at_]) + ")");
      } else if (c < 0x80) {
        strings_.push_back(text_[at_++]);
      } else if (!utf8_sequence()) {
        return false;
      }
    }
    return fail("the text ends inside a string");
  }

  bool utf8_sequence() {
    const std::size_t length = utf8_length(text_.substr(at_));
    if (length == 0) return fail("invalid UTF-8 in a string (" + shown(text_[at_]) + ")");
    strings_.append(text_.substr(at_, length));
    at_ += length;
    return true;
  }

  bool hex4(std::uint32_t& code) {
    code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = at_ < text_.size() ? text_[at_] : '\0';
      code <<= 4;
      if (is_digit(c)) {
        code |= static_cast<std::uint32_t>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        code |= static_cast<std::uint32_t>(c - 'a' + 10);
      } else if (c >= 'A' && c <= 'F') {
        code |= static_cast<std::uint32_t>(c - 'A' + 10);
      } else {
        return unexpected("four hexadecimal digits after \\u");
      }
    }
    return true;
  }

  bool escape() {
    const std::size_t start = at_++;
    if (at_ >= text_.size()) return fail("the text ends inside a string");
    const char c = text_[at_++];
    switch (c) {
      case '"':
      case '\\':
      case '/':
        strings_.push_back(c);
        return true;
      case 'b':
        strings_.push_back('\b');
        return true;
      case 'f':
        strings_.push_back('\f');
        return true;
      case 'n':
        strings_.push_back('\n');
        return true;
      case 'r':
        strings_.push_back('\r');
        return true;
      case 't':
        strings_.push_back('\t');
        return true;
      case 'u':
        break;
      default:
        --at_;
        return unexpected("one of \" \\ / b f n r t u after a backslash");
    }
    std::uint32_t code = 0;
    if (!hex4(code)) return false;
    if (code >= 0xdc00 && code <= 0xdfff) {
      at_ = start;
      return fail("a low surrogate escape without its high half");
    }
    if (code >= 0xd800 && code <= 0xdbff) {
      std::uint32_t low = 0;
      if (text_.substr(at_, 2) == "\\u") {
        at_ += 2;
        if (!hex4(low)) return false;
      }
      if (low < 0xdc00 || low > 0xdfff) {
        at_ = start;
        return fail("a high surrogate escape without its low half");
      }
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(strings_, code);
    return true;
  }

  bool number() {
    const std::size_t start = at_;
    bool whole = true;
    if (at('-')) ++at_;
    if (at('0')) {
      ++at_;
      if (at_ < text_.size() && is_digit(text_[at_])) {
        return fail("a number must not begin with 0 followed by another digit");
      }
    } else if (!digits("a digit")) {
      return false;
    }
    if (at('.')) {
      whole = false;
      ++at_;
      if (!digits("a digit after the decimal point")) return false;
    }
    if (at('e') || at('E')) {
      whole = false;
      ++at_;
      if (at('+') || at('-')) ++at_;
      if (!digits("a digit of the exponent")) return false;
    }
    const std::string_view token = text_.substr(start, at_ - start);
    if (options_.number_chars != 0 && token.size() > options_.number_chars) {
      at_ = start;
      return fail("a number has more than " + std::to_string(options_.number_chars) +
                  " characters");
    }
    if (whole && token != "-0") return store_integer(token);
    const std::optional<double> real = parse_double(token);
    if (!real) {
      at_ = start;
      return fail("the number " + std::string(token.substr(0, 40)) +
                  " is beyond the range of a double");
    }
    words_.push_back(tag('d'));
    words_.push_back(std::bit_cast<std::uint64_t>(*real));
    return true;
  }

  bool digits(std::string_view expected) {
    if (at_ >= text_.size() || !is_digit(text_[at_])) return unexpected(expected);
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return true;
  }

  bool store_integer(std::string_view token) {
    std::int64_t small = 0;
    std::uint64_t large = 0;
    const char* const end = token.data() + token.size();
    if (std::from_chars(token.data(), end, small).ec == std::errc()) {
      words_.push_back(tag('l'));
      words_.push_back(static_cast<std::uint64_t>(small));
    } else if (token[0] != '-' && std::from_chars(token.data(), end, large).ec == std::errc()) {
      words_.push_back(tag('u'));
      words_.push_back(large);
    } else {
      const std::size_t begin = strings_.size();
      begin_text('b');
      strings_.append(token);
      end_text(begin);
    }
    return true;
  }

  std::string_view text_;
  const ParseOptions& options_;
  std::vector<std::uint64_t>& words_;
  std::string& strings_;
  std::vector<Open> open_;
  std::size_t at_ = 0;
  std::optional<std::string> error_;
};

}  // namespace

std::optional<ParseError> parse_strict(std::string_view text, const ParseOptions& options,
                                       StrictTape& tape) {
  return StrictParser(text, options, tape).run();
}

ParseError locate_error(std::string_view text, std::size_t offset, std::string message) {
  ParseError error{.offset = offset, .line = 1, .column = 1, .message = std::move(message)};
  const std::string_view before = text.substr(0, offset);
  error.line = 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t newline = before.rfind('\n');
  error.column = 1 + before.size() - (newline == std::string_view::npos ? 0 : newline + 1);
  return error;
}

}  // namespace godwit::inline v0::json::detail
