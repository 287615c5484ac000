#include "godwit/http/http_server.hpp"

#include <algorithm>

#include "connection.hpp"
#include "godwit/io/listener.hpp"
#include "godwit/io/timer.hpp"
#include "server_state.hpp"

namespace godwit::inline v0::http {

Handler::~Handler() = default;

void Handler::on_head(const Request&, Decision& decision) { decision.pass(); }

std::optional<Response> Handler::on_upgrade(const Request&, Stream&, std::string_view) {
  return Response{.status = 426, .fields = {}, .body = {}};
}

struct HttpServer::State : ServerState {
  using ServerState::ServerState;
  std::optional<Listener> listener;
};

namespace {

ListenerOptions listener_options(ServerState& state) {
  const HttpServerOptions& options = state.options;
  // Those beyond the bound are told so, which only works if they are let in first.
  ListenerOptions out{.connections = options.limits.connections + ServerState::most_refused,
                      .make_room = [&state] { return state.make_room(); },
                      .per_address = options.limits.connections_per_address,
                      .loopback_exempt = options.loopback_exempt,
                      .share_port = options.share_port,
                      .tls = options.tls,
                      .log = options.log};
  // A handshake would cost more than they are due.
  if (!options.tls) {
    out.on_refused = [&state](Stream stream) { state.turn_away(std::move(stream)); };
  }
  return out;
}

}  // namespace

HttpServer::HttpServer(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer& HttpServer::operator=(HttpServer&& other) noexcept {
  if (this != &other) {
    end();
    state_ = std::move(other.state_);
  }
  return *this;
}

HttpServer::~HttpServer() { end(); }

void HttpServer::end() noexcept {
  if (!state_) return;
  State& state = *state_;
  state.listener.reset();
  state.end();
  state.keep(std::move(state_));
}

Result<HttpServer> HttpServer::tcp(Loop& loop, const Address& address, Handler& handler,
                                   HttpServerOptions options) {
  auto state = std::make_shared<State>(loop, handler, std::move(options));
  Result<Listener> listener = Listener::tcp(
      loop, address, [raw = state.get()](Stream stream) { raw->accept(std::move(stream)); },
      listener_options(*state));
  if (!listener) return std::move(listener).error();
  state->listener.emplace(*std::move(listener));
  return HttpServer(std::move(state));
}

Result<HttpServer> HttpServer::unix_socket(Loop& loop, const std::string& path, Handler& handler,
                                           HttpServerOptions options) {
  auto state = std::make_shared<State>(loop, handler, std::move(options));
  Result<Listener> listener = Listener::unix_socket(
      loop, path, [raw = state.get()](Stream stream) { raw->accept(std::move(stream)); },
      listener_options(*state));
  if (!listener) return std::move(listener).error();
  state->listener.emplace(*std::move(listener));
  return HttpServer(std::move(state));
}

const std::string& HttpServer::address() const noexcept { return state_->listener->address(); }
std::size_t HttpServer::connections() const noexcept { return state_->connections.size(); }

void HttpServer::drain(Function<void()> done, Duration most) {
  state_->listener.reset();
  state_->drain(std::move(done), most);
}

}  // namespace godwit::inline v0::http
