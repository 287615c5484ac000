// The sealer of servers that were given none: a random key of this process.
#pragma once

#include "godwit/server/server.hpp"

namespace godwit::inline v0::detail::runtime {

/// Gives the server one, unless it has one.
void ensure_sealer(Server& server);

}  // namespace godwit::inline v0::detail::runtime
