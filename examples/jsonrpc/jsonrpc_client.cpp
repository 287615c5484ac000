// Calls the calculator and shows what a caller gets: results, errors with whose fault they are,
// answers that are not what was expected, and a batch.
//
//   jsonrpc_client --tcp 127.0.0.1:8080
//   jsonrpc_client --framing content-length --unix PATH
//   jsonrpc_client --http http://127.0.0.1:8080/
//   jsonrpc_client --ws ws://127.0.0.1:8080/
//   jsonrpc_client -- ./jsonrpc_server --stdio        starts the server itself
#include <godwit/godwit.hpp>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace {

namespace rpc = godwit::rpc;

constexpr std::string_view usage =
    "usage: jsonrpc_client [--framing newline|content-length]\n"
    "                      --tcp HOST:PORT | --unix PATH | -- COMMAND [ARGUMENT…]\n"
    "       jsonrpc_client --http URL | --ws URL\n";

struct Named {
  int minuend{};
  int subtrahend{};
};

template <class T>
void show(std::string_view what, const godwit::Result<T>& outcome) {
  std::cout << what << ": ";
  if (outcome) {
    std::cout << godwit::json::encode(*outcome) << "\n";
  } else {
    std::cout << rpc::explain(outcome.error()) << "\n";
  }
}

using TransportResult = godwit::Result<std::unique_ptr<rpc::Transport>>;

/// Drives the loop until the connection is there.
TransportResult connected(godwit::Loop& loop, auto connect) {
  std::optional<TransportResult> outcome;
  const auto attempt = connect([&](TransportResult transport) {
    outcome = std::move(transport);
    loop.stop();
  });
  loop.run();
  if (!outcome) return godwit::error("no connection");
  return *std::move(outcome);
}

TransportResult open(godwit::Loop& loop, std::vector<std::string> args) {
  godwit::SocketOptions options;
  if (args.size() > 2 && args[0] == "--framing") {
    if (args[1] == "content-length") options.framing = godwit::Framing::content_length;
    args.erase(args.begin(), args.begin() + 2);
  }
  if (args.size() == 2 && args[0] == "--tcp") {
    auto address = godwit::Address::parse(args[1]);
    if (!address) return std::move(address).error();
    return connected(loop, [&](auto done) {
      return godwit::connect_tcp(loop, *address, std::move(done), options);
    });
  }
  if (args.size() == 2 && args[0] == "--unix") {
    return connected(loop, [&](auto done) {
      return godwit::connect_unix(loop, args[1], std::move(done), options);
    });
  }
  if (args.size() == 2 && (args[0] == "--http" || args[0] == "--ws")) {
    auto url = godwit::http::Url::parse(args[1]);
    if (!url) return std::move(url).error();
    if (args[0] == "--http") return godwit::connect_http(loop, *url);
    return connected(loop, [&](auto done) {
      return godwit::connect_websocket(loop, *url, std::move(done),
                                       {.websocket = {.protocols = {"jsonrpc"}}});
    });
  }
  if (args.size() >= 2 && args[0] == "--") {
    auto child = godwit::CommandTransport::spawn(loop, {.argv = {args.begin() + 1, args.end()}},
                                                 options.framing);
    if (!child) return std::move(child).error();
    return std::unique_ptr<rpc::Transport>(*std::move(child));
  }
  return godwit::error(std::string(usage));
}

}  // namespace

int main(int argc, char** argv) {
  godwit::Loop loop;
  auto transport = open(loop, {argv + 1, argv + argc});
  if (!transport) {
    std::cerr << "jsonrpc_client: " << transport.error().message << "\n";
    return 1;
  }
  godwit::Connection server(loop, *std::move(transport), nullptr,
                            {.log = godwit::Log::to_stderr(godwit::LogLevel::warning)});

  show("subtract by position", server.ask<int>("subtract", std::tuple{42, 23}));
  show("subtract by name", server.ask<int>("subtract", Named{.minuend = 42, .subtrahend = 23}));
  show("sum", server.ask<int>("sum", std::vector{1, 2, 4}));
  show("get_data", server.ask<std::tuple<std::string, int>>("get_data"));
  server.peer().notify("update", std::vector{1, 2, 3, 4, 5});

  // Errors say whose fault they are.
  show("no such method", server.ask<int>("foobar"));
  show("wrong parameter", server.ask<int>("subtract", std::tuple{"forty-two", 23}));
  show("unexpected result", server.ask<std::string>("sum", std::vector{1, 2}));

  // Three messages in one; each call gets its own outcome.
  int waiting = 2;
  const auto arrived = [&](std::string_view name) {
    return [&, name](godwit::Result<int> outcome) {
      show(name, outcome);
      if (--waiting == 0) loop.stop();
    };
  };
  server.peer()
      .batch()
      .call<int>("sum", std::vector{1, 2, 4}, arrived("batch, first"))
      .notify("notify_hello", std::vector{7})
      .call<int>("subtract", std::vector{42, 23}, arrived("batch, second"))
      .send();
  loop.run();

  server.on_close([&](const godwit::Error&) { loop.stop(); });
  server.close();
  loop.run();
  return 0;
}
