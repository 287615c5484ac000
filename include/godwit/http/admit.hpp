// admit: asks about a request that comes whole and that nobody has decided about: for handlers on
// an HTTP stack that does not ask them when it has the head (Handler::on_head).
//
//   void on_request(const Request& request, Exchange& exchange) override {
//     if (request.admitted) return serve(request, exchange);
//     auto pending = admit(request, exchange, log, ask, [&](const Request& in) { serve(in,
//     exchange); }); if (pending) …  // keep a copy of the request (ParkedRequest) until it is
//     decided
//   }
#pragma once

#include <new>
#include <utility>

#include "godwit/base/log.hpp"
#include "godwit/http/admission.hpp"
#include "godwit/http/exchange.hpp"
#include "godwit/http/request.hpp"

namespace godwit::inline v0::http {

/// Goes on with a request that was decided about: calls `serve` with it as it was let in, or
/// answers it.
template <class Serve>
void serve_decided(const Request& request, Exchange& exchange, const Outcome& outcome,
                   const Log& log, Serve&& serve) {
  if (outcome.kind == Outcome::Kind::refused) return exchange.answer(outcome.refusal);
  if (outcome.kind != Outcome::Kind::admitted) {
    log.limited(LogLevel::error, "an admission said nothing about a request");
    return exchange.respond(500, {}, {});
  }
  Request admitted = request;
  admitted.access_checked = true;
  admitted.admitted = &outcome.admitted;
  serve(std::as_const(admitted));
}

/// Asks, and goes on with what is decided at once. `ask` gets the request and a Decision, and gives
/// false if whoever asks was destroyed by that: then the exchange is ended. What it throws is
/// answered with 500, but for the end of memory, which goes on to the caller. If it is decided
/// later, this gives what to wait for, and serve_decided() goes on then.
template <class Ask, class Serve>
[[nodiscard]] PendingDecision admit(const Request& request, Exchange& exchange, const Log& log,
                                    Ask&& ask, Serve&& serve) {
  Decision decision;
  if (request.access_checked) decision.set_access_checked();
  bool there = true;
  try {
    there = ask(request, decision);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    log.caught("an admission threw");
    exchange.respond(500, {}, {});
    return {};
  }
  if (!there) {
    exchange.abort();
    return {};
  }
  if (PendingDecision pending = decision.pending()) return pending;
  serve_decided(request, exchange, decision.outcome(), log, std::forward<Serve>(serve));
  return {};
}

}  // namespace godwit::inline v0::http
