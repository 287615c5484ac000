#include "peer_impl.hpp"

namespace godwit::inline v0::rpc {

using detail::BatchAnswers;
using detail::DeferredCall;
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
    return unreadable(invalid_request("the message has " + std::to_string(text.size()) +
                                      " bytes, more than " +
                                      std::to_string(options.limits.message_bytes_in)));
  }
  const Result<json::View> root = document.parse(text, parse_options, spare);
  if (!root) {
    Error error = root.error();
    error.message = parse_error(std::move(error.message)).message;
    return unreadable(error);
  }
  message(*root);
}

void Peer::Impl::message(json::View root) {
  if (root.is_array()) {
    batch(root);
  } else {
    entry(root, nullptr);
  }
}

void Peer::Impl::after_message() {
  while (!waiting_messages.empty() && !closed) {
    const Waiting next = std::move(waiting_messages.front());
    waiting_messages.pop_front();
    const Via via(*this, next.route);
    message(next.text, 0);
  }
  if (!closed && mailbox->has_mail()) self.process();
}

void Peer::Impl::batch(json::View array) {
  if (auto problem = detail::batch_problem(array, rules, options.limits)) {
    return unreadable(*problem);
  }
  const auto answers = std::make_shared<BatchAnswers>();
  for (json::View item : array.items()) {
    entry(item, answers);
    if (closed) return;
  }
  answers->dispatching = false;
  send_if_complete(*answers, output.route());
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
  refuse(envelope.id, envelope.problem, batch);
}

void Peer::Impl::refuse(json::View id, const std::string& problem, const BatchPtr& batch) {
  const Error error = invalid_request(problem);
  if (!id) return unreadable(error, batch);
  complain(LogLevel::warning, "a message was refused: " + problem);
  answer(id, &error, {}, batch);
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
  PendingCall call = *pending.take(*number);
  if (envelope.kind == Envelope::Kind::invalid) {
    complain(LogLevel::warning,
             "the response to " + json::quote(call.method) + " is invalid: " + envelope.problem);
    return finish_call(call.done, call.method,
                       internal_error("the other side sent an invalid response to " +
                                      json::quote(call.method) + ": " + envelope.problem),
                       options.log);
  }
  if (envelope.kind == Envelope::Kind::error_response) {
    std::string problem;
    return finish_call(call.done, call.method, *detail::read_error(envelope.error, problem),
                       options.log);
  }
  finish_call(call.done, call.method, envelope.result, options.log);
}

void Peer::Impl::warn_if_slow(std::string_view method, TimePoint before) {
  if (options.clock->coarse() - before < slow_handler) return;
  method = method.substr(0, 200);
  if (slow_methods.size() < 100 && slow_methods.emplace(method).second) {
    options.log.warning("the handler of " + json::quote(method) +
                        " held its connection for more than 100 ms; mark it rpc::blocking");
  }
}

// Outcomes.

bool Peer::Impl::forget(const DeferredPtr& call) {
  if (!call->id()) return notifications.erase(call) > 0;
  const auto found = in_flight.find(*call->id());
  if (found == in_flight.end() || found->second != call) return false;
  in_flight.erase(found);
  return true;
}

void Peer::Impl::deliver(Letter& letter) {
  if (letter.work) return run(letter.work, "posted work");
  const Via via(*this, letter.route);
  if (!letter.request) return self.send_raw(letter.text);
  DeferredCall& call = *letter.request;
  if (letter.on_the_way) {
    if (!call.taken_back()) self.send_raw(letter.text);
    return;
  }
  if (!forget(letter.request)) return;
  Outcome outcome(call.method(), !call.id(), options.clock->now() - call.started);
  outcome.failed_ = letter.error.has_value();
  if (letter.error) outcome.error_ = *std::move(letter.error);
  if (call.id()) outcome.result_ = letter.text;
  settle(outcome, call.passed);
  if (closed) return;
  if (!call.id()) {
    if (outcome.failed_) complain_about_notification(call.method(), outcome.error_);
    return;
  }
  write_answer(outcome.error(), outcome.result(), call.batch, [&](json::Writer& writer) {
    writer.raw_key("\"id\":");
    call.id()->write(writer);
  });
  if (call.batch) {
    --call.batch->waiting;
    send_if_complete(*call.batch, letter.route);
  }
}

void Peer::Impl::run(Function<void()>& work, std::string_view what) noexcept {
  try {
    const Via via(*this, 0);
    work();
  } catch (...) {
    complain(LogLevel::error, detail::describe_throw("", what, std::current_exception()));
  }
}

void Peer::Impl::abandon(DeferredCall& call, Error reason) {
  call.cancel();
  if (call.passed == 0) return;
  Outcome outcome(call.method(), !call.id(), options.clock->now() - call.started);
  outcome.failed_ = true;
  outcome.error_ = std::move(reason);
  settle(outcome, call.passed);
}

void Peer::Impl::give_up(PendingCall& call, const Error& reason) {
  if (options.abandoned) {
    try {
      const Via via(*this, call.route);
      options.abandoned(self, call.id, reason);
    } catch (...) {
      complain(LogLevel::error, detail::describe_throw("PeerOptions::abandoned for", call.method,
                                                       std::current_exception()));
    }
  }
  finish_call(call.done, call.method, reason, options.log);
}

void Peer::Impl::fail_pending(const Error& reason) {
  if (options.ended && !std::exchange(end_told, true)) {
    try {
      options.ended(reason);
    } catch (...) {
      complain(LogLevel::error,
               detail::describe_throw("", "PeerOptions::ended", std::current_exception()));
    }
  }
  for (PendingCall& call : pending.take_all()) {
    Error error = reason;
    error.code = code::connection_closed;
    error.message = "no answer to " + json::quote(call.method) + ": the connection is closed (" +
                    reason.message + ")";
    finish_call(call.done, call.method, std::move(error), options.log);
  }
}

void Peer::Impl::settle(Outcome& outcome, std::size_t passed) {
  // A protocol that wants objects as results never gets anything else from us, nor from middleware.
  const auto check_result = [&] {
    if (!rules.object_result || outcome.failed_ || outcome.notification_) return;
    const std::size_t first = outcome.result_.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && outcome.result_[first] == '{') return;
    complain(LogLevel::error, "the result of " + json::quote(outcome.method_) +
                                  " must be an object in this protocol");
    outcome.set_error(internal_error());
  };
  check_result();
  for (std::size_t i = passed; i-- > 0;) {
    const auto& after = router->middleware()[i].after;
    if (!after) continue;
    try {
      after(outcome);
    } catch (...) {
      // It may have wanted to hide or to refuse something: nothing but an error is safe to send.
      complain(LogLevel::error, detail::describe_throw("middleware after", outcome.method_,
                                                       std::current_exception()));
      outcome.set_error(internal_error());
    }
  }
  if (outcome.changed_) check_result();
}

void Peer::Impl::complain_about_notification(std::string_view method, const Error& error) {
  complain(LogLevel::warning,
           "the notification " + json::quote(method.substr(0, 200)) + " failed: " + error.message);
}

// Output.

void Peer::Impl::unreadable(const Error& error, const BatchPtr& batch) {
  complain(LogLevel::warning, "a message was refused: " + error.message);
  write_answer(&error, {}, batch, [&](json::Writer& writer) {
    if (!rules.id_on_unreadable) return;
    writer.raw_key("\"id\":");
    writer.null();
  });
}

void Peer::Impl::send_if_complete(BatchAnswers& answers, Route route) {
  if (closed || answers.dispatching || answers.waiting > 0) return;
  if (answers.text.empty()) return output.unanswered(route);
  const std::string text = std::exchange(answers.text, {});
  std::string& out = output.output();
  const std::size_t begin = out.size();
  out.push_back('[');
  out.append(text);
  out.push_back(']');
  output.finish_answer(begin, nullptr);
}

}  // namespace godwit::inline v0::rpc
