#include "stateless_client.hpp"

#include <algorithm>
#include <chrono>

#include "../encode.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/json/document.hpp"
#include "godwit/json/encode.hpp"
#include "stateless.hpp"

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

}  // namespace

std::string client_facts(const Dialect& dialect, const ClientCapabilities& capabilities,
                         const Implementation& client) {
  std::string out;
  json::Writer writer(out);
  writer.key(meta_key::protocol_version);
  writer.value(dialect.revision);
  writer.key(meta_key::client_capabilities);
  json::write(writer, fitted(capabilities, dialect));
  writer.key(meta_key::client_info);
  write_implementation(writer, client, dialect);
  return out;
}

bool is_client_fact(std::string_view key) noexcept {
  return key == meta_key::protocol_version || key == meta_key::client_capabilities ||
         key == meta_key::client_info;
}

Result<Welcome> read_discover_result(json::View result, const Dialect& asked) {
  struct Discovered {
    std::vector<std::string> supportedVersions{};
    ServerCapabilities capabilities{};
    std::optional<std::string> instructions{};
  };
  auto discovered = json::decode<Discovered>(result);
  if (!discovered) return std::move(discovered).error();
  Welcome welcome;
  welcome.dialect = &asked;
  welcome.capabilities = std::move(discovered->capabilities);
  welcome.instructions = std::move(discovered->instructions).value_or("");
  welcome.revisions = std::move(discovered->supportedVersions);
  json::View info = result.find("_meta").find(meta_key::server_info);
  if (!info) info = result.find("serverInfo");  // where drafts had it
  welcome.server = read_implementation(info);
  return welcome;
}

bool is_stateless_error(const Error& error) noexcept {
  return error.code == code::unsupported_version || error.code == code::missing_capability ||
         error.code == code::header_mismatch;
}

bool is_unsupported_version(const Error& error) noexcept {
  return error.code == code::unsupported_version;
}

std::vector<std::string> offered_revisions(const Error& error) {
  json::Document document;
  const auto data = document.parse(error.data);
  return data ? texts(data->find("supported")) : std::vector<std::string>();
}

const Dialect* best_of(std::span<const std::string> revisions, bool stateless) noexcept {
  const Dialect* best = nullptr;
  for (const std::string& revision : revisions) {
    const Dialect* dialect = dialect_of(revision);
    if (!dialect || dialect->stateless != stateless) continue;
    if (!best || dialect->index > best->index) best = dialect;
  }
  return best;
}

ResultKind kind_of(json::View result, const Dialect& dialect) noexcept {
  const json::View type = result.find("resultType");
  if (!dialect.stateless || !type) return ResultKind::complete;
  const auto text = type.as_string();
  if (text == "complete") return ResultKind::complete;
  return text == "input_required" ? ResultKind::input_required : ResultKind::unknown;
}

Duration time_to_live(json::View result) noexcept {
  const auto ms = result.find("ttlMs").as_int64();
  if (!ms || *ms <= 0) return Duration(0);
  const std::int64_t most =
      std::chrono::duration_cast<std::chrono::milliseconds>(longest_life).count();
  return std::chrono::milliseconds(std::min(*ms, most));
}

}  // namespace godwit::inline v0::mcp
