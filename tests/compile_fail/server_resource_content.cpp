// expect: a resource returns text, a Blob, ResourceContents
#include <godwit/server/server.hpp>

void offer(godwit::Server& server) {
  server.resource("a:b", "Answers as a tool does", [] { return godwit::TextContent{}; });
}
