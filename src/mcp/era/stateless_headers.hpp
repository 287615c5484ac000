// What a stateless request says a second time, in fields of its carrier (the headers of HTTP), so
// that those on the way need not read the body: the revision, the method, the name, and arguments
// that a tool's schema marks. They must agree with the body.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/view.hpp"
#include "godwit/rpc/facts.hpp"
#include "godwit/rpc/transport.hpp"

namespace godwit::inline v0::mcp {

namespace header {
inline constexpr std::string_view protocol_version = "MCP-Protocol-Version";
inline constexpr std::string_view method = "Mcp-Method";
inline constexpr std::string_view name = "Mcp-Name";
inline constexpr std::string_view param = "Mcp-Param-";  // and the name from the schema
inline constexpr std::string_view session = "Mcp-Session-Id";
}  // namespace header

/// The member of params that the name field repeats; empty if the method has none.
GODWIT_API std::string_view naming_member(std::string_view method) noexcept;

/// An argument of a tool that travels in a field, too ("x-mcp-header" in its schema).
struct ParamHeader {
  enum class Kind : std::uint8_t { string, integer, boolean };
  /// Without the prefix.
  std::string name{};
  /// Names of properties from the root of the arguments.
  std::vector<std::string> path{};
  Kind kind = Kind::string;
};
/// Those of a schema; the error says which mark is not allowed there.
GODWIT_API Result<std::vector<ParamHeader>> param_headers(json::View input_schema);

/// A value as it stands in a field: plain where it can be, else in Base64 between marks.
GODWIT_API std::string header_value(std::string_view text);
/// What the field means; nothing if it is marked as Base64 and is not.
GODWIT_API std::optional<std::string> read_header_value(std::string_view field);
/// The field of an argument; nothing if it has no value there.
GODWIT_API std::optional<std::string> param_value(const ParamHeader& header, json::View arguments);

// Why a request cannot be served; nothing if the field agrees.

GODWIT_API std::optional<Error> check_method(const rpc::HeaderFields& fields,
                                             std::string_view method);
GODWIT_API std::optional<Error> check_name(const rpc::HeaderFields& fields, std::string_view method,
                                           json::View params);
GODWIT_API std::optional<Error> check_params(const rpc::HeaderFields& fields,
                                             std::span<const ParamHeader> headers,
                                             json::View arguments);
GODWIT_API Error header_mismatch(std::string text);

}  // namespace godwit::inline v0::mcp
