#include <godwit/godwit.hpp>
#include <iostream>

struct Subtract {  // the struct is the schema
  double minuend{};
  double subtrahend{};
};

int main() {
  auto router = std::make_shared<godwit::rpc::Router>();
  router->on("subtract", [](Subtract in) { return in.minuend - in.subtrahend; });

  godwit::Loop loop;
  godwit::RpcServer server(loop, router);
  auto address = server.listen_tcp({.host = "127.0.0.1", .port = 8080});
  if (!address) {
    std::cerr << address.error().message << "\n";
    return 1;
  }
  loop.run();
}
