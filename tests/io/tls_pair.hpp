// Both ends of a TLS connection, with certificates of their own, as these tests drive them.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "godwit/io/tls.hpp"
#include "test_certificates.hpp"
#include "wait.hpp"

namespace godwit::inline v0 {
namespace {

using test::CertificateOptions;
using test::run_until;
using test::TestCertificate;
using test::write_file;

/// An authority, a server's files, and contexts for both sides.
struct Station {
  godwit::test::TemporaryFolder folder{};
  TestCertificate authority = TestCertificate::make_authority();
  std::string ca = write_file(folder.file("ca.pem"), authority.certificate_pem());

  std::string certificate(const std::string& name, const TestCertificate& made) {
    write_file(folder.file(name + ".key"), made.key_pem());
    return write_file(folder.file(name + ".pem"), made.certificate_pem());
  }
  godwit::TlsServerOptions server_options(const CertificateOptions& options = {}) {
    certificate("server", authority.sign(options));
    return {.certificate_file = folder.file("server.pem"), .key_file = folder.file("server.key")};
  }
  TlsContext server(const CertificateOptions& options = {}) {
    return *TlsContext::server(server_options(options));
  }
  TlsContext client() { return *TlsContext::client({.ca_file = ca}); }
};

/// One end of a connection, that sends what it is given as fast as it is taken.
struct End : Stream::Handler {
  explicit End(Stream given, std::size_t space = 5000)
      : stream(std::move(given)), buffer(space, '\0') {
    stream->set_handler(*this);
  }

  std::span<char> on_space() override { return {buffer.data(), buffer.size()}; }
  void on_data(std::size_t size) override {
    EXPECT_FALSE(ended);
    got.append(buffer, 0, size);
    if (on_each) on_each();
  }
  void on_end(const Result<void>& how) override {
    EXPECT_FALSE(ended);
    ended = true;
    if (!how) error = how.error().message;
    if (on_last) on_last();
  }
  void on_writable() override {
    ++writable;
    write();
  }

  void send(std::string_view bytes) {
    to_send += bytes;
    write();
  }
  void write() {
    if (!stream || to_send.empty()) return;
    auto put = stream->write_some(to_send);
    if (!put) {
      write_error = put.error().message;
    } else {
      to_send.erase(0, *put);
    }
    if (to_send.empty() && shut_when_sent) stream->shutdown_write();
  }

  std::optional<Stream> stream;
  std::string buffer, got, to_send, error, write_error;
  std::function<void()> on_each, on_last;
  int writable = 0;
  bool ended = false, shut_when_sent = false;
};

struct Sockets {
  Descriptor near, far;
};
Sockets sockets() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Stream server_end(Loop& loop, Descriptor fd, const TlsContext& context) {
  return std::move(*tls_accept(loop, std::move(*Stream::open(loop, std::move(fd))), context));
}
Stream client_end(Loop& loop, Descriptor fd, const TlsContext& context,
                  const std::string& host = "localhost") {
  return std::move(
      *tls_connect(loop, std::move(*Stream::open(loop, std::move(fd))), context, host));
}

/// Both ends of one TLS connection.
struct Pair {
  struct Options {
    Sockets ends = sockets();                              // near is the server's
    std::size_t server_space = 5000, client_space = 5000;  // to read into
    std::string host = "localhost";                        // whom the client believes to meet
  };
  Pair(Loop& on, const TlsContext& server_context, const TlsContext& client_context,
       Options options)
      : loop(on),
        server(server_end(loop, std::move(options.ends.near), server_context),
               options.server_space),
        client(client_end(loop, std::move(options.ends.far), client_context, options.host),
               options.client_space) {}
  Pair(Loop& on, const TlsContext& server_context, const TlsContext& client_context)
      : Pair(on, server_context, client_context, Options{}) {}

  void resume() {
    server.stream->resume();
    client.stream->resume();
  }
  /// Carries an "x", after which the handshake is done and the server does not read.
  bool stop_server() {
    resume();
    client.send("x");
    const bool got = run_until(loop, [&] { return server.got == "x"; });
    server.stream->pause();
    return got;
  }

  Loop& loop;
  End server, client;
};

/// Two ends that meet only through hands that pass on so many bytes at a time.
struct Cutter {
  Sockets a = sockets(), b = sockets();  // the far ends are in the hands
  std::size_t forward = 0, backward = 0;

  static std::size_t pass(int from, int to, std::size_t most) {
    std::string bytes(most, '\0');
    const ssize_t size = ::recv(from, bytes.data(), most, MSG_DONTWAIT);
    if (size <= 0) return 0;
    EXPECT_EQ(::send(to, bytes.data(), static_cast<std::size_t>(size), MSG_NOSIGNAL), size);
    return static_cast<std::size_t>(size);
  }
  /// What the two ends are made of.
  Sockets ends() { return {std::move(a.near), std::move(b.near)}; }
  /// Carries everything until this has arrived.
  void pass_all(Loop& loop, const End& to, std::string_view text) {
    const Loop::Work work(loop);
    while (to.got != text) {
      pass(4096);
      loop.poll();
    }
  }
  void pass(std::size_t most) {
    forward += pass(a.far.get(), b.far.get(), most);
    backward += pass(b.far.get(), a.far.get(), most);
  }
};

std::string pattern(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; text.size() < size; ++i) text += std::to_string(i) + ' ';
  text.resize(size);
  return text;
}

}  // namespace
}  // namespace godwit::inline v0
