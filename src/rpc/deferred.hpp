// Requests that are answered later, and the mailbox through which other threads answer them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "call_states.hpp"
#include "godwit/base/clock.hpp"
#include "godwit/base/error.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/log.hpp"
#include "godwit/rpc/id.hpp"
#include "godwit/rpc/reply.hpp"

namespace godwit::inline v0::rpc::detail {

/// The answers to one batch, collected until the last one is there.
struct BatchAnswers {
  std::string text;         // entries with commas between them
  std::size_t waiting = 0;  // entries that were deferred
  bool dispatching = true;  // entries may still be added
};

class DeferredCall;

struct Letter {
  std::shared_ptr<DeferredCall> request;  // null: a complete message to send, or work to do
  std::string text{};
  std::optional<Error> error{};
  Function<void()> work{};
  Route route = 0;          // of a message to send
  bool on_the_way = false;  // a message of the request, not its answer
  bool asks = false;        // the answer is a question
  bool goes_on = false;     // the request was held by middleware, and is not any more
  std::unique_ptr<Letter> next{};
};

/// Letters in order. Only making a letter needs memory, not moving it.
class Letters {
 public:
  Letters() = default;
  Letters(Letters&& other) noexcept { swap(other); }
  Letters& operator=(Letters&&) = delete;
  ~Letters() { clear(); }

  void push(std::unique_ptr<Letter> letter) noexcept;
  /// Null if there is none.
  std::unique_ptr<Letter> pop() noexcept;
  /// The others behind these.
  void append(Letters& others) noexcept;
  void clear() noexcept;
  bool empty() const noexcept { return !first_; }
  /// Of their texts.
  std::size_t bytes() const noexcept { return bytes_; }
  void swap(Letters& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
    std::swap(bytes_, other.bytes_);
  }

 private:
  std::unique_ptr<Letter> first_;
  Letter* last_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Where answers from other threads wait for the peer's thread. Outlives the peer; closed with it.
class Mailbox {
 public:
  /// Whoever has told more than Limits::output_queue_bytes waits until they are taken
  /// (wait_for_room).
  Mailbox(std::function<void()> wake, const Limits& limits)
      : wake_(std::move(wake)),
        most_(limits.output_queue_bytes),
        longest_wait_(limits.output_wait) {}
  void post(std::unique_ptr<Letter> letter) noexcept;
  /// Waits while there are too many bytes in it: a handler that tells much must not do so faster
  /// than its peer can send it. Not for ever, because the peer's thread may be waiting for this
  /// one: after Limits::output_wait nobody waits any more until something is taken. The thread that
  /// took last never waits.
  void wait_for_room() noexcept;
  Letters take() noexcept;
  /// What was taken and could not be looked at; it comes first the next time.
  void put_back(Letters& letters) noexcept;
  void close() noexcept;
  bool closed();
  bool has_mail() const noexcept { return has_mail_.load(std::memory_order_acquire); }

 private:
  void wake_up() noexcept;

  std::mutex mutex_;
  std::function<void()> wake_;
  const std::size_t most_;
  const Duration longest_wait_;
  std::condition_variable room_;
  Letters letters_;
  bool closed_ = false;
  bool woken_ = false;    // the host knows of the letters
  bool stalled_ = false;  // somebody has waited in vain
  std::thread::id taker_;
  std::atomic<bool> has_mail_ = false;
};

/// Bytes of a request in flight, counted as long as anybody has the request.
class BytesInFlight {
 public:
  BytesInFlight(std::shared_ptr<std::atomic<std::size_t>> total, std::size_t bytes) noexcept
      : total_(std::move(total)), bytes_(bytes) {
    if (total_) total_->fetch_add(bytes_, std::memory_order_relaxed);
  }
  ~BytesInFlight() {
    if (total_) total_->fetch_sub(bytes_, std::memory_order_relaxed);
  }
  BytesInFlight(const BytesInFlight&) = delete;
  BytesInFlight& operator=(const BytesInFlight&) = delete;
  std::size_t size() const noexcept { return bytes_; }

 private:
  std::shared_ptr<std::atomic<std::size_t>> total_;
  std::size_t bytes_;
};

/// Shared because the peer and a Reply, which may be on another thread, both have it.
class DeferredCall final : public InFlight, public std::enable_shared_from_this<DeferredCall> {
 public:
  DeferredCall(std::shared_ptr<Mailbox> mailbox, std::string method, std::optional<Id> id,
               std::shared_ptr<std::atomic<std::size_t>> total, std::size_t params_bytes)
      : bytes(std::move(total), params_bytes),
        mailbox_(std::move(mailbox)),
        method_(std::move(method)),
        id_(std::move(id)),
        answer_(std::make_unique<Letter>()) {}

  void answer(std::string result) override { give(std::move(result), false); }
  void ask(std::string question) override { give(std::move(question), true); }
  void fail(Error error) override;
  void threw(std::exception_ptr exception) noexcept override;
  void send(std::string message) override;
  /// Hands in what became of it.
  void post(std::unique_ptr<Letter> letter) noexcept;
  std::stop_token cancelled() const override { return stop_.get_token(); }
  bool wanted() const noexcept override { return !answered_.load(); }
  std::string_view method() const override { return method_; }
  const std::optional<Id>& id() const noexcept override { return id_; }
  const Facts& facts() const noexcept override { return facts_ ? *facts_ : no_facts(); }
  void* user() const override { return user_.get(); }
  Route route() const override { return route_; }
  bool in_batch() const noexcept override { return batch != nullptr; }

  /// No answer will be sent any more; the handler's token stops.
  void cancel() {
    taken_back_.store(true);
    answered_.store(true);
    stop_.request_stop();
  }

  void request_stop() override { stop_.request_stop(); }

  bool taken_back() const noexcept { return taken_back_.load(); }

  // Set once before the handler runs, read on the peer's thread.
  Log log;
  std::shared_ptr<void> user_;
  std::shared_ptr<const Facts> facts_;
  Route route_ = 0;
  std::shared_ptr<BatchAnswers> batch;
  TimePoint started{};
  const BytesInFlight bytes;  // of its params

  // Of the middleware around it, on the peer's thread.
  std::string name;
  bool continues = false;
  std::shared_ptr<const Router> router;  // whose layers the states belong to
  std::unique_ptr<CallStates> own_states;
  CallStates* states = nullptr;  // on the stack while the `before` runs that holds the call
  std::string held_message;      // `[id,params]` of one that is held, for the time after
  bool has_params = false;
  bool goes_on = false;  // it was let go while that `before` ran

 private:
  void give(std::string result, bool asks);

  std::shared_ptr<Mailbox> mailbox_;
  std::string method_;
  std::optional<Id> id_;
  std::stop_source stop_;
  std::atomic<bool> answered_ = false;
  std::atomic<bool> taken_back_ = false;
  std::unique_ptr<Letter> answer_;  // there before it is needed: an answer can always be given
  const std::thread::id home_ = std::this_thread::get_id();  // of the peer, then
};

/// `WHAT "NAME" threw: TEXT`, for the log.
std::string describe_throw(std::string_view what, std::string_view name,
                           const std::exception_ptr& exception);

}  // namespace godwit::inline v0::rpc::detail
