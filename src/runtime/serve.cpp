#include "godwit/runtime/serve.hpp"

#include <csignal>
#include <functional>
#include <iostream>
#include <optional>
#include <string>

#include "default_sealer.hpp"
#include "godwit/io/address.hpp"
#include "godwit/io/signals.hpp"
#include "godwit/io/tls.hpp"
#include "godwit/transport/rpc_server.hpp"
#include "godwit/web/web_server.hpp"
#include "serve_options.hpp"

namespace godwit::inline v0 {

namespace {

using detail::runtime::ServeOptions;
using Place = ServeOptions::Place;

/// Where to listen; an error if that would be careless.
Result<Address> wanted_address(const ServeOptions& options) {
  Result<Address> address = Address::parse(options.target);
  if (!address || is_loopback(address->host) || options.expose) return address;
  return error("refusing to listen on " + address->text() +
               ": everybody who can reach it could call this server. Listen on 127.0.0.1 behind a "
               "proxy that asks who it is, or say --expose if this is what you want");
}

Result<std::optional<TlsContext>> wanted_tls(const ServeOptions& options) {
  if (options.certificate.empty()) return std::optional<TlsContext>();
  Result<TlsContext> tls =
      TlsContext::server({.certificate_file = options.certificate, .key_file = options.key});
  if (!tls) return std::move(tls).error();
  return std::optional<TlsContext>(*std::move(tls));
}

/// SIGHUP.
void read_again(const std::optional<TlsContext>& tls) {
  if (!tls) return;
  const Result<void> read = tls->reload();
  std::cerr << (read ? "the certificate was read again"
                     : "the old certificate stays: " + read.error().message)
            << std::endl;
}

/// Signals that end the server, or let it read its certificate again. Nothing is called before the
/// loop runs.
Result<Signals> stopped_by(Loop& loop, const std::optional<TlsContext>& tls,
                           std::function<void()> stop) {
  const auto on_signal = [&tls, stop = std::move(stop)](int number) {
    if (number == SIGHUP) return read_again(tls);
    stop();
  };
  // Without a certificate SIGHUP keeps its meaning: the terminal is gone.
  return tls ? Signals::open(loop, {SIGINT, SIGTERM, SIGHUP}, on_signal)
             : Signals::open(loop, {SIGINT, SIGTERM}, on_signal);
}

Result<std::string> open(RpcServer& server, const ServeOptions& options,
                         const std::optional<TlsContext>& tls) {
  switch (options.place) {
    case Place::tcp: {
      const Result<Address> address = wanted_address(options);
      if (!address) return address.error();
      return server.listen_tcp(*address);
    }
    case Place::unix_socket:
      return server.listen_unix(options.target);
    case Place::websocket: {
      const Result<Address> address = wanted_address(options);
      if (!address) return address.error();
      return server.listen_ws(*address,
                              {.path = options.path,
                               .access = {.hosts = options.hosts, .origins = options.origins},
                               .tls = tls,
                               .protocols = {"mcp"}});
    }
    default:
      break;
  }
  if (Result<void> started = server.serve_stdio(); !started) return std::move(started).error();
  return std::string("stdio");
}

Result<void> serve_streams(Server& server, const ServeOptions& options) {
  const Result<std::optional<TlsContext>> tls = wanted_tls(options);
  if (!tls) return tls.error();
  Loop loop;
  RpcServer connections(loop, server.router(), server.peer_options());
  connections.on_closed([&] { loop.stop(); });
  // Before anybody is told that there is a server to be stopped.
  const auto signals = stopped_by(loop, *tls, [&] { connections.close(); });
  if (!signals) return signals.error();
  const Result<std::string> address = open(connections, options, *tls);
  if (!address) return address.error();
  if (options.place == Place::websocket) {
    std::cerr << "listening on " << (*tls ? "wss://" : "ws://") << *address << options.path
              << std::endl;
  } else if (options.place != Place::stdio) {
    std::cerr << "listening on " << *address << std::endl;
  }
  loop.run(server.options().log);
  if (const auto& lost = connections.stdio_failure()) {
    return error("answers to the client were lost, because stdout failed: " + lost->message);
  }
  return {};
}

Result<void> serve_http(Server& server, const ServeOptions& options) {
  const Result<Address> address = wanted_address(options);
  if (!address) return address.error();
  const Result<std::optional<TlsContext>> tls = wanted_tls(options);
  if (!tls) return tls.error();
  WebServerOptions web;
  web.tls = *tls;
  web.endpoint.path = options.path;
  web.endpoint.sse_path = options.sse_path;
  web.websocket_path = options.websocket_path;
  web.endpoint.health_path = options.health_path;
  if (!options.metrics_path.empty()) {
    web.endpoint.metrics_path = options.metrics_path;
    web.endpoint.metrics = std::make_shared<Metrics>();
    server.use(web.endpoint.metrics->middleware());
  }
  web.endpoint.access.hosts = options.hosts;
  web.endpoint.proxies.networks = options.proxies;
  web.endpoint.access.origins = options.origins;
  web.endpoint.stateful = options.stateful;
  web.endpoint.stateless = options.stateless;
  web.threads = options.threads;
  Loop loop;
  std::optional<WebServer> listening;
  const auto signals = stopped_by(loop, *tls, [&] { listening->drain([&] { loop.stop(); }); });
  if (!signals) return signals.error();
  Result<WebServer> made = WebServer::listen(loop, server, *address, web);
  if (!made) return std::move(made).error();
  listening.emplace(*std::move(made));
  std::cerr << "listening on " << listening->url() << std::endl;
  if (!web.websocket_path.empty()) {
    std::cerr << "and on " << (web.tls ? "wss://" : "ws://") << listening->address()
              << web.websocket_path << std::endl;
  }
  if (!is_loopback(address->host)) {
    std::cerr << "anybody who can reach this address can call the server"
              << (web.tls ? "" : ", and read along") << std::endl;
  }
  loop.run(server.options().log);
  return {};
}

}  // namespace

int serve(Server& server, int argc, char** argv) {
  const std::string name = argc > 0 ? argv[0] : server.options().name;
  const Result<ServeOptions> options = ServeOptions::parse(argc, argv);
  if (!options) {
    std::cerr << name << ": " << options.error().message << "\n" << ServeOptions::usage();
    return 2;
  }
  if (options->place == Place::help) {
    std::cout << server.options().name << " " << server.options().version
              << ", a server of the Model Context Protocol\n"
              << ServeOptions::usage();
    return 0;
  }
  detail::runtime::ensure_sealer(server);
  std::signal(SIGPIPE, SIG_IGN);
  const Result<void> served = options->place == Place::http ? serve_http(server, *options)
                                                            : serve_streams(server, *options);
  if (served) return 0;
  std::cerr << name << ": " << served.error().message << "\n";
  return 1;
}

}  // namespace godwit::inline v0
