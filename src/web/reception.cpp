#include "reception.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "godwit/http/request.hpp"
#include "godwit/rpc/error_code.hpp"
#include "transport_impl.hpp"
#include "wire.hpp"

namespace godwit::inline v0::detail::web {

namespace {

/// Before coming back to a stream of which the server did not say how long to wait, and however
/// often that failed.
constexpr Duration usual_retry = std::chrono::seconds(1);
constexpr Duration longest_retry = std::chrono::seconds(30);
/// A stream that was open for so long was no failure.
constexpr Duration long_enough = std::chrono::seconds(10);
/// What an event counts that nobody could use, among the comments of a second. Not by its size: the
/// answer to a call that was given up may be large and come late.
constexpr std::size_t unused_event = 64;
/// Of an event, besides the message in it.
constexpr std::size_t around_message = 1u << 10;

std::string type_of(std::string_view field) {
  std::string out(http::media_type(field));
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// What the server wishes, within the limits.
Duration pause(std::uint64_t wish, const Limits& limits) {
  using Milliseconds = std::chrono::milliseconds;
  const auto most = std::chrono::duration_cast<Milliseconds>(limits.sse_retry_most).count();
  const Milliseconds wanted(
      static_cast<std::int64_t>(std::min<std::uint64_t>(wish, static_cast<std::uint64_t>(most))));
  return std::min<Duration>(std::max<Duration>(wanted, limits.sse_retry_least),
                            limits.sse_retry_most);
}

/// The Content-Encoding, if the body is anything but itself.
std::string coding_of(const http::FieldsView& fields) {
  constexpr std::size_t most_shown = 100;
  const std::string_view field = fields.find("Content-Encoding").value_or("");
  if (field.empty() || http::same_name(field, "identity")) return {};
  return std::string(field.substr(0, most_shown));
}

}  // namespace

bool Received::is_stream() const noexcept { return accepted() && type == sse_type; }

Reception::Reception(HttpTransport::Impl& core)
    : core_(core),
      retry_(std::min(usual_retry, core.options.limits.sse_retry_most)),
      timer_(core.loop) {}

Reception::~Reception() = default;

void Reception::drop() noexcept {
  fetch_.cancel();
  timer_.cancel();
}

void Reception::send(http::HttpRequest request) {
  received_ = {};
  events_.reset();
  unused_ = 0;
  useless_before_ = 0;
  request.follow_redirects = true;
  core_.authorize(request);
  http::HttpCallbacks callbacks{
      .on_head = [this](int status,
                        http::FieldsView fields) { survive([&] { take_head(status, fields); }); },
      .on_body = [this](std::string_view piece) { survive([&] { take_body(piece); }); },
      .on_end = [this](Result<void> how) { survive([&] { take_end(std::move(how)); }); }};
  if (request.authorizer) {
    callbacks.on_held = [this](bool held) { survive([&] { on_held(held); }); };
  }
  fetch_ = core_.client.fetch(std::move(request), std::move(callbacks));
}

/// The end of memory ends the connection: an answer may be lost, and nobody may wait for it.
template <class F>
void Reception::survive(F&& run) {
  const auto self = shared_from_this();
  const auto core = core_.shared_from_this();
  try {
    run();
  } catch (const std::bad_alloc&) {
    core->options.log.caught("the connection is closed");
    core->end(Error{.code = rpc::code::connection_closed, .message = "out of memory"});
  }
}

void Reception::take_head(int status, const http::FieldsView& fields) {
  received_.status = status;
  received_.type = type_of(fields.find("Content-Type").value_or(""));
  if (const auto location = fields.only("Location")) received_.location = *location;
  received_.coding = coding_of(fields);
  if (received_.is_stream()) {
    // The bound is for the message; an event has a name and an id around it.
    Limits limits = core_.options.limits;
    limits.sse_event_bytes += std::min(around_message, SIZE_MAX - limits.sse_event_bytes);
    events_.emplace(limits);
  }
  opened_ = second_ = steady_clock().now();
  on_head(status, fields);
  if (fetch_.active() && received_.accepted() && !received_.coding.empty()) {
    break_off("the server sent its answer compressed (Content-Encoding: " + received_.coding +
              "), which was not asked for and cannot be read");
  }
}

void Reception::take_body(std::string_view piece) {
  if (!received_.coding.empty()) return;
  if (!events_) {
    if (received_.body.size() + piece.size() > core_.options.limits.sse_event_bytes) {
      return too_large();
    }
    received_.body += piece;
    return;
  }
  const TimePoint now = steady_clock().now();
  if (now - second_ >= std::chrono::seconds(1)) {
    second_ = now;
    useless_before_ = useless();
  }
  events_->feed(piece);
  take_events();
}

void Reception::take_events() {
  using Event = http::SseDecoder::Event;
  const Limits& limits = core_.options.limits;
  while (fetch_.active()) {
    const Event next = events_->next();
    if (useless() - useless_before_ > limits.sse_comment_bytes) {
      return break_off("the server sent more than " + std::to_string(limits.sse_comment_bytes) +
                       " bytes of comments and the like in a second (Limits::sse_comment_bytes)");
    }
    if (next == Event::none) return;
    if (next == Event::failed) return too_large();
    const http::SseEvent& event = events_->event();
    if (event.data.size() > limits.sse_event_bytes) return too_large();
    if (event.retry) retry_ = pause(*event.retry, limits);
    bool news = false;
    if (event.id) {
      // It is sent back in a header field. What cannot stand there is as good as no id.
      const bool usable =
          event.id->size() <= limits.sse_id_bytes && http::is_field_value(*event.id);
      const std::string_view id = usable ? *event.id : std::string_view();
      news = last_id_ != id;
      last_id_ = id;
    }
    fruitless_ = 0;
    if (on_event(event)) {
      news = true;
    } else {
      unused_ += unused_event;
    }
    if (news) stale_ = 0;
  }
}

void Reception::too_large() {
  break_off("the server sent more than " + std::to_string(core_.options.limits.sse_event_bytes) +
            " bytes in one message (Limits::sse_event_bytes)");
}

void Reception::break_off(std::string why) {
  fetch_.cancel();
  received_.broken_off = true;
  take_end(error(std::move(why)));
}

void Reception::take_end(Result<void> how) {
  received_.how = std::move(how);
  const Received received = std::exchange(received_, {});
  if (received.is_stream() && steady_clock().now() - opened_ >= long_enough) {
    fruitless_ = 0;
    stale_ = 0;
  }
  on_done(received);
}

void Reception::on_head(int, const http::FieldsView&) {}
void Reception::on_held(bool) {}

void Reception::later(Function<void()> again) {
  ++fruitless_;
  const unsigned doublings = std::min(stale_++, 10u);
  const Duration most =
      std::max(retry_, std::min(longest_retry, core_.options.limits.sse_retry_most));
  timer_.start(std::min(retry_ * (1u << doublings), most),
               [this, again = std::move(again)]() mutable { survive(again); });
}

}  // namespace godwit::inline v0::detail::web
