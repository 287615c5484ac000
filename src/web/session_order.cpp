#include "session_order.hpp"

#include "http_session.hpp"
#include "session_census.hpp"

namespace godwit::inline v0::detail::web {

namespace {

/// Fewer bytes are not worth a session.
constexpr std::size_t many_bytes = 4u << 10;

}  // namespace

SessionOrder::Place::Place(Endpoint::Impl& endpoint, const IpAddress& client, HttpSession* session)
    : endpoint_(endpoint), client_(client) {
  endpoint_.census->add(client_, endpoint_.shard);
  try {
    if (session) {
      mine_ = &endpoint_.order->clients_[client_];
      in_ = &mine_->light;
      at_ = in_->insert(in_->end(), session);
    }
  } catch (...) {
    endpoint_.census->remove(client_, endpoint_.shard);
    throw;
  }
  ++endpoint_.session_count;
}

SessionOrder::Place::~Place() {
  keeps(0);
  --endpoint_.session_count;
  endpoint_.census->remove(client_, endpoint_.shard);
  if (!mine_) return;
  in_->erase(at_);
  if (mine_->light.empty() && mine_->heavy.empty() && mine_->aside.empty()) {
    endpoint_.order->clients_.erase(client_);
  }
}

void SessionOrder::Place::keeps(std::size_t bytes) noexcept {
  const std::size_t now = bytes >= many_bytes ? bytes : 0;
  if (now == heavy_bytes_) return;
  try {
    if (now > 0) endpoint_.byte_census->add(client_, endpoint_.shard, now);
  } catch (...) {  // no memory for a moment; it is counted the next time
    return;
  }
  if (heavy_bytes_ > 0) endpoint_.byte_census->remove(client_, endpoint_.shard, heavy_bytes_);
  heavy_bytes_ = now;
  used();
}

HttpSession* SessionOrder::first_idle(Client& of, Sessions& among) noexcept {
  while (!among.empty()) {
    HttpSession* const session = among.front();
    if (session->idle()) return session;
    session->place()->move_to(of.aside);
  }
  return nullptr;
}

HttpSession* SessionOrder::oldest_idle(const IpAddress& client) noexcept {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return nullptr;
  HttpSession* const light = first_idle(found->second, found->second.light);
  HttpSession* const heavy = first_idle(found->second, found->second.heavy);
  if (!light || !heavy) return light ? light : heavy;
  return light->last_used() < heavy->last_used() ? light : heavy;
}

HttpSession* SessionOrder::oldest_heavy(const IpAddress& client) noexcept {
  const auto found = clients_.find(client);
  return found == clients_.end() ? nullptr : first_idle(found->second, found->second.heavy);
}

}  // namespace godwit::inline v0::detail::web
