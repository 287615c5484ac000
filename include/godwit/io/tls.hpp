// TlsContext: certificates and rules for TLS connections; tls_accept() and tls_connect() put TLS
// over a Stream. What they give is a Stream like any other.
//
// Owner: a TlsContext is a handle; copies share what is behind it, and connections keep what they
// were made with. Threads: a TlsContext may be used from any thread at any time; the functions
// belong to the thread that drives the loop.
//
// TLS 1.2 and 1.3, without compression and renegotiation.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/result.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/stream.hpp"

namespace godwit::inline v0 {

class TlsContext;
namespace detail::io {
struct TlsCore;
TlsCore& core(const TlsContext& context) noexcept;
}  // namespace detail::io

/// Files are in PEM form.
struct TlsServerOptions {
  /// The server's certificate, followed by those that lead from it to its authority.
  std::string certificate_file{};
  /// Its private key, without a pass phrase; may be the same file.
  std::string key_file{};
  /// Authorities. If given, a client must show a certificate that one of them has signed.
  std::string client_ca_file{};
  Duration handshake_time = Limits{}.tls_handshake_time;
  std::size_t handshake_bytes = Limits{}.tls_handshake_bytes;
};

/// Files are in PEM form.
struct TlsClientOptions {
  /// The authorities to trust, instead of those that the system trusts.
  std::string ca_file{};
  /// What to show to a server that asks who we are.
  std::string certificate_file{};
  std::string key_file{};
  /// Protocols to offer (ALPN), the best first, such as "http/1.1".
  std::vector<std::string> protocols{};
  /// Talks to anybody who answers, so that whoever sits in between reads and changes everything.
  /// For tests only.
  bool insecure_skip_verification = false;
  Duration handshake_time = Limits{}.tls_handshake_time;
  std::size_t handshake_bytes = Limits{}.tls_handshake_bytes;
};

class GODWIT_API TlsContext {
 public:
  /// For the side that accepts. Offers and takes "http/1.1" where the client asks (ALPN). The error
  /// names the file, what is wrong with it and what to do.
  static Result<TlsContext> server(TlsServerOptions options);
  /// For the side that connects.
  static Result<TlsContext> client(TlsClientOptions options = {});

  ~TlsContext();
  TlsContext(const TlsContext&) noexcept;
  TlsContext& operator=(const TlsContext&) noexcept;

  /// Reads the files again, for example on SIGHUP. If that fails, everything stays as it was, and
  /// the error says why; otherwise connections from now on use what was read.
  Result<void> reload() const;

  /// Which side it is for.
  bool is_server() const noexcept;

 private:
  friend detail::io::TlsCore& detail::io::core(const TlsContext& context) noexcept;
  explicit TlsContext(std::shared_ptr<detail::io::TlsCore> core) noexcept;
  std::shared_ptr<detail::io::TlsCore> core_;
};

/// TLS over a connection, which it takes over; nothing may be reading it. The handshake begins with
/// the first resume() or write_some() of the result and goes on by itself. Until it is done nothing
/// is taken for writing; if it fails, on_end() and write_some() say why. Closing tells the other
/// side that this was all; an end without those words is an error in on_end(), because somebody in
/// between may have cut the connection. Bytes that were taken before close() are still written, for
/// at most ten seconds, as the system does for other streams.
GODWIT_API Result<Stream> tls_accept(Loop& loop, Stream connection, const TlsContext& context);
/// The same from the other side. `host` is a name or a numeric address; the certificate must be for
/// it.
GODWIT_API Result<Stream> tls_connect(Loop& loop, Stream connection, const TlsContext& context,
                                      const std::string& host);

}  // namespace godwit::inline v0
