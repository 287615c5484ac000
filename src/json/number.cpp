#include "number.hpp"

#include <charconv>
#include <cmath>

namespace godwit::inline v0::json::detail {

namespace {

// from_chars reports overflow and underflow alike. Which one it was shows in the power of ten of
// the first digit that is not zero.
bool is_tiny(std::string_view token) noexcept {
  long long power = 0;
  bool point = false;
  bool significant = false;
  std::size_t i = token[0] == '-' ? 1 : 0;
  for (; i < token.size() && token[i] != 'e' && token[i] != 'E'; ++i) {
    if (token[i] == '.') {
      point = true;
    } else if (!significant) {
      if (point) --power;
      significant = token[i] != '0';
    } else if (!point) {
      ++power;
    }
  }
  if (!significant) return true;
  if (i < token.size()) {
    ++i;
    const bool negative = token[i] == '-';
    if (token[i] == '-' || token[i] == '+') ++i;
    long long exponent = 0;
    for (; i < token.size(); ++i) {
      if (exponent < 1'000'000'000) exponent = exponent * 10 + (token[i] - '0');
    }
    power += negative ? -exponent : exponent;
  }
  return power < 0;
}

}  // namespace

std::optional<double> parse_double(std::string_view token) noexcept {
  double value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error == std::errc()) {
    if (std::isinf(value)) return std::nullopt;
    return value;
  }
  if (error == std::errc::result_out_of_range && is_tiny(token)) {
    return token[0] == '-' ? -0.0 : 0.0;
  }
  return std::nullopt;
}

std::optional<std::int64_t> whole_int64(double value) noexcept {
  // The bounds are powers of two and therefore exact doubles.
  if (!(value >= -0x1p63 && value < 0x1p63)) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(value);
  if (static_cast<double>(whole) != value) return std::nullopt;
  return whole;
}

std::optional<std::uint64_t> whole_uint64(double value) noexcept {
  if (!(value >= 0 && value < 0x1p64)) return std::nullopt;
  const auto whole = static_cast<std::uint64_t>(value);
  if (static_cast<double>(whole) != value) return std::nullopt;
  return whole;
}

std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto continues = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (text.empty()) return 0;
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;  // a continuation byte, or an overlong form of ASCII
  if (first < 0xe0) return continues(1) ? 2 : 0;
  if (first < 0xf0) {
    // E0 would be overlong below A0; ED above 9F is a surrogate.
    const unsigned low = first == 0xe0 ? 0xa0 : 0x80;
    const unsigned high = first == 0xed ? 0x9f : 0xbf;
    return continues(1, low, high) && continues(2) ? 3 : 0;
  }
  if (first < 0xf5) {
    const unsigned low = first == 0xf0 ? 0x90 : 0x80;
    const unsigned high = first == 0xf4 ? 0x8f : 0xbf;
    return continues(1, low, high) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace godwit::inline v0::json::detail
