#include "godwit/json/schema_of.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace godwit::inline v0::json::detail {

std::string SchemaBuilder::name(const void* type, std::string_view wanted, bool& fresh) {
  const auto known = names_.find(type);
  fresh = known == names_.end();
  if (!fresh) return known->second;
  const std::string base(wanted.empty() ? std::string_view("Type") : wanted);
  std::string name = base;
  // Types of one name in different namespaces.
  for (int next = 2; !taken_.insert(name).second; ++next) name = base + std::to_string(next);
  names_.emplace(type, name);
  return name;
}

void SchemaBuilder::define(const std::string& name, Value schema) {
  definitions.set(name, std::move(schema));
}

void add_description(Value& schema, const Field& field) {
  const auto number = [](double value) -> Value {
    if (const auto whole = Value(value).as_int64()) return *whole;  // 1, not 1.0
    return value;
  };
  if (!field.about.empty()) schema["description"] = field.about;
  // The type may have bounds already; the tighter one counts.
  const auto bound = [&](std::string_view keyword, double value, bool upper) {
    const std::optional<double> old = std::as_const(schema)[keyword].as_double();
    if (!old || (upper ? value < *old : value > *old)) schema[keyword] = number(value);
  };
  if (field.minimum) bound("minimum", *field.minimum, false);
  if (field.maximum) bound("maximum", *field.maximum, true);
  if (field.min_length) schema["minLength"] = *field.min_length;
  if (field.max_length) schema["maxLength"] = *field.max_length;
  if (!field.pattern.empty()) schema["pattern"] = field.pattern;
  if (field.schema.empty()) return;
  const Result<Value> parsed = parse(field.schema);
  const Object* const more = parsed ? parsed->as_object() : nullptr;
  if (!more) {
    throw std::invalid_argument("the schema of the field \"" + std::string(field.name) +
                                "\" must be a JSON object" +
                                (parsed ? "" : ": " + parsed.error().message));
  }
  for (const auto& [keyword, value] : *more) schema[keyword] = value;
}

}  // namespace godwit::inline v0::json::detail
