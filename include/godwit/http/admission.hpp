// Admission: who may send a request, decided by its head, before anything of its body is read. The
// decision may take its time: until it is made the request waits where it is.
//
//   struct Tokens final : http::Admission {
//     void decide(const http::Request& head, http::Decision& decision) override {
//       const auto token = head.fields.find("Authorization");
//       if (!token) return decision.refuse({.status = 401, .fields = {{"WWW-Authenticate", …}}});
//       if (const auto known = cache.find(*token)) return decision.admit({.identity = *known});
//       verify(std::string(*token), [late = decision.later()](Verdict verdict) mutable { … });
//     }
//   };
//
// Owner: whoever asks owns the Decision, which is good during the call; whoever decides later owns
// the LateDecision, which any thread may use. Threads of decide(): those that serve, all at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/http/fields.hpp"
#include "godwit/http/request.hpp"
#include "godwit/http/response.hpp"

namespace godwit::inline v0::rpc {
struct Identity;
}

namespace godwit::inline v0::http {

/// What was found out about a request that is let in.
struct Admitted {
  /// Who sent it; null if nobody in particular. HTTP carries it and never looks inside; what an
  /// Identity is stands in godwit/rpc/identity.hpp.
  std::shared_ptr<const rpc::Identity> identity{};
  /// Fields for the response, whatever it will be. HttpServer adds them itself, and shows none here
  /// to on_request(); on_upgrade() has to add them, since it answers by itself.
  Fields fields{};
};

/// What came out of it.
struct Outcome {
  enum class Kind : std::uint8_t {
    /// Nothing yet.
    undecided,
    /// Whoever gets the whole request decides.
    passed,
    admitted,
    refused,
  };
  Kind kind = Kind::undecided;
  Admitted admitted{};
  /// The answer, if it is refused.
  Response refusal{};
};

namespace detail {
struct LateState;
}

/// A decision that is still to be made. The first call counts; what comes after it, or after the
/// client or the server went away, is ignored. One that is destroyed without a call refuses with
/// 500. Any thread.
class GODWIT_API LateDecision {
 public:
  ~LateDecision();
  LateDecision(LateDecision&&) noexcept;
  LateDecision& operator=(LateDecision&&) noexcept;

  void admit(Admitted who = {}) noexcept;
  void refuse(Response answer) noexcept;

 private:
  friend class Decision;
  explicit LateDecision(std::shared_ptr<detail::LateState> state) noexcept;
  void decide(Outcome outcome) noexcept;
  std::shared_ptr<detail::LateState> state_;
};

/// The same as whoever asked sees it. Destroying it ends the waiting.
class GODWIT_API PendingDecision {
 public:
  PendingDecision() noexcept;
  ~PendingDecision();
  PendingDecision(PendingDecision&&) noexcept;
  PendingDecision& operator=(PendingDecision&&) noexcept;
  explicit operator bool() const noexcept { return state_ != nullptr; }

  /// `wake` is called when the decision is made: once, from any thread, never after this is
  /// destroyed. It must neither block nor throw. False if the decision is there already; then it is
  /// not called.
  [[nodiscard]] bool wait(Function<void()> wake);
  /// The outcome, undecided if there is none yet.
  Outcome take() noexcept;

 private:
  friend class Decision;
  explicit PendingDecision(std::shared_ptr<detail::LateState> state) noexcept;
  void abandon() noexcept;
  std::shared_ptr<detail::LateState> state_;
};

/// One request that is to be decided about. The first call counts. If there is none before decide()
/// returns, and later() was not called, the request is answered with 500.
class GODWIT_API Decision {
 public:
  Decision();
  ~Decision();
  Decision(const Decision&) = delete;
  Decision& operator=(const Decision&) = delete;

  // For whoever decides.

  /// Lets the request in: Host, Origin and sender are in order.
  void admit(Admitted who = {}) noexcept;
  /// Answers it with this. What follows of it is not read.
  void refuse(Response answer) noexcept;
  /// Nothing is known about it yet: whoever gets the whole request looks at it.
  void pass() noexcept;
  /// It is decided later.
  LateDecision later();

  // For those who pass the question on.

  /// Host and Origin were looked at and are in order (Access).
  bool access_checked() const noexcept { return access_checked_; }
  void set_access_checked() noexcept { access_checked_ = true; }
  /// Fields that a refusal carries besides its own, such as those that let a web page read it.
  void set_refusal_fields(Fields fields) { refusal_fields_ = std::move(fields); }

  // For whoever asked.

  /// The outcome, undecided if there is none yet.
  Outcome& outcome() noexcept { return outcome_; }
  /// What to wait for, if it is decided later.
  PendingDecision pending() noexcept;

 private:
  Outcome outcome_;
  Fields refusal_fields_;
  std::shared_ptr<detail::LateState> late_;
  bool access_checked_ = false;
};

/// Fields of an answer that an admission may have to say something by. Web pages of other origins
/// may read them where the rest is open to them (CORS).
inline constexpr std::string_view admission_fields = "WWW-Authenticate, DPoP-Nonce";

class GODWIT_API Admission {
 public:
  virtual ~Admission();
  /// Says whether the request may pass, now or later. The head is good during the call. Called once
  /// for each request, with no body. What it throws is answered with 500.
  virtual void decide(const Request& head, Decision& decision) = 0;
};

/// One that is a function of the program.
template <class F>
  requires std::is_invocable_v<F&, const Request&, Decision&>
std::shared_ptr<Admission> make_admission(F decide) {
  struct ByFunction final : Admission {
    explicit ByFunction(F function) : function_(std::move(function)) {}
    void decide(const Request& head, Decision& decision) override { function_(head, decision); }
    F function_;
  };
  return std::make_shared<ByFunction>(std::move(decide));
}

}  // namespace godwit::inline v0::http
