// expect: the arguments of a tool are an object
#include <godwit/server/server.hpp>

void offer(godwit::Server& server) {
  server.tool("twice", "Doubles a number", [](int x) { return std::to_string(2 * x); });
}
