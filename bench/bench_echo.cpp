// An MCP server with one tool that gives back its message: what the library itself costs.
//
//   bench_echo [--tools N] --stdio | --tcp HOST:PORT | --unix PATH
#include <cstdlib>
#include <godwit/runtime/serve.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace {
struct Echo {
  std::string_view message{};
};
struct Nothing {
  int value{};
};
}  // namespace

int main(int argc, char** argv) {
  godwit::Server server{{.name = "echo", .version = "1.0.0"}};
  server.tool("echo", "Gives the message back", [](Echo in) { return in.message; });
  std::vector<char*> rest = {argv[0]};
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--tools" && i + 1 < argc) {
      const int count = std::atoi(argv[++i]);
      for (int n = 0; n < count; ++n) {
        server.tool("tool_" + std::to_string(n), "One of many",
                    [](Nothing in) { return std::to_string(in.value); });
      }
    } else {
      rest.push_back(argv[i]);
    }
  }
  return godwit::serve(server, static_cast<int>(rest.size()), rest.data());
}
