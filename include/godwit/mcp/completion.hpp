// Completion: proposals for the value of a prompt's argument or a template's variable.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/json/literal.hpp"

namespace godwit::inline v0 {

struct PromptReference {
  json::Literal<"ref/prompt"> type{};
  std::string name{};
  std::optional<std::string> title{};

  bool operator==(const PromptReference&) const = default;
};
/// `uri` is a uri or a template of one.
struct ResourceReference {
  json::Literal<"ref/resource"> type{};
  std::string uri{};

  bool operator==(const ResourceReference&) const = default;
};
using CompletionReference = std::variant<PromptReference, ResourceReference>;

/// What is being typed, and what was chosen before.
struct CompletionArgument {
  std::string name{};
  std::string value{};

  bool operator==(const CompletionArgument&) const = default;
};
struct CompletionContext {
  std::optional<std::map<std::string, std::string>> arguments{};

  bool operator==(const CompletionContext&) const = default;
};

/// At most 100 values travel; `total` and `hasMore` tell of the rest.
struct Completion {
  std::vector<std::string> values{};
  std::optional<std::int64_t> total{};
  std::optional<bool> hasMore{};

  bool operator==(const Completion&) const = default;
};

}  // namespace godwit::inline v0
