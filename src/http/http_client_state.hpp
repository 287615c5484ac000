// The inside of an HttpClient: the connections that wait for the next request.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "godwit/base/lifetime.hpp"
#include "godwit/http/http_client.hpp"
#include "godwit/io/timer.hpp"
#include "http/link.hpp"

namespace godwit::inline v0::http {

struct HttpClient::State {
  using LinkPtr = std::shared_ptr<Link>;
  /// A connection idle for less than this is not one that its server is just closing: none of those
  /// in use waits less than 5 s (Node.js).
  static constexpr Duration surely_alive = std::chrono::seconds(2);

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
    link->wait(now(), [self = Lifetime::Ref(lifetime, *this), origin, raw = link.get()] {
      State* const state = self.get();
      if (!state) return;
      const auto found = state->idle.find(origin);
      if (found != state->idle.end()) state->remove(found, raw);
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
  Lifetime lifetime;
};

}  // namespace godwit::inline v0::http
