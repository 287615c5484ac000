#include "godwit/rpc/bridge.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "godwit/rpc/id.hpp"
#include "godwit/rpc/message.hpp"

namespace godwit::inline v0::rpc {

namespace {

/// A line break between two tokens is the end of a message on some carriers, so it becomes a space.
void send(Transport& to, std::string_view message) {
  std::string& out = to.output();
  const std::size_t begin = out.size();
  out += message;
  std::replace(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), '\n', ' ');
  std::replace(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), '\r', ' ');
  to.finish({.begin = begin});
}

}  // namespace

/// Shared because `done`, which may destroy the Bridge, is told a reason that is a member of this.
struct Bridge::State : std::enable_shared_from_this<State> {
  struct Side final : Receiver {
    void on_message(std::string_view message, std::size_t) override {
      if (!other->closed) send(*other->transport, message);
    }
    void on_parsed(json::View message) override { on_message(message.source(), 0); }
    void on_unreadable(const Error& error) override {
      if (!closed) send(*transport, serialize(make_error(Id(), error)));
    }
    void on_close(const Error& why) override {
      if (std::exchange(closed, true)) return;
      const auto staying = state->shared_from_this();
      state->ended(*this, why);
    }

    State* state = nullptr;
    Side* other = nullptr;
    std::unique_ptr<Transport> transport;
    bool closed = false;
  };

  State(std::unique_ptr<Transport> a, std::unique_ptr<Transport> b) {
    first.transport = std::move(a);
    second.transport = std::move(b);
    first.state = second.state = this;
    first.other = &second;
    second.other = &first;
  }

  void start() {
    first.transport->start(first);
    if (!second.closed) second.transport->start(second);
  }

  /// The callback may destroy the Bridge.
  void ended(Side& side, const Error& why) {
    if (!side.other->closed) {
      reason = why;
      side.other->transport->close();  // which may be over at once
      return;
    }
    if (auto call = std::exchange(done, nullptr)) call(reason);
  }

  Side first, second;
  Function<void(const Error&)> done;
  Error reason;
};

Bridge::Bridge(std::unique_ptr<Transport> first, std::unique_ptr<Transport> second)
    : state_(std::make_shared<State>(std::move(first), std::move(second))) {
  state_->start();
}
Bridge::~Bridge() {
  if (state_) state_->done = nullptr;
}
Bridge::Bridge(Bridge&&) noexcept = default;
Bridge& Bridge::operator=(Bridge&& other) noexcept {
  if (this != &other) {
    if (state_) state_->done = nullptr;
    state_ = std::move(other.state_);
  }
  return *this;
}

void Bridge::on_close(Function<void(const Error&)> done) { state_->done = std::move(done); }

void Bridge::close() {
  const auto state = state_;
  if (!state->first.closed) state->first.transport->close();
  if (!state->second.closed) state->second.transport->close();
}

}  // namespace godwit::inline v0::rpc
