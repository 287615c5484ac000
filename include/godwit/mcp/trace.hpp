// TraceContext: the W3C trace headers that a request may carry in its _meta, handed on unread.
#pragma once

#include <string>

#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

/// Empty members are absent.
struct TraceContext {
  std::string traceparent{};
  std::string tracestate{};
  std::string baggage{};

  bool operator==(const TraceContext&) const = default;
};

}  // namespace godwit::inline v0
