// Both ends of a connection in one program, joined in memory.
#include <godwit/godwit.hpp>
#include <iostream>

struct Subtract {
  double minuend{};
  double subtrahend{};
};

int main() {
  auto router = std::make_shared<godwit::rpc::Router>();
  router->on("subtract", [](Subtract in) { return in.minuend - in.subtrahend; });

  godwit::Loop loop;
  auto [transport, other_end] = godwit::memory_pair(loop);
  godwit::RpcServer calculator(loop, router);
  calculator.serve(std::move(other_end));

  godwit::Connection server(loop, std::move(transport));
  auto difference = server.ask<double>("subtract", Subtract{.minuend = 42, .subtrahend = 23});

  if (!difference) {
    std::cerr << godwit::rpc::explain(difference.error()) << "\n";
    return 1;
  }
  std::cout << "42 - 23 = " << *difference << "\n";
}
