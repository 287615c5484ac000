#include "godwit/transport/stream_transport.hpp"

#include <algorithm>
#include <utility>

#include "godwit/base/rollback.hpp"
#include "godwit/rpc/error_code.hpp"

namespace godwit::inline v0 {

namespace {

/// What is still read from a peer that takes nothing any more; as much as a pipe may hold.
constexpr std::size_t last_words = 1u << 20;

constexpr std::string_view no_room =
    "busy: too many bytes of unfinished messages have come; this one began first and is given up, "
    "with its connection";

}  // namespace

StreamTransport::StreamTransport(Loop& loop, Stream both, Framing framing, const Limits& limits)
    : limits_(limits),
      decoder_(framing, limits),
      input_(std::move(both)),
      linger_(loop),
      framing_(framing),
      settled_(loop, [this] { after_settling(); }),
      held_back_(loop, [this] { survive([&] { pump(); }); }) {
  input_.set_handler(*this);
}

StreamTransport::StreamTransport(Loop& loop, Stream input, Stream output, Framing framing,
                                 const Limits& limits)
    : StreamTransport(loop, std::move(input), framing, limits) {
  output_.emplace(std::move(output));
  output_->set_handler(*this);
}

StreamTransport::~StreamTransport() = default;

std::shared_ptr<const rpc::Facts> StreamTransport::facts() const {
  if (output_) return nullptr;  // pipes
  const std::string peer = input_.peer();
  const std::string local = input_.local();
  return rpc::keep({.peer = peer,
                    .local = local,
                    .secure = input_.secure(),
                    .certificate = input_.certificate(),
                    .process = input_.process()});
}

void StreamTransport::start(rpc::Receiver& receiver) {
  receiver_ = &receiver;
  if (phase_ != Phase::idle) return;
  phase_ = Phase::open;
  input_.resume();
}

template <class F>
void StreamTransport::survive(F&& run) noexcept {
  const Lifetime::Watch watch(lifetime_);
  try {
    run();
  } catch (...) {
    if (watch.expired()) return;
    drop_output();
    reason_.message = "out of memory";  // short enough to need none
    if (phase_ != Phase::closed) phase_ = Phase::closing;
    settle();
  }
}

// --- input

std::span<char> StreamTransport::on_space() {
  static thread_local char discarded[4096];
  std::span<char> space;
  if (phase_ == Phase::open) {
    survive([&] { space = decoder_.prepare(); });
  }
  if (space.empty() && phase_ != Phase::open) discarding_ = true;
  return space.empty() ? discarded : space;
}

void StreamTransport::on_data(std::size_t size) {
  if (std::exchange(discarding_, false)) return;
  survive([&] {
    decoder_.commit(size);
    pump();
  });
}

void StreamTransport::pump() {
  using Event = FrameDecoder::Event;
  if (in_burst_) return;  // a handler that runs the loop inside itself
  const Lifetime::Watch watch(lifetime_);
  in_burst_ = true;
  const Rollback leave([&] {
    if (!watch.expired()) in_burst_ = false;
  });
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
    if (watch.expired()) return;
    if (event == Event::fatal) {
      end(decoder_.error(), Phase::closing);
      break;
    }
  }
  in_burst_ = false;
  write_out();
  if (end_seen_ && !paused_ && phase_ == Phase::open) end(std::move(reason_), Phase::ended);
  if (room_ && (decoder_.partial() || holds_room())) count_input();
}

/// Afterwards this may be gone.
void StreamTransport::count_input() noexcept {
  const std::shared_ptr<InputRoom> room = room_;
  const bool unfinished = phase_ == Phase::open && decoder_.partial();
  room->hold(*this, unfinished ? decoder_.capacity() : 0);
}

void StreamTransport::give_way() noexcept {
  survive([&] {
    if (phase_ != Phase::open) return;
    const Lifetime::Watch watch(lifetime_);
    receiver_->on_unreadable(rpc::internal_error(std::string(no_room)));
    if (!watch.expired() && phase_ == Phase::open) end(error(std::string(no_room)), Phase::closing);
  });
}

void StreamTransport::on_end(const Result<void>& how) {
  survive([&] { ended(how); });
}

void StreamTransport::ended(const Result<void>& how) {
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

void StreamTransport::finish(const rpc::Outbound& message) {
  const std::size_t begin = message.begin;
  if (write_failed_) {
    out_.text().resize(begin);
    return;
  }
  const std::size_t waiting = unsent();
  Rollback undo([&] { out_.text().resize(begin); });
  finish_frame(out_.text(), begin, framing_);
  undo.dismiss();
  out_.finish_message();
  // Judged before this message: a single large answer is no fault of the peer.
  const bool deaf = blocked_ && waiting > 4 * limits_.output_queue_bytes;
  const std::size_t early = std::min(OutputBuffer::early_write, limits_.output_queue_bytes);
  if (!deaf && in_burst_ && unsent() <= early) return;  // the end of the burst writes it
  // The message is taken: what fails from here on is the connection.
  survive([&] {
    if (!deaf) return write_out();
    drop_output();
    end(error("the other side does not read: " + std::to_string(waiting) +
              " bytes are waiting for it; the connection is closed"),
        Phase::closing);
  });
}

void StreamTransport::flush() { write_out(); }

void StreamTransport::write_out() {
  if (!blocked_) {
    if (Result<void> put = out_.write(out_stream()); !put) return broken(std::move(put).error());
    blocked_ = unsent() > 0;
    if (blocked_) watch_stall();
  }
  if (!paused_ && unsent() > limits_.output_queue_bytes) {
    paused_ = true;
    if (phase_ == Phase::open) input_.pause();
  }
}

/// On a socket nobody may take none of what waits for him for long. At the other end of a pipe is a
/// program of this machine, perhaps one that somebody has stopped to look at.
void StreamTransport::watch_stall() {
  if (phase_ != Phase::open || output_) return;
  linger_.start(limits_.write_stall, [this] { survive([&] { stalled(); }); });
}

void StreamTransport::stalled() {
  if (phase_ != Phase::open || unsent() == 0) return;
  const std::size_t waiting = unsent();
  blocked_ = false;
  write_out();  // on_writable() comes only when there is much room
  if (phase_ != Phase::open || unsent() < waiting) return;
  drop_output();
  end(error("the other side does not read: it took none of the " + std::to_string(waiting) +
            " bytes that are waiting for it in time; the connection is closed"),
      Phase::closing);
}

void StreamTransport::on_writable() {
  survive([&] { written(); });
}

void StreamTransport::written() {
  blocked_ = false;
  write_out();
  if (!blocked_) linger_.cancel();
  linger();
  if (paused_ && unsent() <= limits_.output_queue_bytes / 2) {
    paused_ = false;
    if (phase_ == Phase::open) {
      const Lifetime::Watch watch(lifetime_);
      pump();
      if (watch.expired()) return;
      if (phase_ == Phase::open && !paused_) input_.resume();
    }
  }
  settle();
}

void StreamTransport::drop_output() noexcept {
  write_failed_ = true;
  out_.drop();
}

/// Nothing can be written any more. What the other side said before it went is still delivered. The
/// owner is told from the loop: whoever writes need not expect to be destroyed for it.
void StreamTransport::broken(Error reason) {
  drop_output();
  write_error_ = reason;
  settled_.signal();
  if (phase_ != Phase::open) return settle();
  reason_ = std::move(reason);
  paused_ = false;
  if (!end_seen_) return input_.drain(last_words);
  held_back_.signal();
}

// --- the end

void StreamTransport::close() {
  switch (phase_) {
    case Phase::idle:
    case Phase::open:
      end(error("the connection was closed here"), Phase::closing);
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

void StreamTransport::end(Error reason, Phase phase) {
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
void StreamTransport::settle() noexcept {
  const bool waited_for = when_flushed_ || phase_ == Phase::ended || phase_ == Phase::closing;
  if (unsent() > 0 || !waited_for) return;
  linger_.cancel();
  settled_.signal();
}

void StreamTransport::after_settling() {
  if (unsent() > 0) return;
  const Lifetime::Watch watch(lifetime_);
  if (write_error_) {
    if (auto failed = std::exchange(write_failure_, nullptr)) failed(*write_error_);
  }
  if (watch.expired()) return;
  if (Function<void()> call = std::exchange(when_flushed_, nullptr)) call();
  if (watch.expired()) return;
  if (phase_ != Phase::ended && phase_ != Phase::closing) return;
  if (std::exchange(phase_, Phase::closed) == Phase::closing) {
    out_stream().shutdown_write();
    drop_output();
  }
  try {
    on_closing(std::move(reason_));
  } catch (...) {
    if (!watch.expired()) tell_closed(reason_);
  }
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

void StreamTransport::on_write_failure(Function<void(const Error&)> failed) {
  write_failure_ = std::move(failed);
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
