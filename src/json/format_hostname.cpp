#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "format.hpp"
#include "number.hpp"

namespace godwit::inline v0::json::detail {

namespace {

constexpr std::size_t longest_label = 63;
constexpr std::size_t longest_name = 253;

std::u32string decode_utf8(std::string_view text) {
  std::u32string out;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_length(text), 1);
    const auto byte = [&](std::size_t i) {
      return static_cast<char32_t>(static_cast<unsigned char>(text[i]));
    };
    char32_t code = byte(0);
    if (length == 2) code &= 0x1f;
    if (length == 3) code &= 0x0f;
    if (length == 4) code &= 0x07;
    for (std::size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & 0x3f);
    out.push_back(code);
    text.remove_prefix(length);
  }
  return out;
}

std::string encode_utf8(char32_t code) {
  std::string out;
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
  return out;
}

// Punycode, RFC 3492.
constexpr std::uint32_t base = 36;
constexpr std::uint32_t t_min = 1;
constexpr std::uint32_t t_max = 26;

std::uint32_t adapt(std::uint32_t delta, std::uint32_t points, bool first) noexcept {
  delta = first ? delta / 700 : delta / 2;
  delta += delta / points;
  std::uint32_t k = 0;
  for (; delta > (base - t_min) * t_max / 2; k += base) delta /= base - t_min;
  return k + (base - t_min + 1) * delta / (delta + 38);
}

std::uint32_t threshold(std::uint32_t k, std::uint32_t bias) noexcept {
  if (k <= bias) return t_min;
  return std::min(k - bias, t_max);
}

std::optional<std::u32string> punycode_decode(std::string_view text) {
  std::u32string out;
  if (const auto dash = text.rfind('-'); dash != std::string_view::npos) {
    out.assign(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(dash));
    text.remove_prefix(dash + 1);
  }
  std::uint32_t n = 128;
  std::uint32_t i = 0;
  std::uint32_t bias = 72;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::uint32_t before = i;
    std::uint32_t weight = 1;
    for (std::uint32_t k = base;; k += base) {
      if (at >= text.size()) return std::nullopt;
      const char c = text[at++];
      std::uint32_t value = base;
      if (c >= 'a' && c <= 'z') value = static_cast<std::uint32_t>(c - 'a');
      if (c >= '0' && c <= '9') value = static_cast<std::uint32_t>(c - '0') + 26;
      // A label has at most 63 characters, so that these bounds only stop nonsense.
      if (value >= base || value > (0x7fff'ffffu - i) / weight) return std::nullopt;
      i += value * weight;
      const std::uint32_t t = threshold(k, bias);
      if (value < t) break;
      if (weight > 0x7fff'ffffu / (base - t)) return std::nullopt;
      weight *= base - t;
    }
    const auto points = static_cast<std::uint32_t>(out.size()) + 1;
    bias = adapt(i - before, points, before == 0);
    n += i / points;
    i %= points;
    if (n > 0x10ffff || (n >= 0xd800 && n <= 0xdfff)) return std::nullopt;
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(i), static_cast<char32_t>(n));
    ++i;
  }
  return out;
}

std::string punycode_encode(const std::u32string& text) {
  std::string out;
  for (char32_t code : text) {
    if (code < 128) out.push_back(static_cast<char>(code));
  }
  const auto basic = static_cast<std::uint32_t>(out.size());
  std::uint32_t handled = basic;
  if (basic > 0) out.push_back('-');
  std::uint32_t n = 128;
  std::uint32_t delta = 0;
  std::uint32_t bias = 72;
  while (handled < text.size()) {
    char32_t next = 0x10ffff;
    for (char32_t code : text) {
      if (code >= n) next = std::min(next, code);
    }
    delta += (static_cast<std::uint32_t>(next) - n) * (handled + 1);
    n = static_cast<std::uint32_t>(next);
    for (char32_t code : text) {
      if (code < n) ++delta;
      if (code != n) continue;
      std::uint32_t q = delta;
      for (std::uint32_t k = base;; k += base) {
        const std::uint32_t t = threshold(k, bias);
        const std::uint32_t digit = q < t ? q : t + (q - t) % (base - t);
        out.push_back(static_cast<char>(digit < 26 ? 'a' + digit : '0' + digit - 26));
        if (q < t) break;
        q = (q - t) / (base - t);
      }
      bias = adapt(delta, handled + 1, handled == basic);
      delta = 0;
      ++handled;
    }
    ++delta;
    ++n;
  }
  return out;
}

struct Block {
  char32_t first;
  char32_t last;
};

template <std::size_t N>
bool within(char32_t code, const std::array<Block, N>& blocks) noexcept {
  return std::any_of(blocks.begin(), blocks.end(), [code](const Block& block) {
    return code >= block.first && code <= block.last;
  });
}

bool matches(const re2::RE2& expression, char32_t code) {
  return re2::RE2::FullMatch(encode_utf8(code), expression);
}

bool is_mark(char32_t code) {
  static const re2::RE2 expression("\\p{M}");
  return code >= 0x300 && matches(expression, code);
}

// RFC 5892, 2.6, and what falls under its sections 2.2 to 2.5, 2.8 and 2.9 by whole blocks.
bool is_permitted(char32_t code) {
  constexpr std::array<Block, 6> exceptions{
      {{0xdf, 0xdf}, {0x3c2, 0x3c2}, {0x6fd, 0x6fe}, {0xf0b, 0xf0b}, {0x3007, 0x3007}, {'-', '-'}}};
  constexpr std::array<Block, 22> refused{
      {{0xaa, 0xaa},       {0xba, 0xba},      {0x2b0, 0x2b8},   {0x2e0, 0x2e4},
       {0x640, 0x640},     {0x7fa, 0x7fa},    {0x1100, 0x11ff}, {0x1d2c, 0x1d6a},
       {0x2100, 0x214f},   {0x20d0, 0x20ff},  {0x302e, 0x302f}, {0x3031, 0x3035},
       {0x303b, 0x303b},   {0xa960, 0xa97f},  {0xd7b0, 0xd7ff}, {0xf900, 0xfaff},
       {0xfb00, 0xfdff},   {0xfe70, 0xfeff},  {0xff00, 0xffef}, {0x1d100, 0x1d1ff},
       {0x1d400, 0x1d7ff}, {0x2f800, 0x2fa1f}}};
  if (within(code, exceptions)) return true;
  if (within(code, refused)) return false;
  static const re2::RE2 letters_and_digits("[\\p{Ll}\\p{Lo}\\p{Lm}\\p{Mn}\\p{Mc}\\p{Nd}]");
  return matches(letters_and_digits, code);
}

// Characters of the canonical combining class "virama".
bool is_virama(char32_t code) noexcept {
  constexpr std::array<char32_t, 64> viramas{
      0x94d,   0x9cd,   0xa4d,   0xacd,   0xb4d,   0xbcd,   0xc4d,   0xccd,   0xd3b,   0xd3c,
      0xd4d,   0xdca,   0xe3a,   0xeba,   0xf84,   0x1039,  0x103a,  0x1714,  0x1734,  0x17d2,
      0x1a60,  0x1b44,  0x1baa,  0x1bab,  0x1bf2,  0x1bf3,  0x2d7f,  0xa806,  0xa82c,  0xa8c4,
      0xa953,  0xa9c0,  0xaaf6,  0xabed,  0x10a3f, 0x11046, 0x11070, 0x1107f, 0x110b9, 0x11133,
      0x11134, 0x111c0, 0x11235, 0x112ea, 0x1134d, 0x11442, 0x114c2, 0x115bf, 0x1163f, 0x116b6,
      0x1172b, 0x11839, 0x1193d, 0x1193e, 0x119e0, 0x11a34, 0x11a47, 0x11a99, 0x11c3f, 0x11d44,
      0x11d45, 0x11d97, 0x11f41, 0x11f42};
  return std::binary_search(viramas.begin(), viramas.end(), code);
}

bool joins_right(char32_t code) noexcept {
  constexpr std::array<Block, 3> joining{{{0x620, 0x64a}, {0x66e, 0x6d3}, {0x6fa, 0x6ff}}};
  constexpr std::array<Block, 2> apart{{{0x621, 0x621}, {0x674, 0x674}}};
  return within(code, joining) && !within(code, apart) && !is_mark(code);
}

bool joins_left(char32_t code) noexcept {
  // Letters that join only to the one before them.
  constexpr std::array<Block, 13> right_only{{{0x622, 0x625},
                                              {0x627, 0x627},
                                              {0x629, 0x629},
                                              {0x62f, 0x632},
                                              {0x648, 0x648},
                                              {0x671, 0x673},
                                              {0x675, 0x677},
                                              {0x688, 0x699},
                                              {0x6c0, 0x6c0},
                                              {0x6c3, 0x6cb},
                                              {0x6cd, 0x6cd},
                                              {0x6cf, 0x6cf},
                                              {0x6d2, 0x6d3}}};
  return joins_right(code) && !within(code, right_only);
}

// RFC 5892, appendix A: what the neighbours of some characters must be.
bool context_holds(const std::u32string& label, std::size_t at) {
  const auto before = [&](std::size_t n = 1) { return at >= n ? label[at - n] : U'\0'; };
  const char32_t after = at + 1 < label.size() ? label[at + 1] : U'\0';
  constexpr std::array<Block, 2> greek{{{0x370, 0x3ff}, {0x1f00, 0x1fff}}};
  constexpr std::array<Block, 1> hebrew{{{0x590, 0x5ff}}};
  constexpr std::array<Block, 9> japanese{{{0x2e80, 0x2fdf},
                                           {0x3005, 0x3007},
                                           {0x3021, 0x3029},
                                           {0x3041, 0x309f},
                                           {0x30a1, 0x30fa},
                                           {0x30fc, 0x30ff},
                                           {0x31f0, 0x31ff},
                                           {0x3400, 0x9fff},
                                           {0x20000, 0x323af}}};
  constexpr std::array<Block, 1> arabic_digits{{{0x660, 0x669}}};
  constexpr std::array<Block, 1> extended_digits{{{0x6f0, 0x6f9}}};
  const auto none_of = [&](const auto& blocks) {
    return std::none_of(label.begin(), label.end(),
                        [&](char32_t code) { return within(code, blocks); });
  };
  switch (label[at]) {
    case 0x200c: {
      if (is_virama(before())) return true;
      std::size_t left = at;
      while (left > 0 && is_mark(label[left - 1])) --left;
      std::size_t right = at + 1;
      while (right < label.size() && is_mark(label[right])) ++right;
      return left > 0 && joins_left(label[left - 1]) && right < label.size() &&
             joins_right(label[right]);
    }
    case 0x200d:
      return is_virama(before());
    case 0xb7:
      return before() == 'l' && after == 'l';
    case 0x375:
      return within(after, greek);
    case 0x5f3:
    case 0x5f4:
      return within(before(), hebrew);
    case 0x30fb:
      return !none_of(japanese);
    default:
      if (within(label[at], arabic_digits)) return none_of(extended_digits);
      if (within(label[at], extended_digits)) return none_of(arabic_digits);
      return is_permitted(label[at]);
  }
}

enum class Direction { left, right, arabic_digit, digit, mark, neutral };

Direction direction(char32_t code) {
  constexpr std::array<Block, 7> to_left{{{0x590, 0x8ff},
                                          {0x200f, 0x200f},
                                          {0xfb1d, 0xfdff},
                                          {0xfe70, 0xfeff},
                                          {0x10800, 0x10cff},
                                          {0x10d00, 0x10fff},
                                          {0x1e800, 0x1efff}}};
  if ((code >= '0' && code <= '9') || (code >= 0x6f0 && code <= 0x6f9)) return Direction::digit;
  if ((code >= 0x660 && code <= 0x669) || code == 0x6dd) return Direction::arabic_digit;
  if (code == '-' || code == 0x200c || code == 0x200d) return Direction::neutral;
  if (is_mark(code)) return Direction::mark;
  return within(code, to_left) ? Direction::right : Direction::left;
}

// The Bidi rule of RFC 5893, which holds for every label of a name that has right-to-left text.
bool bidi_holds(const std::u32string& label) {
  const Direction first = direction(label.front());
  const bool right = first == Direction::right;
  if (!right && first != Direction::left) return false;
  bool digits = false;
  bool arabic_digits = false;
  Direction last = first;
  for (char32_t code : label) {
    const Direction one = direction(code);
    if (one == (right ? Direction::left : Direction::right)) return false;
    if (one == Direction::arabic_digit && !right) return false;
    digits |= one == Direction::digit;
    arabic_digits |= one == Direction::arabic_digit;
    if (one != Direction::mark) last = one;
  }
  return last != Direction::neutral && !(right && digits && arabic_digits);
}

bool is_u_label(const std::u32string& label) {
  if (label.empty() || label.front() == '-' || label.back() == '-') return false;
  if (label.size() > longest_label) return false;
  if (label.size() > 3 && label[2] == '-' && label[3] == '-') return false;
  if (is_mark(label.front())) return false;
  for (std::size_t i = 0; i < label.size(); ++i) {
    if (!context_holds(label, i)) return false;
  }
  return punycode_encode(label).size() + 4 <= longest_label;
}

bool is_ascii(std::u32string_view label) noexcept {
  return std::all_of(label.begin(), label.end(), [](char32_t code) { return code < 128; });
}

bool is_ldh_label(std::u32string_view label) noexcept {
  if (label.empty() || label.size() > longest_label) return false;
  if (label.front() == '-' || label.back() == '-') return false;
  return std::all_of(label.begin(), label.end(), [](char32_t c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  });
}

/// The label as Unicode text, or nothing if it is not a valid one.
std::optional<std::u32string> read_label(std::u32string_view label) {
  std::u32string lower(label);
  if (!is_ascii(label)) {
    if (!is_u_label(lower)) return std::nullopt;
    return lower;
  }
  if (!is_ldh_label(label)) return std::nullopt;
  for (char32_t& code : lower) {
    if (code >= 'A' && code <= 'Z') code += 'a' - 'A';
  }
  if (!lower.starts_with(U"xn--")) return lower;
  std::string code;
  for (char32_t c : lower.substr(4)) code.push_back(static_cast<char>(c));
  const auto decoded = punycode_decode(code);
  if (!decoded || is_ascii(*decoded) || punycode_encode(*decoded) != code) return std::nullopt;
  if (!is_u_label(*decoded)) return std::nullopt;
  return decoded;
}

bool is_name(const std::u32string& text, std::u32string_view separators) {
  if (text.empty() || text.size() > longest_name) return false;
  std::vector<std::u32string> labels;
  bool bidi = false;
  for (std::size_t start = 0;;) {
    const std::size_t end = text.find_first_of(separators, start);
    auto label = read_label(std::u32string_view(text).substr(start, end - start));
    if (!label) return false;
    bidi |= std::any_of(label->begin(), label->end(), [](char32_t code) {
      const Direction one = code < 0x590 ? Direction::left : direction(code);
      return one == Direction::right || one == Direction::arabic_digit;
    });
    labels.push_back(std::move(*label));
    if (end == std::u32string::npos) break;
    start = end + 1;
  }
  return !bidi || std::all_of(labels.begin(), labels.end(), bidi_holds);
}

}  // namespace

bool is_hostname(std::string_view text) {
  if (text.size() > longest_name) return false;
  const std::u32string name = decode_utf8(text);
  return is_ascii(name) && is_name(name, U".");
}

bool is_idn_hostname(std::string_view text) {
  if (text.size() > longest_name * 4) return false;
  return is_name(decode_utf8(text), U".\u3002\uff0e\uff61");
}

}  // namespace godwit::inline v0::json::detail
