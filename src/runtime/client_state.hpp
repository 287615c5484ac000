// The inside of a Client: a loop, its thread, and on that thread the connection and the session.
// Everything but `facts` belongs to the loop's thread once that runs.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "godwit/base/rollback.hpp"
#include "godwit/io/connector.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/timer.hpp"
#include "godwit/io/wakeup.hpp"
#include "godwit/rpc/error_code.hpp"
#include "godwit/runtime/client.hpp"
#include "godwit/transport/command.hpp"
#include "godwit/transport/connection.hpp"
#include "godwit/transport/socket.hpp"
#include "godwit/transport/websocket.hpp"
#include "godwit/web/http_transport.hpp"

namespace godwit::inline v0 {

/// Shared because its thread outlives the Client that is destroyed on that thread.
struct Client::State : std::enable_shared_from_this<Client::State> {
  /// Begins a connection; `done` gets the transport, at once or later, on the loop's thread.
  using Opener = std::function<void(State& state, OnConnected done)>;
  using Work = Function<void(Result<ClientSession*>)>;
  static constexpr Duration shortest_pause = std::chrono::milliseconds(250);
  static constexpr Duration longest_pause = std::chrono::seconds(30);
  /// A subscription that held so long did not fail at once.
  static constexpr Duration long_enough = std::chrono::seconds(10);

  State(ClientOptions options_, Opener opener_)
      : options(std::move(options_)), opener(std::move(opener_)), guard(std::in_place, loop) {}

  // Any thread.

  void run_thread();
  /// Ends everything and joins the thread. On the client's own thread it lets the thread end later.
  void close();

  /// Begins something with the session, soon, on the loop's thread. A server that ended the session
  /// has done nothing: then it begins once more, in a new one. `done` gets the outcome there, once.
  template <class T, class Begin>
  void post_call(Begin begin, Function<void(Result<T>)> done) {
    const auto alive =
        shared_from_this();  // `done` may destroy the client before post() is through
    auto call = std::make_shared<Call<T, Begin>>(*this, std::move(begin), std::move(done));
    Rollback undo([&] { call->done = nullptr; });  // the caller gets the exception
    loop.post([this, call] {
      use([call](Result<ClientSession*> with) { call->run(std::move(with), false); });
    });
    undo.dismiss();
  }

  /// Waits for the outcome of what `begin` starts with the session.
  template <class T, class Begin>
  Result<T> wait(Begin begin) {
    if (loop.on_loop_thread()) {
      return rpc::internal_error(
          "a call that waits was made on the client's own thread, which would wait for itself; use "
          "the form with a callback");
    }
    const auto alive = shared_from_this();
    auto promise = std::make_shared<std::promise<Result<T>>>();
    std::future<Result<T>> outcome = promise->get_future();
    post_call<T>(std::move(begin), [promise = std::move(promise)](Result<T> result) {
      promise->set_value(std::move(result));
    });
    try {
      return outcome.get();
    } catch (const std::future_error&) {  // the client went away with the work undone
      return rpc::connection_closed("the client was closed");
    }
  }

  Verdict known() const {
    const std::lock_guard lock(mutex);
    return facts;
  }

  // The loop's thread.

  /// Runs the work with the session: now, once it is there, or with the reason why it never will.
  void use(Work work);
  /// The same with the session that comes after this one, which is about to end.
  void use_next(Work work);

  /// A call on its way to the session and back.
  /// Shared because it waits in the session, and again in the next one if that ended.
  template <class T, class Begin>
  struct Call : std::enable_shared_from_this<Call<T, Begin>> {
    Call(State& state_, Begin begin_, Function<void(Result<T>)> done_)
        : state(state_), begin(std::move(begin_)), done(std::move(done_)) {}
    /// A call that nobody knows any more was lost where there was no memory for it.
    ~Call() {
      if (!state.finished) finish(out_of_memory());
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    void run(Result<ClientSession*> with, bool again) {
      if (!with) return finish(std::move(with).error());
      begin(**with, [self = this->shared_from_this(), again](Result<T> outcome) {
        const bool lost = !outcome && HttpTransport::is_session_ended(outcome.error());
        if (!lost || again) return self->finish(std::move(outcome));
        self->state.use_next(
            [self](Result<ClientSession*> next) { self->run(std::move(next), true); });
      });
    }
    void finish(Result<T> outcome) noexcept {
      state.guarded("the callback of a call threw", std::exchange(done, nullptr),
                    std::move(outcome));
    }

    State& state;
    Begin begin;
    Function<void(Result<T>)> done;
  };

  void open();
  void cannot_open(std::string_view reason);
  void on_transport(Result<std::unique_ptr<rpc::Transport>> transport);
  void on_started(Result<void> outcome);
  void on_closed(const Error& reason);
  void tell_waiting(Result<ClientSession*> outcome);
  /// Runs a callback of the program; what it throws goes to the log, behind this complaint.
  template <class F, class... Args>
  void guarded(std::string_view complaint, F&& callback, Args&&... args) noexcept {
    try {
      if (callback) callback(std::forward<Args>(args)...);
    } catch (...) {
      options.log.caught(complaint);
    }
  }
  void tear_down();
  void finish();
  void break_off() noexcept;
  /// Runs one step. If memory runs out in it, the connection is broken off, soon.
  template <class F>
  void or_break_off(F&& step) {
    try {
      step();
    } catch (const std::bad_alloc&) {
      options.log.caught("the connection is closed");
      breaking_off.signal();
    }
  }

  struct Renewable {
    SubscriptionFilter filter{};
    ListenCallbacks callbacks{};
    Function<void(Result<void>)> agreed{};  // until the first answer of the server
    Listen listen{};
    bool active = false;
    bool broken = false;  // and being taken up again: changes may have been missed
    TimePoint since{};    // when the server last agreed
    /// The handle is gone, on whichever thread.
    std::shared_ptr<std::atomic<bool>> unwanted = std::make_shared<std::atomic<bool>>(false);
  };
  void add_listen(const std::shared_ptr<Renewable>& entry, Function<void(Result<void>)> agreed);
  void begin_listen(std::uint64_t number, const std::shared_ptr<Renewable>& entry);
  /// Those that are not active.
  void begin_listens();
  void listen_acknowledged(Renewable& entry, const SubscriptionFilter& honoured);
  void listen_ended(std::uint64_t number, Result<void> outcome);
  /// Ends those that were given up by whoever had the handle.
  void end_unwanted_listens();
  /// Those of a connection that was broken off.
  void listens_broke() noexcept;
  /// Takes up what broke, after a while that grows from one failure to the next.
  void renew_later();
  void renew();

  ClientOptions options;
  Opener opener;
  /// Whether the opener may be used again for a server that ends at the probe.
  bool reopens = false;
  bool skip_probe = false;              // because it did
  CommandTransport* command = nullptr;  // while there is a program
  bool finished = false;                // the client is being destroyed
  Loop loop;
  std::optional<Loop::Work> guard;  // keeps the loop running without a connection
  std::thread thread;

  enum class Phase : std::uint8_t { closed, opening, ready, closing };
  Phase phase = Phase::closed;
  bool opened_before = false;
  /// Of calls that are not begun.
  Error why{.code = rpc::code::connection_closed,
            .message = "the client was closed",
            .cause = Cause::not_connected};
  std::optional<Connector> connector;
  std::optional<WebSocketConnector> websocket;
  std::optional<ClientSession> session;
  std::optional<Connection> connection;
  std::vector<Work> waiting;
  std::map<std::uint64_t, std::shared_ptr<Renewable>> listens;
  std::uint64_t last_listen = 0;
  Timer renewal{loop};
  Wakeup closing{loop, [this] { tear_down(); }};
  Wakeup breaking_off{loop, [this] { break_off(); }};
  Wakeup listens_unwanted{loop, [this] { end_unwanted_listens(); }};
  Duration renewal_pause = shortest_pause;

  mutable std::mutex mutex;
  Verdict facts;
};

}  // namespace godwit::inline v0
