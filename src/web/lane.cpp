#include "lane.hpp"

#include "godwit/base/rollback.hpp"
#include "godwit/http/response.hpp"
#include "godwit/http/sse_event.hpp"
#include "godwit/rpc/error_code.hpp"
#include "godwit/transport/request_facts.hpp"
#include "mcp/era/eras.hpp"
#include "wire.hpp"

namespace godwit::inline v0::detail::web {

Lane::Lane(Endpoint::Impl& endpoint) : Conversation(endpoint) {
  Service::session_of(peer()).set_stateless();
}

Lane::~Lane() {
  close();
  if (!exchange_) return;
  exchange_->abort();
  --endpoint_.open_exchanges;
}

bool Lane::peer_is_idle() const noexcept { return peer().in_flight() == 0; }

void Lane::run(const http::Request& request, json::View message, http::Exchange& exchange,
               http::Fields more) {
  exchange_ = &exchange;
  more_ = std::move(more);
  streaming_ = false;
  ++endpoint_.open_exchanges;
  on_stack_ = true;
  // Whoever called then answers the exchange, or ends it.
  Rollback failed([&] {
    on_stack_ = false;
    if (exchange_) exchange_->set_owner(nullptr);
    abandon();
  });
  peer().receive(message, facts_of(request));
  const bool nothing_to_answer = peer_is_idle() || !message.find("id");  // a notification
  if (exchange_ && nothing_to_answer) {
    exchange_->respond(202, {}, {}, more_);
    finished();
  }
  on_stack_ = false;
  if (!done()) {
    exchange_->set_owner(this);
    keep_alive_ = endpoint_.clock->now() + endpoint_.limits.sse_keep_alive;
    rearm();
  }
  failed.dismiss();
}

int Lane::status_of(const Error* error) noexcept {
  return error ? mcp::Eras::built_in().newest_alone().http_status(*error) : 200;
}

void Lane::finish(const rpc::Outbound& message) {
  if (exchange_ && message.is_answer()) {
    answer(written(message.begin), message.error);
    endpoint_.buffer.resize(message.begin);
    return;
  }
  std::string event;
  if (exchange_) http::write_event(event, {.data = written(message.begin)});
  endpoint_.buffer.resize(message.begin);
  if (exchange_) push(event);
}

void Lane::answer(std::string_view text, const Error* error) {
  if (!streaming_) {
    int status = status_of(error);
    if (error) status = http::status_of(*error, status, more_);
    exchange_->respond(status, json_type, text, more_);
  } else {
    std::string event;
    http::write_event(event, {.data = text});
    exchange_->write(event);
    exchange_->end();
  }
  finished();
}

void Lane::begin_stream() {
  if (streaming_) return;
  Rollback failed([&] { break_off(); });  // nobody knows how much of the head was sent
  exchange_->begin(200, sse_type, with_stream_fields(more_));
  failed.dismiss();
  streaming_ = true;
  exchange_->set_owner(this);
}

void Lane::push(std::string_view bytes) {
  begin_stream();
  if (keeps_up(*exchange_, endpoint_.limits)) return exchange_->write(bytes);
  endpoint_.log.limited(LogLevel::warning,
                        "a client does not read its stream; its request is given up");
  break_off();
}

void Lane::unanswered(rpc::Route) {
  if (!exchange_) return;
  spoilt_ = true;
  if (streaming_) {
    exchange_->end();
  } else {
    exchange_->respond(202, {}, {}, more_);
  }
  finished();
}

void Lane::on_gone() {
  const Endpoint::Impl::Entered entered(endpoint_);
  abandon();
}

void Lane::abandon() noexcept {
  spoilt_ = true;
  if (exchange_) finished();
  peer().close();  // its handler should not work on for nobody
  if (!on_stack_) endpoint_.end(*this);
}

void Lane::break_off() noexcept {
  if (exchange_) exchange_->abort();
  abandon();
}

bool Lane::give_up(rpc::Route) noexcept {
  break_off();
  return true;
}

void Lane::processed() {
  if (done() && !on_stack_ && peer_is_idle()) endpoint_.end(*this);
}

void Lane::finished() noexcept {
  exchange_ = nullptr;
  --endpoint_.open_exchanges;
  keep_alive_.reset();
  if (!on_stack_) endpoint_.end(*this);
}

void Lane::own_expire(TimePoint now) {
  if (!exchange_ || !keep_alive_ || *keep_alive_ > now) return;
  keep_alive_ = now + endpoint_.limits.sse_keep_alive;
  std::string comment;
  http::write_comment(comment);
  push(comment);
}

void Lane::drain() {
  peer().end_of_input(rpc::connection_closed("the server is shutting down"));
  peer().process();
}

}  // namespace godwit::inline v0::detail::web
