// HttpServer: HTTP/1.1 on a TCP port or a unix socket, for one loop. Several on one port, each on
// its own loop and thread, share the load (HttpServerOptions::share_port).
//
// Owner: the program. Destroying it stops listening and breaks off every connection; drain() is the
// polite way. It may be destroyed by what it calls. Threads: the one that drives the loop.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/log.hpp"
#include "godwit/base/result.hpp"
#include "godwit/http/admission.hpp"
#include "godwit/http/exchange.hpp"
#include "godwit/http/request.hpp"
#include "godwit/http/response.hpp"
#include "godwit/io/address.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/stream.hpp"
#include "godwit/io/tls.hpp"

namespace godwit::inline v0::http {

/// Answers requests. Called on the loop's thread; one request at a time per connection.
class GODWIT_API Handler {
 public:
  virtual ~Handler();
  /// Answers through the exchange, now or later. A request that is not answered when the last owner
  /// of it is gone would wait forever: set an owner before returning without an answer.
  virtual void on_request(const Request& request, Exchange& exchange) = 0;
  /// Looks at the head of a request before its body is read, and says whether it may go on: now or
  /// later. HttpServer calls it once for each request and upgrade, and calls on_request() or
  /// on_upgrade() only if it is let in; another HTTP stack may leave it out, and the request then
  /// comes without Request::admitted. Passes everything if it is not overridden.
  virtual void on_head(const Request& head, Decision& decision);
  /// The client wants another protocol on this connection. Takes the stream (and what came behind
  /// the request already) and answers on it, or leaves it alone and refuses with a Response.
  virtual std::optional<Response> on_upgrade(const Request& request, Stream& stream,
                                             std::string_view rest);
};

struct HttpServerOptions {
  Limits limits{};
  Log log{};
  /// Whether clients on the own machine, such as a proxy in front, may have more connections than
  /// Limits::connections_per_address.
  bool loopback_exempt = true;
  /// At the bound of connections one that waits for its next request gives way to a new one. If
  /// none does, or there are few of them, this is asked, for handlers that keep upgraded streams:
  /// may close one of those, at once. False if there is none.
  std::function<bool()> make_room{};
  /// Several servers of this user listen on the same port, typically one per thread.
  bool share_port = false;
  /// If set, only HTTPS is spoken.
  std::optional<TlsContext> tls{};
  /// Where bytes of bodies are counted (Limits::process_body_bytes): servers that are given the
  /// same one share the bound. One of its own if not given.
  std::shared_ptr<std::atomic<std::size_t>> body_bytes{};
};

class GODWIT_API HttpServer {
 public:
  /// Listens. The handler must outlive the server.
  static Result<HttpServer> tcp(Loop& loop, const Address& address, Handler& handler,
                                HttpServerOptions options = {});
  static Result<HttpServer> unix_socket(Loop& loop, const std::string& path, Handler& handler,
                                        HttpServerOptions options = {});
  ~HttpServer();
  HttpServer(HttpServer&&) noexcept;
  HttpServer& operator=(HttpServer&&) noexcept;

  /// Where it listens: "127.0.0.1:40123".
  const std::string& address() const noexcept;
  std::size_t connections() const noexcept;

  /// Takes no more connections and requests; calls `done` from the loop once what is being answered
  /// has been, or after `most`.
  void drain(Function<void()> done, Duration most = std::chrono::seconds(5));

 private:
  struct State;
  explicit HttpServer(std::shared_ptr<State> state) noexcept;
  void end() noexcept;
  std::shared_ptr<State> state_;
};

}  // namespace godwit::inline v0::http
