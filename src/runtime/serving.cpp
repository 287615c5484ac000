#include <chrono>
#include <optional>
#include <thread>

#include "default_sealer.hpp"
#include "godwit/base/misuse.hpp"
#include "godwit/io/wakeup.hpp"
#include "godwit/rpc/error_code.hpp"
#include "godwit/runtime/serve.hpp"
#include "godwit/transport/connection.hpp"

namespace godwit::inline v0 {

struct Serving::State {
  using Open = Function<Result<std::unique_ptr<rpc::Transport>>(Loop&)>;

  explicit State(Log log_) : log(std::move(log_)) {}

  Log log;
  Loop loop;
  /// What is said where there is no memory to say more.
  Error reason = out_of_memory(Cause::connection_closed, rpc::code::connection_closed);
  std::optional<Connection> connection;  // on the loop's thread
  Wakeup closing{loop, [this] { end(); }};
  std::thread thread;

  void run(Service& service, Open open, PeerFacts facts) noexcept {
    try {
      connect(service, std::move(open), std::move(facts));
    } catch (...) {
      log.caught("a connection is not served");
    }
    if (connection) {
      const Loop::Work work(loop);
      loop.run(log);
    }
    connection.reset();
  }

  void connect(Service& service, Open open, PeerFacts facts) {
    Result<std::unique_ptr<rpc::Transport>> transport = open(loop);
    if (!transport) {
      reason = std::move(transport).error();
      return;
    }
    rpc::PeerOptions options = service.peer_options(std::move(facts));
    // Embedded in a program, nothing is killed: handlers finish, however long they take.
    options.limits.eof_grace = std::chrono::hours(24);
    connection.emplace(loop, *std::move(transport), service.router(), std::move(options));
    connection->on_close([this](const Error& why) {
      loop.stop();  // first, because the rest may fail
      reason = why;
    });
  }

  void end() noexcept {
    try {
      if (connection) connection->close();
    } catch (...) {
      log.caught("a connection is broken off");
      loop.stop();
    }
  }
};

Serving::Serving(std::unique_ptr<State> state) : state_(std::move(state)) {}
Serving::Serving(Serving&&) noexcept = default;
Serving& Serving::operator=(Serving&& other) noexcept {
  if (this != &other) {
    if (state_) {
      close();
      join();
    }
    state_ = std::move(other.state_);
  }
  return *this;
}

Serving::~Serving() {
  if (!state_) return;
  close();
  join();
}

Error Serving::join() {
  if (state_->loop.on_loop_thread()) {
    detail::base::misuse(
        "a Serving was destroyed, or asked to join(), on its own thread, which it would have to "
        "wait "
        "for; call close() there");
  }
  if (state_->thread.joinable()) state_->thread.join();
  return state_->reason;
}

void Serving::close() { state_->closing.signal(); }

Serving serve(Service& service, Function<Result<std::unique_ptr<rpc::Transport>>(Loop&)> open,
              PeerFacts facts) {
  detail::runtime::ensure_sealer(service);
  auto state = std::make_unique<Serving::State>(service.peer_options().log);
  Serving::State* inside = state.get();
  inside->thread =
      std::thread([inside, &service, open = std::move(open), facts = std::move(facts)]() mutable {
        inside->run(service, std::move(open), std::move(facts));
      });
  return Serving(std::move(state));
}

}  // namespace godwit::inline v0
