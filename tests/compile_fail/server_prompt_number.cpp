// expect: the arguments of a prompt are texts
#include <godwit/server/server.hpp>

struct Count {
  int count{};
};

void offer(godwit::Server& server) {
  server.prompt("many", "Takes a number", [](Count) { return "x"; });
}
