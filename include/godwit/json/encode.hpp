// encode: C++ values into JSON text, straight into the buffer, without a tree in between. Members
// whose std::optional (or smart pointer) is empty are left out.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "godwit/base/export.hpp"
#include "godwit/json/codec.hpp"

namespace godwit::inline v0::json {

/// Appends the JSON form of a value. Throws TypeError for a value of an enum that has no name.
template <class T>
void write(Writer& writer, const T& value);

namespace detail {

/// The double with the fewest digits that reads back as this float: 0.1 for 0.1f, where the float's
/// own value would be written as 0.10000000149011612.
GODWIT_API double shortest(float value) noexcept;

template <class T, std::size_t I>
void write_field(Writer& writer, const T& object) {
  check_description<T, I>();
  const auto& field = std::get<I>(fields_of(object));
  if constexpr (Optional<FieldType<T, I>>) {
    if (!field) return;
    writer.raw_key(QuotedName<T, I>::view);
    write(writer, *field);
  } else {
    writer.raw_key(QuotedName<T, I>::view);
    write(writer, field);
  }
}

template <class T>
void write_struct(Writer& writer, const T& object) {
  writer.begin_object();
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (write_field<T, I>(writer, object), ...);
  }(std::make_index_sequence<field_count<T>>{});
  writer.end_object();
}

}  // namespace detail

template <class T>
void write(Writer& writer, const T& value) {
  using namespace detail;
  if constexpr (Customised<T>) {
    Codec<T>::write(writer, value);
  } else if constexpr (std::same_as<T, Value> || std::same_as<T, View>) {
    writer.value(value);
  } else if constexpr (AnyJson<T>) {
    writer.raw(value.text.empty() ? std::string_view("null") : std::string_view(value.text));
  } else if constexpr (Nothing<T>) {
    writer.null();
  } else if constexpr (std::same_as<T, bool> || Whole<T> || Text<T>) {
    writer.value(value);
  } else if constexpr (std::same_as<T, float>) {
    writer.value(shortest(value));
  } else if constexpr (std::floating_point<T>) {
    writer.value(static_cast<double>(value));
  } else if constexpr (AnyObject<T>) {
    writer.begin_object();
    for (const Member& member : value) {
      writer.key(member.key);
      writer.value(member.value);
    }
    writer.end_object();
  } else if constexpr (std::convertible_to<const T&, const char*>) {
    writer.value(std::string_view(value));
  } else if constexpr (std::is_enum_v<T>) {
    const std::string_view name = enum_name(value);
    if (name.empty()) {
      no_enum_name(type_name<T>(), std::to_string(+static_cast<std::underlying_type_t<T>>(value)));
    }
    writer.value(name);
  } else if constexpr (Optional<T>) {
    if (value) {
      write(writer, *value);
    } else {
      writer.null();
    }
  } else if constexpr (Variant<T>) {
    std::visit([&](const auto& held) { write(writer, held); }, value);
  } else if constexpr (Dictionary<T>) {
    writer.begin_object();
    for (const auto& [key, item] : value) {
      writer.key(key);
      write(writer, item);
    }
    writer.end_object();
  } else if constexpr (FixedArray<T> || Sequence<T>) {
    writer.begin_array();
    for (const auto& item : value) write(writer, static_cast<const typename T::value_type&>(item));
    writer.end_array();
  } else if constexpr (Tuple<T>) {
    writer.begin_array();
    std::apply([&](const auto&... item) { (write(writer, item), ...); }, value);
    writer.end_array();
  } else if constexpr (Struct<T>) {
    write_struct(writer, value);
  } else {
    no_json_form<T>();
  }
}

/// The JSON text of a value.
template <class T>
std::string encode(const T& value) {
  std::string out;
  Writer writer(out);
  write(writer, value);
  return out;
}

}  // namespace godwit::inline v0::json
