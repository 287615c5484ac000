#include "godwit/transport/memory.hpp"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

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
};

/// What travels to one side. The lock guards everything; `side` is empty once that side is gone.
struct Mailbox {
  std::mutex mutex;
  MemoryTransport* side = nullptr;
  Loop* loop = nullptr;
  Batch waiting;
  bool posted = false;
  bool ended = false;
};

/// Makes the other side look. The lock is held: its loop lives as long as `side` is set.
void wake(const std::shared_ptr<Mailbox>& box);

class MemoryTransport final : public rpc::Transport {
 public:
  MemoryTransport(std::shared_ptr<Mailbox> in, std::shared_ptr<Mailbox> out, const Limits& limits)
      : in_(std::move(in)), out_(std::move(out)), limits_(limits) {}

  ~MemoryTransport() override {
    if (gone_) *gone_ = true;
    {
      const std::lock_guard lock(in_->mutex);
      in_->side = nullptr;
      in_->loop = nullptr;
    }
    end_output();
  }

  void start(rpc::Receiver& receiver) override {
    receiver_ = &receiver;
    const std::lock_guard lock(in_->mutex);
    wake(in_);
  }

  std::string& output() override { return gathered_.bytes; }

  void finish(const rpc::Outbound& message) override {
    gathered_.messages.emplace_back(message.begin, gathered_.bytes.size());
    if (!delivering_) flush();
  }

  void flush() override {
    if (gathered_.messages.empty()) return;
    const std::size_t finished = gathered_.messages.back().second;
    {
      const std::lock_guard lock(out_->mutex);
      if (out_->side && !out_->ended) {
        Batch& to = out_->waiting;
        for (const auto& [begin, end] : gathered_.messages) {
          const std::size_t at = to.bytes.size();
          to.bytes.append(gathered_.bytes, begin, end - begin);
          to.messages.emplace_back(at, to.bytes.size());
        }
        wake(out_);
      }
    }
    gathered_.messages.clear();
    // A message that is just being appended stays where its writer left it.
    if (gathered_.bytes.size() == finished) gathered_.bytes.clear();
  }

  void when_flushed(Function<void()> done) override {
    flush();
    const std::lock_guard lock(in_->mutex);
    in_->loop->post(std::move(done));
  }

  void close() override {
    if (closed_) return;
    flush();
    end_output();
    const std::lock_guard lock(in_->mutex);
    in_->ended = true;
    in_->waiting.clear();
    closed_here_ = true;
    wake(in_);
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
    bool gone = false;
    gone_ = &gone;
    delivering_ = true;
    reading_.bytes.reserve(reading_.bytes.size() + FrameDecoder::padding);
    for (const auto& [begin, end] : reading_.messages) {
      if (closed_here_) break;
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
      if (gone) return;
    }
    reading_.clear();
    delivering_ = false;
    gone_ = nullptr;
    flush();
    if (!ended) {
      // What came while a handler ran the loop inside itself was left lying.
      const std::lock_guard lock(in_->mutex);
      if (!in_->waiting.messages.empty() || in_->ended) wake(in_);
      return;
    }
    closed_ = true;
    receiver_->on_close(error(closed_here_ ? "the connection was closed here"
                                           : "the other side closed the connection"));
  }

 private:
  void end_output() {
    const std::lock_guard lock(out_->mutex);
    if (out_->ended) return;
    out_->ended = true;
    wake(out_);
  }

  std::shared_ptr<Mailbox> in_, out_;
  Limits limits_;
  rpc::Receiver* receiver_ = nullptr;
  Batch gathered_, reading_;
  bool delivering_ = false;
  bool closed_ = false;
  bool closed_here_ = false;
  bool* gone_ = nullptr;
};

void wake(const std::shared_ptr<Mailbox>& box) {
  if (!box->side || box->posted) return;
  box->posted = true;
  box->loop->post([box] {
    MemoryTransport* side = nullptr;
    {
      const std::lock_guard lock(box->mutex);
      box->posted = false;
      side = box->side;
    }
    if (side) side->deliver();  // the same thread destroys it
  });
}

}  // namespace

TransportPair memory_pair(Loop& loop, const Limits& limits) {
  return memory_pair(loop, loop, limits);
}

TransportPair memory_pair(Loop& first, Loop& second, const Limits& limits) {
  auto to_first = std::make_shared<Mailbox>();
  auto to_second = std::make_shared<Mailbox>();
  auto a = std::make_unique<MemoryTransport>(to_first, to_second, limits);
  auto b = std::make_unique<MemoryTransport>(to_second, to_first, limits);
  to_first->side = a.get();
  to_first->loop = &first;
  to_second->side = b.get();
  to_second->loop = &second;
  return {std::move(a), std::move(b)};
}

}  // namespace godwit::inline v0
