// What a Fetch does where an authorizer has a say in its request.
#include <utility>

#include "fetch.hpp"
#include "http/http_client_state.hpp"

namespace godwit::inline v0::http {

FetchHandle::Fetch::Authorization::Authorization(Fetch& fetch)
    : fields(fetch.client->loop, fetch.client->options.limits.authorization_time),
      decision(fetch.client->loop, fetch.client->options.limits.authorization_time) {}

AuthorizerRequest FetchHandle::Fetch::described(std::stop_token stop) const {
  return {.method = request.method,
          .url = request.url,
          .sent = authorization->given,
          .attempt = authorization->attempt,
          .stop = std::move(stop)};
}

void FetchHandle::Fetch::ask_fields() {
  if (!authorization) authorization = std::make_unique<Authorization>(*this);
  authorization->given = {};
  authorization->fields.ask(
      [&](AuthorizerReply<Fields> reply, std::stop_token stop) {
        request.authorizer->authorize(described(std::move(stop)), std::move(reply));
      },
      [this](Result<Fields> given) { run_step(*this, [&] { take_fields(std::move(given)); }); });
}

void FetchHandle::Fetch::take_fields(Result<Fields> given) {
  if (!given) return fail(not_authorized(std::move(given).error()));
  if (auto wrong = mistake_in(*given, request.is_reserved)) {
    return fail(not_authorized(*std::move(wrong)));
  }
  authorization->given = *std::move(given);
  transmit();
}

bool FetchHandle::Fetch::is_for_authorizer(int status, const FieldsView& fields) {
  try {
    request.authorizer->on_response(described(), status, fields);
  } catch (...) {
    if (!done) fail(not_authorized(authorizer_threw()));
  }
  if (done || next || !is_refusal(status)) return done;
  if (authorization->attempt >= client->options.limits.authorization_retries) return false;
  authorization->refusal.emplace(Refusal{.status = status, .fields = kept(fields)});
  return true;
}

void FetchHandle::Fetch::take_refusal(std::string_view piece) {
  std::string& body = authorization->refusal->body;
  const std::size_t room = client->options.limits.refusal_body_bytes - body.size();
  body += piece.substr(0, room);
  if (piece.size() <= room) return;
  std::exchange(link, nullptr)->close();
  decide();
}

void FetchHandle::Fetch::decide() {
  if (whole) hold_whole(true);
  if (callbacks.on_held) callbacks.on_held(true);
  if (done) return;
  authorization->decision.ask(
      [&](AuthorizerReply<AfterRefusal> reply, std::stop_token stop) {
        const Refusal& refusal = *authorization->refusal;
        request.authorizer->on_refused(
            described(std::move(stop)),
            {.status = refusal.status, .fields = refusal.fields, .body = refusal.body},
            std::move(reply));
      },
      [this](Result<AfterRefusal> decision) {
        run_step(*this, [&] { take_decision(std::move(decision)); });
      });
}

void FetchHandle::Fetch::take_decision(Result<AfterRefusal> decision) {
  const Refusal refusal = *std::exchange(authorization->refusal, std::nullopt);
  if (whole) hold_whole(false);
  if (callbacks.on_held) callbacks.on_held(false);
  if (done) return;
  if (decision && *decision == AfterRefusal::send_again) {
    ++authorization->attempt;
    return repeat();
  }
  std::vector<Field> fields;
  for (const auto& [name, value] : refusal.fields) fields.push_back({name, value});
  deliver_head(refusal.status, FieldsView(fields));
  if (done) return;
  if (!decision) return fail(not_authorized(std::move(decision).error()));
  if (!refusal.body.empty()) deliver_body(refusal.body);
  if (!done) finish({});
}

}  // namespace godwit::inline v0::http
