// How a program tests its own server: client and server in one process, joined in memory, no ports
// and no child processes. Prints what it checked and exits 0 if all was well.
#include <godwit/godwit.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

struct Add {
  int a{};
  int b{};
};
struct Sum {
  int sum{};
};

int main() {
  godwit::Server server{{.name = "calculator", .version = "1.0.0"}};
  server.tool("add", "Adds two numbers", [](Add in) { return Sum{in.a + in.b}; });

  godwit::Loop server_loop;
  godwit::RpcServer connections(server_loop, server.router(), server.peer_options());
  std::thread serving([&] {
    const godwit::Loop::Work work(server_loop);
    server_loop.run();
  });

  int failures = 0;
  const auto check = [&](const char* what, bool good) {
    std::cout << (good ? "ok " : "not ok ") << what << "\n";
    failures += good ? 0 : 1;
  };
  {
    auto client = godwit::Client::connect([&](godwit::Loop& loop) {
      auto [ours, theirs] = godwit::memory_pair(loop, server_loop);
      // The server's end belongs to the server's thread.
      auto end = std::make_shared<std::unique_ptr<godwit::rpc::Transport>>(std::move(theirs));
      server_loop.post([&connections, end] { connections.serve(std::move(*end)); });
      return godwit::Result<std::unique_ptr<godwit::rpc::Transport>>(std::move(ours));
    });
    check("connects", client.has_value());
    if (client) {
      const auto sum = client->call<Sum>("add", Add{.a = 40, .b = 2});
      check("adds", sum && sum->sum == 42);
      const auto bad = client->call_tool("add", {R"({"a":"forty"})"});
      check("refuses what is no number", bad && bad->isError.value_or(false));
      check("does not know other tools", !client->call_tool("subtract"));
    }
  }
  server_loop.stop();
  serving.join();
  return failures;
}
