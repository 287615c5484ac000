// Peer: one side of a JSON-RPC connection. Both sides may call. It moves no bytes and owns no
// thread: whole messages come in through receive(), messages go out through an Output, time passes
// through expire(). That is what lets it live in any event loop.
//
// One thread at a time. Only the answers of handlers that run elsewhere (Reply, blocking) come from
// other threads; they are kept and `PeerOptions::wake` is called, upon which the host calls
// process() on the peer's thread.
//
// Each call has exactly one outcome, ever: a result, the peer's error, a timeout, a cancellation,
// or the end of the connection.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "godwit/base/clock.hpp"
#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/log.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/json/value.hpp"
#include "godwit/rpc/facts.hpp"
#include "godwit/rpc/id.hpp"
#include "godwit/rpc/router.hpp"
#include "godwit/rpc/rules.hpp"
#include "godwit/rpc/tap.hpp"
#include "godwit/rpc/transport.hpp"

namespace godwit::inline v0::rpc {

namespace detail {
struct Letter;
class Mailbox;
/// In a catch block: that reading a result threw, in as many words as there is memory for.
GODWIT_API Error result_threw() noexcept;
}  // namespace detail

/// How a peer names its own requests.
enum class IdStyle : std::uint8_t { sequential, uuid };

class Peer;

struct PeerOptions {
  Rules rules{};
  Limits limits{};
  /// Errors, which are bugs of handlers and callbacks, go to stderr if not given; `Log()` says
  /// nothing.
  Log log = Log::to_stderr(LogLevel::error);
  /// Must outlive the peer.
  const Clock* clock = &steady_clock();
  IdStyle ids = IdStyle::sequential;
  /// Called from any thread when process() has something to do. Must not block, and must not call
  /// the peer: it only tells the peer's thread.
  std::function<void()> wake{};
  /// Called on the peer's thread when next_deadline() has become earlier than it was.
  std::function<void()> deadline_moved{};
  /// Called when an own request is given up (timeout or cancel()) and the other side should be
  /// told, in whatever way its protocol has for that.
  std::function<void(Peer& peer, const Id& id, const Error& reason)> abandoned{};
  /// Called when the time of an own call stops because the carrier holds it up, and when it runs
  /// again: for protocols with deadlines of their own. `tag` is that of CallOptions.
  std::function<void(std::uint64_t tag, bool held)> held{};
  /// Called once, when no call can get an answer any more, just before those that wait fail: for
  /// protocols that keep something of their own per connection.
  std::function<void(const Error& reason)> ended{};
  /// Called with what the other side sent and what is no message (nothing, if it was too long to be
  /// kept). The text is good during the call only.
  std::function<void(std::string_view text)> garbage{};
  /// Where the bytes of Limits::process_in_flight_bytes are counted; peers that are given the same
  /// count share that bound. A peer without one counts for itself.
  std::shared_ptr<std::atomic<std::size_t>> in_flight_bytes{};
  /// Sees every message both ways.
  Tap tap{};
  /// Who is at the other end of the connection, if that is known; null otherwise.
  std::shared_ptr<const Identity> identity{};
  /// Anything of the program's; handlers get it from their Context.
  std::shared_ptr<void> user{};
  /// Makes `user` for each peer anew, when the peer is made: for options that many connections
  /// share.
  std::function<std::shared_ptr<void>(Peer&)> attach{};
};

/// What a host of many peers gives to each of them, beside the options that they share.
struct PeerHooks {
  std::function<void()> wake{};
  std::function<void()> deadline_moved{};
};

struct CallOptions {
  /// Limits::call_timeout if not set.
  std::optional<Duration> timeout{};
  /// The way it is to take; that of the message being handled if not set.
  std::optional<Route> route{};
  /// Beside the message, if the carrier has a place for that. Not in a batch.
  MessageFields fields{};
  /// By which PeerOptions::held tells the call.
  std::uint64_t tag = 0;
};

/// Names an own call while it is waiting.
struct CallHandle {
  /// 0 means that nothing was sent: the outcome was delivered already.
  std::uint64_t number = 0;
  bool operator==(const CallHandle&) const = default;
};

/// Runs work on the thread of a peer. May be copied, kept and used on any thread; once the peer has
/// closed it does nothing.
class GODWIT_API Poster {
 public:
  Poster() = default;
  explicit Poster(std::shared_ptr<detail::Mailbox> mailbox) : mailbox_(std::move(mailbox)) {}
  /// Runs the work in the peer's next process(). What it throws goes to the log.
  void operator()(Function<void()> work) const;
  /// Whether the peer has closed.
  bool closed() const;

 private:
  friend class PreparedPost;
  std::shared_ptr<detail::Mailbox> mailbox_;
};

/// Work for the thread of a peer, to be posted later, on any thread. All that it needs is there
/// when it is made, so that posting it cannot fail.
class GODWIT_API PreparedPost {
 public:
  PreparedPost(const Poster& poster, Function<void()> work);
  /// Not posted, it is not run.
  ~PreparedPost();
  PreparedPost(PreparedPost&&) noexcept;
  PreparedPost& operator=(PreparedPost&&) noexcept;

  /// Runs the work as Poster does. A second time does nothing.
  void operator()() noexcept;

 private:
  std::shared_ptr<detail::Mailbox> mailbox_;
  std::unique_ptr<detail::Letter> letter_;
};

/// Names work that waits for its time.
struct TimerHandle {
  std::uint64_t number = 0;
  TimePoint when{};
};

/// In place of params: there are none.
struct NoParams {};
inline constexpr NoParams no_params{};

/// Gets the outcome of a call. Not deduced from: `call<Out>(…)` says what the result is read into,
/// json::Value if nothing is said.
template <class Out>
using Done = std::type_identity_t<Function<void(Result<Out>)>>;

class Batch;

class GODWIT_API Peer final : public Receiver {
 public:
  /// The output must outlive the peer. Without a router every request of the other side is answered
  /// with method_not_found.
  explicit Peer(Output& output, std::shared_ptr<const Router> router = nullptr,
                PeerOptions options = {});
  /// The same for one of many, which all have the same options but for the hooks.
  Peer(Output& output, std::shared_ptr<const Router> router,
       std::shared_ptr<const PeerOptions> options, PeerHooks hooks);
  ~Peer() override;

  // Input.

  /// One whole message. Called from inside a handler it is kept until that one is done.
  void receive(std::string_view message, Route route = 0) { receive(message, 0, route); }
  /// The same for one that is parsed already, within the limits of this peer; it must live as long
  /// as the call. For hosts that look into messages before they know whose they are.
  /// `route` is the way it came by and its answer goes, where the Output has several.
  void receive(json::View message, Route route = 0);
  /// The same, and what is known about this very message, in place of what is known about all.
  void receive(json::View message, const Facts& facts, Route route = 0);
  void receive(std::string_view message, std::size_t spare, const Facts& facts, Route route = 0);
  /// What is known about all messages of this connection. If nobody has verified who sends them,
  /// it is the identity of the options. Not while a message is being handled.
  void set_connection_facts(std::shared_ptr<const Facts> facts);
  void on_message(std::string_view message, std::size_t spare) override {
    receive(message, spare, 0);
  }
  void on_parsed(json::View message) override { receive(message); }
  void on_unreadable(const Error& error) override;
  /// Fails the call that travels under this id.
  void on_failure(const Id& id, const Error& error) override;
  /// Stops the time of the call that travels under this id, or lets it run again.
  void on_held(const Id& id, bool held) override;
  /// The other side will send nothing more: waiting calls fail, requests in flight are told to
  /// stop, but what they answer is still sent.
  void end_of_input(const Error& reason);
  /// Fails every waiting call with this reason and cancels every request in flight. Nothing is sent
  /// any more, not even the answer of a handler that is just running.
  void on_close(const Error& reason) override;
  void close() { on_close(connection_closed("closed")); }
  bool closed() const noexcept;

  // Own calls.

  /// Calls a method of the other side. `done` gets the outcome, on the peer's thread, exactly once.
  /// It runs before call() returns only if nothing could be sent, or if the Output brings the
  /// answer or the end of the connection while it takes the message. It may close and even destroy
  /// the peer; what it throws goes to the log.
  template <class Out = json::Value, class Params = NoParams>
  CallHandle call(std::string_view method, const Params& params, Done<Out> done,
                  const CallOptions& options = {}) {
    const Via via(*this, options.route);
    Outgoing request(*this, buffer(), method, Outgoing::Kind::request);
    write_params(request, params);
    return finish_request(request, adapt<Out>(std::move(done)), options);
  }
  /// Tells the other side something. Nothing comes back.
  template <class Params = NoParams>
  void notify(std::string_view method, const Params& params = {}, std::optional<Route> route = {}) {
    const Via via(*this, route);
    Outgoing notification(*this, buffer(), method, Outgoing::Kind::notification);
    write_params(notification, params);
    finish_notification(notification);
  }
  /// The notification by which the protocol takes back a request of this side, for
  /// PeerOptions::abandoned.
  template <class Params>
  void notify_cancelled(const Id& request, std::string_view method, const Params& params) {
    Outgoing notification(*this, buffer(), method, Outgoing::Kind::notification);
    write_params(notification, params);
    finish_notification(notification, &request);
  }
  /// Several calls and notifications in one message.
  Batch batch();

  /// Gives up an own call: its outcome is the error, at once. False if it had its outcome already.
  /// Without memory the error has no words.
  bool cancel(CallHandle call, std::string_view reason = "cancelled") noexcept;
  /// Gives an own call more time: it ends `timeout` from now, or from when it is no longer held up
  /// by the carrier. False if it is over.
  bool extend(CallHandle call, Duration timeout);
  /// The id that an own waiting call travels under.
  std::optional<Id> id_of(CallHandle call) const;

  // Taking over from a Peer that had this connection before, for protocols whose sessions outlive
  // their connections. A request that it had not answered is handed to receive() again.

  /// Waits for the answer to a request that the other Peer sent under this id. The outcome is as
  /// that of an own call.
  template <class Out = json::Value>
  CallHandle expect_answer(const Id& id, std::string_view method, Done<Out> done,
                           const CallOptions& options = {}) {
    const Via via(*this, options.route);
    return expect(id, method, adapt<Out>(std::move(done)), options);
  }
  /// The id that the next own call will have, for those who have to keep it before that is sent.
  Id next_call_id();
  /// How many own calls there were: ids of IdStyle::sequential are counted by it. Set before the
  /// first call, it keeps ids from being used twice.
  std::uint64_t calls_made() const noexcept;
  void set_calls_made(std::uint64_t calls) noexcept;

  /// The other side took back a request of its own: its handler's stop token stops, and no answer
  /// is sent. False if no such request is in flight.
  bool cancel_incoming(const Id& id);

  // Time and other threads.

  /// When expire() should be called next; nothing if no call and no timer waits.
  std::optional<TimePoint> next_deadline() const;
  /// Fails the calls whose time is up, and runs the timers.
  void expire(TimePoint now);
  /// Sends what handlers on other threads have answered, and runs what was posted.
  void process();
  /// For other threads, to run work on this peer's.
  Poster poster() const;
  /// Runs the work once, in expire(), after this much time; never if the peer closes before.
  TimerHandle schedule(Duration after, Function<void()> work);
  void unschedule(TimerHandle timer);
  /// Ends the connection that carries this way, and not the way (Output::let_go).
  void let_go(Route route);
  /// From the next message on: for protocols that agree on their rules while they talk.
  void set_rules(const Rules& rules);

  // Numbers.

  /// Own calls without an outcome.
  std::size_t pending() const noexcept;
  /// Requests of the other side whose answer is still to come.
  std::size_t in_flight() const noexcept;
  /// Whether the carrier has a place for CallOptions::fields.
  bool has_fields() const noexcept { return !closed() && output_.has_fields(); }
  /// As given; for what changes see rules() and user().
  const PeerOptions& options() const noexcept;
  const Rules& rules() const noexcept;
  /// PeerOptions::user, or what PeerOptions::attach made.
  const std::shared_ptr<void>& user() const noexcept;

 private:
  friend class Batch;
  friend class Context;
  struct Impl;
  using RawDone = Function<void(Result<json::View>)>;

  /// Sends by another route as long as it lives, or until the peer closes.
  class GODWIT_API Via {
   public:
    Via(Peer& peer, std::optional<Route> route) {
      if (route) enter(*peer.impl_, *route);
    }
    Via(Impl& impl, Route route) { enter(impl, route); }
    ~Via() {
      if (impl_) leave();
    }
    Via(const Via&) = delete;
    Via& operator=(const Via&) = delete;

   private:
    void enter(Impl& impl, Route route);
    void leave();
    Impl* impl_ = nullptr;
    Route before_ = 0;
  };

  /// A request or notification being written; taken back if it is not finished.
  class GODWIT_API Outgoing {
   public:
    enum class Kind : std::uint8_t { request, notification };
    Outgoing(Peer& peer, std::string& out, std::string_view method, Kind kind);
    ~Outgoing();
    Outgoing(const Outgoing&) = delete;
    Outgoing& operator=(const Outgoing&) = delete;
    json::Writer& writer() noexcept { return writer_; }

   private:
    friend class Peer;
    friend class Batch;
    friend struct Impl;
    void take_back() noexcept;
    std::string& out_;
    std::size_t begin_;
    json::Writer writer_;
    std::string_view method_;
    std::uint64_t number_ = 0;
    Id id_{};
    bool finished_ = false;
  };

  template <class Params>
  static void write_params(Outgoing& message, const Params& params) {
    if constexpr (!std::same_as<Params, NoParams>) {
      using namespace json::detail;
      static_assert(Struct<Params> || Dictionary<Params> || Sequence<Params> ||
                        FixedArray<Params> || AnyJson<Params> || Tuple<Params> ||
                        Customised<Params>,
                    "godwit: params are an object or an array: pass a struct, a map, a vector, a "
                    "std::tuple (by position), json::Value or RawJson");
      message.writer().raw_key("\"params\":");
      json::write(message.writer(), params);
    }
  }

  template <class Out>
  static RawDone adapt(Done<Out> done) {
    return [done = std::move(done)](Result<json::View> outcome) mutable {
      if (!outcome) return done(std::move(outcome).error());
      if constexpr (std::is_void_v<Out>) {
        done(Result<void>());
      } else {
        static_assert(!std::is_same_v<Out, json::View>);
        done(read_result<Out>(*outcome));
      }
    };
  }

  /// Always an outcome, also if a codec of the program throws or there is no memory.
  template <class Out>
  static Result<Out> read_result(json::View result) {
    try {
      Out value{};
      json::DecodeFailure failure;
      if (json::read(result, value, failure)) return value;
      return Error{.code = code::internal_error,
                   .message = "the result is not what was expected: " + failure.text()};
    } catch (...) {
      return detail::result_threw();
    }
  }

  void receive(std::string_view message, std::size_t spare, Route route);
  /// Where messages are written. Once closed not into the output, which may be gone.
  std::string& buffer();
  CallHandle finish_request(Outgoing& request, RawDone done, const CallOptions& options);
  CallHandle expect(const Id& id, std::string_view method, RawDone done,
                    const CallOptions& options);
  /// `takes_back` is the request of this side that it is about, if it takes one back.
  void finish_notification(Outgoing& notification, const Id* takes_back = nullptr);
  /// Why a message of this size with this many calls cannot be sent now. A batch has no method.
  std::optional<Error> refusal(std::string_view method, std::size_t bytes, std::size_t calls) const;
  /// Takes `done` only if it does not throw before the call is in the table.
  void await(std::uint64_t number, Id id, std::string method, RawDone& done,
             const CallOptions& options);
  /// Sends one that is written out already.
  void send_notification(std::string_view message);
  void deadline_may_have_moved(std::optional<TimePoint> before);

  Output& output_;
  std::unique_ptr<Impl> impl_;
};

/// Calls and notifications that travel together. The outcomes come one by one, each to its own
/// callback. Sent by send(), before the peer is destroyed; dropped unsent, every call fails.
class GODWIT_API Batch {
 public:
  ~Batch();
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) = delete;

  template <class Out = json::Value, class Params = NoParams>
  Batch& call(std::string_view method, const Params& params, Done<Out> done,
              const CallOptions& options = {}) {
    Peer::Outgoing request(*peer_, text_, method, Peer::Outgoing::Kind::request);
    Peer::write_params(request, params);
    add_request(request, Peer::adapt<Out>(std::move(done)), options);
    return *this;
  }
  template <class Params = NoParams>
  Batch& notify(std::string_view method, const Params& params = {}) {
    Peer::Outgoing notification(*peer_, text_, method, Peer::Outgoing::Kind::notification);
    Peer::write_params(notification, params);
    add_notification(notification);
    return *this;
  }
  /// Sends them. An empty batch sends nothing.
  void send();

 private:
  friend class Peer;
  explicit Batch(Peer& peer) : peer_(&peer) {}
  void add_request(Peer::Outgoing& request, Peer::RawDone done, const CallOptions& options);
  void add_notification(Peer::Outgoing& notification);

  struct Waiting {
    std::uint64_t number;
    Id id;
    std::string method;
    Peer::RawDone done;
    CallOptions options;
  };
  Peer* peer_;
  std::string text_;
  std::vector<Waiting> calls_;
  std::size_t entries_ = 0;
};

}  // namespace godwit::inline v0::rpc
