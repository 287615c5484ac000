// What godwit's codec knows about types: which shape of JSON each C++ type has. Used by decode.hpp,
// encode.hpp and schema_of.hpp, so that the three never disagree.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "godwit/base/export.hpp"
#include "godwit/json/enum_names.hpp"
#include "godwit/json/raw_json.hpp"
#include "godwit/json/reflect.hpp"
#include "godwit/json/value.hpp"
#include "godwit/json/view.hpp"
#include "godwit/json/writer.hpp"

namespace godwit::inline v0::json {

class DecodeFailure;

/// Specialise to give a type of your own another JSON form:
///
///   template <> struct godwit::json::Codec<Date> {
///     static bool read(View view, Date& out, DecodeFailure& failure);   // false after
///     failure.expected(...) static void write(Writer& writer, const Date& date); static Value
///     schema();                                            // e.g.
///     {"type":"string","format":"date"}
///   };
template <class T>
struct Codec {};

namespace detail {

template <class T>
concept Customised = requires { &Codec<T>::read; } || requires { &Codec<T>::write; };

template <class T>
concept Text = std::same_as<T, std::string> || std::same_as<T, std::string_view>;

// char and its kin are letters to some and numbers to others: left out.
template <class T>
concept Whole = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
                !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
                !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

template <class T>
concept AnyJson = std::same_as<T, Value> || std::same_as<T, RawJson> || std::same_as<T, RawView> ||
                  std::same_as<T, View>;

/// The class of json, not a type to be reflected.
template <class T>
concept AnyObject = std::same_as<T, Object>;

template <class T>
concept Nothing = std::same_as<T, std::nullptr_t> || std::same_as<T, std::monostate>;

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsOptional<std::unique_ptr<T>> : std::true_type {};
template <class T>
struct IsOptional<std::shared_ptr<T>> : std::true_type {};

/// Something that may hold nothing: its member may be left out.
template <class T>
concept Optional = IsOptional<T>::value;

/// What an Optional holds.
template <class T>
using Held = std::remove_cvref_t<decltype(*std::declval<T&>())>;

template <class T>
struct IsVariant : std::false_type {};
template <class... T>
struct IsVariant<std::variant<T...>> : std::true_type {};
template <class T>
concept Variant = IsVariant<T>::value;

template <class T>
struct IsArray : std::false_type {};
template <class T, std::size_t N>
struct IsArray<std::array<T, N>> : std::true_type {};
template <class T>
concept FixedArray = IsArray<T>::value;

template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};
template <class A, class B>
struct IsTuple<std::pair<A, B>> : std::true_type {};
/// A fixed list of different types: an array.
template <class T>
concept Tuple = IsTuple<T>::value;

template <class T>
concept Dictionary = requires(T map, typename T::key_type key, typename T::mapped_type value) {
  requires std::same_as<typename T::key_type, std::string>;
  map.emplace(std::move(key), std::move(value));
};

template <class T>
concept Sequence = !Text<T> && !FixedArray<T> && !AnyJson<T> && !requires {
  typename T::mapped_type;
} && requires(T list, typename T::value_type item) {
  list.insert(list.end(), std::move(item));
  list.begin();
};

template <class T>
concept Struct = Reflected<T> && !Customised<T> && !AnyJson<T> && !Nothing<T>;

template <class T>
inline constexpr bool unsupported = false;

/// Stops the compiler with the sentence that tells most about T.
template <class T>
consteval void no_json_form() {
  if constexpr (std::is_const_v<T>) {
    static_assert(unsupported<T>, "godwit: a const field cannot be decoded; leave out the const");
  } else if constexpr (requires { typename T::mapped_type; }) {
    static_assert(unsupported<T>, "godwit: the keys of a map must be std::string, as in JSON");
  } else {
    static_assert(unsupported<T>,
                  "godwit: this type has no JSON form; make it a plain struct (an aggregate with "
                  "default values) or specialise godwit::json::Codec for it");
  }
}

/// Can the JSON of a T be a number, or a string, to which the bounds of a Field apply?
template <class T>
consteval bool may_be_number() {
  if constexpr (Customised<T> || AnyJson<T>) {
    return true;
  } else if constexpr (Optional<T>) {
    return may_be_number<Held<T>>();
  } else if constexpr (Variant<T>) {
    return []<class... A>(std::type_identity<std::variant<A...>>) {
      return (may_be_number<A>() || ...);
    }(std::type_identity<T>{});
  } else {
    return Whole<T> || std::floating_point<T>;
  }
}
template <class T>
consteval bool may_be_text() {
  if constexpr (Customised<T> || AnyJson<T>) {
    return true;
  } else if constexpr (Optional<T>) {
    return may_be_text<Held<T>>();
  } else if constexpr (Variant<T>) {
    return []<class... A>(std::type_identity<std::variant<A...>>) {
      return (may_be_text<A>() || ...);
    }(std::type_identity<T>{});
  } else {
    return Text<T>;
  }
}

/// A bound that could never apply is a mistake, and one that would let bad input through.
template <class T, std::size_t I>
consteval void check_description() {
  constexpr const Field& about = descriptions<T>[I];
  using Type = FieldType<T, I>;
  static_assert(!(about.minimum || about.maximum) || may_be_number<Type>(),
                "godwit: minimum and maximum are for fields that hold a number");
  static_assert(
      !(about.min_length || about.max_length || !about.pattern.empty()) || may_be_text<Type>(),
      "godwit: min_length, max_length and pattern are for fields that hold a string");
  static_assert(wire_names_differ<T>(),
                "godwit: two fields of this struct have the same name on the wire; check 'rename'");
}

/// Calls f with std::type_identity of every type that T is made of, one level down.
template <class T, class F>
constexpr void for_each_part(F&& f) {
  if constexpr (Optional<T>) {
    f(std::type_identity<Held<T>>{});
  } else if constexpr (Variant<T>) {
    [&]<class... A>(std::type_identity<std::variant<A...>>) {
      (f(std::type_identity<A>{}), ...);
    }(std::type_identity<T>{});
  } else if constexpr (Tuple<T>) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(std::type_identity<std::tuple_element_t<I, T>>{}), ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
  } else if constexpr (Dictionary<T>) {
    f(std::type_identity<typename T::mapped_type>{});
  } else if constexpr (FixedArray<T> || Sequence<T>) {
    f(std::type_identity<typename T::value_type>{});
  } else if constexpr (Struct<T>) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(std::type_identity<FieldType<T, I>>{}), ...);
    }(std::make_index_sequence<field_count<T>>{});
  }
}

template <class T, class... Seen>
consteval bool borrows() {
  if constexpr (std::same_as<T, std::string_view> || std::same_as<T, RawView> ||
                std::same_as<T, View>) {
    return true;
  } else if constexpr ((std::same_as<T, Seen> || ...) || Customised<T>) {
    return false;
  } else {
    bool found = false;
    for_each_part<T>([&]<class Part>(std::type_identity<Part>) {
      found = found || borrows<Part, T, Seen...>();
    });
    return found;
  }
}

}  // namespace detail

/// True if a T may point into the message it was decoded from (std::string_view, RawView, View,
/// anywhere inside). Such a T is only good while the message is.
template <class T>
inline constexpr bool borrows = detail::borrows<std::remove_cvref_t<T>>();

}  // namespace godwit::inline v0::json
