#include "peer_impl.hpp"

namespace godwit::inline v0::rpc {

using detail::BatchAnswers;
using detail::DeferredCall;
using detail::end_of_call;
using detail::Envelope;
using detail::finish_call;
using detail::Letter;
using detail::PendingCall;

namespace {

/// A plain handler that runs longer than this holds up everything else on its connection.
constexpr Duration slow_handler = std::chrono::milliseconds(100);

}  // namespace

// Input.

void Peer::Impl::message(std::string_view text, std::size_t spare) {
  if (text.size() > options.limits.message_bytes_in) {
    tell_garbage(text);
    if (closed) return;
    return unreadable(invalid_request("the message has " + std::to_string(text.size()) +
                                      " bytes, more than " +
                                      std::to_string(options.limits.message_bytes_in)));
  }
  // What one is parsed into is twenty times as large.
  if (text.size() > most_reused) return large_message(text, spare);
  parse_with(document, text, spare);
}

void Peer::Impl::large_message(std::string_view text, std::size_t spare) {
  json::Document own;
  parse_with(own, text, spare);
}

void Peer::Impl::parse_with(json::Document& parser, std::string_view text, std::size_t spare) {
  const Result<json::View> root = parser.parse(text, parse_options, spare);
  if (!root) {
    if (options.tap && !show({.incoming = true, .text = text, .route = route})) return;
    tell_garbage(text);
    if (closed) return;
    Error error = root.error();
    error.message = parse_error(std::move(error.message)).message;
    if (output.refuse(error)) return complain(LogLevel::warning, error.message);
    return unreadable(error);
  }
  message(*root);
}

void Peer::Impl::message(json::View root) {
  if (options.tap && !show_incoming(root)) return;
  if (root.is_array()) {
    batch(root);
  } else {
    entry(root, nullptr);
  }
}

void Peer::Impl::after_message() {
  do {
    handle_waiting();
    if (!closed && mailbox->has_mail()) self->process();
  } while (!waiting_messages.empty() && !closed);
}

void Peer::Impl::handle_waiting() {
  while (!waiting_messages.empty() && !closed) {
    const Waiting next = std::move(waiting_messages.front());
    waiting_messages.pop_front();
    const Via via(*this, next.route);
    facts = next.facts ? next.facts.get() : &no_facts();
    message(next.text, 0);
    facts = &connection_facts();
  }
}

void Peer::Impl::batch(json::View array) {
  if (auto problem = detail::batch_problem(array, rules, options.limits)) {
    fail_answered(array, *problem);
    if (!closed) unreadable(*problem);
    return;
  }
  const auto answers = std::make_shared<BatchAnswers>();
  for (json::View item : array.items()) {
    entry(item, answers);
    if (closed) return;
  }
  answers->dispatching = false;
  send_if_complete(*answers);
}

void Peer::Impl::fail_answered(json::View array, const Error& problem) {
  if (pending.size() == 0) return;
  for (json::View item : array.items()) {
    const Envelope envelope = detail::read_envelope(item, rules);
    const auto number = envelope.is_answer ? pending.find(envelope.id) : std::nullopt;
    if (!number) continue;
    // Before the call leaves the table: it needs memory.
    Error error =
        internal_error("the other side answered " + json::quote(pending.get(*number)->method) +
                       " in a batch that was refused: " + problem.message);
    PendingCall call = *pending.take(*number);
    finish_call(call.done, call.method, std::move(error), options.log);
    if (closed) return;
  }
}

void Peer::Impl::entry(json::View view, const BatchPtr& batch) {
  const Envelope envelope = detail::read_envelope(view, rules);
  switch (envelope.kind) {
    case Envelope::Kind::request:
    case Envelope::Kind::notification:
      return dispatch(envelope, batch);
    case Envelope::Kind::response:
    case Envelope::Kind::error_response:
      return response(envelope);
    case Envelope::Kind::invalid:
      break;
  }
  if (envelope.is_answer) return response(envelope);
  if (!batch && options.garbage) tell_garbage(view.source());
  if (closed) return;
  refuse(envelope.id, envelope.problem, batch);
}

void Peer::Impl::refuse(json::View id, const std::string& problem, const BatchPtr& batch) {
  const Error error = invalid_request(problem);
  if (!id) return unreadable(error, batch);
  complain(LogLevel::warning, "a message was refused: " + problem);
  if (!closed) answer(id, &error, {}, batch);
}

void Peer::Impl::tell_garbage(std::string_view text) noexcept {
  if (!options.garbage) return;
  try {
    options.garbage(text);
  } catch (...) {
    options.log.caught("PeerOptions::garbage threw");
  }
}

void Peer::Impl::response(const Envelope& envelope) {
  const auto number = pending.find(envelope.id);
  if (!number) {
    if (envelope.kind == Envelope::Kind::invalid) {
      return complain(LogLevel::warning, "an invalid response was dropped: " + envelope.problem);
    }
    if (envelope.kind == Envelope::Kind::error_response &&
        (!envelope.id || envelope.id.is_null())) {
      std::string problem;
      return complain(LogLevel::warning, "the other side could not read a message of ours: " +
                                             explain(*detail::read_error(envelope.error, problem)));
    }
    return complain(LogLevel::warning, "a response was dropped: no call is waiting for the id " +
                                           std::string(envelope.id.source().substr(0, 100)));
  }
  // Before the call leaves the table: it needs memory.
  Result<json::View> outcome = outcome_of(envelope, *number);
  std::optional<PendingCall> call = pending.take(*number);
  if (!call) return;  // the log sink ended it
  finish_call(call->done, call->method, std::move(outcome), options.log);
}

Result<json::View> Peer::Impl::outcome_of(const Envelope& response, std::uint64_t call) {
  std::string problem;
  switch (response.kind) {
    case Envelope::Kind::response:
      return response.result;
    case Envelope::Kind::error_response:
      return *detail::read_error(response.error, problem);
    default:
      break;
  }
  std::optional<Error> said = detail::read_error(response.error, problem);
  const std::string method = json::quote(pending.get(call)->method);
  complain(LogLevel::warning, "the response to " + method + " is invalid: " + response.problem);
  if (said && response.is_error_with_null) return *std::move(said);
  std::string why =
      "the other side sent an invalid response to " + method + ": " + response.problem;
  if (said) why += "; its error says " + json::quote(said->message);
  return internal_error(std::move(why));
}

void Peer::Impl::warn_if_slow(std::string_view method, TimePoint before) {
  if (options.clock->coarse() - before < slow_handler) return;
  method = method.substr(0, 200);
  if (slow_methods.size() < 100 && slow_methods.emplace(method).second) {
    complain(LogLevel::warning,
             "the handler of " + json::quote(method) +
                 " held its connection for more than 100 ms; mark it rpc::blocking");
  }
}

// Outcomes.

bool Peer::Impl::forget(const DeferredPtr& call) {
  if (!call->id()) {
    if (notifications.erase(call) == 0) return false;
  } else {
    const auto found = in_flight.find(*call->id());
    if (found == in_flight.end() || found->second != call) return false;
    in_flight.erase(found);
  }
  in_flight_bytes -= call->bytes.size();
  return true;
}

std::optional<Error> Peer::Impl::overload(std::size_t bytes) const {
  const Limits& limits = options.limits;
  std::string what;
  if (load() >= limits.in_flight) {
    what = std::to_string(limits.in_flight) + " requests";
  } else if (load() > 0 && in_flight_bytes + bytes > limits.in_flight_bytes) {
    what = "requests with " + std::to_string(in_flight_bytes) + " bytes of params";
  } else if (const std::size_t all = bytes_of_all();
             all > 0 && all + bytes > limits.process_in_flight_bytes) {
    what = "requests with " + std::to_string(all) + " bytes of params, of all clients together,";
  } else {
    return std::nullopt;
  }
  return Error{.code = rules.busy_code,
               .message = "busy: " + what + " are in flight already; try again later"};
}

void Peer::Impl::deliver(Letter& letter) {
  if (letter.work) return run(letter.work, "posted work");
  try {
    deliver_to(letter);
  } catch (...) {
    if (closed || !output.give_up(letter.route)) throw;
    options.log.caught("an answer could not be sent");
  }
}

void Peer::Impl::deliver_to(Letter& letter) {
  const Via via(*this, letter.route);
  if (!letter.request) return self->send_notification(letter.text);
  DeferredCall& call = *letter.request;
  if (letter.on_the_way) {
    if (!call.taken_back()) self->send_notification(letter.text);
    return;
  }
  if (letter.goes_on) return resume(letter.request);
  if (!forget(letter.request)) return;
  if (letter.error) return finish(call, *std::move(letter.error));
  Outcome outcome = outcome_of(call);
  outcome.asks_ = letter.asks;
  if (call.id()) outcome.result_ = letter.text;
  finish(call, outcome);
}

Outcome Peer::Impl::outcome_of(const DeferredCall& call) const noexcept {
  const detail::Subject subject{.name = call.name, .continues = call.continues};
  return Outcome(call.method(), {}, &call.id(), subject, call.facts(),
                 options.clock->now() - call.started);
}

void Peer::Impl::finish(DeferredCall& call, Error error) {
  Outcome outcome = outcome_of(call);
  outcome.failed_ = true;
  outcome.error_ = std::move(error);
  finish(call, outcome);
}

void Peer::Impl::finish(DeferredCall& call, Outcome& outcome) {
  settle(outcome, call);
  if (closed) return;
  if (!call.id()) {
    if (outcome.failed_) complain_about_notification(call.method(), outcome.error_);
    return;
  }
  write_answer(outcome.error(), outcome.result(), call.batch, true,
               [&](json::Writer& writer) { call.id()->write(writer); });
  if (call.batch) {
    --call.batch->waiting;
    send_if_complete(*call.batch);
  }
}

void Peer::Impl::run(Function<void()>& work, std::string_view what) noexcept {
  try {
    const Via via(*this, 0);
    work();
  } catch (...) {
    options.log.caught(what);
  }
}

void Peer::Impl::abandon(DeferredCall& call, const Error& reason) noexcept {
  call.cancel();
  if (!call.states) return;
  Outcome outcome = outcome_of(call);
  outcome.failed_ = true;
  outcome.cancelled_ = true;
  outcome.error_ = end_of_call(reason.code, reason.cause, [&] { return reason.message; });
  settle(outcome, call);
}

void Peer::Impl::settle(Outcome& outcome, DeferredCall& call) noexcept {
  detail::CallStates none;
  settle(outcome, call.states ? *call.states : none);
  // A `before` that is on the stack needs its state a little longer.
  if (call.own_states && call.states == call.own_states.get()) call.states->drop_open();
}

void Peer::Impl::close(const Error* reason) noexcept {
  if (closed) return;
  const Busy staying(*this);
  Error why{.code = reason ? reason->code : code::connection_closed, .message = {}};
  why.cause = reason ? reason->cause : Cause::connection_closed;
  try {
    if (reason) {
      why = *reason;  // which may live in something that a callback destroys
    } else {
      why.message = "the connection was destroyed";
    }
  } catch (...) {  // the code says it
  }
  closed = true;
  mailbox->close();
  waiting_messages.clear();
  // Their destructors may be code of the program.
  const auto dropped = std::exchange(timers, {});
  while (!in_flight.empty()) {
    const auto last = in_flight.extract(in_flight.begin());
    abandon(*last.mapped(), why);
  }
  while (!notifications.empty()) {
    const auto last = notifications.extract(notifications.begin());
    abandon(*last.value(), why);
  }
  fail_pending(why);
}

void Peer::Impl::give_up(PendingCall& call, Error reason) noexcept {
  if (options.abandoned) {
    try {
      const Via via(*this, call.route);
      options.abandoned(*self, call.id, reason);
    } catch (...) {
      options.log.caught("PeerOptions::abandoned threw");
    }
  }
  finish_call(call.done, call.method, std::move(reason), options.log);
}

void Peer::Impl::fail_pending(const Error& reason) noexcept {
  if (options.ended && !std::exchange(end_told, true)) {
    try {
      options.ended(reason);
    } catch (...) {
      options.log.caught("PeerOptions::ended threw");
    }
  }
  while (auto call = pending.take_first()) {
    Error error = end_of_call(code::connection_closed, Cause::connection_closed, [&] {
      return "no answer to " + json::quote(call->method) + ": the connection is closed (" +
             reason.message + ")";
    });
    try {
      error.data = reason.data;
    } catch (...) {  // the code says it
    }
    finish_call(call->done, call->method, std::move(error), options.log);
  }
}

void Peer::Impl::settle(Outcome& outcome, detail::CallStates& states) noexcept {
  // A protocol that wants objects as results never gets anything else from us, nor from middleware.
  const auto check_result = [&] {
    if (!rules.object_result || outcome.failed_ || outcome.notification_) return;
    const std::size_t first = outcome.result_.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && outcome.result_[first] == '{') return;
    fail(outcome);
    try {
      complain(LogLevel::error, "the result of " + json::quote(outcome.method_) +
                                    " must be an object in this protocol");
    } catch (...) {  // no memory for the line
    }
  };
  check_result();
  while (states.passed() > 0) {
    try {
      states.last_layer().after(outcome, states.last_state());
    } catch (...) {
      // It may have wanted to hide or to refuse something: nothing but an error is safe to send.
      fail(outcome);
      try {
        complain(LogLevel::error, detail::describe_throw("middleware after", outcome.method_,
                                                         std::current_exception()));
      } catch (...) {
      }
    }
    states.drop_last();
  }
  if (outcome.changed_) check_result();
}

void Peer::Impl::fail(Outcome& outcome) noexcept {
  outcome.set_error(end_of_call(code::internal_error, Cause::unspecified,
                                [] { return internal_error().message; }));
}

void Peer::Impl::complain_about_notification(std::string_view method, const Error& error) {
  complain(LogLevel::warning,
           "the notification " + json::quote(method.substr(0, 200)) + " failed: " + error.message);
}

// The tap.

bool Peer::Impl::show(const TappedMessage& message) noexcept {
  const Busy staying(*this);
  try {
    options.tap(message);
  } catch (...) {
    options.log.caught("the tap threw");
  }
  return !closed;
}

bool Peer::Impl::show_outgoing(const Outbound& message) {
  const std::string_view text = std::string_view(output.output()).substr(message.begin);
  std::string own_id;  // of a request of this side
  if (message.kind == MessageKind::request) own_id = message.ids.front().text();
  return show({.kind = message.kind,
               .text = text,
               .method = message.method,
               .id = message.is_answer() ? message.answers : std::string_view(own_id),
               .failed = message.error != nullptr,
               .route = message.route});
}

bool Peer::Impl::show_incoming(json::View message) {
  TappedMessage shown{.incoming = true, .text = message.source(), .route = route};
  if (message.is_array()) {
    shown.kind = MessageKind::batch;
    return show(shown);
  }
  const Envelope envelope = detail::read_envelope(message, rules);
  shown.method = envelope.method;
  shown.id = envelope.id.source();
  shown.failed = static_cast<bool>(envelope.error);
  switch (envelope.kind) {
    case Envelope::Kind::request:
      shown.kind = MessageKind::request;
      break;
    case Envelope::Kind::notification:
      shown.kind = MessageKind::notification;
      break;
    case Envelope::Kind::response:
    case Envelope::Kind::error_response:
      shown.kind = MessageKind::answer;
      break;
    case Envelope::Kind::invalid:
      if (envelope.is_answer) shown.kind = MessageKind::answer;
      break;
  }
  return show(shown);
}

// Output.

void Peer::Impl::unreadable(const Error& error, const BatchPtr& batch) {
  complain(LogLevel::warning, "a message was refused: " + error.message);
  if (closed) return;
  write_answer(&error, {}, batch, rules.id_on_unreadable,
               [](json::Writer& writer) { writer.null(); });
}

void Peer::Impl::send_if_complete(BatchAnswers& answers) {
  if (closed || answers.dispatching || answers.waiting > 0) return;
  if (answers.text.empty()) return output.unanswered(route);
  const std::string text = std::exchange(answers.text, {});
  std::string& out = output.output();
  const std::size_t begin = out.size();
  out.push_back('[');
  out.append(text);
  out.push_back(']');
  send({.begin = begin, .kind = Outbound::Kind::answer});
}

}  // namespace godwit::inline v0::rpc
