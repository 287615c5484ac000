#include "godwit/server/middleware.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "godwit/json/document.hpp"
#include "godwit/rpc/error_code.hpp"
#include "mcp/era/eras.hpp"
#include "result.hpp"
#include "session.hpp"

namespace godwit::inline v0 {

namespace {

/// Of what a peer sent, as much as belongs into a log line.
constexpr std::size_t longest = 200;

/// How a call that has a result ended. A result is read only if it may say something else than ok.
std::string describe_result(std::string_view result) {
  // Inside a string of the result the quotes would be escaped.
  if (result.find(R"("isError":true)") == result.npos) return "ok";
  json::Document document;
  const Result<json::View> read = document.parse(result);
  // Or it stood further inside.
  if (!read || !read->find("isError").as_bool().value_or(false)) return "ok";
  for (const json::View content : read->find("content").items()) {
    if (const auto text = content.find("text").as_string()) {
      return "tool error: " + std::string(text->substr(0, longest));
    }
  }
  return "tool error";
}

}  // namespace

std::string describe(const rpc::Outcome& outcome) {
  const Error* error = outcome.error();
  if (outcome.asks()) return "input required";
  if (!error) return describe_result(outcome.result());
  if (outcome.is_cancelled()) return "cancelled: " + error->message;
  return "error " + std::to_string(error->code) + ": " + error->message;
}

rpc::Verdict answer_with(rpc::IncomingCall& call, const ToolResult& result) {
  auto* const session = static_cast<detail::server::Session*>(Service::session_of(call.context()));
  if (!session) return rpc::internal_error("the connection is none of a Server");
  const mcp::Codec& codec =
      mcp::Eras::built_in().codec_of(mcp::find_facts(call.params().find("_meta")),
                                     session->only_stateless() ? nullptr : session->codec());
  std::string text;
  json::Writer writer(text);
  detail::server::write_tool_result(writer, codec, session->server(), result);
  return rpc::Verdict::answer(std::move(text));
}

rpc::Middleware log_calls(Log log) {
  return {.before = {}, .after = [log](rpc::Outcome& outcome) {
            if (!log.enabled(LogLevel::info)) return;
            const auto us =
                std::chrono::duration_cast<std::chrono::microseconds>(outcome.took()).count();
            std::string line(outcome.method());
            const std::string_view name = outcome.name().substr(0, longest);
            if (!name.empty()) line += " " + json::quote(name);
            log.info(line + " " + std::to_string(us) + " us " + describe(outcome));
          }};
}

rpc::Middleware time_calls(std::function<void(std::string_view, Duration, const Error*)> tell) {
  return {.before = {}, .after = [tell = std::move(tell)](rpc::Outcome& outcome) {
            tell(outcome.method(), outcome.took(), outcome.error());
          }};
}

rpc::Middleware authorize(std::function<Result<void>(const CallFacts&)> decide) {
  return {.before = [decide = std::move(decide)](rpc::IncomingCall& call) -> rpc::Verdict {
            return decide(CallFacts{
                .method = call.method(), .name = call.name(), .identity = call.identity()});
          },
          .after = {}};
}

rpc::Middleware limit_rate(std::size_t per_second, const Clock* clock) {
  struct Bucket {
    std::mutex mutex;
    double tokens;
    TimePoint filled;
  };
  if (!clock) clock = &steady_clock();
  const auto most = static_cast<double>(std::max<std::size_t>(per_second, 1));
  auto bucket = std::make_shared<Bucket>();
  bucket->tokens = most;
  bucket->filled = clock->now();
  return {.before = [bucket, most, clock](rpc::IncomingCall& call) -> rpc::Verdict {
            if (call.is_notification()) return {};
            const std::lock_guard lock(bucket->mutex);
            const TimePoint now = clock->now();
            const double passed = std::chrono::duration<double>(now - bucket->filled).count();
            bucket->tokens = std::min(most, bucket->tokens + passed * most);
            bucket->filled = now;
            if (bucket->tokens < 1) {
              return rpc::internal_error("busy: too many requests; try again in a second");
            }
            bucket->tokens -= 1;
            return {};
          },
          .after = {}};
}

}  // namespace godwit::inline v0
