// expect: a handler takes one struct with all its arguments
#include <godwit/server/server.hpp>

struct A {
  int a{};
};
struct B {
  int b{};
};

void offer(godwit::Server& server) {
  server.tool("both", "Takes two", [](A, B) { return "x"; });
}
