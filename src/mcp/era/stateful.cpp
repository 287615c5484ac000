// The stateful era: a handshake agrees on revision and capabilities, and both sides may ask.
#include "stateful.hpp"

#include <array>

namespace godwit::inline v0::mcp {

namespace {

using enum Operation;

// Those asked for most stand first. No revision of this era took a method back; what a newer one
// added is at the end of each group, so that an older dialect shows fewer rows.
constexpr Method common[] = {
    {"tools/call", call_tool, Side::server, false},
    {"tools/list", list_tools, Side::server, false},
    {"resources/read", read_resource, Side::server, false},
    {"prompts/get", get_prompt, Side::server, false},
    {"ping", ping, Side::both, false},
    {"initialize", initialize, Side::server, false},
    {"notifications/initialized", initialized, Side::server, true},
    {"notifications/cancelled", cancelled, Side::both, true},
    {"notifications/progress", progress, Side::both, true},
    {"resources/list", list_resources, Side::server, false},
    {"resources/templates/list", list_templates, Side::server, false},
    {"resources/subscribe", subscribe, Side::server, false},
    {"resources/unsubscribe", unsubscribe, Side::server, false},
    {"prompts/list", list_prompts, Side::server, false},
    {"completion/complete", complete, Side::server, false},
    {"logging/setLevel", set_level, Side::server, false},
    {"notifications/roots/list_changed", roots_changed, Side::server, true},
    {"sampling/createMessage", create_message, Side::client, false},
    {"roots/list", list_roots, Side::client, false},
    {"notifications/message", log_message, Side::client, true},
    {"notifications/tools/list_changed", tools_changed, Side::client, true},
    {"notifications/prompts/list_changed", prompts_changed, Side::client, true},
    {"notifications/resources/list_changed", resources_changed, Side::client, true},
    {"notifications/resources/updated", resource_updated, Side::client, true},
    {"elicitation/create", elicit, Side::client, false},                               // forms
    {"notifications/elicitation/complete", elicitation_complete, Side::client, true},  // urls
};
constexpr std::size_t all = std::size(common);
constexpr std::span<const Method> first_methods(std::size_t count) {
  return std::span<const Method>(common).first(count);
}

constexpr std::array<Dialect, dialect_count - 1> dialects = {{
    {.revision = "2024-11-05",
     .index = 0,
     .stateless = false,
     .batches = false,
     .audio = false,
     .structured = false,
     .icons = false,
     .priming = false,
     .methods = first_methods(all - 2)},
    {.revision = "2025-03-26",
     .index = 1,
     .stateless = false,
     .batches = true,
     .audio = true,
     .structured = false,
     .icons = false,
     .priming = false,
     .methods = first_methods(all - 2)},
    {.revision = "2025-06-18",
     .index = 2,
     .stateless = false,
     .batches = false,
     .audio = true,
     .structured = true,
     .icons = false,
     .priming = false,
     .methods = first_methods(all - 1)},
    {.revision = "2025-11-25",
     .index = 3,
     .stateless = false,
     .batches = false,
     .audio = true,
     .structured = true,
     .icons = true,
     .priming = true,
     .methods = first_methods(all)},
}};

}  // namespace

std::span<const Dialect> stateful_dialects() noexcept { return dialects; }

Result<Handshake> read_initialize(json::View params) {
  struct Wanted {
    std::string protocolVersion{};
    ClientCapabilities capabilities{};
    Implementation clientInfo{};
  };
  Result<Wanted> wanted = json::decode<Wanted>(params);
  if (!wanted) {
    Error error = rpc::invalid_params(wanted.error().message);
    error.data = wanted.error().data;
    return error;
  }
  return Handshake{.dialect = &negotiate(wanted->protocolVersion),
                   .capabilities = std::move(wanted->capabilities),
                   .client = std::move(wanted->clientInfo)};
}

void write_initialize_result(json::Writer& writer, const Dialect& dialect,
                             std::string_view capabilities, const Implementation& server,
                             const std::string& instructions) {
  writer.begin_object();
  writer.key("protocolVersion");
  writer.value(dialect.revision);
  writer.key("capabilities");
  writer.raw(capabilities);
  writer.key("serverInfo");
  write_implementation(writer, server, dialect);
  if (!instructions.empty()) {
    writer.key("instructions");
    writer.value(instructions);
  }
  writer.end_object();
}

}  // namespace godwit::inline v0::mcp
