// nlohmann::json and godwit: conversions both ways, and nlohmann::json (or ordered_json) wherever a
// type with a JSON form may stand: as a struct field, as a handler's argument or result, in
// json::decode and json::encode. Header only; not part of the umbrella headers, because the library
// itself does not need nlohmann.
//
//   router.on("merge", [](nlohmann::json patch) { state.merge_patch(patch); return state; });
//
// What changes on the way: nlohmann::json sorts its members by name (ordered_json does not);
// integers are exact from -2^63 to 2^64-1 in both, and one beyond that becomes a double in
// nlohmann. In the other direction NaN and infinities become null and bad UTF-8 U+FFFD when they
// are written, and nlohmann's binary values take the form {"bytes":[…],"subtype":…} that its dump()
// gives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "godwit/base/export.hpp"
#include "godwit/json/codec.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/json/value.hpp"
#include "godwit/json/view.hpp"
#include "godwit/json/writer.hpp"

namespace godwit::inline v0 {

namespace detail::adapters {

template <class T>
concept NlohmannJson = nlohmann::detail::is_basic_json<T>::value;

/// False if there is a number that is beyond the doubles. A Value or a View.
template <NlohmannJson Json, class Source>
bool scalar_to_nlohmann(const Source& source, Json& out) {
  if (const auto flag = source.as_bool()) {
    out = *flag;
  } else if (const auto text = source.as_string()) {
    out = typename Json::string_t(*text);
  } else if (source.is_real()) {
    out = *source.as_double();  // before the integers: 1.0 stays a float
  } else if (const auto whole = source.as_int64()) {
    out = *whole;
  } else if (const auto large = source.as_uint64()) {
    out = *large;
  } else if (const auto rounded = source.as_double()) {
    out = *rounded;
  } else if (source.is_number()) {
    return false;
  } else {
    out = nullptr;
  }
  return true;
}

template <NlohmannJson Json>
Json value_to_nlohmann(const json::Value& value) {
  Json out;
  if (const json::Array* items = value.as_array()) {
    out = Json::array();
    for (const json::Value& item : *items) out.push_back(value_to_nlohmann<Json>(item));
  } else if (const json::Object* members = value.as_object()) {
    out = Json::object();
    for (const json::Member& member : *members) {
      out[member.key] = value_to_nlohmann<Json>(member.value);
    }
  } else if (!scalar_to_nlohmann(value, out)) {
    throw json::TypeError("godwit: nlohmann::json cannot hold a number of " +
                          std::to_string(value.big_integer().size()) + " digits");
  }
  return out;
}

template <NlohmannJson Json>
bool view_to_nlohmann(json::View view, Json& out, json::DecodeFailure& failure) {
  if (!failure.spend()) return false;
  if (view.is_array()) {
    out = Json::array();
    std::size_t position = 0;
    for (json::View item : view.items()) {
      out.push_back(nullptr);
      if (!view_to_nlohmann(item, out.back(), failure)) return failure.inside(position);
      ++position;
    }
    return true;
  }
  if (view.is_object()) {
    out = Json::object();
    for (const auto [key, value] : view.members()) {
      // Of two members of one name the last wins, as in json::Value.
      if (!view_to_nlohmann(value, out[std::string(key)], failure)) return failure.inside(key);
    }
    return true;
  }
  return scalar_to_nlohmann(view, out) || failure.expected("a number that a double can hold", view);
}

/// Calls the Writer in the order of the value.
template <NlohmannJson Json>
void write_nlohmann(json::Writer& writer, const Json& value) {
  using Kind = nlohmann::detail::value_t;
  switch (value.type()) {
    case Kind::boolean:
      return writer.value(value.template get<bool>());
    case Kind::number_integer:
      return writer.value(value.template get<typename Json::number_integer_t>());
    case Kind::number_unsigned:
      return writer.value(value.template get<typename Json::number_unsigned_t>());
    case Kind::number_float:
      return writer.value(static_cast<double>(value.template get<typename Json::number_float_t>()));
    case Kind::string:
      return writer.value(
          std::string_view(value.template get_ref<const typename Json::string_t&>()));
    case Kind::array:
      writer.begin_array();
      for (const Json& item : value) write_nlohmann(writer, item);
      return writer.end_array();
    case Kind::object:
      writer.begin_object();
      for (auto member = value.begin(); member != value.end(); ++member) {
        writer.key(member.key());
        write_nlohmann(writer, member.value());
      }
      return writer.end_object();
    case Kind::binary: {
      const auto& binary = value.get_binary();
      writer.begin_object();
      writer.key("bytes");
      writer.begin_array();
      for (const auto byte : binary) writer.value(static_cast<std::uint8_t>(byte));
      writer.end_array();
      writer.key("subtype");
      if (binary.has_subtype()) {
        writer.value(static_cast<std::uint64_t>(binary.subtype()));
      } else {
        writer.null();
      }
      return writer.end_object();
    }
    case Kind::null:
    case Kind::discarded:
      return writer.null();
  }
}

}  // namespace detail::adapters

/// A copy as nlohmann::json, or as the type named: to_nlohmann<nlohmann::ordered_json>(value).
/// Throws json::TypeError for an integer that is beyond the doubles.
template <detail::adapters::NlohmannJson Json = nlohmann::json>
Json to_nlohmann(const json::Value& value) {
  return detail::adapters::value_to_nlohmann<Json>(value);
}

/// A copy of a nlohmann::json or ordered_json.
template <detail::adapters::NlohmannJson Json>
json::Value from_nlohmann(const Json& value) {
  using Kind = nlohmann::detail::value_t;
  switch (value.type()) {
    case Kind::boolean:
      return value.template get<bool>();
    case Kind::number_integer:
      return value.template get<typename Json::number_integer_t>();
    case Kind::number_unsigned:
      return value.template get<typename Json::number_unsigned_t>();
    case Kind::number_float:
      return static_cast<double>(value.template get<typename Json::number_float_t>());
    case Kind::string:
      return std::string(value.template get_ref<const typename Json::string_t&>());
    case Kind::array: {
      json::Array items;
      items.reserve(value.size());
      for (const Json& item : value) items.push_back(from_nlohmann(item));
      return items;
    }
    case Kind::object: {
      json::Value object = json::Object{};
      for (auto member = value.begin(); member != value.end(); ++member) {
        object[member.key()] = from_nlohmann(member.value());
      }
      return object;
    }
    case Kind::binary: {
      const auto& binary = value.get_binary();
      json::Array bytes;
      for (const auto byte : binary) bytes.emplace_back(static_cast<std::uint8_t>(byte));
      json::Value subtype;
      if (binary.has_subtype()) subtype = static_cast<std::uint64_t>(binary.subtype());
      return json::Object{{"bytes", std::move(bytes)}, {"subtype", std::move(subtype)}};
    }
    case Kind::null:
    case Kind::discarded:
      break;
  }
  return nullptr;
}

/// nlohmann::json in structs, handlers, decode() and encode(): takes any JSON.
template <detail::adapters::NlohmannJson Json>
struct json::Codec<Json> {
  static bool read(View view, Json& out, DecodeFailure& failure) {
    return godwit::detail::adapters::view_to_nlohmann(view, out, failure);
  }
  static void write(Writer& writer, const Json& value) {
    godwit::detail::adapters::write_nlohmann(writer, value);
  }
  static Value schema() { return Object{}; }
};

}  // namespace godwit::inline v0
