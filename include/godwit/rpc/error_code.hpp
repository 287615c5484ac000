// Error codes of JSON-RPC 2.0 and what they mean to the one who gets them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"

namespace godwit::inline v0::rpc {

namespace code {
inline constexpr std::int64_t parse_error = -32700;
inline constexpr std::int64_t invalid_request = -32600;
inline constexpr std::int64_t method_not_found = -32601;
inline constexpr std::int64_t invalid_params = -32602;
inline constexpr std::int64_t internal_error = -32603;

/// -32768..-32000 belong to the protocol; an application picks its codes outside.
inline constexpr std::int64_t reserved_first = -32768;
inline constexpr std::int64_t reserved_last = -32000;
/// -32099..-32000, left to servers.
inline constexpr std::int64_t server_first = -32099;
inline constexpr std::int64_t server_last = -32000;

/// Outcomes of a call that never travelled: the connection closed, no answer came in time. Servers
/// use the same numbers for whatever they like: is_timeout() and its kin tell the two apart.
inline constexpr std::int64_t connection_closed = -32000;
inline constexpr std::int64_t request_timeout = -32001;
/// Outcome of a call that its own side took back.
inline constexpr std::int64_t cancelled = -32002;
/// Answer to a request over the limit of those in flight.
inline constexpr std::int64_t busy = -32000;
}  // namespace code

/// A code of the server range, checked: ServerErrorCode(-32050) compiles, ServerErrorCode(-1) does
/// not.
class ServerErrorCode {
 public:
  consteval explicit ServerErrorCode(std::int64_t value) : value_(value) {
    if (value < code::server_first || value > code::server_last) outside_the_server_range();
  }
  /// For values known only at run time.
  static constexpr std::optional<ServerErrorCode> from(std::int64_t value) noexcept {
    if (value < code::server_first || value > code::server_last) return std::nullopt;
    return ServerErrorCode(value, Checked{});
  }
  constexpr std::int64_t value() const noexcept { return value_; }
  friend constexpr bool operator==(ServerErrorCode, ServerErrorCode) = default;

 private:
  struct Checked {};
  constexpr ServerErrorCode(std::int64_t value, Checked) noexcept : value_(value) {}
  static void outside_the_server_range();  // not constexpr: calling it is the compile error
  std::int64_t value_;
};

enum class ErrorKind : std::uint8_t {
  parse_error,
  invalid_request,
  method_not_found,
  invalid_params,
  internal_error,
};

/// The kind of a code; codes of servers and applications count as internal errors.
GODWIT_API ErrorKind classify(std::int64_t code) noexcept;

/// "Parse error", "Invalid request", "Method not found", "Invalid params", "Internal error".
GODWIT_API std::string_view to_string(ErrorKind kind) noexcept;

/// True if the one who called did something wrong, false if the one who answered did.
GODWIT_API bool is_client_fault(std::int64_t code) noexcept;

/// One sentence for a person: whose fault, which kind, what was said.
/// `client error: Method not found (-32601): there is no method "nope"`,
/// `timeout: no answer to "measure" within 60 s`.
GODWIT_API std::string explain(const Error& error);

// Errors to answer with. The detail is for the peer to read; leave it out if there is nothing to
// add.
GODWIT_API Error parse_error(std::string detail = {});
GODWIT_API Error invalid_request(std::string detail = {});
GODWIT_API Error method_not_found(std::string_view method);
GODWIT_API Error invalid_params(std::string detail = {});
GODWIT_API Error internal_error(std::string detail = {});
GODWIT_API Error server_error(ServerErrorCode code, std::string message);
/// The reason to close a connection with; it is never sent.
GODWIT_API Error connection_closed(std::string message);
/// An error of the application. Throws std::invalid_argument for a code of the reserved range.
GODWIT_API Error application_error(std::int64_t code, std::string message);

}  // namespace godwit::inline v0::rpc
