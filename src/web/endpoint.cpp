#include "godwit/web/endpoint.hpp"

#include <algorithm>

#include "endpoint_impl.hpp"
#include "event_stream.hpp"
#include "godwit/base/random.hpp"
#include "godwit/base/rollback.hpp"
#include "godwit/json/writer.hpp"
#include "godwit/mcp/memory_event_store.hpp"
#include "godwit/rpc/error_code.hpp"
#include "godwit/rpc/message.hpp"
#include "godwit/transport/request_facts.hpp"
#include "http_session.hpp"
#include "lane.hpp"
#include "mcp/era/eras.hpp"
#include "mcp/era/stateless_headers.hpp"
#include "relay.hpp"
#include "session_census.hpp"
#include "session_lookup.hpp"
#include "session_order.hpp"
#include "session_places.hpp"
#include "sse_session.hpp"
#include "undecided.hpp"
#include "wire.hpp"

namespace godwit::inline v0 {

using detail::web::busy;
using detail::web::Conversation;
using detail::web::HttpSession;
using detail::web::json_type;
using detail::web::Lane;
using detail::web::Resumed;
using detail::web::retry_later;
using detail::web::sse_type;

namespace {

/// Lanes that wait for the next request; more are not worth their memory.
constexpr std::size_t most_idle_lanes = 64;

/// What the client takes of the two types that there are.
struct Accepted {
  bool json = true;
  bool events = true;
};

Accepted accepted_by(const http::Request& request) {
  if (!request.fields.find("Accept")) return {};
  const std::uint32_t listed = request.fields.which_listed(
      "Accept", {"*/*", json_type, "application/*", sse_type, "text/*"});
  return {.json = (listed & 0b00111) != 0, .events = (listed & 0b11001) != 0};
}

bool is_handshake(json::View message) {
  return message.find("method").as_string() ==
         mcp::Eras::built_in().newest_by_handshake().name_of(mcp::Operation::initialize);
}

/// Nothing if it has none that can be answered under.
std::optional<rpc::Id> id_of(json::View message) {
  const json::View id = message.find("id");
  return id.is_string() || id.is_number() ? rpc::Id::from(id) : std::nullopt;
}

/// Keeps others off the document.
struct InUse {
  bool& flag;
  bool before = std::exchange(flag, true);
  ~InUse() { flag = before; }
};

}  // namespace

namespace detail::web {

void ReadyList::add(const std::shared_ptr<ReadyPlace>& place) noexcept {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  if (!std::exchange(place->listed, true)) {
    (last_ ? last_->next : first_) = place;
    last_ = place;
    if (++size_ == 1) wake_due_ = true;
  }
  if (wake_due_) wake_up();
}

void ReadyList::wake_up() noexcept {
  if (!wake_) return;
  try {
    wake_();
    wake_due_ = false;
  } catch (...) {  // whoever is added next tries again
    wake_due_ = true;
  }
}

void ReadyList::wake_for_the_rest() noexcept {
  const std::lock_guard lock(mutex_);
  if (size_ > 0) wake_up();
}

std::optional<std::uint64_t> ReadyList::take() noexcept {
  const std::lock_guard lock(mutex_);
  if (!first_) return std::nullopt;
  const std::shared_ptr<ReadyPlace> place = std::move(first_);
  first_ = std::move(place->next);
  if (!first_) last_ = nullptr;
  --size_;
  place->listed = false;
  return place->conversation;
}

std::size_t ReadyList::size() noexcept {
  const std::lock_guard lock(mutex_);
  return size_;
}

void ReadyList::close() noexcept {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  while (take()) {  // one by one, so that a long list needs no deep stack
  }
}

}  // namespace detail::web

Endpoint::Impl::Impl(Service& service_, EndpointOptions options_)
    : service(service_),
      options(std::move(options_)),
      peer_options(std::make_shared<const rpc::PeerOptions>(service.peer_options())),
      limits(peer_options->limits),
      log(peer_options->log),
      clock(peer_options->clock),
      router(service.router()),
      parse_options(json::ParseOptions::from(limits)),
      ready(std::make_shared<detail::web::ReadyList>(options.wake)),
      census(std::make_shared<detail::web::SessionCensus>()),
      byte_census(std::make_shared<detail::web::SessionCensus>()),
      order(std::make_unique<detail::web::SessionOrder>()) {
  if (!options.events) options.events = std::make_shared<MemoryEventStore>(limits);
  if (options.name.empty()) options.name = random_hex();
  while (options.path.size() > 1 && options.path.ends_with('/')) options.path.pop_back();
  if (options.metrics) tell_numbers();  // from now on that needs no memory
}

Endpoint::Impl::~Impl() {
  ++depth;  // what ends now is not looked after any more
}

/// Code of the program may end others meanwhile, but they are put away after this.
void Endpoint::Impl::close() noexcept {
  if (group) group->members[shard].endpoint = nullptr;
  ready->close();
  for (const auto& [id, session] : sessions) {
    session->end(HttpSession::End::leaving);
    end(*session);
  }
  for (const auto& [id, session] : sse_sessions) session->fail();
  for (const auto& lane : busy_lanes) lane->fail();
  while (!undecided.empty()) unpark(undecided.begin()->first);
  while (!lookups.empty()) end_lookup(lookups.begin()->first);
  while (!relays.empty()) relays.extract(relays.begin()).value()->abandon();
}

// Requests.

http::Fields Endpoint::Impl::fields_for(const http::Request& request) const {
  http::Fields fields;
  if (request.admitted) fields = request.admitted->fields;
  if (options.access.origins.empty()) return fields;
  fields.add("Vary", "Origin");
  if (const std::string_view origin = options.access.listed_origin(request); !origin.empty()) {
    fields.add("Access-Control-Allow-Origin", origin);
    fields.add("Access-Control-Expose-Headers", mcp::header::session);
    if (options.admission) fields.add("Access-Control-Expose-Headers", http::admission_fields);
  }
  return fields;
}

void Endpoint::Impl::refuse(const http::Request& request, http::Exchange& exchange, int status,
                            Error error, const http::Fields& more, json::View message) {
  http::Fields fields = fields_for(request);
  for (const auto& [name, value] : more) fields.add(name, value);
  exchange.respond(status, json_type,
                   rpc::serialize(rpc::make_error(id_of(message), std::move(error))), fields);
}

void Endpoint::Impl::refuse(const http::Request& request, http::Exchange& exchange, int status,
                            std::string message, const http::Fields& more) {
  refuse(request, exchange, status,
         Error{.code = rpc::code::invalid_request, .message = std::move(message)}, more);
}

void Endpoint::Impl::serve(const http::Request& request, http::Exchange& exchange) {
  const auto bad = [&](int status, std::string_view message, const http::Fields& more = {}) {
    refuse(request, exchange, status, std::string(message), more);
  };
  if (!options.health_path.empty() && request.path() == options.health_path) {
    return exchange.respond(draining ? 503 : 200, "text/plain", draining ? "draining\n" : "ok\n");
  }
  if (options.metrics && request.path() == options.metrics_path) {
    tell_numbers();
    return exchange.respond(200, "text/plain; version=0.0.4", options.metrics->text());
  }
  if (!options.sse_path.empty() && request.is_at(options.sse_path)) {
    return sse(request, exchange);
  }
  if (!request.is_at(options.path)) {
    return bad(404, "there is nothing at this path; the server is at " + options.path);
  }
  if (request.method == "OPTIONS" && !options.access.origins.empty()) {
    return preflight(request, exchange);
  }
  if (request.method == "POST") {
    if (!request.is_type(json_type)) return bad(415, "the Content-Type must be application/json");
    if (const Accepted accepted = accepted_by(request); !accepted.json || !accepted.events) {
      return bad(406, "the Accept field must list application/json and text/event-stream");
    }
    if (request.body.size() > limits.message_bytes_in) {
      return bad(413,
                 "the body has more than " + std::to_string(limits.message_bytes_in) + " bytes");
    }
    return post(request, exchange);
  }
  if (options.stateful && request.method == "GET") {
    if (draining) return bad(503, "the server is shutting down", retry_later());
    return get(request, exchange);
  }
  if (options.stateful && request.method == "DELETE") return end_session(request, exchange);
  bad(405, "this address takes POST" + std::string(options.stateful ? ", GET and DELETE" : ""),
      {{"Allow", options.stateful ? "POST, GET, DELETE" : "POST"}});
}

bool Endpoint::Impl::too_busy(const http::Request& request, json::View message,
                              http::Exchange& exchange, std::size_t in_flight) {
  const bool full = open_exchanges.all() >= limits.process_in_flight;
  if (!draining && !full && in_flight < limits.in_flight) return false;
  if (!detail::web::has_request(message)) return false;
  if (draining) {
    refuse(request, exchange, 503, rpc::internal_error("the server is shutting down"),
           retry_later(), message);
  } else if (full) {
    refuse(request, exchange, 503, busy("too many requests are in flight"), retry_later(), message);
  } else {
    refuse(
        request, exchange, 429,
        busy(std::to_string(limits.in_flight) + " requests of this session are in flight already"),
        retry_later(), message);
  }
  return true;
}

template <class Then>
void Endpoint::Impl::parse(const http::Request& request, http::Exchange& exchange, Then&& then) {
  std::optional<json::Document> own;  // of a request that a handler made from inside another
  json::Document& parsed = parsing ? own.emplace() : document;
  const InUse use{parsing};
  const Result<json::View> root = parsed.parse(request.body, parse_options, request.spare);
  if (root) return then(*root);
  refuse(request, exchange, 400, rpc::parse_error(root.error().message));
}

void Endpoint::Impl::preflight(const http::Request& request, http::Exchange& exchange) {
  http::Fields fields = fields_for(request);
  if (!options.access.listed_origin(request).empty()) {
    fields.add("Access-Control-Allow-Methods", "POST, GET, DELETE, OPTIONS");
    // Names of arguments make headers (Mcp-Param-…), so what is asked for is what is allowed.
    if (const auto asked = request.fields.find("Access-Control-Request-Headers");
        asked && http::is_field_value(*asked)) {
      fields.add("Access-Control-Allow-Headers", *asked);
    }
    fields.add("Access-Control-Max-Age", "600");
  }
  exchange.respond(204, {}, {}, fields);
}

void Endpoint::Impl::post(const http::Request& request, http::Exchange& exchange) {
  parse(request, exchange, [&](json::View message) { route(request, message, exchange); });
}

void Endpoint::Impl::route(const http::Request& request, json::View message,
                           http::Exchange& exchange) {
  if (options.stateless && mcp::named_revision(message.find("params").find("_meta"))) {
    return stateless(request, message, exchange);
  }
  if (options.stateful && request.fields.find(mcp::header::session)) {
    return stateful(request, message, exchange);
  }
  const bool handshake = is_handshake(message);
  const mcp::Eras& eras = mcp::Eras::built_in();
  if (!options.stateful && handshake) {
    // Old clients can do no more than show the text.
    const auto wanted = message.find("params").find("protocolVersion").as_string();
    return refuse(request, exchange, 400,
                  eras.newest_alone().unsupported_revision(wanted.value_or(""), eras), {}, message);
  }
  if (!options.stateful) return stateless(request, message, exchange);
  const auto version = request.fields.find(mcp::header::protocol_version);
  if (handshake) return initialize(request, message, exchange);
  if (version && !eras.by_handshake(*version) && options.stateless) {
    return stateless(request, message, exchange);
  }
  stateful(request, message, exchange);
}

void Endpoint::Impl::stateless(const http::Request& request, json::View message,
                               http::Exchange& exchange) {
  if (!message.is_object()) {
    return refuse(request, exchange, 400,
                  "the body must be one request or notification, an object");
  }
  if (!message.find("method")) {
    return refuse(request, exchange, 400,
                  "the body must be a request or a notification; it has no \"method\"");
  }
  if (too_busy(request, message, exchange, 0)) return;
  http::Fields fields = fields_for(request);
  if (idle_lanes.empty()) {
    busy_lanes.push_front(std::make_unique<Lane>(*this));
  } else {
    busy_lanes.splice(busy_lanes.begin(), idle_lanes, idle_lanes.begin());
  }
  Lane& lane = *busy_lanes.front();
  lane.place = busy_lanes.begin();
  lane.run(request, message, exchange, std::move(fields));
  if (lane.over()) end(lane);
}

void Endpoint::Impl::retire(Lane& lane) noexcept {
  if (!lane.over()) return;
  if (lane.reusable() && idle_lanes.size() < most_idle_lanes) {
    idle_lanes.splice(idle_lanes.begin(), busy_lanes, lane.place);
  } else {
    std::list<std::unique_ptr<Lane>> last;
    last.splice(last.begin(), busy_lanes, lane.place);
  }
}

void Endpoint::Impl::remove(HttpSession& session) noexcept {
  const auto last = sessions.extract(sessions.find(session.id()));
  session.end(HttpSession::End::over);
}

void Endpoint::Impl::remove(detail::web::SseSession& session) noexcept {
  const auto last = sse_sessions.extract(sse_sessions.find(session.id()));
}

HttpSession* Endpoint::Impl::session_of(const http::Request& request, http::Exchange& exchange,
                                        rpc::Facts& facts) {
  const auto id = request.fields.find(mcp::header::session);
  if (!id) {
    refuse(
        request, exchange, 400,
        "the header Mcp-Session-Id is missing: send \"initialize\" first and then what it gives, "
        "or put the protocol version and the client's capabilities into params/_meta");
    return nullptr;
  }
  const bool once = request.fields.only(mcp::header::session).has_value();
  if (once && forwarded(*id, request, exchange)) return nullptr;
  facts = facts_of(request);
  auto found = sessions.find(*id);
  if (found == sessions.end() && once && options.sessions) {
    if (!find_stored(*id, request, exchange)) return nullptr;
    found = sessions.find(*id);
  }
  // Nobody learns that a session of another one is there.
  if (found == sessions.end() || !once || !found->second->belongs_to(facts.identity.get())) {
    refuse(request, exchange, 404, std::string(detail::web::no_session));
    return nullptr;
  }
  if (const auto version = request.fields.find(mcp::header::protocol_version)) {
    if (!mcp::Eras::built_in().by_handshake(*version)) {
      refuse(request, exchange, 400,
             "MCP-Protocol-Version must be the one that was agreed on in the handshake");
      return nullptr;
    }
  }
  found->second->hear();
  return found->second.get();
}

void Endpoint::Impl::stateful(const http::Request& request, json::View message,
                              http::Exchange& exchange) {
  rpc::Facts facts;
  HttpSession* session = session_of(request, exchange, facts);
  if (!session) return;
  if (too_busy(request, message, exchange, session->in_flight())) return;
  session->post(message, facts, exchange, fields_for(request));
}

void Endpoint::Impl::initialize(const http::Request& request, json::View message,
                                http::Exchange& exchange) {
  if (too_busy(request, message, exchange, 0)) return;
  if (!has_room(request, message, exchange)) return;
  std::string id = new_session_id();
  const rpc::Facts facts = facts_of(request);
  auto session = std::make_unique<HttpSession>(*this, id, client_of(request), facts.identity);
  HttpSession& made = *session;
  sessions.emplace(std::move(id), std::move(session));
  Rollback undo([&] { end(made); });
  made.post(message, facts, exchange, fields_for(request));
  if (made.established()) undo.dismiss();
}

void Endpoint::Impl::get(const http::Request& request, http::Exchange& exchange) {
  if (!accepted_by(request).events) {
    return refuse(request, exchange, 406, "the Accept field must list text/event-stream");
  }
  rpc::Facts facts;
  HttpSession* session = session_of(request, exchange, facts);
  if (!session) return;
  if (const auto last = request.fields.find("Last-Event-ID")) {
    const Resumed resumed = session->resume(exchange, *last, fields_for(request));
    if (resumed == Resumed::yes) return;
    if (resumed == Resumed::busy) {
      return refuse(request, exchange, 429,
                    busy(std::to_string(limits.session_resumptions) +
                         " streams of this session are being sent again already"),
                    retry_later());
    }
    if (resumed == Resumed::failed) return refuse_for_store(request, exchange);
    return refuse(request, exchange, 400, std::string(detail::web::unknown_event));
  }
  const Resumed listens = session->listen(exchange, fields_for(request));
  if (listens == Resumed::yes) return;
  if (listens == Resumed::failed) return refuse_for_store(request, exchange);
  refuse(request, exchange, 409, "this session has such a stream already; there can be only one");
}

void Endpoint::Impl::refuse_for_store(const http::Request& request, http::Exchange& exchange) {
  refuse(request, exchange, 503, rpc::internal_error(std::string(detail::web::store_failed)),
         retry_later());
}

void Endpoint::Impl::end_session(const http::Request& request, http::Exchange& exchange) {
  rpc::Facts facts;
  HttpSession* session = session_of(request, exchange, facts);
  if (!session) return;
  session->end(HttpSession::End::over);
  end(*session);
  exchange.respond(204, {}, {}, fields_for(request));
}

void Endpoint::Impl::sse(const http::Request& request, http::Exchange& exchange) {
  const auto bad = [&](int status, std::string_view message, const http::Fields& more = {}) {
    refuse(request, exchange, status, std::string(message), more);
  };
  constexpr std::string_view prefix = "session=";
  if (request.method == "GET") {
    if (!accepted_by(request).events)
      return bad(406, "the Accept field must list text/event-stream");
    if (draining) return bad(503, "the server is shutting down", retry_later());
    if (!has_room(request, {}, exchange)) return;
    std::string id = new_session_id();
    auto session = std::make_unique<detail::web::SseSession>(*this, id, client_of(request),
                                                             facts_of(request).identity);
    detail::web::SseSession& made = *session;
    std::string post_to = options.sse_path + "?" + std::string(prefix) + id;
    sse_sessions.emplace(std::move(id), std::move(session));
    Rollback undo([&] { end(made); });
    made.open(exchange, fields_for(request), post_to);
    return undo.dismiss();
  }
  if (request.method != "POST")
    return bad(405, "this address takes GET and POST", {{"Allow", "GET, POST"}});
  if (!request.is_type(json_type)) return bad(415, "the Content-Type must be application/json");
  std::string_view id = request.query();
  if (!id.starts_with(prefix)) return bad(400, "the address must name its session");
  id.remove_prefix(prefix.size());
  if (forwarded(id, request, exchange)) return;
  const auto found = sse_sessions.find(id);
  const rpc::Facts facts = facts_of(request);
  if (found == sse_sessions.end() || !found->second->belongs_to(facts.identity.get())) {
    return bad(404, "there is no such session (any more)");
  }
  detail::web::SseSession& session = *found->second;
  parse(request, exchange, [&](json::View message) {
    if (too_busy(request, message, exchange, session.peer().in_flight())) return;
    exchange.respond(202, {}, {}, fields_for(request));
    survive(session, [&] { session.post(message, facts); });
  });
}

bool Endpoint::Impl::forwarded(std::string_view session, const http::Request& request,
                               http::Exchange& exchange) {
  using Places = detail::web::SessionPlaces;
  if (!places) return false;
  const Places::Where where = places->find(session);
  if (where.kind != Places::Kind::elsewhere) return false;
  places->deliver(where.place, request, exchange);
  return true;
}

std::string Endpoint::Impl::new_session_id() const {
  return detail::web::session_prefix(shard) + random_hex();
}

// Conversations.

template <class F>
void Endpoint::Impl::survive(Conversation& conversation, F&& run) noexcept {
  try {
    run();
  } catch (...) {
    log.caught("a conversation is ended");
    conversation.fail();
  }
}

void Endpoint::Impl::end(Conversation& conversation) noexcept {
  if (std::exchange(conversation.to_put_away_, true)) return;
  conversation.next_to_put_away_ = std::exchange(ended, &conversation);
}

void Endpoint::Impl::forget_ended(Conversation& conversation) noexcept {
  if (!std::exchange(conversation.to_put_away_, false)) return;
  Conversation** at = &ended;
  while (*at != &conversation) at = &(*at)->next_to_put_away_;
  *at = conversation.next_to_put_away_;
}

/// Also code of the program runs here: what its calls end is found by the loop.
void Endpoint::Impl::settle() noexcept {
  while (ended) {
    Conversation& over = *ended;
    forget_ended(over);
    over.put_away();
  }
  buffer.clear();  // what an exception left there
  if (options.metrics) tell_numbers();
}

void Endpoint::Impl::tell_numbers() noexcept {
  options.metrics->set(shard, {.sessions = session_count.here(),
                               .open_exchanges = open_exchanges.here(),
                               .bytes_in = bytes_in,
                               .bytes_out = bytes_out});
}

Endpoint::Endpoint(Service& service, EndpointOptions options)
    : impl_(new Impl(service, std::move(options))) {}

Endpoint::~Endpoint() {
  const Impl::Entered last(*impl_);
  impl_->orphaned = true;
  impl_->close();
}

void Endpoint::on_request(const http::Request& request, http::Exchange& exchange) {
  const Impl::Entered entered(*impl_);
  impl_->bytes_in += request.body.size();  // not again where it is relayed to
  impl_->handle(request, exchange);
}

void Endpoint::on_head(const http::Request& head, http::Decision& decision) {
  if (!impl_->options.admission) return impl_->decide(head, decision);
  const Impl::Entered entered(*impl_);  // the admission may destroy the Endpoint
  impl_->decide(head, decision);
}

std::optional<TimePoint> Endpoint::next_deadline() const {
  if (impl_->deadlines.empty()) return std::nullopt;
  return impl_->deadlines.begin()->first;
}

void Endpoint::expire(TimePoint now) {
  Impl& impl = *impl_;  // code of the program may destroy the Endpoint
  const Impl::Entered entered(impl);
  // Not more than there are now, so that this ends whatever is armed anew.
  for (std::size_t most = impl.deadlines.size(); most > 0 && !impl.orphaned; --most) {
    if (impl.deadlines.empty() || impl.deadlines.begin()->first > now) break;
    const std::uint64_t number = impl.deadlines.begin()->second;
    if (impl.undecided_for_too_long(number) || impl.lookup_takes_too_long(number)) continue;
    Conversation& due = *impl.conversations.at(number);
    impl.survive(due, [&] { due.expire(now); });
  }
}

void Endpoint::process() {
  Impl& impl = *impl_;  // code of the program may destroy the Endpoint
  const Impl::Entered entered(impl);
  // Not more than there are now, so that this ends whatever is ready anew.
  for (std::size_t most = impl.ready->size(); most > 0; --most) {
    const auto number = impl.ready->take();
    if (!number) break;
    const auto found = impl.conversations.find(*number);
    if (found == impl.conversations.end()) {
      if (!impl.decided(*number)) impl.looked_up(*number);
      continue;
    }
    Conversation& conversation = *found->second;
    impl.survive(conversation, [&] {
      conversation.peer().process();
      conversation.processed();
      conversation.rearm();
    });
  }
  impl.ready->wake_for_the_rest();
}

void Endpoint::listens_on(const Address& address) {
  http::Access& access = impl_->options.access;
  access.port = address.port;
  access.hosts.push_back(address.text());
}

void Endpoint::drain() {
  Impl& impl = *impl_;  // code of the program may destroy the Endpoint
  const Impl::Entered entered(impl);
  impl.draining = true;
  // Code of the program may begin and end others meanwhile: those there are now, by number.
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, conversation] : impl.conversations) numbers.push_back(number);
  for (const std::uint64_t number : numbers) {
    if (impl.orphaned) break;
    const auto found = impl.conversations.find(number);
    if (found == impl.conversations.end()) continue;
    Conversation& conversation = *found->second;
    impl.survive(conversation, [&] { conversation.drain(); });
  }
}

std::size_t Endpoint::sessions() const noexcept { return impl_->sessions.size(); }
std::size_t Endpoint::open_exchanges() const noexcept { return impl_->open_exchanges.here(); }

}  // namespace godwit::inline v0
