#include "godwit/mcp/sealer.hpp"

namespace godwit::inline v0 {

Sealer::~Sealer() = default;

}  // namespace godwit::inline v0
