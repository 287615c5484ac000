// Requests that are answered later, and the mailbox through which other threads answer them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "godwit/base/clock.hpp"
#include "godwit/base/error.hpp"
#include "godwit/base/function.hpp"
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
  std::string text;
  std::optional<Error> error;
  Function<void()> work;
  Route route = 0;          // of a message to send
  bool on_the_way = false;  // a message of the request, not its answer
};

/// Where answers from other threads wait for the peer's thread. Outlives the peer; closed with it.
class Mailbox {
 public:
  explicit Mailbox(std::function<void()> wake) : wake_(std::move(wake)) {}
  void post(Letter letter);
  std::vector<Letter> take();
  void close();
  bool has_mail() const noexcept { return has_mail_.load(std::memory_order_acquire); }

 private:
  std::mutex mutex_;
  std::function<void()> wake_;
  std::vector<Letter> letters_;
  bool closed_ = false;
  std::atomic<bool> has_mail_ = false;
};

class DeferredCall final : public InFlight, public std::enable_shared_from_this<DeferredCall> {
 public:
  DeferredCall(std::shared_ptr<Mailbox> mailbox, std::string method, std::optional<Id> id)
      : mailbox_(std::move(mailbox)), method_(std::move(method)), id_(std::move(id)) {}

  void answer(std::string result) override;
  void fail(Error error) override;
  void threw(std::exception_ptr exception) noexcept override;
  void send(std::string message) override;
  std::stop_token cancelled() const override { return stop_.get_token(); }
  std::string_view method() const override { return method_; }
  bool is_notification() const override { return !id_; }
  void* user() const override { return user_.get(); }
  Route route() const override { return route_; }

  /// No answer will be sent any more; the handler's token stops.
  void cancel() {
    taken_back_.store(true);
    answered_.store(true);
    stop_.request_stop();
  }

  void request_stop() override { stop_.request_stop(); }

  bool taken_back() const noexcept { return taken_back_.load(); }

  const std::optional<Id>& id() const noexcept { return id_; }

  // Set once before the handler runs, read on the peer's thread.
  Log log;
  std::shared_ptr<void> user_;
  Route route_ = 0;
  std::shared_ptr<BatchAnswers> batch;
  TimePoint started{};
  std::size_t passed = 0;  // middleware whose `before` let the call through

 private:
  std::shared_ptr<Mailbox> mailbox_;
  std::string method_;
  std::optional<Id> id_;
  std::stop_source stop_;
  std::atomic<bool> answered_ = false;
  std::atomic<bool> taken_back_ = false;
};

/// `WHAT "NAME" threw: TEXT`, for the log.
std::string describe_throw(std::string_view what, std::string_view name,
                           const std::exception_ptr& exception);

}  // namespace godwit::inline v0::rpc::detail
