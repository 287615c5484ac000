// Router: which function answers which method. Filled once, then shared by any number of peers on
// any threads, so handlers of several connections may run at the same time.
//
//   rpc::Router router;
//   router.on("subtract", {"minuend", "subtrahend"}, [](int a, int b) { return a - b; });
//   router.on("forecast", [](Weather in) -> Result<Forecast> { … });         // by name or by
//   position router.on("slow", rpc::blocking([](Query q) { return scan(q); }));       // on the
//   executor router.on("later", [](Query q, rpc::Reply<Rows> reply) { … });           // answered
//   when you like
//
// Parameters: one struct takes params by name or, from an array, by position; named arguments do
// the same; arguments without names come by position, but a single one that can be an object or an
// array takes params whole. A `rpc::Context&` may stand anywhere among them. Results: anything with
// a JSON form, a Result of it, or void (answered with null).
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "godwit/base/clock.hpp"
#include "godwit/base/error.hpp"
#include "godwit/base/executor.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/rpc/context.hpp"
#include "godwit/rpc/handler.hpp"

namespace godwit::inline v0::rpc {

/// How a call ended, as middleware sees it: just before it is sent, and with the right to change
/// it.
class GODWIT_API Outcome {
 public:
  Outcome(std::string_view method, bool notification, Duration took,
          std::string_view label = {}) noexcept
      : method_(method), label_(label), notification_(notification), took_(took) {}
  Outcome(const Outcome&) = delete;
  Outcome& operator=(const Outcome&) = delete;

  std::string_view method() const noexcept { return method_; }
  /// What middleware said about the call (Context::set_label); empty if nothing.
  std::string_view label() const noexcept { return label_; }
  bool is_notification() const noexcept { return notification_; }
  /// Nobody waits for it any more: the caller took it back, or the connection closed. error() says
  /// which; nothing is sent.
  bool is_cancelled() const noexcept { return cancelled_; }
  /// From the arrival of the request to now.
  Duration took() const noexcept { return took_; }
  /// nullptr if it went well.
  const Error* error() const noexcept { return failed_ ? &error_ : nullptr; }
  /// JSON text of the result; empty for errors and notifications.
  std::string_view result() const noexcept { return failed_ ? std::string_view() : result_; }

  /// Replaces what is sent. The text must be valid JSON.
  void set_result(std::string json);
  void set_error(Error error);

 private:
  friend class Peer;
  std::string_view method_;
  std::string_view label_;
  bool notification_;
  Duration took_;
  bool cancelled_ = false;
  bool failed_ = false;
  bool changed_ = false;
  Error error_{};
  std::string_view result_{};
  std::string replacement_{};
};

/// Runs around every call and notification that has a handler, also around those answered late.
struct Middleware {
  /// Before the handler. An error stops the call and is its answer.
  std::function<Result<void>(Context&)> before{};
  /// Once per call that `before` let through, when its outcome is known, on the peer's thread; also
  /// for one that is cancelled or whose connection closes, with an error that is not sent. If it
  /// throws, the outcome becomes internal_error.
  std::function<void(Outcome&)> after{};
};

class GODWIT_API Router {
 public:
  /// Blocking handlers run on `executor`, which must outlive the router and every peer on it.
  explicit Router(Executor* executor = nullptr) : executor_(executor) {}
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;
  ~Router();

  /// Binds a function or lambda. A method that is bound already is replaced. Throws
  /// std::invalid_argument for names that JSON-RPC reserves ("rpc.…"), and for blocking handlers if
  /// there is no executor.
  template <class F>
  Router& on(std::string method, F&& function) {
    return add(std::move(method), make_handler(std::forward<F>(function), {}));
  }
  /// The same with names for the arguments, in order. Throws std::invalid_argument if their number
  /// does not fit.
  template <class F>
  Router& on(std::string method, std::initializer_list<std::string_view> names, F&& function) {
    return add(std::move(method),
               make_handler(std::forward<F>(function),
                            std::vector<std::string>(names.begin(), names.end())));
  }
  /// Binds a member function of an object, which must outlive the router.
  template <class O, class C, class M>
  Router& on(std::string method, O& object, M C::* function) {
    return add(std::move(method), bind_member(object, function, {}));
  }
  template <class O, class C, class M>
  Router& on(std::string method, std::initializer_list<std::string_view> names, O& object,
             M C::* function) {
    return add(std::move(method),
               bind_member(object, function, std::vector<std::string>(names.begin(), names.end())));
  }

  /// Handles methods that nothing else does; Context::method() tells which.
  template <class F>
    requires(!std::convertible_to<F, std::unique_ptr<detail::Handler>>)
  Router& fallback(F&& function) {
    fallback_ = make_handler(std::forward<F>(function), {});
    return *this;
  }

  /// The same for a handler made by hand: how a protocol with a method table of its own gets all.
  Router& fallback(std::unique_ptr<detail::Handler> handler) {
    fallback_ = std::move(handler);
    return *this;
  }

  /// The first one added is the outermost.
  Router& use(Middleware middleware);

  /// The handler of a method, the fallback, or nullptr.
  const detail::Handler* find(std::string_view method) const;
  const std::vector<Middleware>& middleware() const noexcept { return middleware_; }
  /// All bound methods, sorted.
  std::vector<std::string> methods() const;

 private:
  using HandlerPtr = std::unique_ptr<detail::Handler>;

  template <class F>
  HandlerPtr make_handler(F&& function, std::vector<std::string> names) {
    using Callable = std::decay_t<F>;
    if constexpr (detail::IsBlocking<Callable>::value) {
      using Inner = typename Callable::Inner;
      check_names(names.size(), detail::BlockingHandler<Inner>::Steps::params);
      return std::make_unique<detail::BlockingHandler<Inner>>(std::forward<F>(function).function,
                                                              std::move(names), require_executor());
    } else {
      check_names(names.size(), detail::TypedHandler<Callable>::Steps::params);
      return std::make_unique<detail::TypedHandler<Callable>>(std::forward<F>(function),
                                                              std::move(names));
    }
  }

  template <class O, class C, class R, class... A>
  HandlerPtr bind_member(O& object, R (C::*function)(A...), std::vector<std::string> names) {
    return make_handler(
        [&object, function](A... args) -> R {
          return (object.*function)(std::forward<A>(args)...);
        },
        std::move(names));
  }
  template <class O, class C, class R, class... A>
  HandlerPtr bind_member(O& object, R (C::*function)(A...) const, std::vector<std::string> names) {
    return make_handler(
        [&object, function](A... args) -> R {
          return (object.*function)(std::forward<A>(args)...);
        },
        std::move(names));
  }

  static void check_names(std::size_t names, std::size_t params);
  Executor& require_executor() const;
  Router& add(std::string method, HandlerPtr handler);

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };

  Executor* executor_;
  std::unordered_map<std::string, HandlerPtr, Hash, std::equal_to<>> handlers_;
  HandlerPtr fallback_;
  std::vector<Middleware> middleware_;
};

}  // namespace godwit::inline v0::rpc
