// Words of HTTP that several files of this module say.
#pragma once

#include <string_view>
#include <utility>

#include "godwit/http/fields.hpp"
#include "godwit/json/view.hpp"

namespace godwit::inline v0::detail {

inline constexpr std::string_view json_type = "application/json";
inline constexpr std::string_view sse_type = "text/event-stream";

/// Whether somebody waits for an answer to it.
inline bool has_request(json::View message) {
  if (message.is_object()) return message.find("method") && message.find("id");
  for (const json::View entry : message.items()) {
    if (has_request(entry)) return true;
  }
  return false;
}

/// A stream must reach the client as it is written: no cache, no buffer of a proxy.
inline http::Fields with_stream_fields(http::Fields fields) {
  fields.set("Cache-Control", "no-cache");
  fields.set("X-Accel-Buffering", "no");
  return fields;
}

}  // namespace godwit::inline v0::detail
