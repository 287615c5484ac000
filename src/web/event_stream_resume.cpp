// Coming back to a stream: what the client lacks is read from the store page by page, and sent in
// pieces as the client takes them.
#include <algorithm>

#include "event_stream.hpp"
#include "godwit/base/rollback.hpp"
#include "godwit/rpc/message.hpp"
#include "http_session.hpp"
#include "returning.hpp"
#include "wire.hpp"

namespace godwit::inline v0::detail::web {

namespace {

/// What is sent again goes out in pieces of this size, the next one when the client has taken the
/// last: what waits for a connection is less than two of them, however much is kept for it.
constexpr std::size_t piece_bytes = 32u << 10;
/// After this much others have their turn.
constexpr std::size_t turn_bytes = 256u << 10;

constexpr std::string_view taken_over = "another request came back to the same stream";

}  // namespace

EventStream::Returning::~Returning() {
  if (!waits_) return;
  if (exchange_) exchange_->abort();
  --endpoint_.open_exchanges;
}

void EventStream::Returning::wait() noexcept {
  waits_ = true;
  ++endpoint_.open_exchanges;
  if (exchange_) exchange_->set_owner(this);
}

http::Exchange* EventStream::Returning::take() noexcept {
  if (waits_ && exchange_) exchange_->set_owner(nullptr);
  return std::exchange(exchange_, nullptr);
}

void EventStream::Returning::refuse(int status, std::string_view why) noexcept {
  http::Exchange* const exchange = take();
  if (!exchange) return;
  try {
    if (status == 503) how.more.set("Retry-After", "1");
    const Error error{
        .code = status == 503 ? rpc::code::internal_error : rpc::code::invalid_request,
        .message = std::string(why)};
    exchange->respond(status, json_type, rpc::serialize(rpc::make_error(std::nullopt, error)),
                      how.more);
  } catch (...) {
    endpoint_.log.caught("a request is given up");
    exchange->abort();
  }
}

/// The stream learns of it when the store has answered.
void EventStream::Returning::on_gone() { exchange_ = nullptr; }

Resumed EventStream::resume(http::Exchange& exchange, Return how) {
  if (!kept_) return Resumed::unknown;
  if (reviving_) return Resumed::failed;  // until it is known what the store has
  if (cut_off_ && how.after >= acknowledged_) return Resumed::unknown;
  if (how.after != acknowledged_) return look_up(&exchange, std::move(how));
  attach(exchange, std::move(how), nullptr);
  return Resumed::yes;
}

Resumed EventStream::revive(http::Exchange& exchange, std::string_view name, bool goes_on,
                            Return how) {
  name_ = name;
  begun_ = reviving_ = asking_ = true;
  goes_on_ = goes_on;
  return look_up(&exchange, std::move(how));
}

void EventStream::recall(std::string_view name, std::uint64_t last) {
  name_ = name;
  begun_ = reviving_ = asking_ = true;
  look_up(nullptr, {.after = last});
}

Resumed EventStream::look_up(http::Exchange* exchange, Return how) {
  auto who = std::make_unique<Returning>(endpoint_, exchange, std::move(how));
  const bool over = who->call.ask(
      endpoint_.log, endpoint_.ready, session_->ready_place(), [&](Done<EventPage> done) {
        endpoint_.options.events->read(key(), who->how.after, piece_bytes, std::move(done));
      });
  if (session_->over()) return Resumed::unknown;
  if (over) {
    const Result<EventPage> page = who->call.take();
    return arrive(std::move(who), page);
  }
  if (const auto other = std::move(returning_)) other->refuse(409, taken_over);
  who->wait();
  returning_ = std::move(who);
  session_->await_store();
  return Resumed::yes;
}

Resumed EventStream::arrive(std::unique_ptr<Returning> who, const Result<EventPage>& page) {
  const bool there = page && !page->gone;
  // Without a request that is under way here, what was kept is all there is.
  const bool nothing = there && !goes_on_ && page->events.empty() && !page->ended;
  Resumed outcome = !page ? Resumed::failed : Resumed::unknown;
  if (reviving_ && there && !nothing) {
    last_ = acknowledged_ = page->last;
    finished_ = !goes_on_;
    cut_off_ = finished_ && !page->ended;
    reviving_ = asking_ = false;
  }
  if (there && !nothing && who->how.after <= acknowledged_) outcome = Resumed::yes;
  if (outcome == Resumed::unknown && who->how.lossy) {
    endpoint_.log.limited(LogLevel::warning,
                          "messages for a client that did not listen were dropped");
    skip();
    who->how.after = sent_;
    outcome = Resumed::yes;
  }
  if (!page) log_failure(endpoint_.log, "a stream could not be read", page.error());
  if (outcome == Resumed::yes) {
    if (http::Exchange* const exchange = who->take()) {
      Rollback failed([&] {
        if (who->waits()) hang_up();  // otherwise whoever called ends it
      });
      attach(*exchange, std::move(who->how), there ? &*page : nullptr);
      failed.dismiss();
    }
    say_the_rest();
    return outcome;
  }
  if (who->waits()) {
    who->refuse(page ? 400 : 503, page ? unknown_event : store_failed);
  }
  if (!reviving_) return outcome;
  if (!goes_on_) {
    session_->not_revived(*this);  // which destroys this
    return outcome;
  }
  // It begins anew, so that no number is given twice.
  name_ = HttpSession::fresh_name(name_);
  reviving_ = asking_ = false;
  say_the_rest();
  return outcome;
}

void EventStream::attach(http::Exchange& exchange, Return how, const EventPage* page) {
  if (const auto other = std::move(returning_)) other->refuse(409, taken_over);
  finish();  // the connection that the client has left behind
  exchange_ = &exchange;
  ++endpoint_.open_exchanges;
  begun_ = true;
  exchange_->begin(200, sse_type, with_stream_fields(std::move(how.more)));
  exchange_->set_owner(this);
  spoke_ = endpoint_.clock->coarse();
  if (how.prime) exchange_->write(priming(how.after));
  sent_ = how.after;
  replaying_ = true;
  session_->keep_streams_alive();
  go_on(page);
}

void EventStream::go_on() {
  if (replaying_) go_on(nullptr);
}

void EventStream::go_on(const EventPage* page) {
  std::optional<EventPage> read;
  std::size_t written = 0;
  while (exchange_ && replaying_) {
    if (exchange_->unsent() >= piece_bytes) return;  // until on_drained()
    if (sent_ >= acknowledged_) return caught_up();
    if (written >= turn_bytes) return session_->go_on_later();
    if (reading_) return;
    std::string out;
    write_piece(out, page);
    if (out.empty()) {
      read = read_page();
      if (!read) return;
      page = &*read;
      continue;
    }
    if (endpoint_.resumption_bytes > endpoint_.limits.resumption_bytes) {
      endpoint_.log.limited(LogLevel::warning,
                            "too much waits for clients that came back; a connection is closed");
      return hang_up();
    }
    written += out.size();
    spoke_ = endpoint_.clock->coarse();
    exchange_->write(out);
  }
}

void EventStream::caught_up() {
  replaying_ = false;
  if (!kept_) forget();
  flush();
}

void EventStream::write_piece(std::string& out, const EventPage* page) {
  if (part_.begun) {
    const auto event = held_ ? held_ : held_by_store_.lock();
    if (event && !write_event(out, {.number = sent_ + 1, .data = event})) return;
  }
  if (!page) return;
  for (const KeptEvent& event : page->events) {
    if (out.size() >= piece_bytes) return;
    if (event.number <= sent_) continue;
    if (event.number != sent_ + 1 || event.number > acknowledged_ || !event.data) return;
    if (!write_event(out, event)) return;
  }
}

bool EventStream::write_event(std::string& out, const KeptEvent& event) {
  const std::string id = id_of(event.number);
  if (!http::write_event_part(out, {.data = *event.data, .id = id}, part_, piece_bytes)) {
    hold(event.data);
    return false;
  }
  sent_ = event.number;
  part_ = {};
  drop_held();
  return true;
}

void EventStream::hold(const std::shared_ptr<const std::string>& event) noexcept {
  if (held_ || !held_by_store_.expired()) return;
  if (event.use_count() > 1) {
    held_by_store_ = event;  // which bounds what it holds, and may drop it
  } else {
    held_ = event;
    endpoint_.resumption_bytes += event->size();
  }
}

void EventStream::drop_held() noexcept {
  if (held_) endpoint_.resumption_bytes -= held_->size();
  held_.reset();
  held_by_store_.reset();
}

std::optional<EventPage> EventStream::read_page() {
  StoreCall<EventPage> call;
  const bool over =
      call.ask(endpoint_.log, endpoint_.ready, session_->ready_place(), [&](Done<EventPage> done) {
        endpoint_.options.events->read(key(), sent_, piece_bytes, std::move(done));
      });
  if (!exchange_ || !replaying_) return std::nullopt;  // by code of the store
  if (over) return checked(call.take());
  reading_.emplace(Reading{.call = std::move(call), .since = endpoint_.clock->now()});
  session_->await_store();
  return std::nullopt;
}

std::optional<EventPage> EventStream::checked(Result<EventPage> page) {
  const auto next = [&](const KeptEvent& event) { return event.number == sent_ + 1 && event.data; };
  if (page && !page->gone && std::ranges::any_of(page->events, next)) return *std::move(page);
  if (!page) {
    log_failure(endpoint_.log, "what is kept of a stream could not be read; it is broken off",
                page.error());
  } else {
    endpoint_.log.limited(
        LogLevel::warning,
        "a client takes its stream more slowly than it can be kept; the connection is closed");
  }
  hang_up();
  return std::nullopt;
}

void EventStream::look_at_store() {
  try {
    flush();
    if (reading_ && reading_->call.over()) {
      Result<EventPage> page = reading_->call.take();
      reading_.reset();
      if (const auto read = checked(std::move(page))) go_on(&*read);
    }
    if (!returning_ || !returning_->call.over()) return;
    auto who = std::move(returning_);
    const Result<EventPage> page = who->call.take();
    arrive(std::move(who), page);  // which may destroy this
  } catch (...) {
    endpoint_.log.caught("a stream is broken off");
    hang_up();
  }
}

std::optional<TimePoint> EventStream::expire(TimePoint now) {
  const Duration most = endpoint_.limits.store_time;
  const auto too_late = [] { return error("it has not answered in time"); };
  std::optional<TimePoint> next;
  const auto is_due = [&](TimePoint since) {
    if (since + most <= now) return true;
    if (!next || since + most < *next) next = since + most;
    return false;
  };
  if (!waiting_.empty() && kept_ && is_due(waiting_.front().since)) {
    stop_keeping(or_out_of_memory(too_late));
    flush();
  }
  if (reading_ && is_due(reading_->since)) {
    reading_.reset();
    checked(or_out_of_memory(too_late));
  }
  if (returning_ && is_due(returning_->since)) {
    auto who = std::move(returning_);
    arrive(std::move(who), or_out_of_memory(too_late));  // which may destroy this
  }
  return next;
}

}  // namespace godwit::inline v0::detail::web
