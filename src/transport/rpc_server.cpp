#include "godwit/transport/rpc_server.hpp"

#include <algorithm>
#include <vector>

#include "clients.hpp"
#include "godwit/base/rollback.hpp"
#include "godwit/http/http_server.hpp"
#include "godwit/io/address.hpp"
#include "godwit/io/listener.hpp"
#include "godwit/io/wakeup.hpp"
#include "godwit/transport/rpc_endpoint.hpp"
#include "godwit/transport/socket.hpp"
#include "godwit/transport/stdio.hpp"

namespace godwit::inline v0 {

namespace {

using detail::transport::Clients;

/// A port that speaks HTTP.
struct Front {
  Front(Loop& loop, std::shared_ptr<const rpc::Router> router, const rpc::PeerOptions& options,
        RpcEndpointOptions what)
      : endpoint(loop, std::move(router), options, std::move(what)) {}

  RpcEndpoint endpoint;
  std::optional<http::HttpServer> http;  // none if somebody else listens
  bool drained = false;
};

}  // namespace

/// Shared because closing calls out for each connection, and goes on with the next although the
/// server was destroyed by that.
struct RpcServer::State : std::enable_shared_from_this<State> {
  State(Loop& loop_, std::shared_ptr<const rpc::Router> router_, rpc::PeerOptions options_)
      : loop(loop_),
        router(std::move(router_)),
        options(std::move(options_)),
        tell_closed(loop_, [this] {
          if (auto callback = std::exchange(done, nullptr)) callback();
        }) {
    if (!options.in_flight_bytes) {
      options.in_flight_bytes = std::make_shared<std::atomic<std::size_t>>(0);
    }
  }

  Loop& loop;
  std::shared_ptr<const rpc::Router> router;
  rpc::PeerOptions options;
  std::shared_ptr<InputRoom> room = std::make_shared<InputRoom>(options.limits.process_body_bytes);
  std::vector<Listener> listeners;
  std::vector<std::unique_ptr<Front>> fronts;
  std::vector<std::unique_ptr<Clients>> clients;  // one for each listener, and one for the rest
  Clients* served = nullptr;                      // those of serve()
  Clients* guests = nullptr;                      // those of websocket_handler()
  std::optional<Error> stdio_failure;
  Function<void()> done;
  Wakeup tell_closed;
  bool closing = false;

  Clients& new_clients() {
    clients.push_back(std::make_unique<Clients>(loop, options.limits, *options.clock,
                                                [this] { finish_if_done(); }));
    return *clients.back();
  }

  SocketOptions socket_options(Framing framing, Clients& into) const {
    return {.framing = framing,
            .limits = options.limits,
            .log = options.log,
            .make_room = [&into] { return into.make_room(); },
            .room = room};
  }

  OnTransport acceptor(Clients& into) {
    return [this, &into](std::unique_ptr<rpc::Transport> transport, const std::string&) {
      const auto self = shared_from_this();  // what is attached to a peer may destroy the server
      add(into, std::move(transport), true);
    };
  }

  void add(Clients& into, std::unique_ptr<rpc::Transport> transport, bool timed) {
    Connection& connection = into.add(std::move(transport), router, options, timed);
    if (closing) connection.close();
  }

  std::unique_ptr<Front> make_front(const RpcHttpOptions& given, Clients* sockets) {
    RpcEndpointOptions what{.path = given.path,
                            .access = given.access,
                            .admission = given.admission,
                            .post = sockets == nullptr,
                            .on_websocket = sockets ? acceptor(*sockets) : nullptr,
                            .protocols = given.protocols,
                            .room = room};
    return std::make_unique<Front>(loop, router, options, std::move(what));
  }

  http::Handler& add_handler(const RpcHttpOptions& given) {
    if (!guests) guests = &new_clients();
    fronts.push_back(make_front(given, guests));
    return fronts.back()->endpoint;
  }

  Result<std::string> add_front(const Address& address, RpcHttpOptions given, bool ws) {
    Clients* const sockets = ws ? &new_clients() : nullptr;
    given.access.wide = given.access.wide || !is_loopback(address.host);
    auto front = make_front(given, sockets);
    http::HttpServerOptions settings{
        .limits = options.limits, .log = options.log, .share_port = false, .tls = given.tls};
    if (ws) {
      settings.make_room = [sockets] { return sockets->make_room(); };
      settings.limits.http_header_time =
          std::min(options.limits.http_header_time, options.limits.ws_handshake_time);
    }
    auto http = http::HttpServer::tcp(loop, address, front->endpoint, std::move(settings));
    if (!http) return std::move(http).error();
    front->http.emplace(*std::move(http));
    std::string bound = front->http->address();
    if (const auto parsed = Address::parse(bound)) front->endpoint.set_port(parsed->port);
    fronts.push_back(std::move(front));
    return bound;
  }

  void drain(Front& front) {
    front.endpoint.drain();
    if (!front.http) {
      front.drained = true;
      return;
    }
    front.http->drain(
        [weak = weak_from_this(), raw = &front] {
          const auto self = weak.lock();
          if (!self) return;
          raw->drained = true;
          self->finish_if_done();
        },
        options.limits.eof_grace);
  }

  void close() {
    const auto self = shared_from_this();  // handlers that are told may destroy the server
    const bool first = !std::exchange(closing, true);
    // They may also add to these: by number.
    for (std::size_t i = 0; first && i < fronts.size(); ++i) drain(*fronts[i]);
    listeners.clear();
    for (std::size_t i = 0; i < clients.size(); ++i) clients[i]->close_all();
    finish_if_done();
  }

  void finish_if_done() {
    if (!closing || connections() > 0 || !done) return;
    if (!std::ranges::all_of(fronts, [](const auto& front) { return front->drained; })) return;
    tell_closed.signal(shared_from_this());
  }

  std::size_t connections() const noexcept {
    std::size_t count = 0;
    for (const auto& each : clients) count += each->size();
    return count;
  }

  Result<std::string> keep(Result<Listener> listener) {
    if (!listener) return std::move(listener).error();
    std::string address = listener->address();
    listeners.push_back(*std::move(listener));
    return address;
  }
};

RpcServer::RpcServer(Loop& loop, std::shared_ptr<const rpc::Router> router,
                     rpc::PeerOptions options)
    : state_(std::make_shared<State>(loop, std::move(router), std::move(options))) {}
RpcServer::~RpcServer() = default;

Result<std::string> RpcServer::listen_tcp(const Address& address, Framing framing) {
  State& s = *state_;
  Clients& into = s.new_clients();
  return s.keep(
      godwit::listen_tcp(s.loop, address, s.acceptor(into), s.socket_options(framing, into)));
}

Result<std::string> RpcServer::listen_unix(const std::string& path, Framing framing) {
  State& s = *state_;
  Clients& into = s.new_clients();
  return s.keep(
      godwit::listen_unix(s.loop, path, s.acceptor(into), s.socket_options(framing, into)));
}

Result<std::string> RpcServer::listen_http(const Address& address, const RpcHttpOptions& options) {
  return state_->add_front(address, options, false);
}

Result<std::string> RpcServer::listen_ws(const Address& address, const RpcHttpOptions& options) {
  return state_->add_front(address, options, true);
}

http::Handler& RpcServer::websocket_handler(const RpcHttpOptions& options) {
  return state_->add_handler(options);
}

bool RpcServer::make_room() { return state_->guests && state_->guests->make_room(); }

Result<void> RpcServer::serve_stdio(Framing framing) {
  auto transport = StdioTransport::open(state_->loop, framing, state_->options.limits);
  if (!transport) return std::move(transport).error();
  const auto state = state_;  // what is attached to a peer may destroy the server
  State& s = *state;
  (*transport)->on_write_failure([&s](const Error& why) { s.stdio_failure = why; });
  s.clients.push_back(
      std::make_unique<Clients>(s.loop, s.options.limits, *s.options.clock, [&s] { s.close(); }));
  s.add(*s.clients.back(), *std::move(transport), false);
  return {};
}

const std::optional<Error>& RpcServer::stdio_failure() const noexcept {
  return state_->stdio_failure;
}

void RpcServer::serve(std::unique_ptr<rpc::Transport> transport) {
  const auto state = state_;  // what is attached to a peer may destroy the server
  if (!state->served) state->served = &state->new_clients();
  state->add(*state->served, std::move(transport), false);
}

std::size_t RpcServer::connections() const noexcept { return state_->connections(); }
void RpcServer::close() { state_->close(); }
void RpcServer::on_closed(Function<void()> done) {
  state_->done = std::move(done);
  state_->finish_if_done();
}

}  // namespace godwit::inline v0
