// Capabilities: what each side says it can do. Members hold objects because later revisions put
// more into them; presence is what counts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/json/value.hpp"

namespace godwit::inline v0 {

struct RootsCapability {
  std::optional<bool> listChanged{};

  bool operator==(const RootsCapability&) const = default;
};
struct SamplingCapability {
  std::optional<json::Object> context{};
  std::optional<json::Object> tools{};

  bool operator==(const SamplingCapability&) const = default;
};
/// Neither of the two said means form.
struct ElicitationCapability {
  std::optional<json::Object> form{};
  std::optional<json::Object> url{};

  bool takes_forms() const noexcept { return form.has_value() || !url.has_value(); }
  bool takes_urls() const noexcept { return url.has_value(); }
  bool operator==(const ElicitationCapability&) const = default;
};

struct ClientCapabilities {
  std::optional<RootsCapability> roots{};
  std::optional<SamplingCapability> sampling{};
  std::optional<ElicitationCapability> elicitation{};
  std::optional<std::map<std::string, json::Value>> experimental{};
  std::optional<std::map<std::string, json::Value>> extensions{};

  bool operator==(const ClientCapabilities&) const = default;
};

struct ListCapability {
  std::optional<bool> listChanged{};

  bool operator==(const ListCapability&) const = default;
};
struct ResourcesCapability {
  std::optional<bool> subscribe{};
  std::optional<bool> listChanged{};

  bool operator==(const ResourcesCapability&) const = default;
};

struct ServerCapabilities {
  std::optional<json::Object> logging{};
  std::optional<json::Object> completions{};
  std::optional<ListCapability> prompts{};
  std::optional<ResourcesCapability> resources{};
  std::optional<ListCapability> tools{};
  std::optional<std::map<std::string, json::Value>> experimental{};
  std::optional<std::map<std::string, json::Value>> extensions{};

  bool operator==(const ServerCapabilities&) const = default;
};

}  // namespace godwit::inline v0
