// How a C++ function becomes a handler: its parameter types say how params are read, its result
// type how the answer is written. Private to router.hpp; kept apart because it is all templates.
#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "godwit/base/executor.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/rpc/context.hpp"
#include "godwit/rpc/error_code.hpp"
#include "godwit/rpc/middleware.hpp"
#include "godwit/rpc/reply.hpp"

namespace godwit::inline v0::rpc {

class Router;

namespace detail {

/// One request or notification while it is being handled, on the peer's thread.
class GODWIT_API Call {
 public:
  virtual ~Call();
  virtual json::View params() const = 0;
  /// Absent for notifications.
  virtual json::View id() const = 0;
  virtual Context& context() = 0;
  /// One of several messages that came together.
  virtual bool in_batch() const = 0;
  /// False for notifications: a result would be thrown away.
  virtual bool wants_answer() const = 0;
  /// Exactly one of: begin_result() … end_result(), fail(), or defer().
  virtual json::Writer& begin_result() = 0;
  virtual void end_result() = 0;
  virtual void fail(Error error) = 0;
  /// The result is going to be a question to the caller (Outcome::asks).
  virtual void set_asks() = 0;
  /// Refuses the whole message if a name in params occurs twice; true if it did, which has been
  /// answered then. For handlers that say looks_for_twins().
  virtual bool refuse_twins() = 0;
  /// Takes the request off the stack. Null if it had to be refused, which has been answered then.
  virtual std::shared_ptr<InFlight> defer() = 0;
  /// Keeps the handlers alive for work that runs later.
  virtual std::shared_ptr<const Router> router() const = 0;
};

class GODWIT_API Handler {
 public:
  virtual ~Handler();
  virtual void invoke(Call& call) const = 0;
  /// A message in which a name of params occurs twice is refused. Whoever reads all the names
  /// anyway says true here and calls Call::refuse_twins() where one could be hidden: after params
  /// that did not fit, and where there were names it did not know.
  virtual bool looks_for_twins() const { return false; }
  /// What a call is about, for middleware.
  virtual Subject subject(json::View params) const { return {.arguments = params}; }
};

GODWIT_API Error params_error(const json::DecodeFailure& failure);

/// Has one call operator, so that its parameters can be seen.
template <class F>
concept Callable =
    std::is_pointer_v<F> || std::is_member_function_pointer_v<F> || requires { &F::operator(); };

template <class F>
struct CallOperator {
  static_assert(Callable<F>,
                "godwit: a handler has one call operator whose parameters say what it takes; write "
                "the types out instead of auto, and wrap overloads in a lambda");
  using type = void (*)();
};
template <class F>
  requires requires { &F::operator(); }
struct CallOperator<F> {
  using type = decltype(&F::operator());
};
template <class F>
  requires std::is_member_function_pointer_v<F>
struct CallOperator<F> {
  static_assert(!std::is_member_function_pointer_v<F>,
                "godwit: a member function needs its object: wrap both in a lambda");
  using type = void (*)();
};

template <class F>
struct CallSignature;
template <class R, class... A>
struct CallSignature<R (*)(A...)> {
  using Return = R;
  using Arguments = std::tuple<A...>;
};
template <class R, class... A>
struct CallSignature<R (*)(A...) noexcept> : CallSignature<R (*)(A...)> {};
template <class C, class R, class... A>
struct CallSignature<R (C::*)(A...)> : CallSignature<R (*)(A...)> {};
template <class C, class R, class... A>
struct CallSignature<R (C::*)(A...) const> : CallSignature<R (*)(A...)> {};
template <class C, class R, class... A>
struct CallSignature<R (C::*)(A...)&> : CallSignature<R (*)(A...)> {};
template <class C, class R, class... A>
struct CallSignature<R (C::*)(A...) const&> : CallSignature<R (*)(A...)> {};
template <class C, class R, class... A>
struct CallSignature<R (C::*)(A...) noexcept> : CallSignature<R (*)(A...)> {};
template <class C, class R, class... A>
struct CallSignature<R (C::*)(A...) const noexcept> : CallSignature<R (*)(A...)> {};
template <class C, class R, class... A>
struct CallSignature<R (C::*)(A...) & noexcept> : CallSignature<R (*)(A...)> {};
template <class C, class R, class... A>
struct CallSignature<R (C::*)(A...) const & noexcept> : CallSignature<R (*)(A...)> {};

/// What a handler takes and returns: a function pointer, or an object with one call operator.
template <class F>
struct Signature : CallSignature<typename CallOperator<F>::type> {};
template <class F>
struct Signature<F*> : CallSignature<F*> {};
template <class T>
struct IsReply : std::false_type {};
template <class T>
struct IsReply<Reply<T>> : std::true_type {};

template <class T>
struct IsResult : std::false_type {};
template <class T>
struct IsResult<Result<T>> : std::true_type {};

template <class A>
concept ContextArgument = std::same_as<A, Context&>;
template <class A>
concept ReplyArgument = IsReply<std::remove_cvref_t<A>>::value;

/// The arguments that come from params, as values.
template <class... A>
using ParamTuple = decltype(std::tuple_cat(
    std::declval<std::conditional_t<ContextArgument<A> || ReplyArgument<A>, std::tuple<>,
                                    std::tuple<std::remove_cvref_t<A>>>>()...));

template <class Tuple>
struct Plan;
template <class... A>
struct Plan<std::tuple<A...>> {
  using Params = ParamTuple<A...>;
  static constexpr bool is_async = (ReplyArgument<A> || ...);
  static constexpr std::size_t params = std::tuple_size_v<Params>;

  /// Calls f with each argument from its source: the context, the reply, or the next parameter.
  template <class F>
  static decltype(auto) call(F& f, Params& values, Context& context,
                             std::shared_ptr<InFlight> request = nullptr) {
    return call_each(f, values, context, request, std::index_sequence_for<A...>{});
  }

 private:
  static constexpr std::size_t param_index(std::size_t argument) {
    constexpr bool is_param[] = {!(ContextArgument<A> || ReplyArgument<A>)..., false};
    std::size_t index = 0;
    for (std::size_t i = 0; i < argument; ++i) index += is_param[i] ? 1u : 0u;
    return index;
  }
  template <std::size_t I>
  static decltype(auto) argument(Params& values, Context& context,
                                 std::shared_ptr<InFlight>& request) {
    using Argument = std::tuple_element_t<I, std::tuple<A...>>;
    if constexpr (ContextArgument<Argument>) {
      return (context);
    } else if constexpr (ReplyArgument<Argument>) {
      return std::remove_cvref_t<Argument>(std::move(request));
    } else if constexpr (std::is_lvalue_reference_v<Argument>) {
      return (std::get<param_index(I)>(values));
    } else {
      return std::move(std::get<param_index(I)>(values));
    }
  }
  template <class F, std::size_t... I>
  static decltype(auto) call_each(F& f, Params& values, Context& context,
                                  std::shared_ptr<InFlight>& request, std::index_sequence<I...>) {
    return std::invoke(f, argument<I>(values, context, request)...);
  }
};

template <class T>
constexpr bool tuple_borrows = false;
template <class... T>
constexpr bool tuple_borrows<std::tuple<T...>> = (json::borrows<T> || ...);

/// Never an object or an array, so never the params as a whole.
template <class T>
constexpr bool is_scalar = std::same_as<T, bool> || json::detail::Whole<T> ||
                           std::floating_point<T> || json::detail::Text<T> || std::is_enum_v<T>;
template <class T>
constexpr bool is_scalar<std::optional<T>> = is_scalar<T>;

/// A single parameter without a name takes the params whole: a struct by name or by position,
/// anything else as it is.
template <class T>
bool read_whole_params(json::View params, T& out, json::DecodeFailure& failure, bool& strangers) {
  if constexpr (json::detail::Struct<T>) {
    if (!params) return json::detail::check_required<T>(0, failure);
    if (params.is_array()) {
      return json::detail::read_positional(params, out, failure);
    }
    return json::detail::read_struct(params, out, failure, &strangers);
  } else {
    return json::read(params, out, failure);
  }
}

/// Params that are one struct: reading it looks at every name.
template <class Params>
constexpr bool is_one_struct = false;
template <class T>
constexpr bool is_one_struct<std::tuple<T>> = json::detail::Struct<T>;

template <class... P>
bool read_params(json::View params, const std::vector<std::string>& names, std::tuple<P...>& out,
                 json::DecodeFailure& failure, bool& strangers) {
  constexpr std::size_t count = sizeof...(P);
  if constexpr (count == 0) {
    if (params.is_array() && params.size() > 0) return failure.expected("no parameters", params);
    return true;
  } else {
    if constexpr (count == 1 && !(is_scalar<P> || ...)) {
      if (names.empty()) return read_whole_params(params, std::get<0>(out), failure, strangers);
    }
    json::View given[count];
    if (params.is_array()) {
      if (params.size() > count) {
        return failure.expected("at most " + std::to_string(count) + " parameters", params);
      }
      std::size_t position = 0;
      for (json::View item : params.items()) given[position++] = item;
    } else if (params.is_object() && names.empty()) {
      return failure.expected("parameters by position, in an array", params);
    } else {
      for (const auto [key, value] : params.members()) {
        for (std::size_t i = 0; i < names.size(); ++i) {
          if (names[i] == key) given[i] = value;
        }
      }
    }
    const auto step = [&](std::size_t i) {
      return names.empty() ? failure.inside(i) : failure.inside(names[i]);
    };
    const auto one = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      auto& field = std::get<I>(out);
      if (given[I]) return json::read(given[I], field, failure) || step(I);
      if constexpr (json::detail::Optional<std::remove_cvref_t<decltype(field)>>) return true;
      return failure.fail("the parameter " +
                          (names.empty() ? std::to_string(I) : json::quote(names[I])) +
                          " is missing");
    };
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (one(std::integral_constant<std::size_t, I>{}) && ...);
    }(std::make_index_sequence<count>{});
  }
}

/// The params of a call as values; false if they do not fit, which has been answered then.
template <class Params>
bool take_params(Call& call, const std::vector<std::string>& names, Params& values) {
  json::DecodeFailure failure;
  bool strangers = false;
  const bool fits = read_params(call.params(), names, values, failure, strangers);
  if constexpr (is_one_struct<Params>) {
    if ((!fits || strangers) && call.refuse_twins()) return false;
  }
  if (!fits) call.fail(params_error(failure));
  return fits;
}

/// Answers with what the handler returned.
template <class T>
void answer(Call& call, T&& outcome) {
  using Out = std::remove_cvref_t<T>;
  if constexpr (IsResult<Out>::value) {
    if (!outcome) return call.fail(std::forward<T>(outcome).error());
    if constexpr (std::is_void_v<typename Out::value_type>) {
      call.begin_result().null();
      call.end_result();
    } else {
      answer(call, *std::forward<T>(outcome));
    }
  } else {
    json::write(call.begin_result(), outcome);
    call.end_result();
  }
}

template <class F>
class TypedHandler final : public Handler {
 public:
  using Sig = Signature<F>;
  using Steps = Plan<typename Sig::Arguments>;
  using Params = typename Steps::Params;
  static_assert(!(Steps::is_async && tuple_borrows<Params>),
                "godwit: a handler that answers later must own its parameters; use std::string and "
                "RawJson instead of std::string_view, RawView and View");

  TypedHandler(F function, std::vector<std::string> names)
      : function_(std::move(function)), names_(std::move(names)) {}

  bool looks_for_twins() const override { return is_one_struct<Params> && names_.empty(); }

  void invoke(Call& call) const override {
    Params values{};
    if (!take_params(call, names_, values)) return;
    if constexpr (Steps::is_async) {
      if (auto request = call.defer()) {
        Steps::call(function_, values, call.context(), std::move(request));
      }
    } else if constexpr (std::is_void_v<typename Sig::Return>) {
      Steps::call(function_, values, call.context());
      call.begin_result().null();
      call.end_result();
    } else {
      auto outcome = Steps::call(function_, values, call.context());
      answer(call, std::move(outcome));
    }
  }

 private:
  mutable F function_;
  std::vector<std::string> names_;
};

/// A function to be run on the executor.
template <class F>
struct Blocking {
  using Inner = F;
  F function;
};
template <class T>
struct IsBlocking : std::false_type {};
template <class F>
struct IsBlocking<Blocking<F>> : std::true_type {};

template <class F>
class BlockingHandler final : public Handler {
 public:
  using Sig = Signature<F>;
  using Steps = Plan<typename Sig::Arguments>;
  using Params = typename Steps::Params;
  static_assert(!tuple_borrows<Params>,
                "godwit: a blocking handler must own its parameters; use std::string and RawJson "
                "instead of std::string_view, RawView and View");
  static_assert(!Steps::is_async,
                "godwit: a handler is either blocking or takes a Reply, not both");

  BlockingHandler(F function, std::vector<std::string> names, Executor& executor)
      : function_(std::move(function)), names_(std::move(names)), executor_(executor) {}

  bool looks_for_twins() const override { return is_one_struct<Params> && names_.empty(); }

  void invoke(Call& call) const override {
    Params values{};
    if (!take_params(call, names_, values)) return;
    auto request = call.defer();
    if (!request) return;
    using Return = typename Sig::Return;
    using Answer = typename std::conditional_t<IsResult<Return>::value, Return,
                                               std::type_identity<Result<Return>>>;
    using Value = typename Unwrap<Answer>::type;
    // The Reply is captured, not made inside: work that the executor drops unrun is answered, too.
    executor_.execute([this, router = call.router(), values = std::move(values), request,
                       reply = Reply<Value>(request)]() mutable {
      Context context(request);
      try {
        if (request->cancelled().stop_requested()) {
          reply(Error{.code = code::internal_error, .message = "Internal error: cancelled"});
        } else if constexpr (std::is_void_v<Return>) {
          Steps::call(function_, values, context);
          reply();
        } else {
          reply(Steps::call(function_, values, context));
        }
      } catch (...) {
        request->threw(std::current_exception());
      }
    });
  }

 private:
  template <class T>
  struct Unwrap {
    using type = typename T::type::value_type;
  };
  template <class T>
  struct Unwrap<Result<T>> {
    using type = T;
  };

  mutable F function_;
  std::vector<std::string> names_;
  Executor& executor_;
};

}  // namespace detail

/// Marks a handler that may take long or wait: it runs on the Router's executor, so it never holds
/// up another call of the same connection.
template <class F>
detail::Blocking<std::decay_t<F>> blocking(F&& function) {
  return {std::forward<F>(function)};
}

}  // namespace godwit::inline v0::rpc
