// The server that the official conformance suite runs against.
//
//   conformance_server --http 127.0.0.1:PORT
#include <godwit/godwit.hpp>

#include "fixture.hpp"

int main(int argc, char** argv) {
  godwit::ThreadPool pool(4);
  godwit::Server server{{.name = "godwit-conformance",
                         .version = "1.0.0",
                         .executor = &pool,
                         .log = godwit::Log::to_stderr(godwit::LogLevel::warning)}};
  conformance::add_tools(server);
  conformance::add_asking_tools(server);
  conformance::add_input_tools(server);
  conformance::add_resources(server);
  conformance::add_prompts(server);
  return godwit::serve(server, argc, argv);
}
