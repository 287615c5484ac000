// Client over TLS: whom it trusts, and what it shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>

#include "godwit/runtime/client.hpp"
#include "godwit/seal/aes_sealer.hpp"
#include "godwit/server/server.hpp"
#include "godwit/web/web_server.hpp"
#include "test_certificates.hpp"
#include "wait.hpp"

using godwit::Client;
using godwit::ClientOptions;
using godwit::Loop;
using godwit::Server;
using godwit::TlsContext;
using godwit::WebServer;
using godwit::test::TestCertificate;
using godwit::test::write_file;
using testing::HasSubstr;

namespace {

struct Files {
  Files() {
    const auto authority = TestCertificate::make_authority();
    const auto certificate = authority.sign({});
    ca = write_file(folder.file("ca.pem"), authority.certificate_pem());
    one = write_file(folder.file("one.pem"), certificate.certificate_pem());
    key = write_file(folder.file("one.key"), certificate.key_pem());
  }
  godwit::test::TemporaryFolder folder;
  std::string ca, one, key;
};

/// A server with a thread of its own.
struct Host {
  explicit Host(const TlsContext& tls)
      : server({.name = "host", .version = "1", .sealer = std::make_shared<godwit::AesSealer>()}) {
    std::promise<void> ready;
    thread = std::thread([&] {
      const Loop::Work work(loop);
      WebServer web =
          WebServer::listen(loop, server, {.host = "127.0.0.1", .port = 0}, {.tls = tls}).value();
      url = web.url();
      ready.set_value();
      loop.run();
    });
    ready.get_future().wait();
  }
  ~Host() {
    loop.stop();
    thread.join();
  }
  Server server;
  Loop loop;
  std::string url;
  std::thread thread;
};

}  // namespace

TEST(ClientTls, TrustsTheAuthorityItIsGiven) {
  const Files files;
  Host host(TlsContext::server({.certificate_file = files.one, .key_file = files.key}).value());
  ASSERT_TRUE(host.url.starts_with("https://")) << host.url;
  ClientOptions options;
  options.tls.ca_file = files.ca;
  const auto client = Client::connect(host.url, options);
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_EQ(client->server_info().name, "host");
  const auto distrustful = Client::connect(host.url);
  ASSERT_FALSE(distrustful);
  EXPECT_THAT(distrustful.error().message, HasSubstr("certificate"));
}

TEST(ClientTls, ShowsItsCertificate) {
  const Files files;
  Host host(TlsContext::server(
                {.certificate_file = files.one, .key_file = files.key, .client_ca_file = files.ca})
                .value());
  ClientOptions options;
  options.tls.ca_file = files.ca;
  EXPECT_FALSE(Client::connect(host.url, options));
  options.tls.certificate_file = files.one;
  options.tls.key_file = files.key;
  const auto client = Client::connect(host.url, options);
  EXPECT_TRUE(client) << client.error().message;
}

TEST(ClientTls, FilesThatAreNotThereAreNamed) {
  ClientOptions options;
  options.tls.ca_file = "/no/such/ca.pem";
  for (const char* url : {"https://127.0.0.1:9/mcp", "wss://127.0.0.1:9/mcp"}) {
    const auto client = Client::connect(url, options);
    ASSERT_FALSE(client);
    EXPECT_THAT(client.error().message, HasSubstr("/no/such/ca.pem"));
  }
}
