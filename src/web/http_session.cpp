#include "http_session.hpp"

#include <algorithm>
#include <charconv>

#include "godwit/rpc/error_code.hpp"
#include "mcp/era/stateless_headers.hpp"
#include "server/session.hpp"
#include "wire.hpp"

namespace godwit::inline v0::detail {

HttpSession::HttpSession(Endpoint::Impl& endpoint, std::string id)
    : Conversation(endpoint), id_(std::move(id)), last_used_(endpoint.clock->now()) {
  idle_check_ = last_used_ + endpoint_.limits.session_idle;
  rearm();
}

HttpSession::~HttpSession() { close(); }

bool HttpSession::established() {
  return static_cast<Session*>(peer().user().get())->dialect() != nullptr;
}

void HttpSession::add_fields(http::Fields& fields) {
  if (announced_ || !established()) return;
  announced_ = true;
  fields.set(mcp::header::session, id_);
}

bool HttpSession::primes() {
  const auto* session = static_cast<Session*>(peer().user().get());
  return session->dialect() && session->dialect()->priming;
}

void HttpSession::post(json::View message, http::Exchange& exchange, http::Fields more) {
  last_used_ = endpoint_.clock->coarse();
  std::unique_ptr<EventStream> stream = std::move(endpoint_.spare_stream);
  if (!stream) stream = std::make_unique<EventStream>(endpoint_);
  stream->open(*this, &exchange, std::move(more));
  const rpc::Route route = ++last_route_;
  // A handler may make a request of its own while it is on the stack.
  EventStream* const outer = std::exchange(on_stack_, stream.get());
  const rpc::Route outer_route = std::exchange(on_stack_route_, route);
  const rpc::Route before = std::exchange(route_, route);
  let_go_later_ = false;
  peer().receive(message);
  on_stack_ = outer;
  on_stack_route_ = outer_route;
  route_ = before;
  if (peer().closed()) return stream->finish();  // the session was ended meanwhile
  if (!stream->finished() && !has_request(message)) stream->no_answer();
  if (stream->finished() && !stream->begun()) {
    endpoint_.spare_stream = std::move(stream);
    return;
  }
  // It is answered later, or it became a stream that may be asked for again.
  stream->leave_stack();
  EventStream& kept = *streams_.emplace(route, std::move(stream)).first->second;
  if (kept.finished()) return finish(route);
  if (primes()) kept.begin(true);
  if (std::exchange(let_go_later_, false)) kept.let_go();
  keep_streams_alive();
}

void HttpSession::keep_streams_alive() {
  if (!keep_alive_) keep_alive_ = endpoint_.clock->now() + endpoint_.limits.sse_keep_alive;
  rearm();
}

EventStream& HttpSession::standalone() {
  if (!standalone_) {
    standalone_ = std::make_unique<EventStream>(endpoint_);
    standalone_->open(*this, nullptr, {});
  }
  return *standalone_;
}

bool HttpSession::listen(http::Exchange& exchange, http::Fields more) {
  last_used_ = endpoint_.clock->coarse();
  EventStream& stream = standalone();
  if (stream.attached()) return false;
  // What was said while nobody listened comes first.
  const bool began = stream.begun();
  if (!began) stream.begin(false);
  if (!stream.resume(exchange, stream.sent(), more, primes())) {
    endpoint_.log.warning("messages for a client that did not listen were dropped");
    stream.skip();
    stream.resume(exchange, stream.sent(), std::move(more), primes());
  }
  keep_streams_alive();
  return true;
}

bool HttpSession::resume(http::Exchange& exchange, std::string_view last_event_id,
                         http::Fields more) {
  last_used_ = endpoint_.clock->coarse();
  const std::size_t dot = last_event_id.rfind('.');
  if (dot == last_event_id.npos) return false;
  const std::string_view name = last_event_id.substr(0, dot);
  const std::string_view digits = last_event_id.substr(dot + 1);
  std::uint64_t after = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), after);
  if (error != std::errc() || end != digits.data() + digits.size()) return false;
  EventStream* stream = nullptr;
  if (standalone_ && standalone_->name() == name) stream = standalone_.get();
  for (const auto& [route, other] : streams_) {
    if (other->name() == name) stream = other.get();
  }
  if (!stream || name.empty() || !stream->resume(exchange, after, std::move(more))) return false;
  keep_streams_alive();
  return true;
}

EventStream* HttpSession::find(rpc::Route route) {
  if (on_stack_ && route == on_stack_route_) return on_stack_;
  if (route == 0) return &standalone();
  const auto found = streams_.find(route);
  return found == streams_.end() ? nullptr : found->second.get();
}

void HttpSession::finish_message(std::size_t begin) {
  const std::string text(written(begin));
  endpoint_.buffer.resize(begin);
  EventStream* stream = find(route_);
  // The request is over: what is said about it now goes where everything else goes.
  if (!stream || stream->finished()) stream = &standalone();
  stream->message(text);
}

void HttpSession::finish_answer(std::size_t begin, const Error* error) {
  EventStream* stream = route_ == 0 ? nullptr : find(route_);
  if (stream && !stream->finished()) {
    const bool unreadable = error && (error->code == rpc::code::parse_error ||
                                      error->code == rpc::code::invalid_request);
    stream->answer(unreadable ? 400 : 200, written(begin));
    if (stream != on_stack_) finish(route_);
  }
  endpoint_.buffer.resize(begin);
}

void HttpSession::unanswered(rpc::Route route) {
  EventStream* stream = route == 0 ? nullptr : find(route);
  if (!stream || stream->finished()) return;
  stream->no_answer();
  if (stream != on_stack_) finish(route);
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

void HttpSession::finish(rpc::Route route) {
  last_used_ = endpoint_.clock->coarse();
  const auto found = streams_.find(route);
  if (found == streams_.end()) return;
  if (!found->second->begun()) {
    streams_.erase(found);
    return;
  }
  finished_.emplace_back(endpoint_.clock->now() + endpoint_.limits.stream_time, route);
  while (finished_.size() > endpoint_.limits.session_streams) {
    streams_.erase(finished_.front().second);
    finished_.pop_front();
  }
  rearm();
}

void HttpSession::stream_left() { last_used_ = endpoint_.clock->coarse(); }

std::optional<TimePoint> HttpSession::own_deadline() const {
  if (ended_) return std::nullopt;
  TimePoint next = idle_check_;
  if (keep_alive_) next = std::min(next, *keep_alive_);
  if (!finished_.empty()) next = std::min(next, finished_.front().first);
  return next;
}

void HttpSession::forget_old(TimePoint now) {
  while (!finished_.empty() && finished_.front().first <= now) {
    streams_.erase(finished_.front().second);
    finished_.pop_front();
  }
}

void HttpSession::own_expire(TimePoint now) {
  forget_old(now);
  bool attached = standalone_ && standalone_->attached();
  for (const auto& [route, stream] : streams_) attached = attached || stream->attached();
  if (keep_alive_ && *keep_alive_ <= now) {
    keep_alive_.reset();
    const auto keep = [&](EventStream& stream) {
      const auto next = stream.keep_alive(now);
      if (next && (!keep_alive_ || *next < *keep_alive_)) keep_alive_ = next;
    };
    if (standalone_) keep(*standalone_);
    for (const auto& [route, stream] : streams_) keep(*stream);
  }
  if (idle_check_ > now) return;
  if (attached || in_flight() > 0) last_used_ = now;
  idle_check_ = last_used_ + endpoint_.limits.session_idle;
  if (idle_check_ > now) return;
  ended_ = true;
  endpoint_.end(*this);
}

void HttpSession::end() {
  ended_ = true;
  peer().close();
  if (standalone_) standalone_->finish();
  for (const auto& [route, stream] : streams_) stream->finish();
}

void HttpSession::drain() {
  peer().end_of_input(
      Error{.code = rpc::code::connection_closed, .message = "the server is shutting down"});
  peer().process();
  if (standalone_) standalone_->finish();
}

}  // namespace godwit::inline v0::detail
