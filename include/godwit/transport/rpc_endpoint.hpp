// RpcEndpoint: plain JSON-RPC 2.0 for an HTTP server: each POST carries one message or batch and
// gets its answer in the response; WebSockets are handed to the program. RpcServer::listen_http()
// and listen_ws() put it on a port; it serves any http::Exchange.
//
//   200  the answer, also if it is an error of the method
//   204  nothing to answer: only notifications came
//   400  the answer is a parse error or an invalid request
//   403  Host or Origin say that a web page of somebody else is calling
//   whatever the admission says, if there is one and it does not let the request in
//   404, 405, 415  another path than the one served, another method than POST, no application/json
//   503  too many requests are in flight, or the server is closing
//
// A client that goes away takes its requests back. Handlers cannot call the client: there is no way
// to it; what they send besides their answer is dropped.
//
// Owner: the program; it outlives the HttpServer that it is the handler of, and may be destroyed by
// a handler. Threads: the one that drives the loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/http/access.hpp"
#include "godwit/http/admission.hpp"
#include "godwit/http/http_server.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/rpc/peer.hpp"
#include "godwit/rpc/router.hpp"
#include "godwit/rpc/transport.hpp"
#include "godwit/transport/socket.hpp"
#include "godwit/transport/websocket.hpp"

namespace godwit::inline v0 {

struct RpcEndpointOptions {
  /// The one path that is served, with or without a slash at its end; any if empty.
  std::string path{};
  http::Access access{};
  /// Decides who else may call, and says who it is. It is asked about each request and WebSocket,
  /// but not about OPTIONS, with which a browser asks before it sends credentials.
  std::shared_ptr<http::Admission> admission{};
  /// Whether POST is taken.
  bool post = true;
  /// If set, WebSockets are taken and handed to it.
  OnTransport on_websocket{};
  /// Their subprotocols, the best first.
  std::vector<std::string> protocols{"jsonrpc"};
  /// Where what has come of their unfinished messages is counted together.
  std::shared_ptr<InputRoom> room{};
};

class GODWIT_API RpcEndpoint final : public http::Handler {
 public:
  /// Each request gets the router and a peer that no other request uses at the same time. With
  /// `options.attach` no other request ever uses it.
  RpcEndpoint(Loop& loop, std::shared_ptr<const rpc::Router> router, rpc::PeerOptions options = {},
              RpcEndpointOptions endpoint = {});
  ~RpcEndpoint() override;
  RpcEndpoint(const RpcEndpoint&) = delete;
  RpcEndpoint& operator=(const RpcEndpoint&) = delete;

  void on_request(const http::Request& request, http::Exchange& exchange) override;
  void on_head(const http::Request& head, http::Decision& decision) override;
  std::optional<http::Response> on_upgrade(const http::Request& request, Stream& stream,
                                           std::string_view rest) override;

  /// The port of `access`, once it is known.
  void set_port(std::uint16_t port) noexcept;
  /// Requests without an answer yet.
  std::size_t in_flight() const noexcept;
  /// Takes nothing new and tells handlers to stop; what they answer is still sent.
  void drain();

 private:
  struct State;
  struct Lane;
  struct Undecided;
  std::shared_ptr<State> state_;
};

}  // namespace godwit::inline v0
