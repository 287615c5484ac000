// Endpoint: a Service, such as a Server, spoken to over HTTP (Streamable HTTP), clients of both
// eras at one address. It owns no socket, no loop and no thread: requests come in through
// on_request(), answers go out through the Exchange of each, time passes through expire().
// HttpServer brings requests; so can any other HTTP stack.
//
// Owner: the program. The service outlives it. It may be destroyed by what it calls, such as a
// handler. Threads: one at a time for everything. Only handlers that answer from other threads
// reach it from there: EndpointOptions::wake is called then, upon which the host calls process() on
// the endpoint's thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"
#include "godwit/http/access.hpp"
#include "godwit/http/admission.hpp"
#include "godwit/http/exchange.hpp"
#include "godwit/http/http_server.hpp"
#include "godwit/http/request.hpp"
#include "godwit/http/trusted_proxies.hpp"
#include "godwit/io/address.hpp"
#include "godwit/mcp/event_store.hpp"
#include "godwit/mcp/service.hpp"
#include "godwit/mcp/session_store.hpp"
#include "godwit/web/metrics.hpp"

namespace godwit::inline v0 {

struct EndpointOptions {
  /// Where it is served; with or without a slash at the end.
  std::string path = "/mcp";
  /// Who may call.
  http::Access access{};
  /// Decides who else may call, and says who it is: a session belongs to whoever began it, and for
  /// others it is not there (404). It is asked once about each request for `path` and `sse_path`,
  /// but not about OPTIONS, with which a browser asks before it sends credentials. On the
  /// endpoint's thread; shared by all threads of a WebServer.
  std::shared_ptr<http::Admission> admission{};
  /// Proxies whose word about the client's address is believed. Sessions are shared out by address
  /// (Limits::sessions_per_address): without this all clients behind a proxy are one.
  http::TrustedProxies proxies{};
  /// Where clients of the oldest revision, with its transport of two addresses, are served; nowhere
  /// if empty.
  std::string sse_path{};
  /// Where a load balancer can ask whether the server is well; nowhere if empty.
  std::string health_path{};
  /// Where numbers are told in the text form of Prometheus, and the numbers; nowhere if empty.
  std::string metrics_path{};
  std::shared_ptr<Metrics> metrics{};
  /// Serve clients that begin with a handshake; serve those whose every request stands alone.
  bool stateful = true;
  bool stateless = true;
  /// Keeps events for clients that come back to a stream; in memory if not given.
  std::shared_ptr<EventStore> events{};
  /// Keeps sessions, so that they go on after a restart, or at another server with the same stores.
  /// Not given, a session lives in memory alone.
  std::shared_ptr<SessionStore> sessions{};
  /// Names this server to `sessions`: all threads of one server have the same name, no two servers
  /// have. One that is random if empty; a server that keeps its name gets its sessions back at
  /// once when it is started again.
  std::string name{};
  /// What a client is told to wait before it comes back to a stream that was let go.
  std::chrono::milliseconds retry{1000};
  /// Called from any thread when process() has something to do. Must not block.
  std::function<void()> wake{};
  /// Called on the endpoint's thread when next_deadline() has become earlier.
  std::function<void()> deadline_moved{};
};

class GODWIT_API Endpoint final : public http::Handler {
 public:
  explicit Endpoint(Service& service, EndpointOptions options = {});
  ~Endpoint() override;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  void on_request(const http::Request& request, http::Exchange& exchange) override;
  void on_head(const http::Request& head, http::Decision& decision) override;

  /// When expire() should be called next.
  std::optional<TimePoint> next_deadline() const;
  void expire(TimePoint now);
  /// Sends what handlers on other threads have answered.
  void process();

  /// The address that is listened on, once it is known: one more name it may be called by.
  void listens_on(const Address& address);

  /// Tells everyone that this is the end: listens are answered, running handlers are asked to stop.
  /// What they answer is still sent.
  void drain();

  /// Stateful clients that have a session.
  std::size_t sessions() const noexcept;
  /// Requests and streams that are open.
  std::size_t open_exchanges() const noexcept;

  struct Impl;
  Impl& impl() noexcept { return *impl_; }

 private:
  Impl* impl_;  // deletes itself, when nothing of it is on the stack any more
};

}  // namespace godwit::inline v0
