// Errors with a meaning inside the process: they steer how a handler's outcome is answered and
// never travel as they are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

namespace mcp::code {
// Only with Cause::in_process: a peer may send any number.
inline constexpr std::int64_t tool_error = -(std::int64_t{1} << 40) - 1;
inline constexpr std::int64_t suspended = -(std::int64_t{1} << 40) - 2;
inline constexpr std::int64_t not_found = -(std::int64_t{1} << 40) - 3;
inline constexpr std::int64_t claim_lost = -(std::int64_t{1} << 40) - 4;
/// What the stateful revisions answer for a resource that does not exist.
inline constexpr std::int64_t resource_not_found = -32002;
}  // namespace mcp::code

/// The tool failed, and the model should read why: a result with isError. Converts to any Result.
inline Error tool_error(std::string text) {
  return Error{
      .code = mcp::code::tool_error, .message = std::move(text), .cause = Cause::in_process};
}

/// True if the tool itself failed (a result with isError), as opposed to the request: the message
/// is the tool's own text.
inline bool is_tool_error(const Error& error) noexcept {
  return error.cause == Cause::in_process && error.code == mcp::code::tool_error;
}

/// There is no such resource. Answered as each revision wants it.
GODWIT_API Error not_found(std::string_view uri);

/// True for the error of an ask that is not answered yet. Pass it on; the handler will run again.
inline bool is_suspended(const Error& error) noexcept {
  return error.cause == Cause::in_process && error.code == mcp::code::suspended;
}

}  // namespace godwit::inline v0
