#include "sse_session.hpp"

#include "godwit/http/sse_event.hpp"
#include "godwit/rpc/error_code.hpp"
#include "wire.hpp"

namespace godwit::inline v0::detail {

SseSession::SseSession(Endpoint::Impl& endpoint, std::string id)
    : Conversation(endpoint), id_(std::move(id)) {}

SseSession::~SseSession() {
  close();
  if (!exchange_) return;
  exchange_->end();
  --endpoint_.open_exchanges;
}

void SseSession::open(http::Exchange& exchange, const http::Fields& more,
                      std::string_view post_to) {
  exchange_ = &exchange;
  ++endpoint_.open_exchanges;
  exchange.begin(200, sse_type, with_stream_fields(more));
  exchange.set_owner(this);
  std::string event;
  http::write_event(event, {.event = "endpoint", .data = post_to});
  push(event);
  keep_alive_ = endpoint_.clock->now() + endpoint_.limits.sse_keep_alive;
  rearm();
}

void SseSession::finish_message(std::size_t begin) {
  std::string event;
  http::write_event(event, {.event = "message", .data = written(begin)});
  endpoint_.buffer.resize(begin);
  push(event);
}

void SseSession::push(std::string_view bytes) {
  if (!exchange_) return;
  // What waits already decides, not the new event: one alone may be larger than the bound.
  if (exchange_->unsent() <= endpoint_.limits.output_queue_bytes * 4) {
    return exchange_->write(bytes);
  }
  endpoint_.log.warning("a client does not read its stream; its session is ended");
  exchange_->abort();
  on_gone();
}

void SseSession::on_gone() {
  if (!exchange_) return;
  exchange_ = nullptr;
  --endpoint_.open_exchanges;
  endpoint_.ended_sse_sessions.push_back(id_);
  if (endpoint_.options.wake) endpoint_.options.wake();  // which leads to settle()
}

void SseSession::own_expire(TimePoint now) {
  if (!keep_alive_ || *keep_alive_ > now) return;
  keep_alive_ = now + endpoint_.limits.sse_keep_alive;
  std::string comment;
  http::write_comment(comment);
  push(comment);
}

void SseSession::drain() {
  peer().end_of_input(
      Error{.code = rpc::code::connection_closed, .message = "the server is shutting down"});
  peer().process();
  if (!exchange_) return;
  exchange_->end();
  on_gone();
}

}  // namespace godwit::inline v0::detail
