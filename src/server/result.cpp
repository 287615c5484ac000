#include "result.hpp"

#include "mcp/encode.hpp"

namespace godwit::inline v0::detail::server {

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
