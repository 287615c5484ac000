// Middleware for Server::use(): small, useful, and examples of how to write one. How it works is
// told in godwit/rpc/middleware.hpp; here, the name of a call is that of the tool or prompt, or the
// uri of the resource, and its arguments are those of the tool or prompt.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/log.hpp"
#include "godwit/base/result.hpp"
#include "godwit/mcp/tool.hpp"
#include "godwit/rpc/middleware.hpp"

namespace godwit::inline v0 {

/// How a call ended, for people: `ok`, `tool error` with its text, `input required`, `cancelled`,
/// or `error` with its code.
GODWIT_API std::string describe(const rpc::Outcome& outcome);

/// For middleware that answers in place of a tool: the result as the caller's revision wants it.
GODWIT_API rpc::Verdict answer_with(rpc::IncomingCall& call, const ToolResult& result);

/// One line per call: the method, which tool, prompt or resource, the time it took, and how it
/// ended, as describe() says it.
GODWIT_API rpc::Middleware log_calls(Log log);

/// Tells the function how long each call took, and how it ended (nullptr: well). Any thread that
/// serves a connection calls it.
GODWIT_API rpc::Middleware time_calls(
    std::function<void(std::string_view method, Duration took, const Error* error)> tell);

/// What is about to be called, for those who decide whether it may be.
struct CallFacts {
  std::string_view method{};
  /// Of a tool or prompt, or the uri of a resource; empty otherwise.
  std::string_view name{};
  /// Who calls; null if nobody has verified that.
  const rpc::Identity* identity = nullptr;
};
/// Lets through what the function allows; its error is the answer to the rest.
GODWIT_API rpc::Middleware authorize(std::function<Result<void>(const CallFacts&)> decide);

/// At most this many requests per second on average over all connections, with bursts of as many;
/// what is more is refused as busy. Notifications pass.
GODWIT_API rpc::Middleware limit_rate(std::size_t per_second, const Clock* clock = nullptr);

}  // namespace godwit::inline v0
