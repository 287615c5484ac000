#include "stateless_headers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "godwit/json/writer.hpp"
#include "godwit/mcp/content.hpp"
#include "stateless.hpp"

namespace godwit::inline v0::mcp {

namespace {

constexpr std::string_view mark = "x-mcp-header";
constexpr std::string_view base64_begin = "=?base64?";
constexpr std::string_view base64_end = "?=";
/// More marks than a request has room for as header fields, a name longer than fields have, or a
/// property buried deeper than anybody writes it: each mark keeps its path.
constexpr std::size_t most_marks = 64;
constexpr std::size_t most_name = 256;
constexpr std::size_t most_path_bytes = 4u << 10;
/// Beyond this a number means different things to different readers.
constexpr double largest_integer = 9007199254740991.0;

bool is_token(std::string_view text) {
  static constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           others.find(c) != others.npos;
  });
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool looks_encoded(std::string_view text) {
  return text.size() >= base64_begin.size() + base64_end.size() && text.starts_with(base64_begin) &&
         text.ends_with(base64_end);
}

/// Finds the marks below `schema`. Only properties of properties may carry one: elsewhere nobody
/// could say which value is meant.
class Marks {
 public:
  Result<std::vector<ParamHeader>> find(json::View schema) {
    if (schema.find(mark)) fail("\"x-mcp-header\" may stand in properties only, not at the root");
    properties(schema);
    if (problem_.empty()) elsewhere(schema, true);
    if (!problem_.empty()) return Error{.code = code::header_mismatch, .message = problem_};
    return std::move(found_);
  }

 private:
  void properties(json::View schema) {
    if (path_.size() > 64) return;
    for (const auto [name, property] : schema.find("properties").members()) {
      if (!problem_.empty()) return;
      path_.emplace_back(name);
      path_bytes_ += name.size();
      if (const json::View value = property.find(mark)) take(property, value);
      properties(property);
      path_bytes_ -= name.size();
      path_.pop_back();
    }
  }

  void take(json::View property, json::View value) {
    const auto name = value.as_string();
    const std::string where =
        "the property " + json::quote(std::string_view(path_.back()).substr(0, 200));
    if (found_.size() >= most_marks) {
      return fail("more than " + std::to_string(most_marks) +
                  " properties have a \"x-mcp-header\"");
    }
    if (path_bytes_ > most_path_bytes) {
      return fail(where +
                  " has a \"x-mcp-header\" and stands too deep: the names on the way to it "
                  "have more than " +
                  std::to_string(most_path_bytes) + " bytes");
    }
    if (!name || name->size() > most_name || !is_token(*name)) {
      return fail(where + " has a \"x-mcp-header\" that is no name of a header");
    }
    if (!names_.insert(lower(*name)).second) {
      return fail("the header " + json::quote(name->substr(0, 200)) +
                  " is given to two properties");
    }
    ParamHeader out{.name = std::string(*name), .path = path_};
    const auto type = property.find("type").as_string();
    if (type == "string") {
      out.kind = ParamHeader::Kind::string;
    } else if (type == "integer") {
      out.kind = ParamHeader::Kind::integer;
    } else if (type == "boolean") {
      out.kind = ParamHeader::Kind::boolean;
    } else {
      return fail(where + " has a \"x-mcp-header\" and must be a string, an integer or a boolean");
    }
    found_.push_back(std::move(out));
  }

  /// Marks where none may be. `plain`: this schema is reached through properties alone.
  void elsewhere(json::View value, bool plain, unsigned depth = 0) {
    if (!problem_.empty() || depth > 200) return;
    if (value.is_array()) {
      for (const json::View item : value.items()) elsewhere(item, false, depth + 1);
      return;
    }
    if (!value.is_object()) return;
    if (!plain && value.find(mark)) {
      return fail("\"x-mcp-header\" may stand in properties only, not below other keywords");
    }
    for (const auto [key, member] : value.members()) {
      if (plain && key == "properties") {
        for (const auto [name, property] : member.members()) {
          elsewhere(property, true, depth + 1);
        }
      } else if (is_schema_keyword(key)) {
        elsewhere_below(key, member, depth);
      }
    }
  }

  static bool is_schema_keyword(std::string_view key) {
    static constexpr std::string_view keywords[] = {"items",
                                                    "prefixItems",
                                                    "additionalItems",
                                                    "contains",
                                                    "oneOf",
                                                    "anyOf",
                                                    "allOf",
                                                    "not",
                                                    "if",
                                                    "then",
                                                    "else",
                                                    "$defs",
                                                    "properties",
                                                    "definitions",
                                                    "additionalProperties",
                                                    "patternProperties",
                                                    "propertyNames",
                                                    "dependentSchemas",
                                                    "unevaluatedItems",
                                                    "unevaluatedProperties"};
    return std::ranges::find(keywords, key) != std::end(keywords);
  }
  static bool is_map_of_schemas(std::string_view key) {
    return key == "$defs" || key == "definitions" || key == "patternProperties" ||
           key == "dependentSchemas" || key == "properties";
  }
  void elsewhere_below(std::string_view key, json::View member, unsigned depth) {
    if (!is_map_of_schemas(key)) return elsewhere(member, false, depth + 1);
    for (const auto [name, schema] : member.members()) elsewhere(schema, false, depth + 1);
  }

  void fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  std::vector<std::string> path_;
  std::size_t path_bytes_ = 0;
  std::vector<ParamHeader> found_;
  std::set<std::string> names_;
  std::string problem_;
};

bool same_value(const ParamHeader& header, std::string_view field, std::string_view value) {
  if (field == value) return true;
  if (header.kind != ParamHeader::Kind::integer) return false;
  double left = 0;
  double right = 0;  // 42 and 42.0 are one number
  const auto read = [](std::string_view text, double& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size() &&
           std::abs(out) <= largest_integer;
  };
  return read(field, left) && read(value, right) && left == right;
}

}  // namespace

Error header_mismatch(std::string text) {
  return Error{.code = code::header_mismatch, .message = "Header mismatch: " + std::move(text)};
}

Result<std::vector<ParamHeader>> param_headers(json::View input_schema) {
  return Marks().find(input_schema);
}

std::string header_value(std::string_view text) {
  const bool plain = std::ranges::all_of(text, [](char c) { return c >= 0x20 && c <= 0x7e; }) &&
                     !text.starts_with(' ') && !text.ends_with(' ') && !looks_encoded(text);
  if (plain) return std::string(text);
  std::string out(base64_begin);
  out += base64(text);
  out += base64_end;
  return out;
}

std::optional<std::string> read_header_value(std::string_view field) {
  if (!looks_encoded(field)) return std::string(field);
  field.remove_prefix(base64_begin.size());
  field.remove_suffix(base64_end.size());
  return from_base64(field);
}

std::optional<std::string> param_value(const ParamHeader& header, json::View arguments) {
  json::View value = arguments;
  for (const std::string& name : header.path) value = value.find(name);
  if (!value || value.is_null()) return std::nullopt;
  if (const auto text = value.as_string()) return std::string(*text);
  if (const auto truth = value.as_bool()) return *truth ? "true" : "false";
  if (value.is_number()) {
    if (const auto number = value.as_int64(); number && !value.is_real()) {
      return std::to_string(*number);
    }
    const auto real = value.as_double();
    if (real && std::nearbyint(*real) == *real && std::abs(*real) <= largest_integer) {
      return std::to_string(static_cast<std::int64_t>(*real));
    }
  }
  return std::nullopt;  // not what the schema wants: the arguments will be refused
}

std::optional<Error> check_method(const rpc::HeaderFields& fields, std::string_view method) {
  const auto field = fields.find(header::method);
  if (!field) return header_mismatch("the header Mcp-Method must be there once");
  if (*field == method) return std::nullopt;
  return header_mismatch("Mcp-Method is " + json::quote(field->substr(0, 200)) +
                         " and the body says " + json::quote(method.substr(0, 200)));
}

std::string_view naming_member(std::string_view method) noexcept {
  const Method* row = stateless_codec().find(method, Side::server);
  if (!row) return method.starts_with("tasks/") ? "taskId" : "";  // of the tasks extension
  switch (row->operation) {
    case Operation::call_tool:
    case Operation::get_prompt:
      return "name";
    case Operation::read_resource:
      return "uri";
    default:
      return "";
  }
}

std::optional<Error> check_name(const rpc::HeaderFields& fields, std::string_view method,
                                json::View params) {
  const auto name = params.find(naming_member(method)).as_string();
  if (!name) return std::nullopt;  // which is another mistake
  const auto field = fields.find(header::name);
  if (!field) return header_mismatch("the header Mcp-Name must be there once");
  if (*field == *name && !looks_encoded(*field)) return std::nullopt;
  const auto value = read_header_value(*field);
  if (!value) return header_mismatch("the header Mcp-Name is no valid Base64");
  if (*value == *name) return std::nullopt;
  return header_mismatch("Mcp-Name is " + json::quote(value->substr(0, 200)) +
                         " and the body says " + json::quote(name->substr(0, 200)));
}

std::optional<Error> check_params(const rpc::HeaderFields& fields,
                                  std::span<const ParamHeader> headers, json::View arguments) {
  for (const ParamHeader& header : headers) {
    const auto expected = param_value(header, arguments);
    const std::string name = std::string(header::param) + header.name;
    const auto field = fields.find(name);
    if (!expected) continue;  // whatever the field says, it contradicts nothing
    if (!field) return header_mismatch("the header " + name + " must be there once");
    const auto value = read_header_value(*field);
    if (!value) return header_mismatch("the header " + name + " is no valid Base64");
    if (!same_value(header, *value, *expected)) {
      return header_mismatch(name + " is " + json::quote(value->substr(0, 200)) +
                             " and the body says " + json::quote(expected->substr(0, 200)));
    }
  }
  return std::nullopt;
}

}  // namespace godwit::inline v0::mcp
