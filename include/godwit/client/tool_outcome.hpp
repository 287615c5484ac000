// What a tool answered, as the C++ type that the caller expects.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/mcp/error.hpp"
#include "godwit/mcp/tool.hpp"

namespace godwit::inline v0 {

/// All text in the content, one block per line.
GODWIT_API std::string joined_text(const ToolResult& result);

namespace detail::client {
/// The JSON that a typed call reads: the structured content, or else the first text. Also the error
/// if there is neither.
GODWIT_API Result<std::string_view> structured_text(const ToolResult& result);
GODWIT_API Error not_expected(std::string_view tool, const Error& reason);
}  // namespace detail::client

/// The result as an Out: std::string gets the joined text, ToolResult everything, void nothing but
/// success; any other type is decoded from the structured content, or from the JSON in the first
/// text where there is none. A result with isError becomes an Error (is_tool_error).
template <class Out>
Result<Out> outcome_as(std::string_view tool, ToolResult result) {
  if (result.isError.value_or(false)) return tool_error(joined_text(result));
  if constexpr (std::is_void_v<Out>) {
    return {};
  } else if constexpr (std::same_as<Out, ToolResult>) {
    return result;
  } else if constexpr (std::same_as<Out, std::string>) {
    return joined_text(result);
  } else {
    const Result<std::string_view> text = detail::client::structured_text(result);
    if (!text) return detail::client::not_expected(tool, text.error());
    Result<Out> out = json::decode<Out>(*text);
    if (!out) return detail::client::not_expected(tool, out.error());
    return out;
  }
}

}  // namespace godwit::inline v0
