// Reply: the right, and the duty, to answer one request later. Move-only; answers exactly once,
// from any thread; dropped unanswered, it answers internal_error by itself. If the connection is
// gone by then the answer is thrown away.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/rpc/facts.hpp"
#include "godwit/rpc/id.hpp"
#include "godwit/rpc/transport.hpp"

namespace godwit::inline v0::rpc {

namespace detail {

/// A request that left the stack: shared by the peer, which may cancel it, and by whoever answers
/// it.
class GODWIT_API InFlight {
 public:
  virtual ~InFlight();
  /// The first of these wins; later ones do nothing. Any thread.
  virtual void answer(std::string result) = 0;
  /// The result is a question to the caller (Outcome::asks).
  virtual void ask(std::string question) = 0;
  virtual void fail(Error error) = 0;
  /// The handler threw: internal_error for the peer, the text of the exception for the log only.
  virtual void threw(std::exception_ptr exception) noexcept = 0;
  /// Sends a complete message on the way to the answer. Any thread.
  virtual void send(std::string message) = 0;
  virtual std::stop_token cancelled() const = 0;
  /// False once it has an answer, or none would be sent. Any thread.
  virtual bool wanted() const noexcept = 0;
  /// Stops the handler's token; it may still answer. Any thread.
  virtual void request_stop() = 0;
  virtual std::string_view method() const = 0;
  /// Nothing if it is a notification.
  virtual const std::optional<Id>& id() const noexcept = 0;
  bool is_notification() const { return !id(); }
  /// Who sent it, and by which way it came.
  virtual const Facts& facts() const noexcept = 0;
  virtual void* user() const = 0;
  /// The way the request came and its answer goes.
  virtual Route route() const = 0;
  /// Whether its answer travels with those of other requests.
  virtual bool in_batch() const noexcept = 0;
};

}  // namespace detail

template <class T = void>
class Reply {
 public:
  explicit Reply(std::shared_ptr<detail::InFlight> request) : request_(std::move(request)) {}
  Reply(Reply&&) noexcept = default;
  Reply& operator=(Reply&& other) noexcept {
    if (this != &other) {
      drop();
      request_ = std::move(other.request_);
    }
    return *this;
  }
  ~Reply() { drop(); }

  /// The result or the error. A second answer through the same Reply does nothing. If writing the
  /// result as JSON throws, the answer is internal_error and the exception goes to the log.
  void operator()(Result<T> outcome) {
    const auto request = std::exchange(request_, nullptr);
    if (!request) return;
    try {
      if (!outcome) {
        request->fail(std::move(outcome).error());
      } else if constexpr (std::is_void_v<T>) {
        request->answer("null");
      } else {
        request->answer(json::encode(*outcome));
      }
    } catch (...) {  // a result that cannot be written must not leave the caller waiting
      request->threw(std::current_exception());
    }
  }
  void operator()()
    requires std::is_void_v<T>
  {
    (*this)(Result<void>());
  }

  /// Stops when the request is cancelled or its connection closes.
  std::stop_token cancelled() const { return request_ ? request_->cancelled() : std::stop_token(); }

 private:
  void drop() noexcept {
    if (const auto request = std::exchange(request_, nullptr)) {
      try {
        request->fail(Error{.message = "Internal error: the request was dropped unanswered"});
      } catch (...) {  // no memory for the words
        request->threw(std::current_exception());
      }
    }
  }

  std::shared_ptr<detail::InFlight> request_;
};

}  // namespace godwit::inline v0::rpc
