#include "reception.hpp"

#include <algorithm>
#include <utility>

#include "godwit/http/request.hpp"
#include "transport_impl.hpp"
#include "wire.hpp"

namespace godwit::inline v0::detail {

namespace {

/// Before coming back to a stream of which the server did not say how long to wait, and however
/// often that failed.
constexpr Duration usual_retry = std::chrono::seconds(1);
constexpr Duration longest_retry = std::chrono::seconds(30);
/// A server may want it later than that, but not in years.
constexpr std::uint64_t most_retry_ms = 24u * 3600u * 1000u;
/// A stream that was quiet for so long was no failure.
constexpr Duration long_enough = std::chrono::seconds(10);
/// Of an event, besides the message in it.
constexpr std::size_t around_message = 1u << 10;

std::string type_of(std::string_view field) {
  std::string out(http::media_type(field));
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

bool Received::is_stream() const noexcept { return accepted() && type == sse_type; }

Reception::Reception(HttpTransport::Impl& core)
    : core_(core), retry_(usual_retry), timer_(core.loop) {}

Reception::~Reception() = default;

void Reception::drop() noexcept {
  fetch_.cancel();
  timer_.cancel();
}

void Reception::send(http::HttpRequest request) {
  received_ = {};
  events_.reset();
  fruitful_ = false;
  fetch_ = core_.client.fetch(
      std::move(request),
      {.on_head = [this](int status, http::FieldsView fields) { take_head(status, fields); },
       .on_body = [this](std::string_view piece) { take_body(piece); },
       .on_end = [this](Result<void> how) { take_end(std::move(how)); }});
}

void Reception::take_head(int status, const http::FieldsView& fields) {
  const auto self = shared_from_this();
  const auto core = core_.shared_from_this();
  received_.status = status;
  received_.type = type_of(fields.find("Content-Type").value_or(""));
  received_.location = fields.find("Location").value_or("");
  if (received_.is_stream()) {
    // The bound is for the message; an event has a name and an id around it.
    Limits limits = core_.options.limits;
    limits.sse_event_bytes += std::min(around_message, SIZE_MAX - limits.sse_event_bytes);
    events_.emplace(limits);
  }
  opened_ = steady_clock().now();
  on_head(status, fields);
}

void Reception::take_body(std::string_view piece) {
  const auto self = shared_from_this();
  const auto core = core_.shared_from_this();
  if (!events_) {
    if (received_.body.size() + piece.size() > core_.options.limits.sse_event_bytes) {
      return too_large();
    }
    received_.body += piece;
    return;
  }
  using Event = http::SseDecoder::Event;
  events_->feed(piece);
  while (fetch_.active()) {
    const Event next = events_->next();
    if (next == Event::none) return;
    if (next == Event::failed) return too_large();
    const http::SseEvent& event = events_->event();
    if (event.data.size() > core_.options.limits.sse_event_bytes) return too_large();
    if (event.retry) retry_ = std::chrono::milliseconds(std::min(*event.retry, most_retry_ms));
    last_id_ = events_->last_id().empty() ? last_id_ : events_->last_id();
    fruitful_ = true;
    fruitless_ = 0;
    on_event(event);
  }
}

void Reception::too_large() {
  fetch_.cancel();
  received_.too_large = true;
  take_end(error("the server sent more than " +
                 std::to_string(core_.options.limits.sse_event_bytes) +
                 " bytes in one message (Limits::sse_event_bytes)"));
}

void Reception::take_end(Result<void> how) {
  const auto self = shared_from_this();
  const auto core = core_.shared_from_this();
  received_.how = std::move(how);
  const Received received = std::exchange(received_, {});
  if (received.is_stream() && !fruitful_ && steady_clock().now() - opened_ >= long_enough) {
    fruitless_ = 0;
  }
  on_done(received);
}

void Reception::on_head(int, const http::FieldsView&) {}

void Reception::later(Function<void()> again) {
  const unsigned doublings = std::min(fruitless_++, 10u);
  const Duration most = std::max(retry_, longest_retry);
  timer_.start(std::min(retry_ * (1u << doublings), most), std::move(again));
}

}  // namespace godwit::inline v0::detail
