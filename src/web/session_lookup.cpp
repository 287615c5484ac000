// Sessions that are not in memory here: the SessionStore is asked, and what it has is restored.
// Requests wait meanwhile, all that name one session for the same answer.
#include "session_lookup.hpp"

#include <algorithm>
#include <utility>

#include "godwit/base/rollback.hpp"
#include "godwit/rpc/error_code.hpp"
#include "godwit/transport/request_facts.hpp"
#include "http_session.hpp"
#include "saved_session.hpp"
#include "wire.hpp"

namespace godwit::inline v0 {

using detail::web::HttpSession;
using detail::web::log_failure;
using detail::web::retry_later;
using detail::web::SavedSession;
using detail::web::SessionLookup;
using Found = Endpoint::Impl::Found;

namespace {

/// Of an id that can be one.
constexpr std::size_t longest_id = 128;

}  // namespace

bool Endpoint::Impl::find_stored(std::string_view id, const http::Request& request,
                                 http::Exchange& exchange) {
  if (id.size() > longest_id) return true;  // nobody has made such an id
  if (draining) {
    refuse(request, exchange, 503, rpc::internal_error("the server is shutting down"),
           retry_later());
    return false;
  }
  if (open_exchanges.all() >= limits.process_in_flight ||
      undecided_bytes + request.body.size() > limits.process_body_bytes) {
    refuse(request, exchange, 503, detail::web::busy("too many requests are in flight"),
           retry_later());
    return false;
  }
  if (const auto known = lookup_numbers.find(id); known != lookup_numbers.end()) {
    park(*lookups.at(known->second), request, exchange);
    return false;
  }
  auto made = std::make_unique<SessionLookup>(std::string(id), ++last_number,
                                              clock->now() + limits.store_time);
  SessionLookup& lookup = *made;
  const bool over = lookup.call.ask(log, ready, lookup.ready, [&](Done<SessionPlace> done) {
    options.sessions->find(lookup.id, options.name, std::move(done));
  });
  if (orphaned) {  // the store destroyed the Endpoint
    exchange.abort();
    return false;
  }
  if (over) {
    const std::shared_ptr<const rpc::Identity> caller = facts_of(request).identity;
    const auto belongs = [&](const rpc::Identity* owner) {
      return rpc::same_caller(owner, caller.get());
    };
    const Found found = take_found(lookup.id, lookup.call.take(), client_of(request), belongs);
    if (found == Found::settled) return true;
    refuse_for_store(request, exchange);
    return false;
  }
  lookup_numbers.emplace(lookup.id, lookup.number);
  Rollback undo([&] {
    lookup_numbers.erase(lookup.id);
    deadlines.erase({lookup.deadline, lookup.number});
    lookups.erase(lookup.number);
  });
  const std::uint64_t number = lookup.number;
  lookups.emplace(number, std::move(made));
  deadlines.emplace(lookup.deadline, number);
  park(lookup, request, exchange);
  undo.dismiss();
  if (deadlines.begin()->second == number && options.deadline_moved) options.deadline_moved();
  return false;
}

void Endpoint::Impl::park(SessionLookup& lookup, const http::Request& request,
                          http::Exchange& exchange) {
  // Found again by its address: the list may have changed by then.
  auto self = std::make_shared<const http::ParkedRequest*>(nullptr);
  http::ParkedRequest& parked =
      lookup.requests.emplace_back(request, exchange, [this, number = lookup.number, self] {
        const Entered entered(*this);
        const auto found = lookups.find(number);
        if (found == lookups.end()) return;
        auto& requests = found->second->requests;
        const auto mine = std::ranges::find_if(
            requests, [&](const http::ParkedRequest& one) { return &one == *self; });
        if (mine == requests.end()) return;
        leave(mine->request());
        requests.erase(mine);
      });
  *self = &parked;
  ++open_exchanges;
  undecided_bytes += parked.request().size();
}

void Endpoint::Impl::leave(const http::OwnedRequest& request) noexcept {
  --open_exchanges;
  undecided_bytes -= request.size();
}

std::unique_ptr<SessionLookup> Endpoint::Impl::end_lookup(std::uint64_t number) noexcept {
  const auto found = lookups.find(number);
  if (found == lookups.end()) return nullptr;
  std::unique_ptr<SessionLookup> out = std::move(found->second);
  lookups.erase(found);
  lookup_numbers.erase(out->id);
  deadlines.erase({out->deadline, number});
  for (http::ParkedRequest& parked : out->requests) leave(parked.request());
  return out;
}

bool Endpoint::Impl::looked_up(std::uint64_t number) noexcept {
  const auto found = lookups.find(number);
  if (found == lookups.end()) return false;
  if (!found->second->call.over()) return true;
  const std::unique_ptr<SessionLookup> lookup = end_lookup(number);
  settle(*lookup, lookup->call.take());
  return true;
}

bool Endpoint::Impl::lookup_takes_too_long(std::uint64_t number) noexcept {
  const std::unique_ptr<SessionLookup> lookup = end_lookup(number);
  if (!lookup) return false;
  settle(*lookup, or_out_of_memory([] { return error("it has not answered in time"); }));
  return true;
}

/// Answers all who wait.
void Endpoint::Impl::settle(SessionLookup& lookup, Result<SessionPlace> place) noexcept {
  Found found = Found::failed;
  try {
    const auto belongs = [&](const rpc::Identity* owner) {
      return std::ranges::any_of(lookup.requests, [&](http::ParkedRequest& parked) {
        return rpc::same_caller(owner, facts_of(parked.request().view()).identity.get());
      });
    };
    // They may all have gone away; the session is still wanted then.
    const IpAddress client =
        lookup.requests.empty() ? IpAddress{} : client_of(lookup.requests.front().request().view());
    found = take_found(lookup.id, std::move(place), client, belongs);
  } catch (...) {
    log.caught("a session could not be restored");
  }
  for (http::ParkedRequest& parked : lookup.requests) {
    http::Exchange* const exchange = parked.take();
    if (!exchange) continue;
    try {
      const http::Request& request = parked.request().view();
      if (orphaned) {
        exchange->abort();
      } else if (found == Found::failed) {
        refuse_for_store(request, *exchange);
      } else if (!sessions.contains(lookup.id)) {
        refuse(request, *exchange, 404, std::string(detail::web::no_session));
      } else {
        serve(request, *exchange);
      }
    } catch (...) {
      log.caught("a request is given up");
      exchange->abort();
    }
  }
}

template <class Belongs>
Found Endpoint::Impl::take_found(const std::string& id, Result<SessionPlace> place,
                                 const IpAddress& client, Belongs&& belongs) {
  using Kind = SessionPlace::Kind;
  if (sessions.contains(id)) return Found::settled;  // another request was faster
  if (!place) {
    log_failure(log, "a session could not be looked up", place.error());
    return Found::failed;
  }
  if (place->kind == Kind::unknown) return Found::settled;
  if (place->kind == Kind::elsewhere) {
    log.limited(LogLevel::warning,
                "a request came here for a session that another server has: " + place->where);
    return Found::failed;
  }
  // Whatever comes of it: if it does not live here, others may have it.
  Rollback unused([&] {
    detail::web::tell_store(
        log, "a session could not be released to other servers",
        [&](Done<void> done) { options.sessions->release(id, options.name, std::move(done)); });
  });
  Result<SavedSession> saved = detail::web::read_saved(place->state);
  if (!saved) {
    log_failure(log, "what was saved of a session cannot be read", saved.error());
    return Found::settled;
  }
  if (!belongs(saved->owner.get())) return Found::settled;  // for others it is not there
  if (!makes_room(client)) return Found::failed;
  auto session = std::make_unique<HttpSession>(*this, id, client, std::move(saved->owner));
  HttpSession& made = *session;
  sessions.emplace(id, std::move(session));  // first: code of the program may end it
  Rollback failed([&] { sessions.erase(id); });
  if (Result<void> restored = made.restore(*saved); !restored) {
    log_failure(log, "a session could not be restored", restored.error());
    return Found::settled;
  }
  failed.dismiss();
  unused.dismiss();
  return Found::settled;
}

}  // namespace godwit::inline v0
