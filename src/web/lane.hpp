// Lane: carries one stateless request at a time to its own peer, and the answer back: whole, with a
// status that fits it, or as a stream of events if something is said before the answer. A client
// that goes away takes its request back.
#pragma once

#include <list>
#include <memory>

#include "conversation.hpp"
#include "godwit/http/exchange.hpp"

namespace godwit::inline v0::detail::web {

class Lane final : public Conversation, private http::Exchange::Owner {
 public:
  explicit Lane(Endpoint::Impl& endpoint);
  ~Lane() override;

  /// Serves the message. `more` are fields for the head of the answer.
  void run(const http::Request& request, json::View message, http::Exchange& exchange,
           http::Fields more);
  /// The answer is complete, or nobody waits for it any more.
  bool done() const noexcept { return exchange_ == nullptr; }
  /// Whether it can serve another request.
  bool reusable() const noexcept { return over() && !spoilt_; }
  /// Whether nothing of it runs any more, or may.
  bool over() const noexcept { return done() && (spoilt_ || peer_is_idle()); }
  void drain() override;
  void fail() noexcept override { break_off(); }
  void put_away() noexcept override { endpoint_.retire(*this); }
  void processed() override;

  std::list<std::unique_ptr<Lane>>::iterator place;  // in the endpoint's list

  // Output
  void finish(const rpc::Outbound& message) override;
  void unanswered(rpc::Route route) override;
  bool give_up(rpc::Route route) noexcept override;

 private:
  void on_gone() override;
  /// Nobody waits for the answer any more.
  void abandon() noexcept;
  std::optional<TimePoint> own_deadline() const override { return keep_alive_; }
  void own_expire(TimePoint now) override;

  bool peer_is_idle() const noexcept;
  static int status_of(const Error* error) noexcept;
  void answer(std::string_view text, const Error* error);
  void begin_stream();
  void push(std::string_view bytes);
  void finished() noexcept;
  /// Ends the connection before the answer was complete.
  void break_off() noexcept;

  http::Exchange* exchange_ = nullptr;
  http::Fields more_;
  bool on_stack_ = false;
  bool streaming_ = false;
  bool spoilt_ = false;  // its handler may still run
  std::optional<TimePoint> keep_alive_;
};

}  // namespace godwit::inline v0::detail::web
