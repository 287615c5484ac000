#include "godwit/transport/memory.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "godwit/base/lifetime.hpp"
#include "godwit/base/rollback.hpp"
#include "godwit/io/wakeup.hpp"
#include "godwit/transport/framing.hpp"

namespace godwit::inline v0 {

namespace {

class MemoryTransport;

/// Messages behind one another.
struct Batch {
  std::string bytes;
  std::vector<std::pair<std::size_t, std::size_t>> messages;  // begin and end

  void clear() {
    bytes.clear();
    messages.clear();
  }
  /// All of the others, or none if there is no memory for them.
  void append(const Batch& others) {
    bytes.reserve(bytes.size() + others.bytes.size());
    const std::size_t count = messages.size() + others.messages.size();
    if (messages.capacity() < count) messages.reserve(std::max(count, 2 * messages.capacity()));
    for (const auto& [begin, end] : others.messages) {
      const std::size_t at = bytes.size();
      bytes.append(others.bytes, begin, end - begin);
      messages.emplace_back(at, bytes.size());
    }
  }
};

/// What travels to one side. The lock guards everything; `side` is empty once that side is gone.
struct Mailbox {
  std::mutex mutex;
  MemoryTransport* side = nullptr;
  Batch waiting;
  bool ended = false;

  /// Makes that side look. The lock is held.
  void wake() noexcept;
};

class MemoryTransport final : public rpc::Transport {
 public:
  MemoryTransport(Loop& loop, std::shared_ptr<Mailbox> in, std::shared_ptr<Mailbox> out,
                  const Limits& limits)
      : loop_(loop),
        in_(std::move(in)),
        out_(std::move(out)),
        limits_(limits),
        arrived_(loop, [this] { survive([&] { deliver(); }); }) {
    in_->side = this;
  }

  ~MemoryTransport() override {
    {
      const std::lock_guard lock(in_->mutex);
      in_->side = nullptr;
    }
    end_output();
  }

  void start(rpc::Receiver& receiver) override {
    receiver_ = &receiver;
    arrived_.signal();
  }

  std::string& output() override { return gathered_.bytes; }

  void finish(const rpc::Outbound& message) override {
    Rollback undo([&] { gathered_.bytes.resize(message.begin); });
    gathered_.messages.emplace_back(message.begin, gathered_.bytes.size());
    undo.dismiss();
    // The message is taken: what fails from here on is the connection.
    if (!delivering_) survive([&] { flush(); });
  }

  void flush() override {
    if (gathered_.messages.empty()) return;
    const std::size_t finished = gathered_.messages.back().second;
    {
      const std::lock_guard lock(out_->mutex);
      if (out_->side && !out_->ended) {
        out_->waiting.append(gathered_);
        out_->wake();
      }
    }
    gathered_.messages.clear();
    // A message that is just being appended stays where its writer left it.
    if (gathered_.bytes.size() == finished) gathered_.bytes.clear();
  }

  void when_flushed(Function<void()> done) override {
    flush();
    loop_.post([self = Lifetime::Ref(lifetime_, *this), done = std::move(done)]() mutable {
      if (self.get()) done();
    });
  }

  void close() override {
    if (closed_) return;
    survive([&] { flush(); });
    end_output();
    end_input("the connection was closed here");
  }

  void wake() noexcept { arrived_.signal(); }

 private:
  /// What this throws, which is the end of memory, ends the connection and nothing else.
  template <class F>
  void survive(F&& run) noexcept {
    const Lifetime::Watch watch(lifetime_);
    try {
      run();
    } catch (...) {
      if (watch.expired()) return;
      delivering_ = false;
      reading_.clear();
      gathered_.messages.clear();  // a message that is being appended ends in finish()
      end_output();
      end_input("out of memory");
    }
  }

  /// From the loop.
  void deliver() {
    if (!receiver_ || closed_ || delivering_) return;
    bool ended = false;
    {
      const std::lock_guard lock(in_->mutex);
      std::swap(reading_, in_->waiting);
      ended = in_->ended;
    }
    const Lifetime::Watch watch(lifetime_);
    delivering_ = true;
    reading_.bytes.reserve(reading_.bytes.size() + FrameDecoder::padding);
    for (const auto& [begin, end] : reading_.messages) {
      if (why_ended_) break;
      const std::string_view message(reading_.bytes.data() + begin, end - begin);
      if (message.size() > limits_.message_bytes_in) {
        receiver_->on_unreadable(
            Error{.code = -32600,
                  .message = "Invalid Request: the message of " + std::to_string(message.size()) +
                             " bytes is longer than the limit of " +
                             std::to_string(limits_.message_bytes_in) + " bytes"});
      } else {
        receiver_->on_message(message, reading_.bytes.capacity() - end);
      }
      if (watch.expired()) return;
    }
    reading_.clear();
    delivering_ = false;
    flush();
    if (!ended) {
      // What came while a handler ran the loop inside itself was left lying.
      const std::lock_guard lock(in_->mutex);
      if (!in_->waiting.messages.empty() || in_->ended) arrived_.signal();
      return;
    }
    closed_ = true;
    Error reason;
    try {
      reason = error(why_ended_ ? why_ended_ : "the other side closed the connection");
    } catch (...) {
      reason.message = "out of memory";  // short enough to need none
    }
    receiver_->on_close(reason);
  }

  void end_input(const char* why) noexcept {
    const std::lock_guard lock(in_->mutex);
    in_->ended = true;
    in_->waiting.clear();
    if (!why_ended_) why_ended_ = why;
    arrived_.signal();
  }
  void end_output() noexcept {
    const std::lock_guard lock(out_->mutex);
    if (std::exchange(out_->ended, true)) return;
    out_->wake();
  }

  Loop& loop_;
  std::shared_ptr<Mailbox> in_, out_;
  Limits limits_;
  Wakeup arrived_;
  rpc::Receiver* receiver_ = nullptr;
  Batch gathered_, reading_;
  bool delivering_ = false;
  bool closed_ = false;
  const char* why_ended_ = nullptr;  // by this side
  Lifetime lifetime_;
};

void Mailbox::wake() noexcept {
  if (side) side->wake();
}

}  // namespace

TransportPair memory_pair(Loop& loop, const Limits& limits) {
  return memory_pair(loop, loop, limits);
}

TransportPair memory_pair(Loop& first, Loop& second, const Limits& limits) {
  auto to_first = std::make_shared<Mailbox>();
  auto to_second = std::make_shared<Mailbox>();
  auto a = std::make_unique<MemoryTransport>(first, to_first, to_second, limits);
  auto b = std::make_unique<MemoryTransport>(second, to_second, to_first, limits);
  return {std::move(a), std::move(b)};
}

}  // namespace godwit::inline v0
