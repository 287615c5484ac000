// RpcServer: one Router offered to many: over stdio, TCP, unix sockets, HTTP, WebSocket, or
// transports of your own. Keeps the connections, drops each when it ends, and closes them all in
// order.
//
// Threads: the one that drives the loop.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/result.hpp"
#include "godwit/http/access.hpp"
#include "godwit/http/admission.hpp"
#include "godwit/http/http_server.hpp"
#include "godwit/io/address.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/tls.hpp"
#include "godwit/rpc/peer.hpp"
#include "godwit/rpc/router.hpp"
#include "godwit/rpc/transport.hpp"
#include "godwit/transport/framing.hpp"

namespace godwit::inline v0 {

struct RpcHttpOptions {
  /// The one path that is served; any if empty.
  std::string path{};
  /// Who may call. The port is the one that is listened on, and an address beyond the own machine
  /// makes it `wide`.
  http::Access access{};
  /// Decides who else may call, and says who it is (RpcEndpointOptions::admission).
  std::shared_ptr<http::Admission> admission{};
  /// If set, only HTTPS or WSS is spoken.
  std::optional<TlsContext> tls{};
  /// Subprotocols of WebSockets, the best first.
  std::vector<std::string> protocols{"jsonrpc"};
};

class GODWIT_API RpcServer {
 public:
  /// Every connection gets the router and a copy of the options.
  RpcServer(Loop& loop, std::shared_ptr<const rpc::Router> router, rpc::PeerOptions options = {});
  ~RpcServer();
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  /// Listens; gives the address that is in use, e.g. the port picked for "127.0.0.1:0". A client
  /// has Limits::first_message_time for its first message and may be quiet later, until
  /// Limits::connections are open: then one that never said anything, or else the one that has been
  /// quiet for longest, gives way to a new one.
  Result<std::string> listen_tcp(const Address& address, Framing framing = Framing::newline);
  Result<std::string> listen_unix(const std::string& path, Framing framing = Framing::newline);
  /// Plain JSON-RPC over HTTP: a POST for each message or batch (RpcEndpoint says what is
  /// answered).
  Result<std::string> listen_http(const Address& address, const RpcHttpOptions& options = {});
  /// A WebSocket is a connection, one text message is a message or a batch.
  Result<std::string> listen_ws(const Address& address, const RpcHttpOptions& options = {});
  /// A handler that takes WebSockets into this server, for a port that somebody else listens on
  /// (http::Mux). It lives as long as the server. `options.tls` means nothing here.
  http::Handler& websocket_handler(const RpcHttpOptions& options = {});
  /// Closes one connection of those, as listen_tcp() says, for HttpServerOptions::make_room. False
  /// if there is none that may be closed.
  bool make_room();
  /// Speaks over stdin and stdout. When the input ends, the server closes.
  Result<void> serve_stdio(Framing framing = Framing::newline);
  /// Why answers over stdio were lost: writing to stdout failed, perhaps because the disk is full.
  const std::optional<Error>& stdio_failure() const noexcept;
  /// Speaks over any transport. It may be silent for as long as it likes.
  void serve(std::unique_ptr<rpc::Transport> transport);

  /// Not those over HTTP, which end with their answer.
  std::size_t connections() const noexcept;
  /// Stops listening and closes every connection; handlers get Limits::eof_grace to finish.
  void close();
  /// Called from the loop when close() is through.
  void on_closed(Function<void()> done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace godwit::inline v0
