#include "godwit/http/http_client.hpp"

#include <algorithm>
#include <map>
#include <new>
#include <utility>
#include <vector>

#include "godwit/base/version.hpp"
#include "http/dial.hpp"
#include "http/link.hpp"
#include "http/syntax.hpp"

namespace godwit::inline v0::http {

namespace {

/// A connection idle for less than this is not one that its server is just closing: none of those
/// in use waits less than 5 s (Node.js).
constexpr Duration surely_alive = std::chrono::seconds(2);
/// Of the body of a redirect, which nobody reads: more, and the connection is not used again.
constexpr std::size_t most_skipped = 64u << 10;

bool is_repeatable(const HttpRequest& request) {
  return request.repeatable.value_or(request.method != "POST" && request.method != "PATCH" &&
                                     request.method != "CONNECT");
}

bool is_own_field(std::string_view name) {
  return same_name(name, "Host") || same_name(name, "Content-Length") ||
         same_name(name, "Transfer-Encoding") || same_name(name, "Connection");
}

/// A Url may have been put together by hand.
std::optional<Error> mistake(const HttpRequest& request) {
  std::string_view host;
  std::string_view port;
  if (!is_token(request.method)) return error("the method of a request must be a token");
  if (request.url.scheme != "http" && request.url.scheme != "https") {
    return error("a request needs an address that begins with http:// or https://");
  }
  const std::string authority = request.url.authority();
  if (!split_authority(authority, host, port) || !request.url.target.starts_with('/') ||
      !all_of_class(request.url.target, target_char)) {
    return error("the address of a request is not valid: " + shown(request.url.text()));
  }
  return std::nullopt;
}

/// `relay` is the proxy that the request is handed to, if it is.
std::string wire_of(const HttpRequest& request, const Proxy* relay) {
  const bool body = !request.body.empty() || request.method == "POST" || request.method == "PUT" ||
                    request.method == "PATCH";
  std::string out = request.method;
  out += ' ';
  out += relay ? request.url.text() : request.url.target;
  out += " HTTP/1.1\r\nHost: " + request.url.authority() + "\r\n";
  Fields fields;
  for (const auto& [name, value] : request.fields) {
    // A password for a proxy is for nobody else.
    if (!relay && same_name(name, "Proxy-Authorization")) continue;
    if (!is_own_field(name)) fields.add(name, value);
  }
  if (!fields.find("User-Agent")) fields.add("User-Agent", "godwit/" + std::string(version()));
  if (relay && !relay->authorization.empty()) {
    fields.set("Proxy-Authorization", relay->authorization);
  }
  if (body) fields.add("Content-Length", std::to_string(request.body.size()));
  fields.write(out);
  out += "\r\n";
  out += request.body;
  return out;
}

}  // namespace

struct HttpClient::State : std::enable_shared_from_this<State> {
  using LinkPtr = std::shared_ptr<Link>;

  State(Loop& loop_, HttpClientOptions options_)
      : loop(loop_), options(std::move(options_)), timer(loop_) {
    if (options.proxies) {
      proxies = *options.proxies;
    } else if (options.proxy_from_environment) {
      proxies = Proxies::from_environment();
    }
  }

  void close() {
    closed = true;
    close_idle();
  }

  void close_idle() {
    timer.cancel();
    for (auto& [origin, links] : std::exchange(idle, {})) {
      for (const LinkPtr& link : links) link->close();
    }
  }

  /// A connection to use again, or none.
  LinkPtr take(const std::string& origin, bool repeatable) {
    const auto found = idle.find(origin);
    if (found == idle.end()) return nullptr;
    LinkPtr link = found->second.back();  // the one that waits shortest
    if (!repeatable && now() - link->waits_since() > surely_alive) return nullptr;
    remove(found, link.get());
    return link;
  }

  /// Keeps it for another request. Without the memory for that it is closed.
  void put(const std::string& origin, const LinkPtr& link) noexcept {
    try {
      keep(origin, link);
    } catch (...) {
      link->close();
      const auto found = idle.find(origin);
      if (found != idle.end()) remove(found, link.get());
    }
  }

  void keep(const std::string& origin, const LinkPtr& link) {
    if (closed || options.idle_connections == 0) return link->close();
    link->wait(now(), [weak = weak_from_this(), origin, raw = link.get()] {
      const auto self = weak.lock();
      if (!self) return;
      const auto found = self->idle.find(origin);
      if (found != self->idle.end()) self->remove(found, raw);
    });
    std::vector<LinkPtr>& links = idle[origin];
    links.push_back(link);
    if (links.size() > options.idle_connections) {
      links.front()->close();
      links.erase(links.begin());
    }
    if (!timer.active()) timer.start(options.idle_time, [this] { expire(); });
  }

  void expire() {
    std::optional<TimePoint> oldest;
    for (auto found = idle.begin(); found != idle.end();) {
      std::erase_if(found->second, [&](const LinkPtr& link) {
        if (now() - link->waits_since() < options.idle_time) return false;
        link->close();
        return true;
      });
      if (found->second.empty()) {
        found = idle.erase(found);
        continue;
      }
      const TimePoint first = found->second.front()->waits_since();
      oldest = oldest ? std::min(*oldest, first) : first;
      ++found;
    }
    if (oldest) timer.start(*oldest + options.idle_time - now(), [this] { expire(); });
  }

  void remove(std::map<std::string, std::vector<LinkPtr>>::iterator found, const Link* link) {
    std::erase_if(found->second, [&](const LinkPtr& each) { return each.get() == link; });
    if (!found->second.empty()) return;
    idle.erase(found);
    if (idle.empty()) timer.cancel();
  }

  /// Made when it is needed: reading all that the system trusts takes its time.
  Result<TlsContext> secure() {
    if (!options.tls) {
      Result<TlsContext> made = TlsContext::client({.protocols = {"http/1.1"}});
      if (!made) return made;
      options.tls = *std::move(made);
    }
    return *options.tls;
  }

  static TimePoint now() { return steady_clock().now(); }

  Loop& loop;
  HttpClientOptions options;
  Proxies proxies;
  Timer timer;
  std::map<std::string, std::vector<LinkPtr>> idle;  // by origin; those that wait longest first
  bool closed = false;
};

// One request: a connection, perhaps another one, and an outcome.

struct FetchHandle::Fetch final : Link::User, std::enable_shared_from_this<Fetch> {
  Fetch(std::shared_ptr<HttpClient::State> client_, HttpRequest request_, HttpCallbacks callbacks_)
      : client(std::move(client_)),
        request(std::move(request_)),
        callbacks(std::move(callbacks_)),
        repeatable(is_repeatable(request)) {}
  ~Fetch() { drop(); }

  /// Runs something of this request from the loop. The end of memory is its outcome.
  template <class F>
  void survive(F&& run) {
    const auto self = shared_from_this();
    try {
      run();
    } catch (const std::bad_alloc&) {
      if (done) throw;  // by whoever was told the outcome
      if (link) std::exchange(link, nullptr)->close();
      finish(Error{.message = "out of memory"});  // short enough to need none
    }
  }

  void start() {
    if (auto wrong = mistake(request)) return finish(*std::move(wrong));
    Result<std::optional<Proxy>> found = client->proxies.find(request.url);
    if (!found) return finish(std::move(found).error());
    proxy = *std::move(found);
    const Proxy* const relay = proxy && !request.url.secure() ? &*proxy : nullptr;
    origin = relay ? "via " + relay->url.origin() : request.url.origin();
    wire = wire_of(request, relay);
    body_size = request.body.size();
    request.body = {};
    link = client->take(origin, repeatable);
    if (!link) return connect();
    reused = true;
    link->send(*this, request.method, wire);
  }

  void connect() {
    reused = false;
    std::optional<TlsContext> tls;
    if (request.url.secure()) {
      Result<TlsContext> found = client->secure();
      if (!found) return finish(std::move(found).error());
      tls = *std::move(found);
    }
    DialOptions to{.proxy = proxy,
                   .connect = {.timeout = client->options.connect_timeout, .tls = std::move(tls)},
                   .limits = client->options.limits};
    dial.emplace(client->loop, request.url, std::move(to), [this](Result<Stream> stream) {
      survive([&] { on_connected(std::move(stream)); });
    });
  }

  void on_connected(Result<Stream> stream) {
    if (!stream) return finish(std::move(stream).error());
    link = std::make_shared<Link>(client->loop, *std::move(stream), client->options.limits);
    link->send(*this, request.method, wire);
  }

  void on_head(int status, FieldsView fields) override {
    const auto self = shared_from_this();
    next = redirect(status, fields);
    skipped = 0;
    if (!next && callbacks.on_head) callbacks.on_head(status, fields);
  }

  void on_body(std::string_view piece) override {
    const auto self = shared_from_this();
    if (!next) {
      if (callbacks.on_body) callbacks.on_body(piece);
      return;
    }
    skipped += piece.size();
    if (skipped <= most_skipped) return;
    std::exchange(link, nullptr)->close();
    survive([&] { follow(); });
  }

  /// Where to go instead, if the program wants that and it is allowed.
  std::optional<Url> redirect(int status, const FieldsView& fields) const {
    const Limits& limits = client->options.limits;
    if (!request.follow_redirects || (status != 307 && status != 308)) return std::nullopt;
    if (redirects >= limits.http_redirects || fields.count("Location") != 1) return std::nullopt;
    const std::string_view location = *fields.find("Location");
    if (location.size() > limits.uri_bytes) return std::nullopt;
    Result<Url> to = request.url.resolve(location);
    if (!to || to->origin() != request.url.origin()) return std::nullopt;
    return *std::move(to);
  }

  void follow() {
    ++redirects;
    request.url = *std::exchange(next, std::nullopt);
    request.body = body();
    start();
  }

  std::string_view body() const noexcept {
    if (wire.empty()) return request.body;  // it has not started yet
    return std::string_view(wire).substr(wire.size() - body_size);
  }

  void on_done() override {
    const auto self = shared_from_this();
    const std::shared_ptr<Link> used = std::exchange(link, nullptr);
    if (used->reusable()) {
      client->put(origin, used);
    } else {
      used->close();
    }
    if (next) return survive([&] { follow(); });
    finish({});
  }

  void on_broken(Error why) override {
    const auto self = shared_from_this();
    const std::shared_ptr<Link> used = std::exchange(link, nullptr);
    if (reused && !used->heard() && (repeatable || !used->sent())) {
      return survive([&] { connect(); });
    }
    try {
      why.message = request.url.origin() + ": " + why.message;
    } catch (const std::bad_alloc&) {  // which is told as it is, then
    }
    finish(std::move(why));
  }

  void finish(Result<void> how) {
    if (std::exchange(done, true)) return;
    // Taken out first: they may hold what holds this.
    HttpCallbacks last = std::exchange(callbacks, {});
    if (last.on_end) last.on_end(std::move(how));
  }

  void drop() noexcept {
    done = true;
    if (link) link->close();
    link = nullptr;
    dial.reset();
  }

  std::shared_ptr<HttpClient::State> client;
  HttpRequest request;
  HttpCallbacks callbacks;
  bool repeatable;
  std::optional<Proxy> proxy;
  std::string origin;
  std::string wire;
  std::size_t body_size = 0;  // at the end of it
  std::optional<Url> next;    // the answer is a redirect that is followed
  std::size_t redirects = 0;
  std::size_t skipped = 0;
  std::optional<Dial> dial;
  std::shared_ptr<Link> link;
  bool reused = false;
  bool done = false;
};

FetchHandle::FetchHandle(std::shared_ptr<Fetch> fetch) noexcept : fetch_(std::move(fetch)) {}

FetchHandle& FetchHandle::operator=(FetchHandle&& other) noexcept {
  if (this != &other) {
    cancel();
    fetch_ = std::move(other.fetch_);
  }
  return *this;
}

void FetchHandle::cancel() noexcept {
  if (const auto fetch = std::exchange(fetch_, nullptr)) fetch->drop();
}

bool FetchHandle::active() const noexcept { return fetch_ && !fetch_->done; }

std::string_view FetchHandle::body() const noexcept {
  return fetch_ ? fetch_->body() : std::string_view();
}

HttpClient::HttpClient(Loop& loop, HttpClientOptions options)
    : state_(std::make_shared<State>(loop, std::move(options))) {}

HttpClient::~HttpClient() {
  if (state_) state_->close();
}

HttpClient::HttpClient(HttpClient&&) noexcept = default;

HttpClient& HttpClient::operator=(HttpClient&& other) noexcept {
  if (this != &other) {
    if (state_) state_->close();
    state_ = std::move(other.state_);
  }
  return *this;
}

FetchHandle HttpClient::fetch(HttpRequest request, HttpCallbacks callbacks) {
  auto fetch =
      std::make_shared<FetchHandle::Fetch>(state_, std::move(request), std::move(callbacks));
  state_->loop.post([weak = std::weak_ptr(fetch)] {
    const auto self = weak.lock();
    if (self && !self->done) self->survive([&] { self->start(); });
  });
  return FetchHandle(std::move(fetch));
}

void HttpClient::close_idle() { state_->close_idle(); }

std::size_t HttpClient::idle() const noexcept {
  std::size_t count = 0;
  for (const auto& [origin, links] : state_->idle) count += links.size();
  return count;
}

}  // namespace godwit::inline v0::http
