#include "server_stream.hpp"

#include <utility>

#include "mcp/carrier_error.hpp"
#include "transport_impl.hpp"
#include "wire.hpp"

namespace godwit::inline v0::detail::web {

namespace {

std::string describe(const Received& received) {
  if (!received.how) return received.how.error().message;
  return received.status == 0 ? "no answer" : "HTTP " + std::to_string(received.status);
}

}  // namespace

void ServerStream::start() {
  http::HttpRequest request = core_.get();
  if (resumable()) request.fields.set("Last-Event-ID", last_id());
  in_session_ = request.fields.find(mcp::header::session).has_value();
  send(std::move(request));
}

void ServerStream::on_head(int status, const http::FieldsView&) {
  if (status / 100 == 2) was_open_ = true;
}

bool ServerStream::on_event(const http::SseEvent& event) {
  return is_message(event) && core_.deliver(event.data, nullptr) == Delivered::taken;
}

void ServerStream::on_done(const Received& received) {
  const bool answered = received.status != 0 && !received.is_stream();
  const bool refused = answered && (received.status < 500 || !was_open_);
  const bool again = std::exchange(tried_, true);
  // Of a session that was there a moment ago; the first time it may mean that there is no stream.
  if (again && in_session_ && received.status == 404) return core_.session_ended();
  if (received.accepted() && !received.coding.empty()) {
    core_.options.log.warning("what the server says on its own cannot be heard: " +
                              describe(received));
    return;
  }
  // Whoever logs in somebody was asked, and would be asked again for each attempt.
  const bool unauthorized = received.status == 401 || received.status == 403;
  if (core_.options.authorizer && unauthorized) {
    core_.options.log.warning("what the server says on its own cannot be heard: " +
                              describe(received));
    return;
  }
  if (refused && !resumable()) {
    core_.options.log.debug("the server has no stream of its own (" + describe(received) + ")");
    return;
  }
  if (refused) {
    core_.options.log.warning(
        "what the server said while its stream was cut is lost: it does not resume it (" +
        describe(received) + ")");
    forget_last_id();
  }
  later([this] { start(); });
}

SseStream::SseStream(HttpTransport::Impl& core, std::shared_ptr<Post> first, Error why)
    : Reception(core), first_(std::move(first)), why_(std::move(why)) {}

void SseStream::start() {
  limit_endpoint();
  send(core_.get());
}

void SseStream::limit_endpoint() {
  after(core_.options.endpoint_timeout, [this] { give_up("no \"endpoint\" event came in time"); });
}

void SseStream::on_held(bool held) {
  if (!first_) return;
  if (held) {
    stop_waiting();
  } else {
    limit_endpoint();
  }
  first_->on_held(held);
}

bool SseStream::on_event(const http::SseEvent& event) {
  if (!first_) return is_message(event) && core_.deliver(event.data, nullptr) == Delivered::taken;
  if (event.event != "endpoint") return false;
  take_endpoint(event.data);
  return true;
}

void SseStream::take_endpoint(std::string_view address) {
  const http::Url& here = core_.options.url;
  const std::size_t most = core_.options.limits.uri_bytes;
  if (address.size() > most) {
    return give_up("the address in its \"endpoint\" event has more than " + std::to_string(most) +
                   " bytes (Limits::uri_bytes)");
  }
  const auto endpoint = here.resolve(address);
  if (!endpoint) {
    return give_up("the address in its \"endpoint\" event cannot be used: " +
                   endpoint.error().message);
  }
  if (endpoint->origin() != here.origin()) {
    return give_up("its \"endpoint\" event sends messages to another origin, " +
                   here.describe(address) + ", which is not followed");
  }
  stop_waiting();
  core_.options.log.debug("the server speaks HTTP+SSE; messages go to " + endpoint->text());
  core_.use_sse(*endpoint);
  std::exchange(first_, nullptr)->start();
}

void SseStream::on_done(const Received& received) {
  if (first_ && received.not_authorized()) {
    const auto core = core_.shared_from_this();
    const auto self = shared_from_this();
    drop();
    core_.forget_sse();
    return std::exchange(first_, nullptr)->fail(received.how.error());
  }
  if (first_) return give_up(describe(received));
  core_.end(mcp::carrier_error("the server ended the event stream (" + describe(received) + ")"));
}

void SseStream::give_up(const std::string& reason) {
  const auto self = shared_from_this();
  const auto core = core_.shared_from_this();
  drop();
  core_.forget_sse();
  why_.message += "; the older HTTP+SSE transport was tried, too: " + reason;
  std::exchange(first_, nullptr)->fail(why_);
}

}  // namespace godwit::inline v0::detail::web
