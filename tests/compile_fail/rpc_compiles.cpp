// expect: compiles
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "godwit/rpc/error_code.hpp"
#include "godwit/rpc/peer.hpp"
#include "godwit/rpc/router.hpp"

int twice(int value) { return 2 * value; }
int thrice(int value) noexcept { return 3 * value; }

void bind(godwit::rpc::Router& router, godwit::rpc::Peer& peer) {
  router.on("function", twice);
  router.on("pointer", &thrice);
  router.on("blocking_function", godwit::rpc::blocking(twice));
  router.on("blocking_noexcept", godwit::rpc::blocking(&thrice));
  router.on("plain", [](std::string_view text) { return text.size(); });
  router.on("slow", godwit::rpc::blocking([](std::string text) { return text.size(); }));
  router.on("later", [](std::string text, godwit::rpc::Reply<int> reply) {
    reply(static_cast<int>(text.size()));
  });
  peer.notify("sum", std::vector{1, 2});
  peer.notify("move", std::tuple(1, "left"));
  constexpr godwit::rpc::ServerErrorCode code(-32050);
  static_assert(code.value() == -32050);
}

int main() {}
