#include "godwit/mcp/event_store.hpp"

namespace godwit::inline v0 {

EventStore::~EventStore() = default;

}  // namespace godwit::inline v0
