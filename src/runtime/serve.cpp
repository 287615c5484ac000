#include "godwit/runtime/serve.hpp"

#include <csignal>
#include <iostream>
#include <optional>
#include <string>

#include "default_sealer.hpp"
#include "godwit/io/address.hpp"
#include "godwit/io/signals.hpp"
#include "godwit/transport/rpc_server.hpp"
#include "godwit/web/web_server.hpp"

namespace godwit::inline v0 {

namespace {

constexpr std::string_view usage =
    "  --stdio              speak over stdin and stdout (the default)\n"
    "  --tcp HOST:PORT      listen on a TCP socket\n"
    "  --unix PATH          listen on a unix socket\n"
    "  --http HOST:PORT     listen for HTTP, at the path /mcp\n"
    "  --help               show this\n";

struct Place {
  enum class Kind { stdio, tcp, unix_socket, http, help } kind = Kind::stdio;
  std::string target{};
};

Result<Place> read_arguments(int argc, char** argv) {
  Place place;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const auto value = [&]() -> Result<std::string> {
      if (i + 1 < argc) return std::string(argv[++i]);
      return error(std::string(option) + " needs a value");
    };
    if (option == "--help" || option == "-h") {
      place.kind = Place::Kind::help;
    } else if (option == "--stdio") {
      place.kind = Place::Kind::stdio;
    } else if (option == "--tcp" || option == "--unix") {
      place.kind = option == "--tcp" ? Place::Kind::tcp : Place::Kind::unix_socket;
      Result<std::string> target = value();
      if (!target) return std::move(target).error();
      place.target = *std::move(target);
    } else if (option == "--http") {
      place.kind = Place::Kind::http;
      Result<std::string> target = value();
      if (!target) return std::move(target).error();
      place.target = *std::move(target);
    } else {
      return error("unknown option " + std::string(option));
    }
  }
  return place;
}

Result<std::string> open(RpcServer& server, const Place& place) {
  switch (place.kind) {
    case Place::Kind::tcp: {
      Result<Address> address = Address::parse(place.target);
      if (!address) return std::move(address).error();
      return server.listen_tcp(*address);
    }
    case Place::Kind::unix_socket:
      return server.listen_unix(place.target);
    default:
      break;
  }
  if (Result<void> started = server.serve_stdio(); !started) return std::move(started).error();
  return std::string("stdio");
}

int serve_http(Server& server, const std::string& name, const Place& place) {
  Loop loop;
  const Result<Address> address = Address::parse(place.target);
  if (!address) {
    std::cerr << name << ": " << address.error().message << "\n";
    return 2;
  }
  Result<WebServer> web = WebServer::listen(loop, server, *address);
  if (!web) {
    std::cerr << name << ": " << web.error().message << "\n";
    return 1;
  }
  std::cerr << "listening on " << web->url() << std::endl;
  const auto signals = Signals::open(loop, {SIGINT, SIGTERM}, [&](int) {
    web->drain([&] { loop.stop(); });
  });
  if (!signals) {
    std::cerr << name << ": " << signals.error().message << "\n";
    return 1;
  }
  loop.run();
  return 0;
}

}  // namespace

int serve(Server& server, int argc, char** argv) {
  const std::string name = argc > 0 ? argv[0] : server.options().name;
  const Result<Place> place = read_arguments(argc, argv);
  if (!place) {
    std::cerr << name << ": " << place.error().message << "\n" << usage;
    return 2;
  }
  if (place->kind == Place::Kind::help) {
    std::cout << server.options().name << " " << server.options().version
              << ", a server of the Model Context Protocol\n"
              << usage;
    return 0;
  }
  detail::ensure_sealer(server);
  std::signal(SIGPIPE, SIG_IGN);
  if (place->kind == Place::Kind::http) return serve_http(server, name, *place);
  Loop loop;
  RpcServer connections(loop, server.router(), server.peer_options());
  const Result<std::string> address = open(connections, *place);
  if (!address) {
    std::cerr << name << ": " << address.error().message << "\n";
    return 1;
  }
  if (place->kind != Place::Kind::stdio) std::cerr << "listening on " << *address << std::endl;
  const auto signals = Signals::open(loop, {SIGINT, SIGTERM}, [&](int) { connections.close(); });
  if (!signals) {
    std::cerr << name << ": " << signals.error().message << "\n";
    return 1;
  }
  connections.on_closed([&] { loop.stop(); });
  loop.run();
  return 0;
}

}  // namespace godwit::inline v0
