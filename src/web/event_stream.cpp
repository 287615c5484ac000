#include "event_stream.hpp"

#include "godwit/http/sse_event.hpp"
#include "http_session.hpp"
#include "random_id.hpp"
#include "wire.hpp"

namespace godwit::inline v0::detail {

EventStream::~EventStream() {
  if (exchange_) hang_up();
  if (!name_.empty()) endpoint_.options.events->forget(name_);
}

void EventStream::open(HttpSession& session, http::Exchange* exchange, http::Fields more) {
  session_ = &session;
  more_ = std::move(more);
  if (exchange) {
    exchange_ = exchange;
    ++endpoint_.open_exchanges;
  }
  begun_ = finished_ = false;
}

void EventStream::leave_stack() {
  if (exchange_) exchange_->set_owner(this);
}

void EventStream::detach() noexcept {
  if (!exchange_) return;
  exchange_ = nullptr;
  --endpoint_.open_exchanges;
}

void EventStream::begin(bool prime) {
  if (begun_) return;
  begun_ = true;
  name_ = random_id();
  if (!exchange_) return;
  exchange_->begin(200, sse_type, with_stream_fields(more_));
  spoke_ = endpoint_.clock->coarse();
  if (prime) push(priming(last_));
}

/// Tells the client an id to come back with.
std::string EventStream::priming(std::uint64_t number) const {
  std::string event;
  const std::string id = id_of(number);
  http::write_event(event, {.id = id});
  return event;
}

bool EventStream::push(std::string_view bytes) {
  spoke_ = endpoint_.clock->coarse();
  // What waits already decides, not the new event: one alone may be larger than the bound.
  if (exchange_->unsent() <= endpoint_.limits.output_queue_bytes * 4) {
    exchange_->write(bytes);
    return true;
  }
  // What it did not read is kept; it may come back for it.
  endpoint_.log.warning("a client does not read its stream; the connection is closed");
  hang_up();
  return false;
}

void EventStream::hang_up() {
  if (!exchange_) return;
  exchange_->abort();
  detach();
}

std::string EventStream::event_of(std::uint64_t number, std::string_view data) const {
  std::string event;
  const std::string id = id_of(number);
  http::write_event(event, {.data = data, .id = id});
  return event;
}

void EventStream::message(std::string_view text) {
  begin(session_->primes());
  endpoint_.options.events->append(name_, ++last_, text);
  if (exchange_ && push(event_of(last_, text))) sent_ = last_;
}

void EventStream::answer(int status, std::string_view text) {
  finished_ = true;
  if (begun_) {
    endpoint_.options.events->append(name_, ++last_, text);
    if (!exchange_) return;
    if (push(event_of(last_, text))) {
      sent_ = last_;
      exchange_->end();
    }
  } else if (exchange_) {
    session_->add_fields(more_);
    exchange_->respond(status, json_type, text, more_);
  }
  detach();
}

void EventStream::finish() {
  if (!exchange_) return;
  if (begun_) {
    exchange_->end();
  } else {
    exchange_->respond(404, {}, {}, more_);
  }
  detach();
}

void EventStream::no_answer() {
  finished_ = true;
  if (!exchange_) return;
  if (begun_) {
    exchange_->end();
  } else {
    exchange_->respond(202, {}, {}, more_);
  }
  detach();
}

bool EventStream::resume(http::Exchange& exchange, std::uint64_t after, http::Fields more,
                         bool prime) {
  std::vector<std::pair<std::uint64_t, std::string>> events;
  if (after != last_ && !endpoint_.options.events->replay(
                            name_, after, [&](std::uint64_t number, std::string_view data) {
                              events.emplace_back(number, data);
                            })) {
    return false;
  }
  hang_up();  // the connection that the client has left behind
  exchange_ = &exchange;
  ++endpoint_.open_exchanges;
  begun_ = true;
  exchange_->begin(200, sse_type, with_stream_fields(std::move(more)));
  exchange_->set_owner(this);
  spoke_ = endpoint_.clock->coarse();
  // At once, however much it is, which what is kept bounds: who was cut off in the middle would
  // have to come back for the same again.
  std::string all = prime ? priming(after) : std::string();
  for (const auto& [number, data] : events) all += event_of(number, data);
  exchange_->write(all);
  if (!events.empty()) sent_ = events.back().first;
  if (!finished_) return true;
  exchange_->end();
  detach();
  return true;
}

void EventStream::let_go() {
  if (finished_ || !exchange_) return;
  begin(true);
  if (!exchange_) return;
  std::string event;
  http::write_event(event, {.retry = static_cast<std::uint64_t>(endpoint_.options.retry.count())});
  push(event);
  if (!exchange_) return;
  exchange_->end();
  detach();
}

std::optional<TimePoint> EventStream::keep_alive(TimePoint now) {
  const Duration most = endpoint_.limits.sse_keep_alive;
  if (exchange_ && begun_ && spoke_ + most <= now) {
    std::string comment;
    http::write_comment(comment);
    push(comment);
  }
  if (!exchange_) return std::nullopt;
  return (begun_ ? spoke_ : now) + most;
}

void EventStream::on_gone() {
  detach();
  session_->stream_left();  // this stays: the client may come back
}

}  // namespace godwit::inline v0::detail
