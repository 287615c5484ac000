// expect: a tool returns text, content, a ToolResult or a value
#include <godwit/server/server.hpp>

void offer(godwit::Server& server) {
  server.tool("t", "Answers as a prompt does", [] {
    return godwit::Result<godwit::PromptMessage>(godwit::user_says(godwit::TextContent{}));
  });
}
