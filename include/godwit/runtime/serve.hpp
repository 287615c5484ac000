// serve: a Server and the outside world. The last line of main(), or a thread of its own inside a
// larger program.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/result.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/rpc/transport.hpp"
#include "godwit/server/server.hpp"

namespace godwit::inline v0 {

/// Serves until the client goes (stdio) or a signal asks to stop (SIGINT, SIGTERM), and gives the
/// exit code for main(). The arguments say where:
///
///   --stdio              stdin and stdout (the default)
///   --tcp HOST:PORT      a TCP socket, newline-delimited messages
///   --unix PATH          a unix socket
///   --http HOST:PORT     HTTP, at the path /mcp; --help names what can be said about it
///   --ws HOST:PORT       WebSocket
///   --help
///
/// Owns the process while it runs: it handles the two signals (and with TLS, SIGHUP, which reads
/// the certificate again) and ignores SIGPIPE. On stdio the process's own stdout goes to stderr, so
/// that a stray printf cannot corrupt the wire.
GODWIT_API int serve(Server& server, int argc, char** argv);

/// One connection, served by a thread of its own. Handlers that run when the client goes are waited
/// for; so a handler of it can close() it, but to destroy it or to join() it there ends the program
/// with a message.
class GODWIT_API Serving {
 public:
  ~Serving();
  Serving(Serving&&) noexcept;
  Serving& operator=(Serving&&) noexcept;

  /// Waits until the connection has ended. Returns the reason.
  Error join();
  /// Ends it; join() returns soon.
  void close();

 private:
  friend Serving serve(Service&, Function<Result<std::unique_ptr<rpc::Transport>>(Loop&)>,
                       PeerFacts);
  struct State;
  explicit Serving(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Serves one transport on a thread of its own. The function opens the transport on the loop of
/// that thread. The service, such as a Server, must outlive the Serving.
GODWIT_API Serving serve(Service& service,
                         Function<Result<std::unique_ptr<rpc::Transport>>(Loop&)> open,
                         PeerFacts facts = {});

}  // namespace godwit::inline v0
