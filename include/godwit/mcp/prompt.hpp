// Prompts as the wire lists and answers them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/json/value.hpp"
#include "godwit/mcp/content.hpp"

namespace godwit::inline v0 {

struct PromptArgument {
  std::string name{};
  std::optional<std::string> title{};
  std::optional<std::string> description{};
  std::optional<bool> required{};

  bool operator==(const PromptArgument&) const = default;
};

struct Prompt {
  std::string name{};
  std::optional<std::string> title{};
  std::optional<std::string> description{};
  std::optional<std::vector<PromptArgument>> arguments{};
  std::optional<std::vector<Icon>> icons{};
  std::optional<json::Object> _meta{};

  bool operator==(const Prompt&) const = default;
};

struct PromptMessage {
  Role role = Role::user;
  Content content{};

  bool operator==(const PromptMessage&) const = default;
};

struct PromptResult {
  std::optional<std::string> description{};
  std::vector<PromptMessage> messages{};
  std::optional<json::Object> _meta{};

  bool operator==(const PromptResult&) const = default;
};

inline PromptMessage user_says(Content content) {
  return {.role = Role::user, .content = std::move(content)};
}
inline PromptMessage assistant_says(Content content) {
  return {.role = Role::assistant, .content = std::move(content)};
}

}  // namespace godwit::inline v0
