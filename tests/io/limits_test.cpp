// What a peer may cost before its TLS handshake is done.
#include "godwit/base/limits.hpp"

#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <chrono>
#include <optional>
#include <string>

#include "godwit/io/tls.hpp"
#include "test_certificates.hpp"
#include "wait.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::run_until;
using testing::HasSubstr;

/// A TLS server at one end of a pair of sockets, bytes at the other.
struct Shake : Stream::Handler {
  explicit Shake(std::optional<Duration> handshake_time = {},
                 std::optional<std::size_t> handshake_bytes = {}) {
    const auto certificate = test::TestCertificate::self_signed();
    TlsServerOptions options{
        .certificate_file = test::write_file(folder.file("s.pem"), certificate.certificate_pem()),
        .key_file = test::write_file(folder.file("s.key"), certificate.key_pem())};
    if (handshake_time) options.handshake_time = *handshake_time;
    if (handshake_bytes) options.handshake_bytes = *handshake_bytes;
    int pair[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    far = Descriptor(pair[1]);
    stream.emplace(*tls_accept(loop, *Stream::open(loop, Descriptor(pair[0])),
                               *TlsContext::server(std::move(options))));
    stream->set_handler(*this);
    stream->resume();
  }
  std::span<char> on_space() override { return buffer; }
  void on_data(std::size_t) override { ADD_FAILURE() << "nothing was said in confidence"; }
  void on_end(const Result<void>& how) override { why = how ? "in order" : how.error().message; }
  void on_writable() override {}

  /// Sends all of it and waits until it was taken; false if the server ends it before.
  bool send(std::string_view bytes) {
    return run_until(loop,
                     [&] {
                       const ssize_t put = bytes.empty()
                                               ? 0
                                               : ::send(far.get(), bytes.data(), bytes.size(),
                                                        MSG_NOSIGNAL | MSG_DONTWAIT);
                       if (put > 0) bytes.remove_prefix(static_cast<std::size_t>(put));
                       int untaken = 0;
                       ::ioctl(far.get(), SIOCOUTQ, &untaken);
                       return !why.empty() || (bytes.empty() && untaken == 0);
                     }) &&
           why.empty();
  }

  test::TemporaryFolder folder;
  Loop loop;
  Descriptor far;
  std::optional<Stream> stream;
  char buffer[1000];
  std::string why;
};

TEST(TlsLimits, BytesOfAHandshake) {
  // The longest greeting that OpenSSL waits for, in records of one byte each, so that it costs the
  // peer six times as much as it says.
  const std::string greeting("\x01\x01\xff\xf0\x03\x03", 6);
  std::string bytes;
  for (std::size_t i = 0; bytes.size() <= Limits{}.tls_handshake_bytes; ++i) {
    bytes += std::string("\x16\x03\x01\x00\x01", 5);
    bytes += i < greeting.size() ? greeting[i] : 'x';
  }
  const std::size_t most = Limits{}.tls_handshake_bytes;
  Shake server;
  ASSERT_TRUE(server.send(std::string_view(bytes).substr(0, most - 1))) << server.why;
  server.loop.run_for(20ms);
  EXPECT_EQ(server.why, "");
  ASSERT_TRUE(server.send(std::string_view(bytes).substr(most - 1, 1))) << server.why;
  server.loop.run_for(20ms);
  EXPECT_EQ(server.why, "");
  server.send(std::string_view(bytes).substr(most, 1));
  ASSERT_TRUE(run_until(server.loop, [&] { return !server.why.empty(); }));
  EXPECT_THAT(server.why, HasSubstr("too long"));
}

TEST(TlsLimits, BytesOfAHandshakeAreTheProgramsChoice) {
  EXPECT_EQ(TlsServerOptions{}.handshake_bytes, Limits{}.tls_handshake_bytes);
  EXPECT_EQ(TlsClientOptions{}.handshake_bytes, Limits{}.tls_handshake_bytes);
  Shake server(1h, 10);
  server.send(std::string("\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03", 11));
  ASSERT_TRUE(run_until(server.loop, [&] { return !server.why.empty(); }));
  EXPECT_THAT(server.why, HasSubstr("too long"));
}

TEST(TlsLimits, TimeOfAHandshake) {
  EXPECT_EQ(TlsServerOptions{}.handshake_time, Limits{}.tls_handshake_time);
  EXPECT_EQ(TlsClientOptions{}.handshake_time, Limits{}.tls_handshake_time);
  for (const char* said : {"", "\x16\x03\x01"}) {
    Shake hasty(30ms);
    hasty.send(said);  // perhaps it is over before that
    ASSERT_TRUE(run_until(hasty.loop, [&] { return !hasty.why.empty(); }));
    EXPECT_THAT(hasty.why, HasSubstr("not done in time"));
    Shake patient(1h);
    ASSERT_TRUE(patient.send(said));
    patient.loop.run_for(100ms);
    EXPECT_EQ(patient.why, "");
  }
}

}  // namespace
}  // namespace godwit::inline v0
