// Connection: a Peer on a Transport, driven by a Loop. Joins what the protocol core leaves to its
// host: bytes, deadlines, and answers that come from other threads.
//
// Owner: whoever made it; it may be destroyed at any time on the loop's thread, also inside one of
// its own callbacks. Threads: the one that drives the loop.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/result.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/rpc/peer.hpp"
#include "godwit/rpc/router.hpp"
#include "godwit/rpc/transport.hpp"

namespace godwit::inline v0 {

class GODWIT_API Connection {
 public:
  /// Starts reading at once. `options.wake` and `options.deadline_moved` are the Connection's own.
  Connection(Loop& loop, std::unique_ptr<rpc::Transport> transport,
             std::shared_ptr<const rpc::Router> router = nullptr, rpc::PeerOptions options = {});
  ~Connection();
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;

  rpc::Peer& peer() noexcept;

  /// Called once from the loop when the connection is over: every call has its outcome and
  /// everything that could be written was. The Connection may be destroyed in it.
  void on_close(Function<void(const Error& reason)> done);
  /// Called before each message of the other side is handled: for owners that want to know which
  /// connections are in use.
  void on_heard(Function<void()> heard);
  /// Ends it: handlers get Limits::eof_grace to finish, what is waiting is written.
  void close();
  /// Ends it at once: nothing more is written, handlers in flight are told to stop.
  void abort();
  bool closed() const noexcept;

  /// Calls and waits, driving the loop meanwhile: for programs whose main loop this is. Refused
  /// with an error inside callbacks of the loop, where it could only hang.
  template <class Out = json::Value, class Params = rpc::NoParams>
  Result<Out> ask(std::string_view method, const Params& params = {},
                  const rpc::CallOptions& options = {}) {
    if (auto error = cannot_wait()) return *std::move(error);
    // Shared with the callback, which the peer may still hold when the loop was stopped from
    // outside.
    auto outcome = std::make_shared<std::optional<Result<Out>>>();
    const rpc::CallHandle call = peer().template call<Out>(
        method, params,
        [outcome, this](Result<Out> result) {
          *outcome = std::move(result);
          stop_waiting();
        },
        options);
    if (!*outcome) wait();
    if (!*outcome) peer().cancel(call, "the loop was stopped");
    if (!*outcome) return rpc::connection_closed("the call ended without an outcome");
    return **std::move(outcome);
  }

 private:
  struct State;
  std::optional<Error> cannot_wait() const;
  void wait();
  void stop_waiting();

  std::shared_ptr<State> state_;
};

}  // namespace godwit::inline v0
