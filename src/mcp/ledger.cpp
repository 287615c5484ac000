#include "godwit/mcp/ledger.hpp"

#include "godwit/mcp/error.hpp"

namespace godwit::inline v0 {

Ledger::~Ledger() = default;

Error claim_lost() {
  return Error{.code = mcp::code::claim_lost,
               .message = "the claim is not held any more: its lease ended, or it was ended before",
               .cause = Cause::in_process};
}

bool is_claim_lost(const Error& error) noexcept {
  return error.cause == Cause::in_process && error.code == mcp::code::claim_lost;
}

}  // namespace godwit::inline v0
