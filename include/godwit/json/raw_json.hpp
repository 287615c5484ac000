// JSON that stays text: passed through without being taken apart.
#pragma once

#include <string>
#include <string_view>

#include "godwit/base/export.hpp"

namespace godwit::inline v0::json {

/// JSON text that it owns. As a struct field it takes whatever value stands there; written, it is
/// copied as it is, so the text must be valid JSON. Empty counts as absent and is written as null.
struct RawJson {
  std::string text{};

  bool operator==(const RawJson&) const = default;
};

/// The same as a slice of the message being handled. Like std::string_view, only for plain
/// handlers, which run while the message is still there.
struct RawView {
  std::string_view text{};

  bool operator==(const RawView&) const = default;
};

}  // namespace godwit::inline v0::json

namespace godwit::inline v0 {
using json::RawJson;
using json::RawView;
}  // namespace godwit::inline v0
