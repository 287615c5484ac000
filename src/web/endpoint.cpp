#include "godwit/web/endpoint.hpp"

#include <algorithm>
#include <charconv>

#include "endpoint_impl.hpp"
#include "event_stream.hpp"
#include "godwit/json/writer.hpp"
#include "godwit/rpc/error_code.hpp"
#include "godwit/rpc/message.hpp"
#include "godwit/web/memory_event_store.hpp"
#include "http_session.hpp"
#include "lane.hpp"
#include "mcp/era/stateless.hpp"
#include "random_id.hpp"
#include "relay.hpp"
#include "sse_session.hpp"
#include "wire.hpp"

namespace godwit::inline v0 {

using detail::Conversation;
using detail::HttpSession;
using detail::json_type;
using detail::Lane;
using detail::sse_type;

namespace {

/// Lanes that wait for the next request; more are not worth their memory.
constexpr std::size_t most_idle_lanes = 64;

bool accepts(const http::Request& request, std::string_view type) {
  if (!request.fields.find("Accept")) return true;
  const std::string_view group = type.substr(0, type.find('/'));
  return request.fields.lists("Accept", type) || request.fields.lists("Accept", "*/*") ||
         request.fields.lists("Accept", std::string(group) + "/*");
}

bool is_handshake(json::View message) {
  return message.find("method").as_string() ==
         mcp::newest_stateful().name_of(mcp::Operation::initialize);
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

Error busy(std::string why) {
  return rpc::internal_error("busy: " + std::move(why) + "; try again later");
}

http::Fields retry_later() { return {{"Retry-After", "1"}}; }

}  // namespace

namespace detail {

void ReadyList::add(std::uint64_t conversation) {
  const std::lock_guard lock(mutex_);
  ready_.push_back(conversation);
  if (ready_.size() == 1 && wake_) wake_();
}

std::vector<std::uint64_t> ReadyList::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(ready_, {});
}

void ReadyList::close() {
  const std::lock_guard lock(mutex_);
  wake_ = nullptr;
}

}  // namespace detail

Endpoint::Impl::Impl(Server& server_, EndpointOptions options_)
    : server(server_),
      options(std::move(options_)),
      limits(server.options().limits),
      log(server.options().log),
      clock(server.options().clock),
      router(server.router()),
      peer_options(std::make_shared<const rpc::PeerOptions>(server.peer_options())),
      parse_options(json::ParseOptions::from(limits)),
      ready(std::make_shared<detail::ReadyList>(options.wake)) {
  if (!options.events) options.events = std::make_shared<MemoryEventStore>(limits);
  while (options.path.size() > 1 && options.path.ends_with('/')) options.path.pop_back();
}

Endpoint::Impl::~Impl() {
  ready->close();
  for (auto& [id, session] : sessions) session->end();
  for (const auto& relay : relays) relay->abandon();
  if (group) group->members[shard].endpoint = nullptr;
}

// Requests.

http::Fields Endpoint::Impl::fields_for(const http::Request& request) const {
  http::Fields fields;
  if (options.access.origins.empty()) return fields;
  fields.add("Vary", "Origin");
  if (const std::string_view origin = options.access.listed_origin(request); !origin.empty()) {
    fields.add("Access-Control-Allow-Origin", origin);
    fields.add("Access-Control-Expose-Headers", mcp::header::session);
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

void Endpoint::Impl::handle(const http::Request& request, http::Exchange& exchange) {
  const auto bad = [&](int status, std::string_view message, const http::Fields& more = {}) {
    refuse(request, exchange, status, std::string(message), more);
  };
  if (const auto why = options.access.refusal(request)) return bad(403, *why);
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
    if (!accepts(request, json_type) || !accepts(request, sse_type)) {
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
  if (!detail::has_request(message)) return false;
  if (draining) {
    refuse(request, exchange, 503, rpc::internal_error("the server is shutting down"),
           retry_later(), message);
  } else if (open_exchanges.all() >= limits.process_in_flight) {
    refuse(request, exchange, 503, busy("too many requests are in flight"), retry_later(), message);
  } else if (in_flight >= limits.in_flight) {
    refuse(
        request, exchange, 429,
        busy(std::to_string(limits.in_flight) + " requests of this session are in flight already"),
        retry_later(), message);
  } else {
    return false;
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
  bytes_in += request.body.size();
  parse(request, exchange, [&](json::View message) { route(request, message, exchange); });
}

void Endpoint::Impl::route(const http::Request& request, json::View message,
                           http::Exchange& exchange) {
  if (options.stateless && mcp::is_stateless(message.find("params").find("_meta"))) {
    return stateless(request, message, exchange);
  }
  const bool handshake = is_handshake(message);
  if (!options.stateful && handshake) {
    // Old clients can do no more than show the text.
    const auto wanted = message.find("params").find("protocolVersion").as_string();
    return refuse(request, exchange, 400, mcp::unsupported_version(wanted.value_or("")), {},
                  message);
  }
  if (!options.stateful) return stateless(request, message, exchange);
  if (request.fields.find(mcp::header::session)) return stateful(request, message, exchange);
  const auto version = request.fields.find(mcp::header::protocol_version);
  const mcp::Dialect* dialect = version ? mcp::dialect_of(*version) : nullptr;
  if (handshake) return initialize(request, message, exchange);
  const bool known_stateful = dialect && !dialect->stateless;
  if (version && !known_stateful && options.stateless) {
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
  std::unique_ptr<Lane> lane;
  if (idle_lanes.empty()) {
    lane = std::make_unique<Lane>(*this);
  } else {
    lane = std::move(idle_lanes.back());
    idle_lanes.pop_back();
  }
  lane->run(request, message, exchange, fields_for(request));
  if (lane->over()) return retire(std::move(lane));
  Lane* const key = lane.get();
  busy_lanes.emplace(key, std::move(lane));
}

void Endpoint::Impl::retire(std::unique_ptr<Lane> lane) {
  if (lane->reusable() && idle_lanes.size() < most_idle_lanes) {
    idle_lanes.push_back(std::move(lane));
  }
}

HttpSession* Endpoint::Impl::session_of(const http::Request& request, http::Exchange& exchange) {
  const auto id = request.fields.find(mcp::header::session);
  if (!id) {
    refuse(
        request, exchange, 400,
        "the header Mcp-Session-Id is missing: send \"initialize\" first and then what it gives, "
        "or put the protocol version and the client's capabilities into params/_meta");
    return nullptr;
  }
  const bool once = request.fields.count(mcp::header::session) == 1;
  if (once && forwarded(*id, request, exchange)) return nullptr;
  const auto found = sessions.find(*id);
  if (found == sessions.end() || !once) {
    refuse(request, exchange, 404,
           "there is no such session (any more): begin a new one with \"initialize\"");
    return nullptr;
  }
  if (const auto version = request.fields.find(mcp::header::protocol_version)) {
    const mcp::Dialect* dialect = mcp::dialect_of(*version);
    if (!dialect || dialect->stateless) {
      refuse(request, exchange, 400,
             "MCP-Protocol-Version must be the one that was agreed on in the handshake");
      return nullptr;
    }
  }
  return found->second.get();
}

void Endpoint::Impl::stateful(const http::Request& request, json::View message,
                              http::Exchange& exchange) {
  HttpSession* session = session_of(request, exchange);
  if (!session) return;
  if (too_busy(request, message, exchange, session->in_flight())) return;
  session->post(message, exchange, fields_for(request));
}

void Endpoint::Impl::initialize(const http::Request& request, json::View message,
                                http::Exchange& exchange) {
  if (too_busy(request, message, exchange, 0)) return;
  if (session_count.all() >= limits.sessions) {
    return refuse(request, exchange, 503, busy("there are too many sessions"), retry_later(),
                  message);
  }
  std::string id = new_session_id();
  auto session = std::make_unique<HttpSession>(*this, id);
  HttpSession& made = *session;
  sessions.emplace(std::move(id), std::move(session));
  ++session_count;
  made.post(message, exchange, fields_for(request));
  if (!made.established()) end(made);
}

void Endpoint::Impl::get(const http::Request& request, http::Exchange& exchange) {
  if (!accepts(request, sse_type)) {
    return refuse(request, exchange, 406, "the Accept field must list text/event-stream");
  }
  HttpSession* session = session_of(request, exchange);
  if (!session) return;
  if (const auto last = request.fields.find("Last-Event-ID")) {
    if (session->resume(exchange, *last, fields_for(request))) return;
    return refuse(request, exchange, 400,
                  "Last-Event-ID names no event of this session that can be resumed from: it is "
                  "unknown, or what followed it is not kept any more");
  }
  if (!session->listen(exchange, fields_for(request))) {
    refuse(request, exchange, 409, "this session has such a stream already; there can be only one");
  }
}

void Endpoint::Impl::end_session(const http::Request& request, http::Exchange& exchange) {
  HttpSession* session = session_of(request, exchange);
  if (!session) return;
  session->end();
  end(*session);
  exchange.respond(204, {}, {}, fields_for(request));
}

void Endpoint::Impl::sse(const http::Request& request, http::Exchange& exchange) {
  const auto bad = [&](int status, std::string_view message, const http::Fields& more = {}) {
    refuse(request, exchange, status, std::string(message), more);
  };
  constexpr std::string_view prefix = "session=";
  if (request.method == "GET") {
    if (!accepts(request, sse_type))
      return bad(406, "the Accept field must list text/event-stream");
    if (draining || session_count.all() >= limits.sessions) {
      return bad(503, "there are too many sessions; try again later", retry_later());
    }
    std::string id = new_session_id();
    auto session = std::make_unique<detail::SseSession>(*this, id);
    session->open(exchange, fields_for(request), options.sse_path + "?" + std::string(prefix) + id);
    sse_sessions.emplace(std::move(id), std::move(session));
    ++session_count;
    return;
  }
  if (request.method != "POST")
    return bad(405, "this address takes GET and POST", {{"Allow", "GET, POST"}});
  if (!request.is_type(json_type)) return bad(415, "the Content-Type must be application/json");
  std::string_view id = request.query();
  if (!id.starts_with(prefix)) return bad(400, "the address must name its session");
  id.remove_prefix(prefix.size());
  if (forwarded(id, request, exchange)) return;
  const auto found = sse_sessions.find(id);
  if (found == sse_sessions.end()) return bad(404, "there is no such session (any more)");
  detail::SseSession& session = *found->second;
  parse(request, exchange, [&](json::View message) {
    if (too_busy(request, message, exchange, session.peer().in_flight())) return;
    exchange.respond(202, {}, {}, fields_for(request));
    session.post(message);
  });
}

bool Endpoint::Impl::forwarded(std::string_view session, const http::Request& request,
                               http::Exchange& exchange) {
  if (!group || session.size() < 2) return false;
  std::size_t owner = 0;
  const auto [end, error] = std::from_chars(session.data(), session.data() + 2, owner, 16);
  if (error != std::errc() || end != session.data() + 2) return false;
  if (owner == shard || owner >= group->members.size()) return false;
  detail::Relay::send(group, shard, owner, request, exchange);
  return true;
}

std::string Endpoint::Impl::new_session_id() const {
  static constexpr char digits[] = "0123456789abcdef";
  // Whose session it is, and then what nobody can guess.
  std::string id = {digits[shard >> 4 & 15], digits[shard & 15]};
  return id + detail::random_id();
}

// Conversations.

void Endpoint::Impl::end(HttpSession& session) { ended_sessions.push_back(session.id()); }

void Endpoint::Impl::settle() {
  if (depth > 0) return;  // a handler made a request of its own, and is still on the stack
  for (Lane* finished : std::exchange(finished_lanes, {})) {
    const auto found = busy_lanes.find(finished);
    if (found == busy_lanes.end()) continue;
    if (!finished->over()) continue;
    std::unique_ptr<Lane> lane = std::move(found->second);
    busy_lanes.erase(found);
    retire(std::move(lane));
  }
  for (const std::string& id : std::exchange(ended_sessions, {})) {
    const auto found = sessions.find(id);
    if (found == sessions.end()) continue;
    const std::unique_ptr<HttpSession> session = std::move(found->second);
    sessions.erase(found);
    --session_count;
    session->end();
  }
  for (const std::string& id : std::exchange(ended_sse_sessions, {})) {
    if (sse_sessions.erase(id) > 0) --session_count;
  }
  if (options.metrics) tell_numbers();
}

void Endpoint::Impl::tell_numbers() {
  options.metrics->set(shard, {.sessions = session_count.here(),
                               .open_exchanges = open_exchanges.here(),
                               .bytes_in = bytes_in,
                               .bytes_out = bytes_out});
}

Endpoint::Endpoint(Server& server, EndpointOptions options)
    : impl_(std::make_unique<Impl>(server, std::move(options))) {}
Endpoint::~Endpoint() = default;

void Endpoint::on_request(const http::Request& request, http::Exchange& exchange) {
  ++impl_->depth;
  impl_->handle(request, exchange);
  --impl_->depth;
  impl_->settle();
}

std::optional<http::Response> Endpoint::on_head(const http::Request& request) {
  // Nothing is worth reading from someone who may not call.
  if (!impl_->options.access.refusal(request)) return std::nullopt;
  return http::Response{.status = 403, .fields = {}, .body = {}};
}

std::optional<TimePoint> Endpoint::next_deadline() const {
  if (impl_->deadlines.empty()) return std::nullopt;
  return impl_->deadlines.begin()->first;
}

void Endpoint::expire(TimePoint now) {
  // Not more than there are now, so that this ends whatever is armed anew.
  for (std::size_t most = impl_->deadlines.size(); most > 0; --most) {
    if (impl_->deadlines.empty() || impl_->deadlines.begin()->first > now) break;
    impl_->conversations.at(impl_->deadlines.begin()->second)->expire(now);
  }
  impl_->settle();
}

void Endpoint::process() {
  for (const std::uint64_t number : impl_->ready->take()) {
    const auto found = impl_->conversations.find(number);
    if (found == impl_->conversations.end()) continue;
    found->second->peer().process();
    found->second->processed();
    found->second->rearm();
  }
  impl_->settle();
}

void Endpoint::listens_on(const Address& address) {
  http::Access& access = impl_->options.access;
  access.port = address.port;
  access.hosts.push_back(address.text());
}

void Endpoint::drain() {
  impl_->draining = true;
  std::vector<Lane*> lanes;
  for (const auto& [key, lane] : impl_->busy_lanes) lanes.push_back(key);
  for (Lane* lane : lanes) lane->drain();
  for (const auto& [id, session] : impl_->sessions) session->drain();
  for (const auto& [id, session] : impl_->sse_sessions) session->drain();
  impl_->settle();
}

std::size_t Endpoint::sessions() const noexcept { return impl_->sessions.size(); }
std::size_t Endpoint::open_exchanges() const noexcept { return impl_->open_exchanges.here(); }

}  // namespace godwit::inline v0
