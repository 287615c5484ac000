#include "godwit/web/web_server.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "endpoint_impl.hpp"
#include "godwit/io/address.hpp"
#include "godwit/io/timer.hpp"
#include "godwit/io/wakeup.hpp"
#include "godwit/web/memory_event_store.hpp"
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
        arm_again(loop_, [this] { arm(); }) {}
  ~Share() {
    *self = nullptr;
    http.reset();  // its connections call the endpoint
  }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  /// Starts the timer for the next deadline of the endpoint.
  void arm() noexcept {
    const auto next = endpoint->next_deadline();
    if (!next) return timer.cancel();
    const Duration wait = std::max<Duration>(*next - clock->now(), Duration::zero());
    try {
      timer.start(wait, [this] {
        endpoint->expire(clock->now());
        arm();
      });
    } catch (...) {  // no memory for a moment; nobody may be forgotten for that
      arm_again.signal();
    }
  }

  Loop& loop;
  const Clock* clock;
  Timer timer;
  Wakeup wake;
  Wakeup arm_again;
  std::shared_ptr<Share*> self = std::make_shared<Share*>(this);  // for work that is posted
  std::optional<Endpoint> endpoint;
  std::optional<http::HttpServer> http;
};

}  // namespace

struct WebServer::State {
  std::vector<std::unique_ptr<Loop>> loops;  // beside the given one
  std::shared_ptr<detail::web::EndpointGroup> group;
  std::vector<std::unique_ptr<Share>> shares;  // the first one on the given loop
  std::vector<std::thread> threads;
  std::string url;
  std::size_t draining = 0;
  std::shared_ptr<std::atomic<std::size_t>> body_bytes =
      std::make_shared<std::atomic<std::size_t>>(0);
  Function<void()> drained;
  std::shared_ptr<State*> anchor = std::make_shared<State*>(this);  // used on the first thread

  ~State() {
    *anchor = nullptr;
    for (const auto& loop : loops) loop->stop();
    for (std::thread& thread : threads) thread.join();
    for (const auto& share : shares) share->http.reset();
    shares.clear();
  }

  Result<void> add(Loop& loop, Server& server, const Address& address,
                   const WebServerOptions& options) {
    shares.push_back(std::make_unique<Share>(loop, server.options().clock));
    Share* const share = shares.back().get();
    EndpointOptions mine = options.endpoint;
    mine.access.wide = mine.access.wide || !is_loopback(address.host);
    mine.access.port = address.port;
    mine.wake = [share] { share->wake.signal(); };  // not once the endpoint is gone
    // Each thread has its part of what the process may have.
    Limits part = server.options().limits;
    part.event_store_bytes /= options.threads;
    part.connections = (part.connections + options.threads - 1) / options.threads;
    // Those of one address are not spread evenly.
    part.connections_per_address =
        std::min(part.connections_per_address,
                 (2 * part.connections_per_address + options.threads - 1) / options.threads);
    if (!mine.events) mine.events = std::make_shared<MemoryEventStore>(part);
    mine.deadline_moved = [share] { share->arm(); };
    share->endpoint.emplace(server, std::move(mine));
    Result<http::HttpServer> http =
        http::HttpServer::tcp(loop, address, *share->endpoint,
                              {.limits = part,
                               .log = server.options().log,
                               .share_port = options.share_port || options.threads > 1,
                               .tls = options.tls,
                               .body_bytes = body_bytes});
    if (!http) return std::move(http).error();
    share->http.emplace(*std::move(http));
    if (const auto bound = Address::parse(share->http->address())) {
      share->endpoint->listens_on(*bound);
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
      impl.open_exchanges.join(shares[0]->endpoint->impl().open_exchanges);
      impl.session_count.join(shares[0]->endpoint->impl().session_count);
      impl.census = shares[0]->endpoint->impl().census;
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

Result<WebServer> WebServer::listen(Loop& loop, Server& server, const Address& address,
                                    WebServerOptions options) {
  if (options.endpoint.stateless && !server.options().sealer) {
    return error(
        "cannot listen on " + address.text() +
        ": the server has no sealer, without which a handler could ask stateless clients nothing; "
        "set ServerOptions::sealer, for example to std::make_shared<godwit::AesSealer>(), or serve "
        "stateful clients only (EndpointOptions::stateless)");
  }
  options.threads = std::clamp(options.threads, 1u, 256u);  // a session says whose it is in a byte
  auto state = std::make_unique<State>();
  if (Result<void> added = state->add(loop, server, address, options); !added) {
    return std::move(added).error();
  }
  // With port 0 the others take the one that the first has got.
  const Result<Address> bound = Address::parse(state->shares.front()->http->address());
  while (state->shares.size() < options.threads) {
    state->loops.push_back(std::make_unique<Loop>());
    Result<void> added =
        state->add(*state->loops.back(), server, bound ? *bound : address, options);
    if (!added) return std::move(added).error();
  }
  state->start(server.options().log);
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
  Loop& first = state->shares.front()->loop;
  for (const auto& share : state->shares) {
    share->loop.post([weak = std::weak_ptr(share->self), anchor = state->anchor, most, &first] {
      const auto alive = weak.lock();
      if (!alive || !*alive) return;
      (*alive)->endpoint->drain();
      (*alive)->http->drain(
          [anchor, &first] {
            first.post([anchor] {
              State* const there = *anchor;
              if (!there || --there->draining > 0 || !there->drained) return;
              std::exchange(there->drained, nullptr)();
            });
          },
          most);
    });
  }
}

}  // namespace godwit::inline v0
