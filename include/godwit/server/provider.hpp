// Providers: tools, prompts and resources that are computed for each caller and page by page,
// beside those that a server was given one by one.
//
//   server.tools(
//       [&](godwit::PageQuery page, godwit::Context& cx) -> godwit::Result<godwit::ToolPage> {
//         return database.tools_of(cx.identity(), page.cursor);
//       },
//       [&](godwit::ToolCall call, godwit::Context& cx) -> godwit::Result<godwit::ToolResult> {
//         if (!database.has(call.name)) return godwit::not_found(call.name);
//         return database.run(call.name, call.arguments, cx.identity());
//       });
//
// Both functions are handlers like others: plain, blocking(), or asynchronous with a Reply<T>. One
// that does not know a name returns not_found(name): then the next provider is asked, and at last
// the call is answered as one of something unknown. What a server was given by name comes first in
// lists, and wins in calls.
//
// Lists are made for the caller who asks and marked so; a cursor is good only for the caller who
// got it. If a provider fails, so does the page of the list that needs it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "godwit/base/clock.hpp"
#include "godwit/json/raw_json.hpp"
#include "godwit/json/view.hpp"
#include "godwit/mcp/prompt.hpp"
#include "godwit/mcp/resource.hpp"
#include "godwit/mcp/tool.hpp"
#include "godwit/rpc/facts.hpp"

namespace godwit::inline v0 {

/// Which page of a list is wanted.
struct PageQuery {
  /// What the provider gave as `next` with the page before; nothing for the first one. A client
  /// could make one up.
  std::optional<std::string> cursor{};
};

struct ToolPage {
  /// An input schema that is left out is that of any object.
  std::vector<Tool> tools{};
  /// Where the next page begins, in any words of the provider; nothing if this is the last one.
  std::optional<std::string> next{};
};
struct PromptPage {
  std::vector<Prompt> prompts{};
  std::optional<std::string> next{};
};
struct ResourcePage {
  std::vector<Resource> resources{};
  std::optional<std::string> next{};
};

/// A call of a tool or prompt. A struct of your own with these two fields does as well, with
/// arguments of your own type.
struct ToolCall {
  std::string name{};
  RawJson arguments{};
};
using PromptCall = ToolCall;
/// The same for plain handlers, without a copy.
struct ToolCallView {
  std::string_view name{};
  json::View arguments{};
};
struct ResourceRead {
  std::string uri{};
};

struct ProviderOptions {
  /// Of tools: the schema that the arguments for this name must fit, checked before the provider is
  /// called; an empty text if it checks them itself. On the connection's thread.
  std::function<RawJson(std::string_view name, const rpc::Facts& facts)> input_schema{};
  /// For blocking and asynchronous functions, as ToolOptions::timeout.
  std::optional<Duration> timeout{};
};

namespace detail::server {
using ListPage = std::variant<ToolPage, PromptPage, ResourcePage>;
}  // namespace detail::server
}  // namespace godwit::inline v0
