// What a server can ask of a client, read and found acceptable.
#pragma once

#include <variant>

#include "godwit/mcp/elicitation.hpp"
#include "godwit/mcp/sampling.hpp"

namespace godwit::inline v0::detail::client {

struct RootsQuestion {};
using Question = std::variant<ElicitRequest, SamplingRequest, RootsQuestion>;

}  // namespace godwit::inline v0::detail::client
