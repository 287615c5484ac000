// Transport: what moves whole messages between two peers. Declared here, so that the protocol core
// can be written against it; implemented by the transport module, or by you for a carrier of your
// own.
//
// Threads: everything, both ways, happens on the one thread that drives the transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/json/view.hpp"
#include "godwit/rpc/facts.hpp"

namespace godwit::inline v0::rpc {

class Id;

/// What a transport tells its owner.
class GODWIT_API Receiver {
 public:
  virtual ~Receiver();

  /// One whole message without its framing. At least `spare` bytes after it may be read (their
  /// content does not matter), which lets the parser work in place. The bytes are valid only during
  /// the call.
  virtual void on_message(std::string_view message, std::size_t spare) = 0;

  /// The same for one that the transport had to parse, within limits that are no wider than the
  /// receiver's. It is valid only during the call.
  virtual void on_parsed(json::View message);

  /// A message that could not be taken from the wire (too long, bad frame header) and was skipped;
  /// the connection lives on. The error is what the peer should be told.
  virtual void on_unreadable(const Error& error) = 0;

  /// No answer to this request of ours will come, because the carrier failed in a way that concerns
  /// it alone. The same as a message with this error, unless the receiver knows that the other side
  /// has not sent it.
  virtual void on_failure(const Id& id, const Error& error);

  /// This request of ours is held up on this side, for as long as a person needs to log in, say:
  /// its time does not run until it goes on (`held` is false). Nothing if it has its outcome.
  virtual void on_held(const Id& id, bool held);

  /// The other side is gone or the transport was closed. Called exactly once, and nothing follows
  /// it.
  virtual void on_close(const Error& reason) = 0;
};

/// Names one way back of a carrier that has several, such as the HTTP request a message came in. 0
/// is none in particular: the way of what nobody asked for.
using Route = std::uint64_t;

/// What travels beside a message where the carrier has a place for it: names and values.
using MessageFields = std::vector<std::pair<std::string, std::string>>;

enum class MessageKind : std::uint8_t {
  /// What it is stands in its bytes alone, or it is no message.
  unknown,
  request,
  notification,
  /// The notification that takes back a request of this side.
  cancellation,
  /// Several messages in one.
  batch,
  /// To a request, or this side's answers to a batch.
  answer,
};

/// What a message is, told beside its bytes, so that no carrier has to read what this side wrote.
/// Everything in it is valid only during the call.
struct Outbound {
  using Kind = MessageKind;

  /// Where it begins in output().
  std::size_t begin = 0;
  Kind kind = Kind::unknown;
  /// Of a request, a notification or a cancellation.
  std::string_view method{};
  /// The requests in it: one, or those of a batch; of a cancellation the one that it takes back.
  std::span<const Id> ids{};
  /// Of an answer: the id of what it answers, as JSON. Empty for the answers to a batch, and where
  /// what is answered could not be read.
  std::string_view answers{};
  /// Of an answer: what it says if it is no result. Null for the answers to a batch.
  const Error* error = nullptr;
  /// The way it takes.
  Route route = 0;
  /// What goes beside it, where the carrier has a place for that; null if there is nothing.
  const MessageFields* fields = nullptr;

  bool is_answer() const noexcept { return kind == Kind::answer; }
};

/// Where messages go out: a buffer that messages are written into, and a sign that one is complete.
class GODWIT_API Output {
 public:
  virtual ~Output();

  /// The buffer that output is appended to. Write one message at its end, then call finish() with
  /// the size the buffer had before.
  virtual std::string& output() = 0;

  /// Frames what was appended since `message.begin`. It is written when the burst of input that is
  /// being delivered is done, or at once if none is.
  virtual void finish(const Outbound& message) = 0;

  /// Writes now what is waiting, without the end of the burst.
  virtual void flush() = 0;

  /// The message that is being delivered is no JSON. True if the carrier ends the connection for
  /// that; otherwise the other side is told with an error.
  virtual bool refuse(const Error& why);

  /// Whether it has a place for Outbound::fields: then they are worth making.
  virtual bool has_fields() const noexcept;

  // For carriers that have several ways back. The others need none of these.

  /// The request that came this way will not be answered: it was taken back.
  virtual void unanswered(Route route);
  /// The answer to the request that came this way could not be written, because memory ran out. The
  /// carrier ends this way, so that nobody waits for it, and says true; or false where a connection
  /// is all there is, which then has to end.
  virtual bool give_up(Route route) noexcept;
  /// Ends the connection that this way uses now, and keeps the way: the other side is expected to
  /// come back for the rest. Does nothing where a connection is all there is.
  virtual void let_go(Route route);
};

class GODWIT_API Transport : public Output {
 public:
  ~Transport() override;

  /// What is known about the other end, which is true of every message; null if it is nothing.
  virtual std::shared_ptr<const Facts> facts() const;

  /// Begins reading. The receiver must outlive the transport or its on_close.
  virtual void start(Receiver& receiver) = 0;

  /// Calls `done`, later and not inside this call, once everything is written or can never be.
  virtual void when_flushed(Function<void()> done) = 0;

  /// Writes what is waiting, as far as the peer takes it, and closes. on_close() follows unless it
  /// came before.
  virtual void close() = 0;
};

/// An Output that hands each finished message to a function: the simplest way to put a Peer into a
/// program that moves its own bytes.
class GODWIT_API MessageSink final : public Output {
 public:
  using Send = std::function<void(std::string_view message)>;
  explicit MessageSink(Send send) : send_(std::move(send)) {}

  std::string& output() override { return buffer_; }
  void finish(const Outbound& message) override;
  void flush() override {}

 private:
  Send send_;
  std::string buffer_;
};

}  // namespace godwit::inline v0::rpc
