// Names of enumerators, found by the compiler for values from -128 to 127. For others, or for other
// names on the wire, specialise EnumNames:
//
//   template <> struct godwit::json::EnumNames<Color> {
//     static constexpr std::pair<Color, std::string_view> names[] = {{Color::red, "rouge"}};
//   };
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

inline constexpr int lowest_enumerator = -128;
inline constexpr std::size_t enumerator_range = 256;

template <class E, E... values>
consteval std::string_view enumerators_text() {
  return __PRETTY_FUNCTION__;
}

template <class E>
constexpr bool in_underlying_range(int value) {
  using Limits = std::numeric_limits<std::underlying_type_t<E>>;
  return value >= static_cast<long long>(Limits::min()) &&
         (value < 0 ||
          static_cast<unsigned long long>(value) <= static_cast<unsigned long long>(Limits::max()));
}

// One function text lists all values: named ones as `Unit::kelvin`, others as `(Unit)7`.
template <class E, std::size_t... I>
consteval std::string_view list_enumerators(std::index_sequence<I...>) {
  return enumerators_text<E, static_cast<E>(
                                 in_underlying_range<E>(static_cast<int>(I) + lowest_enumerator)
                                     ? static_cast<int>(I) + lowest_enumerator
                                     : 0)...>();
}

template <class E>
struct FoundNames {
  std::array<std::pair<E, std::string_view>, enumerator_range> all{};
  std::size_t count = 0;
};

template <class E>
consteval FoundNames<E> find_enumerators() {
  static_assert(
      requires { E{0}; },
      "godwit: give the enum a fixed underlying type (enum E : int) or specialise EnumNames");
  FoundNames<E> found;
  const std::string_view text = list_enumerators<E>(std::make_index_sequence<enumerator_range>{});
  std::size_t at = text.find("values = ") + 10;  // after "{" or "<"
  int nested = 0;                                // commas inside template arguments do not count
  int value = lowest_enumerator;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    const bool ends = nested == 0 && (c == '}' || c == '>');
    if (nested == 0 && (c == ',' || ends)) {
      const std::string_view name = last_name(text, at);
      if (in_underlying_range<E>(value) && !name.empty() && !(name[0] >= '0' && name[0] <= '9')) {
        found.all[found.count++] = {static_cast<E>(value), name};
      }
      ++value;
      if (ends) break;
    } else if (c == '<' || c == '(' || c == '{') {
      ++nested;
    } else if (c == '>' || c == ')' || c == '}') {
      --nested;
    }
  }
  return found;
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
    constexpr FoundNames<E> found = find_enumerators<E>();
    static_assert(found.count > 0,
                  "godwit: this enum has no named value from -128 to 127; specialise EnumNames");
    std::array<std::pair<E, std::string_view>, found.count> names{};
    for (std::size_t i = 0; i < found.count; ++i) names[i] = found.all[i];
    return names;
  }
}();

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
