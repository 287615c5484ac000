// expect: must own its arguments
#include <godwit/server/server.hpp>

struct Echo {
  std::string_view message{};
};

void offer(godwit::Server& server) {
  server.tool("echo", "Runs elsewhere", godwit::blocking([](Echo in) { return in.message; }));
}
