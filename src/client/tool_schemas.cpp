#include "tool_schemas.hpp"

#include <utility>

#include "godwit/json/value.hpp"
#include "godwit/json/writer.hpp"

namespace godwit::inline v0::detail {

void ToolSchemas::put(Entries& to, Entries& known, const Tool& tool) {
  if (!tool.outputSchema) return;
  const auto old = known.find(tool.name);
  if (old != known.end() && old->second.text == tool.outputSchema->text) {
    Entry same = old->second;
    to.insert_or_assign(tool.name, std::move(same));
  } else {
    to.insert_or_assign(tool.name, Entry{.text = tool.outputSchema->text});
  }
}

void ToolSchemas::add(const std::vector<Tool>& tools) {
  for (const Tool& tool : tools) {
    if (!tool.outputSchema) entries_.erase(tool.name);
    put(entries_, entries_, tool);
  }
}

void ToolSchemas::replace(const std::vector<Tool>& tools) {
  Entries fresh;
  for (const Tool& tool : tools) put(fresh, entries_, tool);
  entries_ = std::move(fresh);
}

std::optional<std::string> ToolSchemas::complaint(const std::string& tool, json::View structured,
                                                  const Log& log) {
  const auto found = entries_.find(tool);
  if (found == entries_.end()) return std::nullopt;
  Entry& entry = found->second;
  if (!std::exchange(entry.compiled, true)) {
    const auto parsed = json::parse(entry.text);
    auto schema = parsed ? json::Schema::compile(*parsed, {.trusted = false})
                         : Result<json::Schema>(parsed.error());
    if (schema) {
      for (const std::string& warning : schema->warnings()) {
        log.warning("the output schema of the tool " + json::quote(tool) + ": " + warning);
      }
      entry.schema = *std::move(schema);
    } else {
      log.warning("the output schema of the tool " + json::quote(tool) +
                  " cannot be used, so its results are not checked: " + schema.error().message);
    }
  }
  if (!entry.schema) return std::nullopt;
  if (!structured) return "it has an output schema and answered without structuredContent";
  const json::Validation validation = entry.schema->validate(structured);
  if (validation) return std::nullopt;
  return "its structuredContent does not fit its output schema: " + validation.text();
}

}  // namespace godwit::inline v0::detail
