#include "godwit/transport/rpc_server.hpp"

#include <algorithm>
#include <list>
#include <vector>

#include "godwit/http/http_server.hpp"
#include "godwit/io/listener.hpp"
#include "godwit/transport/connection.hpp"
#include "godwit/transport/rpc_endpoint.hpp"
#include "godwit/transport/socket.hpp"
#include "godwit/transport/stdio.hpp"

namespace godwit::inline v0 {

namespace {

bool is_own_machine(std::string_view host) {
  return host == "localhost" || host.starts_with("127.") || host == "::1";
}

/// A port that speaks HTTP.
struct Front {
  Front(Loop& loop, std::shared_ptr<const rpc::Router> router, const rpc::PeerOptions& options,
        RpcEndpointOptions what)
      : endpoint(loop, std::move(router), options, std::move(what)) {}

  RpcEndpoint endpoint;
  std::optional<http::HttpServer> http;
  bool drained = false;
};

}  // namespace

struct RpcServer::State : std::enable_shared_from_this<State> {
  State(Loop& loop_, std::shared_ptr<const rpc::Router> router_, rpc::PeerOptions options_)
      : loop(loop_), router(std::move(router_)), options(std::move(options_)) {}

  Loop& loop;
  std::shared_ptr<const rpc::Router> router;
  rpc::PeerOptions options;
  std::vector<Listener> listeners;
  std::vector<std::unique_ptr<Front>> fronts;
  std::list<Connection> connections;
  Function<void()> done;
  bool closing = false;

  SocketOptions socket_options(Framing framing) const {
    return {.framing = framing, .limits = options.limits, .log = options.log};
  }

  OnTransport acceptor() {
    return [this](std::unique_ptr<rpc::Transport> transport, const std::string&) {
      add(std::move(transport), false);
    };
  }

  void add(std::unique_ptr<rpc::Transport> transport, bool last) {
    const auto at =
        connections.emplace(connections.end(), loop, std::move(transport), router, options);
    at->on_close([weak = weak_from_this(), at, last](const Error&) {
      const auto self = weak.lock();
      if (!self) return;
      self->connections.erase(at);
      if (last) {
        self->close();
      } else {
        self->finish_if_done();
      }
    });
    if (closing) at->close();
  }

  Result<std::string> add_front(const Address& address, const RpcHttpOptions& given, bool ws) {
    RpcEndpointOptions what{.path = given.path,
                            .access = given.access,
                            .post = !ws,
                            .on_websocket = ws ? acceptor() : nullptr,
                            .protocols = given.protocols};
    what.access.wide = what.access.wide || !is_own_machine(address.host);
    auto front = std::make_unique<Front>(loop, router, options, std::move(what));
    http::HttpServerOptions settings{
        .limits = options.limits, .log = options.log, .share_port = false, .tls = given.tls};
    if (ws) {
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

  void close() {
    if (!closing) {
      for (const auto& front : fronts) {
        front->endpoint.drain();
        front->http->drain(
            [weak = weak_from_this(), raw = front.get()] {
              const auto self = weak.lock();
              if (!self) return;
              raw->drained = true;
              self->finish_if_done();
            },
            options.limits.eof_grace);
      }
    }
    closing = true;
    listeners.clear();
    for (Connection& connection : connections) connection.close();
    finish_if_done();
  }

  void finish_if_done() {
    if (!closing || !connections.empty() || !done) return;
    if (!std::ranges::all_of(fronts, [](const auto& front) { return front->drained; })) return;
    loop.post([callback = std::exchange(done, nullptr)]() mutable { callback(); });
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
  return s.keep(godwit::listen_tcp(s.loop, address, s.acceptor(), s.socket_options(framing)));
}

Result<std::string> RpcServer::listen_unix(const std::string& path, Framing framing) {
  State& s = *state_;
  return s.keep(godwit::listen_unix(s.loop, path, s.acceptor(), s.socket_options(framing)));
}

Result<std::string> RpcServer::listen_http(const Address& address, const RpcHttpOptions& options) {
  return state_->add_front(address, options, false);
}

Result<std::string> RpcServer::listen_ws(const Address& address, const RpcHttpOptions& options) {
  return state_->add_front(address, options, true);
}

Result<void> RpcServer::serve_stdio(Framing framing) {
  auto transport = StdioTransport::open(state_->loop, framing, state_->options.limits);
  if (!transport) return std::move(transport).error();
  state_->add(*std::move(transport), true);
  return {};
}

void RpcServer::serve(std::unique_ptr<rpc::Transport> transport) {
  state_->add(std::move(transport), false);
}

std::size_t RpcServer::connections() const noexcept { return state_->connections.size(); }
void RpcServer::close() { state_->close(); }
void RpcServer::on_closed(Function<void()> done) {
  state_->done = std::move(done);
  state_->finish_if_done();
}

}  // namespace godwit::inline v0
