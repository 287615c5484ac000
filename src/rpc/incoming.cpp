#include <charconv>
#include <cstring>

#include "godwit/rpc/handler.hpp"
#include "peer_impl.hpp"

namespace godwit::inline v0::rpc {

using detail::DeferredCall;
using detail::end_of_call;
using detail::Envelope;

/// A request or notification while its handler is on the stack.
class Peer::Impl::Incoming final : public detail::Call {
 public:
  Incoming(Impl& impl, const Envelope& envelope, const BatchPtr& batch)
      : impl_(impl),
        envelope_(envelope),
        batch_(batch),
        context_(*impl.self, envelope.method, envelope.id, envelope.params, *impl.facts,
                 impl.user.get()) {}
  /// The same for one that middleware held, with what the layers before that know of it.
  Incoming(Impl& impl, const Envelope& envelope, const BatchPtr& batch, DeferredCall& held)
      : Incoming(impl, envelope, batch) {
    started_ = held.started;
    held.states->move_to(states_);
    states_.pass();
  }
  ~Incoming() override {
    // Without memory for an answer. Those who let the call through are told all the same.
    if (states_.passed() > 0) abandon();
  }

  json::View params() const override { return envelope_.params; }
  json::View id() const override { return envelope_.id; }
  Context& context() override { return context_; }
  bool in_batch() const override { return batch_ != nullptr; }
  bool wants_answer() const override { return envelope_.kind == Envelope::Kind::request; }
  std::shared_ptr<const Router> router() const override { return impl_.router; }

  json::Writer& begin_result() override {
    sending_ = wants_answer() && !impl_.closed;  // the handler may have closed the connection
    if (!sending_) {
      impl_.scratch.clear();
      out_ = &impl_.scratch;
      begin_ = 0;
    } else {
      out_ = &impl_.target(batch_);
      begin_ = open(*out_, batch_ != nullptr);
      append_head(*out_);
    }
    result_begin_ = out_->size();
    return writer_.emplace(*out_);
  }

  void end_result() override {
    if (writer_->lossy()) {
      impl_.complain(LogLevel::warning,
                     "the result of " + json::quote(envelope_.method.substr(0, 200)) +
                         " held text or numbers that JSON cannot carry; they were replaced");
    }
    if (sending_ && impl_.closed) return fail(connection_closed("the connection is closed"));
    const bool no_object = impl_.rules.object_result && (*out_)[result_begin_] != '{';
    if (no_object || states_.passed() > 0) return end_checked();
    if (!sending_) return done();
    if (impl_.oversized(*out_, begin_, batch_ != nullptr, 1)) return fail(impl_.too_large());
    out_->push_back('}');
    done();
    impl_.commit(begin_, id_, nullptr, batch_);
  }

  void fail(Error error) override {
    if (deferred_) return deferred_->fail(std::move(error));  // it has left the stack already
    take_back();
    Outcome outcome = this->outcome();
    outcome.failed_ = true;
    outcome.error_ = std::move(error);
    finish(outcome);
  }

  void set_asks() override { asks_ = true; }

  bool refuse_twins() override {
    const auto problem = detail::ambiguous_params(envelope_.params);
    if (!problem) return false;
    done();
    impl_.refuse(envelope_.id, *problem, batch_);
    return true;
  }

  std::shared_ptr<detail::InFlight> defer() override {
    const DeferredPtr call = make_deferred();
    if (!call) return nullptr;
    enter(call);
    move_states(*call);
    return call;
  }

  /// Asks the middleware that comes before the handler; false if one of them stopped or held the
  /// call.
  bool admit(const detail::Handler& handler) {
    const Router& router = *impl_.router;
    if (router.layers().empty()) return true;
    if (!started_) started_ = impl_.options.clock->now();
    subject_ = handler.subject(envelope_.params);
    Pauser pauser(*this);
    IncomingCall call(context_, envelope_.id, subject_, pauser);
    while (states_.passed() < router.layers().size()) {
      const detail::Layer& layer = *router.layers()[states_.passed()].layer;
      Verdict verdict = layer.before(call, states_.open(router));
      if (held_) {
        hold();
        return false;
      }
      if (done_) return false;  // there was no room to hold it
      if (!verdict.goes_on()) {
        states_.drop_open();
        end(std::move(verdict));
        return false;
      }
      states_.pass();
      if (impl_.closed) {
        fail(connection_closed("the connection is closed"));
        return false;
      }
    }
    return true;
  }

  /// May throw itself if there is not even memory for an error: then nobody answers.
  void threw() {
    const std::exception_ptr exception = std::current_exception();
    if (held_) hold();
    states_.drop_open();
    if (deferred_) return deferred_->threw(exception);
    impl_.complain(LogLevel::error,
                   detail::describe_throw("the handler of", envelope_.method, exception));
    if (done_) std::rethrow_exception(exception);  // while its answer was being sent
    fail(internal_error());
  }

 private:
  /// Everything before the result, in one append if the id is a plain number, as it mostly is.
  void append_head(std::string& out) {
    constexpr std::string_view before = R"({"jsonrpc":"2.0","id":)";
    constexpr std::string_view after = R"(,"result":)";
    const auto number = envelope_.id.is_real() ? std::nullopt : envelope_.id.as_int64();
    if (!number) {
      out.append(before);
      id_.begin = out.size();
      json::Writer writer(out);
      write_id(writer, envelope_.id);
      id_.end = out.size();
      out.append(after);
      return;
    }
    id_.begin = out.size() + before.size();
    char head[before.size() + 20 + after.size()];
    std::memcpy(head, before.data(), before.size());
    char* end = std::to_chars(head + before.size(), head + sizeof head, *number).ptr;
    std::memcpy(end, after.data(), after.size());
    id_.end = out.size() + static_cast<std::size_t>(end - head);
    out.append(head, static_cast<std::size_t>(end - head) + after.size());
  }

  Duration took() const { return started_ ? impl_.options.clock->now() - *started_ : Duration(0); }

  void take_back() {
    if (out_ && !impl_.closed) out_->resize(begin_);  // closed, the output may be gone
    out_ = nullptr;
  }

  /// Apart from the output, where middleware may put messages of its own.
  void end_checked() {
    std::string result = std::move(impl_.seen_result);
    result.assign(*out_, result_begin_);
    take_back();
    Outcome outcome = this->outcome();
    outcome.asks_ = asks_;
    if (wants_answer()) outcome.result_ = result;
    finish(outcome);
    if (result.capacity() <= most_reused) impl_.seen_result = std::move(result);
  }

  /// Middleware answers.
  void end(Verdict verdict) {
    if (verdict.kind_ == Verdict::Kind::failed) return fail(std::move(verdict.error_));
    Outcome outcome = this->outcome();
    if (wants_answer()) outcome.result_ = verdict.result_;
    finish(outcome);
  }

  Outcome outcome() const {
    return Outcome(envelope_.method, envelope_.id, nullptr, subject_, context_.facts(), took());
  }

  void finish(Outcome& outcome) {
    done();
    impl_.settle(outcome, states_);
    if (impl_.closed) return;
    if (wants_answer()) {
      impl_.answer(envelope_.id, outcome.error(), outcome.result(), batch_);
    } else if (outcome.failed_) {
      impl_.complain_about_notification(envelope_.method, outcome.error_);
    }
  }

  void done() noexcept {
    done_ = true;
    out_ = nullptr;
  }

  void abandon() noexcept {
    Outcome outcome = this->outcome();
    outcome.failed_ = true;
    outcome.error_.code = code::internal_error;
    impl_.settle(outcome, states_);
  }

  // Leaving the stack.

  /// What the call is while it is in flight; null if there are too many, which has been answered
  /// then.
  DeferredPtr make_deferred() {
    const std::size_t bytes = envelope_.params.source().size() + impl_.facts_bytes();
    if (auto error = impl_.overload(bytes)) {
      fail(*std::move(error));
      return nullptr;
    }
    std::optional<Id> id;
    if (wants_answer()) id = Id::from(envelope_.id);
    auto call = std::make_shared<DeferredCall>(impl_.mailbox, std::string(envelope_.method),
                                               std::move(id), impl_.options.in_flight_bytes, bytes);
    call->log = impl_.options.log;
    call->user_ = impl_.user;
    call->facts_ = impl_.kept_facts();
    call->route_ = impl_.route;
    call->batch = batch_;
    call->started = started_ ? *started_ : impl_.options.clock->now();
    if (!states_.empty()) {
      call->name = subject_.name;
      call->continues = subject_.continues;
      call->router = impl_.router;
      call->own_states = std::make_unique<detail::CallStates>();
    }
    return call;
  }

  void enter(const DeferredPtr& call) {
    if (call->id()) {
      impl_.in_flight.emplace(*call->id(), call);
      if (batch_) ++batch_->waiting;
    } else {
      impl_.notifications.insert(call);
    }
    impl_.in_flight_bytes += call->bytes.size();
    deferred_ = call;
    done();
  }

  void move_states(DeferredCall& call) noexcept {
    if (!call.own_states) return;
    states_.move_to(*call.own_states);
    call.states = call.own_states.get();
  }

  class Pauser final : public IncomingCall::Pauser {
   public:
    explicit Pauser(Incoming& call) : call_(call) {}
    Decision pause() override { return call_.pause(); }

   private:
    Incoming& call_;
  };

  /// A `before` wants to decide later. Its state stays where it is until that returns.
  Decision pause() {
    if (done_) return Decision();
    const DeferredPtr call = make_deferred();
    if (!call) return Decision();
    const std::string_view id = envelope_.id.source();
    call->held_message.append("[").append(wants_answer() ? id : "null").append(",");
    call->held_message.append(envelope_.params ? envelope_.params.source() : "null").append("]");
    call->has_params = static_cast<bool>(envelope_.params);
    auto letter = std::make_unique<detail::Letter>();
    enter(call);
    call->states = &states_;
    held_ = true;
    return Decision(call, std::move(letter));
  }

  /// That `before` has returned.
  void hold() {
    held_ = false;
    DeferredCall& call = *deferred_;
    move_states(call);
    if (call.goes_on) return impl_.resume(deferred_);
    if (call.taken_back()) call.states->drop_open();
  }

  Impl& impl_;
  const Envelope& envelope_;
  const BatchPtr& batch_;
  Context context_;
  std::optional<json::Writer> writer_;
  std::string* out_ = nullptr;  // where a result has been begun
  std::size_t begin_ = 0;
  IdPlace id_;
  std::size_t result_begin_ = 0;
  std::optional<TimePoint> started_;
  bool sending_ = false;
  bool done_ = false;
  bool asks_ = false;
  bool held_ = false;  // by the `before` that is on the stack
  DeferredPtr deferred_;
  detail::Subject subject_;
  detail::CallStates states_;
};

void Peer::Impl::dispatch(const Envelope& envelope, const BatchPtr& batch) {
  const bool request = envelope.kind == Envelope::Kind::request;
  if (request && !in_flight.empty() && in_flight.contains(*Id::from(envelope.id))) {
    // Not answered under that id: it would end the first request's wait with the wrong answer.
    return unreadable(invalid_request("the id " + Id::from(envelope.id)->text().substr(0, 100) +
                                      " is in use by a request that is not answered yet"),
                      batch);
  }
  const detail::Handler* handler = router ? router->find(envelope.method) : nullptr;
  // Middleware must not see a message that is going to be refused.
  if (!handler || !handler->looks_for_twins() || !router->layers().empty()) {
    if (const auto problem = detail::ambiguous_params(envelope.params)) {
      return refuse(envelope.id, *problem, batch);
    }
  }
  if (!handler) {
    if (request) {
      const Error error = method_not_found(envelope.method);
      return answer(envelope.id, &error, {}, batch);
    }
    return complain(LogLevel::debug, "a notification nobody handles: " +
                                         json::quote(envelope.method.substr(0, 200)));
  }
  Incoming call(*this, envelope, batch);
  handle(call, *handler, envelope.method);
}

void Peer::Impl::handle(Incoming& call, const detail::Handler& handler, std::string_view method) {
  const TimePoint before = options.clock->coarse();
  try {
    if (call.admit(handler)) handler.invoke(call);
  } catch (...) {
    call.threw();
  }
  if (!closed) warn_if_slow(method, before);
}

namespace {

/// A message that was handled, within its limits, before.
Result<json::View> parse_again(json::Document& document, std::string_view text) {
  return document.parse(text, json::ParseOptions{.depth = 100'000, .number_chars = 0});
}

}  // namespace

void Peer::Impl::resume(const DeferredPtr& call) {
  if (call->states != call->own_states.get()) {  // its `before` is on the stack
    call->goes_on = true;
    return;
  }
  if (!forget(call)) return;
  const Resuming scope(*this, call->facts_);
  json::Document own;
  Envelope envelope;
  const detail::Handler* handler = router->find(call->method());
  try {
    const json::View message = parse_again(own, call->held_message).value();
    envelope.kind = call->id() ? Envelope::Kind::request : Envelope::Kind::notification;
    envelope.method = call->method();
    auto part = message.items().begin();
    if (call->id()) envelope.id = *part;
    if (call->has_params) envelope.params = *++part;
  } catch (...) {
    options.log.caught("a request that was held could not go on");
    return finish(*call, end_of_call(code::internal_error, Cause::unspecified,
                                     [] { return internal_error().message; }));
  }
  {
    Incoming incoming(*this, envelope, call->batch, *call);
    handle(incoming, *handler, call->method());
  }
  if (!closed && call->id() && call->batch) {
    --call->batch->waiting;
    send_if_complete(*call->batch);
  }
  if (scope.outermost()) handle_waiting();
}

}  // namespace godwit::inline v0::rpc
