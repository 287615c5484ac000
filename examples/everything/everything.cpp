// Every feature of a server, for people who look for an example and for clients that want something
// to talk to.
//
//   everything [--stdio | --tcp HOST:PORT | --unix PATH]
#include <chrono>
#include <godwit/godwit.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tools.hpp"

int main(int argc, char** argv) {
  godwit::ThreadPool pool(4);
  godwit::Server server{
      {.name = "everything",
       .version = "1.0.0",
       .title = "Everything",
       .description = "Shows every feature of a server",
       .websiteUrl = "https://modelcontextprotocol.io",
       .icons = {{.src = "data:image/png;base64,iVBORw0KGgo=", .mimeType = "image/png"}},
       .instructions = "Call any tool; each shows one feature.",
       .executor = &pool,
       .log = godwit::Log::to_stderr(godwit::LogLevel::warning)}};
  everything::add_tools(server);
  everything::add_asking_tools(server);
  everything::add_resources(server);
  everything::add_prompts(server);
  return godwit::serve(server, argc, argv);
}
