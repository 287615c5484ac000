#include "godwit/http/mux.hpp"

#include <algorithm>
#include <utility>

namespace godwit::inline v0::http {

namespace {

Response plain(int status, std::string text) {
  return {.status = status,
          .fields = {{"Content-Type", "text/plain; charset=utf-8"}},
          .body = std::move(text)};
}

Response not_found() { return plain(404, "there is nothing at this path\n"); }

}  // namespace

Mux::Mux(MuxOptions options) : options_(std::move(options)) {}

Result<void> Mux::add(std::string_view path, Handler& handler) { return add(path, false, handler); }
Result<void> Mux::add_below(std::string_view path, Handler& handler) {
  return add(path, true, handler);
}

Result<void> Mux::add(std::string_view path, bool below, Handler& handler) {
  if (!path.starts_with('/') || path.find_first_of("?#") != path.npos) {
    return error("\"" + std::string(path) +
                 "\" is no path to serve: it must begin with a slash and have no query");
  }
  std::string_view name = path;
  if (name.ends_with('/')) name.remove_suffix(1);
  const auto taken = [&](const Route& route) { return route.path == name && route.below == below; };
  if (std::ranges::any_of(routes_, taken)) {
    return error("the path " + std::string(path) + " has a handler already");
  }
  routes_.push_back({std::string(name), below, &handler});
  return {};
}

/// Few routes, so a walk over them is fastest. It costs no more than their length, whatever is
/// asked for.
Handler* Mux::find(const Request& request) const noexcept {
  const std::string_view path = request.path();
  const Route* best = nullptr;
  for (const Route& route : routes_) {
    if (!path.starts_with(route.path)) continue;
    const std::string_view behind = path.substr(route.path.size());
    if (!route.below) {
      if (behind.empty() || behind == "/") return route.handler;
    } else if (behind.empty() || behind.front() == '/') {
      if (!best || route.path.size() > best->path.size()) best = &route;
    }
  }
  return best ? best->handler : otherwise_;
}

std::optional<Response> Mux::refusal(const Request& request) const {
  std::optional<std::string> why = options_.access.refusal(request);
  if (!why) return std::nullopt;
  if (options_.forbidden) return options_.forbidden(request, *why);
  return plain(403, *std::move(why) + "\n");
}

void Mux::on_head(const Request& head, Decision& decision) {
  if (!decision.access_checked()) {
    if (auto refused = refusal(head)) return decision.refuse(*std::move(refused));
    decision.set_access_checked();
  }
  if (Handler* const handler = find(head)) return handler->on_head(head, decision);
  decision.refuse(not_found());
}

void Mux::on_request(const Request& request, Exchange& exchange) {
  Handler* const handler = find(request);
  if (request.access_checked && handler) return handler->on_request(request, exchange);
  if (!request.access_checked) {
    if (const auto refused = refusal(request)) return exchange.answer(*refused);
  }
  if (!handler) return exchange.answer(not_found());
  Request checked = request;
  checked.access_checked = true;
  handler->on_request(checked, exchange);
}

std::optional<Response> Mux::on_upgrade(const Request& request, Stream& stream,
                                        std::string_view rest) {
  if (!request.access_checked) {
    if (auto refused = refusal(request)) return refused;
  }
  Handler* const handler = find(request);
  if (!handler) return not_found();
  if (request.access_checked) return handler->on_upgrade(request, stream, rest);
  Request checked = request;
  checked.access_checked = true;
  return handler->on_upgrade(checked, stream, rest);
}

}  // namespace godwit::inline v0::http
