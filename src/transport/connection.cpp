#include "godwit/transport/connection.hpp"

#include <algorithm>

#include "godwit/io/timer.hpp"

namespace godwit::inline v0 {

struct Connection::State final : rpc::Receiver, std::enable_shared_from_this<State> {
  State(Loop& loop_, std::unique_ptr<rpc::Transport> transport_)
      : loop(loop_), transport(std::move(transport_)), deadlines(loop_), grace(loop_) {}

  Loop& loop;
  std::unique_ptr<rpc::Transport> transport;
  Timer deadlines;
  Timer grace;
  std::optional<rpc::Peer> peer;
  Function<void(const Error&)> done;
  Error reason;
  bool ending = false;            // no more input; handlers may still answer
  bool finished = false;          // nothing more is written; what waits is on its way
  bool transport_closed = false;  // on_close() of the transport came
  bool told = false;

  void start(std::shared_ptr<const rpc::Router> router, rpc::PeerOptions options) {
    options.wake = [this_loop = &loop, weak = weak_from_this()] {
      this_loop->post([weak] {
        if (const auto self = weak.lock()) self->process();
      });
    };
    options.deadline_moved = [this] { arm(); };
    peer.emplace(*transport, std::move(router), std::move(options));
    transport->start(*this);
  }

  void on_message(std::string_view message, std::size_t spare) override {
    peer->on_message(message, spare);
  }
  void on_unreadable(const Error& error) override { peer->on_unreadable(error); }
  void on_close(const Error& why) override {
    transport_closed = true;
    if (finished) {
      tell();
    } else {
      end(why);
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
      peer->expire(peer->options().clock->now());
      arm();
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
    grace.start(peer->options().limits.eof_grace, [this] { finish(); });
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
    // A peer that reads nothing must not keep us: the same patience as for handlers.
    grace.start(peer->options().limits.eof_grace, [this] { tell(); });
    if (transport_closed) {
      transport->when_flushed([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->tell();
      });
    } else {
      transport->close();  // its on_close() follows
    }
  }

  void tell() {
    if (std::exchange(told, true)) return;
    grace.cancel();
    // From the loop, so that the owner may destroy everything in the callback.
    loop.post([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self && self->done) {
        auto callback = std::exchange(self->done, nullptr);
        callback(self->reason);
      }
    });
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

void Connection::close() {
  state_->end(Error{.code = rpc::code::connection_closed, .message = "closed by this side"});
}

bool Connection::closed() const noexcept { return state_->ending; }

std::optional<Error> Connection::cannot_wait() const {
  if (!state_->loop.on_loop_thread()) return std::nullopt;
  return rpc::internal_error(
      "ask() was called from a callback of the loop it would have to wait for; use peer().call()");
}

void Connection::wait() { state_->loop.run(); }
void Connection::stop_waiting() { state_->loop.stop(); }

}  // namespace godwit::inline v0
