// InputHandler: how a program answers what a server asks of it (a form, a url, a message from a
// model). Takes a plain function that returns the answer, or one that is handed an InputReply and
// answers when it likes.
//
//   options.elicit = [](const ElicitRequest& ask) -> Result<ElicitResult> { … };
//   options.elicit = [](const ElicitRequest& ask, InputReply<ElicitResult> reply) { … };
//
// Threads: called on the thread of the session's peer. An InputReply may be used on any.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/result.hpp"
#include "godwit/rpc/peer.hpp"

namespace godwit::inline v0 {

/// The right, and the duty, to answer once. Move-only; any thread; dropped unanswered, it answers
/// with an error by itself.
template <class T>
class InputReply {
 public:
  using Deliver = Function<void(Result<T>)>;

  /// Made by the session: `deliver` runs on the peer's thread.
  InputReply(rpc::Poster poster, Deliver deliver, std::stop_token stop)
      : core_(
            std::make_unique<Core>(Core{std::move(poster), std::move(deliver), std::move(stop)})) {}
  InputReply(InputReply&&) noexcept = default;
  InputReply& operator=(InputReply&& other) noexcept {
    if (this != &other) {
      drop();
      core_ = std::move(other.core_);
    }
    return *this;
  }
  ~InputReply() { drop(); }

  /// The answer, or why there is none. A second one does nothing.
  void operator()(Result<T> outcome) {
    if (const auto core = std::exchange(core_, nullptr)) post(*core, std::move(outcome));
  }

  /// Stops when nobody waits for the answer any more.
  std::stop_token cancelled() const { return core_ ? core_->stop : std::stop_token(); }

 private:
  struct Core {
    rpc::Poster poster;
    Deliver deliver;
    std::stop_token stop;
  };

  static void post(Core& core, Result<T> outcome) {
    core.poster([deliver = std::move(core.deliver), outcome = std::move(outcome)]() mutable {
      deliver(std::move(outcome));
    });
  }
  void drop() noexcept {
    if (const auto core = std::exchange(core_, nullptr)) {
      try {
        post(*core, Error{.message = "Internal error: the question was dropped unanswered"});
      } catch (...) {  // no memory for the answer: whoever waits sees a timeout instead
      }
    }
  }

  std::unique_ptr<Core> core_;
};

template <class Request, class Answer>
class InputHandler {
 public:
  using Reply = InputReply<Answer>;

  /// Nothing is offered.
  InputHandler() = default;
  InputHandler(std::nullptr_t) {}
  template <class F>
    requires(std::is_invocable_v<F&, const Request&, Reply>)
  InputHandler(F function) : call_(std::move(function)) {}
  template <class F>
    requires(!std::is_invocable_v<F&, const Request&, Reply> &&
             std::is_invocable_r_v<Result<Answer>, F&, const Request&>)
  InputHandler(F function)
      : call_([f = std::move(function)](const Request& request, Reply reply) mutable {
          reply(f(request));
        }) {}

  explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  void operator()(const Request& request, Reply reply) const { call_(request, std::move(reply)); }

 private:
  std::function<void(const Request&, Reply)> call_;
};

}  // namespace godwit::inline v0
