#include "sse_session.hpp"

#include "godwit/base/rollback.hpp"
#include "godwit/http/sse_event.hpp"
#include "godwit/rpc/error_code.hpp"
#include "wire.hpp"

namespace godwit::inline v0::detail::web {

SseSession::SseSession(Endpoint::Impl& endpoint, std::string id, const IpAddress& client,
                       std::shared_ptr<const rpc::Identity> owner)
    : Conversation(endpoint),
      id_(std::move(id)),
      owner_(std::move(owner)),
      place_(endpoint, client, nullptr) {}

SseSession::~SseSession() {
  close();
  if (!exchange_) return;
  exchange_->abort();
  --endpoint_.open_exchanges;
}

void SseSession::open(http::Exchange& exchange, const http::Fields& more,
                      std::string_view post_to) {
  exchange_ = &exchange;
  ++endpoint_.open_exchanges;
  Rollback failed([&] {  // whoever called ends the exchange
    if (exchange_) exchange_->set_owner(nullptr);
    ended();
  });
  exchange.begin(200, sse_type, with_stream_fields(more));
  exchange.set_owner(this);
  std::string event;
  http::write_event(event, {.event = "endpoint", .data = post_to});
  push(event);
  const TimePoint now = endpoint_.clock->now();
  keep_alive_ = now + endpoint_.limits.sse_keep_alive;
  first_messages_ = now + endpoint_.limits.session_first_message_time;
  rearm();
  failed.dismiss();
}

void SseSession::finish(const rpc::Outbound& message) {
  std::string event;
  http::write_event(event, {.event = "message", .data = written(message.begin)});
  endpoint_.buffer.resize(message.begin);
  push(event);
}

void SseSession::push(std::string_view bytes) {
  if (!exchange_) return;
  if (keeps_up(*exchange_, endpoint_.limits)) return exchange_->write(bytes);
  endpoint_.log.limited(LogLevel::warning,
                        "a client does not read its stream; its session is ended");
  break_off();
}

void SseSession::break_off() noexcept {
  if (exchange_) exchange_->abort();
  ended();
}

void SseSession::on_gone() {
  const Endpoint::Impl::Entered entered(endpoint_);
  ended();
}

void SseSession::ended() noexcept {
  if (std::exchange(exchange_, nullptr)) --endpoint_.open_exchanges;
  endpoint_.end(*this);
}

std::optional<TimePoint> SseSession::own_deadline() const {
  if (!keep_alive_ || !first_messages_) return keep_alive_;
  return std::min(*keep_alive_, *first_messages_);
}

void SseSession::own_expire(TimePoint now) {
  if (first_messages_ && *first_messages_ <= now) {
    first_messages_.reset();
    // The handshake, and whatever comes after it.
    if (messages_ < 2 && exchange_) {
      exchange_->end();
      return ended();
    }
  }
  if (!keep_alive_ || *keep_alive_ > now) return;
  keep_alive_ = now + endpoint_.limits.sse_keep_alive;
  std::string comment;
  http::write_comment(comment);
  push(comment);
}

void SseSession::drain() {
  peer().end_of_input(rpc::connection_closed("the server is shutting down"));
  peer().process();
  if (!exchange_) return;
  exchange_->end();
  ended();
}

}  // namespace godwit::inline v0::detail::web
