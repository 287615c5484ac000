// Response: a whole answer to an HTTP request. A plain value.
#pragma once

#include <string>
#include <string_view>

#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"
#include "godwit/http/fields.hpp"

namespace godwit::inline v0::http {

struct Response {
  int status = 200;
  /// Without Content-Length, Transfer-Encoding, Connection and Date, which whoever sends it adds.
  Fields fields{};
  std::string body{};
  bool operator==(const Response&) const = default;
};

/// "OK", "Not Found"; "Unknown" for a number nobody has named.
GODWIT_API std::string_view reason_of(int status) noexcept;

/// The status of a response that tells this error: what the error itself wants (Error::http), else
/// `otherwise`. Adds the fields that it wants; those that would break the message apart, or say how
/// long it is, are left out.
GODWIT_API int status_of(const Error& error, int otherwise, Fields& fields);

}  // namespace godwit::inline v0::http
