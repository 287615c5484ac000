#include "godwit/web/web_server.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "endpoint_impl.hpp"
#include "godwit/base/lifetime.hpp"
#include "godwit/base/misuse.hpp"
#include "godwit/base/random.hpp"
#include "godwit/http/mux.hpp"
#include "godwit/io/address.hpp"
#include "godwit/io/timer.hpp"
#include "godwit/io/wakeup.hpp"
#include "godwit/mcp/memory_event_store.hpp"
#include "godwit/transport/rpc_server.hpp"
#include "relay.hpp"

namespace godwit::inline v0 {

namespace {

/// What runs on one thread.
struct Share {
  Share(Loop& loop_, const Clock* clock_)
      : loop(loop_),
        clock(clock_),
        timer(loop_),
        wake(loop_, [this] { endpoint->process(); }),
        arm_again(loop_, [this] { arm(); }),
        begin_drain(loop_, [this] { drain(); }) {}
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  /// Starts the timer for the next deadline of the endpoint.
  void arm() noexcept {
    const auto next = endpoint->next_deadline();
    if (!next) return timer.cancel();
    const Duration wait = std::max<Duration>(*next - clock->now(), Duration::zero());
    try {
      timer.start(wait, [this] {
        const Lifetime::Watch watch(lifetime);
        endpoint->expire(clock->now());
        if (!watch.expired()) arm();
      });
    } catch (...) {  // no memory for a moment; nobody may be forgotten for that
      arm_again.signal();
    }
  }

  void drain() noexcept {
    const Lifetime::Watch watch(lifetime);
    try {
      endpoint->drain();
      if (watch.expired()) return;
      draining = sockets ? 2 : 1;
      const auto one_done = [this] {
        if (--draining == 0) drained();
      };
      http->drain(one_done, drain_time);
      if (watch.expired() || !sockets) return;
      sockets->on_closed(one_done);
      sockets->close();
    } catch (...) {  // no memory for a moment
      if (!watch.expired()) begin_drain.signal();
    }
  }

  Loop& loop;
  const Clock* clock;
  Timer timer;
  Wakeup wake;
  Wakeup arm_again;
  Wakeup begin_drain;
  Duration drain_time{};                                 // with
  std::function<void()> drained;                         // set before it is signalled
  int draining = 0;                                      // parts that are
  std::vector<std::shared_ptr<http::Handler>> handlers;  // of the program
  std::optional<Endpoint> endpoint;
  std::optional<RpcServer> sockets;  // if WebSockets are taken
  std::optional<http::Mux> mux;
  std::optional<http::HttpServer> http;  // goes before the others: its connections call them
  Lifetime lifetime;
};

}  // namespace

struct WebServer::State {
  explicit State(Loop& first)
      : tell_drained(first, [this] {
          if (auto done = std::exchange(drained, nullptr)) done();
        }) {}

  std::vector<std::unique_ptr<Loop>> loops;  // beside the given one
  std::shared_ptr<detail::web::EndpointGroup> group;
  std::vector<std::unique_ptr<Share>> shares;  // the first one on the given loop
  std::vector<std::thread> threads;
  std::string url;
  std::atomic<std::size_t> draining = 0;  // of the shares
  std::shared_ptr<std::atomic<std::size_t>> body_bytes =
      std::make_shared<std::atomic<std::size_t>>(0);
  Function<void()> drained;
  Wakeup tell_drained;

  ~State() {
    for (const auto& loop : loops) {
      if (!loop->on_loop_thread()) continue;
      detail::base::misuse(
          "a WebServer was destroyed on a thread of its own, which it would have to wait for; do "
          "it "
          "on the thread of its loop (Loop::post)");
    }
    for (const auto& loop : loops) loop->stop();
    for (std::thread& thread : threads) thread.join();
    for (const auto& share : shares) share->http.reset();
    shares.clear();
  }

  Result<void> add(Loop& loop, Service& service, const Address& address,
                   const WebServerOptions& options) {
    const rpc::PeerOptions settings = service.peer_options();
    shares.push_back(std::make_unique<Share>(loop, settings.clock));
    Share* const share = shares.back().get();
    EndpointOptions mine = options.endpoint;
    mine.access.wide = mine.access.wide || !is_loopback(address.host);
    mine.access.port = address.port;
    mine.wake = [share] { share->wake.signal(); };  // not once the endpoint is gone
    // Each thread has its part of what the process may have.
    Limits part = settings.limits;
    part.event_store_bytes /= options.threads;
    part.connections = (part.connections + options.threads - 1) / options.threads;
    // Those of one address are not spread evenly.
    part.connections_per_address =
        std::min(part.connections_per_address,
                 (2 * part.connections_per_address + options.threads - 1) / options.threads);
    if (!mine.events) mine.events = std::make_shared<MemoryEventStore>(part);
    mine.deadline_moved = [share] { share->arm(); };
    share->endpoint.emplace(service, std::move(mine));
    if (Result<void> added = add_routes(*share, service, options); !added) return added;
    Result<http::HttpServer> http = http::HttpServer::tcp(
        loop, address, *share->mux,
        {.limits = part,
         .log = settings.log,
         .make_room = [share] { return share->sockets && share->sockets->make_room(); },
         .share_port = options.share_port || options.threads > 1,
         .tls = options.tls,
         .body_bytes = body_bytes});
    if (!http) return std::move(http).error();
    share->http.emplace(*std::move(http));
    if (const auto bound = Address::parse(share->http->address())) {
      share->endpoint->listens_on(*bound);
      share->mux->access() = share->endpoint->impl().options.access;
    }
    return {};
  }

  Result<void> add_routes(Share& share, Service& service, const WebServerOptions& options) {
    Endpoint& endpoint = *share.endpoint;
    const EndpointOptions& own = endpoint.impl().options;
    http::Mux& mux = share.mux.emplace(
        http::MuxOptions{.access = own.access,
                         .forbidden = [&endpoint](const http::Request& request, std::string why) {
                           return endpoint.impl().forbidden(request, std::move(why));
                         }});
    mux.otherwise(endpoint);  // which knows its paths, and what to say about others
    for (const std::string* path :
         {&own.path, &own.sse_path, &own.health_path, &own.metrics_path}) {
      static_cast<void>(mux.add(*path, endpoint));  // so that nobody else takes it
    }
    if (!options.websocket_path.empty()) {
      share.sockets.emplace(share.loop, service.router(), service.peer_options());
      http::Handler& handler = share.sockets->websocket_handler({.path = options.websocket_path,
                                                                 .access = own.access,
                                                                 .admission = own.admission,
                                                                 .protocols = {"mcp"}});
      if (auto added = mux.add(options.websocket_path, handler); !added) return added;
    }
    for (const WebRoute& route : options.routes) {
      Result<void> added = route.below ? mux.add_below(route.path, *route.handler)
                                       : mux.add(route.path, *route.handler);
      if (!added) return added;
      share.handlers.push_back(route.handler);
    }
    return {};
  }

  /// Makes the endpoints known to each other, and starts the threads.
  void start(const Log& log) {
    if (shares.size() == 1) return;
    group = std::make_shared<detail::web::EndpointGroup>();
    for (const auto& share : shares) {
      group->members.push_back({.endpoint = &share->endpoint->impl(), .loop = &share->loop});
    }
    for (std::size_t i = 0; i < shares.size(); ++i) {
      Endpoint::Impl& impl = shares[i]->endpoint->impl();
      impl.group = group;
      impl.shard = i;
      impl.places =
          std::make_unique<detail::web::ThreadPlaces>(group, i, impl.options.sessions != nullptr);
      impl.open_exchanges.join(shares[0]->endpoint->impl().open_exchanges);
      impl.session_count.join(shares[0]->endpoint->impl().session_count);
      impl.census = shares[0]->endpoint->impl().census;
      impl.byte_census = shares[0]->endpoint->impl().byte_census;
      if (impl.options.metrics) impl.tell_numbers();
    }
    for (const auto& loop : loops) {
      threads.emplace_back([raw = loop.get(), log] {
        const Loop::Work work(*raw);
        raw->run(log);
      });
    }
  }
};

WebServer::WebServer(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
WebServer::~WebServer() = default;
WebServer::WebServer(WebServer&&) noexcept = default;
WebServer& WebServer::operator=(WebServer&&) noexcept = default;

Result<WebServer> WebServer::listen(Loop& loop, Service& service, const Address& address,
                                    WebServerOptions options) {
  if (options.endpoint.stateless) {
    if (const Result<void> able = service.check_stateless(); !able) {
      return error("cannot listen on " + address.text() + ": " + able.error().message);
    }
  }
  options.threads = std::clamp(options.threads, 1u, 256u);  // a session says whose it is in a byte
  // To stores all threads are one server.
  if (options.endpoint.name.empty()) options.endpoint.name = random_hex();
  auto state = std::make_unique<State>(loop);
  if (Result<void> added = state->add(loop, service, address, options); !added) {
    return std::move(added).error();
  }
  // With port 0 the others take the one that the first has got.
  const Result<Address> bound = Address::parse(state->shares.front()->http->address());
  while (state->shares.size() < options.threads) {
    state->loops.push_back(std::make_unique<Loop>());
    Result<void> added =
        state->add(*state->loops.back(), service, bound ? *bound : address, options);
    if (!added) return std::move(added).error();
  }
  state->start(service.peer_options().log);
  state->url = (options.tls ? "https://" : "http://") + state->shares.front()->http->address() +
               options.endpoint.path;
  return WebServer(std::move(state));
}

const std::string& WebServer::url() const noexcept { return state_->url; }
const std::string& WebServer::address() const noexcept {
  return state_->shares.front()->http->address();
}

void WebServer::drain(Function<void()> done, Duration most) {
  State* const state = state_.get();
  state->drained = std::move(done);
  state->draining = state->shares.size();
  for (const auto& share : state->shares) {
    share->drain_time = most;
    share->drained = [state] {
      if (--state->draining == 0) state->tell_drained.signal();
    };
    share->begin_drain.signal();
  }
}

}  // namespace godwit::inline v0
