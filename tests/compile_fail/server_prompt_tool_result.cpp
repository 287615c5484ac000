// expect: a prompt returns text, content, a PromptMessage
#include <godwit/server/server.hpp>

void offer(godwit::Server& server) {
  server.prompt("p", "Answers as a tool does", [] { return godwit::ToolResult{}; });
}
