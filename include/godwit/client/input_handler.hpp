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
  InputReply(const rpc::Poster& poster, Deliver deliver, std::stop_token stop)
      : core_(std::make_shared<Core>(Core{std::move(deliver), std::move(stop)})),
        post_(poster, [core = core_] { core->deliver(std::move(core->outcome)); }) {}
  InputReply(InputReply&&) noexcept = default;
  InputReply& operator=(InputReply&& other) noexcept {
    if (this != &other) {
      drop();
      core_ = std::move(other.core_);
      post_ = std::move(other.post_);
    }
    return *this;
  }
  ~InputReply() { drop(); }

  /// The answer, or why there is none. A second one does nothing.
  void operator()(Result<T> outcome) {
    const auto core = std::exchange(core_, nullptr);
    if (!core) return;
    core->outcome = std::move(outcome);
    post_();
  }

  /// Stops when nobody waits for the answer any more.
  std::stop_token cancelled() const { return core_ ? core_->stop : std::stop_token(); }

 private:
  struct Core {
    Deliver deliver;
    std::stop_token stop;
    Result<T> outcome = Error{};
  };

  void drop() noexcept {
    if (!core_) return;
    operator()(or_out_of_memory(
        [] { return error("Internal error: the question was dropped unanswered"); }));
  }

  std::shared_ptr<Core> core_;
  rpc::PreparedPost post_;  // there before it is needed: an answer can always be given
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
