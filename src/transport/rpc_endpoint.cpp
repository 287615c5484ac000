#include "godwit/transport/rpc_endpoint.hpp"

#include <algorithm>
#include <list>
#include <utility>

#include "godwit/base/rollback.hpp"
#include "godwit/http/admit.hpp"
#include "godwit/http/parked_request.hpp"
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

http::Response too_late() {
  return refused(503, "it was not decided in time who is calling; try again later",
                 {{"Retry-After", "1"}});
}

}  // namespace

struct RpcEndpoint::State {
  State(Loop& loop_, std::shared_ptr<const rpc::Router> router_, rpc::PeerOptions peer_,
        RpcEndpointOptions options_)
      : loop(loop_),
        router(std::move(router_)),
        peer(std::move(peer_)),
        options(std::move(options_)),
        sweep(loop_,
              [this] {
                gone.clear();
                gone_undecided.clear();
              }),
        last(loop_, [] {}) {}

  Loop& loop;
  std::shared_ptr<const rpc::Router> router;
  rpc::PeerOptions peer;
  RpcEndpointOptions options;
  std::list<std::unique_ptr<Lane>> busy;
  std::list<std::unique_ptr<Lane>> idle;
  /// Until nothing of them is on the stack. Destroyed later, and not at once and watched, because
  /// the handler that is running may be writing its answer into the buffer of its lane.
  std::list<std::unique_ptr<Lane>> gone;
  std::list<std::unique_ptr<Undecided>> undecided;
  std::list<std::unique_ptr<Undecided>> gone_undecided;  // likewise
  std::size_t undecided_bytes = 0;
  Wakeup sweep;
  Wakeup last;  // keeps this until nothing of it is on the stack
  bool draining = false;
  bool ended = false;  // the endpoint is gone; this is still on the stack

  http::Fields fields_for(const http::Request& request) const {
    http::Fields fields;
    if (request.admitted) fields = request.admitted->fields;
    if (const std::string_view origin = options.access.listed_origin(request); !origin.empty()) {
      fields.add("Access-Control-Allow-Origin", origin);
      fields.add("Vary", "Origin");
      if (options.admission) {
        fields.add("Access-Control-Expose-Headers", http::admission_fields);
      }
    }
    return fields;
  }

  std::optional<http::Response> not_for_you(const http::Request& request, bool checked) const {
    if (!checked) {
      if (const auto why = options.access.refusal(request)) return refused(403, *why);
    }
    if (!options.path.empty() && !request.is_at(options.path))
      return refused(404, "nothing is served at this path");
    return std::nullopt;
  }

  /// Why a request is not answered by a peer.
  std::optional<http::Response> refusal(const http::Request& request) const {
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
    if (busy.size() + undecided.size() >= peer.limits.process_in_flight) return too_busy();
    return std::nullopt;
  }
  static http::Response too_busy() {
    return refused(503, "busy: too many requests are in flight; try again later",
                   {{"Retry-After", "1"}});
  }

  /// Before its body is read: nothing is worth reading that will be refused.
  void decide(const http::Request& head, http::Decision& decision) const {
    if (!options.access.origins.empty()) decision.set_refusal_fields(fields_for(head));
    if (auto why = not_for_you(head, decision.access_checked())) {
      return decision.refuse(*std::move(why));
    }
    decision.set_access_checked();
    const bool upgrade = options.on_websocket && head.fields.lists("Upgrade", "websocket");
    if (!upgrade) {
      if (auto why = refusal(head)) return decision.refuse(*std::move(why));
    }
    if (!options.admission) return decision.admit();
    options.admission->decide(head, decision);
  }

  void run(const http::Request& request, http::Exchange& exchange);
  void admit(const http::Request& request, http::Exchange& exchange);
  void park(const http::Request& request, http::Exchange& exchange, http::PendingDecision pending);
  Lane& lane();
  void settle(Lane& lane) noexcept;
  void end() noexcept;
};

/// A request that waits for a decision, on an HTTP stack that did not ask by itself.
struct RpcEndpoint::Undecided {
  Undecided(State& state_, const http::Request& request, http::Exchange& exchange)
      : state(state_),
        parked(request, exchange, [this] { leave(); }),
        timer(state_.loop),
        wake(state_.loop, [this] { answer(pending.take()); }) {}

  /// It does not wait any more. It may be on the stack.
  void leave() noexcept {
    state.undecided_bytes -= parked.request().size();
    state.gone_undecided.splice(state.gone_undecided.end(), state.undecided, place);
    state.sweep.signal();
  }
  void answer(const http::Outcome& outcome) noexcept {
    http::Exchange* const exchange = parked.take();
    if (!exchange) return;
    leave();
    try {
      http::serve_decided(parked.request().view(), *exchange, outcome, state.peer.log,
                          [&](const http::Request& admitted) { state.run(admitted, *exchange); });
    } catch (...) {
      state.peer.log.caught("a request is given up");
      exchange->abort();
    }
  }

  State& state;
  http::ParkedRequest parked;
  Timer timer;
  Wakeup wake;
  std::list<std::unique_ptr<Undecided>>::iterator place;
  http::PendingDecision pending;  // goes first: it signals the others
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
      int status = bad ? 400 : 200;
      if (error) status = http::status_of(*error, status, more);
      exchange->respond(status, json_type, std::string_view(out).substr(message.begin), more);
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
  ended = true;
  undecided.clear();
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

void RpcEndpoint::State::run(const http::Request& request, http::Exchange& exchange) {
  if (auto why = refusal(request)) {
    for (const auto& [name, value] : fields_for(request)) why->fields.add(name, value);
    return exchange.answer(*why);
  }
  lane().run(request, exchange);
}

/// Of a stack that did not ask when it had the head.
void RpcEndpoint::State::admit(const http::Request& request, http::Exchange& exchange) {
  http::PendingDecision pending = http::admit(
      request, exchange, peer.log,
      [&](const http::Request& head, http::Decision& decision) {
        decide(head, decision);
        return !ended;  // the admission may destroy the endpoint
      },
      [&](const http::Request& admitted) { run(admitted, exchange); });
  if (pending) park(request, exchange, std::move(pending));
}

void RpcEndpoint::State::park(const http::Request& request, http::Exchange& exchange,
                              http::PendingDecision pending) {
  if (undecided_bytes + request.body.size() > peer.limits.process_body_bytes) {
    return exchange.answer(too_busy());
  }
  undecided.push_back(std::make_unique<Undecided>(*this, request, exchange));
  Undecided& waiting = *undecided.back();
  waiting.place = std::prev(undecided.end());
  undecided_bytes += waiting.parked.request().size();
  Rollback failed([&] {  // whoever called then answers the exchange, or ends it
    waiting.parked.take();
    waiting.leave();
  });
  waiting.timer.start(peer.limits.admission_time, [&waiting] {
    waiting.answer({.kind = http::Outcome::Kind::refused, .admitted = {}, .refusal = too_late()});
  });
  waiting.pending = std::move(pending);
  if (!waiting.pending.wait([&waiting] { waiting.wake.signal(); })) waiting.wake.signal();
  failed.dismiss();
}

void RpcEndpoint::on_head(const http::Request& head, http::Decision& decision) {
  state_->decide(head, decision);
}

void RpcEndpoint::on_request(const http::Request& request, http::Exchange& exchange) {
  const auto state = state_;  // the admission may destroy the endpoint
  request.admitted ? state->run(request, exchange) : state->admit(request, exchange);
}

std::optional<http::Response> RpcEndpoint::on_upgrade(const http::Request& request, Stream& stream,
                                                      std::string_view rest) {
  if (!request.admitted) {
    const auto state = state_;  // the admission may destroy the endpoint
    http::Decision decision;
    if (request.access_checked) decision.set_access_checked();
    state->decide(request, decision);
    if (state->ended) return refused(503, "the server is shutting down");
    // Nothing can wait here: whoever brings upgrades has to ask when it has the head.
    if (decision.pending()) return too_late();
    http::Outcome& outcome = decision.outcome();
    if (outcome.kind == http::Outcome::Kind::refused) return std::move(outcome.refusal);
    if (outcome.kind != http::Outcome::Kind::admitted) return http::Response{.status = 500};
    http::Request admitted = request;
    admitted.admitted = &outcome.admitted;
    return on_upgrade(admitted, stream, rest);
  }
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

std::size_t RpcEndpoint::in_flight() const noexcept {
  return state_->busy.size() + state_->undecided.size();
}

void RpcEndpoint::drain() {
  const auto state = state_;  // a handler that is told to stop may destroy the endpoint
  state->draining = true;
  state->idle.clear();
  // One after the other from the front to the back: stopping one may end any of them.
  std::list<std::unique_ptr<Lane>>& busy = state->busy;
  for (std::size_t most = busy.size(); most > 0 && !busy.empty(); --most) {
    busy.splice(busy.end(), busy, busy.begin());
    Lane& lane = *busy.back();
    lane.stop();
    state->settle(lane);
  }
}

}  // namespace godwit::inline v0
