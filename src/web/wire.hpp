// Words of HTTP that several files of this module say.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "godwit/base/error.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/http/exchange.hpp"
#include "godwit/http/fields.hpp"
#include "godwit/http/sse_event.hpp"
#include "godwit/json/view.hpp"
#include "godwit/rpc/error_code.hpp"

namespace godwit::inline v0::detail::web {

inline constexpr std::string_view json_type = "application/json";
inline constexpr std::string_view sse_type = "text/event-stream";

// What clients are told in several places.
inline constexpr std::string_view no_session =
    "there is no such session (any more): begin a new one with \"initialize\"";
inline constexpr std::string_view unknown_event =
    "Last-Event-ID names no event of this session that can be resumed from: it is unknown, or what "
    "followed it is not kept any more";
inline constexpr std::string_view store_failed =
    "busy: what is kept of this session cannot be read now; try again later";

/// An event that carries a message of JSON-RPC.
inline bool is_message(const http::SseEvent& event) {
  return (event.event.empty() || event.event == "message") && !event.data.empty();
}

/// Whether somebody waits for an answer to it.
inline bool has_request(json::View message) {
  if (message.is_object()) return message.find("method") && message.find("id");
  for (const json::View entry : message.items()) {
    if (has_request(entry)) return true;
  }
  return false;
}

/// What is refused now and may be taken later.
inline Error busy(std::string why) {
  return rpc::internal_error("busy: " + std::move(why) + "; try again later");
}
inline http::Fields retry_later() { return {{"Retry-After", "1"}}; }

/// A stream must reach the client as it is written: no cache, no buffer of a proxy.
inline http::Fields with_stream_fields(http::Fields fields) {
  fields.set("Cache-Control", "no-cache");
  fields.set("X-Accel-Buffering", "no");
  return fields;
}

/// Whether the client reads what it is sent. What waits already decides, not what comes next: one
/// event alone may be larger than the bound.
inline bool keeps_up(const http::Exchange& exchange, const Limits& limits) {
  return exchange.unsent() <= limits.output_queue_bytes * 4;
}

}  // namespace godwit::inline v0::detail::web
