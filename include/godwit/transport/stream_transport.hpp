// StreamTransport: messages over a byte stream: a socket, or a pair of pipes.
//
// Owner: whoever speaks the protocol. It may be destroyed at any time, also inside a callback of
// its Receiver; then nothing more is called and what was not written yet is lost. Threads: the one
// that drives the loop.
//
// Output gathers while a burst of input is being delivered and leaves with one write. A peer that
// does not read slows itself down: above Limits::output_queue_bytes nothing more is read from it,
// and past four times as much the connection is closed; so is a socket whose other side takes
// nothing for Limits::write_stall.
//
// When the input ends, every message before the end has been delivered and what was waiting has
// been written, as long as the other side does not stand still for Limits::eof_grace, before
// on_close() comes. Late answers can still be written after it, until close() or the destructor, if
// the other side only stopped sending.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/lifetime.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/output_buffer.hpp"
#include "godwit/io/stream.hpp"
#include "godwit/io/timer.hpp"
#include "godwit/io/wakeup.hpp"
#include "godwit/rpc/transport.hpp"
#include "godwit/transport/framing.hpp"
#include "godwit/transport/input_room.hpp"

namespace godwit::inline v0 {

class GODWIT_API StreamTransport : public rpc::Transport,
                                   private Stream::Handler,
                                   private InputRoom::Guest {
 public:
  /// One stream for both directions.
  StreamTransport(Loop& loop, Stream both, Framing framing = Framing::newline,
                  const Limits& limits = {});
  /// One for each.
  StreamTransport(Loop& loop, Stream input, Stream output, Framing framing = Framing::newline,
                  const Limits& limits = {});
  ~StreamTransport() override;
  StreamTransport(const StreamTransport&) = delete;
  StreamTransport& operator=(const StreamTransport&) = delete;

  std::shared_ptr<const rpc::Facts> facts() const override;
  void start(rpc::Receiver& receiver) override;
  std::string& output() override { return out_.text(); }
  void finish(const rpc::Outbound& message) override;
  void flush() override;
  void close() override;

  /// Bytes that the peer has not taken yet.
  std::size_t unsent() const noexcept { return out_.unsent(); }
  /// Counts what has come of unfinished messages together with that of other connections.
  void share_room(std::shared_ptr<InputRoom> room) noexcept { room_ = std::move(room); }
  /// Calls `failed` from the loop, once, when writing has failed: what was said since is lost.
  void on_write_failure(Function<void(const Error& why)> failed);
  /// Calls `done` from the loop once everything is written, or can never be.
  void when_flushed(Function<void()> done) override;

 protected:
  /// For transports that know more about the end, such as how a child process died. Called once, in
  /// place of telling the receiver; must lead to tell_closed().
  virtual void on_closing(Error reason);
  void tell_closed(const Error& reason);

  Stream& input_stream() noexcept { return input_; }
  bool started() const noexcept { return phase_ != Phase::idle; }
  /// Whether the other side ended the connection, and not this one.
  bool input_ended() const noexcept { return end_seen_; }
  /// Closes a separate output stream now; what waits in it is lost.
  void close_output() noexcept;

 private:
  enum class Phase : std::uint8_t {
    idle,     // not started
    open,     // both ways
    ended,    // the input ended; what waits is being written
    closing,  // close() was called; what waits is being written
    closed,   // on_closing() was called; perhaps late answers are still written
  };

  std::span<char> on_space() override;
  void on_data(std::size_t size) override;
  void on_end(const Result<void>& how) override;
  void on_writable() override;

  void ended(const Result<void>& how);
  void written();
  void pump();
  void write_out();
  void watch_stall();
  void stalled();
  void count_input() noexcept;
  void give_way() noexcept override;
  void drop_output() noexcept;
  void broken(Error reason);
  void end(Error reason, Phase phase);
  void linger();
  void settle() noexcept;
  void after_settling();
  /// Runs something of this transport from the loop. What it throws, which is the end of memory,
  /// ends the connection and nothing else.
  template <class F>
  void survive(F&& run) noexcept;
  Stream& out_stream() noexcept { return output_ ? *output_ : input_; }

  Limits limits_;
  std::shared_ptr<InputRoom> room_;
  FrameDecoder decoder_;
  Stream input_;
  std::optional<Stream> output_;
  Timer linger_;  // with a peer that takes nothing
  rpc::Receiver* receiver_ = nullptr;

  OutputBuffer out_;
  Phase phase_ = Phase::idle;
  Framing framing_;
  bool paused_ = false;        // the peer does not read fast enough
  bool blocked_ = false;       // on_writable is awaited
  bool write_failed_ = false;  // nothing can be written any more
  bool end_seen_ = false;      // the input ended, perhaps while messages are held back
  bool told_ = false;
  bool discarding_ = false;  // what is being read is thrown away
  bool in_burst_ = false;    // input is being delivered
  Error reason_;
  std::optional<Error> write_error_;  // why nothing can be written any more
  Function<void()> when_flushed_;
  Function<void(const Error&)> write_failure_;
  Wakeup settled_;
  Wakeup held_back_;  // messages that were held back, and the end
  Lifetime lifetime_;
};

}  // namespace godwit::inline v0
