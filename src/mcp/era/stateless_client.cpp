// A client's side of the stateless era.
#include <algorithm>
#include <chrono>
#include <utility>

#include "eras.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/json/document.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/json/enum_names.hpp"
#include "stateless.hpp"
#include "stateless_headers.hpp"
#include "tool_param_headers.hpp"

namespace godwit::inline v0::mcp {

namespace {

/// Longer than anybody keeps a client running without asking again.
constexpr Duration longest_life = std::chrono::hours(24);
/// Of a list of revisions from a server; all that were ever published are far fewer.
constexpr std::size_t most_revisions = 100;

std::vector<std::string> texts(json::View array) {
  std::vector<std::string> out;
  for (const json::View item : array.items()) {
    if (out.size() == most_revisions) break;
    if (const auto text = item.as_string()) out.emplace_back(*text);
  }
  return out;
}

/// Is this one of the members that introduction() writes?
bool introduces(std::string_view key) noexcept {
  return key == meta_key::protocol_version || key == meta_key::client_capabilities ||
         key == meta_key::client_info;
}

}  // namespace

// Beginning.

std::string StatelessCodec::introduction(const ClientCapabilities& capabilities,
                                         const Implementation& client) const {
  ClientCapabilities said = capabilities;
  if (said.roots) *said.roots = {};  // nobody remembers a list that could change
  std::string out;
  json::Writer writer(out);
  writer.key(meta_key::protocol_version);
  writer.value(revision());
  writer.key(meta_key::client_capabilities);
  json::write(writer, said);
  writer.key(meta_key::client_info);
  json::write(writer, client);
  return out;
}

Result<Welcome> StatelessCodec::read_discovery(json::View result) const {
  struct Discovered {
    std::vector<std::string> supportedVersions{};
    ServerCapabilities capabilities{};
    std::optional<std::string> instructions{};
  };
  auto discovered = json::decode<Discovered>(result);
  if (!discovered) return std::move(discovered).error();
  Welcome welcome;
  welcome.codec = this;
  welcome.capabilities = std::move(discovered->capabilities);
  welcome.instructions = std::move(discovered->instructions).value_or("");
  welcome.revisions = std::move(discovered->supportedVersions);
  json::View info = result.find("_meta").find(meta_key::server_info);
  if (!info) info = result.find("serverInfo");  // where drafts had it
  welcome.server = read_implementation(info);
  return welcome;
}

std::optional<std::vector<std::string>> StatelessCodec::spoken_instead(const Error& error) const {
  if (error.code != code::unsupported_version) return std::nullopt;
  json::Document document;
  const auto data = document.parse(error.data);
  return data ? texts(data->find("supported")) : std::vector<std::string>();
}

bool StatelessCodec::is_own_error(const Error& error) const noexcept {
  return error.code == code::unsupported_version || error.code == code::missing_capability ||
         error.code == code::header_mismatch;
}

// Asking.

std::optional<Operation> StatelessCodec::message_for(Wish wish) const noexcept {
  switch (wish) {
    case Wish::sign_of_life:
    case Wish::description:
      return Operation::discover;
    case Wish::changes:
      return Operation::listen;
    case Wish::log_level:
    case Wish::tell_of_roots:
      break;
  }
  return std::nullopt;
}

std::string StatelessCodec::request_meta(const RequestMeta& meta) const {
  std::string out;
  json::Writer writer(out);
  if (meta.progress_token) {
    writer.key("progressToken");
    writer.value(*meta.progress_token);
  }
  for (const json::Member& member : meta.own) {
    if (meta.progress_token && member.key == "progressToken") continue;
    if (introduces(member.key)) continue;
    writer.key(member.key);
    writer.value(member.value);
  }
  writer.raw(meta.introduction);
  const auto add = [&](std::string_view key, std::string_view value) {
    if (value.empty() || meta.own.contains(key)) return;
    writer.key(key);
    writer.value(value);
  };
  if (meta.log_level) add(meta_key::log_level, json::enum_name(*meta.log_level));
  add("traceparent", meta.trace.traceparent);
  add("tracestate", meta.trace.tracestate);
  add("baggage", meta.trace.baggage);
  return out;
}

void StatelessCodec::add_fields(rpc::MessageFields& fields, std::string_view method,
                                std::optional<std::string_view> name) const {
  fields.emplace_back(header::protocol_version, revision());
  fields.emplace_back(header::method, header_value(method));
  if (name) fields.emplace_back(header::name, header_value(*name));
}

std::optional<Error> StatelessCodec::check_schema(json::View input_schema) const {
  auto headers = param_headers(input_schema);
  if (headers) return std::nullopt;
  return std::move(headers).error();
}

void StatelessCodec::learn_tools(ToolParamHeaders& known, json::View tools,
                                 bool is_first_page) const {
  if (is_first_page) known.clear();
  known.learn(tools);
}

bool StatelessCodec::is_outdated(const Error& error) const noexcept {
  return error.code == code::header_mismatch;
}

ResultKind StatelessCodec::kind_of(json::View result) const noexcept {
  const json::View type = result.find("resultType");
  if (!type) return ResultKind::complete;
  const auto text = type.as_string();
  if (text == "complete") return ResultKind::complete;
  return text == "input_required" ? ResultKind::input_required : ResultKind::unknown;
}

Duration StatelessCodec::time_to_live(json::View result) const noexcept {
  const auto ms = result.find("ttlMs").as_int64();
  if (!ms || *ms <= 0) return Duration(0);
  const std::int64_t most =
      std::chrono::duration_cast<std::chrono::milliseconds>(longest_life).count();
  return std::chrono::milliseconds(std::min(*ms, most));
}

// Being asked and told.

void StatelessCodec::receive(std::string_view, ServerRequest& request) const { request.ignore(); }

Audience StatelessCodec::audience_of(json::View params) const noexcept {
  return {.is_everybody = false, .subscription = subscription_of(params)};
}

}  // namespace godwit::inline v0::mcp
