#include "http_session.hpp"

#include <algorithm>
#include <charconv>

#include "godwit/base/random.hpp"
#include "godwit/base/rollback.hpp"
#include "godwit/rpc/error_code.hpp"
#include "mcp/era/stateless_headers.hpp"
#include "wire.hpp"

namespace godwit::inline v0::detail::web {

namespace {

/// Names of streams for what belongs to no request begin so; those of others are hexadecimal.
constexpr char own_stream = 's';

bool is_stream_name(std::string_view name) {
  constexpr std::size_t longest = 64;  // more than any here
  const auto is_good = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); };
  return !name.empty() && name.size() <= longest && std::ranges::all_of(name, is_good);
}

}  // namespace

HttpSession::HttpSession(Endpoint::Impl& endpoint, std::string id, const IpAddress& client,
                         std::shared_ptr<const rpc::Identity> owner)
    : Conversation(endpoint),
      id_(std::move(id)),
      owner_(std::move(owner)),
      last_used_(endpoint.clock->now()) {
  if (endpoint.options.sessions) saver_ = std::make_unique<SessionSaver>(*this, endpoint);
  place_.emplace(endpoint, client, this);
  idle_check_ = last_used_ + std::min(endpoint_.limits.session_first_message_time,
                                      endpoint_.limits.session_idle);
  rearm();
}

HttpSession::~HttpSession() { close(); }

bool HttpSession::established() { return Service::session_of(peer()).established(); }

void HttpSession::add_fields(http::Fields& fields) {
  if (announced_ || !established() || (saver_ && saver_->stored() && !saver_->saved())) return;
  announced_ = true;
  fields.set(mcp::header::session, id_);
}

void HttpSession::count_bytes() noexcept {
  if (place_) place_->keeps(Service::session_of(peer()).kept_bytes());
}

void HttpSession::used() noexcept {
  last_used_ = endpoint_.clock->coarse();
  if (place_) place_->used();
}

bool HttpSession::attached() const noexcept {
  if (standalone_ && standalone_->attached()) return true;
  return std::ranges::any_of(streams_, [](const auto& row) { return row.second->attached(); });
}

bool HttpSession::idle() noexcept {
  return !ended_ && !on_stack_ && in_flight() == 0 && !attached() && !(saver_ && saver_->busy());
}

bool HttpSession::moves_whole() {
  return established() && !ended_ && !on_stack_ && !saver_->busy() &&
         in_flight() == Service::session_of(peer()).saved_routes().size();
}

bool HttpSession::primes() { return Service::session_of(peer()).resumes_streams(); }

/// The request that is being handled. A handler may make one of its own while it is on the stack.
class HttpSession::OnStack {
 public:
  OnStack(HttpSession& session, EventStream& stream, rpc::Route route) noexcept
      : session_(session),
        stream_(std::exchange(session.on_stack_, &stream)),
        route_(std::exchange(session.on_stack_route_, route)) {}
  ~OnStack() {
    session_.on_stack_ = stream_;
    session_.on_stack_route_ = route_;
  }
  OnStack(const OnStack&) = delete;
  OnStack& operator=(const OnStack&) = delete;

 private:
  HttpSession& session_;
  EventStream* const stream_;
  const rpc::Route route_;
};

void HttpSession::post(json::View message, const rpc::Facts& facts, http::Exchange& exchange,
                       http::Fields more) {
  used();
  std::unique_ptr<EventStream> stream = std::move(endpoint_.spare_stream);
  if (!stream) stream = std::make_unique<EventStream>(endpoint_);
  stream->open(*this, &exchange, std::move(more));
  const rpc::Route route = ++last_route_;
  // Whoever called then answers the exchange, or ends it.
  Rollback failed([&] {
    EventStream* const mine = stream ? stream.get() : find(route);
    if (mine) mine->leave_exchange();
  });
  {
    const OnStack on_stack(*this, *stream, route);
    let_go_later_ = false;
    peer().receive(message, facts, route);
    // Also that there is nothing to answer is an answer.
    if (saver_ && !ended_ && !stream->finished() && !has_request(message) && saver_->must_hold()) {
      saver_->hold({.kind = Utterance::Kind::nothing, .route = route});
    }
  }
  count_bytes();
  if (peer().closed()) {  // the session was ended meanwhile
    failed.dismiss();
    return stream->finish();
  }
  const bool held_back = saver_ && saver_->holds_answer(route);
  if (!stream->finished() && !held_back && !has_request(message)) stream->no_answer();
  if (stream->finished() && !stream->begun()) {
    endpoint_.spare_stream = std::move(stream);
    return failed.dismiss();
  }
  // It is answered later, or it became a stream that may be asked for again.
  stream->leave_stack();
  EventStream& kept = *streams_.emplace(route, std::move(stream)).first->second;
  if (kept.waits_for_store()) {
    awaits_store_ = true;
    kept.look_at_store();  // what came while it was on the stack
  }
  if (kept.finished()) {
    answered(route);
    return failed.dismiss();
  }
  if (!held_back && primes()) kept.begin(true);
  if (std::exchange(let_go_later_, false)) kept.let_go();
  keep_streams_alive();
  failed.dismiss();
}

void HttpSession::keep_streams_alive() {
  if (!keep_alive_) keep_alive_ = endpoint_.clock->now() + endpoint_.limits.sse_keep_alive;
  rearm();
}

std::string HttpSession::new_stream_name() { return own_stream + random_hex(); }

std::string HttpSession::fresh_name(std::string_view old) {
  return old.starts_with(own_stream) ? new_stream_name() : random_hex();
}

EventStream& HttpSession::standalone() {
  if (!standalone_) {
    auto made = std::make_unique<EventStream>(endpoint_);
    made->open(*this, nullptr, {});
    made->set_name(new_stream_name());
    standalone_ = std::move(made);
  }
  return *standalone_;
}

Resumed HttpSession::listen(http::Exchange& exchange, http::Fields more) {
  used();
  if (standalone_ && standalone_->given_up()) standalone_.reset();  // and begins anew
  EventStream& stream = standalone();
  if (stream.attached()) return Resumed::busy;
  Rollback failed([&] { stream.leave_exchange(); });  // whoever called ends it
  // What was said while nobody listened comes first.
  if (!stream.begun()) stream.begin(false);
  const Resumed resumed = stream.resume(
      exchange,
      {.after = stream.sent(), .more = std::move(more), .prime = primes(), .lossy = true});
  failed.dismiss();
  return resumed;
}

Resumed HttpSession::resume(http::Exchange& exchange, std::string_view last_event_id,
                            http::Fields more) {
  used();
  const std::size_t dot = last_event_id.rfind('.');
  if (dot == last_event_id.npos || dot == 0) return Resumed::unknown;
  const std::string_view name = last_event_id.substr(0, dot);
  const std::string_view digits = last_event_id.substr(dot + 1);
  EventStream::Return how{.more = std::move(more)};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), how.after);
  if (error != std::errc() || end != digits.data() + digits.size()) return Resumed::unknown;
  EventStream* stream = nullptr;
  std::size_t replaying = 0;
  const auto look = [&](EventStream& one) {
    if (one.name() == name) {
      stream = &one;
    } else if (one.replaying()) {
      ++replaying;
    }
  };
  if (standalone_) look(*standalone_);
  for (const auto& [route, one] : streams_) look(*one);
  if (!stream && !restored_) return Resumed::unknown;
  if (replaying >= endpoint_.limits.session_resumptions) return Resumed::busy;
  if (!stream) return revive(exchange, name, std::move(how));
  Rollback failed([&] { stream->leave_exchange(&exchange); });  // whoever called ends it
  const Resumed resumed = stream->resume(exchange, std::move(how));
  failed.dismiss();
  return resumed;
}

/// A stream that was begun before the session was restored. Its request is not under way any more,
/// unless it is the one for what belongs to no request.
Resumed HttpSession::revive(http::Exchange& exchange, std::string_view name,
                            EventStream::Return how) {
  if (!is_stream_name(name)) return Resumed::unknown;
  if (name.starts_with(own_stream)) {
    if (standalone_ && standalone_->begun()) return Resumed::unknown;
    return standalone().revive(exchange, name, true, std::move(how));
  }
  const rpc::Route route = ++last_route_;
  auto made = std::make_unique<EventStream>(endpoint_);
  made->open(*this, nullptr, {});
  EventStream& stream = *streams_.emplace(route, std::move(made)).first->second;
  Rollback failed([&] {
    if (EventStream* const mine = find(route)) mine->leave_exchange(&exchange);
  });
  const Resumed resumed = stream.revive(exchange, name, false, std::move(how));
  if (resumed == Resumed::yes) answered(route);
  failed.dismiss();
  return resumed;
}

void HttpSession::not_revived(EventStream& stream) noexcept {
  std::erase_if(streams_, [&](const auto& row) { return row.second.get() == &stream; });
}

void HttpSession::await_store() {
  awaits_store_ = true;
  if (store_deadline_) return;
  store_deadline_ = endpoint_.clock->now() + endpoint_.limits.store_time;
  rearm();
}

void HttpSession::processed() {
  const bool turn = std::exchange(go_on_, false);
  if (!turn && !awaits_store_) return;
  if (saver_) saver_->look_at_store();
  for_each_stream([&](EventStream& stream) {
    if (turn && stream.replaying()) stream.go_on();
    if (stream.waits_for_store()) stream.look_at_store();  // which may destroy it
  });
  awaits_store_ = on_stack_ || (saver_ && saver_->busy());
  for_each_stream([&](EventStream& stream) { awaits_store_ |= stream.waits_for_store(); });
  if (!awaits_store_) store_deadline_.reset();
}

/// What a store has not answered by now has failed.
void HttpSession::expire_stores(TimePoint now) {
  if (!store_deadline_ || *store_deadline_ > now) return;
  store_deadline_.reset();
  const auto look_again = [&](std::optional<TimePoint> next) {
    if (next && (!store_deadline_ || *next < *store_deadline_)) store_deadline_ = next;
  };
  if (saver_) look_again(saver_->expire(now));
  for_each_stream([&](EventStream& stream) { look_again(stream.expire(now)); });
}

template <class F>
void HttpSession::for_each_stream(F&& each) {
  if (standalone_) each(*standalone_);
  for (auto at = streams_.begin(); at != streams_.end();) {
    const rpc::Route route = at->first;
    each(*at->second);
    at = streams_.upper_bound(route);
  }
}

EventStream* HttpSession::find(rpc::Route route) {
  if (on_stack_ && route == on_stack_route_) return on_stack_;
  if (route == 0) return &standalone();
  const auto found = streams_.find(route);
  return found == streams_.end() ? nullptr : found->second.get();
}

bool HttpSession::held(const rpc::Outbound& outbound) {
  if (!saver_->must_hold()) return false;
  Utterance what{.kind = outbound.is_answer() ? Utterance::Kind::answer : Utterance::Kind::message,
                 .route = outbound.route,
                 .text = std::string(written(outbound.begin)),
                 .answers = std::string(outbound.answers)};
  if (outbound.error) what.error = *outbound.error;
  if (outbound.kind == rpc::MessageKind::request || outbound.kind == rpc::MessageKind::batch) {
    what.ids.assign(outbound.ids.begin(), outbound.ids.end());
  }
  endpoint_.buffer.resize(outbound.begin);
  saver_->hold(std::move(what));
  return true;
}

void HttpSession::say(Utterance what) {
  switch (what.kind) {
    case Utterance::Kind::message:
      return message(what.route, what.text);
    case Utterance::Kind::answer:
      return answer(what.route, what.text, what.error ? &*what.error : nullptr);
    case Utterance::Kind::nothing:
      return no_answer(what.route);
  }
}

void HttpSession::finish(const rpc::Outbound& outbound) {
  if (saver_ && held(outbound)) return;
  if (outbound.is_answer()) {
    answer(outbound.route, written(outbound.begin), outbound.error);
    endpoint_.buffer.resize(outbound.begin);
  } else {
    const std::string text(written(outbound.begin));
    endpoint_.buffer.resize(outbound.begin);
    message(outbound.route, text);
  }
}

void HttpSession::message(rpc::Route route, std::string_view text) {
  EventStream* stream = find(route);
  // The request is over: what is said about it now goes where everything else goes.
  if (!stream || stream->finished()) stream = &standalone();
  stream->message(text);
}

void HttpSession::answer(rpc::Route route, std::string_view text, const Error* error) {
  EventStream* stream = route == 0 ? nullptr : find(route);
  if (!stream || stream->finished()) return;
  const bool unreadable =
      error && (error->code == rpc::code::parse_error || error->code == rpc::code::invalid_request);
  stream->answer(unreadable ? 400 : 200, text, error);
  if (stream != on_stack_) answered(route);
}

void HttpSession::unanswered(rpc::Route route) {
  if (!saver_ || !saver_->must_hold()) return no_answer(route);
  saver_->hold({.kind = Utterance::Kind::nothing, .route = route});
}

void HttpSession::no_answer(rpc::Route route) {
  EventStream* stream = route == 0 ? nullptr : find(route);
  if (!stream || stream->finished()) return;
  stream->no_answer();
  if (stream != on_stack_) answered(route);
}

bool HttpSession::give_up(rpc::Route route) noexcept {
  if (route == 0) return true;  // nobody waits for it
  EventStream* const stream = find(route);
  if (!stream) return true;
  stream->fail();
  if (stream != on_stack_) drop_stream(route);
  return true;
}

void HttpSession::let_go(rpc::Route route) {
  if (!primes()) return;  // to others the end of the connection is the end
  EventStream* stream = find(route);
  if (stream && stream == on_stack_) {
    let_go_later_ = true;  // the handler was faster than the call that started it
  } else if (stream) {
    stream->let_go();
  }
}

void HttpSession::answered(rpc::Route route) {
  used();
  const auto found = streams_.find(route);
  if (found == streams_.end()) return;
  if (!found->second->begun()) {
    streams_.erase(found);
    return;
  }
  Rollback undo([&] { streams_.erase(route); });  // nobody would forget it later
  finished_.emplace_back(endpoint_.clock->now() + endpoint_.limits.stream_time, route);
  undo.dismiss();
  while (finished_.size() > endpoint_.limits.session_streams) drop_oldest_finished();
  rearm();
}

void HttpSession::drop_stream(rpc::Route route) noexcept {
  const auto last = streams_.extract(route);
  if (last) last.mapped()->abandon();
}

void HttpSession::drop_oldest_finished() noexcept {
  const rpc::Route route = finished_.front().second;
  finished_.pop_front();
  drop_stream(route);
}

void HttpSession::stream_left() { used(); }

std::optional<TimePoint> HttpSession::own_deadline() const {
  if (ended_) return std::nullopt;
  TimePoint next = idle_check_;
  if (keep_alive_) next = std::min(next, *keep_alive_);
  if (store_deadline_) next = std::min(next, *store_deadline_);
  if (!finished_.empty()) next = std::min(next, finished_.front().first);
  return next;
}

void HttpSession::forget_old(TimePoint now) {
  while (!finished_.empty() && finished_.front().first <= now) drop_oldest_finished();
}

void HttpSession::own_expire(TimePoint now) {
  forget_old(now);
  expire_stores(now);
  if (keep_alive_ && *keep_alive_ <= now) {
    keep_alive_.reset();
    for_each_stream([&](EventStream& stream) {
      const auto next = stream.keep_alive(now);
      if (next && (!keep_alive_ || *next < *keep_alive_)) keep_alive_ = next;
    });
  }
  if (idle_check_ > now) return;
  if (!idle()) {
    last_used_ = now;
  } else if (place_) {
    place_->still_idle();
  }
  const Limits& limits = endpoint_.limits;
  idle_check_ = last_used_ + (heard_ ? limits.session_idle : limits.session_first_message_time);
  if (idle_check_ > now) return;
  ended_ = true;
  endpoint_.end(*this);
}

void HttpSession::fail() noexcept {
  ended_ = true;
  endpoint_.end(*this);
}

void HttpSession::end(End why) noexcept {
  ended_ = true;
  place_.reset();
  peer().close();
  for_each_stream([](EventStream& stream) { stream.finish(); });
  if (!std::exchange(left_stores_, true)) leave_stores(why);
}

void HttpSession::leave_stores(End why) noexcept {
  if (saver_) {
    // Of one that its client has never heard of nothing stays.
    const bool over = why == End::over || !announced_;
    const bool stored = saver_->stored();
    saver_->stop();
    SessionStore& sessions = *endpoint_.options.sessions;
    if (stored && over) {
      tell_store(endpoint_.log, "a session could not be removed from its store",
                 [&](Done<void> done) { sessions.remove(id_, std::move(done)); });
    } else if (stored) {
      tell_store(
          endpoint_.log, "a session could not be released to other servers",
          [&](Done<void> done) { sessions.release(id_, endpoint_.options.name, std::move(done)); });
    }
  }
  if (why == End::leaving || !has_events_) return;
  tell_store(endpoint_.log, "the events of a session could not be forgotten", [&](Done<void> done) {
    endpoint_.options.events->forget_session(id_, std::move(done));
  });
}

void HttpSession::drain() {
  if (saver_ && moves_whole()) {  // all of it goes on at another server
    end(End::leaving);
    return endpoint_.end(*this);
  }
  peer().end_of_input(rpc::connection_closed("the server is shutting down"));
  peer().process();
  if (standalone_) standalone_->finish();
  if (!saver_ || !idle()) return;
  end(End::leaving);  // so that another server can have it
  endpoint_.end(*this);
}

// Saving.

Result<std::string> HttpSession::state() {
  const Service::Session& session = Service::session_of(peer());
  Result<std::string> service = session.save();
  if (!service) return std::move(service).error();
  std::vector<SavedStream> streams;
  for (const rpc::Route route : session.saved_routes()) {
    EventStream* const stream = find(route);
    if (!stream || stream->finished()) continue;
    stream->name_it();  // it may not have begun, because this has to be saved before
    streams.push_back({.route = route, .name = stream->name(), .last = stream->acknowledged()});
  }
  return write_saved(owner_.get(), streams, *service);
}

Result<void> HttpSession::restore(const SavedSession& saved) {
  announced_ = heard_ = restored_ = has_events_ = true;
  for (const SavedStream& one : saved.streams) {
    if (one.route == 0 || !is_stream_name(one.name)) return error("it has a stream of no name");
    auto made = std::make_unique<EventStream>(endpoint_);
    made->open(*this, nullptr, {});
    EventStream& stream = *streams_.emplace(one.route, std::move(made)).first->second;
    last_route_ = std::max(last_route_, one.route);
    stream.recall(one.name, one.last);
    if (ended_) return error("it was ended by its store");
  }
  Result<void> restored = Service::session_of(peer()).restore(saved.service);
  if (!restored) return restored;
  saver_->set_restored();
  if (!ended_) count_bytes();
  return {};
}

}  // namespace godwit::inline v0::detail::web
