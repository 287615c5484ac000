#include "godwit/mcp/session_store.hpp"

namespace godwit::inline v0 {

SessionStore::~SessionStore() = default;

}  // namespace godwit::inline v0
