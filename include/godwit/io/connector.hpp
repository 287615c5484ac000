// Connector: makes one connection at a time to a TCP port or a unix socket.
//
// Owner: whoever waits for it; destroying it gives the attempt up. Threads: the one that drives the
// loop. Names are looked up on a thread of their own, since that may take seconds.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/result.hpp"
#include "godwit/io/address.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/stream.hpp"
#include "godwit/io/tls.hpp"

namespace godwit::inline v0 {

struct ConnectOptions {
  /// For everything: the name, TCP and TLS.
  Duration timeout = std::chrono::seconds(10);
  /// If set, the connection is a TLS stream whose handshake is done and whose other end is who it
  /// should be.
  std::optional<TlsContext> tls{};
  /// Whose certificate TLS expects; empty means the host of the address.
  std::string server_name{};
};

class GODWIT_API Connector {
 public:
  using OnConnect = Function<void(Result<Stream> connection)>;

  explicit Connector(Loop& loop);
  ~Connector();
  Connector(Connector&&) noexcept;
  Connector& operator=(Connector&&) noexcept;

  /// Tries every address of the host in turn, for at most `timeout` altogether. `done` is called
  /// once, from the loop, unless the Connector is destroyed or asked again before.
  void tcp(const Address& address, OnConnect done, Duration timeout = std::chrono::seconds(10));
  void tcp(const Address& address, OnConnect done, ConnectOptions options);
  void unix_socket(const std::string& path, OnConnect done,
                   Duration timeout = std::chrono::seconds(10));

 private:
  struct Attempt;
  Loop* loop_;
  std::shared_ptr<Attempt> attempt_;
};

}  // namespace godwit::inline v0
