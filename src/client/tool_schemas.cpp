#include "tool_schemas.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "godwit/json/value.hpp"
#include "godwit/json/writer.hpp"

namespace godwit::inline v0::detail::client {

void ToolSchemas::drop(const std::string& tool) {
  const auto found = entries_.find(tool);
  if (found == entries_.end()) return;
  bytes_ -= found->first.size() + found->second.text.size();
  entries_.erase(found);
}

bool ToolSchemas::add(const std::vector<Tool>& tools, std::size_t most) {
  bool whole = true;
  for (const Tool& tool : tools) {
    const auto known = entries_.find(tool.name);
    if (tool.outputSchema && known != entries_.end() &&
        known->second.text == tool.outputSchema->text) {
      continue;  // perhaps compiled already
    }
    drop(tool.name);
    if (!tool.outputSchema) continue;
    const std::size_t size = tool.name.size() + tool.outputSchema->text.size();
    if (size > most - std::min(bytes_, most)) {
      whole = false;
      continue;
    }
    entries_.emplace(tool.name, Entry{.text = tool.outputSchema->text});
    bytes_ += size;
  }
  return whole;
}

bool ToolSchemas::replace(const std::vector<Tool>& tools, std::size_t most) {
  std::unordered_set<std::string_view> listed;
  for (const Tool& tool : tools) listed.insert(tool.name);
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto entry = at++;
    if (listed.contains(entry->first)) continue;
    bytes_ -= entry->first.size() + entry->second.text.size();
    entries_.erase(entry);
  }
  return add(tools, most);
}

std::string ToolSchemas::compile(Entry& entry) {
  const auto parsed = json::parse(entry.text);
  auto schema = parsed ? json::Schema::compile(*parsed, {.trusted = false})
                       : Result<json::Schema>(parsed.error());
  std::string remarks;
  if (schema) {
    for (const std::string& warning : schema->warnings()) {
      remarks += (remarks.empty() ? "" : "; ") + warning;
    }
    entry.schema = *std::move(schema);
  } else {
    remarks = "it cannot be used, so results are not checked: " + schema.error().message;
  }
  entry.compiled = true;
  return remarks;
}

std::optional<std::string> ToolSchemas::check(const Entry& entry, json::View structured) {
  if (!entry.schema) return std::nullopt;
  if (!structured) return "it has an output schema and answered without structuredContent";
  const json::Validation validation = entry.schema->validate(structured);
  if (validation) return std::nullopt;
  return "its structuredContent does not fit its output schema: " + validation.text();
}

std::optional<std::string> ToolSchemas::complaint(const std::string& tool, json::View structured,
                                                  const Log& log) {
  const auto found = entries_.find(tool);
  if (found == entries_.end()) return std::nullopt;
  Entry& entry = found->second;
  const std::string remarks = entry.compiled ? std::string() : compile(entry);
  std::optional<std::string> problem = check(entry, structured);
  // Last, because a sink of the log may change what is kept.
  if (!remarks.empty()) {
    log.limited(LogLevel::warning,
                "the output schema of the tool " + json::quote(tool) + ": " + remarks);
  }
  return problem;
}

}  // namespace godwit::inline v0::detail::client
