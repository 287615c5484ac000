#include "godwit/http/http_client.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "godwit/http/http_server.hpp"
#include "script_server.hpp"
#include "test_certificates.hpp"
#include "wait.hpp"

using namespace std::chrono_literals;
using godwit::Loop;
using godwit::Result;
using godwit::TlsContext;
using godwit::http::FetchHandle;
using godwit::http::FieldsView;
using godwit::http::HttpClient;
using godwit::http::HttpClientOptions;
using godwit::http::HttpRequest;
using godwit::http::Proxies;
using godwit::http::Url;
using godwit::test::open_descriptors;
using godwit::test::run_until;
using godwit::test::ScriptServer;
using godwit::test::TestCertificate;
using godwit::test::write_file;
using Peer = ScriptServer::Peer;

namespace {

Url url_of(const std::string& text) { return Url::parse(text).value(); }

/// A request and what came of it.
struct Got {
  int status = 0;
  std::string type;
  std::string body;
  int pieces = 0;
  int heads = 0;
  int ends = 0;
  Result<void> how{};
  FetchHandle handle;
};

struct Rig {
  Loop loop;
  HttpClient client;

  explicit Rig(HttpClientOptions options = {.proxy_from_environment = false})
      : client(loop, std::move(options)) {}

  std::unique_ptr<Got> begin(HttpRequest request) {
    auto got = std::make_unique<Got>();
    Got* const to = got.get();
    got->handle = client.fetch(
        std::move(request), {.on_head =
                                 [to](int status, FieldsView fields) {
                                   ++to->heads;
                                   to->status = status;
                                   to->type = std::string(fields.find("Content-Type").value_or(""));
                                 },
                             .on_body =
                                 [to](std::string_view piece) {
                                   ++to->pieces;
                                   to->body += piece;
                                 },
                             .on_end =
                                 [to](Result<void> how) {
                                   ++to->ends;
                                   to->how = std::move(how);
                                 }});
    return got;
  }
  std::unique_ptr<Got> fetch(HttpRequest request) {
    auto got = begin(std::move(request));
    EXPECT_EQ(got->heads + got->ends, 0);  // nothing is called inside fetch()
    EXPECT_TRUE(run_until(loop, [&] { return got->ends > 0; }));
    return got;
  }
  std::unique_ptr<Got> get(const std::string& url) {
    return fetch({.method = "GET", .url = url_of(url)});
  }
};

void echo(Peer& peer) {
  while (const auto request = peer.read()) {
    peer.respond(200, "text/plain", request->method + " " + request->target + " " + request->body);
  }
}

}  // namespace

TEST(HttpClient, SendsARequestAndReadsTheAnswer) {
  ScriptServer server(echo);
  Rig rig;
  const auto got =
      rig.fetch({.method = "POST",
                 .url = url_of(server.url("/a?b=c")),
                 .fields = {{"X-One", "1"}, {"Host", "elsewhere"}, {"Connection", "close"}},
                 .body = "hello"});
  EXPECT_TRUE(got->how);
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(got->type, "text/plain");
  EXPECT_EQ(got->body, "POST /a?b=c hello");
  EXPECT_EQ(got->heads, 1);
  EXPECT_FALSE(got->handle.active());
  const auto seen = server.seen();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].field("x-one"), "1");
  EXPECT_EQ(seen[0].field("host"), "127.0.0.1:" + std::to_string(server.port()));
  EXPECT_FALSE(seen[0].has("connection"));
  EXPECT_TRUE(seen[0].field("user-agent").starts_with("godwit/"));
}

TEST(HttpClient, UsesAConnectionAgain) {
  ScriptServer server(echo);
  Rig rig;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(rig.get(server.url())->how);
  EXPECT_EQ(server.connections(), 1);
  EXPECT_EQ(rig.client.idle(), 1u);
}

TEST(HttpClient, KeepsOnlySoManyConnections) {
  ScriptServer server(echo);
  Rig rig({.idle_connections = 2, .proxy_from_environment = false});
  std::vector<std::unique_ptr<Got>> all;
  for (int i = 0; i < 5; ++i) all.push_back(rig.begin({.url = url_of(server.url())}));
  ASSERT_TRUE(run_until(rig.loop, [&] {
    return std::all_of(all.begin(), all.end(), [](const auto& each) { return each->ends == 1; });
  }));
  EXPECT_EQ(server.connections(), 5);
  EXPECT_EQ(rig.client.idle(), 2u);
}

TEST(HttpClient, ClosesConnectionsThatWaitTooLong) {
  ScriptServer server(echo);
  Rig rig({.idle_time = 20ms, .proxy_from_environment = false});
  EXPECT_TRUE(rig.get(server.url())->how);
  EXPECT_EQ(rig.client.idle(), 1u);
  EXPECT_TRUE(run_until(rig.loop, [&] { return rig.client.idle() == 0; }));
}

TEST(HttpClient, DoesNotKeepWhatTheServerCloses) {
  ScriptServer server([](Peer& peer) {
    peer.read();
    peer.respond(200, "text/plain", "x", "Connection: close\r\n");
  });
  Rig rig;
  EXPECT_TRUE(rig.get(server.url())->how);
  EXPECT_EQ(rig.client.idle(), 0u);
  EXPECT_TRUE(rig.get(server.url())->how);
  EXPECT_EQ(server.connections(), 2);
}

TEST(HttpClient, NoticesThatAnIdleConnectionEnded) {
  ScriptServer server([](Peer& peer) {
    peer.read();
    peer.respond(200, "text/plain", "x");
  });
  Rig rig;
  EXPECT_TRUE(rig.get(server.url())->how);
  EXPECT_TRUE(run_until(rig.loop, [&] { return rig.client.idle() == 0; }));
}

TEST(HttpClient, DropsAnIdleConnectionThatTalksUnasked) {
  ScriptServer server([](Peer& peer) {
    peer.read();
    peer.respond(200, "text/plain", "x");
    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
    peer.wait_for_end();
  });
  Rig rig;
  EXPECT_TRUE(rig.get(server.url())->how);
  EXPECT_TRUE(run_until(rig.loop, [&] { return rig.client.idle() == 0; }));
}

// The second request on each connection is met with a reset instead of an answer.
void one_answer_each(Peer& peer) {
  peer.read();
  peer.respond(200, "text/plain", "x");
  if (peer.read()) peer.reset();
}

TEST(HttpClient, SendsAgainWhenAKeptConnectionBreaks) {
  ScriptServer server(one_answer_each);
  Rig rig;
  EXPECT_TRUE(rig.get(server.url())->how);
  const auto second = rig.get(server.url());
  EXPECT_TRUE(second->how) << second->how.error().message;
  EXPECT_EQ(second->heads, 1);
  EXPECT_EQ(server.connections(), 2);
}

TEST(HttpClient, NeverSendsTwiceWhatMustNotBe) {
  ScriptServer server(one_answer_each);
  Rig rig;
  EXPECT_TRUE(rig.get(server.url())->how);
  const auto second = rig.fetch({.method = "POST", .url = url_of(server.url()), .body = "pay"});
  EXPECT_FALSE(second->how);
  EXPECT_EQ(second->ends, 1);
  EXPECT_EQ(server.seen("POST").size(), 1u);
  const auto third = rig.fetch(
      {.method = "POST", .url = url_of(server.url()), .body = "list", .repeatable = true});
  EXPECT_TRUE(third->how);
}

TEST(HttpClient, DoesNotTryAFreshConnectionTwice) {
  ScriptServer server([](Peer& peer) { peer.read(); });
  Rig rig;
  const auto got = rig.get(server.url());
  ASSERT_FALSE(got->how);
  EXPECT_NE(got->how.error().message.find(server.origin()), std::string::npos);
  EXPECT_EQ(server.connections(), 1);
}

TEST(HttpClient, ReadsABodyByteByByte) {
  const std::string answer =
      "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: "
      "chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n";
  ScriptServer server([&](Peer& peer) {
    while (peer.read()) peer.trickle(answer);
  });
  Rig rig;
  for (int i = 0; i < 2; ++i) {
    const auto got = rig.get(server.url());
    EXPECT_TRUE(got->how);
    EXPECT_EQ(got->body, "hello world");
    EXPECT_EQ(got->heads, 1);
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST(HttpClient, TellsABodyThatWasCutFromOneThatEnded) {
  const std::string whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    ScriptServer server([&](Peer& peer) {
      peer.read();
      peer.write(whole.substr(0, cut));
    });
    Rig rig;
    const auto got = rig.get(server.url());
    EXPECT_FALSE(got->how) << cut;
    EXPECT_EQ(got->ends, 1);
  }
  ScriptServer server([&](Peer& peer) {
    peer.read();
    peer.write("HTTP/1.1 200 OK\r\n\r\nuntil the end");
  });
  Rig rig;
  const auto got = rig.get(server.url());
  EXPECT_TRUE(got->how);
  EXPECT_EQ(got->body, "until the end");
  EXPECT_EQ(rig.client.idle(), 0u);
}

TEST(HttpClient, RefusesWhatIsNoHttp) {
  ScriptServer server([](Peer& peer) {
    peer.read();
    peer.write("SSH-2.0-OpenSSH_9.2\r\n\r\n");
    peer.wait_for_end();
  });
  Rig rig;
  const auto got = rig.get(server.url());
  ASSERT_FALSE(got->how);
  EXPECT_NE(got->how.error().message.find("HTTP"), std::string::npos);
}

TEST(HttpClient, FollowsNoRedirect) {
  ScriptServer server([](Peer& peer) {
    peer.read();
    peer.respond(302, "", "", "Location: http://127.0.0.1:1/\r\n");
  });
  Rig rig;
  const auto got = rig.get(server.url());
  EXPECT_TRUE(got->how);
  EXPECT_EQ(got->status, 302);
}

TEST(HttpClient, FollowsARedirectWithinItsOriginIfTold) {
  ScriptServer server([](Peer& peer) {
    while (const auto request = peer.read()) {
      const std::string& at = request->target;
      if (at == "/a") peer.respond(307, "", std::string(1000, 'x'), "Location: b?c=1\r\n");
      if (at == "/b?c=1") peer.respond(308, "", "", "Location: ./d#e\r\n");
      if (at == "/d") peer.respond(200, "text/plain", request->method + request->body);
      if (at == "/loop") peer.respond(307, "", "", "Location: /loop\r\n");
      if (at == "/long") {
        peer.write("HTTP/1.1 307 X\r\nLocation: /d\r\n\r\n" + std::string(100'000, 'x'));
        peer.wait_for_end();
      }
      if (at == "/two") peer.respond(307, "", "", "Location: /d\r\nLocation: /a\r\n");
      if (at == "/away") peer.respond(308, "", "", "Location: http://127.0.0.2/d\r\n");
      if (at == "/none") peer.respond(308, "", "");
      if (at == "/found") peer.respond(302, "", "", "Location: /d\r\n");
    }
  });
  Rig rig;
  const auto fetch = [&](const char* path) {
    return rig.fetch({.method = "POST",
                      .url = url_of(server.url(path)),
                      .body = "body",
                      .follow_redirects = true});
  };
  for (const char* const path : {"/a", "/long"}) {
    const auto got = fetch(path);
    EXPECT_TRUE(got->how);
    EXPECT_EQ(got->status, 200);
    EXPECT_EQ(got->body, "POSTbody");
  }
  const std::size_t before = server.seen().size();
  EXPECT_EQ(fetch("/loop")->status, 307);
  EXPECT_EQ(server.seen().size() - before, 4u);
  for (const char* const path : {"/two", "/away", "/none", "/found"}) {
    EXPECT_EQ(fetch(path)->status / 100, 3) << path;
  }
  EXPECT_EQ(server.seen().size() - before, 8u);
}

TEST(HttpClient, TakesAnAnswerThatComesBeforeTheRequestIsSent) {
  ScriptServer server([](Peer& peer) {
    peer.respond(413, "text/plain", "too much");
    peer.wait_for_end();
  });
  Rig rig;
  const auto got = rig.fetch(
      {.method = "POST", .url = url_of(server.url()), .body = std::string(20u << 20, 'x')});
  EXPECT_TRUE(got->how);
  EXPECT_EQ(got->status, 413);
  EXPECT_EQ(rig.client.idle(), 0u);
}

TEST(HttpClient, SendsALargeBody) {
  ScriptServer server([](Peer& peer) {
    const auto request = peer.read();
    peer.respond(200, "text/plain", std::to_string(request->body.size()));
  });
  Rig rig;
  const auto got = rig.fetch(
      {.method = "POST", .url = url_of(server.url()), .body = std::string(8u << 20, 'x')});
  EXPECT_EQ(got->body, std::to_string(8u << 20));
}

TEST(HttpClient, GivesUpOnAServerThatTakesNothing) {
  std::atomic<bool> over = false;
  ScriptServer server([&](Peer&) {
    while (!over) std::this_thread::sleep_for(1ms);
  });
  HttpClientOptions options{.proxy_from_environment = false};
  options.limits.write_stall = 50ms;
  Rig rig(options);
  const auto got = rig.fetch(
      {.method = "POST", .url = url_of(server.url()), .body = std::string(20u << 20, 'x')});
  over = true;
  ASSERT_FALSE(got->how);
  EXPECT_NE(got->how.error().message.find("does not take the request"), std::string::npos);
}

TEST(HttpClient, SaysWhyItCannotConnect) {
  std::string url;
  {
    ScriptServer gone(echo);
    url = gone.url();
  }
  Rig rig;
  const auto got = rig.get(url);
  ASSERT_FALSE(got->how);
  EXPECT_NE(got->how.error().message.find("cannot connect to 127.0.0.1:"), std::string::npos);
}

TEST(HttpClient, RefusesAddressesPutTogetherByHand) {
  Rig rig;
  Url url = url_of("http://127.0.0.1:1/");
  url.target = "/ HTTP/1.1\r\nX: y";
  EXPECT_FALSE(rig.fetch({.url = url})->how);
  EXPECT_FALSE(rig.fetch({.method = "GET /", .url = url_of("http://127.0.0.1:1/")})->how);
  EXPECT_FALSE(rig.fetch({.url = url_of("ws://127.0.0.1:1/")})->how);
}

TEST(HttpClient, CallsNothingOnceTheHandleIsGone) {
  ScriptServer server([](Peer& peer) {
    peer.read();
    peer.begin_events();
    peer.event("1");
    peer.wait_for_end();
  });
  Rig rig;
  // Before anything was done, while it streams, and from inside each callback.
  auto before = rig.begin({.url = url_of(server.url())});
  before->handle.cancel();
  auto later = rig.begin({.url = url_of(server.url())});
  ASSERT_TRUE(run_until(rig.loop, [&] { return later->pieces > 0; }));
  later->handle.cancel();
  FetchHandle inside;
  int calls = 0;
  inside = rig.client.fetch({.url = url_of(server.url())},
                            {.on_head =
                                 [&](int, FieldsView) {
                                   ++calls;
                                   inside.cancel();
                                 },
                             .on_body = [&](std::string_view) { ++calls; },
                             .on_end = [&](Result<void>) { ++calls; }});
  ASSERT_TRUE(run_until(rig.loop, [&] { return calls > 0; }));
  FetchHandle body;
  body =
      rig.client.fetch({.url = url_of(server.url())}, {.on_head = {},
                                                       .on_body =
                                                           [&](std::string_view) {
                                                             ++calls;
                                                             body.cancel();
                                                           },
                                                       .on_end = [&](Result<void>) { ++calls; }});
  ASSERT_TRUE(run_until(rig.loop, [&] { return calls > 1; }));
  rig.loop.run_for(20ms);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(before->heads + before->ends + later->ends, 0);
  EXPECT_EQ(rig.client.idle(), 0u);
}

TEST(HttpClient, MayBeDestroyedBeforeItsRequests) {
  ScriptServer server(echo);
  Loop loop;
  auto client =
      std::make_unique<HttpClient>(loop, HttpClientOptions{.proxy_from_environment = false});
  int ends = 0;
  FetchHandle handle = client->fetch({.url = url_of(server.url())},
                                     {.on_end = [&](Result<void> how) { ends += how ? 1 : 100; }});
  client.reset();
  ASSERT_TRUE(run_until(loop, [&] { return ends > 0; }));
  EXPECT_EQ(ends, 1);
}

TEST(HttpClient, LeaksNothing) {
  ScriptServer server(echo);
  {
    Rig warm;
    warm.get(server.url());
  }
  const std::size_t before = open_descriptors();
  {
    Rig rig;
    for (int i = 0; i < 10; ++i) {
      rig.get(server.url());
      const auto dropped = rig.begin({.url = url_of(server.url())});
      rig.loop.poll();
    }
  }
  Loop loop;
  EXPECT_TRUE(run_until(loop, [&] { return open_descriptors() <= before + 4; }));  // of `loop`
}

TEST(HttpClient, GoesThroughAProxy) {
  ScriptServer proxy(echo);
  Rig rig({.proxies = Proxies{.http = proxy.origin()}});
  const auto got = rig.get("http://example.com:81/x");
  EXPECT_TRUE(got->how);
  EXPECT_EQ(got->body, "GET http://example.com:81/x ");
  EXPECT_EQ(proxy.seen()[0].field("host"), "example.com:81");
  rig.get("http://example.org/");
  EXPECT_EQ(proxy.connections(), 1);  // it is the proxy's connection, whatever the host
  EXPECT_FALSE(proxy.seen()[0].has("proxy-authorization"));
}

TEST(HttpClient, TellsNobodyElseThePasswordOfAProxy) {
  ScriptServer server(echo);
  Rig rig;
  const auto got = rig.begin({.url = url_of(server.url()),
                              .fields = {{"Proxy-Authorization", "Basic x"}, {"X-Other", "y"}}});
  ASSERT_TRUE(run_until(rig.loop, [&] { return server.seen().size() == 1; }));
  EXPECT_FALSE(server.seen()[0].has("proxy-authorization"));
  EXPECT_EQ(server.seen()[0].field("x-other"), "y");
}

TEST(HttpClient, TellsAProxyItsPassword) {
  ScriptServer proxy(echo);
  const std::string at = proxy.origin().substr(std::string_view("http://").size());
  Rig rig({.proxies = Proxies{.http = "ann:secret@" + at}});
  EXPECT_TRUE(rig.get("http://example.com/x")->how);
  EXPECT_EQ(proxy.seen()[0].field("proxy-authorization"), "Basic YW5uOnNlY3JldA==");
}

namespace {

/// An https server that answers with its target, on the loop of the client.
struct SecureServer : godwit::http::Handler {
  godwit::test::TemporaryFolder folder{};
  TestCertificate authority = TestCertificate::make_authority();
  std::string ca = write_file(folder.file("ca.pem"), authority.certificate_pem());
  std::optional<godwit::http::HttpServer> server;

  explicit SecureServer(Loop& loop, const std::string& names = "IP:127.0.0.1,DNS:secret.example") {
    const TestCertificate own = authority.sign({.names = names});
    godwit::http::HttpServerOptions options;
    options.tls = TlsContext::server(
                      {.certificate_file = write_file(folder.file("s.pem"), own.certificate_pem()),
                       .key_file = write_file(folder.file("s.key"), own.key_pem())})
                      .value();
    server.emplace(godwit::http::HttpServer::tcp(loop, {}, *this, std::move(options)).value());
  }
  void on_request(const godwit::http::Request& request, godwit::http::Exchange& exchange) override {
    exchange.respond(200, "text/plain", std::string(request.target));
  }
  std::uint16_t port() const { return godwit::Address::parse(server->address()).value().port; }
  std::string url(const std::string& host = "127.0.0.1") const {
    return "https://" + host + ":" + std::to_string(port()) + "/x";
  }
  TlsContext trusting() const { return TlsContext::client({.ca_file = ca}).value(); }
};

}  // namespace

TEST(HttpClient, SpeaksHttps) {
  Loop loop;
  SecureServer server(loop);
  HttpClient client(loop, {.proxy_from_environment = false, .tls = server.trusting()});
  for (int i = 0; i < 2; ++i) {
    Result<void> how = godwit::error("not ended");
    std::string body;
    bool ended = false;
    const FetchHandle handle = client.fetch(
        {.url = url_of(server.url())}, {.on_head = {},
                                        .on_body = [&](std::string_view piece) { body += piece; },
                                        .on_end =
                                            [&](Result<void> outcome) {
                                              ended = true;
                                              how = std::move(outcome);
                                            }});
    ASSERT_TRUE(run_until(loop, [&] { return ended; }));
    EXPECT_TRUE(how) << how.error().message;
    EXPECT_EQ(body, "/x");
  }
  EXPECT_EQ(server.server->connections(), 1u);
}

TEST(HttpClient, TrustsNobodyElse) {
  Loop loop;
  SecureServer server(loop, "DNS:other.example");
  for (const bool trusted : {true, false}) {
    HttpClientOptions options{.proxy_from_environment = false};
    if (trusted) options.tls = server.trusting();
    HttpClient client(loop, std::move(options));
    std::optional<Result<void>> how;
    const FetchHandle handle =
        client.fetch({.url = url_of(server.url())},
                     {.on_end = [&](Result<void> outcome) { how = std::move(outcome); }});
    ASSERT_TRUE(run_until(loop, [&] { return how.has_value(); }));
    EXPECT_FALSE(*how);
  }
}

TEST(HttpClient, GoesThroughATunnel) {
  Loop loop;
  SecureServer server(loop);
  const std::uint16_t port = server.port();
  ScriptServer proxy([&](Peer& peer) {
    const auto request = peer.read();
    const bool known = request && request->field("proxy-authorization") == "Basic YW5uOg==";
    if (!known || !request->target.starts_with("secret.example:")) {
      peer.respond(403, "", "");
      return;
    }
    peer.write("HTTP/1.1 200 Connection established\r\n\r\n");
    peer.relay(port);
  });
  const std::string at = proxy.origin().substr(std::string_view("http://").size());
  HttpClient client(loop, {.proxies = Proxies{.https = "ann@" + at}, .tls = server.trusting()});
  const auto fetch = [&](const std::string& url) {
    std::optional<Result<void>> how;
    std::string body;
    const FetchHandle handle = client.fetch(
        {.url = url_of(url)}, {.on_head = {},
                               .on_body = [&](std::string_view piece) { body += piece; },
                               .on_end = [&](Result<void> outcome) { how = std::move(outcome); }});
    EXPECT_TRUE(run_until(loop, [&] { return how.has_value(); }));
    return *how ? body : "error: " + how->error().message;
  };
  EXPECT_EQ(fetch(server.url("secret.example")), "/x");
  EXPECT_EQ(fetch(server.url("secret.example")), "/x");
  EXPECT_EQ(proxy.connections(), 1);
  const auto seen = proxy.seen();
  EXPECT_EQ(seen[0].method, "CONNECT");
  EXPECT_EQ(seen[0].target, "secret.example:" + std::to_string(port));
  EXPECT_NE(fetch("https://example.org/").find("403"), std::string::npos);
}
