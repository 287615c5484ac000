// HttpClient: HTTP/1.1 requests on a loop. Connections are kept and used again. Nothing is decided
// for the program: a redirect is an answer like any other, unless the request says that it may be
// followed, and then only within its origin, so that no credential ever goes to a server the
// program did not name.
//
// Owner: the program; the Loop outlives it. Requests that are under way when it is destroyed go on.
// Threads: the one that drives the loop.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/result.hpp"
#include "godwit/http/fields.hpp"
#include "godwit/http/proxies.hpp"
#include "godwit/http/request_authorizer.hpp"
#include "godwit/http/response.hpp"
#include "godwit/http/url.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/tls.hpp"

namespace godwit::inline v0::http {

struct HttpRequest {
  std::string method = "GET";
  Url url{};
  /// Host, Content-Length, Transfer-Encoding and Connection are the client's own.
  Fields fields{};
  std::string body{};
  /// May it reach the server twice? A connection that was kept may turn out to be closed; then such
  /// a request is sent again on a new one, if not a byte of an answer came. One that may not takes
  /// no connection that has been idle for long, and fails rather than going out a second time. By
  /// default the method decides (RFC 9110 9.2.2): all but POST, PATCH and CONNECT may.
  std::optional<bool> repeatable{};
  /// A 307 or 308 that stays within the origin is followed, with the same method, fields and body,
  /// at most Limits::http_redirects times.
  bool follow_redirects = false;
  /// Asked for fields each time the request goes out, and what to do after a 401 or 403. The body
  /// of such a response is then read to at most Limits::refusal_body_bytes, and cut off there.
  std::shared_ptr<RequestAuthorizer> authorizer{};
  /// Fields that the authorizer may not give, beside those of HTTP itself.
  bool (*is_reserved)(std::string_view name) = nullptr;
};

/// All from the loop, never inside a call; those that are empty are left out. on_end comes once, as
/// the last one: how it ended. An error may come at any time, also in the middle of a body. What a
/// callback throws leaves Loop::run().
struct HttpCallbacks {
  Function<void(int status, FieldsView fields)> on_head{};
  Function<void(std::string_view piece)> on_body{};
  Function<void(Result<void> how)> on_end{};
  /// The authorizer begins to decide about a refusal (true), or has decided (false): time that the
  /// server is not to blame for. If it decides with an error, on_head comes with the refusal and
  /// on_end with that error, whose cause is Cause::not_authorized.
  Function<void(bool held)> on_held{};
};

/// What a document that is fetched whole may cost.
struct FetchBounds {
  /// Of the body. Documents of configuration and tokens are far smaller.
  std::size_t body_bytes = 1u << 20;
  /// From the call to the last byte. The time in which an authorizer decides about a refusal is
  /// not counted.
  Duration time = std::chrono::seconds(10);
};

struct HttpClientOptions {
  /// http_line_bytes and the like for what comes back; write_stall for what goes out.
  Limits limits{};
  Duration connect_timeout = std::chrono::seconds(10);
  /// Connections that wait for the next request: how many of one origin, and how long.
  std::size_t idle_connections = 8;
  Duration idle_time = std::chrono::seconds(60);
  /// Without `proxies`: look into the environment, when the client is made.
  bool proxy_from_environment = true;
  std::optional<Proxies> proxies{};
  /// For https: whom to trust; those that the system trusts if not given.
  std::optional<TlsContext> tls{};
};

/// A request that is under way. Destroying it gives the request up: its connection is closed, and
/// no callback comes any more. That is allowed inside a callback.
class GODWIT_API FetchHandle {
 public:
  FetchHandle() noexcept = default;
  ~FetchHandle() { cancel(); }
  FetchHandle(FetchHandle&&) noexcept = default;
  FetchHandle& operator=(FetchHandle&& other) noexcept;

  void cancel() noexcept;
  /// Neither ended nor given up.
  bool active() const noexcept;
  /// The body of the request, for sending it again; good until the handle changes.
  std::string_view body() const noexcept;

 private:
  friend class HttpClient;
  struct Fetch;
  explicit FetchHandle(std::shared_ptr<Fetch> fetch) noexcept;
  std::shared_ptr<Fetch> fetch_;
};

class GODWIT_API HttpClient {
 public:
  explicit HttpClient(Loop& loop, HttpClientOptions options = {});
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;

  /// Sends the request. There is no time limit but for connecting and for a server that takes no
  /// bytes: whoever waits for the answer knows how long.
  [[nodiscard]] FetchHandle fetch(HttpRequest request, HttpCallbacks callbacks);
  /// The same for a response that is wanted whole. `done` is called once, from the loop, never
  /// inside this call, with the response whatever its status, or with an error: also if the body is
  /// longer or takes longer than the bounds allow. Nothing is called once the handle is gone.
  [[nodiscard]] FetchHandle fetch_whole(HttpRequest request, Function<void(Result<Response>)> done,
                                        FetchBounds bounds = {});

  /// Connections that wait for the next request.
  std::size_t idle() const noexcept;
  /// Closes them, so that they do not keep the loop running.
  void close_idle();

 private:
  friend class FetchHandle;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace godwit::inline v0::http
