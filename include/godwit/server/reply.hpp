// Reply: the right, and the duty, of an asynchronous handler to answer later. Move-only; answers
// exactly once, from any thread; dropped unanswered, it answers internal_error by itself.
//
//   server.tool("query", "Runs a query", [](Query q, godwit::Reply<Rows> reply) {
//     pool.run(q, [reply = std::move(reply)](Rows rows) mutable { reply(std::move(rows)); });
//   });
#pragma once

#include <exception>
#include <memory>
#include <stop_token>
#include <utility>

#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/server/context.hpp"
#include "godwit/server/outcome.hpp"
#include "godwit/server/work.hpp"

namespace godwit::inline v0 {

template <class T = void>
class Reply {
 public:
  explicit Reply(std::shared_ptr<detail::server::LateWork> late) : late_(std::move(late)) {}
  Reply(Reply&&) noexcept = default;
  Reply& operator=(Reply&&) noexcept = default;

  /// The result or the error. A second answer through the same Reply does nothing.
  void operator()(Result<T> outcome) {
    const auto late = std::exchange(late_, nullptr);
    if (!late) return;
    try {
      detail::server::deliver(late->work(), std::move(outcome));
    } catch (...) {
      late->work().threw(std::current_exception());
    }
  }
  void operator()()
    requires std::is_void_v<T>
  {
    (*this)(Result<void>());
  }

  /// For progress, log and the rest while it is not answered.
  Context& context() { return late_->work().context(); }
  std::stop_token cancelled() const {
    return late_ ? late_->work().context().cancelled() : std::stop_token();
  }

 private:
  std::shared_ptr<detail::server::LateWork> late_;
};

}  // namespace godwit::inline v0
