#include "schema_compare.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace godwit::inline v0::json::detail {

namespace {

// Deeper than any parsed document by default, shallow enough for small stacks.
constexpr int max_nesting = 512;

__extension__ using Wide = unsigned __int128;

template <class T>
int sign_of(T a, T b) noexcept {
  return a < b ? -1 : (b < a ? 1 : 0);
}

int compare_big(std::string_view a, std::string_view b) noexcept {
  const bool negative = a.starts_with('-');
  if (negative != b.starts_with('-')) return negative ? -1 : 1;
  int order = sign_of(a.size(), b.size());
  if (order == 0) order = a.compare(b);
  return negative ? -order : order;
}

// The double has a fraction or is beyond 64 bits: its whole neighbours are not the integer.
template <class Integer>
int compare_with_double(Integer whole, double real) noexcept {
  const double floor = std::floor(real);
  if (floor < static_cast<double>(std::numeric_limits<Integer>::min())) return 1;
  // The maximum rounds up to a power of two, which is already out of range.
  if (floor >= static_cast<double>(std::numeric_limits<Integer>::max())) return -1;
  return whole <= static_cast<Integer>(floor) ? -1 : 1;
}

int compare_slow(View a, View b) noexcept {
  if (a.is_big_integer() && b.is_big_integer()) {
    return compare_big(a.big_integer(), b.big_integer());
  }
  if (a.is_big_integer()) {
    // Further from zero than any 64-bit integer.
    if (!b.is_real()) return a.big_integer().starts_with('-') ? -1 : 1;
    const auto rounded = a.as_double();
    if (!rounded) return a.big_integer().starts_with('-') ? -1 : 1;
    return sign_of(*rounded, *b.as_double());
  }
  if (b.is_big_integer()) return -compare_slow(b, a);
  const auto ai = a.as_int64();
  const auto bi = b.as_int64();
  if (ai && bi) return sign_of(*ai, *bi);
  const auto au = a.as_uint64();
  const auto bu = b.as_uint64();
  if (au && bu) return sign_of(*au, *bu);
  if ((ai || au) && (bi || bu)) return ai ? -1 : 1;  // one is negative, the other beyond int64
  if (a.is_real() && b.is_real()) return sign_of(*a.as_double(), *b.as_double());
  if (ai) return compare_with_double(*ai, *b.as_double());
  if (au) return compare_with_double(*au, *b.as_double());
  return -compare_slow(b, a);
}

// The number without its sign as digits * 10^exponent; the digits of a double are the fewest that
// read back as it.
struct Digits {
  std::array<char, 40> buffer;
  std::string_view text;
  long exponent = 0;

  explicit Digits(View number) noexcept {
    char* end = buffer.data();
    if (number.is_big_integer()) {
      text = number.big_integer();
    } else if (number.is_real()) {
      end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), *number.as_double(),
                          std::chars_format::scientific)
                .ptr;
      end = take_exponent(end);
    } else if (const auto whole = number.as_int64()) {
      end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), *whole).ptr;
    } else {
      end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), *number.as_uint64()).ptr;
    }
    if (end != buffer.data()) text = {buffer.data(), static_cast<std::size_t>(end - buffer.data())};
    if (text.starts_with('-')) text.remove_prefix(1);
  }

 private:
  /// "1.25e-3" becomes "125" with the exponent -5.
  char* take_exponent(char* end) noexcept {
    char* const e = std::find(buffer.data(), end, 'e');
    const char* sign = e + 1;
    if (*sign == '+') ++sign;
    std::from_chars(sign, end, exponent);
    char* const point = std::find(buffer.data(), e, '.');
    if (point == e) return e;
    exponent -= e - point - 1;
    return std::copy(point + 1, e, point);
  }
};

std::uint64_t modulo(std::string_view digits, std::uint64_t by) noexcept {
  Wide rest = 0;
  for (char c : digits) rest = (rest * 10 + static_cast<unsigned>(c - '0')) % by;
  return static_cast<std::uint64_t>(rest);
}

std::uint64_t power_of_ten_modulo(long exponent, std::uint64_t by) noexcept {
  Wide result = 1 % by;
  Wide base = 10 % by;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = result * base % by;
    base = base * base % by;
  }
  return static_cast<std::uint64_t>(result);
}

bool equal_at(View a, View b, Meter& meter, int depth);

bool equal_objects(View a, View b, Meter& meter, int depth) {
  const std::size_t count = a.size();
  if (count != b.size()) return false;
  constexpr std::size_t few = 16;
  if (count <= few) {
    for (const auto [key, value] : a.members()) {
      const View other = b.find(key);
      if (!other || !equal_at(value, other, meter, depth + 1)) return false;
    }
    return true;
  }
  const auto sorted = [count](View object) {
    std::vector<MemberView> members;
    members.reserve(count);
    for (const MemberView member : object.members()) members.push_back(member);
    std::sort(members.begin(), members.end(),
              [](const MemberView& x, const MemberView& y) { return x.key < y.key; });
    return members;
  };
  if (!meter.spend(count)) return false;
  const auto x = sorted(a);
  const auto y = sorted(b);
  for (std::size_t i = 0; i < count; ++i) {
    if (x[i].key != y[i].key) return false;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!equal_at(x[i].value, y[i].value, meter, depth + 1)) return false;
  }
  return true;
}

bool equal_at(View a, View b, Meter& meter, int depth) {
  const Type type = a.type();
  if (type != b.type()) return false;
  switch (type) {
    case Type::null:
      return true;
    case Type::boolean:
      return a.as_bool() == b.as_bool();
    case Type::number:
      return compare_numbers(a, b) == 0;
    case Type::string: {
      const std::string_view text = *a.as_string();
      return text.size() == b.as_string()->size() && meter.spend(text.size() / 256) &&
             text == *b.as_string();
    }
    default:
      break;
  }
  if (depth > max_nesting) {
    meter.spend(~std::uint64_t{0});
    return false;
  }
  if (!meter.spend(1 + a.size() / 4)) return false;
  if (type == Type::object) return equal_objects(a, b, meter, depth);
  if (a.size() != b.size()) return false;
  auto other = b.items().begin();
  for (View item : a.items()) {
    if (!equal_at(item, *other, meter, depth + 1)) return false;
    ++other;
  }
  return true;
}

// The finalizer of splitmix64: every bit of the input reaches every bit of the output.
std::uint64_t mix(std::uint64_t x) noexcept {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

std::uint64_t hash_text(std::string_view text) noexcept {
  std::uint64_t result = 0x9e3779b97f4a7c15ull ^ text.size();
  while (text.size() >= 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data(), 8);
    result = mix(result ^ word) + 0x9e3779b97f4a7c15ull;
    text.remove_prefix(8);
  }
  std::uint64_t word = 0;
  std::memcpy(&word, text.data(), text.size());
  return mix(result ^ word);
}

std::uint64_t hash_at(View value, Meter& meter, int depth) {
  switch (value.type()) {
    case Type::null:
      return 1;
    case Type::boolean:
      return *value.as_bool() ? 2 : 3;
    case Type::string: {
      const std::string_view text = *value.as_string();
      return meter.spend(text.size() / 64) ? hash_text(text) : 0;
    }
    case Type::number: {
      if (const auto whole = value.as_int64()) {
        return mix(static_cast<std::uint64_t>(*whole) + 4);
      }
      if (const auto whole = value.as_uint64()) return mix(*whole + 5);
      return mix(std::bit_cast<std::uint64_t>(value.as_double().value_or(0)) + 6);
    }
    default:
      break;
  }
  // What is deeper only makes the hash worse; equal() says that such values are too deep.
  if (depth > max_nesting || !meter.spend(1 + value.size() / 4)) return 7;
  if (value.is_array()) {
    std::uint64_t result = 8;
    for (View item : value.items()) result = mix(result + hash_at(item, meter, depth + 1));
    return result;
  }
  std::uint64_t result = 9;
  for (const auto [key, member] : value.members()) {
    result += mix(hash_text(key) * 31 + hash_at(member, meter, depth + 1));
  }
  return result;
}

}  // namespace

int compare_numbers(View a, View b) noexcept { return compare_slow(a, b); }

bool is_multiple(View value, View divisor) {
  if (!value.is_real() && !divisor.is_real()) {
    const auto a = value.as_int64();
    const auto b = divisor.as_int64();
    if (a && b) return *b != 0 && *a % *b == 0;
  }
  const Digits of(value);
  const Digits by(divisor);
  std::uint64_t step = 0;
  const auto [end, error] = std::from_chars(by.text.data(), by.text.data() + by.text.size(), step);
  if (error != std::errc()) {
    // A divisor beyond 64 bits: as well as doubles can tell.
    return std::fmod(value.as_double().value_or(1), divisor.as_double().value_or(0)) == 0;
  }
  if (step == 0) return false;
  std::string_view digits = of.text;
  if (digits.find_first_not_of('0') == std::string_view::npos) return true;
  const long shift = of.exponent - by.exponent;
  if (shift >= 0) {
    const Wide rest = modulo(digits, step);
    return rest * power_of_ten_modulo(shift, step) % step == 0;
  }
  // Divisible by 10^-shift means that many zeros at the end.
  for (long i = shift; i < 0; ++i) {
    if (!digits.ends_with('0')) return false;
    digits.remove_suffix(1);
  }
  return modulo(digits, step) == 0;
}

bool equal(View a, View b, Meter& meter) { return equal_at(a, b, meter, 0); }

std::uint64_t hash(View value, Meter& meter) { return hash_at(value, meter, 0); }

EqualItems find_equal_items(View array, Meter& meter) {
  const std::size_t count = array.size();
  if (count < 2) return {};
  constexpr std::size_t few = 12;
  if (count <= few) {
    std::array<View, few> items;
    std::size_t n = 0;
    for (View item : array.items()) {
      for (std::size_t i = 0; i < n; ++i) {
        if (equal(items[i], item, meter)) return {true, i, n};
      }
      items[n++] = item;
    }
    return {};
  }
  // Open addressing; position 0 is marked by 1 and so on, 0 is an empty slot.
  if (!meter.spend(count)) return {};
  std::vector<std::pair<std::uint64_t, View>> entries;
  entries.reserve(count);
  const std::size_t mask = std::bit_ceil(count * 2) - 1;
  std::vector<std::uint32_t> table(mask + 1);
  for (View item : array.items()) {
    const std::uint64_t code = hash(item, meter);
    std::size_t slot = static_cast<std::size_t>(code) & mask;
    for (; table[slot] != 0; slot = (slot + 1) & mask) {
      if (!meter.spend(1)) return {};
      const std::size_t other = table[slot] - 1;
      if (entries[other].first == code && equal(entries[other].second, item, meter)) {
        return {true, other, entries.size()};
      }
    }
    entries.emplace_back(code, item);
    table[slot] = static_cast<std::uint32_t>(entries.size());
  }
  return {};
}

}  // namespace godwit::inline v0::json::detail
