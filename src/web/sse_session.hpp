// SseSession: a client of the oldest revision over HTTP: it sends by POST and hears everything on
// one stream of events, whose end is the end of the session.
#pragma once

#include <string>

#include "conversation.hpp"
#include "godwit/http/exchange.hpp"
#include "session_order.hpp"

namespace godwit::inline v0::detail::web {

class SseSession final : public Conversation, private http::Exchange::Owner {
 public:
  SseSession(Endpoint::Impl& endpoint, std::string id, const IpAddress& client,
             std::shared_ptr<const rpc::Identity> owner);
  ~SseSession() override;

  const std::string& id() const noexcept { return id_; }
  /// Begins the stream and tells the client where to send to.
  void open(http::Exchange& exchange, const http::Fields& more, std::string_view post_to);
  void post(json::View message, const rpc::Facts& facts) {
    ++messages_;
    peer().receive(message, facts);
  }
  /// Whether it was begun by this one; null is nobody in particular.
  bool belongs_to(const rpc::Identity* caller) const noexcept {
    return rpc::same_caller(owner_.get(), caller);
  }
  void drain() override;
  void fail() noexcept override { break_off(); }
  void put_away() noexcept override { endpoint_.remove(*this); }

  // Output
  void finish(const rpc::Outbound& message) override;
  /// Everything goes by one stream: what is missing there ends it.
  bool give_up(rpc::Route) noexcept override {
    break_off();
    return true;
  }

 private:
  void on_gone() override;
  /// The stream is over, and with it the session.
  void ended() noexcept;
  std::optional<TimePoint> own_deadline() const override;
  void own_expire(TimePoint now) override;
  void push(std::string_view bytes);
  void break_off() noexcept;

  std::string id_;
  const std::shared_ptr<const rpc::Identity> owner_;
  SessionOrder::Place place_;  // never idle: its stream is open as long as it lives
  std::uint64_t messages_ = 0;
  std::optional<TimePoint> first_messages_;  // when they must have come
  http::Exchange* exchange_ = nullptr;
  std::optional<TimePoint> keep_alive_;
};

}  // namespace godwit::inline v0::detail::web
