// Sampling: a server asks the client's model for a message. And roots: it asks where it may work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/json/enum_names.hpp"
#include "godwit/json/literal.hpp"
#include "godwit/json/raw_json.hpp"
#include "godwit/json/value.hpp"
#include "godwit/mcp/content.hpp"
#include "godwit/mcp/tool.hpp"

namespace godwit::inline v0 {

/// The model wants a tool of the request called.
struct ToolUseContent {
  json::Literal<"tool_use"> type{};
  std::string id{};
  std::string name{};
  RawJson input{};
  std::optional<json::Object> _meta{};

  bool operator==(const ToolUseContent&) const = default;
};
/// What that call gave.
struct ToolResultContent {
  json::Literal<"tool_result"> type{};
  std::string toolUseId{};
  std::vector<Content> content{};
  std::optional<RawJson> structuredContent{};
  std::optional<bool> isError{};
  std::optional<json::Object> _meta{};

  bool operator==(const ToolResultContent&) const = default;
};
using SamplingBlock =
    std::variant<TextContent, ImageContent, AudioContent, ToolUseContent, ToolResultContent>;
/// One block, or several where the revision allows it.
using SamplingContent = std::variant<TextContent, ImageContent, AudioContent, ToolUseContent,
                                     ToolResultContent, std::vector<SamplingBlock>>;

struct SamplingMessage {
  Role role = Role::user;
  SamplingContent content{};
  std::optional<json::Object> _meta{};

  bool operator==(const SamplingMessage&) const = default;
};

struct ModelHint {
  std::optional<std::string> name{};

  bool operator==(const ModelHint&) const = default;
};
struct ModelPreferences {
  std::optional<std::vector<ModelHint>> hints{};
  std::optional<double> costPriority{};
  std::optional<double> speedPriority{};
  std::optional<double> intelligencePriority{};

  bool operator==(const ModelPreferences&) const = default;
};

enum class IncludeContext : std::uint8_t { none, thisServer, allServers };

/// `auto` is a word of C++: the enumerator has an underscore, the wire has not.
enum class ToolChoiceMode : std::uint8_t { auto_, required, none };
struct ToolChoice {
  std::optional<ToolChoiceMode> mode{};

  bool operator==(const ToolChoice&) const = default;
};

struct SamplingRequest {
  std::vector<SamplingMessage> messages{};
  std::int64_t maxTokens = 0;
  std::optional<std::string> systemPrompt{};
  std::optional<ModelPreferences> modelPreferences{};
  std::optional<IncludeContext> includeContext{};
  std::optional<double> temperature{};
  std::optional<std::vector<std::string>> stopSequences{};
  std::optional<json::Object> metadata{};
  std::optional<std::vector<Tool>> tools{};
  std::optional<ToolChoice> toolChoice{};

  bool operator==(const SamplingRequest&) const = default;
};

struct SamplingResult {
  Role role = Role::assistant;
  SamplingContent content{};
  std::string model{};
  /// "endTurn", "stopSequence", "maxTokens", "toolUse", or the client's own word.
  std::optional<std::string> stopReason{};
  std::optional<json::Object> _meta{};

  bool operator==(const SamplingResult&) const = default;
};

/// A place, mostly a folder, that the server may work in.
struct Root {
  std::string uri{};
  std::optional<std::string> name{};
  std::optional<json::Object> _meta{};

  bool operator==(const Root&) const = default;
};

/// A message of one user who says one text: the simplest sampling request.
inline SamplingRequest ask_model(std::string prompt, std::int64_t max_tokens) {
  SamplingRequest request;
  request.messages.push_back({.role = Role::user, .content = text(std::move(prompt))});
  request.maxTokens = max_tokens;
  return request;
}

}  // namespace godwit::inline v0

template <>
struct godwit::json::EnumNames<godwit::ToolChoiceMode> {
  static constexpr std::pair<ToolChoiceMode, std::string_view> names[] = {
      {ToolChoiceMode::auto_, "auto"},
      {ToolChoiceMode::required, "required"},
      {ToolChoiceMode::none, "none"}};
};
