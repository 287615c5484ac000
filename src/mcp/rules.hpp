// The profile of JSON-RPC 2.0 that MCP is spoken in.
#pragma once

#include <string>

#include "godwit/rpc/error_code.hpp"
#include "godwit/rpc/id.hpp"
#include "godwit/rpc/rules.hpp"

namespace godwit::inline v0::mcp {

/// Batches are allowed later, if that is what was agreed on.
inline rpc::Rules profile() {
  return rpc::Rules{.array_params = false,
                    .null_id = false,
                    .fractional_id = false,
                    .batch = false,
                    .object_result = true,
                    .id_on_unreadable = false,
                    .busy_code = rpc::code::internal_error};
}

/// Takes back a request, in either direction.
struct CancelledParams {
  rpc::Id requestId{};
  std::string reason{};
};

}  // namespace godwit::inline v0::mcp
