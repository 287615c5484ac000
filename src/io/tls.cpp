#include "godwit/io/tls.hpp"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "io/system.hpp"
#include "io/tls_core.hpp"

namespace godwit::inline v0 {
namespace {

using detail::io::Owned;
using Certificates = std::vector<Owned<X509>>;

/// Ten times a bundle of all public authorities.
constexpr std::size_t max_file_bytes = 4u << 20;

/// Holds a key for a moment.
struct Contents {
  Contents() = default;
  ~Contents() { OPENSSL_cleanse(text.data(), text.size()); }
  Contents(Contents&& other) noexcept = default;
  Contents& operator=(Contents&& other) noexcept = default;

  Owned<BIO> open() const {
    return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  }
  std::vector<char> text{};
};

Result<Contents> read(const std::string& what, const std::string& path) {
  const std::string cannot = "cannot read the " + what + " file \"" + path + "\"";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             &std::fclose);
  if (!file) return detail::io::system_error(cannot, errno);
  Contents contents;
  // One more than allowed, and never moved: growing would leave copies of a key behind.
  contents.text.resize(max_file_bytes + 1);
  const std::size_t size = std::fread(contents.text.data(), 1, contents.text.size(), file.get());
  if (std::ferror(file.get()) != 0) return detail::io::system_error(cannot, errno);
  if (size > max_file_bytes) return error(cannot + ": it is larger than 4 MiB");
  contents.text.resize(size);
  return contents;
}

/// What OpenSSL says about its first error; the others follow from it.
std::string reason() {
  const char* text = ERR_reason_error_string(ERR_peek_error());
  return text ? text : "OpenSSL gives no reason";
}

/// Encrypted keys: asking on the terminal is not for a library.
int no_pass_phrase(char*, int, int, void*) { return -1; }

Result<Certificates> read_certificates(const std::string& what, const std::string& path) {
  auto contents = read(what, path);
  if (!contents) return contents.error();
  const Owned<BIO> bio = contents->open();
  Certificates list;
  ERR_clear_error();
  while (bio) {
    Owned<X509> one(PEM_read_bio_X509(bio.get(), nullptr, no_pass_phrase, nullptr));
    if (!one) break;
    list.push_back(std::move(one));
  }
  const unsigned long last = ERR_peek_last_error();
  const bool at_end =
      ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  if (!at_end)
    return error("the " + what + " file \"" + path + "\" is damaged: " + reason() +
                 "; write it again");
  ERR_clear_error();
  if (list.empty())
    return error("the " + what + " file \"" + path +
                 "\" has no certificate in PEM form; it should have a line "
                 "\"-----BEGIN CERTIFICATE-----\"");
  return list;
}

Result<Owned<EVP_PKEY>> read_key(const std::string& path) {
  auto contents = read("key", path);
  if (!contents) return contents.error();
  const Owned<BIO> bio = contents->open();
  ERR_clear_error();
  Owned<EVP_PKEY> key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_pass_phrase, nullptr)
                          : nullptr);
  if (key) return key;
  const std::string_view text(contents->text.data(), contents->text.size());
  if (text.find("ENCRYPTED") != text.npos)
    return error("the key file \"" + path +
                 "\" is protected by a pass phrase; remove it with \"openssl pkey -in " + path +
                 " -out NEW\"");
  if (text.find("PRIVATE KEY-----") == text.npos)
    return error("the key file \"" + path +
                 "\" has no private key in PEM form; it should have a line "
                 "\"-----BEGIN PRIVATE KEY-----\"");
  return error("the key file \"" + path + "\" is damaged: " + reason() + "; write it again");
}

Result<void> use_identity(SSL_CTX* context, const detail::io::TlsCore& options) {
  auto chain = read_certificates("certificate", options.certificate_file);
  if (!chain) return chain.error();
  auto key = read_key(options.key_file);
  if (!key) return key.error();
  ERR_clear_error();
  X509* const own = chain->front().get();
  if (X509_check_private_key(own, key->get()) != 1)
    return error("the key in \"" + options.key_file +
                 "\" does not belong to the certificate in \"" + options.certificate_file +
                 "\"; the server's own certificate must come first in that file");
  bool good = SSL_CTX_use_certificate(context, own) == 1 &&
              SSL_CTX_use_PrivateKey(context, key->get()) == 1;
  for (std::size_t i = 1; good && i < chain->size(); ++i)
    good = SSL_CTX_add1_chain_cert(context, (*chain)[i].get()) == 1;
  if (!good)
    return error("the certificate in \"" + options.certificate_file +
                 "\" cannot be used: " + reason());
  return {};
}

Result<void> trust(SSL_CTX* context, const detail::io::TlsCore& options) {
  auto list = read_certificates("CA", options.ca_file);
  if (!list) return list.error();
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  for (const Owned<X509>& one : *list) {
    if (X509_STORE_add_cert(store, one.get()) != 1 ||
        (options.server && SSL_CTX_add_client_CA(context, one.get()) != 1))
      return error("a certificate in \"" + options.ca_file + "\" cannot be used: " + reason());
  }
  // What somebody names as trusted is trusted, also if it is not a root.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  return {};
}

/// Names with their lengths before them, as TLS wants them.
Result<std::string> wire_protocols(const std::vector<std::string>& protocols) {
  std::string wire;
  for (const std::string& one : protocols) {
    if (one.empty() || one.size() > 255)
      return error("the name of a protocol for TLS has 1 to 255 bytes, not " +
                   std::to_string(one.size()));
    wire += static_cast<char>(one.size());
    wire += one;
  }
  return wire;
}

int select_protocol(SSL*, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* in, unsigned in_size, void*) {
  static constexpr unsigned char http[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* chosen = nullptr;
  const int how = SSL_select_next_proto(&chosen, out_size, http, sizeof http, in, in_size);
  *out = chosen;
  // Who offers only others may still speak something that needs no name.
  return how == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

}  // namespace

Result<Owned<SSL_CTX>> detail::io::TlsCore::make() const {
  ERR_clear_error();
  Owned<SSL_CTX> made(SSL_CTX_new(server ? TLS_server_method() : TLS_client_method()));
  SSL_CTX* const to = made.get();
  if (!to || SSL_CTX_set_min_proto_version(to, TLS1_2_VERSION) != 1)
    return error("OpenSSL cannot be used for TLS: " + reason());
  SSL_CTX_set_options(to, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(to, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                           SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(to, SSL_SESS_CACHE_OFF);
  if (server) {
    SSL_CTX_set_options(to, SSL_OP_CIPHER_SERVER_PREFERENCE);
    // For TLS 1.2; those of 1.3 are all good.
    if (SSL_CTX_set_cipher_list(to, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1)
      return error("OpenSSL has no ciphers for TLS 1.2: " + reason());
    // In TLS 1.3 tickets come after the handshake. A client that sends, closes and never reads
    // would have one unread, which resets the connection and loses what it has sent.
    SSL_CTX_set_num_tickets(to, 0);
    static constexpr std::array<unsigned char, 6> name = {'g', 'o', 'd', 'w', 'i', 't'};
    SSL_CTX_set_session_id_context(to, name.data(), name.size());
    SSL_CTX_set_alpn_select_cb(to, select_protocol, nullptr);
  } else {
    const auto wire = wire_protocols(protocols);
    if (!wire) return wire.error();
    // The one function of OpenSSL that gives 0 for success.
    if (!wire->empty() &&
        SSL_CTX_set_alpn_protos(to, reinterpret_cast<const unsigned char*>(wire->data()),
                                static_cast<unsigned>(wire->size())) != 0)
      return error("the protocols for TLS cannot be set: " + reason());
  }

  if (!certificate_file.empty()) {
    if (auto good = use_identity(to, *this); !good) return good.error();
  }
  if (verify) {
    SSL_CTX_set_verify(to, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    if (!ca_file.empty()) {
      if (auto good = trust(to, *this); !good) return good.error();
    } else if (SSL_CTX_set_default_verify_paths(to) != 1) {
      return error("the authorities that the system trusts cannot be loaded: " + reason());
    }
  }
  ERR_clear_error();
  return made;
}

detail::io::TlsCore& detail::io::core(const TlsContext& context) noexcept { return *context.core_; }

TlsContext::TlsContext(std::shared_ptr<detail::io::TlsCore> core) noexcept
    : core_(std::move(core)) {}
TlsContext::~TlsContext() = default;
TlsContext::TlsContext(const TlsContext&) noexcept = default;
TlsContext& TlsContext::operator=(const TlsContext&) noexcept = default;

Result<TlsContext> TlsContext::server(TlsServerOptions options) {
  if (options.certificate_file.empty() || options.key_file.empty())
    return error("a TLS server needs a certificate file and a key file");
  auto core = std::make_shared<detail::io::TlsCore>();
  core->server = true;
  core->verify = !options.client_ca_file.empty();
  core->certificate_file = std::move(options.certificate_file);
  core->key_file = std::move(options.key_file);
  core->ca_file = std::move(options.client_ca_file);
  core->handshake_time = options.handshake_time;
  core->handshake_bytes = options.handshake_bytes;
  TlsContext context(std::move(core));
  if (auto good = context.reload(); !good) return good.error();
  return context;
}

Result<TlsContext> TlsContext::client(TlsClientOptions options) {
  if (options.certificate_file.empty() != options.key_file.empty())
    return error("a TLS client shows a certificate only with its key: give both files or none");
  auto core = std::make_shared<detail::io::TlsCore>();
  core->verify = !options.insecure_skip_verification;
  core->certificate_file = std::move(options.certificate_file);
  core->key_file = std::move(options.key_file);
  core->ca_file = std::move(options.ca_file);
  core->protocols = std::move(options.protocols);
  core->handshake_time = options.handshake_time;
  core->handshake_bytes = options.handshake_bytes;
  TlsContext context(std::move(core));
  if (auto good = context.reload(); !good) return good.error();
  return context;
}

Result<void> TlsContext::reload() const {
  auto made = core_->make();
  if (!made) return made.error();
  const std::lock_guard lock(core_->mutex);
  std::swap(core_->context, *made);  // the old one goes after the lock
  return {};
}

bool TlsContext::is_server() const noexcept { return core_->server; }

}  // namespace godwit::inline v0
