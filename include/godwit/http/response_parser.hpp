// ResponseParser: reads HTTP/1.1 responses from a stream of bytes, piece by piece, as a client
// does: the body is handed out as it comes, which is what event streams need. As strict as
// RequestParser.
//
// Owns one buffer that is reused; views are into it. One thread at a time.
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
#include "godwit/http/fields.hpp"

namespace godwit::inline v0::http {

class GODWIT_API ResponseParser {
 public:
  enum class Event : std::uint8_t {
    /// More bytes are needed.
    none,
    /// status() and fields() are there. Responses 1xx but 101 are skipped, at most
    /// Limits::http_interim_answers of them.
    head,
    /// body() is the next piece of the body.
    body,
    /// The response is complete. reusable() tells whether another one can follow.
    end,
    /// The bytes are no response; error() says why. It stays so.
    failed,
  };

  explicit ResponseParser(const Limits& limits = {});
  ~ResponseParser();
  ResponseParser(ResponseParser&&) noexcept;
  ResponseParser& operator=(ResponseParser&&) noexcept;

  /// To be called before each request is sent: its method decides whether the answer has a body.
  void begin(std::string_view method);

  /// Where to put the next bytes; never empty as long as next() is called until it gives none. Ends
  /// the life of views handed out before.
  std::span<char> prepare();
  void commit(std::size_t size) noexcept;
  /// The other side ended the connection. The end of a body without a length; an error elsewhere.
  void finish();

  /// What comes next in the bytes so far. To be called until it gives none.
  Event next();

  int status() const noexcept { return status_; }
  /// Valid until the next prepare() or next().
  FieldsView fields() const noexcept { return fields_; }
  std::string_view body() const noexcept { return body_; }
  const Error& error() const noexcept { return error_; }
  /// Whether the connection can take another request after the end. Not if bytes came that nobody
  /// asked for.
  bool reusable() const noexcept;
  /// Bytes behind the end: after a 101 response, of the protocol that was switched to.
  std::string_view rest() const noexcept;

 private:
  struct Impl;

  Event next_head();
  Event next_body();
  Event more();
  Event fail(std::string why);

  std::unique_ptr<Impl> impl_;
  int status_ = 0;
  FieldsView fields_;
  std::string_view body_;
  Error error_;
};

}  // namespace godwit::inline v0::http
