// An MCP server inside a program that has an event loop of its own: here poll(2) over stdin. godwit
// starts no thread and touches no descriptor: bytes go in, bytes come out.
//
//   embedded < requests > answers
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <godwit/server.hpp>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

struct Spell {
  std::string name{};
  int power = 1;
};

// How long poll() may wait: not at all if the time has come already, which a negative number would
// not say.
static int wait_ms(const godwit::rpc::Peer& client) {
  const auto next = client.next_deadline();
  if (!next) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(*next - godwit::steady_clock().now());
  return static_cast<int>(std::clamp<long long>(left.count(), 0, 60'000));
}

int main() {
  godwit::Server server{{.name = "game", .version = "1.0.0"}};
  int mana = 100;  // the program's own state; handlers run on its thread, so no lock
  server.tool("cast", "Casts a spell", [&](Spell spell) -> godwit::Result<std::string> {
    if (spell.power > mana) return godwit::tool_error("not enough mana");
    mana -= spell.power;
    return spell.name + "! " + std::to_string(mana) + " mana left";
  });
  std::vector<std::jthread> workers;
  server.tool(
      "brew", "Brews a potion meanwhile", [&](Spell spell, godwit::Reply<std::string> reply) {
        workers.emplace_back(
            [spell, reply = std::move(reply)]() mutable { reply("a potion of " + spell.name); });
      });

  int bell[2];  // answers of other threads ring it
  if (pipe2(bell, O_NONBLOCK | O_CLOEXEC) != 0) return 1;
  auto options = server.peer_options();
  options.wake = [&] { [[maybe_unused]] const auto rung = write(bell[1], "!", 1); };

  godwit::rpc::MessageSink out([](std::string_view message) { std::cout << message << "\n"; });
  godwit::rpc::Peer client(out, server.router(), options);

  std::string input;
  for (bool open = true; open || client.in_flight() > 0;) {
    pollfd ready[] = {{.fd = open ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
                      {.fd = bell[0], .events = POLLIN, .revents = 0}};
    poll(ready, 2, wait_ms(client));  // the game's other events would be waited for here, too
    client.expire(godwit::steady_clock().now());
    char bytes[4096];
    if (ready[1].revents != 0) {
      while (read(bell[0], bytes, sizeof bytes) > 0) continue;
      client.process();
    }
    if (ready[0].revents != 0) {
      const ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
      open = got > 0;
      if (got > 0) input.append(bytes, static_cast<std::size_t>(got));
      std::size_t begin = 0;
      for (std::size_t end; (end = input.find('\n', begin)) != std::string::npos; begin = end + 1) {
        if (end > begin) client.receive(std::string_view(input).substr(begin, end - begin));
      }
      input.erase(0, begin);
    }
    std::cout.flush();
  }
  client.close();
}
