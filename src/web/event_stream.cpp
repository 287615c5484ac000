#include "event_stream.hpp"

#include "godwit/base/random.hpp"
#include "godwit/base/rollback.hpp"
#include "godwit/http/response.hpp"
#include "godwit/http/sse_event.hpp"
#include "http_session.hpp"
#include "returning.hpp"
#include "wire.hpp"

namespace godwit::inline v0::detail::web {

namespace {

/// The event without the line that its id is in, which is the first.
std::string_view without_id(std::string_view event) {
  return event.starts_with("id: ") ? event.substr(event.find('\n') + 1) : event;
}

}  // namespace

EventStream::EventStream(Endpoint::Impl& endpoint) : endpoint_(endpoint) {}

EventStream::~EventStream() {
  hang_up();
  drop_held();
}

StreamKey EventStream::key() const noexcept { return {.session = session_->id(), .stream = name_}; }

void EventStream::open(HttpSession& session, http::Exchange* exchange, http::Fields more) {
  session_ = &session;
  more_ = std::move(more);
  if (exchange) {
    exchange_ = exchange;
    ++endpoint_.open_exchanges;
  }
  begun_ = finished_ = false;
  name_.clear();
}

void EventStream::leave_stack() {
  if (exchange_) exchange_->set_owner(this);
}

void EventStream::detach() noexcept {
  if (!exchange_) return;
  exchange_ = nullptr;
  replaying_ = false;
  part_ = {};
  reading_.reset();
  drop_held();
  --endpoint_.open_exchanges;
  if (kept_) return;
  // Nobody can come back for it.
  for (const Waiting& event : waiting_) waiting_bytes_ -= event.event.size();
  waiting_.clear();
  forget();
}

void EventStream::name_it() {
  if (name_.empty()) name_ = random_hex();
}

void EventStream::begin(bool prime) {
  if (begun_) return;
  name_it();
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
    Rollback failed([&] { hang_up(); });  // nothing may follow what is missing
    exchange_->write(bytes);
    failed.dismiss();
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

// Keeping.

void EventStream::say(std::string_view text, bool final) {
  if (asking_) {  // by code of the store, or it is not known yet which number is next
    if (waiting_bytes_ > endpoint_.limits.unkept_bytes) {
      return endpoint_.log.limited(LogLevel::warning,
                                   "a message was dropped, because a store is too slow");
    }
    said_meanwhile_.push_back({.text = std::string(text), .final = final});
    waiting_bytes_ += text.size();
    return;
  }
  keep(text, final);
  say_the_rest();
}

void EventStream::say_the_rest() {
  while (!asking_ && !said_meanwhile_.empty()) {
    std::list<Said> next;
    next.splice(next.begin(), said_meanwhile_, said_meanwhile_.begin());
    waiting_bytes_ -= next.front().text.size();
    keep(next.front().text, next.front().final);
  }
  end_if_over();
}

void EventStream::keep(std::string_view text, bool final) {
  if (kept_ && waiting_bytes_ > endpoint_.limits.unkept_bytes) {
    stop_keeping(error("too much waits for it"));
    flush();
  }
  if (!kept_) {
    if (!exchange_) return;  // nobody can come back for it
    std::string event;
    http::write_event(event, {.data = text});
    return hand_on(0, event);
  }
  std::string event = event_of(last_ + 1, text);
  StoreCall<void> call(std::move(endpoint_.spare_call));
  const std::uint64_t number = ++last_;
  session_->has_events();
  asking_ = true;
  const bool over =
      call.ask(endpoint_.log, endpoint_.ready, session_->ready_place(), [&](Done<void> done) {
        endpoint_.options.events->append(key(), number, text, final, std::move(done));
      });
  asking_ = false;
  if (!over || !waiting_.empty()) {
    wait(number, std::move(event), std::move(call));
    return flush();
  }
  const Result<void> outcome = call.take();
  endpoint_.spare_call = std::move(call).spare();
  if (outcome) {
    acknowledged_ = number;
  } else {
    stop_keeping(outcome.error());
  }
  hand_on(number, event);
}

void EventStream::wait(std::uint64_t number, std::string event,
                       std::optional<StoreCall<void>> call) {
  const std::size_t size = event.size();
  Rollback failed([&] {  // one would be missing
    stop_keeping(out_of_memory());
    hang_up();
  });
  waiting_.push_back({.number = number,
                      .event = std::move(event),
                      .call = std::move(call),
                      .since = endpoint_.clock->now()});
  waiting_bytes_ += size;
  session_->await_store();
  failed.dismiss();
}

/// What is kept waits in the store for a client that is not there, or takes others first.
void EventStream::hand_on(std::uint64_t number, std::string_view event) {
  if (!exchange_) return;
  if (kept_) {
    if (!replaying_ && push(event)) sent_ = number;
  } else if (!replaying_) {
    push(without_id(event));
  } else if (waiting_bytes_ <= endpoint_.limits.unkept_bytes) {
    wait(0, std::string(without_id(event)), std::nullopt);
  } else {
    endpoint_.log.limited(LogLevel::warning,
                          "a client does not read its stream; the connection is closed");
    hang_up();
  }
}

void EventStream::flush() {
  while (!waiting_.empty()) {
    Waiting& first = waiting_.front();
    if (kept_) {
      if (!first.call->over()) break;
      const Result<void> outcome = first.call->take();
      first.call.reset();
      if (outcome) {
        acknowledged_ = first.number;
      } else {
        stop_keeping(outcome.error());
      }
    }
    if (!kept_ && exchange_ && replaying_) break;  // others come first
    std::list<Waiting> next;
    next.splice(next.begin(), waiting_, waiting_.begin());
    waiting_bytes_ -= next.front().event.size();
    hand_on(next.front().number, next.front().event);
  }
  end_if_over();
}

void EventStream::stop_keeping(const Error& why) noexcept {
  if (!std::exchange(kept_, false)) return;
  log_failure(endpoint_.log,
              "the events of a stream cannot be kept; it goes on without ids, and its client "
              "cannot come back to it",
              why);
  if (!replaying_) forget();
}

void EventStream::forget() noexcept {
  if (last_ == 0 || std::exchange(forgotten_, true)) return;
  tell_store(endpoint_.log, "the events of a stream could not be forgotten",
             [&](Done<void> done) { endpoint_.options.events->forget(key(), std::move(done)); });
}

void EventStream::abandon() noexcept {
  try {
    if (!waiting_.empty()) {
      stop_keeping(error("its session has too many others"));
      flush();
    }
  } catch (...) {
    endpoint_.log.caught("a stream is broken off");
    hang_up();
  }
  forget();
}

// Saying.

void EventStream::message(std::string_view text) {
  begin(session_->primes());
  say(text, false);
}

void EventStream::answer(int status, std::string_view text, const Error* error) {
  finished_ = true;
  Rollback failed([&] { hang_up(); });  // it is not answered a second time
  send_answer(status, text, error);
  failed.dismiss();
}

void EventStream::send_answer(int status, std::string_view text, const Error* error) {
  if (begun_) return say(text, true);
  if (exchange_) {
    session_->add_fields(more_);
    if (error) status = http::status_of(*error, status, more_);
    exchange_->respond(status, json_type, text, more_);
  }
  detach();
}

void EventStream::end_if_over() {
  if (!finished_ || !begun_ || !exchange_ || replaying_ || asking_) return;
  if (!waiting_.empty() || !said_meanwhile_.empty()) return;
  exchange_->end();
  detach();
  session_->stream_left();
}

void EventStream::finish() noexcept {
  if (const auto who = std::move(returning_)) who->refuse(404, no_session);
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
  if (!exchange_) return;
  Rollback failed([&] { hang_up(); });
  if (begun_) {
    end_if_over();
  } else {
    exchange_->respond(202, {}, {}, more_);
    detach();
  }
  failed.dismiss();
}

void EventStream::let_go() {
  // One that cannot be come back to keeps its connection.
  if (finished_ || !exchange_ || !kept_) return;
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
