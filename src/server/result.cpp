#include "result.hpp"

#include "mcp/encode.hpp"

namespace godwit::inline v0::detail::server {

void write_tool_result(json::Writer& writer, const mcp::Dialect& dialect,
                       const Server::Impl& server, const ToolResult& result) {
  write_result_begin(writer, dialect, result.resultType.value_or("complete"));
  writer.raw_key("\"content\":");
  mcp::write_contents(writer, result.content, dialect);
  if (result.structuredContent) {
    const std::string& json = result.structuredContent->text;
    if (dialect.stateless || (dialect.structured && json.starts_with('{'))) {
      writer.raw_key("\"structuredContent\":");
      writer.raw(json);
    }
  }
  if (result.isError) {
    writer.raw_key("\"isError\":");
    writer.value(*result.isError);
  }
  write_result_end(writer, dialect, server, result._meta ? &*result._meta : nullptr, nullptr);
}

void write_tool_error(json::Writer& writer, const mcp::Dialect& dialect, const Server::Impl& server,
                      std::string_view text) {
  write_result_begin(writer, dialect);
  mcp::write_only_text(writer, text);
  writer.raw_key("\"isError\":");
  writer.value(true);
  write_result_end(writer, dialect, server, nullptr, nullptr);
}

void write_result_end(json::Writer& writer, const mcp::Dialect& dialect, const Server::Impl& server,
                      const json::Object* meta, const CacheHint* cache) {
  if (dialect.stateless && cache) {
    writer.raw_key("\"ttlMs\":");
    writer.value(std::max<std::int64_t>(cache->ttl.count(), 0));
    writer.raw_key("\"cacheScope\":");
    writer.value(cache->scope == CacheScope::public_ ? "public" : "private");
  }
  if (meta && !meta->empty()) {
    writer.raw_key("\"_meta\":");
    writer.begin_object();
    if (dialect.stateless) writer.raw(server.result_meta_member);
    for (const json::Member& member : *meta) {
      writer.key(member.key);
      writer.value(member.value);
    }
    writer.end_object();
  } else if (dialect.stateless) {
    writer.raw(server.result_meta);
  }
  writer.end_object();
}

}  // namespace godwit::inline v0::detail::server
