// SseSession: a client of the oldest revision over HTTP: it sends by POST and hears everything on
// one stream of events, whose end is the end of the session.
#pragma once

#include <string>

#include "conversation.hpp"
#include "godwit/http/exchange.hpp"

namespace godwit::inline v0::detail {

class SseSession final : public Conversation, private http::Exchange::Owner {
 public:
  SseSession(Endpoint::Impl& endpoint, std::string id);
  ~SseSession() override;

  const std::string& id() const noexcept { return id_; }
  /// Begins the stream and tells the client where to send to.
  void open(http::Exchange& exchange, const http::Fields& more, std::string_view post_to);
  void post(json::View message) { peer().receive(message); }
  void drain();

  // Output
  void finish_message(std::size_t begin) override;

 private:
  void on_gone() override;
  std::optional<TimePoint> own_deadline() const override { return keep_alive_; }
  void own_expire(TimePoint now) override;
  void push(std::string_view bytes);

  std::string id_;
  http::Exchange* exchange_ = nullptr;
  std::optional<TimePoint> keep_alive_;
};

}  // namespace godwit::inline v0::detail
