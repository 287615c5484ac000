// expect: a method of your own returns an object
#include <godwit/server/server.hpp>

void offer(godwit::Server& server) {
  server.method("acme/text", [] { return "text"; });
}
