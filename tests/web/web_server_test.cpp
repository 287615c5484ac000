// A Server on a port of this machine, both eras, with real sockets.
#include "godwit/web/web_server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "godwit/base/executor.hpp"
#include "raw_client.hpp"
#include "site.hpp"
#include "websocket_frames.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::RawClient;
using test::RawResponse;
using test::run_until;

struct WebServing : testing::Test {
  WebServing() {
    server.tool("echo", "", [](City in) { return in.city; });
    server.tool("wait", "", parked.handler());
  }
  void start(const Address& address = {"127.0.0.1", 0}, WebServerOptions options = {}) {
    auto made = WebServer::listen(loop, server, address, std::move(options));
    ASSERT_TRUE(made) << made.error().message;
    web.emplace(*std::move(made));
  }
  std::unique_ptr<RawClient> connect() {
    if (!web) start();
    return std::make_unique<RawClient>(loop, web->address());
  }
  std::string post(std::string_view body, std::string_view more) {
    return "POST /mcp HTTP/1.1\r\nHost: " + web->address() +
           "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" +
           std::string(more) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           std::string(body);
  }
  std::string modern_tool(std::string_view name, std::string_view arguments = "{}") {
    return post(Site::modern_body("7", "tools/call", test::Link::tool_params(name, arguments)),
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: " +
                    std::string(name) + "\r\n");
  }

  Loop loop;
  Parked parked;
  Server server{test::server_options()};
  std::optional<WebServer> web;
};

TEST_F(WebServing, AHandlerMaySayMuchBeforeItReturns) {
  // More than may wait for a client that does not read.
  ServerOptions options = test::server_options();
  options.limits.output_queue_bytes = 1000;
  server = Server(std::move(options));
  server.tool("much", "", [](Context& cx) {
    for (int i = 1; i <= 100; ++i) cx.progress(i, 100, std::string(1000, 'x'));
    return "done";
  });
  auto client = connect();
  std::string body = Site::modern_body("7", "tools/call", R"({"name":"much"})");
  const std::string_view meta = R"("_meta":{)";
  body.insert(body.find(meta) + meta.size(), R"("progressToken":1,)");
  const RawResponse all = client->ask(post(
      body, "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: much\r\n"));
  EXPECT_EQ(all.status, 200);
  EXPECT_GT(all.body.size(), 100'000u);
  EXPECT_NE(all.body.find("done"), std::string::npos);
}

TEST_F(WebServing, WhatWasSaidToNobodyComesFirstHoweverMuchItIs) {
  ServerOptions options = test::server_options();
  options.limits.output_queue_bytes = 1000;
  server = Server(std::move(options));
  server.resource("x:1", "x", [] { return "x"; });
  auto client = connect();
  const std::string session =
      client->ask(post(Site::initialize_body("2025-11-25"), "")).field("mcp-session-id");
  const std::string in_session = "Mcp-Session-Id: " + session + "\r\n";
  client->ask(post(R"({"jsonrpc":"2.0","method":"notifications/initialized"})", in_session));
  client->ask(post(Site::legacy_body("1", "resources/subscribe", R"({"uri":"x:1"})"), in_session));
  constexpr int many = 200;
  for (int i = 0; i < many; ++i) {
    server.resource_updated("x:1");
    loop.poll();
  }
  auto listener = connect();
  listener->send("GET /mcp HTTP/1.1\r\nHost: " + web->address() +
                 "\r\nAccept: text/event-stream\r\n" + in_session + "\r\n");
  const auto told = [&] {
    int count = 0;
    for (std::size_t at = 0; (at = listener->in.find("resources/updated", at)) != std::string::npos;
         ++at) {
      ++count;
    }
    return count;
  };
  EXPECT_TRUE(listener->wait([&] { return told() == many; })) << told();
}

TEST_F(WebServing, BothErasAtOneAddress) {
  auto client = connect();
  EXPECT_EQ(web->url(), "http://" + web->address() + "/mcp");
  const RawResponse modern = client->ask(modern_tool("echo", R"({"city":"Oslo"})"));
  EXPECT_EQ(modern.status, 200);
  EXPECT_NE(modern.body.find("Oslo"), std::string::npos);
  const RawResponse initialize = client->ask(post(Site::initialize_body("2025-11-25"), ""));
  EXPECT_EQ(initialize.status, 200);
  const std::string session = initialize.field("mcp-session-id");
  EXPECT_GE(session.size(), 32u);
  const RawResponse legacy = client->ask(post(Site::tool_body("1", "echo", R"({"city":"Rome"})"),
                                              "Mcp-Session-Id: " + session + "\r\n"));
  EXPECT_NE(legacy.body.find("Rome"), std::string::npos);
}

TEST_F(WebServing, OtherHostsAreRefusedBeforeTheBodyIsRead) {
  auto client = connect();
  client->send(
      "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\n"
      "Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client->response().status, 403);
  EXPECT_TRUE(client->wait_end());
}

TEST_F(WebServing, LateAnswersArrive) {
  auto client = connect();
  client->send(modern_tool("wait"));
  ASSERT_TRUE(run_until(loop, [&] { return parked.replies.size() == 1; }));
  parked.replies[0]("late");
  EXPECT_NE(client->response().body.find("late"), std::string::npos);
}

TEST_F(WebServing, AClientThatGoesAwayStopsItsHandlerWithinASecond) {
  auto client = connect();
  client->send(modern_tool("wait"));
  ASSERT_TRUE(run_until(loop, [&] { return parked.replies.size() == 1; }));
  const std::stop_token stop = parked.replies[0].cancelled();
  client->close();
  EXPECT_TRUE(run_until(loop, [&] { return stop.stop_requested(); }, 1s));
}

TEST_F(WebServing, DrainTellsListenersAndFinishes) {
  auto listener = connect();
  listener->send(post(Site::modern_body("21", "subscriptions/listen",
                                        R"({"notifications":{"toolsListChanged":true}})"),
                      "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n"));
  auto client = connect();
  client->send(modern_tool("wait"));
  ASSERT_TRUE(run_until(loop, [&] { return parked.replies.size() == 1; }));
  bool done = false;
  web->drain([&] { done = true; });
  const RawResponse listened = listener->response();
  EXPECT_NE(listened.body.find("acknowledged"), std::string::npos);
  EXPECT_NE(listened.body.find("\"result\""), std::string::npos);
  parked.replies[0]("finished");
  EXPECT_NE(client->response().body.find("finished"), std::string::npos);
  client->close();
  listener->close();
  EXPECT_TRUE(run_until(loop, [&] { return done; }));
}

TEST_F(WebServing, EveryAddressOfTheOwnMachineWorks) {
  start({"127.0.0.2", 0});
  auto client = connect();
  EXPECT_EQ(client->ask(modern_tool("echo", R"({"city":"Oslo"})")).status, 200)
      << "called by its own url " << web->url();
}

TEST_F(WebServing, ASessionIsServedOnEveryConnectionByAnyThread) {
  start({"127.0.0.1", 0}, {.threads = 4});
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 16; ++i) clients.push_back(connect());
  std::vector<std::string> sessions;
  for (int i = 0; i < 4; ++i) {
    const RawResponse initialize =
        clients[static_cast<std::size_t>(i)]->ask(post(Site::initialize_body("2025-11-25"), ""));
    EXPECT_EQ(initialize.status, 200);
    sessions.push_back(initialize.field("mcp-session-id"));
    EXPECT_GE(sessions.back().size(), 32u);
  }
  for (int round = 0; round < 5; ++round) {
    for (std::size_t i = 0; i < clients.size(); ++i) {
      const std::string secret = "s" + std::to_string(round) + "-" + std::to_string(i);
      const RawResponse answer =
          clients[i]->ask(post(Site::tool_body(std::to_string(round * 100 + static_cast<int>(i)),
                                               "echo", R"({"city":")" + secret + R"("})"),
                               "Mcp-Session-Id: " + sessions[i % 4] + "\r\n"));
      EXPECT_EQ(answer.status, 200) << answer.body;
      EXPECT_NE(answer.body.find(secret), std::string::npos) << answer.body;
      EXPECT_NE(
          clients[i]->ask(modern_tool("echo", R"({"city":")" + secret + R"("})")).body.find(secret),
          std::string::npos);
    }
  }
  // The streams of all of them, opened wherever.
  for (std::size_t i = 0; i < 4; ++i) {
    clients[i + 4]->send("GET /mcp HTTP/1.1\r\nHost: " + web->address() +
                         "\r\nAccept: text/event-stream\r\nMcp-Session-Id: " + sessions[i] +
                         "\r\n\r\n");
    clients[i]->ask(post(Site::legacy_body("", "notifications/initialized"),
                         "Mcp-Session-Id: " + sessions[i] + "\r\n"));
    ASSERT_TRUE(clients[i + 4]->wait(
        [&] { return clients[i + 4]->in.find("text/event-stream") != std::string::npos; }));
  }
  server.tool("new", "", [] { return ""; });
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(clients[i + 4]->wait([&] {
      return clients[i + 4]->in.find("tools/list_changed") != std::string::npos;
    })) << clients[i + 4]->in;
  }
  for (std::size_t i = 0; i < 4; ++i) {
    clients[i + 8]->send("DELETE /mcp HTTP/1.1\r\nHost: " + web->address() +
                         "\r\nMcp-Session-Id: " + sessions[i] + "\r\n\r\n");
    EXPECT_EQ(clients[i + 8]->response().status / 100, 2);
    EXPECT_EQ(
        clients[i + 12]
            ->ask(post(Site::legacy_body("1", "ping"), "Mcp-Session-Id: " + sessions[i] + "\r\n"))
            .status,
        404);
  }
}

TEST_F(WebServing, WithoutASealerItSaysWhatIsMissing) {
  Server bare{{.name = "bare", .version = "1"}};
  const auto made = WebServer::listen(loop, bare, {"127.0.0.1", 0});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, testing::HasSubstr("ServerOptions::sealer"));
  EXPECT_TRUE(WebServer::listen(loop, bare, {"127.0.0.1", 0}, {.endpoint = {.stateless = false}}));
}

TEST_F(WebServing, BlockingHandlersRunBesideEverythingElse) {
  ThreadPool pool(4);
  ServerOptions options = test::server_options();
  options.executor = &pool;
  Server busy(std::move(options));
  busy.tool("work", "", blocking([](City in, Context& cx) {
              for (int i = 1; i <= 5; ++i) cx.progress(i, {}, in.city);
              return in.city;
            }));
  auto made = WebServer::listen(loop, busy, {"127.0.0.1", 0}, {.threads = 2});
  ASSERT_TRUE(made);
  web.emplace(*std::move(made));
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(connect());
    const std::string body = Site::modern_body(
        "7", "tools/call",
        test::Link::tool_params("work", R"({"city":"secret-)" + std::to_string(10 + i) + R"("})",
                                R"(,"_meta":{"progressToken":1})"));
    clients.back()->send(post(body,
                              "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
                              "Mcp-Name: work\r\n"));
    if (i % 5 == 4) clients.back()->reset();
  }
  for (int i = 0; i < 20; ++i) {
    if (i % 5 == 4) continue;
    const RawResponse answer = clients[static_cast<std::size_t>(i)]->response();
    const std::string secret = "secret-" + std::to_string(10 + i);
    int times = 0;
    for (std::size_t at = answer.body.find("secret-"); at != std::string::npos;
         at = answer.body.find("secret-", at + 1)) {
      EXPECT_EQ(answer.body.substr(at, secret.size()), secret);
      ++times;
    }
    EXPECT_EQ(times, 6) << answer.body;
  }
  web.reset();
}

TEST_F(WebServing, AServerMayBeDestroyedWhileItDrains) {
  start({"127.0.0.1", 0}, {.threads = 2});
  auto client = connect();
  client->send(modern_tool("echo", R"({"city":"Oslo"})"));
  client->response();
  web->drain([] {});
  web.reset();
  for (int i = 0; i < 10; ++i) loop.poll();
}

TEST_F(WebServing, AServerThatIsDestroyedLeavesNothingBehind) {
  auto client = connect();
  client->send(modern_tool("wait"));
  ASSERT_TRUE(run_until(loop, [&] { return parked.replies.size() == 1; }));
  const std::stop_token stop = parked.replies[0].cancelled();
  web.reset();
  EXPECT_TRUE(stop.stop_requested());
  parked.replies[0]("late");
  loop.poll();
  EXPECT_TRUE(client->wait_end());
}

TEST_F(WebServing, AHandlerMayDestroyTheServer) {
  for (const unsigned threads : {1u, 2u}) {
    std::mutex mutex;
    std::vector<Reply<std::string>> held;  // whatever thread they came on
    std::atomic<bool> holds = false;
    server.tool("hold" + std::to_string(threads), "", [&](Reply<std::string> reply) {
      const std::lock_guard lock(mutex);
      held.push_back(std::move(reply));
      holds = true;
    });
    // With two threads only handlers on the first may, which is the one that drives the loop.
    server.tool("end" + std::to_string(threads), "", [this] {
      if (loop.on_loop_thread()) web.reset();
      return "ended";
    });
    start({"127.0.0.1", 0}, {.threads = threads});
    auto other = connect();
    other->send(modern_tool("hold" + std::to_string(threads)));
    ASSERT_TRUE(run_until(loop, [&] { return holds.load(); }));
    while (web) {
      auto client = connect();
      client->send(modern_tool("end" + std::to_string(threads)));
      EXPECT_TRUE(client->wait([&] { return !client->in.empty() || client->ended; }));
    }
    EXPECT_TRUE(other->wait_end());
  }
}

TEST_F(WebServing, ALateAnswerMayDestroyTheServer) {
  server.use({.after = [this](rpc::Outcome& outcome) {
    if (outcome.method() == "tools/call") web.reset();
  }});
  auto client = connect();
  client->send(modern_tool("wait"));
  ASSERT_TRUE(run_until(loop, [&] { return parked.replies.size() == 1; }));
  parked.replies[0]("late");
  EXPECT_TRUE(client->wait_end());
  EXPECT_FALSE(web.has_value());
}

TEST_F(WebServing, WhoeverIsToldThatItIsDrainedMayDestroyTheServer) {
  for (const unsigned threads : {1u, 3u}) {
    start({"127.0.0.1", 0}, {.threads = threads});
    web->drain([this] { web.reset(); });
    EXPECT_TRUE(run_until(loop, [&] { return !web.has_value(); }));
  }
}

// What else is on the port.

/// A page of the program.
struct Page final : http::Handler {
  void on_request(const http::Request& request, http::Exchange& exchange) override {
    exchange.respond(200, "text/plain", "page " + std::string(request.target));
  }
};

const std::string upgrade_fields =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: mcp\r\n";

struct Routed : WebServing {
  void start_all(WebServerOptions options = {}) {
    options.endpoint.sse_path = "/sse";
    options.endpoint.health_path = "/health";
    options.endpoint.metrics_path = "/metrics";
    options.endpoint.metrics = std::make_shared<Metrics>();
    options.routes = {{.path = "/page", .handler = page},
                      {.path = "/.well-known", .handler = page, .below = true}};
    options.websocket_path = "/ws";
    server.tool("who", "", [](Context& cx) {
      return cx.identity() ? cx.identity()->subject : std::string("nobody");
    });
    start({"127.0.0.1", 0}, std::move(options));
  }
  std::string get(std::string_view target, std::string_view more = "") {
    return "GET " + std::string(target) + " HTTP/1.1\r\nHost: " + web->address() + "\r\n" +
           std::string(more) + "\r\n";
  }
  /// Says it over a WebSocket; what comes back.
  std::string say(RawClient& client, std::string_view message) {
    client.in.clear();
    client.send(test::ws_frame(message));
    EXPECT_TRUE(client.wait([&] { return client.in.ends_with('}') || client.ended; }));
    return client.in;
  }
  void handshake(RawClient& client) {
    EXPECT_TRUE(test::has(say(client, Site::initialize_body("2025-11-25")), "protocolVersion"));
  }
  std::shared_ptr<Page> page = std::make_shared<Page>();
};

TEST_F(Routed, EverythingIsOnOnePort) {
  start_all();
  auto client = connect();
  EXPECT_EQ(client->ask(modern_tool("echo", R"({"city":"Oslo"})")).status, 200);
  EXPECT_EQ(client->ask(get("/health")).body, "ok\n");
  EXPECT_TRUE(test::has(client->ask(get("/metrics")).body, "godwit"));
  EXPECT_EQ(client->ask(get("/page")).body, "page /page");
  EXPECT_EQ(client->ask(get("/.well-known/x/y")).body, "page /.well-known/x/y");
  EXPECT_EQ(client->ask(get("/mcp", "Accept: text/event-stream\r\n")).status, 400);
  EXPECT_EQ(client->ask(get("/ws")).status, 426);
  EXPECT_EQ(client->ask(get("/mcp", upgrade_fields)).status, 426);
  const RawResponse nothing = client->ask(get("/nothing"));
  EXPECT_EQ(nothing.status, 404);
  EXPECT_EQ(nothing.field("content-type"), "application/json");
  EXPECT_FALSE(test::has(nothing.body, "page"));
  client->send(get("/ws", upgrade_fields));
  EXPECT_EQ(client->response(true).status, 101);
  handshake(*client);
  EXPECT_TRUE(test::has(say(*client, Site::tool_body("1", "echo", R"({"city":"Rome"})")), "Rome"));
}

TEST_F(Routed, ForeignPagesReachNothing) {
  start_all();
  auto client = connect();
  for (const std::string path : {"/mcp", "/sse", "/health", "/metrics", "/page", "/ws", "/x"}) {
    const RawResponse refused =
        client->ask(get(path, "Origin: https://evil.example\r\n" + upgrade_fields));
    EXPECT_EQ(refused.status, 403) << path;
    EXPECT_EQ(refused.field("content-type"), "application/json") << path;
    EXPECT_EQ(client->ask(get(path, "Origin: null\r\n")).status, 403) << path;
  }
}

TEST_F(Routed, APathHasOneHandler) {
  for (const std::string taken : {"/mcp", "/mcp/", "/health", "nothing"}) {
    WebServerOptions options;
    options.endpoint.health_path = "/health";
    options.routes = {{.path = taken, .handler = page}};
    auto made = WebServer::listen(loop, server, {"127.0.0.1", 0}, std::move(options));
    ASSERT_FALSE(made) << taken;
    EXPECT_TRUE(test::has(made.error().message, taken)) << made.error().message;
  }
}

TEST_F(Routed, AnAdmissionCoversWhatIsTheServers) {
  WebServerOptions options;
  options.endpoint.admission =
      http::make_admission([](const http::Request& head, http::Decision& decision) {
        const auto token = head.fields.find("Authorization");
        if (!token) {
          return decision.refuse({.status = 401, .fields = {{"WWW-Authenticate", "Bearer"}}});
        }
        decision.admit({.identity = test::known_as(std::string(token->substr(7))),
                        .fields = {{"DPoP-Nonce", "n"}}});
      });
  start_all(std::move(options));
  auto client = connect();
  for (const std::string& closed :
       {get("/mcp"), get("/mcp", upgrade_fields), get("/sse"), get("/ws", upgrade_fields),
        modern_tool("who"), post(Site::initialize_body("2025-11-25"), "")}) {
    const RawResponse refused = client->ask(closed);
    EXPECT_EQ(refused.status, 401) << closed;
  }
  for (const std::string open : {"/health", "/metrics", "/page", "/.well-known/x"}) {
    EXPECT_EQ(client->ask(get(open)).status, 200) << open;
  }
  std::string call = modern_tool("who");
  call.insert(call.find("\r\n") + 2, "Authorization: Bearer ada\r\n");
  const RawResponse known = client->ask(call);
  EXPECT_TRUE(test::has(known.body, "ada")) << known.body;
  EXPECT_EQ(known.field("dpop-nonce"), "n");
  client->send(get("/ws", upgrade_fields + "Authorization: Bearer ada\r\n"));
  const RawResponse opened = client->response(true);
  EXPECT_EQ(opened.status, 101);
  EXPECT_EQ(opened.field("dpop-nonce"), "n");
  handshake(*client);
  EXPECT_TRUE(test::has(say(*client, Site::tool_body("1", "who")), "ada"));
}

TEST_F(Routed, WebSocketsEndInOrderWhenTheServerDoes) {
  start_all();
  auto client = connect();
  client->send(get("/ws", upgrade_fields));
  EXPECT_EQ(client->response(true).status, 101);
  handshake(*client);
  bool drained = false;
  web->drain([&] { drained = true; });
  EXPECT_TRUE(client->wait(
      [&] { return client->in.size() >= 2 && client->in.find('\x88') != client->in.npos; }));
  client->send(test::ws_close(1000));
  EXPECT_TRUE(client->wait_end());
  EXPECT_TRUE(run_until(loop, [&] { return drained; }));
}

TEST_F(Routed, WebSocketsGiveWayWhenThereAreTooMany) {
  ServerOptions few = test::server_options();
  few.limits.connections = 4;
  server = Server(std::move(few));
  start_all();
  std::vector<std::unique_ptr<RawClient>> quiet;
  for (int i = 0; i < 4; ++i) {
    quiet.push_back(connect());
    quiet.back()->send(get("/ws", upgrade_fields));
    EXPECT_EQ(quiet.back()->response(true).status, 101);
    handshake(*quiet.back());
  }
  auto client = connect();
  EXPECT_EQ(client->ask(get("/page")).status, 200);
}

TEST_F(Routed, SeveralThreadsServeAllOfIt) {
  WebServerOptions options;
  options.threads = 3;
  start_all(std::move(options));
  for (int i = 0; i < 9; ++i) {
    auto client = connect();
    EXPECT_EQ(client->ask(get("/page")).status, 200);
    client->send(get("/ws", upgrade_fields));
    EXPECT_EQ(client->response(true).status, 101);
    handshake(*client);
  }
  bool drained = false;
  web->drain([&] { drained = true; });
  EXPECT_TRUE(run_until(loop, [&] { return drained; }));
}

}  // namespace
}  // namespace godwit::inline v0
