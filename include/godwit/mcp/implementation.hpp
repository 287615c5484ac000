// Who somebody is: name, version and what a person may be shown of them. Told by both sides, never
// verified: for display and logs only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

enum class IconTheme : std::uint8_t { light, dark };

/// A picture for people. `src` is an https: or data: URI; nothing here ever fetches it.
struct Icon {
  std::string src{};
  std::optional<std::string> mimeType{};
  /// "48x48", or "any" for what can be scaled.
  std::optional<std::vector<std::string>> sizes{};
  std::optional<IconTheme> theme{};

  bool operator==(const Icon&) const = default;
};

struct Implementation {
  std::string name{};
  std::string version{};
  std::optional<std::string> title{};
  std::optional<std::string> description{};
  std::optional<std::string> websiteUrl{};
  std::optional<std::vector<Icon>> icons{};

  bool operator==(const Implementation&) const = default;
};

}  // namespace godwit::inline v0
