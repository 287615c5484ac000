#include "godwit/transport/stream_transport.hpp"

#include <algorithm>
#include <utility>

namespace godwit::inline v0 {

namespace {

/// What is still read from a peer that takes nothing any more; as much as a pipe may hold.
constexpr std::size_t last_words = 1u << 20;

}  // namespace

/// Marks the time in which input is delivered, and notices if the transport is destroyed in it.
struct StreamTransport::Burst {
  explicit Burst(StreamTransport& transport) : owner(&transport) { transport.burst_ = this; }
  ~Burst() {
    if (owner) owner->burst_ = nullptr;
  }
  bool alive() const noexcept { return owner != nullptr; }

  StreamTransport* owner;
};

StreamTransport::StreamTransport(Loop& loop, Stream both, Framing framing, const Limits& limits)
    : loop_(loop),
      limits_(limits),
      decoder_(framing, limits),
      input_(std::move(both)),
      linger_(loop),
      framing_(framing),
      self_(std::make_shared<StreamTransport*>(this)) {
  input_.set_handler(*this);
}

StreamTransport::StreamTransport(Loop& loop, Stream input, Stream output, Framing framing,
                                 const Limits& limits)
    : StreamTransport(loop, std::move(input), framing, limits) {
  output_.emplace(std::move(output));
  output_->set_handler(*this);
}

StreamTransport::~StreamTransport() {
  *self_ = nullptr;
  if (burst_) burst_->owner = nullptr;
}

void StreamTransport::start(rpc::Receiver& receiver) {
  receiver_ = &receiver;
  if (phase_ != Phase::idle) return;
  phase_ = Phase::open;
  input_.resume();
}

// --- input

std::span<char> StreamTransport::on_space() { return decoder_.prepare(); }

void StreamTransport::on_data(std::size_t size) {
  decoder_.commit(size);
  pump();
}

void StreamTransport::pump() {
  using Event = FrameDecoder::Event;
  if (burst_) return;  // a handler that runs the loop inside itself
  Burst burst(*this);
  while (!(paused_ && phase_ == Phase::open)) {  // if paused, the rest waits in the decoder
    const Event event = decoder_.next();
    if (event == Event::none) break;
    if (phase_ != Phase::open) {  // after close() whatever comes is thrown away
      if (event == Event::fatal) break;
    } else if (event == Event::message) {
      receiver_->on_message(decoder_.message(), decoder_.spare());
    } else {
      // Also before giving up: the peer is told why.
      receiver_->on_unreadable(decoder_.error());
    }
    if (!burst.alive()) return;
    if (event == Event::fatal) {
      finish(decoder_.error(), Phase::closing);
      break;
    }
  }
  burst_ = nullptr;
  write_out();
  if (end_seen_ && !paused_ && phase_ == Phase::open) finish(std::move(reason_), Phase::ended);
}

void StreamTransport::on_end(const Result<void>& how) {
  if (phase_ != Phase::open) return;
  end_seen_ = true;
  if (how) decoder_.finish();
  if (!write_failed_) {  // else that is the reason
    reason_ = !how                 ? how.error()
              : decoder_.partial() ? error("the other side closed the connection inside a message")
                                   : error("the other side closed the connection");
  }
  if (!paused_) pump();
}

// --- output

void StreamTransport::finish_message(std::size_t begin) {
  if (write_failed_) {
    out_.text().resize(begin);
    return;
  }
  const std::size_t waiting = unsent();
  finish_frame(out_.text(), begin, framing_);
  out_.finish_message();
  // Judged before this message: a single large answer is no fault of the peer.
  if (blocked_ && waiting > 4 * limits_.output_queue_bytes) {
    drop_output();
    return finish(error("the other side does not read: " + std::to_string(waiting) +
                        " bytes are waiting for it; the connection is closed"),
                  Phase::closing);
  }
  if (!burst_ || unsent() > std::min(OutputBuffer::early_write, limits_.output_queue_bytes))
    write_out();
}

void StreamTransport::flush() { write_out(); }

void StreamTransport::write_out() {
  if (!blocked_) {
    if (Result<void> put = out_.write(out_stream()); !put) return broken(std::move(put).error());
    blocked_ = unsent() > 0;
  }
  if (!paused_ && unsent() > limits_.output_queue_bytes) {
    paused_ = true;
    if (phase_ == Phase::open) input_.pause();
  }
}

void StreamTransport::on_writable() {
  blocked_ = false;
  write_out();
  linger();
  if (paused_ && unsent() <= limits_.output_queue_bytes / 2) {
    paused_ = false;
    if (phase_ == Phase::open) {
      const std::shared_ptr<StreamTransport*> self = self_;
      pump();
      if (!*self) return;
      if (phase_ == Phase::open && !paused_) input_.resume();
    }
  }
  settle();
}

void StreamTransport::drop_output() noexcept {
  write_failed_ = true;
  out_.drop();
}

/// Nothing can be written any more. What the other side said before it went is still delivered.
void StreamTransport::broken(Error reason) {
  drop_output();
  if (phase_ != Phase::open) return settle();
  reason_ = std::move(reason);
  paused_ = false;
  if (!end_seen_) return input_.drain(last_words);
  loop_.post([self = self_] {  // messages that were held back, and the end
    if (*self) (*self)->pump();
  });
}

// --- the end

void StreamTransport::close() {
  switch (phase_) {
    case Phase::idle:
    case Phase::open:
      finish(error("the connection was closed here"), Phase::closing);
      break;
    case Phase::ended:
      phase_ = Phase::closing;
      break;
    case Phase::closing:
      break;
    case Phase::closed:
      if (unsent() == 0) out_stream().shutdown_write();
      break;
  }
}

void StreamTransport::finish(Error reason, Phase phase) {
  reason_ = std::move(reason);
  phase_ = phase;
  write_out();
  linger();
  settle();
}

/// At the end a peer may be slow, but not stand still.
void StreamTransport::linger() {
  if (unsent() == 0 || (phase_ != Phase::ended && phase_ != Phase::closing)) return;
  linger_.start(limits_.eof_grace, [this] {
    drop_output();
    settle();
  });
}

/// Goes on with the end when nothing is left to write. From the loop, never inside a call.
void StreamTransport::settle() {
  const bool waited_for = when_flushed_ || phase_ == Phase::ended || phase_ == Phase::closing;
  if (unsent() > 0 || !waited_for) return;
  linger_.cancel();
  loop_.post([self = self_] {
    StreamTransport* const me = *self;
    if (!me || me->unsent() > 0) return;
    if (Function<void()> call = std::exchange(me->when_flushed_, nullptr)) call();
    if (!*self) return;
    if (me->phase_ != Phase::ended && me->phase_ != Phase::closing) return;
    if (std::exchange(me->phase_, Phase::closed) == Phase::closing) {
      me->out_stream().shutdown_write();
      me->drop_output();
    }
    me->on_closing(std::move(me->reason_));
  });
}

void StreamTransport::on_closing(Error reason) { tell_closed(reason); }

void StreamTransport::tell_closed(const Error& reason) {
  if (std::exchange(told_, true)) return;
  if (write_failed_) {
    input_.close();
    output_.reset();
  }
  if (receiver_) receiver_->on_close(reason);
}

void StreamTransport::when_flushed(Function<void()> done) {
  when_flushed_ = std::move(done);
  settle();
}

void StreamTransport::close_output() noexcept {
  drop_output();
  output_.reset();
}

}  // namespace godwit::inline v0
