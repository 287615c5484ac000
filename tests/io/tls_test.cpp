// Contexts of TLS and whom they let in, and TLS as a Listener and a Connector speak it.
#include "godwit/io/tls.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "godwit/io/connector.hpp"
#include "godwit/io/listener.hpp"
#include "test_certificates.hpp"
#include "tls_pair.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// What a client says that meets this server.
std::string refusal(const TlsContext& server, const TlsContext& client,
                    const std::string& host = "localhost") {
  Loop loop;
  Pair pair(loop, server, client, {.host = host});
  End& there = pair.server;
  End& here = pair.client;
  pair.resume();
  there.send("secret");
  EXPECT_TRUE(run_until(loop, [&] { return here.ended || !here.got.empty(); }));
  if (!here.ended) return "";
  EXPECT_EQ(here.got, "");
  EXPECT_FALSE(here.stream->write_some("x"));
  EXPECT_TRUE(run_until(loop, [&] { return there.ended; }));
  EXPECT_THAT(there.error, HasSubstr("the other side broke TLS off: "));
  return here.error;
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

TEST(TlsServer, KnowsTheCertificateOfAClient) {
  Station station;
  auto options = station.server_options();
  options.client_ca_file = station.ca;
  const TlsContext server = *TlsContext::server(options);
  station.certificate("ada",
                      station.authority.sign({.names = "", .common_name = "ada, r\xc3\xa4"}));
  const TlsContext client = *TlsContext::client({.ca_file = station.ca,
                                                 .certificate_file = station.folder.file("ada.pem"),
                                                 .key_file = station.folder.file("ada.key")});
  Loop loop;
  Pair pair(loop, server, client);
  EXPECT_EQ(pair.server.stream->certificate(), nullptr) << "there was no handshake yet";
  pair.resume();
  pair.client.send("hello");
  ASSERT_TRUE(run_until(loop, [&] { return pair.server.got == "hello"; }));
  const auto shown = pair.server.stream->certificate();
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->subject, "CN=ada\\, r\xc3\xa4");
  EXPECT_EQ(shown->sha256.size(), 64u);
  EXPECT_EQ(shown->sha256.find_first_not_of("0123456789abcdef"), std::string::npos);
  const auto of_server = pair.client.stream->certificate();
  ASSERT_TRUE(of_server);
  EXPECT_NE(of_server->sha256, shown->sha256);
}

TEST(TlsServer, KnowsNoCertificateThatItDidNotAskFor) {
  Station station;
  Loop loop;
  Pair pair(loop, station.server({}), station.client());
  pair.resume();
  pair.client.send("hello");
  ASSERT_TRUE(run_until(loop, [&] { return pair.server.got == "hello"; }));
  EXPECT_EQ(pair.server.stream->certificate(), nullptr);
}

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

}  // namespace
}  // namespace godwit::inline v0
