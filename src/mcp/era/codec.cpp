// The neutral way: every request stands alone, and the model is said as it is.
#include "codec.hpp"

#include <utility>

#include "eras.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/mcp/error.hpp"
#include "godwit/rpc/error_code.hpp"

namespace godwit::inline v0::mcp {

Codec::~Codec() = default;

const Method* Codec::find(std::string_view method, Side receiver) const noexcept {
  for (const Method& row : methods_) {
    if (row.name == method && (row.receiver == receiver || row.receiver == Side::both)) return &row;
  }
  return nullptr;
}

std::string_view Codec::name_of(Operation operation) const noexcept {
  for (const Method& row : methods_) {
    if (row.operation == operation) return row.name;
  }
  return {};
}

// The model.

void Codec::write_tool(json::Writer& writer, const Tool& tool) const { json::write(writer, tool); }
void Codec::write_resource(json::Writer& writer, const Resource& resource) const {
  json::write(writer, resource);
}
void Codec::write_template(json::Writer& writer, const ResourceTemplate& resource) const {
  json::write(writer, resource);
}
void Codec::write_prompt(json::Writer& writer, const Prompt& prompt) const {
  json::write(writer, prompt);
}
void Codec::write_message(json::Writer& writer, const PromptMessage& message) const {
  json::write(writer, message);
}
void Codec::write_content(json::Writer& writer, const Content& content) const {
  json::write(writer, content);
}
void Codec::write_resource_contents(json::Writer& writer, const ResourceContents& contents) const {
  json::write(writer, contents);
}
void Codec::write_capabilities(json::Writer& writer, const ServerCapabilities& offered) const {
  json::write(writer, offered);
}

void Codec::write_progress(json::Writer& writer, const ProgressReport& report) const {
  writer.begin_object();
  writer.key("progressToken");
  writer.value(report.token);
  writer.key("progress");
  writer.value(report.progress);
  if (report.total) {
    writer.key("total");
    writer.value(*report.total);
  }
  if (!report.message.empty()) {
    writer.key("message");
    writer.value(report.message);
  }
  writer.end_object();
}

void Codec::write_contents(json::Writer& writer, const std::vector<Content>& contents) const {
  writer.begin_array();
  for (const Content& content : contents) {
    const auto* text = std::get_if<TextContent>(&content);
    if (text && !text->annotations && !text->_meta) {
      write_text_content(writer, text->text);
    } else {
      write_content(writer, content);
    }
  }
  writer.end_array();
}

// A server receives.

std::optional<Error> Codec::admit(Incoming&, const Eras&) const { return std::nullopt; }

std::optional<Error> Codec::check_target(const rpc::HeaderFields&, std::string_view,
                                         json::View) const {
  return std::nullopt;
}

std::optional<Error> Codec::check_arguments(const rpc::HeaderFields&, std::span<const ParamHeader>,
                                            json::View) const {
  return std::nullopt;
}

Error Codec::unsupported_revision(std::string_view requested, const Eras&) const {
  return rpc::invalid_request("unsupported protocol version " +
                              json::quote(requested.substr(0, 100)));
}

Result<Handshake> Codec::read_handshake(json::View, const Eras&) const {
  return rpc::invalid_request("a session of this revision begins without a handshake");
}

void Codec::write_handshake_result(json::Writer& writer, const ServerFacts&) const {
  writer.begin_object();
  writer.end_object();
}

void Codec::write_discovery(json::Writer& writer, const ServerFacts& server,
                            const Eras& eras) const {
  writer.key("supportedVersions");
  writer.begin_array();
  for (const std::string_view revision : eras.revisions()) writer.value(revision);
  writer.end_array();
  writer.key("capabilities");
  write_capabilities(writer, server.capabilities);
  if (!server.instructions.empty()) {
    writer.key("instructions");
    writer.value(server.instructions);
  }
}

// Under which conditions.

const ServerCapabilities& Codec::offered(const ServerCapabilities&,
                                         const ServerCapabilities& now) const noexcept {
  return now;
}

bool Codec::declares(const RequestFacts& facts, const ClientCapabilities*,
                     const std::string& extension) const {
  return static_cast<bool>(facts.capabilities.find("extensions").find(extension));
}

void Codec::read_sender(const RequestFacts& facts, Implementation& sender,
                        ClientCapabilities& capabilities) const {
  sender = {};
  if (facts.client) {
    if (auto said = json::decode<Implementation>(facts.client)) sender = *std::move(said);
  }
  auto said = json::decode<ClientCapabilities>(facts.capabilities);
  capabilities = said ? *std::move(said) : ClientCapabilities();
}

bool Codec::wants_log(LoggingLevel level, LoggingLevel, const RequestFacts& facts) const {
  return facts.log_level && level >= *facts.log_level;
}

Round Codec::continued(json::View responses, json::View state) const { return {responses, state}; }

void Codec::between_requests(Function<void()>) const {}

// A server answers.

void Codec::begin_result(json::Writer& writer) const { writer.begin_object(); }

void Codec::begin_typed_result(json::Writer& writer, std::string_view) const {
  writer.begin_object();
}

void Codec::end_result(json::Writer& writer, const ResultEnd& end) const {
  if (end.meta && !end.meta->empty()) {
    writer.raw_key("\"_meta\":");
    writer.begin_object();
    for (const json::Member& member : *end.meta) {
      writer.key(member.key);
      writer.value(member.value);
    }
    writer.end_object();
  }
  writer.end_object();
}

std::string_view Codec::result_type(const ToolResult&) const { return "complete"; }
std::string Codec::take_result_type(json::Object&) const { return "complete"; }

void Codec::write_structured(json::Writer& writer, std::string_view json) const {
  writer.raw_key("\"structuredContent\":");
  writer.raw(json);
}

std::string_view Codec::subscription_key() const noexcept { return "subscriptionId"; }

// A server refuses.

Error Codec::wire_error(Error error) const {
  if (is_suspended(error)) {
    return rpc::internal_error("the handler passed on a question that it had not asked");
  }
  if (error.cause == Cause::in_process && error.code == code::not_found) {
    error.code = not_found_code();
    return error;
  }
  // What the handler made, or another server told it, goes on as it is. The rest is how a call
  // ended inside this process: its number would mean something else to the client.
  if (error.cause != Cause::unspecified && error.cause != Cause::peer) {
    error.code = rpc::code::internal_error;
  }
  return error;
}

std::int64_t Codec::not_found_code() const noexcept { return rpc::code::invalid_params; }

std::optional<Error> Codec::missing_capability(std::string_view, std::string_view) const {
  return std::nullopt;
}

Error Codec::bad_arguments(Error, std::string text) const { return tool_error(std::move(text)); }

int Codec::http_status(const Error&) const noexcept { return 200; }

// A server asks.

void Codec::ask(Asking& ways) const { ways.by_result(); }

Worded Codec::word_form(const ElicitRequest& form, const ClientCapabilities& client) const {
  if (!client.elicitation || !client.elicitation->takes_forms()) {
    return Unaskable{"elicitation by forms", R"({"elicitation":{"form":{}}})"};
  }
  std::string params;
  json::Writer writer(params);
  writer.begin_object();
  writer.key("mode");
  writer.value("form");
  writer.key("message");
  writer.value(form.message);
  writer.key("requestedSchema");
  writer.raw(form.requestedSchema.text);
  writer.end_object();
  return params;
}

Worded Codec::word_url(const ElicitRequest& url, const ClientCapabilities& client) const {
  if (!client.elicitation || !client.elicitation->takes_urls()) {
    return Unaskable{"elicitation by urls", R"({"elicitation":{"url":{}}})"};
  }
  std::string params;
  json::Writer writer(params);
  writer.begin_object();
  writer.key("mode");
  writer.value("url");
  writer.key("message");
  writer.value(url.message);
  writer.key("url");
  writer.value(url.url);
  writer.end_object();
  return params;
}

Worded Codec::word_sampling(SamplingRequest request, const ClientCapabilities& client) const {
  if (!client.sampling) return Unaskable{"sampling", R"({"sampling":{}})"};
  if ((request.tools || request.toolChoice) && !client.sampling->tools) {
    return Unaskable{"tools in sampling", R"({"sampling":{"tools":{}}})"};
  }
  return json::encode(request);
}

Worded Codec::word_roots(const ClientCapabilities& client) const {
  if (!client.roots) return Unaskable{"roots", R"({"roots":{}})"};
  return std::string("{}");
}

CarrierRules Codec::carrier_rules() const noexcept { return {}; }

}  // namespace godwit::inline v0::mcp
