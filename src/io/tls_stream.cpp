#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "godwit/io/timer.hpp"
#include "godwit/io/wakeup.hpp"
#include "io/loop_core.hpp"
#include "io/stream_state.hpp"
#include "io/tls_core.hpp"

namespace godwit::inline v0 {
namespace {

using Handler = Stream::Handler;
using detail::io::Owned;

/// One record of TLS with all that may be around it.
constexpr std::size_t input_bytes = (16u << 10) + 512;
constexpr std::size_t record_bytes = 16u << 10;
/// Encrypted bytes that wait for a slow peer before no more are taken; four records in one write.
constexpr std::size_t output_bytes = 64u << 10;
/// Above this nothing is read either: only a peer that makes us answer and never reads gets there.
/// It is well above the other bound, since two ends that both write and do not read would wait for
/// each other forever.
constexpr std::size_t most_output_bytes = 4 * output_bytes;
/// An output buffer that is kept while nothing waits; larger ones are for bursts.
constexpr std::size_t kept_output_bytes = 4u << 10;
/// How long taken bytes are written on behalf of an owner who has closed.
constexpr auto linger_time = std::chrono::seconds(10);

/// Null if the other end has shown none, or none that was verified.
std::shared_ptr<const PeerCertificate> shown_certificate(SSL* ssl) {
  X509* const shown = SSL_get0_peer_certificate(ssl);
  if (!shown || SSL_get_verify_result(ssl) != X509_V_OK) return nullptr;
  const Owned<BIO> text(BIO_new(BIO_s_mem()));
  if (!text || X509_NAME_print_ex(text.get(), X509_get_subject_name(shown), 0,
                                  XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) < 0) {
    return nullptr;
  }
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned digest_size = 0;
  if (X509_digest(shown, EVP_sha256(), digest, &digest_size) != 1) return nullptr;
  auto certificate = std::make_shared<PeerCertificate>();
  if (bytes && size > 0) certificate->subject.assign(bytes, static_cast<std::size_t>(size));
  static constexpr char hex[] = "0123456789abcdef";
  for (const unsigned char byte : std::span(digest, digest_size)) {
    certificate->sha256 += {hex[byte >> 4], hex[byte & 15]};
  }
  return certificate;
}

/// Shared because it stays, when its owner has let go of it, until its last bytes are written.
class TlsStream final : public detail::io::StreamState,
                        public Handler,
                        public std::enable_shared_from_this<TlsStream> {
 public:
  using OnHandshake = Function<void(const Result<void>& how)>;

  TlsStream(Loop& loop, Stream plain, const detail::io::TlsCore& core, Owned<SSL> ssl,
            std::string host)
      : loop_(loop),
        plain_(std::move(plain)),
        ssl_(std::move(ssl)),
        host_(std::move(host)),
        server_(core.server),
        handshake_time_(core.handshake_time),
        handshake_bytes_(core.handshake_bytes) {
    plain_.set_handler(*this);
  }

  /// Between this object and OpenSSL: false if there is no memory for it.
  bool connect_bio();

  // --- the Stream of the owner

  void set_handler(Handler& handler) noexcept override {
    handler_ = &handler;
    space_ = {};
  }

  void resume() override {
    reading_ = true;
    if (closed_ || busy_) return;
    if (phase_ == Phase::idle) return begin();
    if (phase_ == Phase::open && dry_ && !end_) {
      settle();
    } else if (phase_ != Phase::handshake) {
      wake();
    }
  }

  void pause() noexcept override {
    reading_ = false;
    if (phase_ == Phase::open && !closed_) plain_.pause();
  }

  bool rest() noexcept override {
    space_ = {};  // only ever written to from inside a step
    return true;
  }

  Result<std::size_t> write_some(std::string_view bytes) override;

  void drain(std::size_t most) override {
    if (closed_ || ended_ || draining_) return;
    draining_ = true;
    left_ = std::max<std::size_t>(most, 1);
    if (phase_ == Phase::idle) begin();
    wake();
  }

  void shutdown_write() noexcept override {
    if (closed_ || finishing_) return;
    finishing_ = true;
    if (phase_ == Phase::open) say_goodbye();
  }

  void close() noexcept override;
  std::string peer() override { return plain_.peer(); }
  std::string local() override { return plain_.local(); }
  bool secure() const noexcept override { return true; }
  std::shared_ptr<const PeerCertificate> certificate() const noexcept override {
    return certificate_;
  }
  std::optional<PeerProcess> process() const noexcept override { return plain_.process(); }
  void attach(std::shared_ptr<void> companion) noexcept override {
    companion_ = std::move(companion);
  }

  void handshake(OnHandshake done) {
    on_handshake_ = std::move(done);
    begin();
  }

  // --- what the Stream below says, from the loop

  std::span<char> on_space() override {
    if (!input_) input_ = std::make_unique<char[]>(input_bytes);
    return {input_.get(), input_bytes};
  }
  void on_data(std::size_t size) override {
    if (closed_) return;
    if (!input_) {  // this read began before the Stream was handed over
      fail(error("TLS cannot begin on a stream that is being read"));
      return step();
    }
    in_ = {input_.get(), size};
    dry_ = false;
    if (phase_ == Phase::handshake) handshake_got_ += size;
    step();
  }
  void on_end(const Result<void>& how) override {
    if (closed_) return;
    plain_end_ = how;
    dry_ = false;
    step();
  }
  void on_writable() override {
    const auto self = shared_from_this();
    flush();
    if (!closed_) return step();
    if (out_.empty()) vanish();
  }

 private:
  enum class Phase : std::uint8_t { idle, handshake, open, failed };

  // --- progress. Only step() calls the owner, and only the loop calls step().

  void begin() {
    phase_ = Phase::handshake;
    timer_.emplace(loop_).start(handshake_time_, [this] {
      fail(error("the TLS handshake was not done in time"));
      step();
    });
    shake();
    settle();
    if (phase_ == Phase::failed) wake();
  }

  void wake() { wakeup_.signal(); }

  void step() {
    if (closed_ || busy_) return;
    const auto self = shared_from_this();  // the owner may let go of it in a callback
    busy_ = true;
    try {
      if (phase_ == Phase::handshake) shake();
      tell_handshake();
      read();
      tell_rest();
    } catch (...) {
      busy_ = false;
      if (!closed_) {
        plain_.pause();  // what is in input_ may not be overwritten before it is read
        wake();
      }
      throw;
    }
    busy_ = false;
    if (!closed_) settle();
  }

  void shake();
  void read();

  void tell_handshake() {
    if (!on_handshake_ || phase_ == Phase::handshake) return;
    OnHandshake done = std::exchange(on_handshake_, nullptr);
    if (phase_ == Phase::failed) return done(*end_);
    done({});
  }

  void tell_rest() {
    if (!closed_ && writing_ && (write_error_ || (phase_ == Phase::open && out_.empty()))) {
      writing_ = false;
      handler_->on_writable();
    }
    if (!closed_ && end_ && !ended_ && wants_data()) {
      ended_ = true;
      const Result<void> how = *end_;  // the handler may destroy this
      handler_->on_end(how);
    }
  }

  bool wants_data() const noexcept { return reading_ || draining_; }
  bool stuffed() const noexcept { return !draining_ && out_.size() - sent_ > most_output_bytes; }

  /// Reads from below whenever there is somebody to read for and nothing is left over.
  void settle() {
    const bool wanted = phase_ == Phase::handshake || (phase_ == Phase::open && wants_data());
    if (!wanted || end_) {
      plain_.pause();
      if (end_ && !ended_ && wants_data()) wake();
    } else if (stuffed()) {
      plain_.pause();  // on_writable() goes on
    } else if (!dry_) {
      plain_.pause();
      wake();
    } else if (draining_ && phase_ == Phase::open) {
      plain_.drain(left_ + input_bytes);  // encrypted they are more
    } else {
      plain_.resume();
    }
  }

  // --- ends

  void fail(Error why) {
    if (!write_error_) write_error_ = why;
    if (!end_) end_ = std::move(why);
    phase_ = Phase::failed;
    timer_.reset();
  }

  /// What has gone wrong in the last call of OpenSSL.
  Error explain() const;
  Error explain_certificate(long code) const;

  /// close_notify, and the end of TCP's direction after it.
  void say_goodbye() noexcept {
    if (write_error_ || std::exchange(said_goodbye_, true)) return;
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
    try {
      flush();
    } catch (...) {
      out_.clear();  // no memory for the words of an error: the peer sees a cut connection
      sent_ = 0;
    }
  }

  void vanish() noexcept {
    plain_.close();
    companion_.reset();
    timer_.reset();
    detail::io::core(loop_).forget(this);  // the last line: it may be the end of this
  }

  // --- bytes to and from OpenSSL

  /// Writes what waits, as far as it is taken.
  void flush();
  static int bio_write(BIO* bio, const char* data, std::size_t size, std::size_t* done) noexcept;
  static int bio_read(BIO* bio, char* data, std::size_t size, std::size_t* done) noexcept;
  static long bio_control(BIO* bio, int command, long, void*) noexcept;

  Loop& loop_;
  Stream plain_;
  Owned<SSL> ssl_;
  std::string host_;  // whom a client wants
  Handler* handler_ = nullptr;
  OnHandshake on_handshake_;
  Wakeup wakeup_{loop_, [this] { step(); }};
  std::optional<Timer> timer_;
  std::shared_ptr<void> companion_;

  std::unique_ptr<char[]> input_;
  std::string_view in_;    // encrypted and not yet read by OpenSSL; inside of input_
  std::string out_;        // encrypted and not yet written
  std::size_t sent_ = 0;   // how much of it is
  std::span<char> space_;  // of the handler, until on_data()
  std::size_t handshake_got_ = 0;
  std::size_t left_ = 0;  // draining: how much more may be read

  std::optional<Result<void>> plain_end_;  // nothing more comes from below
  std::optional<Result<void>> end_;        // what on_end() says, once it is called
  std::optional<Error> write_error_;
  Phase phase_ = Phase::idle;
  const bool server_;
  bool reading_ = false;  // the owner wants data
  bool draining_ = false;
  bool writing_ = false;    // on_writable is owed
  bool finishing_ = false;  // nothing more is to be written
  bool said_goodbye_ = false;
  bool dry_ = false;    // OpenSSL has nothing until more comes from below
  bool ended_ = false;  // on_end was told
  bool busy_ = false;   // inside of step()
  bool closed_ = false;
  std::shared_ptr<const PeerCertificate> certificate_;
  const Duration handshake_time_;
  const std::size_t handshake_bytes_;
};

// --- handshake

void TlsStream::shake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) {
    try {
      certificate_ = shown_certificate(ssl_.get());
    } catch (const std::bad_alloc&) {  // who it is must not be left open
      return fail(Error{.message = "out of memory"});
    }
    phase_ = Phase::open;
    timer_.reset();
    flush();
    if (finishing_) say_goodbye();
    return;
  }
  if (SSL_get_error(ssl_.get(), result) != SSL_ERROR_WANT_READ) {
    Error why = explain();
    flush();  // the alert that tells the other side
    return fail(std::move(why));
  }
  dry_ = true;
  flush();
  if (plain_end_) {
    fail(*plain_end_ ? error("the connection ended during the TLS handshake")
                     : plain_end_->error());
  } else if (write_error_) {
    fail(*write_error_);
  } else if (handshake_got_ > handshake_bytes_) {
    fail(error("the TLS handshake of the other side is too long"));
  }
}

// --- reading

void TlsStream::read() {
  while (!closed_ && phase_ == Phase::open && !end_ && wants_data() && !stuffed()) {
    if (draining_ && left_ == 0) {
      end_ = Result<void>();
      return;
    }
    if (space_.empty()) space_ = handler_->on_space();
    const std::size_t room = draining_ ? std::min(left_, space_.size()) : space_.size();
    std::size_t got = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_.get(), space_.data(), room, &got);
    if (result == 1) {
      space_ = {};
      if (draining_) left_ -= got;
      if (!out_.empty()) flush();  // TLS has said something of its own
      handler_->on_data(got);
      continue;
    }
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        dry_ = true;
        if (!out_.empty()) flush();
        if (!plain_end_) return;
        if (draining_ || !*plain_end_) {
          end_ = *plain_end_;
        } else {
          end_ = error(
              "the connection was cut: it ended without the end of TLS, so that the last bytes may "
              "be missing");
        }
        return;
      case SSL_ERROR_ZERO_RETURN:
        end_ = Result<void>();
        return;
      default: {
        Error why = explain();
        flush();  // the alert
        return fail(std::move(why));
      }
    }
  }
}

// --- writing

Result<std::size_t> TlsStream::write_some(std::string_view bytes) {
  if (closed_) return error("writing failed: the stream is closed");
  if (write_error_) return *write_error_;
  if (finishing_) return error("writing failed: the stream was shut down for writing");
  if (phase_ == Phase::idle) begin();
  if (phase_ != Phase::open) {
    writing_ = true;
    return std::size_t{0};
  }
  std::size_t done = 0;
  while (done < bytes.size() && out_.size() - sent_ < output_bytes) {
    std::size_t put = 0;
    ERR_clear_error();
    const std::size_t size = std::min(bytes.size() - done, record_bytes);
    if (SSL_write_ex(ssl_.get(), bytes.data() + done, size, &put) != 1) {
      fail(explain());
      if (!busy_) wake();
      return *write_error_;
    }
    done += put;
    if (done == bytes.size() || out_.size() - sent_ >= output_bytes) flush();
    if (write_error_) return *write_error_;
  }
  if (done < bytes.size()) writing_ = true;
  return done;
}

void TlsStream::flush() {
  if (write_error_) {
    out_.clear();
    sent_ = 0;
    return;
  }
  if (sent_ < out_.size()) {
    auto put = plain_.write_some(std::string_view(out_).substr(sent_));
    if (!put) {
      write_error_ = put.error();
      return flush();
    }
    sent_ += *put;
    if (sent_ < out_.size()) return;  // on_writable() follows
  }
  out_.clear();
  sent_ = 0;
  if (out_.capacity() > kept_output_bytes) std::string().swap(out_);
  if (said_goodbye_ && !closed_) plain_.shutdown_write();
}

void TlsStream::close() noexcept {
  if (std::exchange(closed_, true)) return;
  handler_ = nullptr;
  on_handshake_ = nullptr;
  timer_.reset();
  plain_.pause();
  if (phase_ == Phase::open) say_goodbye();
  if (out_.empty() || write_error_) return vanish();
  try {
    detail::io::core(loop_).lingering.push_back(shared_from_this());
    timer_.emplace(loop_).start(linger_time, [this] { vanish(); });
  } catch (...) {
    vanish();
  }
}

// --- words

Error TlsStream::explain_certificate(long code) const {
  const std::string why = X509_verify_cert_error_string(code);
  if (server_) return error("the certificate of the client is not valid: " + why);
  std::string text = "the certificate of " + host_ + " is not valid: " + why;
  switch (code) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
      text += "; expected one for host \"" + host_ + "\" (DNS names in subjectAltName count)";
      break;
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      text += "; expected one for address " + host_ + " (IP addresses in subjectAltName count)";
      break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      text += "; if its issuer is to be trusted, name the issuer's certificate as CA file";
      break;
    default:
      break;
  }
  return error(std::move(text));
}

Error TlsStream::explain() const {
  const unsigned long code = ERR_peek_error();
  ERR_clear_error();
  const int reason = ERR_GET_REASON(code);
  if (ERR_GET_LIB(code) == ERR_LIB_SSL) {
    switch (reason) {
      case SSL_R_CERTIFICATE_VERIFY_FAILED:
        return explain_certificate(SSL_get_verify_result(ssl_.get()));
      case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        return error("the client shows no certificate, and this server asks for one");
      case SSL_R_HTTP_REQUEST:
        return error("plain HTTP was sent to a port that speaks TLS; use https://");
      case SSL_R_WRONG_VERSION_NUMBER:
        return error("the other side does not speak TLS, or only an old version of it");
      case SSL_R_UNSUPPORTED_PROTOCOL:
        return error("the other side speaks only old versions of TLS; 1.2 is the oldest accepted");
      default:
        break;
    }
  }
  const char* text = ERR_reason_error_string(code);
  if (!text) text = "OpenSSL gives no reason";
  // An alert of the other side is a reason of its own: its number and an offset. Without the offset
  // OpenSSL has better words for it, but not for the newest ones.
  if (ERR_GET_LIB(code) == ERR_LIB_SSL && reason >= SSL_AD_REASON_OFFSET &&
      reason < SSL_AD_REASON_OFFSET + 256) {
    const std::string_view alert = SSL_alert_desc_string_long(reason - SSL_AD_REASON_OFFSET);
    return error("the other side broke TLS off: " + std::string(alert == "unknown" ? text : alert));
  }
  return error(std::string("TLS failed: ") + text);
}

// --- the BIO: OpenSSL's word for where encrypted bytes come from and go to

int TlsStream::bio_write(BIO* bio, const char* data, std::size_t size, std::size_t* done) noexcept {
  BIO_clear_retry_flags(bio);
  try {
    static_cast<TlsStream*>(BIO_get_data(bio))->out_.append(data, size);
  } catch (...) {
    return 0;  // without memory this connection ends, and no exception crosses C
  }
  *done = size;
  return 1;
}

int TlsStream::bio_read(BIO* bio, char* data, std::size_t size, std::size_t* done) noexcept {
  BIO_clear_retry_flags(bio);
  std::string_view& in = static_cast<TlsStream*>(BIO_get_data(bio))->in_;
  *done = std::min(size, in.size());
  if (*done == 0) {
    BIO_set_retry_read(bio);
    return 0;
  }
  std::memcpy(data, in.data(), *done);
  in.remove_prefix(*done);
  return 1;
}

long TlsStream::bio_control(BIO*, int command, long, void*) noexcept {
  return command == BIO_CTRL_FLUSH;  // flush() does it
}

bool TlsStream::connect_bio() {
  // Made once and kept: OpenSSL has a bounded number of kinds.
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "godwit");
    if (made) {
      BIO_meth_set_write_ex(made, &TlsStream::bio_write);
      BIO_meth_set_read_ex(made, &TlsStream::bio_read);
      BIO_meth_set_ctrl(made, &TlsStream::bio_control);
    }
    return made;
  }();
  BIO* const bio = method ? BIO_new(method) : nullptr;
  if (!bio) return false;
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);  // takes it
  return true;
}

/// Whom to expect at the other end, and what to say to a server with several names.
bool expect(SSL* ssl, const std::string& host) {
  X509_VERIFY_PARAM* const rules = SSL_get0_param(ssl);
  if (X509_VERIFY_PARAM_set1_ip_asc(rules, host.c_str()) == 1) return true;
  ERR_clear_error();
  // Names in the subject were never meant for this and are not looked at.
  X509_VERIFY_PARAM_set_hostflags(
      rules, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return X509_VERIFY_PARAM_set1_host(rules, host.data(), host.size()) == 1 &&
         SSL_set_tlsext_host_name(ssl, host.c_str()) == 1;
}

Result<Stream> make(Loop& loop, Stream plain, const TlsContext& context, std::string host) {
  detail::io::TlsCore& core = detail::io::core(context);
  ERR_clear_error();
  Owned<SSL> ssl = core.connection();
  if (!ssl) return error("OpenSSL has no memory for a TLS connection");
  if (core.server) {
    SSL_set_accept_state(ssl.get());
  } else {
    if (host.ends_with('.')) host.pop_back();  // the root of DNS is no part of names in TLS
    if (host.empty() || host.find('\0') != host.npos || !expect(ssl.get(), host))
      return error("TLS could not ask for a host \"" + host.substr(0, 256) + "\"");
    SSL_set_connect_state(ssl.get());
  }
  auto stream =
      std::make_shared<TlsStream>(loop, std::move(plain), core, std::move(ssl), std::move(host));
  if (!stream->connect_bio()) return error("OpenSSL has no memory for a TLS connection");
  return detail::io::make_stream(std::move(stream));
}

}  // namespace

Result<Stream> tls_accept(Loop& loop, Stream connection, const TlsContext& context) {
  if (!context.is_server())
    return error("accepting needs a TlsContext::server(), and this one is for clients");
  return make(loop, std::move(connection), context, {});
}

Result<Stream> tls_connect(Loop& loop, Stream connection, const TlsContext& context,
                           const std::string& host) {
  if (context.is_server())
    return error("connecting needs a TlsContext::client(), and this one is for servers");
  return make(loop, std::move(connection), context, host);
}

void detail::io::tls_handshake(Stream& stream, Function<void(const Result<void>& how)> done) {
  static_cast<TlsStream&>(state_of(stream)).handshake(std::move(done));
}

}  // namespace godwit::inline v0
