// The smallest honest server: method `echo` answers with its `message`. What the load generator
// measures is the library.
#include <godwit/godwit.hpp>
#include <iostream>
#include <string_view>

namespace {

struct Echo {
  std::string_view message{};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || std::string_view(argv[1]) != "--stdio") {
    std::cerr << "usage: bench_rpc_echo --stdio\n";
    return 2;
  }
  auto router = std::make_shared<godwit::rpc::Router>();
  router->on("echo", [](Echo in) { return in; });
  godwit::Loop loop;
  godwit::RpcServer server(loop, router);
  if (auto started = server.serve_stdio(); !started) {
    std::cerr << "bench_rpc_echo: " << started.error().message << "\n";
    return 1;
  }
  server.on_closed([&] { loop.stop(); });
  loop.run();
  return 0;
}
