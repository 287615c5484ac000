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

#include "godwit/base/executor.hpp"
#include "godwit/base/export.hpp"
#include "godwit/rpc/context.hpp"
#include "godwit/rpc/handler.hpp"
#include "godwit/rpc/middleware.hpp"

namespace godwit::inline v0::rpc {

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

  /// Runs it around every call that has a handler. The first one added is the outermost. Before
  /// the first connection.
  Router& use(Middleware middleware);
  template <class State>
  Router& use(MiddlewareWith<State> middleware) {
    return add_layer(std::make_unique<detail::LayerWith<State>>(std::move(middleware)));
  }

  /// The handler of a method, the fallback, or nullptr.
  const detail::Handler* find(std::string_view method) const;
  /// The middleware with the places of their states, of which all together need the bytes of the
  /// last one's end.
  struct Wrapped {
    std::unique_ptr<detail::Layer> layer{};
    std::size_t state_begin = 0;
    std::size_t state_end = 0;
  };
  const std::vector<Wrapped>& layers() const noexcept { return layers_; }
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
  Router& add_layer(std::unique_ptr<detail::Layer> layer);

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };

  Executor* executor_;
  std::unordered_map<std::string, HandlerPtr, Hash, std::equal_to<>> handlers_;
  HandlerPtr fallback_;
  std::vector<Wrapped> layers_;
};

}  // namespace godwit::inline v0::rpc
