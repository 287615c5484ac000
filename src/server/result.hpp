// How results begin and end: with what their dialect wants in every one of them.
#pragma once

#include "godwit/json/value.hpp"
#include "godwit/json/writer.hpp"
#include "mcp/era/dialect.hpp"
#include "server_impl.hpp"

namespace godwit::inline v0::detail::server {

/// Opens a result and writes the members that it begins with.
inline void write_result_begin(json::Writer& writer, const mcp::Dialect& dialect) {
  writer.begin_object();
  if (dialect.stateless) writer.raw(R"("resultType":"complete")");
}
/// The same for a result that is of another type.
inline void write_result_begin(json::Writer& writer, const mcp::Dialect& dialect,
                               std::string_view type) {
  writer.begin_object();
  if (!dialect.stateless) return;
  writer.raw_key("\"resultType\":");
  writer.value(type);
}

/// A whole result of a tool.
void write_tool_result(json::Writer& writer, const mcp::Dialect& dialect,
                       const Server::Impl& server, const ToolResult& result);
/// A whole result of a tool that failed, for the model to read.
void write_tool_error(json::Writer& writer, const mcp::Dialect& dialect, const Server::Impl& server,
                      std::string_view text);

/// Writes the last members of a result and closes it. `meta` is a handler's own _meta; `cache` is
/// set for results that may be kept.
void write_result_end(json::Writer& writer, const mcp::Dialect& dialect, const Server::Impl& server,
                      const json::Object* meta, const CacheHint* cache);

}  // namespace godwit::inline v0::detail::server
