// expect: a handler has one call operator whose parameters say what it takes
#include "godwit/rpc/router.hpp"

void bind(godwit::rpc::Router& router) {
  router.on("any", [](auto value) { return value; });
}
