// WebServer: a Service, such as a Server, on an HTTP port: an Endpoint and an HttpServer, on the
// given loop and, if asked for, on further threads of its own. A stateful session belongs to one of
// them; what arrives elsewhere is handed over.
//
// Owner: the program; the Service and the Loop outlive it. Destroying it breaks off what is under
// way; drain() is the polite way. It may be destroyed by what it calls on the thread of the loop.
// Threads: the one that drives the loop. With several threads, handlers run on any of them; those
// that run on one of the others cannot destroy it: that ends the program with a message.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/result.hpp"
#include "godwit/http/http_server.hpp"
#include "godwit/io/address.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/mcp/service.hpp"
#include "godwit/web/endpoint.hpp"

namespace godwit::inline v0 {

/// A handler of the program's own beside the server.
struct WebRoute {
  /// "/status"; must not be one of the server's own.
  std::string path{};
  /// Called on every thread that serves, at the same time if there are several.
  std::shared_ptr<http::Handler> handler{};
  /// Takes what is below the path, too: "/.well-known" for "/.well-known/anything".
  bool below = false;
};

struct WebServerOptions {
  /// `wake` and `deadline_moved` are the WebServer's own; the port in `access` is the one that is
  /// listened on, and an address beyond the own machine makes it `wide`.
  EndpointOptions endpoint{};
  /// What else is served on the port. Host and Origin are looked at before, as for the server
  /// itself; the admission of the endpoint is not asked, but may be by the handler's on_head().
  std::vector<WebRoute> routes{};
  /// Where WebSockets are taken (subprotocol "mcp"); nowhere if empty.
  std::string websocket_path{};
  /// Threads that serve, with that of the loop; up to 256.
  unsigned threads = 1;
  /// Listens on the port together with other processes of this user.
  bool share_port = false;
  /// If set, only HTTPS is spoken.
  std::optional<TlsContext> tls{};
};

class GODWIT_API WebServer {
 public:
  /// A Server must have a sealer (ServerOptions::sealer), unless the options turn stateless
  /// clients away; godwit::serve() brings one along.
  static Result<WebServer> listen(Loop& loop, Service& service, const Address& address,
                                  WebServerOptions options = {});
  ~WebServer();
  WebServer(WebServer&&) noexcept;
  WebServer& operator=(WebServer&&) noexcept;

  /// "http://127.0.0.1:8080/mcp".
  const std::string& url() const noexcept;
  /// "127.0.0.1:8080".
  const std::string& address() const noexcept;

  /// Takes nothing new, tells those who listen, and calls `done` from the loop once everything is
  /// answered, or after `most`.
  void drain(Function<void()> done, Duration most = std::chrono::seconds(5));

 private:
  struct State;
  explicit WebServer(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace godwit::inline v0
