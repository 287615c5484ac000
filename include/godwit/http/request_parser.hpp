// RequestParser: finds HTTP/1.1 requests in a stream of bytes. No input or output here: bytes go in
// as they arrive, in pieces of any size, and requests come out.
//
// Strict on purpose. Whatever two programs could read in two ways is refused, because that is how
// one request is smuggled inside another: Content-Length beside Transfer-Encoding, a length twice,
// a coding other than exactly "chunked", folded lines, a bare CR or LF, space before a colon,
// a missing or second Host, chunk extensions, HTTP/1.0 with a coding, an absolute or authority
// target, control characters anywhere. After an error nothing more is read: answer with status()
// and close.
//
// Owns one buffer that is reused; a Request is views into it. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/http/request.hpp"

namespace godwit::inline v0::http {

class GODWIT_API RequestParser {
 public:
  enum class Event : std::uint8_t {
    /// More bytes are needed.
    none,
    /// The head of a request is there, and its body is still to come: once per request, only for
    /// those whose body is not there yet. request() is good but for the body. Time to answer
    /// expects_continue(), or to refuse.
    head,
    /// request() is one whole request.
    request,
    /// The bytes are no request that will be served. Answer with status() and error(), and close.
    failed,
  };

  /// So many bytes after every body may be read, whatever they hold.
  static constexpr std::size_t padding = 64;

  explicit RequestParser(const Limits& limits = {});
  ~RequestParser();
  RequestParser(RequestParser&&) noexcept;
  RequestParser& operator=(RequestParser&&) noexcept;

  /// Where to put the next bytes; never empty as long as next() is called until it gives none. Ends
  /// the life of requests handed out before.
  std::span<char> prepare();
  /// So many bytes were put there.
  void commit(std::size_t size) noexcept;

  /// What comes next in the bytes so far. To be called until it gives none or failed; after a
  /// request only when that one has been dealt with.
  Event next();

  /// Valid until the next prepare() or next().
  const Request& request() const noexcept { return request_; }
  /// The client waits for "100 Continue" before it sends the body.
  bool expects_continue() const noexcept;
  /// Whether the connection may be used for another request after this one: HTTP/1.1 without
  /// "Connection: close", or HTTP/1.0 with "keep-alive".
  bool keep_alive() const noexcept;
  /// False for HTTP/1.0, which does not know answers in chunks.
  bool takes_chunks() const noexcept;
  /// "Connection: upgrade" is there, with an Upgrade field.
  bool wants_upgrade() const noexcept;

  /// 400, 413, 414, 417, 431, 501 or 505.
  int status() const noexcept { return status_; }
  const Error& error() const noexcept { return error_; }

  /// Whether a request has begun and is not complete.
  bool partial() const noexcept;
  /// Bytes that came behind the last request and were not looked at yet: of the next one, or of
  /// another protocol after an upgrade.
  std::string_view rest() const noexcept;
  /// Gives back the buffer while nothing is in it: for connections that are idle.
  void release() noexcept;
  /// Bytes of memory held.
  std::size_t capacity() const noexcept;

 private:
  struct Impl;

  Event next_body();
  Event tell_head();
  Event done();
  void look_at_head();
  Event fail(int status, std::string why);

  std::unique_ptr<Impl> impl_;
  Request request_;
  int status_ = 0;
  Error error_;
};

}  // namespace godwit::inline v0::http
