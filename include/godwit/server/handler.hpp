// How a C++ function becomes a tool, a prompt or a resource: one parameter says what the arguments
// are read into, a `Context&` and a `Reply<T>` may stand beside it, the result type says how it is
// answered. Private to server.hpp; kept apart because it is all templates.
#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/json/schema_of.hpp"
#include "godwit/rpc/handler.hpp"
#include "godwit/server/outcome.hpp"
#include "godwit/server/reply.hpp"
#include "godwit/server/work.hpp"

namespace godwit::inline v0 {

using rpc::blocking;

namespace detail::server {

template <class T>
struct IsReply : std::false_type {};
template <class T>
struct IsReply<Reply<T>> : std::true_type {
  using Value = T;
};

template <class A>
concept ContextArgument = std::same_as<A, Context&>;
template <class A>
concept ReplyArgument = IsReply<std::remove_cvref_t<A>>::value;
template <class A>
concept InputArgument = !ContextArgument<A> && !ReplyArgument<A>;

/// Stands for "takes no arguments".
struct NoInput {
  bool operator==(const NoInput&) const = default;
};

/// What the arguments of a function are, taken from its signature.
template <class Arguments>
struct Shape;
template <class... A>
struct Shape<std::tuple<A...>> {
  static constexpr std::size_t inputs = (std::size_t{0} + ... + (InputArgument<A> ? 1u : 0u));
  static constexpr bool is_async = (ReplyArgument<A> || ...);

  template <class T, class... Rest>
  struct FirstInput {
    using type = typename FirstInput<Rest...>::type;
  };
  template <class T, class... Rest>
    requires InputArgument<T>
  struct FirstInput<T, Rest...> {
    using type = std::remove_cvref_t<T>;
  };
  struct None {
    using type = NoInput;
  };
  template <class... T>
  struct Pick : FirstInput<T...> {};
  template <class... T>
    requires((!InputArgument<T>) && ...)
  struct Pick<T...> : None {};
  using Input = typename Pick<A...>::type;

  template <class... T>
  struct Replied {
    using type = void;
  };
  template <class T, class... Rest>
  struct Replied<T, Rest...> {
    using type = typename Replied<Rest...>::type;
  };
  template <class T, class... Rest>
    requires ReplyArgument<T>
  struct Replied<T, Rest...> {
    using type = typename IsReply<std::remove_cvref_t<T>>::Value;
  };
  /// What an asynchronous handler answers with.
  using Late = typename Replied<A...>::type;

  template <class F>
  static decltype(auto) call(F& function, Input& input, Context& context,
                             std::shared_ptr<LateWork> late = nullptr) {
    [[maybe_unused]] const auto argument = [&]<class T>(std::type_identity<T>) -> decltype(auto) {
      if constexpr (ContextArgument<T>) {
        return (context);
      } else if constexpr (ReplyArgument<T>) {
        return std::remove_cvref_t<T>(std::move(late));
      } else if constexpr (std::is_lvalue_reference_v<T>) {
        return (input);
      } else {
        return std::move(input);
      }
    };
    return std::invoke(function, argument(std::type_identity<A>{})...);
  }
};

template <class F>
struct PlainFunction {
  using Function = F;
  static constexpr bool is_blocking = false;
};
template <class F>
struct PlainFunction<rpc::detail::Blocking<F>> {
  using Function = F;
  static constexpr bool is_blocking = true;
};

/// Everything the registration of a function needs to know about it.
template <class F>
struct HandlerTraits {
  using Plain = PlainFunction<std::decay_t<F>>;
  using Function = typename Plain::Function;
  static constexpr bool is_blocking = Plain::is_blocking;
  using Signature = rpc::detail::Signature<Function>;
  using Steps = Shape<typename Signature::Arguments>;
  using Input = typename Steps::Input;
  using Output = std::conditional_t<Steps::is_async, typename Steps::Late,
                                    BareType<typename Signature::Return>>;
  static_assert(Steps::inputs <= 1,
                "godwit: a handler takes one struct with all its arguments, and beside it a "
                "Context& or a Reply if it wants");
  static_assert(!(is_blocking && Steps::is_async),
                "godwit: a handler is either blocking or takes a Reply, not both");
  static_assert(
      !((is_blocking || Steps::is_async) && json::borrows<Input>),
      "godwit: a handler that runs elsewhere or answers later must own its arguments; use "
      "std::string and RawJson instead of std::string_view, RawView and View");
};

/// A type that a text can be read into: the arguments of prompts and the variables of templates are
/// texts.
template <class T>
consteval bool reads_text() {
  if constexpr (json::detail::Optional<T>) {
    return reads_text<json::detail::Held<T>>();
  } else {
    return json::detail::Text<T> || std::is_enum_v<T>;
  }
}

/// The arguments of a prompt, from its struct.
template <class Input>
std::vector<PromptArgument> prompt_arguments() {
  using namespace json::detail;
  std::vector<PromptArgument> arguments;
  if constexpr (std::same_as<Input, NoInput> || Dictionary<Input> || AnyJson<Input>) {
    return arguments;
  } else {
    static_assert(Struct<Input>, "godwit: a prompt takes a plain struct of its arguments");
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      static_assert((reads_text<FieldType<Input, I>>() && ...),
                    "godwit: the arguments of a prompt are texts: std::string, an enum, or a "
                    "std::optional of these");
      constexpr std::uint64_t required = required_mask<Input>();
      (arguments.push_back(PromptArgument{
           .name = std::string(wire_names<Input>[I]),
           .description = descriptions<Input>[I].about.empty()
                              ? std::nullopt
                              : std::optional<std::string>(descriptions<Input>[I].about),
           .required = (required >> I & 1) != 0}),
       ...);
    }(std::make_index_sequence<field_count<Input>>{});
    return arguments;
  }
}

/// What the struct of a resource template takes, by the names on the wire.
struct TemplateFields {
  std::vector<std::string> names{};
  std::vector<std::string> required{};
};

template <class Input>
TemplateFields template_fields() {
  using namespace json::detail;
  TemplateFields fields;
  constexpr std::uint64_t required = required_mask<Input>();
  for (std::size_t i = 0; i < field_count<Input>; ++i) {
    fields.names.emplace_back(wire_names<Input>[i]);
    if ((required >> i & 1) != 0) fields.required.emplace_back(wire_names<Input>[i]);
  }
  return fields;
}

/// The arguments as what the handler takes. If they were left out, that is an object without
/// members; a handler that takes something else than an object is told that there are none.
template <class Input>
bool read_input(json::View arguments, Input& input, json::DecodeFailure& failure) {
  using namespace json::detail;
  if constexpr (std::same_as<Input, NoInput>) {
    return !arguments || arguments.is_object() || failure.expected("an object", arguments);
  } else {
    if (arguments) return json::read(arguments, input, failure);
    if constexpr (Struct<Input>) {
      return check_required<Input>(0, failure);
    } else if constexpr (std::same_as<Input, json::Value>) {
      input = json::Object{};
      return true;
    } else if constexpr (std::same_as<Input, RawJson> || std::same_as<Input, json::RawView>) {
      input.text = "{}";
      return true;
    } else if constexpr (Dictionary<Input> || AnyObject<Input> || AnyJson<Input>) {
      return true;
    } else {
      return json::read(arguments, input, failure);
    }
  }
}

template <class F>
class FunctionHandler final : public WorkHandler {
 public:
  using Traits = HandlerTraits<F>;
  using Steps = typename Traits::Steps;
  using Input = typename Traits::Input;

  template <class G>
  explicit FunctionHandler(G&& function) {
    if constexpr (Traits::is_blocking) {
      function_ = std::make_unique<typename Traits::Function>(std::forward<G>(function).function);
    } else {
      function_ = std::make_unique<typename Traits::Function>(std::forward<G>(function));
    }
  }

  bool needs_executor() const noexcept override { return Traits::is_blocking; }

  void invoke(Work& work) const override {
    Input input{};
    json::DecodeFailure failure;
    if (!read_input(work.arguments(), input, failure)) return work.bad_arguments(failure);
    if constexpr (Traits::is_blocking) {
      Executor& executor = work.executor();
      if (std::shared_ptr<LateWork> late = work.defer()) {
        executor.execute([this, late = std::move(late), input = std::move(input)]() mutable {
          run(late->work(), input);
        });
      }
    } else if constexpr (Steps::is_async) {
      if (std::shared_ptr<LateWork> late = work.defer()) {
        Context& context = late->work().context();
        try {
          Steps::call(*function_, input, context, late);
        } catch (...) {
          late->work().threw(std::current_exception());
        }
      }
    } else {
      run(work, input);
    }
  }

 private:
  void run(Work& work, Input& input) const {
    try {
      if constexpr (std::is_void_v<typename Traits::Signature::Return>) {
        Steps::call(*function_, input, work.context());
        work.contents({});
      } else {
        deliver(work, Steps::call(*function_, input, work.context()));
      }
    } catch (...) {
      work.threw(std::current_exception());
    }
  }

  // Handlers are called through a const object by several threads; a mutable lambda is its own
  // business.
  std::unique_ptr<typename Traits::Function> function_;
};

}  // namespace detail::server
}  // namespace godwit::inline v0
