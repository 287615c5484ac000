// form_schema<T>: the schema of a form that a person fills in, from a flat struct. The protocol
// allows text, numbers, booleans, and one or several of an enum; nothing nested.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include "godwit/base/export.hpp"
#include "godwit/json/codec.hpp"
#include "godwit/json/raw_json.hpp"
#include "godwit/json/schema_of.hpp"

namespace godwit::inline v0 {

namespace detail::server {

template <class T>
consteval bool fits_a_form_field() {
  using namespace json::detail;
  if constexpr (Optional<T>) {
    return fits_a_form_field<Held<T>>();
  } else if constexpr (Sequence<T>) {
    return std::is_enum_v<typename T::value_type>;
  } else {
    return std::same_as<T, bool> || Whole<T> || std::floating_point<T> ||
           std::same_as<T, std::string> || std::is_enum_v<T>;
  }
}

template <class T>
consteval bool fits_a_form() {
  if constexpr (!json::detail::Struct<T>) {
    return false;
  } else {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (fits_a_form_field<json::detail::FieldType<T, I>>() && ...);
    }(std::make_index_sequence<json::detail::field_count<T>>{});
  }
}

/// Takes out of the schema what forms have no word for.
GODWIT_API RawJson reduce_to_form(json::Value schema);

}  // namespace detail::server

template <class T>
RawJson form_schema() {
  static_assert(
      detail::server::fits_a_form<T>(),
      "godwit: a form is a flat struct of std::string, bool, numbers, enums and vectors of "
      "enums (each may be std::optional); nothing nested");
  return detail::server::reduce_to_form(json::schema_of<T>());
}

}  // namespace godwit::inline v0
