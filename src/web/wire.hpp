// Words of HTTP that several files of this module say.
#pragma once

#include <string_view>
#include <utility>

#include "godwit/http/fields.hpp"

namespace godwit::inline v0::detail {

inline constexpr std::string_view json_type = "application/json";
inline constexpr std::string_view sse_type = "text/event-stream";

/// A stream must reach the client as it is written: no cache, no buffer of a proxy.
inline http::Fields with_stream_fields(http::Fields fields) {
  fields.set("Cache-Control", "no-cache");
  fields.set("X-Accel-Buffering", "no");
  return fields;
}

}  // namespace godwit::inline v0::detail
