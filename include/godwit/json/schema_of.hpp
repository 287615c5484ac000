// schema_of<T>: the JSON Schema (2020-12) of a C++ type, from the same reflection that encodes and
// decodes it. A struct that occurs more than once, or inside itself, goes to $defs.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "godwit/base/export.hpp"
#include "godwit/json/codec.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/json/value.hpp"

namespace godwit::inline v0::json {

namespace detail {

/// Keeps track of the structs of one schema while it is built.
class GODWIT_API SchemaBuilder {
 public:
  /// Counts a struct; true the first time, when its parts are to be counted too.
  bool count(const void* type) { return ++counts_[type] == 1; }
  bool repeated(const void* type) const {
    const auto found = counts_.find(type);
    return found != counts_.end() && found->second > 1;
  }
  /// The name under $defs; `fresh` if it has to be defined now.
  std::string name(const void* type, std::string_view wanted, bool& fresh);
  void define(const std::string& name, Value schema);

  const void* root = nullptr;
  Object definitions;

 private:
  std::map<const void*, int> counts_;
  std::map<const void*, std::string> names_;
  std::set<std::string, std::less<>> taken_;
};

/// What the Field adds to the schema of its type.
GODWIT_API void add_description(Value& schema, const Field& field);

template <class T>
void count_structs(SchemaBuilder& builder) {
  if constexpr (Customised<T>) {
    return;
  } else {
    if constexpr (Struct<T>) {
      if (!builder.count(&type_id<T>)) return;
    }
    for_each_part<T>([&]<class Part>(std::type_identity<Part>) { count_structs<Part>(builder); });
  }
}

template <class T>
Value schema_for(SchemaBuilder& builder);

/// The member of an empty Optional is left out, so its schema need not speak of null.
template <class T>
Value field_schema(SchemaBuilder& builder) {
  if constexpr (Optional<T> && !Customised<T>) {
    return field_schema<Held<T>>(builder);
  } else {
    return schema_for<T>(builder);
  }
}

template <class T>
Value struct_schema(SchemaBuilder& builder) {
  const T defaults{};
  Object properties;
  Array required;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    [[maybe_unused]] const auto one = [&]<std::size_t J>(std::integral_constant<std::size_t, J>) {
      check_description<T, J>();
      const Field& field = descriptions<T>[J];
      Value schema = field_schema<FieldType<T, J>>(builder);
      add_description(schema, field);
      if (field.has_default) {
        if (Result<Value> value = parse(encode(std::get<J>(fields_of(defaults))))) {
          schema["default"] = *std::move(value);
        }
      } else if (!Optional<FieldType<T, J>>) {
        required.emplace_back(wire_names<T>[J]);
      }
      properties.set(std::string(wire_names<T>[J]), std::move(schema));
    };
    (one(std::integral_constant<std::size_t, I>{}), ...);
  }(std::make_index_sequence<field_count<T>>{});
  Value schema = Object{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  if (unknown_members<T>() == Unknown::reject) schema["additionalProperties"] = false;
  return schema;
}

template <class T>
Value schema_for(SchemaBuilder& builder) {
  if constexpr (Customised<T>) {
    if constexpr (requires { Codec<T>::schema(); }) {
      return Codec<T>::schema();
    } else {
      return Object{};
    }
  } else if constexpr (AnyJson<T>) {
    return Object{};
  } else if constexpr (AnyObject<T>) {
    return Object{{"type", "object"}};
  } else if constexpr (Nothing<T>) {
    return Object{{"type", "null"}};
  } else if constexpr (std::same_as<T, bool>) {
    return Object{{"type", "boolean"}};
  } else if constexpr (Whole<T>) {
    // The bounds of wider types would say more about C++ than about the value.
    Value schema = Object{{"type", "integer"}};
    if (std::unsigned_integral<T> || sizeof(T) <= 2) {
      schema["minimum"] = std::numeric_limits<T>::min();
    }
    if (sizeof(T) <= 2) schema["maximum"] = std::numeric_limits<T>::max();
    return schema;
  } else if constexpr (std::floating_point<T>) {
    return Object{{"type", "number"}};
  } else if constexpr (Text<T>) {
    return Object{{"type", "string"}};
  } else if constexpr (std::is_enum_v<T>) {
    check_enum_names<T>();
    Array names;
    for (const auto& [value, name] : enum_names<T>) names.emplace_back(name);
    return Object{{"type", "string"}, {"enum", std::move(names)}};
  } else if constexpr (Optional<T>) {
    Value held = schema_for<Held<T>>(builder);
    if (held.empty()) return held;  // anything, null included
    return Object{{"anyOf", Array{std::move(held), Object{{"type", "null"}}}}};
  } else if constexpr (Variant<T>) {
    Array shapes;
    for_each_part<T>(
        [&]<class Part>(std::type_identity<Part>) { shapes.push_back(schema_for<Part>(builder)); });
    return Object{{"anyOf", std::move(shapes)}};
  } else if constexpr (Dictionary<T>) {
    return Object{{"type", "object"},
                  {"additionalProperties", schema_for<typename T::mapped_type>(builder)}};
  } else if constexpr (FixedArray<T>) {
    return Object{{"type", "array"},
                  {"items", schema_for<typename T::value_type>(builder)},
                  {"minItems", std::tuple_size_v<T>},
                  {"maxItems", std::tuple_size_v<T>}};
  } else if constexpr (Tuple<T>) {
    Array items;
    for_each_part<T>(
        [&]<class Part>(std::type_identity<Part>) { items.push_back(schema_for<Part>(builder)); });
    return Object{{"type", "array"},
                  {"prefixItems", std::move(items)},
                  {"minItems", std::tuple_size_v<T>},
                  {"maxItems", std::tuple_size_v<T>}};
  } else if constexpr (Sequence<T>) {
    return Object{{"type", "array"}, {"items", schema_for<typename T::value_type>(builder)}};
  } else if constexpr (Struct<T>) {
    if (&type_id<T> == builder.root) return Object{{"$ref", "#"}};
    if (!builder.repeated(&type_id<T>)) return struct_schema<T>(builder);
    bool fresh = false;
    const std::string name = builder.name(&type_id<T>, type_name<T>(), fresh);
    if (fresh) builder.define(name, struct_schema<T>(builder));
    return Object{{"$ref", "#/$defs/" + name}};
  } else {
    no_json_form<T>();
    return {};
  }
}

}  // namespace detail

/// The schema of T.
template <class T>
Value schema_of() {
  detail::SchemaBuilder builder;
  detail::count_structs<T>(builder);
  Value schema;
  if constexpr (detail::Struct<T>) {
    builder.root = &detail::type_id<T>;
    schema = detail::struct_schema<T>(builder);
  } else {
    schema = detail::schema_for<T>(builder);
  }
  if (!builder.definitions.empty()) schema["$defs"] = std::move(builder.definitions);
  return schema;
}

}  // namespace godwit::inline v0::json
