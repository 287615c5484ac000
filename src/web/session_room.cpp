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
#include "server/session.hpp"
#include "session_census.hpp"
#include "session_order.hpp"
#include "wire.hpp"

namespace godwit::inline v0 {

using detail::web::HttpSession;

namespace {

/// Addresses that are looked at for an idle session, those that have most first.
constexpr std::size_t most_looked_at = 64;
/// Fewer bytes are not worth a session.
constexpr std::size_t worth_ending = 4u << 10;

}  // namespace

IpAddress Endpoint::Impl::client_of(const http::Request& request) const {
  return options.proxies.client_of(request).value_or(IpAddress{}).owner();
}

bool Endpoint::Impl::end_oldest(const IpAddress& client, std::size_t least_bytes) {
  HttpSession* const session = order->oldest_idle(client);
  if (!session || session->kept_bytes() < least_bytes) return false;
  session->end();
  end(*session);
  return true;
}

bool Endpoint::Impl::end_oldest_of_heaviest(std::size_t least_bytes) {
  for (const IpAddress& client : census->heaviest(most_looked_at)) {
    if (end_oldest(client, least_bytes)) return true;
  }
  return false;
}

bool Endpoint::Impl::has_room(const http::Request& request, json::View message,
                              http::Exchange& exchange) {
  // The last part of the bytes is for those who come: one that keeps many gives way.
  const std::size_t most_bytes = limits.process_session_bytes;
  if (server.session_bytes() > most_bytes - most_bytes / 8) end_oldest_of_heaviest(worth_ending);

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
    group->members[*other].loop->post([group = group, to = *other, whose, share_is_full] {
      Impl* const there = group->members[to].endpoint;
      if (!there) return;  // the loop runs on after the server
      const Entered entered(*there);
      try {
        if (!there->end_oldest(whose) && !share_is_full) there->end_oldest_of_heaviest();
      } catch (...) {
        there->log.caught("no room could be made for a session");
      }
    });
    const std::size_t ahead = group->members.size();
    if (session_count.all() < limits.sessions + ahead &&
        (!share_is_full || census->count(client) < limits.sessions_per_address + ahead)) {
      return true;
    }
  }
  return !share_is_full && end_oldest_of_heaviest();
}

}  // namespace godwit::inline v0
