// HttpSession: a stateful client over HTTP: its peer, and which of its open requests each message
// goes back by. What belongs to no request goes by the stream that the client opened for that.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "conversation.hpp"
#include "event_stream.hpp"
#include "saved_session.hpp"
#include "session_order.hpp"
#include "session_saver.hpp"

namespace godwit::inline v0::detail::web {

class HttpSession final : public Conversation {
 public:
  HttpSession(Endpoint::Impl& endpoint, std::string id, const IpAddress& client,
              std::shared_ptr<const rpc::Identity> owner);
  ~HttpSession() override;

  const std::string& id() const noexcept { return id_; }

  // Saving.

  /// Makes one that has just begun what it was when state() was saved. An error, and it is of no
  /// use, if that cannot be. Runs code of the program, which may end it.
  Result<void> restore(const SavedSession& saved);
  /// Counts the changes of what is worth saving.
  std::uint64_t changes() const noexcept { return Service::session_of(peer()).changes(); }
  /// What is saved.
  Result<std::string> state();
  /// Says something that was held back.
  void say(Utterance what);
  /// The handshake could not be saved.
  void never_began() noexcept { fail(); }

  /// A message of the client.
  void post(json::View message, const rpc::Facts& facts, http::Exchange& exchange,
            http::Fields more);
  /// Whether it was begun by this one; null is nobody in particular.
  bool belongs_to(const rpc::Identity* caller) const noexcept {
    return rpc::same_caller(owner_.get(), caller);
  }
  /// The client wants what belongs to no request. `busy` if it has such a stream already.
  Resumed listen(http::Exchange& exchange, http::Fields more);
  /// The client comes back to a stream.
  Resumed resume(http::Exchange& exchange, std::string_view last_event_id, http::Fields more);

  /// The client has come back after the handshake.
  void hear() noexcept { heard_ = true; }
  /// No request of it is in flight and no stream is open.
  bool idle() noexcept;
  TimePoint last_used() const noexcept { return last_used_; }
  std::optional<SessionOrder::Place>& place() noexcept { return place_; }

  /// Requests that are not answered yet.
  std::size_t in_flight() noexcept { return peer().in_flight(); }
  std::size_t streams() const noexcept { return streams_.size(); }
  /// Whether the handshake succeeded.
  bool established();
  /// Clients of this one's revision are told an id before the first event.
  bool primes();
  /// What the answer to the handshake carries besides.
  void add_fields(http::Fields& fields);
  /// Why it ends here: it is over for good, or its endpoint goes away, and what the stores have of
  /// it stays.
  enum class End : std::uint8_t { over, leaving };
  /// Hangs up everywhere.
  void end(End why) noexcept;
  bool over() const noexcept { return ended_; }
  void drain() override;
  void fail() noexcept override;
  void put_away() noexcept override { endpoint_.remove(*this); }
  void stream_left();
  /// A stream has more to send again.
  void go_on_later() {
    if (!std::exchange(go_on_, true)) process_later();
  }
  void processed() override;
  void keep_streams_alive();
  /// A stream waits for a store.
  void await_store();
  /// Something of it is in the event store.
  void has_events() noexcept { has_events_ = true; }
  /// The store does not have this stream (any more). Destroys it.
  void not_revived(EventStream& stream) noexcept;
  /// Of the stream for what belongs to no request. It can be told from the others in any process.
  static std::string new_stream_name();
  /// Another one for a stream of the same kind.
  static std::string fresh_name(std::string_view old);

  // Output
  void finish(const rpc::Outbound& message) override;
  void unanswered(rpc::Route route) override;
  bool give_up(rpc::Route route) noexcept override;
  void let_go(rpc::Route route) override;

 private:
  std::optional<TimePoint> own_deadline() const override;
  void own_expire(TimePoint now) override;

  class OnStack;

  void used() noexcept;
  /// Counts the client's words that are kept.
  void count_bytes() noexcept;
  bool attached() const noexcept;
  EventStream* find(rpc::Route route);
  EventStream& standalone();
  /// Calls this with each stream that there is. Code of the program may run in it that begins
  /// others and forgets some.
  template <class F>
  void for_each_stream(F&& each);
  /// Nobody will come back to it.
  void drop_stream(rpc::Route route) noexcept;
  void drop_oldest_finished() noexcept;
  void expire_stores(TimePoint now);
  void message(rpc::Route route, std::string_view text);
  void no_answer(rpc::Route route);
  void answer(rpc::Route route, std::string_view text, const Error* error);
  /// The stream has its answer.
  void answered(rpc::Route route);
  void forget_old(TimePoint now);

  /// Nothing if it need not be held back.
  bool held(const rpc::Outbound& outbound);
  /// Whether what was saved is all that goes on: no request is lost if it ends here.
  bool moves_whole();
  Resumed revive(http::Exchange& exchange, std::string_view name, EventStream::Return how);
  void leave_stores(End why) noexcept;

  std::string id_;
  std::unique_ptr<SessionSaver> saver_;  // null where sessions are not saved
  const std::shared_ptr<const rpc::Identity> owner_;
  std::optional<SessionOrder::Place> place_;  // until it has ended
  bool announced_ = false;                    // the client was told the id
  bool heard_ = false;                        // of the client after that
  rpc::Route last_route_ = 0;
  /// The request being handled; it moves to the others if it is not answered at once.
  EventStream* on_stack_ = nullptr;
  rpc::Route on_stack_route_ = 0;
  bool let_go_later_ = false;
  bool ended_ = false;
  bool go_on_ = false;         // streams wait for their turn
  bool awaits_store_ = false;  // something of it does
  bool has_events_ = false;    // in the event store
  bool restored_ = false;      // it was begun elsewhere
  bool left_stores_ = false;   // they were told that it ends here
  std::optional<TimePoint> store_deadline_;
  std::unique_ptr<EventStream> standalone_;
  std::map<rpc::Route, std::unique_ptr<EventStream>> streams_;
  /// Those that are over and may be asked for again, oldest first.
  std::list<std::pair<TimePoint, rpc::Route>> finished_;
  TimePoint last_used_;
  TimePoint idle_check_;
  std::optional<TimePoint> keep_alive_;
};

}  // namespace godwit::inline v0::detail::web
