// What stands behind a TlsContext, and what tls_stream.cpp offers to the rest of io. Private to the
// io module.
#pragma once

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "godwit/base/function.hpp"
#include "godwit/io/tls.hpp"

namespace godwit::inline v0::detail::io {

struct OpenSslFree {
  void operator()(SSL* ssl) const noexcept { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
  void operator()(X509* certificate) const noexcept { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
  void operator()(BIO* bio) const noexcept { BIO_free(bio); }
};
template <class T>
using Owned = std::unique_ptr<T, OpenSslFree>;

struct TlsCore {
  bool server = false;
  std::string certificate_file{}, key_file{}, ca_file{};
  std::vector<std::string> protocols{};
  bool verify = true;  // a server: whether clients must show a certificate
  Duration handshake_time{};
  std::size_t handshake_bytes = 0;

  /// Everything of OpenSSL that the options ask for, with the files as they are now.
  Result<Owned<SSL_CTX>> make() const;

  /// One connection. Keeps what it needs, whatever reload() does later.
  Owned<SSL> connection() {
    const std::lock_guard lock(mutex);
    return Owned<SSL>(SSL_new(context.get()));
  }

  std::mutex mutex{};  // for the context alone; the rest never changes
  Owned<SSL_CTX> context{};
};

/// Begins the handshake of a Stream that tls_connect() made; `done` is called once, from the loop,
/// unless the Stream is closed before.
void tls_handshake(Stream& stream, Function<void(const Result<void>& how)> done);

}  // namespace godwit::inline v0::detail::io
