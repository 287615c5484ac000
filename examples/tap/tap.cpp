// A server that shows its traffic: every message both ways, with what it is, on stderr.
//
//   tap --stdio | --http 127.0.0.1:8080 | …
#include <godwit/godwit.hpp>
#include <iostream>
#include <mutex>
#include <string>
#include <string_view>

namespace {

std::string_view name_of(godwit::rpc::MessageKind kind) {
  using Kind = godwit::rpc::MessageKind;
  switch (kind) {
    case Kind::request:
      return "request";
    case Kind::notification:
    case Kind::cancellation:
      return "notification";
    case Kind::batch:
      return "batch";
    case Kind::answer:
      return "answer";
    case Kind::unknown:
      break;
  }
  return "no message";
}

struct Name {
  std::string name{};
};

}  // namespace

int main(int argc, char** argv) {
  std::mutex one_at_a_time;  // with --threads connections are served by several
  godwit::ServerOptions options;
  options.name = "tap";
  options.version = "1.0.0";
  options.tap = [&](const godwit::rpc::TappedMessage& message) {
    const std::lock_guard lock(one_at_a_time);
    std::cerr << (message.incoming ? "<- " : "-> ") << name_of(message.kind) << ' '
              << message.method << ' ' << message.id << (message.failed ? " error" : "") << ": "
              << message.text << '\n';
  };
  godwit::Server server(options);
  server.tool("greet", "Greets somebody", [](Name in) { return "Hello, " + in.name; });
  return godwit::serve(server, argc, argv);
}
