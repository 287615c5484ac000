// EventStream: the way back of one HTTP request of a stateful client: undecided at first, then one
// whole answer or a stream of events. An event is sent when the store has kept it, so that a client
// whose connection broke, or was let go, can come back for the rest with the id of the last one it
// got. A store that is slow or fails does not hold the client up for ever: the stream then goes on
// without ids, and cannot be come back to.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "endpoint_impl.hpp"
#include "godwit/http/exchange.hpp"
#include "godwit/http/sse_event.hpp"
#include "godwit/mcp/event_store.hpp"
#include "store_call.hpp"

namespace godwit::inline v0::detail::web {

class HttpSession;

/// What became of a client that came back to a stream: it has its connection, or will be answered
/// when the store has; there is no such stream (any more); too many are being sent again; the store
/// failed.
enum class Resumed : std::uint8_t { yes, unknown, busy, failed };

class EventStream final : private http::Exchange::Owner {
 public:
  explicit EventStream(Endpoint::Impl& endpoint);
  /// What is kept of it stays in the store.
  ~EventStream() override;
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  /// Begins anew, for this session.
  void open(HttpSession& session, http::Exchange* exchange, http::Fields more);
  /// From now on the client may go away at any time.
  void leave_stack();

  /// A message that is not the answer.
  void message(std::string_view text);
  /// The answer, and the error if it is one. The stream is over.
  void answer(int status, std::string_view text, const Error* error = nullptr);
  /// There will be no answer.
  void no_answer();
  /// Begins the stream of events, if it has not begun; `prime` gives the client an id to come back
  /// with before there is an event.
  void begin(bool prime);
  /// Ends the connection and not the stream.
  void let_go();
  /// Says something that means nothing, if nothing was said for long enough. Gives when to look
  /// again; nothing if nobody is there.
  std::optional<TimePoint> keep_alive(TimePoint now);
  /// Breaks the connection off.
  void hang_up() noexcept;
  /// The same, and nothing more is to come.
  void fail() noexcept {
    finished_ = true;
    hang_up();
  }
  /// Ends the connection in order, for good.
  void finish() noexcept;
  /// Whoever brought the exchange ends it; this one if it is given.
  void leave_exchange(http::Exchange* only = nullptr) noexcept;

  // Coming back, in event_stream_resume.cpp.

  /// What is done for a client that comes back.
  struct Return {
    /// The number of the last event that it has.
    std::uint64_t after = 0;
    http::Fields more{};
    /// As in begin().
    bool prime = false;
    /// If events that it lacks are gone it goes on without them, and is not refused.
    bool lossy = false;
  };
  /// Goes on for a client that came back; a connection that it left behind is ended. What it lacks
  /// is sent as it takes it. Anything but `yes` is for the caller to answer, and nothing was done;
  /// what is found out later is answered here.
  Resumed resume(http::Exchange& exchange, Return how);
  /// The same for a stream of which there is nothing but what the store has. `goes_on` says that
  /// there may be more events.
  Resumed revive(http::Exchange& exchange, std::string_view name, bool goes_on, Return how);
  /// The same while nobody has come back yet: finds out which number is next. `last` is one that
  /// the store has, or 0.
  void recall(std::string_view name, std::uint64_t last);
  /// Sends a few more of the events that are sent again, if the client has room.
  void go_on();
  /// Gives up what was not sent yet.
  void skip() noexcept { sent_ = acknowledged_; }

  // The store.

  /// Goes on with what the store has answered.
  void look_at_store();
  /// Does without what the store has not answered in time. Gives when to look again; nothing if
  /// nothing is waited for.
  std::optional<TimePoint> expire(TimePoint now);
  /// Nobody will come back to it: sends what waits, without ids, and has the store forget it.
  void abandon() noexcept;
  bool waits_for_store() const noexcept {
    return !waiting_.empty() || reading_.has_value() || returning_ != nullptr;
  }

  bool finished() const noexcept { return finished_; }
  bool begun() const noexcept { return begun_; }
  bool attached() const noexcept { return exchange_ || returning_; }
  /// Nobody is there, and nobody can come back to it.
  bool given_up() const noexcept { return !kept_ && !asking_ && !attached(); }
  /// Whether events are being sent again, or are about to be.
  bool replaying() const noexcept { return replaying_ || returning_; }
  const std::string& name() const noexcept { return name_; }
  /// Number of the last event that was handed to a connection.
  std::uint64_t sent() const noexcept { return sent_; }
  /// Number of the last event that the store has.
  std::uint64_t acknowledged() const noexcept { return acknowledged_; }
  /// Gives it the name that it will have when it begins.
  void name_it();
  /// So that it can be told from the streams of requests, also in another process.
  void set_name(std::string name) noexcept { name_ = std::move(name); }

 private:
  /// An event that has not been handed on.
  struct Waiting {
    std::uint64_t number;
    std::string event;                    // as it is sent
    std::optional<StoreCall<void>> call;  // unless it is not kept
    TimePoint since;
  };
  struct Said {
    std::string text;
    bool final;
  };
  /// A read that is under way.
  struct Reading {
    StoreCall<EventPage> call;
    TimePoint since;
  };
  class Returning;

  void on_gone() override;
  void on_drained() override;
  void detach() noexcept;
  StreamKey key() const noexcept;
  /// Keeps an event and sends it, as soon as that may be.
  void say(std::string_view text, bool final);
  void keep(std::string_view text, bool final);
  /// It cannot be handed on yet.
  void wait(std::uint64_t number, std::string event, std::optional<StoreCall<void>> call);
  void hand_on(std::uint64_t number, std::string_view event);
  /// What was said while the store was being asked.
  void say_the_rest();
  /// Hands on what has been kept, in order.
  void flush();
  /// From now on events have no ids.
  void stop_keeping(const Error& why) noexcept;
  void forget() noexcept;
  void end_if_over();
  void send_answer(int status, std::string_view text, const Error* error);
  std::string id_of(std::uint64_t number) const { return name_ + "." + std::to_string(number); }
  /// False if the connection was closed instead.
  bool push(std::string_view bytes);
  std::string event_of(std::uint64_t number, std::string_view data) const;
  std::string priming(std::uint64_t number) const;

  Resumed look_up(http::Exchange* exchange, Return how);
  /// What came of the read for a client that is coming back.
  Resumed arrive(std::unique_ptr<Returning> who, const Result<EventPage>& page);
  void attach(http::Exchange& exchange, Return how, const EventPage* page);
  void go_on(const EventPage* page);
  /// Appends the next piece of what is sent again, from the page if it is given.
  void write_piece(std::string& out, const EventPage* page);
  bool write_event(std::string& out, const KeptEvent& event);
  /// Reads what comes next. Null if it is not there yet, or the connection was closed.
  std::optional<EventPage> read_page();
  std::optional<EventPage> checked(Result<EventPage> page);
  void hold(const std::shared_ptr<const std::string>& event) noexcept;
  void drop_held() noexcept;
  void caught_up();

  Endpoint::Impl& endpoint_;
  HttpSession* session_ = nullptr;
  http::Exchange* exchange_ = nullptr;
  http::Fields more_;
  std::string name_;  // within its session; empty before the first event
  std::uint64_t last_ = 0;
  std::uint64_t acknowledged_ = 0;  // by the store
  std::uint64_t sent_ = 0;
  bool begun_ = false;
  bool finished_ = false;
  bool kept_ = true;
  bool forgotten_ = false;  // by the store
  bool goes_on_ = true;     // unless what the store has is all there is
  bool cut_off_ = false;    // what the store has is all there is, and not the whole
  bool reviving_ = false;   // it is not known yet what the store has
  bool asking_ = false;     // the same, or the store is on the stack
  bool replaying_ = false;  // what comes new waits its turn in the store
  http::SsePart part_;      // of the event after `sent_`, while replaying
  TimePoint spoke_{};       // when something was written last
  std::list<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::list<Said> said_meanwhile_;
  std::optional<Reading> reading_;
  std::unique_ptr<Returning> returning_;
  // The event that `part_` is of. A store that has it in memory is not kept from dropping it.
  std::shared_ptr<const std::string> held_;
  std::weak_ptr<const std::string> held_by_store_;
};

}  // namespace godwit::inline v0::detail::web
