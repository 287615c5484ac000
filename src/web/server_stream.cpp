#include "server_stream.hpp"

#include <utility>

#include "mcp/carrier_error.hpp"
#include "transport_impl.hpp"

namespace godwit::inline v0::detail {

namespace {

std::string describe(const Received& received) {
  if (received.status != 0) return "HTTP " + std::to_string(received.status);
  return received.how ? "no answer" : received.how.error().message;
}

bool is_message(const http::SseEvent& event) {
  return (event.event.empty() || event.event == "message") && !event.data.empty();
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

void ServerStream::on_event(const http::SseEvent& event) {
  if (is_message(event)) core_.deliver(event.data, nullptr);
}

void ServerStream::on_done(const Received& received) {
  const bool answered = received.status != 0 && !received.is_stream();
  const bool refused = answered && (received.status < 500 || !was_open_);
  const bool again = std::exchange(tried_, true);
  // Of a session that was there a moment ago; the first time it may mean that there is no stream.
  if (again && in_session_ && received.status == 404) return core_.session_ended();
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
  after(core_.options.endpoint_timeout, [this] { give_up("no \"endpoint\" event came in time"); });
  send(core_.get());
}

void SseStream::on_event(const http::SseEvent& event) {
  if (!first_) {
    if (is_message(event)) core_.deliver(event.data, nullptr);
    return;
  }
  if (event.event != "endpoint") return;
  const http::Url& here = core_.options.url;
  const auto endpoint = here.resolve(event.data);
  if (!endpoint) return give_up(endpoint.error().message);
  if (endpoint->origin() != here.origin()) {
    return give_up("messages would go to another origin, " + endpoint->origin());
  }
  stop_waiting();
  core_.options.log.debug("the server speaks HTTP+SSE; messages go to " + endpoint->text());
  core_.use_sse(*endpoint);
  std::exchange(first_, nullptr)->start();
}

void SseStream::on_done(const Received& received) {
  if (first_) return give_up(describe(received));
  core_.end(mcp::carrier_error("the server ended the event stream (" + describe(received) + ")"));
}

void SseStream::give_up(const std::string& reason) {
  const auto self = shared_from_this();
  const auto core = core_.shared_from_this();
  drop();
  core_.options.log.debug("the server does not speak HTTP+SSE either: " + reason);
  core_.forget_sse();
  std::exchange(first_, nullptr)->fail(why_);
}

}  // namespace godwit::inline v0::detail
