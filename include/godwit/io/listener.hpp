// Listener: accepts connections on a TCP port or a unix socket and hands them out as Streams.
//
// Owner: the program. Destroying it stops listening and removes the socket file it made;
// connections that were handed out live on. Threads: the one that drives the loop.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/log.hpp"
#include "godwit/base/result.hpp"
#include "godwit/io/address.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/stream.hpp"
#include "godwit/io/tls.hpp"

namespace godwit::inline v0 {

struct ListenerOptions {
  /// Connections open at once; one more is accepted and closed right away, unless there is room
  /// for it after make_room().
  std::size_t connections = Limits{}.connections;
  /// If set, called for a connection that finds no place, also if the process is out of
  /// descriptors: may close the stream of another one, at once. False if there is none.
  std::function<bool()> make_room{};
  /// The same for the connections of one address, of IPv6 of one /64, which is what one customer
  /// gets; 0 is no bound. Each Listener counts for itself.
  std::size_t per_address = 0;
  /// Whether connections of the own machine are exempt from per_address.
  bool loopback_exempt = true;
  /// If set, gets the connections beyond per_address, uncounted and never as TLS, to tell them why;
  /// otherwise they are closed right away.
  std::function<void(Stream connection)> on_refused{};
  /// Several Listeners of one user on one TCP port, typically one per thread: the system spreads
  /// new connections over them. All of them must say so; with port 0 the others take the port of
  /// the first one.
  bool share_port = false;
  /// If set, connections are handed out as TLS streams.
  std::optional<TlsContext> tls{};
  Log log{};
};

class GODWIT_API Listener {
 public:
  using OnAccept = Function<void(Stream connection)>;

  /// Port 0 picks a free one; address() tells which.
  static Result<Listener> tcp(Loop& loop, const Address& address, OnAccept on_accept,
                              ListenerOptions options = {});
  /// The socket file is made with mode 0600. One that is there already is replaced only if it is a
  /// socket of this user that nobody listens on any more.
  static Result<Listener> unix_socket(Loop& loop, const std::string& path, OnAccept on_accept,
                                      ListenerOptions options = {});

  ~Listener();
  Listener(Listener&&) noexcept;
  Listener& operator=(Listener&&) noexcept;

  /// Where it listens: "127.0.0.1:40123", or the path of the socket.
  const std::string& address() const noexcept;
  /// Connections handed out and still open.
  std::size_t connections() const noexcept;

 private:
  struct State;
  explicit Listener(std::shared_ptr<State> state) noexcept;
  std::shared_ptr<State> state_;
};

}  // namespace godwit::inline v0
