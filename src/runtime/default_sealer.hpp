// The sealer of servers that were given none: a random key of this process.
#pragma once

#include "godwit/mcp/service.hpp"

namespace godwit::inline v0::detail::runtime {

/// Gives the service one, unless it has one or needs none.
void ensure_sealer(Service& service);

}  // namespace godwit::inline v0::detail::runtime
