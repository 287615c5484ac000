// HttpTransport: the client's side of MCP over HTTP (Streamable HTTP), in both eras, and of the
// older HTTP+SSE transport where a server knows nothing else. Each message is a POST; what comes
// back, in answers and in event streams, are the messages of the server.
//
// It finds out what it must know from the messages that pass: the session, the revision that was
// agreed on, which arguments of a tool travel as header fields. Every request gets exactly one
// answer: if the server gives none, the transport says why in its place.
//
// Owner: whoever made it, usually a Connection; the Loop outlives it. Threads: the one that drives
// the loop.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/log.hpp"
#include "godwit/http/fields.hpp"
#include "godwit/http/proxies.hpp"
#include "godwit/http/request_authorizer.hpp"
#include "godwit/http/url.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/tls.hpp"
#include "godwit/rpc/transport.hpp"

namespace godwit::inline v0 {

struct HttpTransportOptions {
  http::Url url{};
  /// Sent with every request to this URL, such as Authorization. Those that the protocol itself
  /// needs win.
  http::Fields headers{};
  /// Asked for more fields of each request to this URL and its origin, and what to do after a 401
  /// or 403. Its fields take the place of those in `headers`. While it decides about a request that
  /// was refused, the receiver is told that this one is held up.
  std::shared_ptr<http::RequestAuthorizer> authorizer{};
  /// As in http::HttpClientOptions.
  bool proxy_from_environment = true;
  std::optional<http::Proxies> proxies{};
  std::optional<TlsContext> tls{};
  /// How long a server of the older transport may take to say where messages go.
  Duration endpoint_timeout = std::chrono::seconds(10);
  /// sse_event_bytes bounds what comes back, output_queue_bytes what waits to be sent.
  Limits limits{};
  Log log{};
};

class GODWIT_API HttpTransport final : public rpc::Transport {
 public:
  /// Connects to nothing before the first message.
  static std::unique_ptr<HttpTransport> make(Loop& loop, HttpTransportOptions options);
  ~HttpTransport() override;

  std::string& output() override;
  void finish(const rpc::Outbound& message) override;
  void flush() override;
  bool has_fields() const noexcept override { return true; }
  void start(rpc::Receiver& receiver) override;
  void when_flushed(Function<void()> done) override;
  /// Takes at most a second: the server is told that the session is over, if there is one.
  void close() override;

  /// Is this the answer to a request that the server refused because the session was over? It was
  /// not executed, and may be sent again in a new session. The transport closes after it.
  static bool is_session_ended(const Error& error);

  /// Could a later attempt go well: the server was not reached, or was busy or ill (429, 5xx)?
  static bool is_passing(const Error& error);

  struct Impl;

 private:
  explicit HttpTransport(std::shared_ptr<Impl> impl) noexcept;
  std::shared_ptr<Impl> impl_;
};

}  // namespace godwit::inline v0
