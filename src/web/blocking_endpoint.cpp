#include "godwit/web/blocking_endpoint.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "godwit/base/misuse.hpp"
#include "godwit/base/rollback.hpp"

namespace godwit::inline v0 {

namespace {

/// Counts what may concern somebody who waits.
class Bell {
 public:
  void ring() {
    {
      const std::lock_guard lock(mutex_);
      ++rings_;
    }
    rung_.notify_all();
  }
  std::uint64_t rings() const {
    const std::lock_guard lock(mutex_);
    return rings_;
  }
  /// Waits for one more than those.
  void wait(std::uint64_t rings, Duration most) {
    std::unique_lock lock(mutex_);
    rung_.wait_for(lock, most, [&] { return rings_ != rings; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable rung_;
  std::uint64_t rings_ = 0;
};

/// One request whose thread waits. Written to by whichever thread drives the endpoint.
class Waiting final : public http::Exchange {
 public:
  explicit Waiting(Bell& bell) : bell_(bell) {}

  http::Response response;
  std::string pieces;  // of a stream, not handed on yet
  bool streaming = false;
  bool done = false;

  void respond(int status, std::string_view type, std::string_view body,
               const http::Fields& more) override {
    if (done) return;
    head(status, type, more);
    response.body = body;
    finish();
  }
  void begin(int status, std::string_view type, const http::Fields& more) override {
    if (done) return;
    head(status, type, more);
    streaming = true;
    bell_.ring();
  }
  void write(std::string_view piece) override {
    if (done) return;
    pieces += piece;
    bell_.ring();
  }
  void end() override { finish(); }
  void abort() override { finish(); }
  std::size_t unsent() const noexcept override { return pieces.size(); }
  void set_owner(Owner* owner) noexcept override { owner_ = owner; }

  /// Its thread takes what there is.
  std::string take() {
    std::string taken = std::exchange(pieces, {});
    if (!taken.empty() && owner_) owner_->on_drained();
    return taken;
  }
  /// Its thread will not take any more.
  void give_up() {
    if (std::exchange(done, true)) return;
    if (Owner* const owner = std::exchange(owner_, nullptr)) owner->on_gone();
  }

 private:
  void head(int status, std::string_view type, const http::Fields& more) {
    response.status = status;
    response.fields = more;
    if (!type.empty()) response.fields.set("Content-Type", type);
  }
  void finish() {
    done = true;
    owner_ = nullptr;
    bell_.ring();
  }

  Bell& bell_;
  Owner* owner_ = nullptr;
};

}  // namespace

struct BlockingEndpoint::State {
  State(Service& service, EndpointOptions options)
      : clock(service.peer_options().clock), endpoint(service, with_wake(std::move(options))) {}

  EndpointOptions with_wake(EndpointOptions options) {
    options.wake = [this] { bell.ring(); };
    options.deadline_moved = nullptr;  // whoever waits looks at the deadline each time
    return options;
  }

  /// The thread of a request leaves, perhaps by an exception and without the lock: nobody must use
  /// what stands on its stack any more.
  auto leaving(std::unique_lock<std::mutex>& lock, Waiting& waiting) {
    return Rollback([&] {
      if (!lock.owns_lock()) lock.lock();
      waiting.give_up();
    });
  }

  /// Runs what is due, and waits until something else may be.
  void step(std::unique_lock<std::mutex>& lock, TimePoint until) {
    const std::uint64_t rings = bell.rings();
    endpoint.process();
    const TimePoint now = clock->now();
    endpoint.expire(now);
    const TimePoint next = std::min(until, endpoint.next_deadline().value_or(until));
    lock.unlock();
    bell.wait(rings, std::max<Duration>(next - now, Duration::zero()));
    lock.lock();
  }

  /// A thread that is in handle(). A handler that runs there cannot destroy what it has to return
  /// to.
  class Inside {
   public:
    explicit Inside(State& state) noexcept : state_(state) { ++state_.inside; }
    ~Inside() { --state_.inside; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    State& state_;
  };

  const Clock* clock;
  std::atomic<unsigned> inside = 0;
  std::mutex mutex;  // around the endpoint
  Bell bell;
  Endpoint endpoint;
};

BlockingEndpoint::BlockingEndpoint(Service& service, EndpointOptions options)
    : state_(std::make_unique<State>(service, std::move(options))) {}
BlockingEndpoint::~BlockingEndpoint() {
  if (state_->inside == 0) return;
  detail::base::misuse(
      "a BlockingEndpoint was destroyed while a thread was in handle(); wait until every handle() "
      "has "
      "returned, and do not destroy it in a handler");
}

http::Response BlockingEndpoint::handle(const http::Request& request, Duration most) {
  State& s = *state_;
  const State::Inside inside(s);
  std::unique_lock lock(s.mutex);
  Waiting waiting(s.bell);
  const auto leave = s.leaving(lock, waiting);
  const TimePoint until = s.clock->now() + most;
  s.endpoint.on_request(request, waiting);
  std::string body;
  while (!waiting.done && s.clock->now() < until) {
    if (waiting.pieces.empty()) {
      s.step(lock, until);
    } else {
      body += waiting.take();
    }
  }
  if (!waiting.done) {
    waiting.give_up();
    s.endpoint.process();
    return http::Response{.status = 504, .fields = {}, .body = {}};
  }
  if (waiting.streaming) waiting.response.body = body + waiting.pieces;
  return std::move(waiting.response);
}

http::Response BlockingEndpoint::handle(const http::Request& request, const Head& head,
                                        const Piece& piece) {
  State& s = *state_;
  const State::Inside inside(s);
  std::unique_lock lock(s.mutex);
  Waiting waiting(s.bell);
  const auto leave = s.leaving(lock, waiting);
  s.endpoint.on_request(request, waiting);
  bool told = false;
  while (true) {
    if (waiting.streaming && (!told || !waiting.pieces.empty())) {
      const std::string ready = waiting.take();
      lock.unlock();
      bool there = told || head(waiting.response);
      told = true;
      if (there && !ready.empty()) there = piece(ready);
      lock.lock();
      if (there) continue;
      waiting.give_up();
      s.endpoint.process();
      break;
    }
    if (waiting.done) break;
    s.step(lock, s.clock->now() + std::chrono::hours(1));
  }
  return std::move(waiting.response);
}

}  // namespace godwit::inline v0
