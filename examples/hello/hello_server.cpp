// The ten-line MCP server of the README.
//
//   hello_server [--stdio | --tcp HOST:PORT | --unix PATH]
#include <godwit/godwit.hpp>

struct Hello {
  std::string name{};
};

int main(int argc, char** argv) {
  godwit::Server server{{.name = "hello", .version = "1.0.0"}};
  server.tool("hello", "Greets somebody", [](Hello in) { return "Hello, " + in.name + "!"; });
  return godwit::serve(server, argc, argv);
}
