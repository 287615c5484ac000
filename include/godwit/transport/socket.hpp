// Transports over TCP and unix sockets: listening and connecting.
//
// Owner: a Listener or Connector belongs to the caller; a transport to whoever it is handed to.
// Threads: the one that drives the loop.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/log.hpp"
#include "godwit/base/result.hpp"
#include "godwit/io/address.hpp"
#include "godwit/io/connector.hpp"
#include "godwit/io/listener.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/rpc/transport.hpp"
#include "godwit/transport/framing.hpp"
#include "godwit/transport/input_room.hpp"

namespace godwit::inline v0 {

struct SocketOptions {
  Framing framing = Framing::newline;
  Limits limits{};
  Log log{};
  /// Listening: whether connections of the own machine may be more than
  /// Limits::connections_per_address.
  bool loopback_exempt = true;
  /// Listening: as in ListenerOptions.
  std::function<bool()> make_room{};
  /// Listening: where what has come of unfinished messages is counted for all connections.
  std::shared_ptr<InputRoom> room{};
  /// For all addresses of a host together.
  Duration connect_timeout = std::chrono::seconds(10);
};

/// Gets a transport per connection; `peer` says who it is, for logs.
using OnTransport =
    Function<void(std::unique_ptr<rpc::Transport> transport, const std::string& peer)>;

GODWIT_API Result<Listener> listen_tcp(Loop& loop, const Address& address, OnTransport on_transport,
                                       const SocketOptions& options = {});
GODWIT_API Result<Listener> listen_unix(Loop& loop, const std::string& path,
                                        OnTransport on_transport,
                                        const SocketOptions& options = {});

using OnConnected = Function<void(Result<std::unique_ptr<rpc::Transport>>)>;

/// Calls `done` once, from the loop. Destroying the Connector gives up.
GODWIT_API Connector connect_tcp(Loop& loop, const Address& address, OnConnected done,
                                 const SocketOptions& options = {});
GODWIT_API Connector connect_unix(Loop& loop, const std::string& path, OnConnected done,
                                  const SocketOptions& options = {});

}  // namespace godwit::inline v0
