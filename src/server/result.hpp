// How results begin and end: with what their revision wants in every one of them.
#pragma once

#include "godwit/json/value.hpp"
#include "godwit/json/writer.hpp"
#include "mcp/era/codec.hpp"
#include "server_impl.hpp"

namespace godwit::inline v0::detail::server {

/// A whole result of a tool.
void write_tool_result(json::Writer& writer, const mcp::Codec& codec, const Server::Impl& server,
                       const ToolResult& result);
/// A whole result of a tool that failed, for the model to read.
void write_tool_error(json::Writer& writer, const mcp::Codec& codec, const Server::Impl& server,
                      std::string_view text);

/// Writes the last members of a result and closes it. `meta` is a handler's own _meta; `cache` is
/// set for results that may be kept.
inline void write_result_end(json::Writer& writer, const mcp::Codec& codec,
                             const Server::Impl& server, const json::Object* meta,
                             const CacheHint* cache) {
  mcp::ResultEnd end{.server = server.info_json, .meta = meta};
  if (cache) {
    end.ttl_ms = cache->ttl.count();
    end.is_shared = cache->scope == CacheScope::public_;
  }
  codec.end_result(writer, end);
}

}  // namespace godwit::inline v0::detail::server
