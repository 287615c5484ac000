#include "godwit/mcp/change_bus.hpp"

namespace godwit::inline v0 {

ChangeBus::~ChangeBus() = default;
ChangeBus::Subscription::~Subscription() = default;

}  // namespace godwit::inline v0
