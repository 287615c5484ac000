// The stateless era: every request says all about its sender, servers never ask on their own.
#include "stateless.hpp"

#include "godwit/base/work.hpp"
#include "godwit/json/enum_names.hpp"
#include "godwit/json/writer.hpp"
#include "godwit/rpc/error_code.hpp"

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

constexpr Dialect dialect = {.revision = "2026-07-28",
                             .index = dialect_count - 1,
                             .stateless = true,
                             .batches = false,
                             .audio = true,
                             .structured = true,
                             .icons = true,
                             .priming = false,
                             .methods = methods};

}  // namespace

const Dialect& stateless_dialect() noexcept { return dialect; }

bool is_stateless(json::View meta) noexcept {
  return static_cast<bool>(meta.find(meta_key::protocol_version));
}

std::optional<Error> check_facts(RequestFacts& facts, const rpc::HeaderFields* fields) {
  std::optional<std::string_view> field;
  if (fields) {
    field = fields->find(header::protocol_version);
    if (!field) return header_mismatch("the header MCP-Protocol-Version must be there once");
  }
  std::string_view wanted;
  if (!facts.revision.get(wanted)) return missing_meta(meta_key::protocol_version);
  if (!facts.capabilities.is_object()) return missing_meta(meta_key::client_capabilities);
  if (field && wanted != *field) {
    return header_mismatch("MCP-Protocol-Version is " + json::quote(field->substr(0, 100)) +
                           " and the body says " + json::quote(wanted.substr(0, 100)));
  }
  if (wanted != dialect.revision) return unsupported_version(wanted);
  if (facts.wanted_level) {
    facts.log_level = json::enum_value<LoggingLevel>(facts.wanted_level.as_string().value_or(""));
    if (!facts.log_level) {
      return rpc::invalid_params("_meta/" + std::string(meta_key::log_level) +
                                 ": expected a level from \"debug\" to \"emergency\"");
    }
  }
  return std::nullopt;
}

Error unsupported_version(std::string_view requested) {
  requested = requested.substr(0, 100);  // ours have ten characters
  std::string data;
  json::Writer writer(data);
  writer.begin_object();
  writer.key("supported");
  writer.begin_array();
  writer.value(dialect.revision);
  writer.end_array();
  writer.key("requested");
  writer.value(requested);
  writer.end_object();
  return Error{.code = code::unsupported_version,
               .message = "Unsupported protocol version " + json::quote(requested) +
                          "; requests like this are served in " + json::quote(dialect.revision),
               .data = std::move(data)};
}

Error missing_meta(std::string_view key) {
  return rpc::invalid_params(
      "params/_meta must have the member " + json::quote(key) +
      (key == meta_key::client_capabilities ? ", an object (it may be empty)" : ", a string"));
}

Error missing_capability(std::string_view what, std::string required) {
  return Error{.code = code::missing_capability,
               .message = "Missing required client capability: the client does not offer " +
                          std::string(what),
               .data = R"({"requiredCapabilities":)" + std::move(required) + "}"};
}

}  // namespace godwit::inline v0::mcp
