// expect: a prompt returns text, content, a PromptMessage
#include <godwit/server/server.hpp>

struct Forecast {
  double degrees{};
};

void offer(godwit::Server& server) {
  server.prompt("p", "Answers later with a struct", [](godwit::Reply<Forecast>) {});
}
