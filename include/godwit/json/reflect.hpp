// Reflection of plain structs without macros: how many fields, what they are called, what they
// hold. The whole trick lives here (and in bindings.hpp): the compiler is asked how many
// initialisers the struct takes, structured bindings give the fields, and a field's name is cut
// from the text of a function whose template argument is a pointer to it. The object pointed into
// is declared and never defined; only its address is ever formed.
//
// Works for aggregates: no constructors, no private fields, no bases with fields, no C arrays, no
// references, no bit-fields, up to 64 fields.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "godwit/base/export.hpp"
#include "godwit/json/bindings.hpp"
#include "godwit/json/field.hpp"

namespace godwit::inline v0::json {

/// Can be made without arguments. Not std::is_default_constructible: clang answers that, and keeps
/// the answer, too early for a struct with a defaulted == and a std::map of itself.
template <class T>
concept Makeable = requires { T{}; };

/// A struct that can be reflected. std::array is an aggregate, too, but a container.
template <class T>
concept Reflected =
    std::is_class_v<T> && std::is_aggregate_v<T> && Makeable<T> && !requires(T object) {
      typename T::value_type;
      object.begin();
    };

namespace detail {

struct Anything {
  // Never called, only named. Yet clang wants a definition where T has no linkage.
  template <class T>
  operator T() const noexcept {
    std::abort();
  }
};

template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{((void)I, Anything{})...}; };
}

// A struct takes every number of initialisers up to its number of fields, so halving finds it.
template <class T, std::size_t low, std::size_t high>
constexpr std::size_t count_fields() {
  if constexpr (low == high) {
    return low;
  } else {
    constexpr std::size_t middle = (low + high + 1) / 2;
    if constexpr (takes<T>(std::make_index_sequence<middle>{})) {
      return count_fields<T, middle, high>();
    } else {
      return count_fields<T, low, middle - 1>();
    }
  }
}

/// Converts only to a base of T. Bases are initialised before the fields.
template <class T>
struct OnlyBaseOf {
  template <class Base>
    requires(std::is_base_of_v<Base, T> && !std::is_same_v<Base, T>)
  operator Base() const noexcept {
    std::abort();
  }
};
template <class T>
concept HasBase = requires { T{OnlyBaseOf<T>{}}; };

/// `before` initialisers, then {}, then `after` more.
template <class T, std::size_t... before, std::size_t... after>
constexpr bool takes_braces(std::index_sequence<before...>, std::index_sequence<after...>) {
  return requires { T{((void)before, Anything{})..., {}, ((void)after, Anything{})...}; };
}

// The items of a C array are counted one by one, while {} stands for the whole array: with it there
// is no room for as many initialisers as were counted.
template <class T, std::size_t count>
constexpr bool has_c_array() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return ((takes_braces<T>(std::make_index_sequence<I>{}, std::index_sequence<>{}) &&
             !takes_braces<T>(std::make_index_sequence<I>{},
                              std::make_index_sequence<count - 1 - I>{})) ||
            ...);
  }(std::make_index_sequence<count>{});
}

// What cannot be reflected counts as empty, so that the compiler says our sentence and little else.
template <class T>
consteval std::size_t checked_field_count() {
  if constexpr (HasBase<T>) {
    static_assert(!HasBase<T>,
                  "godwit: a struct with a base class cannot be reflected; make the base a field, "
                  "or specialise godwit::json::Codec");
    return 0;
  } else {
    constexpr std::size_t count = count_fields<T, 0, 65>();
    constexpr bool c_array = has_c_array<T, count>();
    static_assert(!c_array,
                  "godwit: a struct with a C array cannot be reflected; use std::array or "
                  "std::string");
    static_assert(c_array || count <= 64,
                  "godwit: a struct with more than 64 fields cannot be reflected; group some of "
                  "them into a struct of their own");
    return c_array || count > 64 ? 0 : count;
  }
}

template <class T>
inline constexpr std::size_t field_count = checked_field_count<std::remove_cv_t<T>>();

template <class T>
constexpr auto fields_of(T& object) noexcept {
  return tie_fields<field_count<T>>(object);
}

template <class T, std::size_t I>
using FieldType = std::remove_cvref_t<
    std::tuple_element_t<I, decltype(fields_of(std::declval<std::remove_cv_t<T>&>()))>>;

template <class T>
struct Holder {  // clang before 18 takes a pointer into an object only wrapped like this
  T value;
};
template <class T>
struct Pointer {
  const T* pointer;
};
template <class T>
Pointer(const T*) -> Pointer<T>;

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-internal"
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif
template <class T>
extern const Holder<T> nowhere;

template <auto pointer>
consteval std::string_view function_text() {
  return __PRETTY_FUNCTION__;
}

constexpr bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

/// The identifier that ends just before `end`.
constexpr std::string_view last_name(std::string_view text, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && is_name_char(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

template <class T, std::size_t I>
consteval std::string_view find_field_name() {
  constexpr std::string_view text =
      function_text<Pointer{&std::get<I>(fields_of(nowhere<T>.value))}>();
  // g++ ends the argument with ")}", clang with "}]".
  constexpr std::size_t mark = text.rfind(")}");
  return last_name(text, mark != std::string_view::npos ? mark : text.rfind("}]"));
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

// A struct may well have fields of its own that are called `fields` or `unknown_members`.
template <class T>
concept DescribedInside = requires {
  requires !std::is_member_pointer_v<decltype(&T::fields)>;
  requires std::same_as<std::remove_cvref_t<decltype(*std::begin(T::fields))>, Field>;
};
template <class T>
concept DescribedOutside = requires {
  requires std::same_as<std::remove_cvref_t<decltype(*std::begin(Describe<T>::fields))>, Field>;
};
template <class T>
concept SaysUnknownInside = requires {
  requires !std::is_member_pointer_v<decltype(&T::unknown_members)>;
  requires std::same_as<std::remove_cvref_t<decltype(T::unknown_members)>, Unknown>;
};

/// What the struct says about the field of this C++ name.
template <class T>
constexpr Field description_of(std::string_view name) {
  if constexpr (DescribedOutside<T>) {
    for (const Field& field : Describe<T>::fields) {
      if (field.name == name) return field;
    }
  } else if constexpr (DescribedInside<T>) {
    for (const Field& field : T::fields) {
      if (field.name == name) return field;
    }
  }
  return Field{.name = name};
}

/// The C++ names, in order.
template <class T>
inline constexpr auto cpp_names = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array<std::string_view, sizeof...(I)>{find_field_name<T, I>()...};
}(std::make_index_sequence<field_count<T>>{});

/// How many entries of `fields` have this name.
template <class T>
constexpr std::size_t times_described(std::string_view name) {
  std::size_t times = 0;
  if constexpr (DescribedOutside<T>) {
    for (const Field& field : Describe<T>::fields) times += field.name == name ? 1u : 0u;
  } else if constexpr (DescribedInside<T>) {
    for (const Field& field : T::fields) times += field.name == name ? 1u : 0u;
  }
  return times;
}

template <class T>
constexpr std::size_t entries() {
  if constexpr (DescribedOutside<T>) {
    return std::size(Describe<T>::fields);
  } else if constexpr (DescribedInside<T>) {
    return std::size(T::fields);
  } else {
    return 0;
  }
}

template <class T>
constexpr bool describes_nothing_twice() {
  for (std::string_view name : cpp_names<T>) {
    if (times_described<T>(name) > 1) return false;
  }
  return true;
}

template <class T>
constexpr bool describes_only_what_exists() {
  std::size_t found = 0;
  for (std::string_view name : cpp_names<T>) found += times_described<T>(name);
  return found == entries<T>();
}

template <class T>
inline constexpr auto descriptions = []<std::size_t... I>(std::index_sequence<I...>) {
  static_assert(
      describes_only_what_exists<T>(),
      "godwit: 'fields' names a field that this struct does not have; check the spelling");
  static_assert(describes_nothing_twice<T>(),
                "godwit: 'fields' names the same field twice; put all that it says into one entry");
  return std::array<Field, sizeof...(I)>{description_of<T>(cpp_names<T>[I])...};
}(std::make_index_sequence<field_count<T>>{});

/// The names on the wire, in order.
template <class T>
inline constexpr auto wire_names = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array<std::string_view, sizeof...(I)>{
      (descriptions<T>[I].rename.empty() ? cpp_names<T>[I] : descriptions<T>[I].rename)...};
}(std::make_index_sequence<field_count<T>>{});

template <class T>
constexpr bool wire_names_differ() {
  for (std::size_t i = 0; i < wire_names<T>.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (wire_names<T>[i] == wire_names<T>[k]) return false;
    }
  }
  return true;
}

template <class T>
constexpr bool wire_names_are_plain() {
  for (std::string_view name : wire_names<T>) {
    for (char c : name) {
      if (c == '"' || c == '\\' || (static_cast<unsigned char>(c) < 0x20)) return false;
    }
  }
  return true;
}

template <class T>
constexpr Unknown unknown_members() {
  if constexpr (requires { Describe<T>::unknown_members; }) {
    return Describe<T>::unknown_members;
  } else if constexpr (SaysUnknownInside<T>) {
    return T::unknown_members;
  } else {
    return Unknown::ignore;
  }
}

/// `"name":` as the Writer takes it.
template <class T, std::size_t I>
struct QuotedName {
  static_assert(
      wire_names_are_plain<T>(),
      "godwit: a name on the wire must not hold quotes, backslashes or control characters");
  static constexpr auto text = [] {
    constexpr std::string_view name = wire_names<T>[I];
    std::array<char, name.size() + 3> chars{};
    chars[0] = '"';
    for (std::size_t i = 0; i < name.size(); ++i) chars[i + 1] = name[i];
    chars[name.size() + 1] = '"';
    chars[name.size() + 2] = ':';
    return chars;
  }();
  static constexpr std::string_view view{text.data(), text.size()};
};

/// The unqualified name of a type, for people: `Weather`.
template <class T>
consteval std::string_view type_text() {
  return __PRETTY_FUNCTION__;
}
template <class T>
constexpr std::string_view type_name() {
  constexpr std::string_view text = type_text<T>();
  constexpr std::size_t begin = text.find("T = ") + 4;
  std::size_t end = begin;
  int angle = 0;  // template arguments are left out
  std::size_t name_end = std::string_view::npos;
  for (; end < text.size(); ++end) {
    if (text[end] == '<') {
      if (angle++ == 0 && name_end == std::string_view::npos) name_end = end;
    } else if (text[end] == '>') {
      --angle;
    } else if (angle == 0 && (text[end] == ';' || text[end] == ']')) {
      break;
    } else if (angle == 0 && text[end] == ':') {
      name_end = std::string_view::npos;
    }
  }
  return last_name(text, name_end != std::string_view::npos ? name_end : end);
}

/// A distinct address per type: identity without RTTI.
template <class T>
inline constexpr char type_id = 0;

}  // namespace detail
}  // namespace godwit::inline v0::json
