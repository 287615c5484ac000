#include "godwit/client/tool_outcome.hpp"

#include "godwit/json/writer.hpp"
#include "godwit/rpc/error_code.hpp"

namespace godwit::inline v0 {

std::string joined_text(const ToolResult& result) {
  std::string out;
  bool first = true;
  for (const Content& content : result.content) {
    const auto* block = std::get_if<TextContent>(&content);
    if (!block) continue;
    if (!std::exchange(first, false)) out.push_back('\n');
    out += block->text;
  }
  return out;
}

namespace detail::client {

Result<std::string_view> structured_text(const ToolResult& result) {
  if (result.structuredContent) return std::string_view(result.structuredContent->text);
  for (const Content& content : result.content) {
    if (const auto* block = std::get_if<TextContent>(&content)) {
      return std::string_view(block->text);
    }
  }
  return error("it has neither structuredContent nor text");
}

Error not_expected(std::string_view tool, const Error& reason) {
  return rpc::internal_error("the result of the tool " + json::quote(tool.substr(0, 200)) +
                             " is not what was expected: " + reason.message);
}

}  // namespace detail::client
}  // namespace godwit::inline v0
