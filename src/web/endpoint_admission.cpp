// Who may call an Endpoint: Host and Origin, and then the admission, if there is one.
#include <utility>

#include "endpoint_impl.hpp"
#include "godwit/base/rollback.hpp"
#include "godwit/http/admit.hpp"
#include "godwit/rpc/error_code.hpp"
#include "godwit/rpc/message.hpp"
#include "undecided.hpp"
#include "wire.hpp"

namespace godwit::inline v0 {

using detail::web::json_type;
using detail::web::retry_later;
using detail::web::Undecided;

namespace {

http::Response refused(int status, Error error, http::Fields fields) {
  fields.set("Content-Type", json_type);
  return {.status = status,
          .fields = std::move(fields),
          .body = rpc::serialize(rpc::make_error(std::nullopt, std::move(error)))};
}

}  // namespace

http::Response Endpoint::Impl::forbidden(const http::Request& request, std::string why) const {
  return refused(403, Error{.code = rpc::code::invalid_request, .message = std::move(why)},
                 fields_for(request));
}

void Endpoint::Impl::decide(const http::Request& head, http::Decision& decision) {
  if (!decision.access_checked()) {
    if (auto why = options.access.refusal(head)) {
      return decision.refuse(forbidden(head, *std::move(why)));
    }
    decision.set_access_checked();
  }
  if (!options.admission || head.method == "OPTIONS") return decision.admit();
  const bool sse = !options.sse_path.empty() && head.is_at(options.sse_path);
  if (!sse && !head.is_at(options.path)) return decision.admit();
  if (!options.access.origins.empty()) decision.set_refusal_fields(fields_for(head));
  const std::shared_ptr<http::Admission> admission = options.admission;  // may outlive this
  admission->decide(head, decision);
}

void Endpoint::Impl::handle(const http::Request& request, http::Exchange& exchange) {
  if (request.admitted) return serve(request, exchange);
  http::PendingDecision pending = http::admit(
      request, exchange, log,
      [&](const http::Request& head, http::Decision& decision) {
        decide(head, decision);
        return !orphaned;  // the admission may destroy the Endpoint
      },
      [&](const http::Request& admitted) { serve(admitted, exchange); });
  if (pending) park(request, exchange, std::move(pending));
}

void Endpoint::Impl::park(const http::Request& request, http::Exchange& exchange,
                          http::PendingDecision pending) {
  if (open_exchanges.all() >= limits.process_in_flight ||
      undecided_bytes + request.body.size() > limits.process_body_bytes) {
    return exchange.answer(
        refused(503, detail::web::busy("too many requests are in flight"), retry_later()));
  }
  const std::uint64_t number = ++last_number;
  auto made = std::make_unique<Undecided>(*this, number, request, exchange,
                                          clock->now() + limits.admission_time);
  Undecided& waiting = *made;
  Rollback untaken([&] { waiting.parked.take(); });  // whoever called then answers, or ends it
  deadlines.emplace(waiting.deadline, number);
  Rollback undo([&] { deadlines.erase({waiting.deadline, number}); });
  undecided.emplace(number, std::move(made));
  undo.dismiss();
  untaken.dismiss();
  ++open_exchanges;
  undecided_bytes += waiting.parked.request().size();
  waiting.pending = std::move(pending);
  const auto wake = [list = ready, place = waiting.ready] { list->add(place); };
  if (!waiting.pending.wait(wake)) wake();
  const bool next = deadlines.begin()->second == number;
  if (next && options.deadline_moved) options.deadline_moved();
}

std::unique_ptr<Undecided> Endpoint::Impl::unpark(std::uint64_t number) noexcept {
  const auto found = undecided.find(number);
  if (found == undecided.end()) return nullptr;
  std::unique_ptr<Undecided> out = std::move(found->second);
  undecided.erase(found);
  deadlines.erase({out->deadline, number});
  undecided_bytes -= out->parked.request().size();
  --open_exchanges;
  return out;
}

void Endpoint::Impl::answer(std::unique_ptr<Undecided> request,
                            const http::Outcome& outcome) noexcept {
  http::Exchange* const exchange = request->parked.take();
  if (!exchange) return;
  try {
    http::serve_decided(request->parked.request().view(), *exchange, outcome, log,
                        [&](const http::Request& admitted) { serve(admitted, *exchange); });
  } catch (...) {
    log.caught("a request is given up");
    exchange->abort();
  }
}

bool Endpoint::Impl::decided(std::uint64_t number) noexcept {
  std::unique_ptr<Undecided> request = unpark(number);
  if (!request) return false;
  const http::Outcome outcome = request->pending.take();
  answer(std::move(request), outcome);
  return true;
}

bool Endpoint::Impl::undecided_for_too_long(std::uint64_t number) noexcept {
  std::unique_ptr<Undecided> request = unpark(number);
  if (!request) return false;
  http::Exchange* const exchange = request->parked.take();
  if (!exchange) return true;
  try {
    log.limited(LogLevel::warning, "nobody decided in time whether a request may be let in");
    exchange->answer(refused(503, detail::web::busy("it was not decided in time who is calling"),
                             retry_later()));
  } catch (...) {
    log.caught("a request is given up");
    exchange->abort();
  }
  return true;
}

}  // namespace godwit::inline v0
