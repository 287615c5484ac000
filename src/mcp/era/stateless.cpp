// The stateless era: its table of methods, and a server's side of it.
#include "stateless.hpp"

#include <algorithm>
#include <utility>

#include "eras.hpp"
#include "godwit/json/enum_names.hpp"
#include "godwit/rpc/error_code.hpp"
#include "stateless_headers.hpp"

namespace godwit::inline v0::mcp {

namespace {

using enum Operation;

// Those asked for most stand first. What a server wants to know travels inside results; the rows of
// the client name those questions.
constexpr Method methods[] = {
    {"tools/call", call_tool, Side::server, false},
    {"tools/list", list_tools, Side::server, false},
    {"resources/read", read_resource, Side::server, false},
    {"prompts/get", get_prompt, Side::server, false},
    {"server/discover", discover, Side::server, false},
    {"subscriptions/listen", listen, Side::server, false},
    {"notifications/cancelled", cancelled, Side::both, true},
    {"resources/list", list_resources, Side::server, false},
    {"resources/templates/list", list_templates, Side::server, false},
    {"prompts/list", list_prompts, Side::server, false},
    {"completion/complete", complete, Side::server, false},
    {"notifications/progress", progress, Side::client, true},
    {"notifications/message", log_message, Side::client, true},
    {"notifications/tools/list_changed", tools_changed, Side::client, true},
    {"notifications/prompts/list_changed", prompts_changed, Side::client, true},
    {"notifications/resources/list_changed", resources_changed, Side::client, true},
    {"notifications/resources/updated", resource_updated, Side::client, true},
    {"notifications/subscriptions/acknowledged", acknowledged, Side::client, true},
    {"elicitation/create", elicit, Side::client, false},
    {"sampling/createMessage", create_message, Side::client, false},
    {"roots/list", list_roots, Side::client, false},
};

}  // namespace

const Codec& stateless_codec() noexcept {
  static const StatelessCodec codec;
  return codec;
}

StatelessCodec::StatelessCodec() noexcept : Codec("2026-07-28", methods) {}

// Receiving.

std::optional<Error> StatelessCodec::admit(Incoming& message, const Eras& eras) const {
  RequestFacts& facts = message.facts;
  std::optional<std::string_view> field;
  if (message.fields) {
    field = message.fields->find(header::protocol_version);
    if (!field) return header_mismatch("the header MCP-Protocol-Version must be there once");
  }
  std::string_view wanted = revision();
  if (!message.is_spoken && !facts.revision.get(wanted)) {
    return missing_meta(meta_key::protocol_version);
  }
  if (!facts.capabilities.is_object()) return missing_meta(meta_key::client_capabilities);
  if (field && wanted != *field) {
    return header_mismatch("MCP-Protocol-Version is " + json::quote(field->substr(0, 100)) +
                           " and the body says " + json::quote(wanted.substr(0, 100)));
  }
  if (!message.is_spoken) return unsupported_revision(wanted, eras);
  if (facts.wanted_level) {
    facts.log_level = json::enum_value<LoggingLevel>(facts.wanted_level.as_string().value_or(""));
    if (!facts.log_level) {
      return rpc::invalid_params("_meta/" + std::string(meta_key::log_level) +
                                 ": expected a level from \"debug\" to \"emergency\"");
    }
  }
  return message.fields ? check_method(*message.fields, message.method) : std::nullopt;
}

std::optional<Error> StatelessCodec::check_target(const rpc::HeaderFields& fields,
                                                  std::string_view method,
                                                  json::View params) const {
  return check_name(fields, method, params);
}

std::optional<Error> StatelessCodec::check_arguments(const rpc::HeaderFields& fields,
                                                     std::span<const ParamHeader> headers,
                                                     json::View arguments) const {
  return check_params(fields, headers, arguments);
}

Error missing_meta(std::string_view key) {
  return rpc::invalid_params(
      "params/_meta must have the member " + json::quote(key) +
      (key == meta_key::client_capabilities ? ", an object (it may be empty)" : ", a string"));
}

Error StatelessCodec::unsupported_revision(std::string_view requested, const Eras& eras) const {
  requested = requested.substr(0, 100);  // ours have ten characters
  std::string data;
  json::Writer writer(data);
  writer.begin_object();
  writer.key("supported");
  writer.begin_array();
  for (const Codec* const each : eras.alone()) writer.value(each->revision());
  writer.end_array();
  writer.key("requested");
  writer.value(requested);
  writer.end_object();
  return Error{.code = code::unsupported_version,
               .message = "Unsupported protocol version " + json::quote(requested) +
                          "; requests like this are served in " + json::quote(revision()),
               .data = std::move(data)};
}

// Answering.

void StatelessCodec::begin_result(json::Writer& writer) const {
  writer.raw(R"({"resultType":"complete")");  // a comma follows, and the rest of the object
}

void StatelessCodec::begin_typed_result(json::Writer& writer, std::string_view type) const {
  writer.raw_key(R"({"resultType":)");
  writer.value(type);
}

void StatelessCodec::end_result(json::Writer& writer, const ResultEnd& end) const {
  if (end.ttl_ms) {
    writer.raw_key("\"ttlMs\":");
    writer.value(std::max<std::int64_t>(*end.ttl_ms, 0));
    writer.raw_key("\"cacheScope\":");
    writer.raw(end.is_shared ? "\"public\"" : "\"private\"");
  }
  static constexpr std::string_view begin = R"("_meta":{"io.modelcontextprotocol/serverInfo":)";
  static_assert(begin.find(meta_key::server_info) != begin.npos);
  writer.raw_key(begin);
  writer.raw(end.server);
  if (end.meta) {
    for (const json::Member& member : *end.meta) {
      writer.key(member.key);
      writer.value(member.value);
    }
  }
  writer.end_object();
  writer.end_object();
}

std::string_view StatelessCodec::result_type(const ToolResult& result) const {
  return result.resultType ? std::string_view(*result.resultType) : Codec::result_type(result);
}

std::string StatelessCodec::take_result_type(json::Object& result) const {
  const json::Value* const own = result.find("resultType");
  if (!own) return Codec::take_result_type(result);
  std::string type(own->as_string().value_or(""));
  result.erase("resultType");
  return type;
}

std::string_view StatelessCodec::subscription_key() const noexcept {
  return meta_key::subscription_id;
}

// Refusing.

std::optional<Error> StatelessCodec::missing_capability(std::string_view what,
                                                        std::string_view required) const {
  return Error{.code = code::missing_capability,
               .message = "Missing required client capability: the client does not offer " +
                          std::string(what),
               .data = R"({"requiredCapabilities":)" + std::string(required) + "}"};
}

int StatelessCodec::http_status(const Error& error) const noexcept {
  switch (error.code) {
    case rpc::code::parse_error:
    case rpc::code::invalid_request:
    case code::header_mismatch:
    case code::missing_capability:
    case code::unsupported_version:
      return 400;
    case rpc::code::method_not_found:
      return 404;
    default:
      return 200;
  }
}

}  // namespace godwit::inline v0::mcp
