// Methods and notifications of one's own beside those of the protocol, an extension that says they
// are there, and middleware around everything.
//
//   custom_method [--stdio | --tcp HOST:PORT | --unix PATH]
#include <godwit/godwit.hpp>

struct Position {
  double x{};
  double y{};
};
struct Moved {
  Position to{};
  int moves{};
};

int main(int argc, char** argv) {
  godwit::Server server{{.name = "robot", .version = "1.0.0"}};
  int moves = 0;
  int bumps = 0;

  server.extension({.id = "com.example/robot", .settings = {{"arms", 2}}});
  server.method("robot/move", [&](Position to) { return Moved{.to = to, .moves = ++moves}; });
  server.notification("robot/bumped", [&] { ++bumps; });
  server.tool("bumps", "How often it bumped into something", [&] { return std::to_string(bumps); });

  server.use(godwit::log_calls(godwit::Log::to_stderr()));
  server.use(godwit::limit_rate(1000));
  server.use(godwit::authorize([](const godwit::CallFacts& call) -> godwit::Result<void> {
    if (call.method == "tools/call" && call.name == "forbidden") {
      return godwit::error("nobody may call that");
    }
    return {};
  }));

  return godwit::serve(server, argc, argv);
}
