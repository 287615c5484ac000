// Response: a whole answer to an HTTP request. A plain value.
#pragma once

#include <string>
#include <string_view>

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

}  // namespace godwit::inline v0::http
