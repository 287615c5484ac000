#include "result.hpp"

namespace godwit::inline v0::detail::server {

void write_tool_result(json::Writer& writer, const mcp::Codec& codec, const Server::Impl& server,
                       const ToolResult& result) {
  codec.begin_typed_result(writer, codec.result_type(result));
  writer.raw_key("\"content\":");
  codec.write_contents(writer, result.content);
  if (result.structuredContent) codec.write_structured(writer, result.structuredContent->text);
  if (result.isError) {
    writer.raw_key("\"isError\":");
    writer.value(*result.isError);
  }
  write_result_end(writer, codec, server, result._meta ? &*result._meta : nullptr, nullptr);
}

void write_tool_error(json::Writer& writer, const mcp::Codec& codec, const Server::Impl& server,
                      std::string_view text) {
  codec.begin_result(writer);
  mcp::write_only_text(writer, text);
  writer.raw_key("\"isError\":");
  writer.value(true);
  write_result_end(writer, codec, server, nullptr, nullptr);
}

}  // namespace godwit::inline v0::detail::server
