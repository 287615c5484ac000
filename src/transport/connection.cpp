#include "godwit/transport/connection.hpp"

#include <algorithm>

#include "godwit/base/lifetime.hpp"
#include "godwit/io/timer.hpp"
#include "godwit/io/wakeup.hpp"

namespace godwit::inline v0 {

/// Shared because the end has several steps that call out, and each is taken although one before it
/// let go of the Connection. Where a message is heard there is nothing left to do then: a Watch.
struct Connection::State final : rpc::Receiver, std::enable_shared_from_this<State> {
  State(Loop& loop_, std::unique_ptr<rpc::Transport> transport_)
      : loop(loop_),
        transport(std::move(transport_)),
        deadlines(loop_),
        grace(loop_),
        wake(loop_, [this] { survive([&] { process(); }); }),
        tell_done(loop_, [this] {
          const auto self = shared_from_this();
          if (auto callback = std::exchange(done, nullptr)) callback(reason);
        }) {}

  Loop& loop;
  std::unique_ptr<rpc::Transport> transport;
  Timer deadlines;
  Timer grace;
  Wakeup wake;
  Wakeup tell_done;
  std::optional<rpc::Peer> peer;
  Function<void(const Error&)> done;
  Function<void()> heard;
  Error reason;
  bool ending = false;            // no more input; handlers may still answer
  bool finished = false;          // nothing more is written; what waits is on its way
  bool transport_closed = false;  // on_close() of the transport came
  bool told = false;
  Lifetime lifetime;

  void start(std::shared_ptr<const rpc::Router> router, rpc::PeerOptions options) {
    options.wake = [this] { wake.signal(); };  // not once the peer has closed
    options.deadline_moved = [this] { arm(); };
    peer.emplace(*transport, std::move(router), std::move(options));
    peer->set_connection_facts(transport->facts());
    transport->start(*this);
  }

  /// Runs something of this connection from the loop. What it throws, which is the end of memory,
  /// ends this connection and nothing else.
  template <class F>
  void survive(F&& run) noexcept {
    const auto self = shared_from_this();  // a callback may let go of the Connection
    try {
      run();
    } catch (...) {
      fail();
    }
  }

  /// In a catch block.
  void fail() noexcept {
    const auto self = shared_from_this();
    peer->options().log.caught("a connection is closed");
    break_off("out of memory");
  }

  void on_message(std::string_view message, std::size_t spare) override {
    hear([&] { peer->on_message(message, spare); });
  }
  void on_parsed(json::View message) override {
    hear([&] { peer->on_parsed(message); });
  }
  template <class Take>
  void hear(Take&& take) {
    // Not a reference for every message: to count it would cost more than to look.
    const Lifetime::Watch watch(lifetime);
    try {
      if (heard) tell_heard(watch);
      if (!watch.expired()) take();
    } catch (...) {
      if (!watch.expired()) fail();
    }
  }
  /// On the stack, since it may let go of the Connection that has it.
  void tell_heard(const Lifetime::Watch& watch) {
    Function<void()> call = std::exchange(heard, nullptr);
    call();
    if (!watch.expired() && !heard) heard = std::move(call);
  }
  void on_unreadable(const Error& error) override {
    survive([&] { peer->on_unreadable(error); });
  }
  void on_failure(const rpc::Id& id, const Error& error) override {
    survive([&] { peer->on_failure(id, error); });
  }
  void on_held(const rpc::Id& id, bool held) override {
    survive([&] { peer->on_held(id, held); });
  }
  void on_close(const Error& why) override {
    transport_closed = true;
    if (finished) {
      tell();
    } else {
      survive([&] { end(why); });
    }
  }

  void process() {
    peer->process();
    if (ending) finish_if_idle();
  }

  void arm() {
    const std::optional<TimePoint> next = peer->next_deadline();
    if (!next) return;
    const Duration wait = std::max(*next - peer->options().clock->now(), Duration(0));
    deadlines.start(wait, [this] {
      survive([&] {
        peer->expire(peer->options().clock->now());
        arm();
      });
    });
  }

  void end(const Error& why) {
    if (ending) return;
    ending = true;
    reason = why;
    const auto self = shared_from_this();  // a callback may let go of the Connection
    peer->end_of_input(why);
    peer->process();
    if (finish_if_idle()) return;
    grace.start(peer->options().limits.eof_grace, [this] { survive([&] { finish(); }); });
  }

  bool finish_if_idle() {
    if (peer->in_flight() > 0) return false;
    finish();
    return true;
  }

  void finish() {
    if (std::exchange(finished, true)) return;
    deadlines.cancel();
    peer->on_close(reason);
    if (!transport) return;  // broken off by what was told that
    // A peer that reads nothing must not keep us: the same patience as for handlers.
    grace.start(peer->options().limits.eof_grace, [this] { tell(); });
    if (transport_closed) {
      transport->when_flushed([self = Lifetime::Ref(lifetime, *this)] {
        if (State* const state = self.get()) state->tell();
      });
    } else {
      transport->close();  // its on_close() follows
    }
  }

  /// The end at once, which needs no memory. What was not written is lost.
  void break_off(const char* why) noexcept {
    const auto self = shared_from_this();  // a callback may let go of the Connection
    deadlines.cancel();
    if (!std::exchange(ending, true)) {
      reason.code = rpc::code::connection_closed;
      try {
        reason.message = why;
      } catch (...) {
        reason.message = "out of memory";  // short enough to need none
      }
    }
    finished = true;
    peer->on_close(reason);
    transport.reset();  // which the peer does not use any more
    tell();
  }

  void tell() noexcept {
    if (std::exchange(told, true)) return;
    grace.cancel();
    tell_done.signal();  // from the loop, so that the owner may destroy everything in the callback
  }
};

Connection::Connection(Loop& loop, std::unique_ptr<rpc::Transport> transport,
                       std::shared_ptr<const rpc::Router> router, rpc::PeerOptions options)
    : state_(std::make_shared<State>(loop, std::move(transport))) {
  state_->start(std::move(router), std::move(options));
}

Connection::~Connection() = default;
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;

rpc::Peer& Connection::peer() noexcept { return *state_->peer; }

void Connection::on_close(Function<void(const Error&)> done) { state_->done = std::move(done); }

void Connection::close() { state_->end(rpc::connection_closed("closed by this side")); }

void Connection::abort() { state_->break_off("broken off by this side"); }

void Connection::on_heard(Function<void()> heard) { state_->heard = std::move(heard); }

bool Connection::closed() const noexcept { return state_->ending; }

std::optional<Error> Connection::cannot_wait() const {
  if (!state_->loop.on_loop_thread()) return std::nullopt;
  return rpc::internal_error(
      "ask() was called from a callback of the loop it would have to wait for; use peer().call()");
}

void Connection::wait() { state_->loop.run(); }
void Connection::stop_waiting() { state_->loop.stop(); }

}  // namespace godwit::inline v0
