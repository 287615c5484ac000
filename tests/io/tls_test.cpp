#include "godwit/io/tls.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "godwit/io/connector.hpp"
#include "godwit/io/listener.hpp"
#include "test_certificates.hpp"
#include "wait.hpp"

using namespace std::chrono_literals;
using godwit::Address;
using godwit::Connector;
using godwit::Descriptor;
using godwit::Listener;
using godwit::Loop;
using godwit::Result;
using godwit::Stream;
using godwit::TlsClientOptions;
using godwit::TlsContext;
using godwit::test::CertificateOptions;
using godwit::test::run_until;
using godwit::test::TestCertificate;
using godwit::test::write_file;
using testing::HasSubstr;

namespace {

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
  Pair(Loop& loop, const TlsContext& server_context, const TlsContext& client_context,
       Sockets pair = sockets())
      : server(server_end(loop, std::move(pair.near), server_context)),
        client(client_end(loop, std::move(pair.far), client_context)) {}
  End server, client;

  void resume() {
    server.stream->resume();
    client.stream->resume();
  }
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

/// What a client says that meets this server.
std::string refusal(const TlsContext& server, const TlsContext& client,
                    const std::string& host = "localhost") {
  Loop loop;
  Sockets pair = sockets();
  End there(server_end(loop, std::move(pair.near), server));
  End here(client_end(loop, std::move(pair.far), client, host));
  there.stream->resume();
  here.stream->resume();
  there.send("secret");
  EXPECT_TRUE(run_until(loop, [&] { return here.ended || !here.got.empty(); }));
  if (!here.ended) return "";
  EXPECT_EQ(here.got, "");
  EXPECT_FALSE(here.stream->write_some("x"));
  EXPECT_TRUE(run_until(loop, [&] { return there.ended; }));
  EXPECT_THAT(there.error, HasSubstr("the other side broke TLS off: "));
  return here.error;
}

}  // namespace

TEST(TlsStream, CarriesEverySizeInBothDirections) {
  Station station;
  const TlsContext server = station.server(), client = station.client();
  for (const std::size_t size : {1u, 2u, 100u, 16383u, 16384u, 16385u, 70'000u, 1u << 20}) {
    for (const std::size_t space : {7u, 5000u, 100'000u}) {
      if (size > 100'000 && space < 100) continue;
      Loop loop;
      Sockets both = sockets();
      End there(server_end(loop, std::move(both.near), server), space);
      End here(client_end(loop, std::move(both.far), client), space);
      EXPECT_TRUE(here.stream->secure());
      there.stream->resume();
      here.stream->resume();
      const std::string all = pattern(size);
      there.on_each = [&] {
        if (there.got.size() == size) there.send(there.got);
      };
      here.send(all);
      ASSERT_TRUE(run_until(loop, [&] { return here.got.size() >= size; })) << size;
      EXPECT_EQ(there.got, all);
      EXPECT_EQ(here.got, all);
    }
  }
}

TEST(TlsStream, TwoThatWriteWithoutReadingFirstDoNotWaitForEachOther) {
  Station station;
  Loop loop;
  Pair pair(loop, station.server(), station.client());
  const std::string all = pattern(3u << 20);
  pair.resume();
  pair.server.send(all);
  pair.client.send(all);
  ASSERT_TRUE(run_until(loop, [&] {
    return pair.server.got.size() == all.size() && pair.client.got.size() == all.size();
  }));
  EXPECT_EQ(pair.server.got, all);
  EXPECT_EQ(pair.client.got, all);
}

TEST(TlsStream, WorksWithPiecesOfEverySize) {
  Station station;
  const TlsContext server = station.server(), client = station.client();
  const std::string all = pattern(600);
  std::vector<std::size_t> sizes;
  for (std::size_t i = 1; i < 40; ++i) sizes.push_back(i);
  for (std::size_t i = 40; i < 1500; i += 53) sizes.push_back(i);
  for (const std::size_t size : sizes) {
    Loop loop;
    Cutter cutter;
    End there(server_end(loop, std::move(cutter.a.near), server));
    End here(client_end(loop, std::move(cutter.b.near), client));
    there.stream->resume();
    here.stream->resume();
    there.shut_when_sent = here.shut_when_sent = true;
    there.send(all);
    here.send(all);
    const Loop::Work work(loop);
    for (int turn = 0; turn < 100'000 && !(here.ended && there.ended); ++turn) {
      cutter.pass(size);
      loop.poll();
      if (here.ended) cutter.b.far.reset();
    }
    EXPECT_EQ(there.got, all) << size;
    EXPECT_EQ(here.got, all) << size;
    EXPECT_EQ(there.error + here.error, "") << size;
  }
}

TEST(TlsStream, ACutAnywhereIsAnError) {
  Station station;
  const TlsContext server = station.server(), client = station.client();
  bool whole = false;
  for (std::size_t cut = 0; !whole && cut < 10'000; cut += 3) {
    Loop loop;
    Cutter cutter;
    End there(server_end(loop, std::move(cutter.a.near), server));
    End here(client_end(loop, std::move(cutter.b.near), client));
    there.stream->resume();
    here.stream->resume();
    here.send("hello");
    there.send("hello");
    const Loop::Work work(loop);
    // Few bytes are under way in the end, so that the cut is where it should be.
    for (int turn = 0; turn < 2000 && cutter.forward + cutter.backward < cut; ++turn) {
      cutter.pass(std::min<std::size_t>(64, cut - cutter.forward - cutter.backward));
      loop.poll();
      if (there.got == "hello" && here.got == "hello") whole = true;
      if (whole) break;
    }
    cutter.a.far.reset();
    cutter.b.far.reset();
    ASSERT_TRUE(run_until(loop, [&] { return here.ended && there.ended; })) << cut;
    EXPECT_NE(here.error, "") << cut;
    EXPECT_NE(there.error, "") << cut;
    EXPECT_TRUE(there.got.empty() || there.got == "hello");
  }
  EXPECT_TRUE(whole);
}

TEST(TlsStream, SpeaksAboutWhatIsNoTls) {
  Station station;
  const TlsContext server = station.server();
  const auto said = [&](const std::string& bytes, bool end) {
    Loop loop;
    Sockets pair = sockets();
    End there(server_end(loop, std::move(pair.near), server));
    there.stream->resume();
    EXPECT_EQ(::send(pair.far.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    if (end) pair.far.reset();
    EXPECT_TRUE(run_until(loop, [&] { return there.ended; }));
    EXPECT_EQ(there.got, "");
    EXPECT_FALSE(there.stream->write_some("x"));
    return there.error;
  };
  EXPECT_THAT(said("GET / HTTP/1.1\r\nHost: x\r\n\r\n", false), HasSubstr("plain HTTP"));
  EXPECT_THAT(said(std::string(100, '\xff'), false), HasSubstr("TLS"));
  EXPECT_THAT(said("{\"jsonrpc\":\"2.0\"}", false), HasSubstr("does not speak TLS"));
  EXPECT_THAT(said("", true), HasSubstr("ended during the TLS handshake"));
  EXPECT_THAT(said("\x16\x03", true), HasSubstr("ended during the TLS handshake"));
  unsigned random = 1;
  for (int i = 0; i < 300; ++i) {
    std::string bytes = i % 2 ? std::string("\x16\x03\x01\x00\x40", 5) : "";
    for (int n = 0; n < 200; ++n) {
      random = random * 1664525 + 1013904223;
      bytes += static_cast<char>(random >> 24);
    }
    EXPECT_NE(said(bytes, true), "");
  }
}

TEST(TlsStream, BrokenBytesAfterTheHandshakeAreAnError) {
  Station station;
  const TlsContext server = station.server(), client = station.client();
  for (std::size_t at = 0; at < 40; ++at) {
    Loop loop;
    Cutter cutter;
    End there(server_end(loop, std::move(cutter.a.near), server));
    End here(client_end(loop, std::move(cutter.b.near), client));
    there.stream->resume();
    here.stream->resume();
    here.send("first");
    const Loop::Work work(loop);
    while (there.got != "first") {
      cutter.pass(4096);
      loop.poll();
    }
    here.send("second, which nobody will ever read");
    std::string record(4096, '\0');
    const ssize_t size = ::recv(cutter.b.far.get(), record.data(), record.size(), 0);
    ASSERT_GT(size, 40);
    record[at] = static_cast<char>(record[at] ^ 0x55);
    ASSERT_EQ(::send(cutter.a.far.get(), record.data(), static_cast<std::size_t>(size), 0), size);
    ::shutdown(cutter.a.far.get(), SHUT_WR);
    ASSERT_TRUE(run_until(loop, [&] { return there.ended; })) << at;
    EXPECT_NE(there.error, "") << at;
    EXPECT_EQ(there.got, "first") << at;
  }
}

TEST(TlsStream, EndsInOrderWithAndWithoutHalfClose) {
  Station station;
  Loop loop;
  Pair pair(loop, station.server(), station.client());
  pair.resume();
  pair.client.shut_when_sent = true;
  pair.client.send("question");
  ASSERT_TRUE(run_until(loop, [&] { return pair.server.ended; }));
  EXPECT_EQ(pair.server.error, "");
  EXPECT_EQ(pair.server.got, "question");
  EXPECT_FALSE(pair.client.stream->write_some("more"));
  pair.server.send("answer");  // the other direction is open
  ASSERT_TRUE(run_until(loop, [&] { return pair.client.got == "answer"; }));
  pair.server.stream->close();
  ASSERT_TRUE(run_until(loop, [&] { return pair.client.ended; }));
  EXPECT_EQ(pair.client.error, "");
  EXPECT_FALSE(pair.server.stream->write_some("x"));
}

TEST(TlsStream, AnEndWithoutGoodbyeIsACut) {
  Station station;
  Loop loop;
  Cutter cutter;
  End there(server_end(loop, std::move(cutter.a.near), station.server()));
  End here(client_end(loop, std::move(cutter.b.near), station.client()));
  there.stream->resume();
  here.stream->resume();
  here.send("hello");
  const Loop::Work work(loop);
  while (there.got != "hello") {
    cutter.pass(4096);
    loop.poll();
  }
  cutter.a.far.reset();
  ASSERT_TRUE(run_until(loop, [&] { return there.ended; }));
  EXPECT_THAT(there.error, HasSubstr("the connection was cut"));
}

TEST(TlsStream, WhatWasTakenIsSentThoughTheOwnerHasClosed) {
  Station station;
  Loop loop;
  Pair pair(loop, station.server(), station.client());
  std::size_t taken = 0;
  const std::string all = pattern(4u << 20);
  pair.resume();
  pair.client.send("x");
  ASSERT_TRUE(run_until(loop, [&] { return pair.server.got == "x"; }));
  pair.server.got.clear();
  pair.server.stream->pause();
  auto alive = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = alive;
  pair.client.stream->attach(std::move(alive));
  taken = *pair.client.stream->write_some(all);
  EXPECT_LT(taken, all.size());
  pair.client.stream.reset();
  loop.run_for(5ms);
  EXPECT_FALSE(watch.expired());  // still open
  pair.server.stream->resume();
  ASSERT_TRUE(run_until(loop, [&] { return pair.server.ended; }));
  EXPECT_EQ(pair.server.error, "");
  EXPECT_EQ(pair.server.got, all.substr(0, taken));
  EXPECT_TRUE(watch.expired());
}

TEST(TlsStream, ALoopThatGoesTakesLeftoversWithIt) {
  Station station;
  std::weak_ptr<int> watch;
  {
    Loop loop;
    Pair pair(loop, station.server(), station.client());
    pair.resume();
    pair.client.send("x");
    ASSERT_TRUE(run_until(loop, [&] { return pair.server.got == "x"; }));
    pair.server.stream->pause();
    auto alive = std::make_shared<int>(1);
    watch = alive;
    pair.client.stream->attach(std::move(alive));
    ASSERT_TRUE(pair.client.stream->write_some(pattern(4u << 20)));
    pair.client.stream.reset();
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}

TEST(TlsStream, ASlowReaderGetsABoundedAmount) {
  Station station;
  Loop loop;
  Pair pair(loop, station.server(), station.client());
  pair.resume();
  pair.client.send("x");
  ASSERT_TRUE(run_until(loop, [&] { return pair.server.got == "x"; }));
  pair.server.stream->pause();
  loop.run_for(1ms);
  const std::size_t before = pair.server.got.size();
  const std::string all = pattern(8u << 20);
  pair.client.send(all);
  loop.run_for(20ms);
  // Two kernel buffers, one of ours on each side: far less than all.
  EXPECT_GT(pair.client.to_send.size(), all.size() - (2u << 20));
  EXPECT_LE(pair.server.got.size(), before + 64);
  pair.server.stream->resume();
  ASSERT_TRUE(run_until(loop, [&] { return pair.server.got.size() == before + all.size(); }));
  EXPECT_EQ(pair.server.got.substr(before), all);
  EXPECT_GT(pair.client.writable, 0);
}

TEST(TlsStream, PausesInTheMiddleOfARecord) {
  Station station;
  Loop loop;
  Sockets both = sockets();
  End there(server_end(loop, std::move(both.near), station.server()), 10);
  End here(client_end(loop, std::move(both.far), station.client()));
  there.on_each = [&] { there.stream->pause(); };
  there.stream->resume();
  here.stream->resume();
  here.shut_when_sent = true;
  here.send(pattern(95));
  for (std::size_t n = 1; n <= 9; ++n) {
    ASSERT_TRUE(run_until(loop, [&] { return there.got.size() >= 10 * n; }));
    loop.run_for(1ms);
    EXPECT_EQ(there.got.size(), 10 * n);
    there.stream->resume();
    EXPECT_EQ(there.got.size(), 10 * n);  // never inside the call
  }
  ASSERT_TRUE(run_until(loop, [&] { return there.got.size() == 95; }));
  loop.run_for(1ms);
  EXPECT_FALSE(there.ended);
  there.stream->resume();
  ASSERT_TRUE(run_until(loop, [&] { return there.ended; }));
  EXPECT_EQ(there.got, pattern(95));
}

TEST(TlsStream, DrainsWhatIsThere) {
  Station station;
  Loop loop;
  Pair pair(loop, station.server(), station.client());
  pair.resume();
  pair.client.send("x");
  ASSERT_TRUE(run_until(loop, [&] { return pair.server.got == "x"; }));
  pair.server.stream->pause();
  pair.client.send(pattern(5000));
  pair.server.stream->drain(100'000);
  ASSERT_TRUE(run_until(loop, [&] { return pair.server.ended; }));  // the other end is open
  EXPECT_EQ(pair.server.got, "x" + pattern(5000));
  EXPECT_EQ(pair.server.error, "");
  pair.client.stream->drain(10);
  pair.server.send(pattern(5000));
  ASSERT_TRUE(run_until(loop, [&] { return pair.client.ended; }));
  EXPECT_EQ(pair.client.got.size(), 10u);
}

TEST(TlsStream, MayBeDestroyedInEveryCallback) {
  Station station;
  const TlsContext server = station.server(), client = station.client();
  for (int which = 0; which < 3; ++which) {
    Loop loop;
    Pair pair(loop, server, client);
    pair.resume();
    bool gone = false;
    const auto go = [&] {
      pair.server.stream.reset();
      gone = true;
    };
    if (which == 0) pair.server.on_each = go;
    if (which == 1) pair.server.on_last = go;
    if (which == 2) {
      struct Writable : End {
        using End::End;
        void on_writable() override {
          stream.reset();
          done = true;
        }
        bool done = false;
      };
      Writable other(std::move(*pair.server.stream));
      pair.server.stream.reset();
      EXPECT_EQ(*other.stream->write_some("early"), 0u);  // the handshake is not done
      ASSERT_TRUE(run_until(loop, [&] { return other.done; }));
      continue;
    }
    pair.client.shut_when_sent = true;
    pair.client.send(pattern(50'000));
    ASSERT_TRUE(run_until(loop, [&] { return gone; }));
    ASSERT_TRUE(run_until(loop, [&] { return pair.client.ended; }));
  }
}

TEST(TlsStream, AnExceptionOfACallbackLosesNothing) {
  Station station;
  Loop loop;
  Sockets both = sockets();
  End there(server_end(loop, std::move(both.near), station.server()), 1000);
  End here(client_end(loop, std::move(both.far), station.client()));
  there.stream->resume();
  here.stream->resume();
  int thrown = 0;
  there.on_each = [&] {
    ++thrown;
    throw std::runtime_error("a bug of the owner");
  };
  const std::string all = pattern(50'000);
  here.shut_when_sent = true;
  here.send(all);
  const Loop::Work work(loop);
  for (int i = 0; i < 100'000 && !there.ended; ++i) {
    try {
      loop.run_for(1ms);
    } catch (const std::runtime_error&) {
    }
  }
  EXPECT_EQ(there.got, all);
  EXPECT_GT(thrown, 10);
  EXPECT_EQ(there.error, "");
}

TEST(TlsStream, TheHandshakeIsLimitedInTimeAndBytes) {
  Station station;
  auto options = station.server_options();
  options.handshake_time = 20ms;
  Loop loop;
  Sockets pair = sockets();
  End there(server_end(loop, std::move(pair.near), *TlsContext::server(options)));
  there.stream->resume();
  ASSERT_TRUE(run_until(loop, [&] { return there.ended; }));
  EXPECT_THAT(there.error, HasSubstr("handshake was not done in time"));

  // Without reading, the one who waits to write learns it.
  Sockets second = sockets();
  End writer(server_end(loop, std::move(second.near), *TlsContext::server(options)));
  writer.send("x");
  ASSERT_TRUE(run_until(loop, [&] { return !writer.write_error.empty(); }));
  EXPECT_THAT(writer.write_error, HasSubstr("handshake was not done in time"));

  // A handshake that goes on and on: records of one byte each of a message that never ends.
  Sockets third = sockets();
  End slow(server_end(loop, std::move(third.near), station.server()));
  slow.stream->resume();
  std::string record("\x16\x03\x01\x40\x00", 5);
  std::string hello("\x01\x01\xff\xf0", 4);  // 131056 bytes, as OpenSSL allows
  record += hello + std::string(0x4000 - hello.size(), 'x');
  ASSERT_TRUE(run_until(loop, [&] {
    (void)::send(third.far.get(), record.data(), record.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return slow.ended;
  }));
  EXPECT_NE(slow.error, "");
}

TEST(TlsStream, AReadThatIsUnderWayIsRefusedAndNoCrash) {
  Station station;
  Loop loop;
  Sockets pair = sockets();
  End first(std::move(*Stream::open(loop, std::move(pair.near))));
  first.stream->resume();
  loop.poll();
  End there(std::move(*tls_accept(loop, std::move(*first.stream), station.server())));
  there.stream->resume();
  ASSERT_EQ(::send(pair.far.get(), "xx", 2, 0), 2);
  ASSERT_TRUE(run_until(loop, [&] { return there.ended; }));
  EXPECT_THAT(there.error, HasSubstr("being read"));
}

TEST(TlsClient, RefusesCertificatesThatAreNotValid) {
  Station station;
  const TlsContext client = station.client();
  EXPECT_EQ(refusal(station.server(), client), "");
  EXPECT_EQ(refusal(station.server(), client, "localhost."), "");
  EXPECT_EQ(refusal(station.server(), client, "127.0.0.1"), "");
  EXPECT_EQ(refusal(station.server({.names = "DNS:*.a.test"}), client, "b.a.test"), "");

  EXPECT_THAT(refusal(station.server({.expired = true}), client),
              HasSubstr("the certificate of localhost is not valid: certificate has expired"));
  const TlsContext other = station.server({.names = "DNS:other.test,IP:127.0.0.9"});
  EXPECT_THAT(refusal(other, client), HasSubstr("expected one for host \"localhost\""));
  EXPECT_THAT(refusal(other, client, "127.0.0.1"), HasSubstr("expected one for address 127.0.0.1"));
  EXPECT_THAT(refusal(station.server({.names = "", .common_name = "localhost"}), client),
              HasSubstr("expected one for host \"localhost\""));
  EXPECT_THAT(refusal(station.server({.names = "DNS:b*.a.test"}), client, "bc.a.test"),
              HasSubstr("mismatch"));

  const TlsContext system = *TlsContext::client();
  EXPECT_THAT(refusal(station.server(), system), HasSubstr("name the issuer's certificate"));
  station.certificate("self", TestCertificate::self_signed());
  const TlsContext self = *TlsContext::server({.certificate_file = station.folder.file("self.pem"),
                                               .key_file = station.folder.file("self.key")});
  EXPECT_THAT(refusal(self, client), HasSubstr("self-signed certificate"));
  const auto pinned = TlsContext::client({.ca_file = station.folder.file("self.pem")});
  EXPECT_EQ(refusal(self, *pinned), "");
  const auto insecure = TlsContext::client({.insecure_skip_verification = true});
  EXPECT_EQ(refusal(self, *insecure), "");
}

TEST(TlsClient, NamesTheHostAndTheProtocolsItWants) {
  Station station;
  const auto context =
      TlsContext::client({.ca_file = station.ca, .protocols = {"http/1.1", "other"}});
  ASSERT_TRUE(context);
  const auto hello = [&](const std::string& host) {
    Loop loop;
    Sockets pair = sockets();
    End here(client_end(loop, std::move(pair.far), *context, host));
    here.stream->resume();  // the first message is in clear
    std::string bytes(4096, '\0');
    const ssize_t size = ::recv(pair.near.get(), bytes.data(), bytes.size(), 0);
    bytes.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return bytes;
  };
  EXPECT_THAT(hello("some.test"), HasSubstr("some.test"));
  EXPECT_THAT(hello("some.test"), HasSubstr("\x08http/1.1\x05other"));
  EXPECT_THAT(hello("127.0.0.1"), testing::Not(HasSubstr("127.0.0.1")));
}

TEST(TlsClient, SendsNothingToAServerThatItRefuses) {
  Station station;
  Loop loop;
  Pair pair(loop, station.server({.expired = true}), station.client());
  pair.resume();
  pair.client.send("password");
  ASSERT_TRUE(run_until(loop, [&] { return pair.client.ended && pair.server.ended; }));
  EXPECT_EQ(pair.server.got, "");
  EXPECT_THAT(pair.client.write_error, HasSubstr("certificate has expired"));
}

TEST(TlsServer, AsksForCertificatesOfClients) {
  Station station;
  auto options = station.server_options();
  options.client_ca_file = station.ca;
  const TlsContext server = *TlsContext::server(options);
  const auto meet = [&](const TlsContext& client) {
    Loop loop;
    Pair pair(loop, server, client);
    pair.resume();
    pair.client.send("hello");
    EXPECT_TRUE(run_until(loop, [&] { return pair.server.ended || pair.server.got == "hello"; }));
    if (pair.server.ended) {
      EXPECT_TRUE(run_until(loop, [&] { return pair.client.ended; }));
      EXPECT_THAT(pair.client.error, HasSubstr("the other side broke TLS off"));
    }
    return pair.server.error;
  };
  EXPECT_THAT(meet(station.client()), HasSubstr("the client shows no certificate"));
  station.certificate("good", station.authority.sign({.names = ""}));
  EXPECT_EQ(meet(*TlsContext::client({.ca_file = station.ca,
                                      .certificate_file = station.folder.file("good.pem"),
                                      .key_file = station.folder.file("good.key")})),
            "");
  station.certificate("bad", TestCertificate::self_signed());
  EXPECT_THAT(meet(*TlsContext::client({.ca_file = station.ca,
                                        .certificate_file = station.folder.file("bad.pem"),
                                        .key_file = station.folder.file("bad.key")})),
              HasSubstr("the certificate of the client is not valid"));
}

namespace {

/// A client that is OpenSSL alone, in a thread: its last error, or the protocol it agreed on.
std::string foreign_client(const TlsContext& server, const std::function<void(SSL_CTX*)>& configure,
                           const std::function<void(SSL*)>& talk = {}) {
  Loop loop;
  Sockets pair = sockets();
  End there(server_end(loop, std::move(pair.near), server));
  there.stream->resume();
  ::fcntl(pair.far.get(), F_SETFL, 0);
  std::string said;
  std::atomic<bool> done = false;
  std::thread thread([&] {
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    configure(context);
    SSL* ssl = SSL_new(context);
    SSL_set_fd(ssl, pair.far.get());
    if (SSL_connect(ssl) == 1) {
      const unsigned char* name = nullptr;
      unsigned size = 0;
      SSL_get0_alpn_selected(ssl, &name, &size);
      said = std::string(SSL_get_version(ssl)) + " " +
             std::string(reinterpret_cast<const char*>(name), size);
      if (talk) talk(ssl);
      SSL_write(ssl, "hello", 5);
      SSL_shutdown(ssl);
    } else {
      said = ERR_reason_error_string(ERR_get_error());
    }
    SSL_free(ssl);
    SSL_CTX_free(context);
    ::shutdown(pair.far.get(), SHUT_RDWR);
    done = true;
  });
  EXPECT_TRUE(run_until(loop, [&] { return done && there.ended; }));
  thread.join();
  if (there.got != "hello") said += "; nothing was heard";
  return said + (there.error.empty() ? "" : "; server: " + there.error);
}

void offer(SSL_CTX* context, const std::string& wire) {
  SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(wire.data()),
                          static_cast<unsigned>(wire.size()));
}

}  // namespace

TEST(TlsServer, ServesOthersAndRefusesOldVersions) {
  Station station;
  const TlsContext server = station.server();
  EXPECT_EQ(foreign_client(server, [](SSL_CTX*) {}), "TLSv1.3 ");
  EXPECT_EQ(foreign_client(server, [](SSL_CTX* context) { offer(context, "\x02h2\x08http/1.1"); }),
            "TLSv1.3 http/1.1");
  EXPECT_EQ(foreign_client(server, [](SSL_CTX* context) { offer(context, "\x02h2"); }), "TLSv1.3 ");
  EXPECT_EQ(
      foreign_client(
          server, [](SSL_CTX* context) { SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION); }),
      "TLSv1.2 ");
  EXPECT_THAT(foreign_client(server,
                             [](SSL_CTX* context) {
                               SSL_CTX_set_security_level(context, 0);
                               SSL_CTX_set_min_proto_version(context, TLS1_1_VERSION);
                               SSL_CTX_set_max_proto_version(context, TLS1_1_VERSION);
                             }),
              HasSubstr("server: the other side speaks only old versions of TLS"));
}

TEST(TlsServer, SurvivesClientsThatChangeKeysAllTheTime) {
  Station station;
  const TlsContext server = station.server();
  // The answers are never read.
  EXPECT_EQ(foreign_client(
                server, [](SSL_CTX*) {},
                [](SSL* ssl) {
                  for (int i = 0; i < 2000; ++i) {
                    SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED);
                    SSL_do_handshake(ssl);
                  }
                }),
            "TLSv1.3 ");
  // Renegotiation is refused.
  EXPECT_THAT(
      foreign_client(
          server, [](SSL_CTX* context) { SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION); },
          [](SSL* ssl) {
            SSL_renegotiate(ssl);
            EXPECT_NE(SSL_do_handshake(ssl), 1);
          }),
      HasSubstr("TLSv1.2 "));
}

TEST(TlsContext, ErrorsNameTheFileAndWhatToDo) {
  Station station;
  const auto good = station.server_options();
  const auto why = [&](const std::string& certificate, const std::string& key) {
    const auto made = TlsContext::server({.certificate_file = certificate, .key_file = key});
    return made ? "" : made.error().message;
  };
  EXPECT_EQ(why(good.certificate_file, good.key_file), "");
  EXPECT_EQ(why("", ""), "a TLS server needs a certificate file and a key file");
  EXPECT_EQ(why("/no/such.pem", good.key_file),
            "cannot read the certificate file \"/no/such.pem\": No such file or directory");
  EXPECT_EQ(why(good.certificate_file, "/no/such.key"),
            "cannot read the key file \"/no/such.key\": No such file or directory");
  EXPECT_THAT(why(station.folder.path(), good.key_file), HasSubstr("Is a directory"));
  EXPECT_THAT(why(good.key_file, good.key_file), HasSubstr("has no certificate in PEM form"));
  EXPECT_THAT(why(good.certificate_file, good.certificate_file),
              HasSubstr("has no private key in PEM form"));
  const std::string empty = write_file(station.folder.file("empty"), "");
  EXPECT_THAT(why(empty, good.key_file), HasSubstr("has no certificate in PEM form"));
  EXPECT_THAT(why(good.certificate_file, empty), HasSubstr("has no private key in PEM form"));
  const std::string damaged =
      write_file(station.folder.file("damaged"),
                 "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
                 "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
  EXPECT_THAT(why(damaged, good.key_file), HasSubstr("is damaged"));
  EXPECT_THAT(why(good.certificate_file, damaged), HasSubstr("is damaged"));
  station.certificate("other", station.authority.sign());
  EXPECT_THAT(why(good.certificate_file, station.folder.file("other.key")),
              HasSubstr("does not belong to the certificate"));
  const std::string locked = write_file(station.folder.file("locked"),
                                        TestCertificate::self_signed().key_pem("pass phrase"));
  EXPECT_THAT(why(good.certificate_file, locked), HasSubstr("pass phrase"));

  EXPECT_FALSE(TlsContext::client({.ca_file = "/no/such"}));
  EXPECT_FALSE(TlsContext::client({.ca_file = good.key_file}));
  EXPECT_FALSE(TlsContext::client({.certificate_file = good.certificate_file}));
  EXPECT_FALSE(TlsContext::client({.protocols = {""}}));
  Loop loop;
  EXPECT_FALSE(tls_accept(loop, std::move(*Stream::open(loop, sockets().near)), station.client()));
  EXPECT_FALSE(
      tls_connect(loop, std::move(*Stream::open(loop, sockets().near)), station.server(), "x"));
  EXPECT_FALSE(
      tls_connect(loop, std::move(*Stream::open(loop, sockets().near)), station.client(), ""));
}

TEST(TlsContext, AChainIsSentWhole) {
  Station station;
  const TestCertificate middle =
      station.authority.sign({.names = "", .common_name = "middle", .authority = true});
  const TestCertificate leaf = middle.sign();
  const std::string chain = write_file(station.folder.file("chain.pem"),
                                       leaf.certificate_pem() + middle.certificate_pem());
  const std::string key = write_file(station.folder.file("chain.key"), leaf.key_pem());
  EXPECT_EQ(
      refusal(*TlsContext::server({.certificate_file = chain, .key_file = key}), station.client()),
      "");
  station.certificate("leaf", leaf);
  EXPECT_THAT(refusal(*TlsContext::server(
                          {.certificate_file = station.folder.file("leaf.pem"), .key_file = key}),
                      station.client()),
              HasSubstr("name the issuer's certificate"));
}

TEST(TlsContext, ReloadsAndKeepsTheOldOneIfItCannot) {
  Station station;
  const TlsContext server = station.server();
  const TlsContext copy = server;
  const TlsContext client = station.client();
  Loop loop;
  Pair old(loop, server, client);
  old.resume();
  old.client.send("a");
  ASSERT_TRUE(run_until(loop, [&] { return old.server.got == "a"; }));

  write_file(station.folder.file("server.pem"), "nonsense");
  const auto broken = server.reload();
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("server.pem"));
  EXPECT_EQ(refusal(server, client), "");

  station.certificate("server", station.authority.sign({.names = "DNS:new.test"}));
  ASSERT_TRUE(server.reload());
  EXPECT_EQ(refusal(copy, client, "new.test"), "");
  EXPECT_THAT(refusal(copy, client), HasSubstr("mismatch"));
  old.client.send("b");
  ASSERT_TRUE(run_until(loop, [&] { return old.server.got == "ab"; }));
}

TEST(TlsContext, IsUsedAndReloadedByManyThreads) {
  Station station;
  const TlsContext server = station.server(), client = station.client();
  std::atomic<int> running = 3;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 20; ++n) EXPECT_EQ(refusal(server, client), "");
      --running;
    });
  }
  while (running > 0) EXPECT_TRUE(server.reload());
  for (std::thread& thread : threads) thread.join();
}

TEST(TlsStream, ListenerAndConnectorSpeakIt) {
  Station station;
  Loop loop;
  std::vector<std::unique_ptr<End>> accepted;
  auto listener = Listener::tcp(loop, {},
                                [&](Stream stream) {
                                  accepted.push_back(std::make_unique<End>(std::move(stream)));
                                  End& end = *accepted.back();
                                  end.on_each = [&end] { end.send(std::exchange(end.got, {})); };
                                  end.stream->resume();
                                },
                                {.tls = station.server()});
  ASSERT_TRUE(listener) << listener.error().message;
  const Address address = *Address::parse(listener->address());
  const TlsContext client = station.client();
  const auto connect = [&](godwit::ConnectOptions options) -> Result<Stream> {
    Connector connector(loop);
    std::optional<Result<Stream>> result;
    connector.tcp(
        address, [&](Result<Stream> stream) { result.emplace(std::move(stream)); },
        std::move(options));
    EXPECT_TRUE(run_until(loop, [&] { return result.has_value(); }));
    return std::move(*result);
  };

  auto stream = connect({.tls = client});
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_TRUE(stream->secure());
  EXPECT_EQ(stream->peer(), listener->address());
  End mine(std::move(*stream));
  mine.stream->resume();
  mine.send(pattern(200'000));
  ASSERT_TRUE(run_until(loop, [&] { return mine.got.size() == 200'000; }));
  EXPECT_EQ(mine.got, pattern(200'000));
  EXPECT_EQ(listener->connections(), 1u);

  ASSERT_TRUE(connect({.tls = client, .server_name = "localhost"}));
  const auto wrong = connect({.tls = client, .server_name = "other.test"});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("cannot connect to " + listener->address() +
                                               ": the certificate of other.test is not valid: "));
  EXPECT_FALSE(connect({.tls = station.server()}));
  EXPECT_FALSE(Listener::tcp(loop, {}, [](Stream) {}, {.tls = client}));

  mine.stream.reset();
  ASSERT_TRUE(run_until(loop, [&] {
    for (auto& end : accepted) {
      if (end->ended) end->stream.reset();
    }
    return listener->connections() == 0;
  }));
  EXPECT_EQ(accepted.front()->error, "");
}

TEST(TlsStream, TheTimeToConnectCoversTheHandshake) {
  Station station;
  Loop loop;
  std::vector<Stream> silent;
  auto listener =
      Listener::tcp(loop, {}, [&](Stream stream) { silent.push_back(std::move(stream)); });
  Connector connector(loop);
  std::string why;
  connector.tcp(*Address::parse(listener->address()),
                [&](Result<Stream> stream) { why = stream ? "connected" : stream.error().message; },
                {.timeout = 30ms, .tls = station.client()});
  ASSERT_TRUE(run_until(loop, [&] { return !why.empty(); }));
  EXPECT_THAT(why, HasSubstr("no answer in time"));
  // Given up in the middle of a handshake.
  connector.tcp(*Address::parse(listener->address()), [&](Result<Stream>) { why = "called"; },
                {.tls = station.client()});
  ASSERT_TRUE(run_until(loop, [&] { return silent.size() == 2; }));
  connector = Connector(loop);
  loop.run_for(5ms);
  EXPECT_NE(why, "called");
}
