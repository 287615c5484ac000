// ForwardingTransport: lets messages of others travel on the connection of a ClientSession, for
// gateways that have one connection to a server and many clients in front. A request passes as it
// was written, with members and methods that nobody here knows; only what has to be unique on a
// connection is changed on the way there and back: its id, its progress token, and where these are
// repeated (cancellations, subscriptions).
//
// It takes the place of another transport, which it owns: the Peer on it goes on as before, and
// what belongs to no forwarded request is for the Peer alone. (To pass a whole conversation on,
// handshake and all, rpc::Bridge joins two transports.)
//
// Owner: whoever made it, usually a Connection. Threads: the one of the inner transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/log.hpp"
#include "godwit/base/result.hpp"
#include "godwit/rpc/transport.hpp"

namespace godwit::inline v0 {

/// What comes back for a forwarded request, with the id and the token that the request had. The
/// text is good during the call only.
struct ForwardCallbacks {
  /// Progress, or what a subscription says. May be empty.
  Function<void(std::string_view notification)> on_notification{};
  /// The answer: a result or an error of the server, or an error of this side if there can be none.
  /// Comes once, as the last, unless the request is cancelled.
  Function<void(std::string_view response)> on_response{};
};

struct ForwardOptions {
  /// pending_calls bounds how many are under way, message_bytes_out each of them.
  Limits limits{};
  Log log{};
};

class GODWIT_API ForwardingTransport final : public rpc::Transport {
 public:
  explicit ForwardingTransport(std::unique_ptr<rpc::Transport> inner, ForwardOptions options = {});
  ~ForwardingTransport() override;

  /// Sends a request of somebody else. Gives its number, for cancel(). An error, and nothing was
  /// sent, if the text is no request or too long, if too many are under way, or if the connection
  /// has closed. There is no timeout: whoever waits for the answer knows how long.
  Result<std::uint64_t> forward(std::string_view request, ForwardCallbacks callbacks);
  /// Sends a notification as it is.
  Result<void> notify(std::string_view notification);
  /// The request is taken back: nothing comes for it any more. `notification` is what its sender
  /// said for that, and goes on with the right id; without one the server is told in our words.
  /// False if it had its answer already.
  bool cancel(std::uint64_t number, std::string_view notification = {});
  /// Forwarded requests without an answer.
  std::size_t forwarded() const noexcept;

  // Transport

  std::string& output() override;
  void finish(const rpc::Outbound& message) override;
  void flush() override;
  bool refuse(const Error& why) override;
  bool has_fields() const noexcept override;
  void unanswered(rpc::Route route) override;
  bool give_up(rpc::Route route) noexcept override;
  void let_go(rpc::Route route) override;
  std::shared_ptr<const rpc::Facts> facts() const override;
  void start(rpc::Receiver& receiver) override;
  void when_flushed(Function<void()> done) override;
  void close() override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace godwit::inline v0
