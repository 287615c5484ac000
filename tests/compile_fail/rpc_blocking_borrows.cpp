// expect: godwit: a blocking handler must own its parameters; use std::string and RawJson instead
// of std::string_view, RawView and View
#include <string_view>

#include "godwit/rpc/router.hpp"

void bind(godwit::rpc::Router& router) {
  router.on("slow", godwit::rpc::blocking([](std::string_view text) { return text.size(); }));
}

int main() {}
