#include "event_stream.hpp"

#include "godwit/base/random.hpp"
#include "godwit/base/rollback.hpp"
#include "godwit/http/response.hpp"
#include "godwit/http/sse_event.hpp"
#include "http_session.hpp"
#include "wire.hpp"

namespace godwit::inline v0::detail::web {

namespace {

/// What is sent again goes out in pieces of this size, the next one when the client has taken the
/// last: what waits for a connection is less than two of them, however much is kept for it.
constexpr std::size_t piece_bytes = 32u << 10;
/// After this much others have their turn.
constexpr std::size_t turn_bytes = 256u << 10;

}  // namespace

EventStream::~EventStream() {
  if (exchange_) hang_up();
  if (name_.empty()) return;
  try {
    endpoint_.options.events->forget(name_);
  } catch (...) {
    endpoint_.log.caught("the events of a stream could not be forgotten");
  }
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
  replaying_ = false;
  --endpoint_.open_exchanges;
}

void EventStream::begin(bool prime) {
  if (begun_) return;
  name_ = random_hex();
  if (exchange_) {
    Rollback failed([&] { hang_up(); });  // nobody knows how much of the head was sent
    exchange_->begin(200, sse_type, with_stream_fields(more_));
    failed.dismiss();
  }
  begun_ = true;
  if (!exchange_) return;
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
  if (keeps_up(*exchange_, endpoint_.limits)) {
    exchange_->write(bytes);
    return true;
  }
  // What it did not read is kept; it may come back for it.
  endpoint_.log.limited(LogLevel::warning,
                        "a client does not read its stream; the connection is closed");
  hang_up();
  return false;
}

void EventStream::leave_exchange(http::Exchange* only) noexcept {
  if (!exchange_ || (only && exchange_ != only)) return;
  exchange_->set_owner(nullptr);
  detach();
}

void EventStream::hang_up() noexcept {
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

/// As the next event. One that could not be kept has no number.
void EventStream::keep(std::string_view text) {
  endpoint_.options.events->append(name_, last_ + 1, text);
  ++last_;
}

void EventStream::message(std::string_view text) {
  begin(session_->primes());
  keep(text);
  if (exchange_ && !replaying_ && push(event_of(last_, text))) sent_ = last_;
}

void EventStream::answer(int status, std::string_view text, const Error* error) {
  finished_ = true;
  Rollback failed([&] { hang_up(); });  // it is not answered a second time
  send_answer(status, text, error);
  failed.dismiss();
}

void EventStream::send_answer(int status, std::string_view text, const Error* error) {
  if (begun_) {
    keep(text);
    if (!exchange_ || replaying_) return;
    if (push(event_of(last_, text))) {
      sent_ = last_;
      exchange_->end();
    }
  } else if (exchange_) {
    session_->add_fields(more_);
    if (error) status = http::status_of(*error, status, more_);
    exchange_->respond(status, json_type, text, more_);
  }
  detach();
}

void EventStream::finish() noexcept {
  if (!exchange_) return;
  try {
    if (begun_) {
      exchange_->end();
    } else {
      exchange_->respond(404, {}, {}, more_);
    }
  } catch (...) {
    endpoint_.log.caught("a stream is broken off");
    return hang_up();
  }
  detach();
}

void EventStream::no_answer() {
  finished_ = true;
  if (!exchange_ || replaying_) return;
  Rollback failed([&] { hang_up(); });
  if (begun_) {
    exchange_->end();
  } else {
    exchange_->respond(202, {}, {}, more_);
  }
  failed.dismiss();
  detach();
}

bool EventStream::resume(http::Exchange& exchange, std::uint64_t after, http::Fields more,
                         bool prime) {
  const auto look = [](std::uint64_t, std::string_view) { return false; };
  if (after != last_ && !endpoint_.options.events->replay(name_, after, look)) return false;
  finish();  // the connection that the client has left behind
  exchange_ = &exchange;
  ++endpoint_.open_exchanges;
  begun_ = true;
  exchange_->begin(200, sse_type, with_stream_fields(std::move(more)));
  exchange_->set_owner(this);
  spoke_ = endpoint_.clock->coarse();
  if (prime) exchange_->write(priming(after));
  sent_ = after;
  part_ = {};
  replaying_ = true;
  go_on();
  return true;
}

bool EventStream::write_piece(std::string& out) {
  const auto each = [&](std::uint64_t number, std::string_view data) {
    if (out.size() >= piece_bytes) return false;
    const std::string id = id_of(number);
    if (!http::write_event_part(out, {.data = data, .id = id}, part_, piece_bytes)) return false;
    sent_ = number;
    part_ = {};
    return true;
  };
  return endpoint_.options.events->replay(name_, sent_, each) && !out.empty();
}

void EventStream::go_on() {
  std::size_t written = 0;
  while (exchange_ && replaying_) {
    if (exchange_->unsent() >= piece_bytes) return;  // until on_drained()
    if (sent_ == last_) {
      replaying_ = false;
      if (!finished_) return;
      exchange_->end();
      detach();
      return session_->stream_left();
    }
    if (written >= turn_bytes) return session_->go_on_later();
    std::string out;
    bool there = false;
    try {
      there = write_piece(out);
    } catch (...) {  // part of it may be lost
      endpoint_.log.limited(LogLevel::error,
                            "what is kept of a stream could not be read; the connection is closed");
      return hang_up();
    }
    if (!there) {
      endpoint_.log.limited(
          LogLevel::warning,
          "a client takes its stream more slowly than it can be kept; the connection is closed");
      return hang_up();
    }
    written += out.size();
    spoke_ = endpoint_.clock->coarse();
    exchange_->write(out);
  }
}

void EventStream::let_go() {
  if (finished_ || !exchange_) return;
  begin(true);
  if (!exchange_) return;
  // Not in the middle of an event.
  if (!replaying_ || !part_.begun) {
    std::string event;
    http::write_event(event,
                      {.retry = static_cast<std::uint64_t>(endpoint_.options.retry.count())});
    push(event);
  }
  if (!exchange_) return;
  exchange_->end();
  detach();
}

std::optional<TimePoint> EventStream::keep_alive(TimePoint now) {
  const Duration most = endpoint_.limits.sse_keep_alive;
  if (exchange_ && begun_ && spoke_ + most <= now) {
    if (replaying_) {
      go_on();  // a comment would end the event that is under way
    } else {
      std::string comment;
      http::write_comment(comment);
      push(comment);
    }
  }
  if (!exchange_) return std::nullopt;
  return (begun_ && spoke_ + most > now ? spoke_ : now) + most;
}

void EventStream::on_drained() {
  const Endpoint::Impl::Entered entered(endpoint_);
  go_on();
}

void EventStream::on_gone() {
  const Endpoint::Impl::Entered entered(endpoint_);
  detach();
  session_->stream_left();  // this stays: the client may come back
}

}  // namespace godwit::inline v0::detail::web
