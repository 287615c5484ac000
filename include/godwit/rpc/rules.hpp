// Rules: what a dialect of JSON-RPC 2.0 allows. The defaults are the plain specification; protocols
// built on it (MCP, language servers) tighten them with a value of their own.
#pragma once

#include <cstdint>

#include "godwit/base/export.hpp"
#include "godwit/rpc/error_code.hpp"

namespace godwit::inline v0::rpc {

struct Rules {
  /// Parameters by position, as an array.
  bool array_params = true;
  /// A request whose id is null. It is answered with a null id.
  bool null_id = true;
  /// A request whose id is a number with a fraction or an exponent.
  bool fractional_id = true;
  /// Several messages in one array.
  bool batch = true;
  /// Results must be objects.
  bool object_result = false;
  /// The answer to a message whose id could not be read carries `"id":null`; without this it
  /// carries no id member at all.
  bool id_on_unreadable = true;
  /// What a request over the limit of those in flight is answered with.
  std::int64_t busy_code = code::busy;

  bool operator==(const Rules&) const = default;
};

}  // namespace godwit::inline v0::rpc
