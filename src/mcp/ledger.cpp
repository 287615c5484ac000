#include "godwit/mcp/ledger.hpp"

namespace godwit::inline v0 {

Ledger::~Ledger() = default;

}  // namespace godwit::inline v0
