#include "tool_param_headers.hpp"

#include <utility>

#include "godwit/json/document.hpp"

namespace godwit::inline v0::mcp {

namespace {

/// Of what is remembered; tools beyond it are called without such fields.
constexpr std::size_t most_bytes = 4u << 20;

std::size_t size_of(std::string_view tool, const std::vector<ParamHeader>& headers) {
  std::size_t size = tool.size() + 100;
  for (const ParamHeader& header : headers) {
    size += header.name.size() + 100;
    for (const std::string& name : header.path) size += name.size() + 32;
  }
  return size;
}

}  // namespace

void ToolParamHeaders::clear() noexcept {
  tools_.clear();
  bytes_ = 0;
}

void ToolParamHeaders::forget(const std::string& tool) {
  const auto found = tools_.find(tool);
  if (found == tools_.end()) return;
  bytes_ -= size_of(found->first, found->second);
  tools_.erase(found);
}

void ToolParamHeaders::learn(json::View tools) {
  for (const json::View tool : tools.items()) {
    const auto name = tool.find("name").as_string();
    if (!name) continue;
    std::string known(*name);
    forget(known);
    auto headers = param_headers(tool.find("inputSchema"));
    if (!headers || headers->empty()) continue;
    const std::size_t size = size_of(known, *headers);
    if (size > most_bytes - bytes_) continue;
    tools_.emplace(std::move(known), *std::move(headers));
    bytes_ += size;
  }
}

void ToolParamHeaders::add_fields(rpc::MessageFields& fields, const std::string& tool,
                                  json::View arguments) const {
  const auto found = tools_.find(tool);
  if (found == tools_.end()) return;
  for (const ParamHeader& header : found->second) {
    if (const auto value = param_value(header, arguments)) {
      fields.emplace_back(std::string(header::param) + header.name, header_value(*value));
    }
  }
}

void ToolParamHeaders::add_fields(rpc::MessageFields& fields, const std::string& tool,
                                  std::string_view arguments) const {
  if (!tools_.contains(tool)) return;  // as most: not worth parsing for
  json::Document document;
  if (const auto parsed = document.parse(arguments, {.depth = 10'000})) {
    add_fields(fields, tool, *parsed);
  }
}

}  // namespace godwit::inline v0::mcp
