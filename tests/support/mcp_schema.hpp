// The official schemas of the protocol as a referee: every message that a test sees on the wire can
// be checked against the revision it belongs to. The schemas lie beside the test data
// (GODWIT_TEST_DATA/../spec/schemas); where they are absent every message passes.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "godwit/json/schema.hpp"
#include "godwit/json/value.hpp"
#include "test_data.hpp"

namespace godwit::test {

enum class Direction { from_client, from_server };

class SchemaBook {
 public:
  /// One for the whole program: compiling takes a while.
  static SchemaBook& shared() {
    static SchemaBook book;
    return book;
  }

  /// Are the schemas of this revision there?
  bool knows(std::string_view revision) { return load(revision) != nullptr; }

  /// Why this message must not be sent in this revision; nothing if it may. An answer is checked as
  /// the answer to `request`, the method that was asked, if that is given.
  std::optional<std::string> check(std::string_view revision, std::string_view message,
                                   Direction direction, std::string_view request = {}) {
    const json::Value* schema = load(revision);
    if (!schema) return std::nullopt;
    const auto value = json::parse(message);
    if (!value) return "not JSON: " + value.error().message;
    if (const json::Array* batch = value->as_array()) {
      const std::string kind = direction == Direction::from_client ? "Request" : "Response";
      if (!definition(*schema, "JSONRPCBatch" + kind)) return "this revision has no batches";
      for (const json::Value& each : *batch) {
        if (auto problem = check_one(revision, *schema, each, direction, request)) return problem;
      }
      return std::nullopt;
    }
    return check_one(revision, *schema, *value, direction, request);
  }

 private:
  const json::Value* load(std::string_view revision) {
    const auto known = schemas_.find(std::string(revision));
    if (known != schemas_.end()) return known->second ? &*known->second : nullptr;
    std::optional<json::Value>& entry = schemas_[std::string(revision)];
    const auto folder = test_data(".");
    if (!folder) return nullptr;
    const std::filesystem::path file =
        *folder / ".." / "spec" / "schemas" / (std::string(revision) + ".json");
    if (!std::filesystem::exists(file)) return nullptr;
    const auto parsed = json::parse(read_file(file));
    if (!parsed) throw std::runtime_error(file.string() + ": " + parsed.error().message);
    entry = *parsed;
    return &*entry;
  }

  static std::string_view section(const json::Value& schema) {
    return schema.contains("$defs") ? "$defs" : "definitions";
  }
  static const json::Value* definition(const json::Value& schema, std::string_view name) {
    return schema[section(schema)].as_object()->find(name);
  }

  /// Why the value does not fit the definition.
  std::optional<std::string> fits(std::string_view revision, const json::Value& schema,
                                  const std::string& name, const json::Value& value) {
    const std::string key = std::string(revision) + " " + name;
    auto found = compiled_.find(key);
    if (found == compiled_.end()) {
      json::Value root = json::Object{{"$schema", schema["$schema"]}};
      root[section(schema)] = schema[section(schema)];
      root["allOf"] =
          json::Array{json::Object{{"$ref", "#/" + std::string(section(schema)) + "/" + name}}};
      auto made = json::Schema::compile(root, {.schema_bytes = 4u << 20});
      if (!made) throw std::runtime_error(key + ": " + made.error().message);
      found = compiled_.emplace(key, *std::move(made)).first;
    }
    const json::Validation validation = found->second.validate(value);
    if (validation) return std::nullopt;
    return name + " of " + std::string(revision) + ": " + validation.text() + "\nin " +
           value.dump();
  }

  /// The definition of a method among those that a union (ClientRequest, …) lists.
  static std::optional<std::string> named(const json::Value& schema, const std::string& side,
                                          std::string_view method) {
    const json::Value* all = definition(schema, side);
    if (!all) return std::nullopt;
    const auto is_for = [&](const json::Value& one) {
      return one["properties"]["method"]["const"].as_string() == method;
    };
    if (is_for(*all)) return side;
    const json::Array* each = (*all)["anyOf"].as_array();
    if (!each) return std::nullopt;
    for (const json::Value& option : *each) {
      const std::string_view reference = option["$ref"].as_string().value_or("");
      const std::string name(reference.substr(reference.rfind('/') + 1));
      const json::Value* one = definition(schema, name);
      if (one && is_for(*one)) return name;
    }
    return std::nullopt;
  }

  std::optional<std::string> check_one(std::string_view revision, const json::Value& schema,
                                       const json::Value& message, Direction direction,
                                       std::string_view request) {
    const bool from_client = direction == Direction::from_client;
    const std::string side = from_client ? "Client" : "Server";
    const auto method = message["method"].as_string();
    if (method) {
      const std::string kind = message.contains("id") ? "Request" : "Notification";
      if (auto problem = fits(revision, schema, "JSONRPC" + kind, message)) return problem;
      const auto name = named(schema, side + kind, *method);
      if (!name)
        return "no " + side + kind + " of " + std::string(revision) + ": " + message.dump();
      return fits(revision, schema, *name, message);
    }
    const bool failed = message.contains("error");
    if (!failed && !message.contains("result")) return "no message at all: " + message.dump();
    const bool split = definition(schema, "JSONRPCResultResponse") != nullptr;
    const std::string envelope = failed ? (split ? "JSONRPCErrorResponse" : "JSONRPCError")
                                        : (split ? "JSONRPCResultResponse" : "JSONRPCResponse");
    if (auto problem = fits(revision, schema, envelope, message)) return problem;
    if (failed || request.empty()) return std::nullopt;
    const auto asked = named(schema, from_client ? "ServerRequest" : "ClientRequest", request);
    if (!asked) return "an answer to " + std::string(request) + ", which this revision lacks";
    std::string name = asked->substr(0, asked->size() - std::string("Request").size()) + "Result";
    if (!definition(schema, name)) name = "EmptyResult";
    if (message["result"]["resultType"].as_string() == "input_required") {
      name = "InputRequiredResult";
    }
    return fits(revision, schema, name, message["result"]);
  }

  std::map<std::string, std::optional<json::Value>> schemas_;
  std::map<std::string, json::Schema> compiled_;
};

}  // namespace godwit::test
