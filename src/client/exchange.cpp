// One request of the program, from the call to its outcome: the rounds, the cache, the limits.
#include <algorithm>
#include <chrono>
#include <new>

#include "godwit/json/document.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/rpc/error_code.hpp"
#include "lists.hpp"
#include "mcp/era/stateless_headers.hpp"
#include "session_state.hpp"

namespace godwit::inline v0 {

namespace {

using mcp::Operation;

/// How often a server may ask back within one request.
constexpr unsigned most_rounds = 10;
/// Before a round in which there was nothing to answer: doubled each time, up to the most.
constexpr Duration first_pause = std::chrono::milliseconds(50);
constexpr Duration longest_pause = std::chrono::seconds(1);

bool may_ask_back(Operation operation) {
  return operation == Operation::call_tool || operation == Operation::get_prompt ||
         operation == Operation::read_resource;
}

Error bad_result(const detail::client::Exchange& exchange, const std::string& what) {
  return rpc::internal_error("the result of " + json::quote(exchange.method) + " " + what);
}

}  // namespace

std::optional<Error> ClientSession::State::refusal(std::string_view method) const {
  if (phase == Phase::ready) return std::nullopt;
  const std::string name = json::quote(method.substr(0, 200));
  if (phase == Phase::idle || phase == Phase::starting) {
    Error early = rpc::internal_error("the session is not started yet; " + name + " was not sent");
    early.cause = Cause::not_connected;
    return early;
  }
  Error error = why;
  error.cause = Cause::not_connected;
  error.message += "; " + name + " was not sent";
  return error;
}

std::optional<Error> ClientSession::State::missing_capability(Operation operation) const {
  const std::string_view missing = codec->missing(operation, welcome.capabilities);
  if (missing.empty()) return std::nullopt;
  const std::string_view name = codec->name_of(operation);
  return Error{.code = rpc::code::method_not_found,
               .message = "the server does not declare the capability " + json::quote(missing) +
                          (name.empty() ? std::string("; nothing was sent")
                                        : "; " + json::quote(name) + " was not sent")};
}

ClientCall ClientSession::State::ask(Operation operation, detail::client::RequestParams params,
                                     RequestOptions request, ViewDone done, std::uint64_t again,
                                     std::shared_ptr<TimePoint> whole_end) {
  const auto self = shared_from_this();
  auto exchange = std::make_shared<detail::client::Exchange>();
  exchange->number = again;
  exchange->whole_end = std::move(whole_end);
  exchange->operation = operation;
  exchange->done = std::move(done);
  std::optional<Error> error = refusal(codec ? codec->name_of(operation) : "the request");
  if (!error) error = missing_capability(operation);
  if (error) {
    finish(exchange, *std::move(error));
    return {};
  }
  exchange->method = codec->name_of(operation);
  exchange->params = std::move(params);
  exchange->options = std::move(request);
  // What the caller adds to _meta or to the headers may change the answer.
  exchange->may_be_cached = options.cache && detail::client::ResponseCache::keeps(operation) &&
                            exchange->options.meta.empty() && exchange->options.headers.empty();
  if (exchange->may_be_cached && !exchange->options.fresh && !cache.empty()) {
    const std::string* known =
        cache.find(detail::client::ResponseCache::key(operation, exchange->params.members), now());
    if (known) {
      json::Document document;
      const std::string text = *known;  // the callback may change the cache
      if (const auto result = document.parse(text)) {
        finish(exchange, *result);
        return {};
      }
    }
  }
  return begin(std::move(exchange));
}

ClientCall ClientSession::State::ask_method(std::string_view method, RawJson params,
                                            RequestOptions request, ViewDone done) {
  const auto self = shared_from_this();
  auto exchange = std::make_shared<detail::client::Exchange>();
  exchange->done = std::move(done);
  std::optional<Error> error = refusal(method);
  json::Document document;
  json::View object;
  if (!error && !params.text.empty()) {
    const auto parsed = document.parse(params.text);
    if (!parsed || !parsed->is_object() || parsed->duplicate_key()) {
      error = rpc::invalid_params("the params of " + json::quote(method) +
                                  " must be a JSON object; nothing was sent");
    } else {
      object = *parsed;
    }
  }
  if (error) {
    finish(exchange, *std::move(error));
    return {};
  }
  json::Writer writer(exchange->params.members);
  const std::string_view naming = mcp::naming_member(method);
  const bool is_tool = method == codec->name_of(Operation::call_tool);
  for (const auto [key, value] : object.members()) {
    if (key == "_meta") {
      for (const auto [name, item] : value.members()) {
        if (!request.meta.contains(name)) request.meta.set(std::string(name), json::Value(item));
      }
      continue;
    }
    if (!naming.empty() && key == naming) {
      if (const auto name = value.as_string()) exchange->params.name.emplace(*name);
    }
    if (is_tool && key == "arguments" && value.is_object()) {
      exchange->params.arguments = std::make_shared<const std::string>(value.source());
      continue;
    }
    writer.key(key);
    writer.raw(value.source());
  }
  exchange->method = method;
  exchange->options = std::move(request);
  return begin(std::move(exchange));
}

ClientCall ClientSession::State::begin(ExchangePtr exchange) {
  if (exchange->number == 0) exchange->number = ++last_number;
  const Duration total = exchange->options.max_total;
  const TimePoint start = now();
  exchange->hard_end = total < TimePoint::max() - start ? start + total : TimePoint::max();
  exchanges.insert_or_assign(exchange->number, exchange);
  send_round(exchange);
  return ClientCall{exchanges.contains(exchange->number) ? exchange->number : 0};
}

// A round: the request as it was, with what the last round gave.

std::string ClientSession::State::meta_of(const detail::client::Exchange& exchange) const {
  const RequestOptions& request = exchange.options;
  mcp::RequestMeta meta{.own = request.meta,
                        .introduction = introduction,
                        .log_level = request.log_level ? request.log_level : log_level,
                        .trace = request.trace};
  if (request.on_progress) meta.progress_token = exchange.number;
  return codec->request_meta(meta);
}

void detail::client::RoundParams::write(json::Writer& writer) const {
  writer.begin_object();
  if (!exchange.params.members.empty()) writer.raw(exchange.params.members);
  if (exchange.params.arguments) {
    writer.key("arguments");
    writer.raw(*exchange.params.arguments);
  }
  if (exchange.asked) {
    writer.key("inputResponses");
    writer.begin_object();
    for (const auto& [key, answer] : exchange.answers) {
      writer.key(key);
      writer.raw(answer);
    }
    writer.end_object();
  }
  if (!exchange.state.empty()) {
    writer.key("requestState");
    writer.raw(exchange.state);
  }
  if (!meta.empty()) {
    writer.key("_meta");
    writer.raw("{" + meta + "}");
  }
  writer.end_object();
}

rpc::MessageFields ClientSession::State::fields_beside(const mcp::Codec& in,
                                                       std::string_view method) const {
  rpc::MessageFields fields;
  if (has_fields) in.add_fields(fields, method, std::nullopt);
  return fields;
}

rpc::MessageFields ClientSession::State::fields_of(const detail::client::Exchange& exchange) const {
  rpc::MessageFields fields = exchange.options.headers;
  if (!has_fields) return fields;
  const detail::client::RequestParams& params = exchange.params;
  codec->add_fields(fields, exchange.method, params.name);
  if (exchange.method == codec->name_of(Operation::call_tool) && params.name && params.arguments) {
    param_headers.add_fields(fields, *params.name, std::string_view(*params.arguments));
  }
  return fields;
}

void ClientSession::State::send_round(const ExchangePtr& exchange) {
  try {
    send_call(exchange);
  } catch (const std::bad_alloc&) {
    finish(exchange, out_of_memory());
  }
}

void ClientSession::State::send_call(const ExchangePtr& exchange) {
  const auto left = std::max(exchange->hard_end - now(), Duration(0));
  const rpc::CallOptions patience{.timeout = std::min(timeout_of(exchange->options), left),
                                  .route = {},
                                  .fields = fields_of(*exchange),
                                  .tag = exchange->number};
  const std::string meta = meta_of(*exchange);
  const detail::client::RoundParams params{*exchange, meta};
  auto done = [self = shared_from_this(),
               number = exchange->number](Result<detail::client::ResultView> outcome) {
    try {
      self->on_outcome(number, std::move(outcome));
    } catch (const std::bad_alloc&) {  // it has come, so nobody may wait for it any longer
      const auto found = self->exchanges.find(number);
      if (found != self->exchanges.end()) self->finish(ExchangePtr(found->second), out_of_memory());
    }
  };
  // A request without params has none at all, rather than empty ones: older servers insist.
  rpc::Peer& to = *peer;
  const rpc::CallHandle call =
      params.empty() ? to.call<detail::client::ResultView>(exchange->method, rpc::no_params,
                                                           std::move(done), patience)
                     : to.call<detail::client::ResultView>(exchange->method, params,
                                                           std::move(done), patience);
  // An outcome that came at once may have begun the next round already.
  if (peer && peer->id_of(call)) exchange->call = call;
}

void ClientSession::State::on_outcome(std::uint64_t number,
                                      Result<detail::client::ResultView> outcome) {
  const auto found = exchanges.find(number);
  if (found == exchanges.end()) return;
  const ExchangePtr exchange = found->second;
  exchange->call = {};
  if (!outcome) {
    const bool outdated = has_fields && exchange->operation == Operation::call_tool &&
                          !exchange->is_repeated && codec->is_outdated(outcome.error());
    if (outdated) return send_with_new_fields(exchange);
    return finish(exchange, std::move(outcome).error());
  }
  const json::View result = outcome->view;
  switch (codec->kind_of(result)) {
    case mcp::ResultKind::complete:
      break;
    case mcp::ResultKind::input_required:
      return begin_round(exchange, result);
    case mcp::ResultKind::unknown:
      return finish(exchange,
                    bad_result(*exchange,
                               "has a resultType that was not agreed on: " +
                                   std::string(result.find("resultType").source().substr(0, 100))));
  }
  if (has_fields && exchange->method == codec->name_of(Operation::list_tools)) {
    codec->learn_tools(param_headers, result.find("tools"), exchange->params.empty());
  }
  if (exchange->may_be_cached && exchange->rounds == 0) {
    const Duration life = codec->time_to_live(result);
    // A first page begins the list anew: the pages of the old one do not go with it.
    if (exchange->params.empty()) cache.drop(*exchange->operation);
    if (life > Duration(0)) {
      cache.put(detail::client::ResponseCache::key(*exchange->operation, exchange->params.members),
                *exchange->operation, result.source(), now() + life);
    }
  }
  finish(exchange, result);
}

void ClientSession::State::send_with_new_fields(const ExchangePtr& exchange) {
  exchange->is_repeated = true;
  RequestOptions fresh;
  fresh.timeout = exchange->options.timeout;
  fresh.headers = exchange->options.headers;
  fresh.fresh = true;
  auto listed = [self = shared_from_this(), exchange](Result<std::vector<Tool>> tools) {
    if (!tools) return self->finish(exchange, std::move(tools).error());
    if (self->options.check_results) self->keep_schemas(*tools, true);
    try {
      if (auto error = self->refusal(exchange->method)) {
        return self->finish(exchange, *std::move(error));
      }
      self->begin(exchange);
    } catch (const std::bad_alloc&) {
      self->finish(exchange, out_of_memory());
    }
  };
  // The list takes the place of the call, so that whoever cancels it ends this.
  detail::client::list_all<Tool>(shared_from_this(), std::move(listed), std::move(fresh),
                                 exchange->number);
}

void ClientSession::State::begin_round(const ExchangePtr& exchange, json::View result) {
  if (exchange->operation && !may_ask_back(*exchange->operation)) {
    return finish(exchange, bad_result(*exchange, "asks for input, which this method may not"));
  }
  if (++exchange->rounds > most_rounds) {
    return finish(exchange, bad_result(*exchange, "asks for input for more than " +
                                                      std::to_string(most_rounds) + " rounds"));
  }
  const json::View asks = result.find("inputRequests");
  const json::View state = result.find("requestState");
  if ((asks && !asks.is_object()) || (state && !state.is_string()) || (!asks && !state) ||
      asks.duplicate_key()) {
    return finish(exchange, bad_result(*exchange,
                                       "asks for input, but its inputRequests (an object) and "
                                       "requestState (a string) cannot be read"));
  }
  std::vector<detail::client::Question> questions;
  exchange->answers.clear();
  for (const auto [key, ask] : asks.members()) {
    const std::string_view method = ask.find("method").as_string().value_or("");
    const mcp::Method* row = codec->find(method, mcp::Side::client);
    auto question =
        row && !row->notification
            ? read_question(row->operation, ask.find("params"))
            : Result<detail::client::Question>(rpc::method_not_found(method.substr(0, 200)));
    if (!question) {
      Error error = std::move(question).error();
      error.message = "the server asks for input that this client cannot give (" +
                      json::quote(key.substr(0, 200)) + "): " + error.message;
      return finish(exchange, std::move(error));
    }
    questions.push_back(*std::move(question));
    exchange->answers.emplace_back(std::string(key), std::string());
  }
  exchange->asked = static_cast<bool>(asks);
  exchange->state = std::string(state.source());
  exchange->unanswered = questions.size();
  exchange->asked_at = now();
  if (questions.empty()) {
    const unsigned doublings = std::min(exchange->rounds - 1, 10u);
    const Duration pause = std::min(first_pause * (1u << doublings), longest_pause);
    exchange->pause = peer->schedule(pause, [self = shared_from_this(), exchange] {
      if (self->exchanges.contains(exchange->number)) self->send_round(exchange);
    });
    return;
  }
  const unsigned round = exchange->rounds;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    if (!peer || !exchanges.contains(exchange->number))
      return;  // a function of the program ended it
    ask_program(
        std::move(questions[i]), exchange->stop.get_token(),
        [self = shared_from_this(), number = exchange->number, round,
         i](Result<std::string> answer) { self->on_answer(number, round, i, std::move(answer)); });
  }
}

void ClientSession::State::on_answer(std::uint64_t number, unsigned round, std::size_t index,
                                     Result<std::string> answer) {
  const auto found = exchanges.find(number);
  if (found == exchanges.end() || found->second->rounds != round || !peer) return;
  const ExchangePtr exchange = found->second;
  if (!answer) return finish(exchange, std::move(answer).error());
  exchange->answers[index].second = *std::move(answer);
  if (--exchange->unanswered > 0) return;
  // People may take their time.
  detail::client::put_off(exchange->hard_end, now() - exchange->asked_at);
  send_round(exchange);
}

void ClientSession::State::finish(const ExchangePtr& exchange,
                                  Result<json::View> outcome) noexcept {
  const auto self = shared_from_this();
  const auto found = exchanges.find(exchange->number);
  if (found != exchanges.end() && found->second == exchange) exchanges.erase(found);
  exchange->stop.request_stop();
  ViewDone done = std::exchange(exchange->done, nullptr);
  run("the callback of a call threw", done, std::move(outcome));
}

bool ClientSession::State::cancel(std::uint64_t number, std::string_view reason) {
  const auto self = shared_from_this();
  const auto found = exchanges.find(number);
  if (found == exchanges.end()) return false;
  const ExchangePtr exchange = found->second;
  if (peer && exchange->call.number != 0 && peer->cancel(exchange->call, reason)) return true;
  if (peer && exchange->pause.number != 0) peer->unschedule(exchange->pause);
  finish(exchange,
         Error{.code = rpc::code::cancelled,
               .message = json::quote(exchange->method) + " was cancelled: " + std::string(reason),
               .cause = Cause::cancelled});
  return true;
}

}  // namespace godwit::inline v0
