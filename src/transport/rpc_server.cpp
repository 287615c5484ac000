#include "godwit/transport/rpc_server.hpp"

#include <list>
#include <vector>

#include "godwit/io/listener.hpp"
#include "godwit/transport/connection.hpp"
#include "godwit/transport/socket.hpp"
#include "godwit/transport/stdio.hpp"

namespace godwit::inline v0 {

struct RpcServer::State : std::enable_shared_from_this<State> {
  State(Loop& loop_, std::shared_ptr<const rpc::Router> router_, rpc::PeerOptions options_)
      : loop(loop_), router(std::move(router_)), options(std::move(options_)) {}

  Loop& loop;
  std::shared_ptr<const rpc::Router> router;
  rpc::PeerOptions options;
  std::vector<Listener> listeners;
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

  void close() {
    closing = true;
    listeners.clear();
    for (Connection& connection : connections) connection.close();
    finish_if_done();
  }

  void finish_if_done() {
    if (!closing || !connections.empty() || !done) return;
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
