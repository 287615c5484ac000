// The stateful era: its table of methods, its revisions, and a server's side of it.
#include "stateful.hpp"

#include <array>
#include <utility>

#include "eras.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/mcp/error.hpp"
#include "godwit/rpc/error_code.hpp"
#include "stateful_words.hpp"

namespace godwit::inline v0::mcp {

namespace {

using enum Operation;

// Those asked for most stand first. No revision of this era took a method back; what a newer one
// added is at the end of each group, so that an older one shows fewer rows.
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
constexpr std::size_t all_methods = std::size(common);

constexpr Traits of_2024_11 = {.methods = all_methods - 2};

constexpr Traits of_2025_03 = [] {
  Traits traits = of_2024_11;
  traits.batches = true;
  traits.audio = true;
  traits.tool_annotations = true;
  traits.completions = true;
  traits.progress_messages = true;
  return traits;
}();

constexpr Traits of_2025_06 = [] {
  Traits traits = of_2025_03;
  traits.methods = all_methods - 1;
  traits.batches = false;  // tried once, and taken back
  traits.titles = true;
  traits.links = true;
  traits.structured = true;
  traits.elicitation = true;
  return traits;
}();

constexpr Traits of_2025_11 = [] {
  Traits traits = of_2025_06;
  traits.methods = all_methods;
  traits.icons = true;
  traits.elicitation_modes = true;
  traits.sampling_tools = true;
  traits.misfits_for_model = true;
  traits.primed_streams = true;
  return traits;
}();

}  // namespace

std::span<const Codec* const> stateful_codecs() noexcept {
  static const StatefulCodec first("2024-11-05", of_2024_11);
  static const StatefulCodec second("2025-03-26", of_2025_03);
  static const StatefulCodec third("2025-06-18", of_2025_06);
  static const StatefulCodec fourth("2025-11-25", of_2025_11);
  static const std::array<const Codec*, 4> all = {&first, &second, &third, &fourth};
  return all;
}

StatefulCodec::StatefulCodec(std::string_view revision, const Traits& traits) noexcept
    : Codec(revision, std::span<const Method>(common).first(traits.methods)), traits_(traits) {}

// The model.

void StatefulCodec::write_tool(json::Writer& writer, const Tool& tool) const {
  json::write(writer, stateful::fitted(tool, traits_));
}
void StatefulCodec::write_resource(json::Writer& writer, const Resource& resource) const {
  json::write(writer, stateful::fitted(resource, traits_));
}
void StatefulCodec::write_template(json::Writer& writer, const ResourceTemplate& resource) const {
  json::write(writer, stateful::fitted(resource, traits_));
}
void StatefulCodec::write_prompt(json::Writer& writer, const Prompt& prompt) const {
  json::write(writer, stateful::fitted(prompt, traits_));
}
void StatefulCodec::write_message(json::Writer& writer, const PromptMessage& message) const {
  json::write(writer, PromptMessage{.role = message.role,
                                    .content = stateful::fitted(message.content, traits_)});
}
void StatefulCodec::write_content(json::Writer& writer, const Content& content) const {
  json::write(writer, stateful::fitted(content, traits_));
}
void StatefulCodec::write_resource_contents(json::Writer& writer,
                                            const ResourceContents& contents) const {
  json::write(writer, stateful::fitted(contents, traits_));
}
void StatefulCodec::write_capabilities(json::Writer& writer,
                                       const ServerCapabilities& offered) const {
  json::write(writer, stateful::fitted(offered, traits_));
}

void StatefulCodec::write_progress(json::Writer& writer, const ProgressReport& report) const {
  ProgressReport said = report;
  if (!traits_.progress_messages) said.message = {};
  Codec::write_progress(writer, said);
}

void StatefulCodec::write_structured(json::Writer& writer, std::string_view json) const {
  if (traits_.structured && json.starts_with('{')) Codec::write_structured(writer, json);
}

// The handshake.

Result<Handshake> StatefulCodec::read_handshake(json::View params, const Eras& eras) const {
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
  return Handshake{.codec = &eras.negotiate(wanted->protocolVersion),
                   .capabilities = std::move(wanted->capabilities),
                   .client = std::move(wanted->clientInfo)};
}

void StatefulCodec::write_handshake_result(json::Writer& writer, const ServerFacts& server) const {
  writer.begin_object();
  writer.key("protocolVersion");
  writer.value(revision());
  writer.key("capabilities");
  write_capabilities(writer, server.capabilities);
  writer.key("serverInfo");
  json::write(writer, stateful::fitted(server.info, traits_));
  if (!server.instructions.empty()) {
    writer.key("instructions");
    writer.value(server.instructions);
  }
  writer.end_object();
}

// What was agreed on counts.

const ServerCapabilities& StatefulCodec::offered(const ServerCapabilities& promised,
                                                 const ServerCapabilities&) const noexcept {
  return promised;
}

bool StatefulCodec::declares(const RequestFacts&, const ClientCapabilities* agreed,
                             const std::string& extension) const {
  return agreed && agreed->extensions && agreed->extensions->contains(extension);
}

void StatefulCodec::read_sender(const RequestFacts&, Implementation&, ClientCapabilities&) const {}

bool StatefulCodec::wants_log(LoggingLevel level, LoggingLevel agreed, const RequestFacts&) const {
  return level >= agreed;
}

Round StatefulCodec::continued(json::View, json::View) const { return {}; }

void StatefulCodec::between_requests(Function<void()> use) const { use(); }

// Refusing.

std::int64_t StatefulCodec::not_found_code() const noexcept { return code::resource_not_found; }

Error StatefulCodec::bad_arguments(Error error, std::string text) const {
  if (traits_.misfits_for_model) return Codec::bad_arguments(std::move(error), std::move(text));
  error.message = rpc::invalid_params(std::move(text)).message;
  return error;
}

// Asking.

void StatefulCodec::ask(Asking& ways) const { ways.by_requests(); }

Worded StatefulCodec::word_form(const ElicitRequest& form, const ClientCapabilities& client) const {
  if (!traits_.elicitation) return Unaskable{"elicitation", {}};
  Worded worded = Codec::word_form(form, client);
  if (traits_.elicitation_modes || !std::holds_alternative<std::string>(worded)) return worded;
  if (!stateful::can_say_form(form.requestedSchema, traits_)) {
    return Unaskable{"lists in forms", {}};
  }
  std::string params;
  json::Writer writer(params);
  writer.begin_object();
  writer.key("message");
  writer.value(form.message);
  writer.key("requestedSchema");
  writer.raw(form.requestedSchema.text);
  writer.end_object();
  return params;
}

Worded StatefulCodec::word_url(const ElicitRequest& url, const ClientCapabilities& client) const {
  if (!traits_.elicitation_modes) return Unaskable{"elicitation by urls", {}};
  Worded worded = Codec::word_url(url, client);
  if (auto* const params = std::get_if<std::string>(&worded)) {
    params->pop_back();
    *params += ",\"elicitationId\":" + json::quote(url.elicitationId) + "}";
  }
  return worded;
}

Worded StatefulCodec::word_sampling(SamplingRequest request,
                                    const ClientCapabilities& client) const {
  const bool tools = request.tools || request.toolChoice;
  if (client.sampling && tools && !traits_.sampling_tools) {
    return Unaskable{"tools in sampling", {}};
  }
  request = stateful::fitted(std::move(request), traits_);
  const bool can_say = stateful::can_say(request, traits_);
  Worded worded = Codec::word_sampling(std::move(request), client);
  if (std::holds_alternative<std::string>(worded) && !can_say) {
    return Unaskable{"such content in sampling", {}};
  }
  return worded;
}

CarrierRules StatefulCodec::carrier_rules() const noexcept {
  return {.batches = traits_.batches, .primed_streams = traits_.primed_streams};
}

}  // namespace godwit::inline v0::mcp
