// What a handler may return, and how each kind is answered. Private to the server's templates.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/json/schema_of.hpp"
#include "godwit/server/work.hpp"

namespace godwit::inline v0 {

/// Bytes, as the contents of a resource.
struct Blob {
  std::string bytes{};
};

namespace detail::server {

template <class T>
struct Bare {
  using type = T;
};
template <class T>
struct Bare<Result<T>> {
  using type = T;
};
/// A Result's value type, or the type itself.
template <class T>
using BareType = typename Bare<std::remove_cvref_t<T>>::type;

template <class T>
concept TextLike = std::convertible_to<const T&, std::string_view>;

template <class T>
concept ContentLike = std::same_as<T, Content> || std::same_as<T, TextContent> ||
                      std::same_as<T, ImageContent> || std::same_as<T, AudioContent> ||
                      std::same_as<T, ResourceLink> || std::same_as<T, EmbeddedResource>;

template <class T>
concept PageLike =
    std::same_as<T, ToolPage> || std::same_as<T, PromptPage> || std::same_as<T, ResourcePage>;

template <class T>
struct AsksToo : std::false_type {};
template <class T>
struct AsksToo<std::variant<InputRequired, T>> : std::true_type {
  using Value = T;
};
template <class T>
struct AsksToo<std::variant<T, InputRequired>> : std::true_type {
  using Value = T;
};

/// What a handler returns, as far as it decides who may return it. `object` and `value` have a JSON
/// form; a `value` is certainly no object.
enum class Returned : std::uint8_t {
  nothing,
  questions,
  text,
  content,
  tool_result,
  prompt_messages,
  resource_contents,
  page,
  value,
  object
};

template <class T>
consteval Returned returned() {
  using namespace json::detail;
  if constexpr (AsksToo<T>::value) {
    return returned<typename AsksToo<T>::Value>();
  } else if constexpr (std::is_void_v<T>) {
    return Returned::nothing;
  } else if constexpr (std::same_as<T, InputRequired>) {
    return Returned::questions;
  } else if constexpr (TextLike<T>) {
    return Returned::text;
  } else if constexpr (ContentLike<T> || std::same_as<T, std::vector<Content>>) {
    return Returned::content;
  } else if constexpr (std::same_as<T, ToolResult>) {
    return Returned::tool_result;
  } else if constexpr (std::same_as<T, PromptResult> || std::same_as<T, PromptMessage> ||
                       std::same_as<T, std::vector<PromptMessage>>) {
    return Returned::prompt_messages;
  } else if constexpr (std::same_as<T, ReadResult> || std::same_as<T, Blob> ||
                       std::convertible_to<T, ResourceContents> ||
                       std::same_as<T, std::vector<ResourceContents>>) {
    return Returned::resource_contents;
  } else if constexpr (PageLike<T>) {
    return Returned::page;
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> ||
                       (Sequence<T> && !AnyObject<T>)) {
    return Returned::value;
  } else {
    return Returned::object;
  }
}

template <class T>
consteval bool tool_may_return() {
  return returned<T>() != Returned::prompt_messages &&
         returned<T>() != Returned::resource_contents && returned<T>() != Returned::page;
}
template <class T>
consteval bool prompt_may_return() {
  constexpr Returned what = returned<T>();
  return what == Returned::nothing || what == Returned::questions || what == Returned::text ||
         what == Returned::content || what == Returned::prompt_messages;
}
template <class T>
consteval bool resource_may_return() {
  constexpr Returned what = returned<T>();
  return what == Returned::questions || what == Returned::text ||
         what == Returned::resource_contents;
}
template <class T>
consteval bool method_may_return() {
  constexpr Returned what = returned<T>();
  return what == Returned::nothing || what == Returned::questions ||
         what == Returned::tool_result || what == Returned::object;
}

/// Does a tool that returns this have structured results?
template <class T>
consteval bool is_structured() {
  return returned<T>() == Returned::value || returned<T>() == Returned::object;
}

/// The output schema of a tool that returns this; empty if there is none.
template <class T>
std::string output_schema() {
  if constexpr (AsksToo<T>::value) {
    return output_schema<typename AsksToo<T>::Value>();
  } else if constexpr (!is_structured<T>() || json::detail::AnyJson<T>) {
    return {};
  } else {
    return json::schema_of<T>().dump();
  }
}

/// Answers with what a handler returned.
template <class T>
void deliver(Work& work, T&& outcome) {
  using Out = std::remove_cvref_t<T>;
  if constexpr (rpc::detail::IsResult<Out>::value) {
    if (!outcome) return work.fail(std::forward<T>(outcome).error());
    if constexpr (std::is_void_v<typename Out::value_type>) {
      work.contents({});
    } else {
      deliver(work, *std::forward<T>(outcome));
    }
  } else if constexpr (AsksToo<Out>::value) {
    std::visit([&](auto&& one) { deliver(work, std::forward<decltype(one)>(one)); },
               std::forward<T>(outcome));
  } else if constexpr (std::same_as<Out, InputRequired>) {
    work.ask(outcome);
  } else if constexpr (TextLike<Out>) {
    work.text(outcome);
  } else if constexpr (ContentLike<Out>) {
    work.contents({Content(std::forward<T>(outcome))});
  } else if constexpr (std::same_as<Out, std::vector<Content>>) {
    work.contents(outcome);
  } else if constexpr (std::same_as<Out, ToolResult>) {
    work.result(outcome);
  } else if constexpr (std::same_as<Out, PromptResult>) {
    work.prompt(outcome);
  } else if constexpr (std::same_as<Out, PromptMessage>) {
    work.prompt(PromptResult{.messages = {std::forward<T>(outcome)}});
  } else if constexpr (std::same_as<Out, std::vector<PromptMessage>>) {
    work.prompt(PromptResult{.messages = std::forward<T>(outcome)});
  } else if constexpr (std::same_as<Out, ReadResult>) {
    work.read(outcome);
  } else if constexpr (std::convertible_to<Out, ResourceContents>) {
    work.read(ReadResult{.contents = {ResourceContents(std::forward<T>(outcome))}});
  } else if constexpr (std::same_as<Out, std::vector<ResourceContents>>) {
    work.read(ReadResult{.contents = std::forward<T>(outcome)});
  } else if constexpr (PageLike<Out>) {
    work.page(ListPage(std::forward<T>(outcome)));
  } else if constexpr (std::same_as<Out, Blob>) {
    work.blob(outcome.bytes);
  } else {
    std::string& json = work.scratch();
    json.clear();
    json::Writer writer(json);
    json::write(writer, outcome);
    work.structured(json);
  }
}

}  // namespace detail::server
}  // namespace godwit::inline v0
