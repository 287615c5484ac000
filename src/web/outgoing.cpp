#include "outgoing.hpp"

#include <algorithm>
#include <utility>

#include "godwit/http/fields.hpp"
#include "godwit/json/document.hpp"
#include "mcp/era/eras.hpp"
#include "mcp/era/stateless_headers.hpp"

namespace godwit::inline v0::detail::web {

namespace {

void take_id(Outgoing& out, json::View message) {
  if (!message.find("method")) return;
  if (const json::View id = message.find("id")) {
    if (auto read = rpc::Id::from(id)) out.ids.push_back(*std::move(read));
  }
}

/// What the table of the era knows the method as.
void take_method(Outgoing& out, std::string_view method) {
  out.method = method;
  const mcp::Eras& eras = mcp::Eras::built_in();
  const mcp::Codec& codec = out.stateless() ? eras.newest_alone() : eras.newest_by_handshake();
  if (const mcp::Method* row = codec.find(method, mcp::Side::server)) {
    out.operation = row->operation;
  }
}

}  // namespace

Outgoing describe_outgoing(std::string body, const rpc::Outbound& message) {
  Outgoing out;
  if (message.fields) {
    for (const auto& [name, value] : *message.fields) {
      if (http::same_name(name, mcp::header::protocol_version)) out.revision = value;
    }
  }
  if (!message.method.empty()) take_method(out, message.method);
  if (message.kind == rpc::Outbound::Kind::cancellation) {
    out.cancels = message.ids.front();
  } else {
    out.ids.assign(message.ids.begin(), message.ids.end());
  }
  out.body = std::move(body);
  return out;
}

Outgoing read_outgoing(std::string body, json::View message) {
  Outgoing out;
  out.is_read = true;
  take_id(out, message);
  for (const json::View entry : message.items()) take_id(out, entry);
  if (const auto method = message.find("method").as_string()) {
    const json::View params = message.find("params");
    const json::View meta = params.find("_meta");
    const auto revision = mcp::named_revision(meta).as_string();
    if (revision && http::is_field_value(*revision)) out.revision = *revision;
    take_method(out, *method);
    if (const std::string_view member = mcp::naming_member(out.method); !member.empty()) {
      if (const auto name = params.find(member).as_string()) out.name.emplace(*name);
    }
    out.first_page = !params.find("cursor");
    if (out.is(mcp::Operation::cancelled)) out.cancels = rpc::Id::from(params.find("requestId"));
  }
  out.body = std::move(body);
  return out;
}

std::optional<rpc::Id> id_in_broken(std::string_view text) {
  constexpr std::string_view begin = R"({"jsonrpc":"2.0","id":)";
  if (!text.starts_with(begin)) return std::nullopt;
  text.remove_prefix(begin.size());
  json::Document document;
  const auto id = document.parse(text.substr(0, std::min(text.find(",\"method\""), text.size())));
  return id ? rpc::Id::from(*id) : std::nullopt;
}

}  // namespace godwit::inline v0::detail::web
