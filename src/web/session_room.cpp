// Room for new sessions. A bound on sessions that only refuses would let one client lock out all
// others for as long as sessions live, so at a bound an idle session gives way: at the share of an
// address the one of that address that was used longest ago, at the bound of the process one of the
// address that has most. Its client is told 404 and begins a new one.
//
// Sessions live on several threads. A thread ends one of its own; if it has none to end, it asks
// the thread that has most of them to do so, and lets the new session in meanwhile. So the bounds
// may be exceeded by one session for each thread, and not by more.
#include "endpoint_impl.hpp"
#include "godwit/rpc/error_code.hpp"
#include "http_session.hpp"
#include "relay.hpp"
#include "session_census.hpp"
#include "session_order.hpp"
#include "wire.hpp"

namespace godwit::inline v0 {

using detail::web::HttpSession;

namespace {

/// Addresses that are looked at for an idle session, those that have most first.
constexpr std::size_t most_looked_at = 64;

}  // namespace

IpAddress Endpoint::Impl::client_of(const http::Request& request) const {
  return options.proxies.client_of(request).value_or(IpAddress{}).owner();
}

bool Endpoint::Impl::give_way(HttpSession* session) noexcept {
  if (!session) return false;
  session->end(HttpSession::End::over);
  end(*session);
  return true;
}

bool Endpoint::Impl::end_oldest(const IpAddress& client) noexcept {
  return give_way(order->oldest_idle(client));
}

bool Endpoint::Impl::end_oldest_of_heaviest() {
  for (const IpAddress& client : census->heaviest(most_looked_at)) {
    if (end_oldest(client)) return true;
  }
  return false;
}

bool Endpoint::Impl::too_many_bytes() const noexcept {
  // The last part of the bytes is for those who come.
  const std::size_t most = limits.process_session_bytes;
  return service.session_bytes() > most - most / 8;
}

/// One that keeps many bytes gives way, of whoever keeps most.
void Endpoint::Impl::free_bytes() {
  if (!too_many_bytes()) return;
  const std::vector<IpAddress> heaviest = byte_census->heaviest(most_looked_at);
  for (const IpAddress& client : heaviest) {
    if (give_way(order->oldest_heavy(client))) return;
  }
  for (const IpAddress& client : heaviest) {
    const auto other = group ? byte_census->elsewhere(client, shard) : std::nullopt;
    if (!other) continue;
    return run_at(*other, [client](Impl& there) {
      if (there.too_many_bytes()) there.give_way(there.order->oldest_heavy(client));
    });
  }
}

/// Has another endpoint do something, on its thread.
void Endpoint::Impl::run_at(std::size_t other, Function<void(Impl&)> work) {
  group->members[other].loop->post([group = group, other, work = std::move(work)]() mutable {
    Impl* const there = group->members[other].endpoint;
    if (!there) return;  // the loop runs on after the server
    const Entered entered(*there);
    try {
      work(*there);
    } catch (...) {
      there->log.caught("no room could be made for a session");
    }
  });
}

bool Endpoint::Impl::has_room(const http::Request& request, json::View message,
                              http::Exchange& exchange) {
  free_bytes();
  const IpAddress client = client_of(request);
  // Clients without an address, on a unix socket or another HTTP stack, are not one client.
  const bool share_is_full =
      client != IpAddress{} && census->count(client) >= limits.sessions_per_address;
  if (!share_is_full && session_count.all() < limits.sessions) return true;
  if (make_room(client, share_is_full)) return true;
  if (share_is_full) {
    refuse(request, exchange, 429,
           detail::web::busy("your address has too many sessions, and none of them is idle"),
           detail::web::retry_later(), message);
  } else {
    refuse(request, exchange, 503,
           detail::web::busy("there are too many sessions, and none of them is idle"),
           detail::web::retry_later(), message);
  }
  return false;
}

bool Endpoint::Impl::makes_room(const IpAddress& client) {
  free_bytes();
  const bool share_is_full =
      client != IpAddress{} && census->count(client) >= limits.sessions_per_address;
  return (!share_is_full && session_count.all() < limits.sessions) ||
         make_room(client, share_is_full);
}

bool Endpoint::Impl::make_room(const IpAddress& client, bool share_is_full) {
  IpAddress whose = client;
  if (!share_is_full) {
    const auto heaviest = census->heaviest(1);
    if (heaviest.empty()) return false;  // there may be none at all
    whose = heaviest.front();
  }
  if (end_oldest(whose)) return true;
  const auto other = group ? census->elsewhere(whose, shard) : std::nullopt;
  if (other) {
    const std::size_t ahead = group->members.size();
    const bool let_in =
        session_count.all() < limits.sessions + ahead &&
        (!share_is_full || census->count(client) < limits.sessions_per_address + ahead);
    run_at(*other, [whose, share_is_full, let_in](Impl& there) {
      const std::size_t most =
          share_is_full ? there.limits.sessions_per_address : there.limits.sessions;
      const std::size_t now =
          share_is_full ? there.census->count(whose) : there.session_count.all();
      // Whoever was refused needs no room. Whoever was let in may not be counted yet.
      if (let_in ? now < most : now <= most) return;
      if (!there.end_oldest(whose) && !share_is_full) there.end_oldest_of_heaviest();
    });
    if (let_in) return true;
  }
  return !share_is_full && end_oldest_of_heaviest();
}

}  // namespace godwit::inline v0
