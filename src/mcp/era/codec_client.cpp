// The neutral way, as clients go it.
#include <utility>

#include "codec.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/rpc/error_code.hpp"
#include "tool_param_headers.hpp"

namespace godwit::inline v0::mcp {

Implementation read_implementation(json::View view) {
  Implementation out;
  json::DecodeFailure failure;
  if (json::read(view, out, failure)) return out;
  out = {};
  if (const auto name = view.find("name").as_string()) out.name = *name;
  if (const auto version = view.find("version").as_string()) out.version = *version;
  return out;
}

// Beginning.

std::string Codec::introduction(const ClientCapabilities&, const Implementation&) const {
  return {};
}

void Codec::write_handshake(json::Writer& writer, const ClientCapabilities&,
                            const Implementation&) const {
  writer.begin_object();
  writer.end_object();
}

Result<Welcome> Codec::read_handshake_result(json::View, const Eras&) const {
  return rpc::internal_error("a session of this revision begins without a handshake");
}

Result<Welcome> Codec::read_discovery(json::View) const {
  return rpc::internal_error("servers of this revision say in the handshake what they can do");
}

std::optional<std::vector<std::string>> Codec::spoken_instead(const Error&) const {
  return std::nullopt;
}

bool Codec::is_own_error(const Error&) const noexcept { return false; }

// Asking.

std::optional<Operation> Codec::message_for(Wish) const noexcept { return std::nullopt; }

std::string_view Codec::missing(Operation operation, const ServerCapabilities& server) const {
  switch (operation) {
    case Operation::list_tools:
    case Operation::call_tool:
      return server.tools ? "" : "tools";
    case Operation::list_resources:
    case Operation::list_templates:
    case Operation::read_resource:
      return server.resources ? "" : "resources";
    case Operation::subscribe:
    case Operation::unsubscribe:
      return server.resources && server.resources->subscribe.value_or(false)
                 ? ""
                 : "resources.subscribe";
    case Operation::list_prompts:
    case Operation::get_prompt:
      return server.prompts ? "" : "prompts";
    case Operation::complete:
      return server.completions ? "" : "completions";
    case Operation::set_level:
      return server.logging ? "" : "logging";
    default:
      return {};
  }
}

std::string Codec::request_meta(const RequestMeta& meta) const {
  std::string out;
  json::Writer writer(out);
  if (meta.progress_token) {
    writer.key("progressToken");
    writer.value(*meta.progress_token);
  }
  for (const json::Member& member : meta.own) {
    if (meta.progress_token && member.key == "progressToken") continue;
    writer.key(member.key);
    writer.value(member.value);
  }
  return out;
}

std::string Codec::completion(const CompletionReference& reference,
                              const CompletionArgument& argument,
                              const CompletionContext& context) const {
  std::string members =
      "\"ref\":" + json::encode(reference) + ",\"argument\":" + json::encode(argument);
  if (context.arguments) members += ",\"context\":" + json::encode(context);
  return members;
}

void Codec::add_fields(rpc::MessageFields&, std::string_view,
                       std::optional<std::string_view>) const {}

std::optional<Error> Codec::check_schema(json::View) const { return std::nullopt; }

void Codec::learn_tools(ToolParamHeaders&, json::View, bool) const {}

bool Codec::is_outdated(const Error&) const noexcept { return false; }

ResultKind Codec::kind_of(json::View) const noexcept { return ResultKind::complete; }

Duration Codec::time_to_live(json::View) const noexcept { return Duration(0); }

// Being asked and told.

void Codec::receive(std::string_view method, ServerRequest& request) const {
  request.serve(find(method, Side::client));
}

Audience Codec::audience_of(json::View) const noexcept { return {}; }

Result<std::string> Codec::sampling_result(SamplingResult result) const {
  return json::encode(result);
}

std::string Codec::roots_result(std::vector<Root> roots) const {
  struct Listing {
    std::vector<Root> roots{};
  };
  return json::encode(Listing{std::move(roots)});
}

}  // namespace godwit::inline v0::mcp
