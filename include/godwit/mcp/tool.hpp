// Tools as the wire describes and answers them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/json/raw_json.hpp"
#include "godwit/json/value.hpp"
#include "godwit/mcp/content.hpp"
#include "godwit/mcp/implementation.hpp"

namespace godwit::inline v0 {

/// Hints, each of them true, false or not said. Untrusted when received.
struct ToolAnnotations {
  std::optional<std::string> title{};
  std::optional<bool> readOnlyHint{};
  std::optional<bool> destructiveHint{};
  std::optional<bool> idempotentHint{};
  std::optional<bool> openWorldHint{};

  bool operator==(const ToolAnnotations&) const = default;
};

/// A tool in a list. The schemas are kept as they were written, every keyword.
struct Tool {
  std::string name{};
  std::optional<std::string> title{};
  std::optional<std::string> description{};
  RawJson inputSchema{};
  std::optional<RawJson> outputSchema{};
  std::optional<ToolAnnotations> annotations{};
  std::optional<std::vector<Icon>> icons{};
  std::optional<json::Object> _meta{};

  bool operator==(const Tool&) const = default;
};

/// What a tool answered. A failure of the tool itself is an answer, too: isError.
struct ToolResult {
  std::vector<Content> content{};
  /// Any JSON value; what it means is up to the tool's output schema.
  std::optional<RawJson> structuredContent{};
  std::optional<bool> isError{};
  /// Of an extension, where its revision has such; otherwise the library says what is right.
  std::optional<std::string> resultType{};
  std::optional<json::Object> _meta{};

  bool operator==(const ToolResult&) const = default;
};

}  // namespace godwit::inline v0
