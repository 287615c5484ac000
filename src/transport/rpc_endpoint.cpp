#include "godwit/transport/rpc_endpoint.hpp"

#include <algorithm>
#include <list>
#include <utility>

#include "godwit/base/rollback.hpp"
#include "godwit/io/timer.hpp"
#include "godwit/io/wakeup.hpp"
#include "godwit/rpc/error_code.hpp"
#include "godwit/rpc/message.hpp"
#include "godwit/transport/request_facts.hpp"

namespace godwit::inline v0 {

namespace {

constexpr std::string_view json_type = "application/json";
/// Peers that wait for the next request.
constexpr std::size_t most_idle = 64;
/// What the buffer of an idle one may keep.
constexpr std::size_t keep_capacity = 16u << 10;

std::string error_text(std::int64_t code, std::string_view message) {
  return rpc::serialize(
      rpc::make_error(std::nullopt, Error{.code = code, .message = std::string(message)}));
}

http::Response refused(int status, std::string_view why, http::Fields fields = {}) {
  fields.set("Content-Type", json_type);
  return {.status = status,
          .fields = std::move(fields),
          .body = error_text(rpc::code::invalid_request, why)};
}

}  // namespace

struct RpcEndpoint::State {
  State(Loop& loop_, std::shared_ptr<const rpc::Router> router_, rpc::PeerOptions peer_,
        RpcEndpointOptions options_)
      : loop(loop_),
        router(std::move(router_)),
        peer(std::move(peer_)),
        options(std::move(options_)),
        sweep(loop_, [this] { gone.clear(); }),
        last(loop_, [] {}) {}

  Loop& loop;
  std::shared_ptr<const rpc::Router> router;
  rpc::PeerOptions peer;
  RpcEndpointOptions options;
  std::list<std::unique_ptr<Lane>> busy;
  std::list<std::unique_ptr<Lane>> idle;
  std::list<std::unique_ptr<Lane>> gone;  // until nothing of them is on the stack
  Wakeup sweep;
  Wakeup last;  // keeps this until nothing of it is on the stack
  bool draining = false;

  http::Fields fields_for(const http::Request& request) const {
    http::Fields fields;
    if (const std::string_view origin = options.access.listed_origin(request); !origin.empty()) {
      fields.add("Access-Control-Allow-Origin", origin);
      fields.add("Vary", "Origin");
    }
    return fields;
  }

  std::optional<http::Response> not_for_you(const http::Request& request) const {
    if (const auto why = options.access.refusal(request)) return refused(403, *why);
    if (!options.path.empty() && !request.is_at(options.path))
      return refused(404, "nothing is served at this path");
    return std::nullopt;
  }

  /// Why a request is not answered by a peer.
  std::optional<http::Response> refusal(const http::Request& request) const {
    if (auto why = not_for_you(request)) return why;
    if (request.method == "OPTIONS" && !options.access.origins.empty()) {
      http::Fields fields;
      if (!options.access.listed_origin(request).empty()) {
        fields = {{"Access-Control-Allow-Methods", "POST, OPTIONS"},
                  {"Access-Control-Allow-Headers", "Content-Type, Authorization"},
                  {"Access-Control-Max-Age", "600"}};
      }
      return http::Response{.status = 204, .fields = std::move(fields), .body = {}};
    }
    if (!options.post) {
      if (auto why = WebSocketTransport::refusal(request)) return why;
      return refused(505, "WebSocket needs HTTP/1.1");  // 1.0 has no upgrade
    }
    if (request.method != "POST") return refused(405, "JSON-RPC takes POST", {{"Allow", "POST"}});
    if (!request.is_type(json_type))
      return refused(415, "the Content-Type must be application/json");
    if (draining) return refused(503, "the server is shutting down", {{"Retry-After", "1"}});
    if (busy.size() >= peer.limits.process_in_flight) {
      return refused(503, "busy: too many requests are in flight; try again later",
                     {{"Retry-After", "1"}});
    }
    return std::nullopt;
  }

  Lane& lane();
  void settle(Lane& lane) noexcept;
  void end() noexcept;
};

/// Carries one request at a time to its own peer, and the answer back.
struct RpcEndpoint::Lane final : rpc::Output, http::Exchange::Owner {
  explicit Lane(State& state_)
      : state(state_), timer(state_.loop), wake(state_.loop, [this] { process(); }) {
    rpc::PeerOptions options = state.peer;
    options.wake = [this] { wake.signal(); };  // not once the peer is closed
    options.deadline_moved = [this] { arm(); };
    peer.emplace(*this, state.router, std::move(options));
  }
  ~Lane() override { peer.reset(); }

  State& state;
  Timer timer;
  Wakeup wake;
  std::string out;
  http::Exchange* exchange = nullptr;
  http::Fields more;
  bool spoilt = false;  // its handler may still run
  std::list<std::unique_ptr<Lane>>::iterator place;
  std::optional<rpc::Peer> peer;

  void run(const http::Request& request, http::Exchange& with) {
    exchange = &with;
    Rollback failed([&] {  // whoever called then answers the exchange, or ends it
      exchange = nullptr;
      with.set_owner(nullptr);
      end_without_answer();
    });
    more = state.fields_for(request);
    peer->receive(request.body, request.spare, facts_of(request));
    if (exchange && peer->in_flight() == 0) unanswered(0);
    if (exchange) {
      exchange->set_owner(this);
      if (state.draining) stop();
    }
    failed.dismiss();
    state.settle(*this);
  }

  /// Runs something of this request from the loop. What it throws, which is the end of memory, ends
  /// this request and nothing else.
  template <class F>
  void survive(F&& work) noexcept {
    try {
      work();
    } catch (...) {
      state.peer.log.caught("a request is given up");
      give_up(0);
    }
    state.settle(*this);
  }
  void process() noexcept {
    survive([&] { peer->process(); });
  }
  void end_without_answer() noexcept {
    spoilt = true;
    peer->close();
    state.settle(*this);
  }
  void arm() {
    const std::optional<TimePoint> next = peer->next_deadline();
    if (!next) return;
    const Duration wait = std::max(*next - peer->options().clock->now(), Duration(0));
    timer.start(wait, [this] {
      survive([&] {
        peer->expire(peer->options().clock->now());
        arm();
      });
    });
  }
  void stop() {
    peer->end_of_input(rpc::connection_closed("the server is shutting down"));
    peer->process();
  }

  // Output

  std::string& output() override { return out; }
  void flush() override {}
  void finish(const rpc::Outbound& message) override {
    if (!message.is_answer()) {
      state.peer.log.limited(
          LogLevel::warning,
          "a handler called or notified a client over HTTP, where there is no way to it");
    } else if (exchange) {
      const Error* const error = message.error;
      const bool bad = error && (error->code == rpc::code::parse_error ||
                                 error->code == rpc::code::invalid_request);
      exchange->respond(bad ? 400 : 200, json_type, std::string_view(out).substr(message.begin),
                        more);
      exchange = nullptr;
    }
    out.resize(message.begin);
  }
  void unanswered(rpc::Route) override {
    if (!exchange) return;
    exchange->respond(204, {}, {}, more);
    exchange = nullptr;
  }

  bool give_up(rpc::Route) noexcept override {
    if (exchange) std::exchange(exchange, nullptr)->abort();
    spoilt = true;
    return true;
  }

  // Exchange::Owner

  void on_gone() override {
    exchange = nullptr;
    spoilt = true;
    peer->on_close(rpc::connection_closed("the client is gone"));
    state.settle(*this);
  }
};

RpcEndpoint::Lane& RpcEndpoint::State::lane() {
  if (idle.empty()) {
    busy.push_back(std::make_unique<Lane>(*this));
  } else {
    busy.splice(busy.end(), idle, idle.begin());
  }
  busy.back()->place = std::prev(busy.end());
  return *busy.back();
}

/// Puts the lane where it belongs, if it is done with its request.
void RpcEndpoint::State::settle(Lane& lane) noexcept {
  if (lane.exchange || lane.place == busy.end()) return;
  const auto place = std::exchange(lane.place, busy.end());
  const bool reusable = !lane.spoilt && !peer.attach && lane.peer->in_flight() == 0;
  if (reusable && !draining && idle.size() < most_idle) {
    if (lane.out.capacity() > keep_capacity) std::string().swap(lane.out);
    return idle.splice(idle.begin(), busy, place);
  }
  // Later: it may be on the stack.
  gone.splice(gone.end(), busy, place);
  sweep.signal();
}

/// The end of the endpoint: no handler is heard any more.
void RpcEndpoint::State::end() noexcept {
  while (!busy.empty()) {
    Lane& lane = *busy.front();
    lane.give_up(0);
    lane.end_without_answer();
  }
  idle.clear();
}

RpcEndpoint::RpcEndpoint(Loop& loop, std::shared_ptr<const rpc::Router> router,
                         rpc::PeerOptions options, RpcEndpointOptions endpoint)
    : state_(std::make_shared<State>(loop, std::move(router), std::move(options),
                                     std::move(endpoint))) {}

RpcEndpoint::~RpcEndpoint() {
  State& state = *state_;
  state.end();
  state.last.signal(std::move(state_));
}

std::optional<http::Response> RpcEndpoint::on_head(const http::Request& request) {
  // Nothing is worth reading that will be refused.
  return state_->refusal(request);
}

void RpcEndpoint::on_request(const http::Request& request, http::Exchange& exchange) {
  if (const auto refusal = state_->refusal(request)) {
    http::Fields more = state_->fields_for(request);
    std::string_view type;
    for (const auto& [name, value] : refusal->fields) {
      if (http::same_name(name, "Content-Type")) {
        type = value;
      } else {
        more.add(name, value);
      }
    }
    return exchange.respond(refusal->status, type, refusal->body, more);
  }
  state_->lane().run(request, exchange);
}

std::optional<http::Response> RpcEndpoint::on_upgrade(const http::Request& request, Stream& stream,
                                                      std::string_view rest) {
  if (auto refusal = state_->not_for_you(request)) return refusal;
  if (!state_->options.on_websocket) {
    return refused(400, "this address takes no upgrade to another protocol");
  }
  if (auto refusal = WebSocketTransport::refusal(request)) return refusal;
  if (state_->draining) return refused(503, "the server is shutting down");
  const std::string peer(request.peer);
  auto transport = WebSocketTransport::accept(state_->loop, std::move(stream), request, rest,
                                              {.protocols = state_->options.protocols,
                                               .limits = state_->peer.limits,
                                               .clock = state_->peer.clock,
                                               .room = state_->options.room});
  if (!transport) return refused(400, transport.error().message);
  state_->options.on_websocket(*std::move(transport), peer);
  return std::nullopt;
}

void RpcEndpoint::set_port(std::uint16_t port) noexcept { state_->options.access.port = port; }

std::size_t RpcEndpoint::in_flight() const noexcept { return state_->busy.size(); }

void RpcEndpoint::drain() {
  state_->draining = true;
  state_->idle.clear();
  // One after the other from the front to the back: stopping one may end any of them.
  std::list<std::unique_ptr<Lane>>& busy = state_->busy;
  for (std::size_t most = busy.size(); most > 0 && !busy.empty(); --most) {
    busy.splice(busy.end(), busy, busy.begin());
    Lane& lane = *busy.back();
    lane.stop();
    state_->settle(lane);
  }
}

}  // namespace godwit::inline v0
