// Error: why something did not work, in a form that can cross the wire as a JSON-RPC error object.
// A plain value; the sentence is written for the person who reads it.
//
// What a peer sends is a code, a message and data. How a call ended on this side, such as a
// timeout, is told by the cause, which never travels: no peer can make an error that passes for one
// of ours.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

/// How an error came about. Ask with is_timeout() and its kin below.
enum class Cause : std::uint8_t {
  /// It was made on this side; the code says the rest.
  unspecified,
  /// The other side said so.
  peer,
  /// No answer came in time. The other side may have done what was asked.
  timeout,
  /// This side took the call back. The other side may have done what was asked.
  cancelled,
  /// The connection ended before the answer. The other side may have done what was asked.
  connection_closed,
  /// There is no connection (any more), or no session: nothing was done.
  not_connected,
  /// Too much is waiting on this side already; nothing was sent.
  busy,
  /// Whoever authorizes requests on this side (http::RequestAuthorizer) gave up: nothing was done.
  not_authorized,
  /// What carries the messages brought something else than an answer, such as HTTP 503.
  carrier,
  /// The code has a meaning inside this process only.
  in_process,
};

/// How an error is told over HTTP, beside the error itself.
struct HttpError {
  /// Such as 403; 0 leaves it to whoever answers.
  int status = 0;
  /// Names and values of header fields, such as WWW-Authenticate.
  std::vector<std::pair<std::string, std::string>> fields{};
};

struct Error {
  /// JSON-RPC code. The default is "internal error": whoever knows better says so.
  std::int64_t code = -32603;
  /// What was wrong, where, what was expected, what to do.
  std::string message{};
  /// JSON text of the `data` member; empty means there is none.
  std::string data{};
  /// Not on the wire.
  Cause cause = Cause::unspecified;
  /// What the response says over HTTP, if this error is the answer and nothing was sent before it;
  /// null leaves that to the protocol. Other carriers have no place for it.
  std::shared_ptr<const HttpError> http{};

  /// Whether they look the same on the wire.
  friend bool operator==(const Error& a, const Error& b) noexcept {
    return a.code == b.code && a.message == b.message && a.data == b.data;
  }
};

/// An internal error with this sentence, the commonest kind below the protocol.
inline Error error(std::string message) { return Error{.message = std::move(message)}; }

/// Memory has run out. The sentence is short enough to need none.
inline Error out_of_memory(Cause cause = Cause::unspecified,
                           std::int64_t code = Error{}.code) noexcept {
  return Error{.code = code, .message = "out of memory", .cause = cause};
}

/// What `make` gives, an Error or a Result; if there is no memory for it, the error above. For
/// outcomes that must be told in any case, because somebody waits for them.
template <class Make>
std::invoke_result_t<Make&> or_out_of_memory(Make&& make, Cause cause = Cause::unspecified,
                                             std::int64_t code = Error{}.code) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return out_of_memory(cause, code);
  }
}

// How a call of this side ended. None of these is true for an error that the other side sent,
// whatever its code.

/// No answer came in time.
inline bool is_timeout(const Error& error) noexcept { return error.cause == Cause::timeout; }
/// This side took the call back.
inline bool is_cancelled(const Error& error) noexcept { return error.cause == Cause::cancelled; }
/// There is no connection: it ended before the answer came, or there was none to begin with.
inline bool is_connection_closed(const Error& error) noexcept {
  return error.cause == Cause::connection_closed || error.cause == Cause::not_connected;
}
/// Too much is waiting on this side already.
inline bool is_busy(const Error& error) noexcept { return error.cause == Cause::busy; }
/// Whoever authorizes requests on this side gave up.
inline bool is_not_authorized(const Error& error) noexcept {
  return error.cause == Cause::not_authorized;
}
/// It is certain that the other side has not done what was asked, so asking again repeats nothing.
inline bool is_not_executed(const Error& error) noexcept {
  return error.cause == Cause::not_connected || error.cause == Cause::busy ||
         error.cause == Cause::not_authorized;
}

}  // namespace godwit::inline v0
