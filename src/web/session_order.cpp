#include "session_order.hpp"

#include "http_session.hpp"
#include "session_census.hpp"

namespace godwit::inline v0::detail::web {

SessionOrder::Place::Place(Endpoint::Impl& endpoint, const IpAddress& client, HttpSession* session)
    : endpoint_(endpoint), client_(client) {
  endpoint_.census->add(client_, endpoint_.shard);
  try {
    if (session) {
      mine_ = &endpoint_.order->clients_[client_];
      at_ = mine_->waiting.insert(mine_->waiting.end(), session);
    }
  } catch (...) {
    endpoint_.census->remove(client_, endpoint_.shard);
    throw;
  }
  ++endpoint_.session_count;
}

SessionOrder::Place::~Place() {
  --endpoint_.session_count;
  endpoint_.census->remove(client_, endpoint_.shard);
  if (!mine_) return;
  (aside_ ? mine_->aside : mine_->waiting).erase(at_);
  if (mine_->waiting.empty() && mine_->aside.empty()) endpoint_.order->clients_.erase(client_);
}

HttpSession* SessionOrder::oldest_idle(const IpAddress& client) noexcept {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return nullptr;
  Client& of = found->second;
  while (!of.waiting.empty()) {
    HttpSession* const session = of.waiting.front();
    if (session->idle()) return session;
    session->place()->aside_ = true;
    of.aside.splice(of.aside.end(), of.waiting, of.waiting.begin());
  }
  return nullptr;
}

}  // namespace godwit::inline v0::detail::web
