#include "godwit/server/middleware.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "godwit/rpc/error_code.hpp"
#include "session.hpp"

namespace godwit::inline v0 {

rpc::Middleware log_calls(Log log) {
  return {.before = {}, .after = [log = std::move(log)](rpc::Outcome& outcome) {
            const auto us =
                std::chrono::duration_cast<std::chrono::microseconds>(outcome.took()).count();
            std::string line(outcome.method());
            line += " " + std::to_string(us) + " us ";
            if (const Error* error = outcome.error()) {
              line += "error " + std::to_string(error->code) + ": " + error->message;
            } else {
              line += "ok";
            }
            log.info(line);
          }};
}

rpc::Middleware time_calls(std::function<void(std::string_view, Duration, const Error*)> tell) {
  return {.before = {}, .after = [tell = std::move(tell)](rpc::Outcome& outcome) {
            tell(outcome.method(), outcome.took(), outcome.error());
          }};
}

rpc::Middleware authorize(std::function<Result<void>(const CallFacts&)> decide) {
  return {.before = [decide = std::move(decide)](rpc::Context& context) -> Result<void> {
            CallFacts facts{.method = context.method()};
            const json::View params = context.params();
            if (!params.find("name").get(facts.name)) params.find("uri").get(facts.name);
            if (const auto* session = context.user<detail::Session>()) {
              facts.principal = session->facts().principal;
            }
            return decide(facts);
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
  return {.before = [bucket, most, clock](rpc::Context& context) -> Result<void> {
            if (context.is_notification()) return {};
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
