// EventStream: the way back of one HTTP request of a stateful client: undecided at first, then one
// whole answer or a stream of events. Events are kept before they are sent, so that a client whose
// connection broke, or was let go, can come back for the rest with the id of the last one it got.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "endpoint_impl.hpp"
#include "godwit/http/exchange.hpp"
#include "godwit/http/sse_event.hpp"

namespace godwit::inline v0::detail::web {

class HttpSession;

class EventStream final : private http::Exchange::Owner {
 public:
  explicit EventStream(Endpoint::Impl& endpoint) : endpoint_(endpoint) {}
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
  /// Goes on for a client that came back; a connection that it left behind is ended. What it lacks
  /// is sent as it takes it. False, with nothing done, if events that it lacks are gone. `prime` as
  /// in begin().
  bool resume(http::Exchange& exchange, std::uint64_t after, http::Fields more, bool prime = false);
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
  /// Gives up what was not sent yet.
  void skip() noexcept { sent_ = last_; }

  bool finished() const noexcept { return finished_; }
  bool begun() const noexcept { return begun_; }
  bool attached() const noexcept { return exchange_ != nullptr; }
  /// Whether events are being sent again.
  bool replaying() const noexcept { return replaying_; }
  /// Sends a few more of them, if the client has room.
  void go_on();
  const std::string& name() const noexcept { return name_; }
  /// Number of the last event that was handed to a connection.
  std::uint64_t sent() const noexcept { return sent_; }

 private:
  void on_gone() override;
  void on_drained() override;
  void detach() noexcept;
  void keep(std::string_view text);
  void send_answer(int status, std::string_view text, const Error* error);
  /// The next piece of what is sent again. False if there is no such event any more.
  bool write_piece(std::string& out);
  std::string id_of(std::uint64_t number) const { return name_ + "." + std::to_string(number); }
  /// False if the connection was closed instead.
  bool push(std::string_view bytes);
  std::string event_of(std::uint64_t number, std::string_view data) const;
  std::string priming(std::uint64_t number) const;

  Endpoint::Impl& endpoint_;
  HttpSession* session_ = nullptr;
  http::Exchange* exchange_ = nullptr;
  http::Fields more_;
  std::string name_;  // nobody can guess it; empty before the first event
  std::uint64_t last_ = 0;
  std::uint64_t sent_ = 0;
  bool begun_ = false;
  bool finished_ = false;
  bool replaying_ = false;  // what comes new waits its turn in the store
  http::SsePart part_;      // of the event after `sent_`, while replaying
  TimePoint spoke_{};       // when something was written last
};

}  // namespace godwit::inline v0::detail::web
