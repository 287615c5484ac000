// expect: godwit: a handler that answers later must own its parameters; use std::string and RawJson
// instead of std::string_view, RawView and View
#include <string_view>

#include "godwit/rpc/router.hpp"

struct Query {
  std::string_view text{};
};

void bind(godwit::rpc::Router& router) {
  router.on("later", [](Query query, godwit::rpc::Reply<int> reply) {
    reply(static_cast<int>(query.text.size()));
  });
}

int main() {}
