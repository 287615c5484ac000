// An MCP server inside a program that has an event loop of its own: here poll(2) over stdin. godwit
// starts no thread and touches no descriptor: bytes go in, bytes come out.
//
//   embedded < requests > answers
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <godwit/server.hpp>
#include <iostream>
#include <string>
#include <string_view>

struct Spell {
  std::string name{};
  int power = 1;
};

int main() {
  godwit::Server server{{.name = "game", .version = "1.0.0"}};
  int mana = 100;  // the program's own state; handlers run on its thread, so no lock
  server.tool("cast", "Casts a spell", [&](Spell spell) -> godwit::Result<std::string> {
    if (spell.power > mana) return godwit::tool_error("not enough mana");
    mana -= spell.power;
    return spell.name + "! " + std::to_string(mana) + " mana left";
  });

  godwit::rpc::MessageSink out([](std::string_view message) { std::cout << message << "\n"; });
  godwit::rpc::Peer client(out, server.router(), server.peer_options());

  std::string input;
  for (bool open = true; open;) {
    pollfd stdin_ready{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    int wait_ms = -1;
    if (const auto next = client.next_deadline()) {
      const auto left = *next - godwit::steady_clock().now();
      wait_ms =
          static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1);
    }
    poll(&stdin_ready, 1, wait_ms);  // the game's other events would be waited for here, too
    client.expire(godwit::steady_clock().now());
    if (stdin_ready.revents == 0) continue;

    char bytes[4096];
    const ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
    open = got > 0;
    if (got > 0) input.append(bytes, static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end; (end = input.find('\n', begin)) != std::string::npos; begin = end + 1) {
      if (end > begin) client.receive(std::string_view(input).substr(begin, end - begin));
    }
    input.erase(0, begin);
    std::cout.flush();
  }
}
