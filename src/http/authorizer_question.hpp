// AuthorizerQuestion: asks a RequestAuthorizer something and hands its answer on, once, whatever
// the authorizer does: it may answer inside the call or from another thread, throw, never answer,
// or end whoever asked.
//
// Owner: whoever waits for the answer. Destroying it, also inside the call, gives the question up.
// Threads: the one that drives the loop; only the reply may come from another.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/result.hpp"
#include "godwit/http/request_authorizer.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/timer.hpp"
#include "godwit/io/wakeup.hpp"

namespace godwit::inline v0::http {

inline bool is_refusal(int status) noexcept { return status == 401 || status == 403; }

/// An error of an authorizer as the outcome of the request.
inline Error not_authorized(Error why) noexcept {
  why.cause = Cause::not_authorized;
  return why;
}
/// In a catch block: that an authorizer threw.
GODWIT_API Error authorizer_threw() noexcept;
GODWIT_API Error authorizer_too_slow(Duration limit) noexcept;
/// Why these fields of an authorizer cannot be sent, if so. `is_reserved` may name those of a
/// protocol above HTTP.
GODWIT_API std::optional<Error> mistake_in(const Fields& given,
                                           bool (*is_reserved)(std::string_view name));
/// Fields of a message that was read, for keeping.
GODWIT_API Fields kept(const FieldsView& fields);

template <class T>
class AuthorizerQuestion {
 public:
  using Taker = Function<void(Result<T>)>;

  /// An answer is waited for this long.
  AuthorizerQuestion(Loop& loop, Duration limit) : loop_(loop), limit_(limit), timer_(loop) {}
  ~AuthorizerQuestion() { drop(); }
  AuthorizerQuestion(const AuthorizerQuestion&) = delete;
  AuthorizerQuestion& operator=(const AuthorizerQuestion&) = delete;

  /// Calls `question` with a reply and a stop token. An answer inside the call goes to `take`
  /// before this returns, a later one from the loop. Throws nothing but std::bad_alloc.
  template <class Ask>
  void ask(Ask&& question, Taker take) {
    drop();
    const auto shared = std::make_shared<Shared>();
    shared_ = shared;
    shared->call(question);
    if (shared->dropped()) {  // inside the call: this may be gone
      shared->stop.request_stop();
      return;
    }
    std::optional<Result<T>> answer = shared->take_answer();
    if (!answer) answer = wait(shared, take);
    if (!answer) return;
    shared_ = nullptr;
    take(*std::move(answer));
  }

  /// Nobody waits for the answer any more. The authorizer is told from the loop.
  void drop() noexcept {
    if (const auto shared = std::exchange(shared_, nullptr)) {
      timer_.cancel();
      shared->drop();
    }
  }

 private:
  /// Shared because a reply, on any thread, may come after whoever asked is gone.
  struct Shared : std::enable_shared_from_this<Shared> {
    std::mutex mutex;
    std::optional<Result<T>> answer;
    bool closed = false;  // an answer is of no use any more
    /// Once the answer is waited for. Moved out and destroyed on the loop's thread only.
    std::unique_ptr<Wakeup> wakeup;
    Taker take;  // of the loop's thread
    std::stop_source stop;

    template <class Ask>
    void call(Ask& question) {
      try {
        question(AuthorizerReply<T>([self = this->shared_from_this()](
                                        Result<T> given) { self->put(std::move(given)); },
                                    "the authorizer dropped the request without an answer"),
                 stop.get_token());
      } catch (...) {
        const std::lock_guard lock(mutex);
        answer.emplace(authorizer_threw());
      }
    }

    void put(Result<T> given) noexcept {
      const std::lock_guard lock(mutex);
      if (closed || answer) return;
      answer.emplace(std::move(given));
      if (wakeup) wakeup->signal(this->shared_from_this());
    }

    bool dropped() noexcept {
      const std::lock_guard lock(mutex);
      return closed;
    }

    void drop() noexcept {
      const std::lock_guard lock(mutex);
      closed = true;
      if (wakeup) wakeup->signal(this->shared_from_this());
    }

    std::optional<Result<T>> take_answer() {
      const std::lock_guard lock(mutex);
      closed = answer.has_value();
      return std::exchange(answer, std::nullopt);
    }

    /// From the loop, when there is an answer or nobody waits for one.
    void run() {
      std::unique_ptr<Wakeup> over;
      std::optional<Result<T>> given;
      {
        const std::lock_guard lock(mutex);
        over = std::move(wakeup);
        if (!closed) given = std::exchange(answer, std::nullopt);
        closed = true;
      }
      Taker taker = std::exchange(take, nullptr);
      if (given) {
        taker(*std::move(given));
      } else {
        stop.request_stop();
      }
    }
  };

  /// Gives the answer if it has come meanwhile.
  std::optional<Result<T>> wait(const std::shared_ptr<Shared>& shared, Taker& take) {
    auto wakeup = std::make_unique<Wakeup>(loop_, [raw = shared.get()] { raw->run(); });
    timer_.start(limit_, [this, weak = std::weak_ptr(shared)] {
      const auto late = weak.lock();
      if (!late) return;
      late->put(authorizer_too_slow(limit_));
      late->stop.request_stop();  // the last thing here: its callbacks may end this
    });
    const std::lock_guard lock(shared->mutex);
    if (shared->answer) {
      timer_.cancel();
      shared->closed = true;
      return std::exchange(shared->answer, std::nullopt);
    }
    shared->take = [this, taker = std::move(take)](Result<T> given) mutable {
      Taker mine = std::move(taker);
      timer_.cancel();
      shared_ = nullptr;
      mine(std::move(given));
    };
    shared->wakeup = std::move(wakeup);
    return std::nullopt;
  }

  Loop& loop_;
  const Duration limit_;
  Timer timer_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace godwit::inline v0::http
