// HttpSession: a stateful client over HTTP: its peer, and which of its open requests each message
// goes back by. What belongs to no request goes by the stream that the client opened for that.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "conversation.hpp"
#include "event_stream.hpp"

namespace godwit::inline v0::detail {

class HttpSession final : public Conversation {
 public:
  HttpSession(Endpoint::Impl& endpoint, std::string id);
  ~HttpSession() override;

  const std::string& id() const noexcept { return id_; }

  /// A message of the client.
  void post(json::View message, http::Exchange& exchange, http::Fields more);
  /// The client wants what belongs to no request. False if it has such a stream already.
  bool listen(http::Exchange& exchange, http::Fields more);
  /// The client comes back to a stream. False if there is no such stream, or it is too late.
  bool resume(http::Exchange& exchange, std::string_view last_event_id, http::Fields more);

  /// Requests that are not answered yet.
  std::size_t in_flight() noexcept { return peer().in_flight(); }
  std::size_t streams() const noexcept { return streams_.size(); }
  /// Whether the handshake succeeded.
  bool established();
  /// Clients of this one's revision are told an id before the first event.
  bool primes();
  /// What the answer to the handshake carries besides.
  void add_fields(http::Fields& fields);
  /// Hangs up everywhere.
  void end();
  void drain();
  void stream_left();

  // Output
  void finish_message(std::size_t begin) override;
  void finish_answer(std::size_t begin, const Error* error) override;
  rpc::Route route() const noexcept override { return route_; }
  void set_route(rpc::Route route) override { route_ = route; }
  void unanswered(rpc::Route route) override;
  void let_go(rpc::Route route) override;

 private:
  std::optional<TimePoint> own_deadline() const override;
  void own_expire(TimePoint now) override;

  EventStream* find(rpc::Route route);
  EventStream& standalone();
  void keep_streams_alive();
  void finish(rpc::Route route);
  void forget_old(TimePoint now);

  std::string id_;
  bool announced_ = false;  // the client was told the id
  rpc::Route route_ = 0;
  rpc::Route last_route_ = 0;
  /// The request being handled; it moves to the others if it is not answered at once.
  EventStream* on_stack_ = nullptr;
  rpc::Route on_stack_route_ = 0;
  bool let_go_later_ = false;
  bool ended_ = false;
  std::unique_ptr<EventStream> standalone_;
  std::unordered_map<rpc::Route, std::unique_ptr<EventStream>> streams_;
  /// Those that are over and may be asked for again, oldest first.
  std::list<std::pair<TimePoint, rpc::Route>> finished_;
  TimePoint last_used_;
  TimePoint idle_check_;
  std::optional<TimePoint> keep_alive_;
};

}  // namespace godwit::inline v0::detail
