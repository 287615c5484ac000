// Names of enumerators, found by the compiler for values from -128 to 127, or from 0 to 255 if the
// underlying type is unsigned. For others, or for other names on the wire, specialise EnumNames:
//
//   template <> struct godwit::json::EnumNames<Color> {
//     static constexpr std::pair<Color, std::string_view> names[] = {{Color::red, "rouge"}};
//   };
//
// Writing a value that has no name throws TypeError. A schema of an enum with named values beyond
// does not compile, as far as the compiler is asked: up to 1023, and for powers of two.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "godwit/base/export.hpp"
#include "godwit/json/reflect.hpp"

namespace godwit::inline v0::json {

template <class E>
struct EnumNames {};

namespace detail {

template <class E, E... values>
consteval std::string_view enumerators_text() {
  return __PRETTY_FUNCTION__;
}

template <class E>
constexpr bool in_underlying_range(long long value) {
  using Limits = std::numeric_limits<std::underlying_type_t<E>>;
  return value >= static_cast<long long>(Limits::min()) &&
         (value < 0 ||
          static_cast<unsigned long long>(value) <= static_cast<unsigned long long>(Limits::max()));
}

/// Some values of an enum, and those of them that have a name.
template <class E, std::size_t size>
struct FoundNames {
  std::array<std::pair<E, std::string_view>, size> all{};
  std::size_t count = 0;
};

template <class E, long long... values>
consteval auto find_enumerators(std::integer_sequence<long long, values...>) {
  static_assert(
      requires { E{0}; },
      "godwit: give the enum a fixed underlying type (enum E : int) or specialise EnumNames");
  constexpr std::size_t size = sizeof...(values);
  constexpr long long value[] = {values...};
  FoundNames<E, size> found;
  // One function text lists all values: named ones as `Unit::kelvin`, others as `(Unit)7`.
  const std::string_view text =
      enumerators_text<E, static_cast<E>(in_underlying_range<E>(values) ? values : 0)...>();
  std::size_t at = text.find("values = ") + 10;  // after "{" or "<"
  int nested = 0;                                // commas inside template arguments do not count
  std::size_t position = 0;
  for (; at < text.size() && position < size; ++at) {
    const char c = text[at];
    const bool ends = nested == 0 && (c == '}' || c == '>');
    if (nested == 0 && (c == ',' || ends)) {
      const std::string_view name = last_name(text, at);
      if (in_underlying_range<E>(value[position]) && !name.empty() &&
          !(name[0] >= '0' && name[0] <= '9')) {
        found.all[found.count++] = {static_cast<E>(value[position]), name};
      }
      ++position;
      if (ends) break;
    } else if (c == '<' || c == '(' || c == '{') {
      ++nested;
    } else if (c == '>' || c == ')' || c == '}') {
      --nested;
    }
  }
  return found;
}

template <long long first, std::size_t... I>
constexpr auto counted_from(std::index_sequence<I...>) {
  return std::integer_sequence<long long, first + static_cast<long long>(I)...>{};
}
template <long long first, std::size_t count>
using ValuesFrom = decltype(counted_from<first>(std::make_index_sequence<count>{}));

template <std::size_t... I>
constexpr auto powers_from_1024(std::index_sequence<I...>) {
  return std::integer_sequence<long long, (1024ll << I)...>{};
}
using PowersOfTwo = decltype(powers_from_1024(std::make_index_sequence<53>{}));

template <class E>
inline constexpr long long lowest_enumerator =
    std::is_unsigned_v<std::underlying_type_t<E>> ? 0 : -128;
inline constexpr std::size_t enumerator_range = 256;

/// True if the enum has a name outside of the range in which names are found. Looks where such
/// values mostly are: next to the range, up to 1023 (status codes), and at powers of two (flags).
/// In pieces, because compilers bound the steps of one evaluation.
template <class E>
consteval bool has_names_beyond() {
  constexpr auto any = []<class Values>(Values values) {
    return find_enumerators<E>(values).count > 0;
  };
  constexpr long long above = lowest_enumerator<E> + static_cast<long long>(enumerator_range);
  constexpr long long below = lowest_enumerator<E> - 128;
  constexpr bool small = sizeof(E) == 1;
  if constexpr (small) {
    return false;  // there is nothing beyond
  } else {
    constexpr bool b = any(ValuesFrom<below, 128>{});
    constexpr bool a1 = any(ValuesFrom<above, 256>{});
    constexpr bool a2 = any(ValuesFrom<above + 256, 256>{});
    constexpr bool a3 = any(ValuesFrom<above + 512, static_cast<std::size_t>(512 - above)>{});
    constexpr bool flags = any(PowersOfTwo{});
    return b || a1 || a2 || a3 || flags;
  }
}

template <class E>
concept NamedByTrait = requires { std::begin(EnumNames<E>::names)->second; };

/// Pairs of value and name.
template <class E>
inline constexpr auto enum_names = [] {
  if constexpr (NamedByTrait<E>) {
    std::array<std::pair<E, std::string_view>, std::size(EnumNames<E>::names)> names{};
    std::size_t count = 0;
    for (const auto& [value, name] : EnumNames<E>::names) names[count++] = {value, name};
    return names;
  } else {
    constexpr auto found =
        find_enumerators<E>(ValuesFrom<lowest_enumerator<E>, enumerator_range>{});
    static_assert(found.count > 0,
                  "godwit: this enum has no named value from -128 to 127 (0 to 255 if its type is "
                  "unsigned); specialise EnumNames");
    std::array<std::pair<E, std::string_view>, found.count> names{};
    for (std::size_t i = 0; i < found.count; ++i) names[i] = found.all[i];
    return names;
  }
}();

/// Stops the compiler where names are seen to be missing.
template <class E>
consteval void check_enum_names() {
  if constexpr (!NamedByTrait<E>) {
    static_assert(!has_names_beyond<E>(),
                  "godwit: this enum has values whose names are not found, because they are not "
                  "from -128 to 127 (0 to 255 if its type is unsigned); specialise EnumNames");
  }
}

/// Throws TypeError.
[[noreturn]] GODWIT_API void no_enum_name(std::string_view type, std::string_view value);

}  // namespace detail

/// The name of a value; empty if it has none.
template <class E>
  requires std::is_enum_v<E>
constexpr std::string_view enum_name(E value) noexcept {
  for (const auto& [known, name] : detail::enum_names<E>) {
    if (known == value) return name;
  }
  return {};
}

/// The value of a name.
template <class E>
  requires std::is_enum_v<E>
constexpr std::optional<E> enum_value(std::string_view name) noexcept {
  for (const auto& [value, known] : detail::enum_names<E>) {
    if (known == name) return value;
  }
  return std::nullopt;
}

}  // namespace godwit::inline v0::json
