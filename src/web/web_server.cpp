#include "godwit/web/web_server.hpp"

#include <algorithm>
#include <optional>

#include "godwit/io/timer.hpp"

namespace godwit::inline v0 {

struct WebServer::State {
  State(Loop& loop_, Server& server_) : loop(loop_), clock(server_.options().clock), timer(loop_) {}

  /// Starts the timer for the next deadline of the endpoint.
  void arm() {
    const auto next = endpoint->next_deadline();
    if (!next) return timer.cancel();
    const Duration wait = std::max<Duration>(*next - clock->now(), Duration::zero());
    timer.start(wait, [this] {
      endpoint->expire(clock->now());
      arm();
    });
  }

  Loop& loop;
  const Clock* clock;
  Timer timer;
  std::string url;
  std::shared_ptr<State*> self = std::make_shared<State*>(this);  // for work that is posted
  std::optional<Endpoint> endpoint;
  std::optional<http::HttpServer> http;

  ~State() {
    *self = nullptr;
    http.reset();  // its connections call the endpoint
  }
};

WebServer::WebServer(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
WebServer::~WebServer() = default;
WebServer::WebServer(WebServer&&) noexcept = default;
WebServer& WebServer::operator=(WebServer&&) noexcept = default;

namespace {

bool is_own_machine(std::string_view host) {
  return host == "localhost" || host.starts_with("127.") || host == "::1";
}

}  // namespace

Result<WebServer> WebServer::listen(Loop& loop, Server& server, const Address& address,
                                    WebServerOptions options) {
  auto state = std::make_unique<State>(loop, server);
  State* const raw = state.get();
  EndpointOptions& mine = options.endpoint;
  mine.access.wide = mine.access.wide || !is_own_machine(address.host);
  mine.access.port = address.port;
  mine.wake = [&loop, weak = std::weak_ptr(raw->self)] {
    loop.post([weak] {
      const auto self = weak.lock();
      if (self && *self) (*self)->endpoint->process();
    });
  };
  mine.deadline_moved = [raw] { raw->arm(); };
  const std::string path = mine.path;
  state->endpoint.emplace(server, std::move(mine));
  Result<http::HttpServer> http = http::HttpServer::tcp(
      loop, address, *state->endpoint,
      {.limits = server.options().limits,
       .log = server.options().log,
       .share_port = options.share_port,
       .tls = options.tls});
  if (!http) return std::move(http).error();
  state->http.emplace(*std::move(http));
  if (const auto bound = Address::parse(state->http->address())) {
    state->endpoint->set_port(bound->port);
  }
  state->url = (options.tls ? "https://" : "http://") + state->http->address() + path;
  return WebServer(std::move(state));
}

const std::string& WebServer::url() const noexcept { return state_->url; }
const std::string& WebServer::address() const noexcept { return state_->http->address(); }
Endpoint& WebServer::endpoint() noexcept { return *state_->endpoint; }
std::size_t WebServer::connections() const noexcept { return state_->http->connections(); }

void WebServer::drain(Function<void()> done, Duration most) {
  state_->endpoint->drain();
  state_->http->drain(std::move(done), most);
}

}  // namespace godwit::inline v0
