// RequestAuthorizer: what a program puts between its HTTP requests and the server: it supplies
// header fields for each request (a token, a signed proof), sees the head of each response, and
// decides after a 401 or 403 whether the request is sent again. HttpClient, HttpTransport and the
// WebSocket client ask it; Client takes it as ClientOptions::authorizer.
//
// Owner: shared by whoever uses it; it lives until the last request that asks it is over. Threads:
// called on the thread that drives the loop of the client, one call at a time; by several threads
// if several clients share it. Its replies may be used on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string_view>

#include "godwit/base/done.hpp"
#include "godwit/base/export.hpp"
#include "godwit/http/fields.hpp"
#include "godwit/http/url.hpp"

namespace godwit::inline v0::http {

/// The place for one answer of an authorizer: inside the call that brought it or later, on any
/// thread. An answer to a request that was given up meanwhile does nothing.
template <class T>
using AuthorizerReply = Done<T>;

/// A request that an authorizer is asked about. All of it is good during the call only.
struct AuthorizerRequest {
  /// "POST", "GET" or "DELETE"; a WebSocket begins with "GET".
  std::string_view method{};
  /// Where it goes: after a redirect within the origin the new address. Of a WebSocket with ws or
  /// wss.
  const Url& url;
  /// The fields that the authorizer gave for it; none yet when it is asked for them.
  const Fields& sent;
  /// How often it was refused and sent again before.
  std::size_t attempt = 0;
  /// Stops when nobody waits for the answer any more: the call was cancelled, or the client is
  /// gone. Its callbacks run on the thread of the loop.
  std::stop_token stop{};
};

/// A response that refuses a request. All of it is good during the call only.
struct AuthorizerRefusal {
  /// 401 or 403.
  int status = 0;
  const Fields& fields;
  /// At most Limits::refusal_body_bytes of it.
  std::string_view body{};
};

enum class AfterRefusal : std::uint8_t {
  /// The request fails with what the server said.
  fail,
  /// It is sent again: the authorizer is asked for fields anew.
  send_again,
};

class GODWIT_API RequestAuthorizer {
 public:
  virtual ~RequestAuthorizer();

  /// Asked before each request that goes out, also before one that is sent again after a refusal, a
  /// redirect or a connection that broke. The fields go to this origin only. They replace those of
  /// the same name that the program set; a field that belongs to HTTP or to the protocol
  /// (Content-Type, Mcp-Session-Id) is an error of the request, and so is an error given here: the
  /// request is not sent. The time it takes counts against the timeout of the call.
  virtual void authorize(const AuthorizerRequest& request, AuthorizerReply<Fields> reply) = 0;

  /// The head of each response, whatever its status. The fields are good during the call only. Does
  /// nothing if not overridden.
  virtual void on_response(const AuthorizerRequest& request, int status, FieldsView fields);

  /// After a 401 or 403: what becomes of the request. Until this is answered the time of the call
  /// does not run, but for Limits::authorization_time; a request is sent again at most
  /// Limits::authorization_retries times, and then this is not asked any more. An error given here
  /// is the outcome of the call. Answers AfterRefusal::fail if not overridden.
  virtual void on_refused(const AuthorizerRequest& request, const AuthorizerRefusal& refusal,
                          AuthorizerReply<AfterRefusal> reply);
};

}  // namespace godwit::inline v0::http
