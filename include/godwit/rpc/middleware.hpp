// Middleware: code that runs around calls. It sees a call before its handler does, may answer it
// instead, at once or later, and sees how it ended, with the right to change that.
//
//   struct Span { … };                                             // one for each call
//   router.use<Span>({.before = [&](rpc::IncomingCall& call, Span& span) -> rpc::Verdict {
//                       span.begin(call.method(), call.name());
//                       return {};                                 // go on; or return an error
//                     },
//                     .after = [&](rpc::Outcome& outcome, Span& span) {
//                       span.end(outcome.error() == nullptr);
//                     }});
//
// It runs around every call and notification that has a handler: once for each, also if the handler
// asks the caller something in between, is blocking, or answers later. The first one added is the
// outermost. `after` runs exactly once for each call that its own `before` let through, however
// that ends.
//
// Threads: both run on the thread of the peer. Many peers share a Router, so several may run at the
// same time.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "godwit/base/clock.hpp"
#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/view.hpp"
#include "godwit/rpc/context.hpp"
#include "godwit/rpc/facts.hpp"
#include "godwit/rpc/id.hpp"

namespace godwit::inline v0::rpc {

class Peer;

namespace detail {
class DeferredCall;
struct Letter;

/// What a call is about, in the words of the protocol that its handler speaks.
struct Subject {
  std::string_view name{};
  json::View arguments{};
  bool continues = false;
};
}  // namespace detail

/// What is to become of a call.
class GODWIT_API Verdict {
 public:
  /// It goes on.
  Verdict() noexcept = default;
  /// It ends here, and this is its answer.
  Verdict(Error error) : kind_(Kind::failed), error_(std::move(error)) {}
  /// It goes on, or ends with the error.
  Verdict(Result<void> outcome) {
    if (!outcome) *this = Verdict(std::move(outcome).error());
  }
  /// It ends here with this result, given as JSON text, which must be valid. A notification just
  /// ends.
  static Verdict answer(std::string json) {
    Verdict verdict;
    verdict.kind_ = Kind::answered;
    verdict.result_ = std::move(json);
    return verdict;
  }
  bool goes_on() const noexcept { return kind_ == Kind::goes_on; }

 private:
  friend class Peer;
  friend class Decision;
  enum class Kind : std::uint8_t { goes_on, answered, failed };
  Kind kind_ = Kind::goes_on;
  std::string result_{};
  Error error_{};
};

/// The right, and the duty, to say later what is to become of a call. Move-only, any thread.
/// Dropped unsaid, the call fails with internal_error; if the call is over by then, because it was
/// cancelled or its connection closed, nothing happens.
class GODWIT_API Decision {
 public:
  Decision(Decision&&) noexcept;
  Decision& operator=(Decision&&) noexcept;
  ~Decision();

  /// The call goes on, or ends, on the thread of its peer. A second time does nothing.
  void operator()(Verdict verdict) noexcept;
  /// Stops when the call is cancelled or its connection closes.
  std::stop_token cancelled() const;

 private:
  friend class IncomingCall;
  friend class Peer;
  Decision() noexcept;
  Decision(std::shared_ptr<detail::DeferredCall> call,
           std::unique_ptr<detail::Letter> letter) noexcept;
  void drop() noexcept;

  std::shared_ptr<detail::DeferredCall> call_;
  std::unique_ptr<detail::Letter> letter_;
};

/// A call as `before` sees it. All views are good until that returns.
class GODWIT_API IncomingCall {
 public:
  IncomingCall(const IncomingCall&) = delete;
  IncomingCall& operator=(const IncomingCall&) = delete;

  std::string_view method() const noexcept { return context_.method(); }
  /// What is called by the method, if the protocol has such a thing: a tool, a file. Else empty.
  std::string_view name() const noexcept { return subject_.name; }
  /// Nothing for a notification.
  std::optional<Id> id() const { return Id::from(id_); }
  bool is_notification() const noexcept { return !id_; }
  json::View params() const noexcept { return context_.params(); }
  /// The part of params that is for what name() names; all of them if there is no such part.
  json::View arguments() const noexcept { return subject_.arguments; }
  /// This request goes on with an earlier one, whose answer was a question to the caller.
  bool continues() const noexcept { return subject_.continues; }
  /// Who sent it, and by which way it came.
  const Facts& facts() const noexcept { return context_.facts(); }
  const Identity* identity() const noexcept { return facts().identity.get(); }
  /// What the handler gets: to tell the peer something, for what the program attached to the
  /// connection.
  Context& context() noexcept { return context_; }
  operator Context&() noexcept { return context_; }

  /// Takes the call off the stack. From now on the Decision says what becomes of it, not what
  /// `before` returns. If too many requests are in flight the call is refused as busy, and the
  /// Decision changes nothing.
  Decision decide_later() { return pauser_.pause(); }

 private:
  friend class Peer;
  class Pauser {
   public:
    virtual Decision pause() = 0;

   protected:
    ~Pauser() = default;
  };
  IncomingCall(Context& context, json::View id, const detail::Subject& subject,
               Pauser& pauser) noexcept
      : context_(context), id_(id), subject_(subject), pauser_(pauser) {}

  Context& context_;
  json::View id_;
  const detail::Subject& subject_;
  Pauser& pauser_;
};

/// How a call ended, as `after` sees it: just before it is sent, and with the right to change it.
class GODWIT_API Outcome {
 public:
  Outcome(const Outcome&) = delete;
  Outcome& operator=(const Outcome&) = delete;

  // The call, as IncomingCall had it.

  std::string_view method() const noexcept { return method_; }
  std::string_view name() const noexcept { return name_; }
  std::optional<Id> id() const { return kept_id_ ? *kept_id_ : Id::from(id_); }
  bool is_notification() const noexcept { return notification_; }
  bool continues() const noexcept { return continues_; }
  const Facts& facts() const noexcept { return *facts_; }
  const Identity* identity() const noexcept { return facts_->identity.get(); }

  /// From the arrival of the request to now.
  Duration took() const noexcept { return took_; }
  /// Nobody waits for it any more: the caller took it back, or the connection closed. error() says
  /// which; nothing is sent.
  bool is_cancelled() const noexcept { return cancelled_; }
  /// The result is a question to the caller, who is to send the request again with the answer.
  bool asks() const noexcept { return asks_ && !failed_ && !changed_; }
  /// nullptr if it went well.
  const Error* error() const noexcept { return failed_ ? &error_ : nullptr; }
  /// JSON text of the result; empty for errors and notifications.
  std::string_view result() const noexcept { return failed_ ? std::string_view() : result_; }

  /// Replaces what is sent. The text must be valid JSON.
  void set_result(std::string json);
  void set_error(Error error);

 private:
  friend class Peer;
  Outcome(std::string_view method, json::View id, const std::optional<Id>* kept_id,
          const detail::Subject& subject, const Facts& facts, Duration took) noexcept
      : method_(method),
        name_(subject.name),
        id_(id),
        kept_id_(kept_id),
        facts_(&facts),
        took_(took),
        continues_(subject.continues),
        notification_(kept_id ? !*kept_id : !id) {}

  std::string_view method_;
  std::string_view name_;
  json::View id_;
  const std::optional<Id>* kept_id_;  // in place of it; may be null
  const Facts* facts_;
  Duration took_;
  bool continues_;
  bool notification_;
  bool cancelled_ = false;
  bool asks_ = false;
  bool failed_ = false;
  bool changed_ = false;
  Error error_{};
  std::string_view result_{};
  std::string replacement_{};
};

/// Two functions around a call. Either may be left out.
struct Middleware {
  /// Before the handler. If it throws, the call fails with internal_error.
  std::function<Verdict(IncomingCall&)> before{};
  /// When the outcome of a call that `before` let through is known; also of one that is cancelled
  /// or whose connection closes, with an error that is not sent. If it throws, the outcome becomes
  /// internal_error: what it wanted to hide is not known.
  std::function<void(Outcome&)> after{};
};

/// The same with a state of its own for each call: made as `State{}` before `before`, destroyed
/// after `after`. It moves if the call leaves the stack in between, so references to it are good
/// only within the two. The states of all middleware of a router together take 256 bytes of a call
/// without an allocation; those that are larger cost one.
template <class State>
struct MiddlewareWith {
  std::function<Verdict(IncomingCall&, State&)> before{};
  std::function<void(Outcome&, State&)> after{};
};

namespace detail {

/// One middleware as the Router keeps it.
class GODWIT_API Layer {
 public:
  virtual ~Layer();
  virtual Verdict before(IncomingCall& call, void* state) const = 0;
  virtual void after(Outcome& outcome, void* state) const = 0;
  virtual std::size_t state_size() const noexcept { return 0; }
  virtual void make_state(void*) const {}
  virtual void move_state(void*, void*) const noexcept {}
  virtual void drop_state(void*) const noexcept {}
};

template <class State>
class LayerWith final : public Layer {
 public:
  static_assert(std::is_nothrow_move_constructible_v<State> &&
                    std::is_default_constructible_v<State>,
                "godwit: the state of middleware is made as State{} and moves without throwing; "
                "keep what cannot in a std::unique_ptr");
  static_assert(alignof(State) <= alignof(std::max_align_t),
                "godwit: the state of middleware must not be over-aligned");

  explicit LayerWith(MiddlewareWith<State> functions) : functions_(std::move(functions)) {}

  Verdict before(IncomingCall& call, void* state) const override {
    return functions_.before ? functions_.before(call, *static_cast<State*>(state)) : Verdict();
  }
  void after(Outcome& outcome, void* state) const override {
    if (functions_.after) functions_.after(outcome, *static_cast<State*>(state));
  }
  std::size_t state_size() const noexcept override { return sizeof(State); }
  void make_state(void* at) const override { ::new (at) State{}; }
  void move_state(void* from, void* to) const noexcept override {
    ::new (to) State(std::move(*static_cast<State*>(from)));
    drop_state(from);
  }
  void drop_state(void* at) const noexcept override { static_cast<State*>(at)->~State(); }

 private:
  MiddlewareWith<State> functions_;
};

}  // namespace detail
}  // namespace godwit::inline v0::rpc
