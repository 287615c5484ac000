// WebServer: a Server on an HTTP port: an Endpoint and an HttpServer on one loop.
//
// Owner: the program; the Server and the Loop outlive it. Threads: the one that drives the loop.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/result.hpp"
#include "godwit/http/http_server.hpp"
#include "godwit/io/address.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/server/server.hpp"
#include "godwit/web/endpoint.hpp"

namespace godwit::inline v0 {

struct WebServerOptions {
  /// `wake` and `deadline_moved` are the WebServer's own; the port in `access` is the one that is
  /// listened on, and an address beyond the own machine makes it `wide`.
  EndpointOptions endpoint{};
  /// Listens on the port together with others of this process.
  bool share_port = false;
  /// If set, only HTTPS is spoken.
  std::optional<TlsContext> tls{};
};

class GODWIT_API WebServer {
 public:
  static Result<WebServer> listen(Loop& loop, Server& server, const Address& address,
                                  WebServerOptions options = {});
  ~WebServer();
  WebServer(WebServer&&) noexcept;
  WebServer& operator=(WebServer&&) noexcept;

  /// "http://127.0.0.1:8080/mcp".
  const std::string& url() const noexcept;
  /// "127.0.0.1:8080".
  const std::string& address() const noexcept;
  Endpoint& endpoint() noexcept;
  std::size_t connections() const noexcept;

  /// Takes nothing new, tells those who listen, and calls `done` from the loop once everything is
  /// answered, or after `most`.
  void drain(Function<void()> done, Duration most = std::chrono::seconds(5));

 private:
  struct State;
  explicit WebServer(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace godwit::inline v0
