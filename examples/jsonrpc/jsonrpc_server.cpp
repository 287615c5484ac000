// A JSON-RPC 2.0 calculator over stdio, TCP, a unix socket, HTTP or WebSocket.
//
//   jsonrpc_server --stdio
//   jsonrpc_server --tcp 127.0.0.1:8080
//   jsonrpc_server --http 127.0.0.1:8080
//   jsonrpc_server --ws 127.0.0.1:8080
//   jsonrpc_server --unix /tmp/calculator.sock --framing content-length
#include <csignal>
#include <cstdint>
#include <godwit/godwit.hpp>
#include <iostream>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

namespace {

namespace rpc = godwit::rpc;

constexpr std::string_view usage =
    "usage: jsonrpc_server --stdio | --tcp HOST:PORT | --unix PATH\n"
    "                      --http HOST:PORT | --ws HOST:PORT\n"
    "                      [--framing newline|content-length]\n";

// A struct takes its parameters by name and, in this order, by position.
struct Subtract {
  double minuend{};
  double subtrahend{};
};

using Number = std::variant<std::int64_t, double>;

// Whole as long as it can be: 1 + 2 is 3, not 3.0.
Number sum(const std::vector<Number>& numbers) {
  std::int64_t whole = 0;
  double real = 0;
  bool is_whole = true;
  for (const Number& number : numbers) {
    if (const auto* n = std::get_if<std::int64_t>(&number)) {
      is_whole = is_whole && !__builtin_add_overflow(whole, *n, &whole);
      real += static_cast<double>(*n);
    } else {
      is_whole = false;
      real += std::get<double>(number);
    }
  }
  if (is_whole) return whole;
  return real;
}

std::shared_ptr<rpc::Router> make_router() {
  auto router = std::make_shared<rpc::Router>();
  router->on("subtract", [](Subtract in) -> Number {
    const double difference = in.minuend - in.subtrahend;
    const auto whole = static_cast<std::int64_t>(difference);
    if (static_cast<double>(whole) == difference) return whole;
    return difference;
  });
  router->on("sum", &sum);
  router->on("sum_named", {"a", "b"}, [](Number a, Number b) { return sum({a, b}); });
  router->on("get_data", [] { return std::tuple{"hello", 5}; });
  for (const char* name : {"update", "notify_hello", "notify_sum", "note"}) {
    router->on(name, [](godwit::json::View) {});  // heard, never answered
  }
  return router;
}

int fail(std::string_view problem) {
  std::cerr << "jsonrpc_server: " << problem << "\n" << usage;
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::string where;
  std::string target;
  godwit::Framing framing = godwit::Framing::newline;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const bool has_value = i + 1 < argc;
    if (option == "--help") {
      std::cout << usage;
      return 0;
    } else if (option == "--stdio") {
      where = option;
    } else if ((option == "--tcp" || option == "--unix" || option == "--http" ||
                option == "--ws") &&
               has_value) {
      where = option;
      target = argv[++i];
    } else if (option == "--framing" && has_value) {
      const std::string_view name = argv[++i];
      if (name != "newline" && name != "content-length") return fail("unknown framing");
      framing = name == "newline" ? godwit::Framing::newline : godwit::Framing::content_length;
    } else {
      return fail("unknown option or missing value: " + std::string(option));
    }
  }
  if (where.empty()) return fail("say where to serve");

  godwit::Loop loop;
  godwit::RpcServer server(loop, make_router(),
                           {.log = godwit::Log::to_stderr(godwit::LogLevel::warning)});
  server.on_closed([&] { loop.stop(); });
  // Before anybody is told that there is a server to be stopped.
  auto signals = godwit::Signals::open(loop, {SIGINT, SIGTERM}, [&](int) { server.close(); });
  if (!signals) return fail(signals.error().message);
  godwit::Result<std::string> address = std::string("stdio");
  if (where == "--stdio") {
    if (auto started = server.serve_stdio(framing); !started) address = started.error();
  } else if (where == "--unix") {
    address = server.listen_unix(target, framing);
  } else {
    auto endpoint = godwit::Address::parse(target);
    if (!endpoint) return fail(endpoint.error().message);
    address = where == "--http" ? server.listen_http(*endpoint)
              : where == "--ws" ? server.listen_ws(*endpoint)
                                : server.listen_tcp(*endpoint, framing);
  }
  if (!address) {
    std::cerr << "jsonrpc_server: " << address.error().message << "\n";
    return 1;
  }
  if (where != "--stdio") std::cout << "listening on " << *address << std::endl;

  loop.run();
  if (const auto& lost = server.stdio_failure()) {
    std::cerr << "jsonrpc_server: answers were lost: " << lost->message << "\n";
    return 1;
  }
  return 0;
}
