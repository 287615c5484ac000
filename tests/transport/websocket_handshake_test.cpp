#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "godwit/http/http_server.hpp"
#include "godwit/io/connector.hpp"
#include "godwit/io/listener.hpp"
#include "godwit/transport/websocket.hpp"
#include "raw_end.hpp"
#include "receiver.hpp"
#include "script_server.hpp"
#include "test_certificates.hpp"
#include "wait.hpp"
#include "websocket_frames.hpp"

using namespace std::chrono_literals;
using godwit::Address;
using godwit::Connector;
using godwit::Loop;
using godwit::Result;
using godwit::Stream;
using godwit::TlsContext;
using godwit::WebSocketOptions;
using godwit::WebSocketTransport;
using godwit::test::RawEnd;
using godwit::test::Recorder;
using godwit::test::run_until;
using godwit::test::send;
using godwit::test::ws_frame;
using godwit::test::ws_unmasked;
using testing::HasSubstr;
using testing::StartsWith;

namespace http = godwit::http;
namespace rpc = godwit::rpc;

// The handshake, from both sides.
namespace {

/// Takes every WebSocket and sends back what it says.
struct EchoServer : http::Handler {
  explicit EchoServer(Loop& loop_, std::optional<TlsContext> tls = {}) : loop(loop_) {
    server.emplace(std::move(
        *http::HttpServer::tcp(loop, *Address::parse("127.0.0.1:0"), *this, {.tls = tls})));
    address = server->address();
  }
  void on_request(const http::Request&, http::Exchange& exchange) override {
    exchange.respond(404, {}, {});
  }
  std::optional<http::Response> on_upgrade(const http::Request& request, Stream& stream,
                                           std::string_view rest) override {
    if (auto refusal = WebSocketTransport::refusal(request)) return refusal;
    auto socket = WebSocketTransport::accept(loop, std::move(stream), request, rest, options);
    if (!socket) return http::Response{.status = 500, .fields = {}, .body = {}};
    targets.emplace_back(request.target);
    tokens.emplace_back(request.fields.find("Authorization").value_or(""));
    auto one = std::make_unique<Recorder>();
    WebSocketTransport* const raw = socket->get();
    one->on_each = [raw](std::string_view message) { send(*raw, message); };
    raw->start(*one);
    seen.push_back(std::move(one));
    sockets.push_back(*std::move(socket));
    return std::nullopt;
  }
  http::Url url(std::string_view scheme = "ws") const {
    return *http::Url::parse(std::string(scheme) + "://" + address + "/rpc?x=1");
  }

  Loop& loop;
  WebSocketOptions options{};
  std::vector<std::string> targets, tokens;
  std::vector<std::unique_ptr<Recorder>> seen;
  std::vector<std::unique_ptr<WebSocketTransport>> sockets;
  std::optional<http::HttpServer> server;
  std::string address;
};

using Connected = std::optional<Result<std::unique_ptr<rpc::Transport>>>;

Connected connect(Loop& loop, const http::Url& url,
                  const godwit::WebSocketConnectOptions& options = {}) {
  Connected outcome;
  const auto attempt = connect_websocket(
      loop, url, [&](Result<std::unique_ptr<rpc::Transport>> got) { outcome = std::move(got); },
      options);
  EXPECT_FALSE(outcome);
  EXPECT_TRUE(run_until(loop, [&] { return outcome.has_value(); }));
  return outcome;
}

void echo(Loop& loop, EchoServer& server, rpc::Transport& transport) {
  Recorder seen;
  transport.start(seen);
  send(transport, "{\"hello\":1}");
  send(transport, std::string(200'000, 'x'));
  ASSERT_TRUE(run_until(loop, [&] { return seen.messages.size() == 2; }));
  EXPECT_EQ(seen.messages[0], "{\"hello\":1}");
  EXPECT_EQ(seen.messages[1], std::string(200'000, 'x'));
  transport.close();
  ASSERT_TRUE(run_until(loop, [&] { return seen.closed == 1 && server.seen.back()->closed == 1; }));
  EXPECT_EQ(seen.why, "the connection was closed here");
  EXPECT_EQ(server.seen.back()->why, "the other side closed the connection (1000)");
}

TEST(WebSocketHandshake, ClientAndServer) {
  Loop loop;
  EchoServer server(loop);
  auto outcome = connect(loop, server.url(), {.fields = {{"Authorization", "Bearer t"}}});
  ASSERT_TRUE(*outcome) << outcome->error().message;
  auto& socket = static_cast<WebSocketTransport&>(***outcome);
  EXPECT_EQ(socket.protocol(), "mcp");
  EXPECT_EQ(server.sockets[0]->protocol(), "mcp");
  EXPECT_EQ(server.targets[0], "/rpc?x=1");
  EXPECT_EQ(server.tokens[0], "Bearer t");
  EXPECT_EQ(server.sockets[0]->peer().substr(0, 10), "127.0.0.1:");
  echo(loop, server, socket);
}

TEST(WebSocketHandshake, OverTls) {
  godwit::test::TemporaryFolder folder;
  const auto authority = godwit::test::TestCertificate::make_authority();
  const auto certificate = authority.sign({});
  using godwit::test::write_file;
  const auto context = TlsContext::server(
      {.certificate_file = write_file(folder.file("s.pem"), certificate.certificate_pem()),
       .key_file = write_file(folder.file("s.key"), certificate.key_pem())});
  const auto trust = TlsContext::client(
      {.ca_file = write_file(folder.file("ca.pem"), authority.certificate_pem())});
  ASSERT_TRUE(context && trust);
  Loop loop;
  EchoServer server(loop, *context);
  auto outcome =
      connect(loop, server.url("wss"), {.connect = {.tls = *trust, .server_name = "localhost"}});
  ASSERT_TRUE(*outcome) << outcome->error().message;
  echo(loop, server, ***outcome);
  // Whom nobody vouches for.
  outcome = connect(loop, server.url("wss"));
  ASSERT_FALSE(*outcome);
}

TEST(WebSocketHandshake, Subprotocols) {
  const struct {
    std::vector<std::string> ours, theirs;
    const char* agreed;
  } cases[] = {
      {{"mcp"}, {"mcp"}, "mcp"}, {{"mcp", "jsonrpc"}, {"other", "jsonrpc", "mcp"}, "mcp"},
      {{"mcp"}, {"other"}, ""},  {{"mcp"}, {}, ""},
      {{}, {"mcp"}, ""},         {{"mcp"}, {"MCP"}, ""},
  };
  Loop loop;
  EchoServer server(loop);
  for (const auto& one : cases) {
    server.options.protocols = one.ours;
    auto outcome = connect(loop, server.url(), {.websocket = {.protocols = one.theirs}});
    ASSERT_TRUE(*outcome) << outcome->error().message;
    EXPECT_EQ(static_cast<WebSocketTransport&>(***outcome).protocol(), one.agreed);
    EXPECT_EQ(server.sockets.back()->protocol(), one.agreed);
  }
}

std::optional<Stream> dial(Loop& loop, const std::string& address) {
  std::optional<Stream> stream;
  Connector connector(loop);
  connector.tcp(*Address::parse(address),
                [&](Result<Stream> got) { stream.emplace(std::move(*got)); });
  EXPECT_TRUE(run_until(loop, [&] { return stream.has_value(); }));
  return stream;
}

constexpr std::string_view handshake =
    "GET /rpc HTTP/1.1\r\n"
    "Host: 127.0.0.1\r\n"
    "Upgrade: websocket\r\n"
    "Connection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    "Sec-WebSocket-Version: 13\r\n";

TEST(WebSocketHandshake, TheHandshakeOfTheRfc) {
  Loop loop;
  EchoServer server(loop);
  for (const std::size_t cut : {std::size_t{0}, std::size_t{50}, handshake.size()}) {
    RawEnd raw(*dial(loop, server.address));
    const std::string all = std::string(handshake) + "\r\n" + ws_frame("at once");
    raw.say(all.substr(0, cut));
    loop.run_for(5ms);
    raw.say(all.substr(cut));
    const std::string expected =
        "HTTP/1.1 101 Switching Protocols\r\n"
        "Upgrade: websocket\r\n"
        "Connection: Upgrade\r\n"
        "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n" +
        ws_unmasked("at once");
    ASSERT_TRUE(run_until(loop, [&] { return raw.got.size() >= expected.size(); })) << raw.got;
    EXPECT_EQ(raw.got, expected);
  }
}

TEST(WebSocketHandshake, AnAnswerBeforeTheHandshakeIsNotLost) {
  Loop loop;
  EchoServer server(loop);
  RawEnd raw(*dial(loop, server.address));
  raw.say("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + std::string(handshake) + "\r\n");
  ASSERT_TRUE(run_until(loop, [&] { return raw.got.find("HTTP/1.1 101") != raw.got.npos; }));
  EXPECT_THAT(raw.got, StartsWith("HTTP/1.1 404"));
}

TEST(WebSocketHandshake, HandshakesThatAreRefused) {
  const auto with = [](std::string_view line, std::string_view instead) {
    std::string text(handshake);
    const std::size_t at = text.find(line);
    EXPECT_NE(at, text.npos) << line;
    return text.replace(at, line.size(), instead) + "\r\n";
  };
  const struct {
    std::string request;
    const char* status;
    const char* field;
  } cases[] = {
      {with("GET", "POST"), "405", "Allow: GET\r\n"},
      {with("Version: 13", "Version: 8"), "426", "Sec-WebSocket-Version: 13\r\n"},
      {with("Version: 13", "Version: 013"), "426", "Sec-WebSocket-Version: 13\r\n"},
      {with("Sec-WebSocket-Version: 13\r\n", ""), "426", "Sec-WebSocket-Version: 13\r\n"},
      {with("Version: 13\r\n", "Version: 13\r\nSec-WebSocket-Version: 13\r\n"), "426", ""},
      {with("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", ""), "400", "Base64"},
      {with("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ="), "400", "Base64"},
      {with("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQAA"), "400", "Base64"},
      {with("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25j*Q=="), "400", "Base64"},
      {with("dGhlIHNhbXBsZSBub25jZQ==\r\n",
            "dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"),
       "400", "Base64"},
      {std::string(handshake) + "Content-Length: 2\r\n\r\nhi", "400", "no body"},
  };
  Loop loop;
  EchoServer server(loop);
  for (const auto& one : cases) {
    RawEnd raw(*dial(loop, server.address));
    raw.say(one.request);
    ASSERT_TRUE(run_until(loop, [&] { return raw.got.find("\r\n\r\n") != raw.got.npos; }));
    EXPECT_THAT(raw.got, StartsWith("HTTP/1.1 " + std::string(one.status))) << one.request;
    EXPECT_THAT(raw.got, HasSubstr(one.field)) << one.request;
  }
  EXPECT_TRUE(server.sockets.empty());
  // A server that leaves other upgrades alone never asks about them; another one may.
  const http::Request plain{.method = "GET", .target = "/"};
  EXPECT_EQ(WebSocketTransport::refusal(plain)->status, 426);
  EXPECT_EQ(WebSocketTransport::refusal(plain)->fields.find("Upgrade"), "websocket");
}

TEST(WebSocketHandshake, ServersThatAreRefused) {
  const std::string good =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
  const struct {
    std::string answer;
    const char* why;
  } cases[] = {
      {"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "403 Forbidden"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200 OK"},
      {"HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", "301"},
      {good + "\r\n", "Sec-WebSocket-Accept is wrong"},
      {good + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
       "Sec-WebSocket-Accept is wrong"},
      {"HTTP/1.1 101 X\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", "no WebSocket"},
      {"SSH-2.0-OpenSSH_9\r\n\r\n", ""},
      {"", ""},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.answer);
    Loop loop;
    std::optional<RawEnd> raw;
    auto listener = godwit::Listener::tcp(loop, *Address::parse("127.0.0.1:0"),
                                          [&](Stream stream) { raw.emplace(std::move(stream)); });
    ASSERT_TRUE(listener);
    Connected outcome;
    const auto attempt = connect_websocket(
        loop, *http::Url::parse("ws://" + listener->address()),
        [&](Result<std::unique_ptr<rpc::Transport>> got) { outcome = std::move(got); });
    ASSERT_TRUE(run_until(loop, [&] { return raw && raw->got.ends_with("\r\n\r\n"); }));
    EXPECT_THAT(raw->got, HasSubstr("\r\nHost: " + listener->address() + "\r\n"));
    raw->say(one.answer);
    if (one.answer.empty()) raw->stream.reset();
    ASSERT_TRUE(run_until(loop, [&] { return outcome.has_value(); }));
    ASSERT_FALSE(*outcome);
    EXPECT_THAT(outcome->error().message, HasSubstr(one.why));
  }
}

TEST(WebSocketHandshake, AServerThatDoesNotAnswer) {
  Loop loop;
  std::optional<RawEnd> raw;
  auto listener = godwit::Listener::tcp(loop, *Address::parse("127.0.0.1:0"),
                                        [&](Stream stream) { raw.emplace(std::move(stream)); });
  const auto url = *http::Url::parse("ws://" + listener->address());
  const auto outcome = connect(loop, url, {.websocket = {.limits = {.ws_handshake_time = 30ms}}});
  ASSERT_FALSE(*outcome);
  EXPECT_THAT(outcome->error().message, HasSubstr("in time"));
  // Given up, nothing is called.
  {
    const auto attempt = connect_websocket(loop, url, [](auto) { ADD_FAILURE(); });
    ASSERT_TRUE(run_until(loop, [&] { return raw && raw->got.size() > 100; }));
  }
  ASSERT_TRUE(run_until(loop, [&] { return raw->ended; }));
}

TEST(WebSocketHandshake, ThroughAProxy) {
  Loop loop;
  EchoServer server(loop);
  const std::uint16_t port = Address::parse(server.address)->port;
  godwit::test::ScriptServer proxy([&](godwit::test::ScriptServer::Peer& peer) {
    const auto request = peer.read();
    if (!request || request->field("proxy-authorization") != "Basic YW5uOnNlY3JldA==") {
      peer.respond(407, "", "");
      return;
    }
    peer.write("HTTP/1.1 200 Connection established\r\n\r\n");
    peer.relay(port);
  });
  const auto url = *http::Url::parse("ws://far.example:81/rpc");
  const std::string at = proxy.origin().substr(std::string_view("http://").size());
  auto outcome = connect(loop, url, {.proxies = http::Proxies{.http = "ann:secret@" + at}});
  ASSERT_TRUE(*outcome) << outcome->error().message;
  EXPECT_EQ(proxy.seen()[0].method, "CONNECT");
  EXPECT_EQ(proxy.seen()[0].target, "far.example:81");
  echo(loop, server, ***outcome);

  outcome = connect(loop, url, {.proxies = http::Proxies{.http = at}});
  ASSERT_FALSE(*outcome);
  EXPECT_THAT(outcome->error().message, HasSubstr("407"));
}

TEST(WebSocketHandshake, NobodyListens) {
  Loop loop;
  std::string address;
  {
    auto listener = godwit::Listener::tcp(loop, *Address::parse("127.0.0.1:0"), [](Stream) {});
    address = listener->address();
  }
  const auto outcome = connect(loop, *http::Url::parse("ws://" + address));
  EXPECT_FALSE(*outcome);
}

TEST(WebSocketHandshake, TheConnectorMayGoInItsCallback) {
  Loop loop;
  EchoServer server(loop);
  std::optional<godwit::WebSocketConnector> attempt;
  bool called = false;
  attempt.emplace(connect_websocket(loop, server.url(), [&](auto outcome) {
    EXPECT_TRUE(outcome);
    attempt.reset();
    called = true;
  }));
  ASSERT_TRUE(run_until(loop, [&] { return called && server.seen[0]->closed == 1; }));
}

TEST(WebSocketHandshake, NoDescriptorStaysOpen) {
  Loop loop;
  EchoServer server(loop);
  const auto once = [&] {
    auto outcome = connect(loop, server.url());
    ASSERT_TRUE(*outcome);
    echo(loop, server, ***outcome);
    outcome->value().reset();
    server.sockets.clear();
    loop.run_for(2ms);
  };
  once();
  const std::size_t before = godwit::test::open_descriptors();
  for (int i = 0; i < 20; ++i) once();
  EXPECT_LE(godwit::test::open_descriptors(), before);
}

}  // namespace
