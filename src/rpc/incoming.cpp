#include <charconv>
#include <cstring>

#include "godwit/rpc/handler.hpp"
#include "peer_impl.hpp"

namespace godwit::inline v0::rpc {

using detail::DeferredCall;
using detail::Envelope;

/// A request or notification while its handler is on the stack.
class Peer::Impl::Incoming final : public detail::Call {
 public:
  Incoming(Impl& impl, const Envelope& envelope, const BatchPtr& batch)
      : impl_(impl),
        envelope_(envelope),
        batch_(batch),
        context_(impl.self, envelope.method, envelope.id, envelope.params, *impl.facts,
                 impl.user.get()) {}

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
    if (no_object || passed_ > 0) return end_checked();
    if (!sending_) return done();
    if (impl_.oversized(*out_, begin_, batch_ != nullptr, 1)) return fail(impl_.too_large());
    out_->push_back('}');
    done();
    impl_.commit(begin_, id_, nullptr, batch_);
  }

  void fail(Error error) override {
    if (deferred_) return deferred_->fail(std::move(error));  // it has left the stack already
    take_back();
    Outcome outcome(envelope_.method, !wants_answer(), took(), context_.label());
    outcome.failed_ = true;
    outcome.error_ = std::move(error);
    finish(outcome);
  }

  bool refuse_twins() override {
    const auto problem = detail::ambiguous_params(envelope_.params);
    if (!problem) return false;
    done();
    impl_.refuse(envelope_.id, *problem, batch_);
    return true;
  }

  std::shared_ptr<detail::InFlight> defer() override {
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
    call->label = context_.label();
    call->passed = passed_;
    if (call->id()) {
      impl_.in_flight.emplace(*call->id(), call);
      if (batch_) ++batch_->waiting;
    } else {
      impl_.notifications.insert(call);
    }
    impl_.in_flight_bytes += bytes;
    deferred_ = call;
    done();
    return call;
  }

  /// Runs the middleware that comes before the handler; false if one of them stopped the call.
  bool admit() {
    const auto& chain = impl_.router->middleware();
    if (chain.empty()) return true;
    started_ = impl_.options.clock->now();
    for (const Middleware& middleware : chain) {
      if (middleware.before) {
        if (Result<void> verdict = middleware.before(context_); !verdict) {
          fail(std::move(verdict).error());
          return false;
        }
      }
      ++passed_;
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

  void end_checked() {
    const std::string result = out_->substr(result_begin_);
    take_back();
    Outcome outcome(envelope_.method, !wants_answer(), took(), context_.label());
    if (wants_answer()) outcome.result_ = result;
    finish(outcome);
  }

  void finish(Outcome& outcome) {
    done();
    impl_.settle(outcome, passed_);
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
  std::size_t passed_ = 0;
  bool sending_ = false;
  bool done_ = false;
  std::shared_ptr<DeferredCall> deferred_;
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
  if (!handler || !handler->looks_for_twins() || !router->middleware().empty()) {
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
  const TimePoint before = options.clock->coarse();
  Incoming call(*this, envelope, batch);
  try {
    if (call.admit()) handler->invoke(call);
  } catch (...) {
    call.threw();
  }
  if (!closed) warn_if_slow(envelope.method, before);
}

}  // namespace godwit::inline v0::rpc
