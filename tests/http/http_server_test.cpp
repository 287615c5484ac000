#include "godwit/http/http_server.hpp"

#include <gtest/gtest.h>
#include <linux/tcp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "raw_client.hpp"
#include "wait.hpp"

namespace godwit::inline v0::http {
namespace {

using namespace std::chrono_literals;
using test::RawClient;
using test::RawResponse;
using test::run_until;

/// What is answered later, and whether its client stayed.
struct Waiting final : Exchange::Owner {
  explicit Waiting(Exchange& e) : exchange(&e) { e.set_owner(this); }
  void on_gone() override {
    ++gone;
    exchange = nullptr;
  }
  Exchange* exchange;
  int gone = 0;
};

struct App final : Handler {
  void on_request(const Request& request, Exchange& exchange) override {
    ++requests;
    seen += std::string(request.target) + " ";
    peers.emplace_back(request.peer);
    const std::string_view path = request.path();
    if (path == "/late") {
      waiting.push_back(std::make_unique<Waiting>(exchange));
    } else if (path == "/stream") {
      exchange.begin(200, "text/event-stream");
      exchange.write("one ");
      exchange.write("");
      exchange.write("two ");
      exchange.end();
    } else if (path == "/open") {
      exchange.begin(200, "text/event-stream");
      waiting.push_back(std::make_unique<Waiting>(exchange));
    } else if (path == "/big") {
      exchange.respond(200, "text/plain", std::string(big, 'b'));
    } else if (path == "/none") {
      exchange.respond(204, {}, {});
    } else if (path == "/throw") {
      throw std::runtime_error("secret");
    } else if (path == "/throw-int") {
      throw 42;
    } else if (path == "/throw-late") {
      exchange.begin(200, "text/plain");
      exchange.write("half");
      throw std::runtime_error("secret");
    } else if (path == "/abort") {
      exchange.abort();
    } else {
      exchange.respond(200, "text/plain",
                       std::string(request.method) + " " + std::string(request.target) + " " +
                           std::string(request.body),
                       {{"X-More", "yes"}});
    }
  }
  std::optional<Response> on_head(const Request& request) override {
    ++heads;
    head_peers.emplace_back(request.peer);
    if (request.path() == "/refused") {
      return Response{403, {{"Content-Type", "text/plain"}, {"X-Why", "so"}}, "refused here"};
    }
    if (request.path() == "/throw-head") throw std::runtime_error("secret");
    return std::nullopt;
  }
  std::optional<Response> on_upgrade(const Request& request, Stream& stream,
                                     std::string_view rest) override {
    ++upgrades;
    if (!upgrade) return Handler::on_upgrade(request, stream, rest);
    return upgrade(request);
  }

  int requests = 0, heads = 0, upgrades = 0;
  std::size_t big = 8u << 20;
  std::string seen;
  std::vector<std::string> peers, head_peers;
  std::vector<std::unique_ptr<Waiting>> waiting;
  std::function<std::optional<Response>(const Request&)> upgrade;
};

struct HttpServing : testing::Test {
  void start(Limits limits = {}) {
    auto made = HttpServer::tcp(loop, {"127.0.0.1", 0}, app,
                                {.limits = limits, .log = Log([this](LogLevel, std::string_view s) {
                                                     log += std::string(s) + "\n";
                                                   })});
    ASSERT_TRUE(made) << made.error().message;
    server.emplace(*std::move(made));
  }
  std::unique_ptr<RawClient> connect(int receive_buffer = 0) {
    if (!server) start();
    return std::make_unique<RawClient>(loop, server->address(), receive_buffer);
  }
  template <class Condition>
  bool until(Condition condition) {
    return run_until(loop, condition);
  }
  /// Lets everything happen that can happen now.
  void settle() {
    for (int i = 0; i < 20; ++i) loop.poll();
  }

  Loop loop;
  App app;
  std::string log;
  std::optional<HttpServer> server;
};

std::string get(std::string_view target, std::string_view more = "") {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(more) +
         "\r\n";
}
std::string post(std::string_view target, std::string_view body, std::string_view more = "") {
  return "POST " + std::string(target) +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(more) + "\r\n" + std::string(body);
}

// Requests and answers.

TEST_F(HttpServing, OneConnectionCarriesManyRequests) {
  auto client = connect();
  for (int i = 0; i < 100; ++i) {
    const RawResponse response = client->ask(post("/echo", "body" + std::to_string(i)));
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, "POST /echo body" + std::to_string(i));
    EXPECT_EQ(response.field("content-type"), "text/plain");
    EXPECT_EQ(response.field("x-more"), "yes");
    EXPECT_NE(response.field("date"), "");
    EXPECT_EQ(response.field("connection"), "");
  }
  EXPECT_EQ(server->connections(), 1u);
  EXPECT_EQ(client->in, "");
  client->close();
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
}

TEST_F(HttpServing, ARequestMayComeInPiecesOfAnySize) {
  const std::string request = post("/echo", "hello");
  auto client = connect();
  for (const char c : request) {
    client->send(std::string_view(&c, 1));
    loop.poll();
  }
  EXPECT_EQ(client->response().body, "POST /echo hello");
}

TEST_F(HttpServing, ConnectionCloseIsHonoured) {
  auto client = connect();
  const RawResponse response = client->ask(get("/echo", "Connection: close\r\n"));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.field("connection"), "close");
  EXPECT_TRUE(client->wait_end());
  EXPECT_FALSE(client->broken);
  client->close();
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
}

TEST_F(HttpServing, RequestsSentAheadAreAnsweredInOrder) {
  auto client = connect();
  std::string all;
  for (int i = 0; i < 50; ++i) all += get("/" + std::to_string(i));
  client->send(all);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(client->response().body, "GET /" + std::to_string(i) + " ");
  }
}

TEST_F(HttpServing, RequestsSentAheadWaitForTheFirstThatIsAnsweredLate) {
  auto client = connect();
  client->send(get("/late") + get("/2") + post("/3", "x") + get("/late") + get("/5"));
  ASSERT_TRUE(until([&] { return app.waiting.size() == 1; }));
  settle();
  EXPECT_EQ(app.requests, 1) << "one request at a time per connection";
  client->take();
  EXPECT_EQ(client->in, "");
  app.waiting[0]->exchange->respond(200, "text/plain", "late one");
  EXPECT_EQ(client->response().body, "late one");
  EXPECT_EQ(client->response().body, "GET /2 ");
  EXPECT_EQ(client->response().body, "POST /3 x");
  ASSERT_TRUE(until([&] { return app.waiting.size() == 2; }));
  EXPECT_EQ(app.seen, "/late /2 /3 /late ");
  app.waiting[1]->exchange->begin(200, "text/plain");
  app.waiting[1]->exchange->write("late two");
  app.waiting[1]->exchange->end();
  EXPECT_EQ(client->response().body, "late two");
  EXPECT_EQ(client->response().body, "GET /5 ");
  EXPECT_EQ(app.waiting[0]->gone + app.waiting[1]->gone, 0);
}

TEST_F(HttpServing, WhatIsSentFarAheadIsNotReadBeforeItsTurn) {
  auto client = connect();
  client->send(get("/late"));
  ASSERT_TRUE(until([&] { return app.waiting.size() == 1; }));
  const std::string request = post("/echo", std::string(1000, 'x'));
  // More than the system and the server take together.
  std::size_t sent = 0;
  int stuck = 0;
  while (stuck < 20 && sent < (64u << 20)) {
    std::string piece;
    for (int i = 0; i < 200; ++i) piece += request;
    const std::size_t now = client->send_some(piece);
    sent += now;
    stuck = now == 0 ? stuck + 1 : 0;
    if (now != 0 && now != piece.size()) break;
    settle();
  }
  EXPECT_LT(sent, 64u << 20);
  EXPECT_EQ(app.requests, 1);
}

TEST_F(HttpServing, AHeadRequestGetsTheHeadOnly) {
  auto client = connect();
  client->send("HEAD /echo HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/2"));
  const RawResponse head = client->response(true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.field("content-length"), std::to_string(std::string("HEAD /echo ").size()));
  EXPECT_EQ(client->response().body, "GET /2 ");
  client->send("HEAD /stream HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/3"));
  EXPECT_EQ(client->response(true).status, 200);
  EXPECT_EQ(client->response().body, "GET /3 ");
}

TEST_F(HttpServing, ARefusalAfterAHeadRequestHasItsBody) {
  auto client = connect();
  client->send("HEAD /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  client->response(true);
  client->send("POST /refused HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n");
  const RawResponse refused = client->response();
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.body, "refused here");
}

TEST_F(HttpServing, AnswersWithoutABody) {
  auto client = connect();
  const RawResponse none = client->ask(get("/none"));
  EXPECT_EQ(none.status, 204);
  EXPECT_EQ(none.field("content-length"), "");
  EXPECT_EQ(none.field("content-type"), "");
  EXPECT_EQ(client->ask(get("/2")).body, "GET /2 ");
}

TEST_F(HttpServing, ChunksInBothDirections) {
  auto client = connect();
  client->send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n");
  EXPECT_EQ(client->response().body, "POST /echo hello world");
  const RawResponse stream = client->ask(get("/stream"));
  EXPECT_EQ(stream.field("transfer-encoding"), "chunked");
  EXPECT_EQ(stream.field("content-length"), "");
  EXPECT_EQ(stream.body, "one two ");
  EXPECT_EQ(client->ask(get("/2")).body, "GET /2 ");
}

TEST_F(HttpServing, PiecesAreSentAtOnce) {
  auto client = connect();
  client->send(get("/open"));
  ASSERT_TRUE(until([&] { return app.waiting.size() == 1; }));
  Exchange& exchange = *app.waiting[0]->exchange;
  ASSERT_TRUE(client->wait([&] { return client->in.ends_with("\r\n\r\n"); }));
  for (const char* piece : {"a", "bb", "ccc"}) {
    exchange.write(piece);
    ASSERT_TRUE(client->wait([&] { return client->in.ends_with(std::string(piece) + "\r\n"); }));
  }
  exchange.end();
  EXPECT_EQ(client->response().body, "abbccc");
  EXPECT_EQ(client->ask(get("/2")).body, "GET /2 ");
}

TEST_F(HttpServing, ClientsOfHttp10) {
  auto client = connect();
  client->send("GET /echo HTTP/1.0\r\nHost: localhost\r\n\r\n");
  const RawResponse whole = client->response();
  EXPECT_EQ(whole.body, "GET /echo ");
  EXPECT_EQ(whole.field("connection"), "close");
  EXPECT_TRUE(client->wait_end());
  auto other = connect();
  other->send("GET /stream HTTP/1.0\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(other->wait_end());
  EXPECT_EQ(other->in.find("chunked"), std::string::npos);
  EXPECT_TRUE(other->in.ends_with("\r\n\r\none two ")) << other->in;
  EXPECT_FALSE(other->broken);
}

TEST_F(HttpServing, ClientsOfHttp10AreToldThatTheConnectionStays) {
  auto client = connect();
  client->send("GET /echo HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n");
  const RawResponse response = client->response();
  settle();
  client->take();
  if (client->ended) return;  // which is allowed, too
  EXPECT_EQ(response.field("connection"), "keep-alive") << "else it will not use it again";
}

TEST_F(HttpServing, TheClientIsKnownByItsSocket) {
  auto client = connect();
  client->send(post("/echo", "x", "X-Forwarded-For: 6.6.6.6\r\n"));
  client->response();
  ASSERT_EQ(app.peers.size(), 1u);
  EXPECT_TRUE(app.peers[0].starts_with("127.0.0.1:")) << app.peers[0];
}

TEST_F(HttpServing, TheClientIsKnownAlreadyByTheHead) {
  auto client = connect();
  client->send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n");
  ASSERT_TRUE(until([&] { return app.heads == 1; }));
  EXPECT_TRUE(app.head_peers[0].starts_with("127.0.0.1:")) << app.head_peers[0];
}

// Continue.

TEST_F(HttpServing, ContinueIsSaidToThoseWhoWaitForIt) {
  auto client = connect();
  client->send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
      "Expect: 100-continue\r\n\r\n");
  const RawResponse go_on = client->response();
  EXPECT_EQ(go_on.status, 100);
  EXPECT_EQ(app.requests, 0);
  client->send("hello");
  EXPECT_EQ(client->response().body, "POST /echo hello");
  EXPECT_EQ(client->ask(get("/2")).body, "GET /2 ");
}

TEST_F(HttpServing, ContinueIsNotSaidToThoseWhoDoNotWait) {
  auto client = connect();
  client->send(post("/echo", "hello", "Expect: 100-continue\r\n"));
  EXPECT_EQ(client->response().status, 200);
}

TEST_F(HttpServing, ARequestRefusedByItsHeadIsNotRead) {
  auto client = connect();
  client->send(
      "POST /refused HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
      "Expect: 100-continue\r\n\r\n");
  const RawResponse refused = client->response();
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.body, "refused here");
  EXPECT_EQ(refused.field("x-why"), "so");
  EXPECT_EQ(refused.field("connection"), "close");
  client->send_some("hello" + get("/2"));
  EXPECT_TRUE(client->wait_end());
  settle();
  EXPECT_EQ(app.requests, 0);
}

// Upgrades.

TEST_F(HttpServing, ARefusedUpgradeSaysWhatTheHandlerSaid) {
  app.upgrade = [](const Request&) {
    return Response{426, {{"Content-Type", "text/plain"}, {"Upgrade", "websocket"}}, "no"};
  };
  auto client = connect();
  const RawResponse response =
      client->ask(get("/x", "Connection: Upgrade\r\nUpgrade: websocket\r\n"));
  EXPECT_EQ(response.status, 426);
  EXPECT_EQ(response.body, "no");
  EXPECT_EQ(response.field("upgrade"), "websocket");
}

TEST_F(HttpServing, AnUpgradeThatNobodyKnowsIsIgnored) {
  // As Java's client sends it with every first request: HTTP/2 if possible, else an answer.
  auto client = connect();
  const RawResponse response = client->ask(
      post("/echo", "hello",
           "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEA\r\n"));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "POST /echo hello");
}

// What is no request.

TEST_F(HttpServing, AfterAnErrorNothingIsRead) {
  struct Case {
    std::string bytes;
    int status;
  };
  const std::string host = "Host: localhost\r\n";
  const Case cases[] = {
      {"GARBAGE\r\n\r\n", 400},
      {"GET /x HTTP/1.1\r\n\r\n", 400},
      {"GET /x HTTP/1.1\r\n" + host + host + "\r\n", 400},
      {"GET /x HTTP/2.0\r\n" + host + "\r\n", 505},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"POST /x HTTP/1.1\r\n" + host + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
       400},
      {"POST /x HTTP/1.1\r\n" + host + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400},
      {"POST /x HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n", 400},
      {"POST /x HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip\r\n\r\n", 0},
      {"POST /x HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n-2\r\nx\r\n", 400},
      {"POST /x HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n1;x=y\r\nx\r\n", 400},
      {"GET /x HTTP/1.1\r\n" + host + "A: b\r\n c\r\n\r\n", 400},
      {"GET /x HTTP/1.1\nHost: localhost\n\n", 400},
      {"GET /" + std::string(9000, 'x') + " HTTP/1.1\r\n" + host + "\r\n", 414},
      {"GET /x HTTP/1.1\r\n" + host + "A: " + std::string(9000, 'x') + "\r\n\r\n", 431},
      {"POST /x HTTP/1.1\r\n" + host + "Content-Length: 4194305\r\n\r\n", 413},
  };
  for (const Case& c : cases) {
    app.requests = 0;
    auto client = connect();
    client->send(c.bytes + get("/smuggled") + get("/smuggled"));
    const RawResponse response = client->response();
    if (c.status != 0) {
      EXPECT_EQ(response.status, c.status) << c.bytes.substr(0, 200);
    } else {
      EXPECT_TRUE(response.status == 400 || response.status == 501) << response.status;
    }
    EXPECT_EQ(response.field("connection"), "close");
    EXPECT_TRUE(client->wait_end()) << c.bytes.substr(0, 200);
    EXPECT_EQ(client->in, "") << "a second answer";
    EXPECT_EQ(app.requests, 0) << c.bytes.substr(0, 200);
  }
  std::string many;
  for (int i = 0; i < 101; ++i) many += "A" + std::to_string(i) + ": x\r\n";
  auto client = connect();
  EXPECT_EQ(client->ask("GET /x HTTP/1.1\r\n" + many + "\r\n").status, 431);
}

TEST_F(HttpServing, AnErrorBehindGoodRequestsLeavesTheirAnswersAlone) {
  auto client = connect();
  client->send(get("/1") + get("/late") + "GARBAGE\r\n\r\n" + get("/smuggled"));
  EXPECT_EQ(client->response().body, "GET /1 ");
  ASSERT_TRUE(until([&] { return app.waiting.size() == 1; }));
  app.waiting[0]->exchange->respond(200, "text/plain", "late");
  EXPECT_EQ(client->response().body, "late");
  EXPECT_EQ(client->response().status, 400);
  EXPECT_TRUE(client->wait_end());
  EXPECT_EQ(app.requests, 2);
}

TEST_F(HttpServing, ALongLineWithoutAnEndIsCutOff) {
  auto client = connect();
  std::size_t sent = 0;
  const std::string piece(64u << 10, 'x');
  client->send("GET /");
  while (!client->ended && sent < (256u << 20)) {
    sent += client->send_some(piece);
    settle();
    client->take();
    if (!client->in.empty() && server->connections() == 0) break;
  }
  EXPECT_LT(sent, 64u << 20);
  EXPECT_TRUE(client->in.empty() || client->in.starts_with("HTTP/1.1 414")) << client->in;
}

TEST_F(HttpServing, TheBoundOfABody) {
  Limits limits;
  limits.message_bytes_in = 1000;
  start(limits);
  for (const auto& [size, status] : {std::pair(999u, 200), {1000u, 200}, {1001u, 413}}) {
    auto client = connect();
    EXPECT_EQ(client->ask(post("/echo", std::string(size, 'x'))).status, status) << size;
    auto chunked = connect();
    char length[16];
    std::snprintf(length, sizeof length, "%x", size);
    chunked->send("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" +
                  std::string(length) + "\r\n" + std::string(size, 'x') + "\r\n0\r\n\r\n");
    EXPECT_EQ(chunked->response().status, status) << size;
  }
}

// Time.

Limits hasty() {
  Limits limits;
  limits.http_header_time = 60ms;
  limits.http_body_idle = 60ms;
  limits.http_keep_alive = 60ms;
  limits.http_write_stall = 60ms;
  return limits;
}

TEST_F(HttpServing, ASlowHeadIs408) {
  start(hasty());
  auto client = connect();
  client->send("GET / HTTP/1.1\r\nHost:");
  EXPECT_EQ(client->response().status, 408);
  EXPECT_TRUE(client->wait_end());
  EXPECT_EQ(app.requests, 0);
}

TEST_F(HttpServing, DribblingDoesNotHelp) {
  start(hasty());
  auto client = connect();
  const auto begin = std::chrono::steady_clock::now();
  client->send("GET / HTTP/1.1\r\nHost: localhost\r\nA: ");
  while (!client->ended && client->in.empty() && std::chrono::steady_clock::now() - begin < 5s) {
    client->send_some("x");
    loop.run_for(5ms);
    client->take();
  }
  EXPECT_TRUE(client->in.starts_with("HTTP/1.1 408")) << client->in;
}

TEST_F(HttpServing, ASlowBodyIs408) {
  start(hasty());
  auto client = connect();
  client->send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhel");
  EXPECT_EQ(client->response().status, 408);
  EXPECT_TRUE(client->wait_end());
  EXPECT_EQ(app.requests, 0);
}

TEST_F(HttpServing, ARequestAsAWholeHasItsTime) {
  Limits limits = hasty();
  limits.http_request_time = 150ms;
  limits.http_body_idle = 10s;
  start(limits);
  auto client = connect();
  const auto begin = std::chrono::steady_clock::now();
  client->send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n");
  while (client->in.empty() && std::chrono::steady_clock::now() - begin < 5s) {
    client->send_some("x");
    loop.run_for(5ms);
    client->take();
  }
  EXPECT_TRUE(client->in.starts_with("HTTP/1.1 408")) << client->in;
}

TEST_F(HttpServing, AConnectionThatIsNotUsedIsClosedWithoutAWord) {
  start(hasty());
  auto silent = connect();
  auto used = connect();
  EXPECT_EQ(used->ask(get("/1")).status, 200);
  EXPECT_TRUE(silent->wait_end());
  EXPECT_TRUE(used->wait_end());
  EXPECT_EQ(silent->in, "");
  EXPECT_EQ(used->in, "");
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
}

TEST_F(HttpServing, AnAnswerThatIsWaitedForTakesItsTime) {
  start(hasty());
  auto client = connect();
  client->send(get("/late"));
  ASSERT_TRUE(until([&] { return app.waiting.size() == 1; }));
  auto stream = connect();
  stream->send(get("/open"));
  ASSERT_TRUE(until([&] { return app.waiting.size() == 2; }));
  loop.run_for(300ms);
  EXPECT_EQ(app.waiting[0]->gone + app.waiting[1]->gone, 0);
  app.waiting[0]->exchange->respond(200, "text/plain", "late");
  EXPECT_EQ(client->response().body, "late");
}

// Slow readers.

TEST_F(HttpServing, AClientThatReadsNothingIsClosed) {
  start(hasty());
  auto client = connect(4096);
  client->send(get("/open"));
  ASSERT_TRUE(until([&] { return app.waiting.size() == 1; }));
  Waiting& waiting = *app.waiting[0];
  const std::string piece(64u << 10, 'x');
  std::size_t most = 0;
  EXPECT_TRUE(until([&] {
    // As an endless stream does it: more when there is room.
    if (waiting.exchange && waiting.exchange->unsent() < (1u << 20)) waiting.exchange->write(piece);
    if (waiting.exchange) most = std::max(most, waiting.exchange->unsent());
    return waiting.gone > 0;
  }));
  EXPECT_LE(most, (1u << 20) + piece.size() + 100);
  EXPECT_EQ(waiting.gone, 1);
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
}

TEST_F(HttpServing, AClientThatReadsSlowlyGetsEverything) {
  start(hasty());
  auto client = connect(4096);
  client->send(get("/big"));
  std::size_t got = 0;
  char buffer[16 << 10];
  const auto begin = std::chrono::steady_clock::now();
  while (got < app.big && std::chrono::steady_clock::now() - begin < 20s) {
    const ssize_t size = ::recv(client->fd(), buffer, sizeof buffer, 0);
    if (size == 0) break;
    if (size > 0) got += static_cast<std::size_t>(size);
    loop.poll();
  }
  EXPECT_GE(got, app.big);
}

TEST_F(HttpServing, AClientThatAsksAndDoesNotReadIsNotServedForever) {
  app.big = 1u << 20;
  auto client = connect(4096);
  std::string all;
  for (int i = 0; i < 500; ++i) all += get("/big");
  client->send_some(all);
  settle();
  EXPECT_LT(app.requests, 100) << "so many megabytes are waiting for it";
}

TEST_F(HttpServing, AClientThatHasSaidAllStillGetsItsAnswer) {
  for (const char* more : {"Connection: close\r\n", ""}) {
    auto client = connect(4096);
    client->send(get("/big", more));
    client->half_close();
    loop.run_for(20ms);
    EXPECT_TRUE(client->wait([&] { return client->in.size() >= app.big || client->ended; }));
    EXPECT_GE(client->in.size(), app.big) << "cut off" << more;
    client->close();
    EXPECT_TRUE(until([&] { return server->connections() == 0; }));
  }
}

TEST_F(HttpServing, TheLastAnswerOfAConnectionHasTheTimeOfAnyOther) {
  auto client = connect(4096);
  client->send(get("/big", "Connection: close\r\n"));
  loop.run_for(3500ms);  // the client is busy with something else
  EXPECT_TRUE(client->wait([&] { return client->in.size() >= app.big || client->ended; }));
  EXPECT_GE(client->in.size(), app.big) << "cut off";
}

// Going away.

TEST_F(HttpServing, AClientThatGoesAwayIsToldOfOnce) {
  for (const bool abruptly : {false, true}) {
    for (const char* target : {"/late", "/open"}) {
      app.waiting.clear();
      auto client = connect();
      client->send(get(target));
      ASSERT_TRUE(until([&] { return app.waiting.size() == 1; }));
      abruptly ? client->reset() : client->close();
      EXPECT_TRUE(until([&] { return app.waiting[0]->gone > 0; }));
      EXPECT_TRUE(until([&] { return server->connections() == 0; }));
      settle();
      EXPECT_EQ(app.waiting[0]->gone, 1);
    }
  }
}

TEST_F(HttpServing, AClientThatGoesAwayAfterItsAnswerIsNotToldOf) {
  auto client = connect();
  client->send(get("/late"));
  ASSERT_TRUE(until([&] { return app.waiting.size() == 1; }));
  app.waiting[0]->exchange->respond(200, "text/plain", "late");
  client->response();
  client->close();
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
  auto other = connect();
  other->send(get("/open"));
  ASSERT_TRUE(until([&] { return app.waiting.size() == 2; }));
  app.waiting[1]->exchange->end();
  other->response();
  other->reset();
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
  EXPECT_EQ(app.waiting[0]->gone + app.waiting[1]->gone, 0);
}

TEST_F(HttpServing, AbortBreaksTheConnectionOffAndTellsNobody) {
  auto client = connect();
  client->send(get("/open"));
  ASSERT_TRUE(until([&] { return app.waiting.size() == 1; }));
  app.waiting[0]->exchange->write("half");
  app.waiting[0]->exchange->abort();
  EXPECT_TRUE(client->wait_end());
  EXPECT_FALSE(client->in.ends_with("0\r\n\r\n"));
  EXPECT_EQ(app.waiting[0]->gone, 0);
  auto other = connect();
  other->send(get("/abort"));
  EXPECT_TRUE(other->wait_end());
  EXPECT_EQ(other->in, "");
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
}

TEST_F(HttpServing, AServerThatIsDestroyedTellsThoseWhoAnswer) {
  auto client = connect();
  client->send(get("/late"));
  ASSERT_TRUE(until([&] { return app.waiting.size() == 1; }));
  server.reset();
  EXPECT_EQ(app.waiting[0]->gone, 1);
  EXPECT_TRUE(client->wait_end());
}

// Handlers that fail.

TEST_F(HttpServing, AHandlerThatThrowsIs500) {
  auto client = connect();
  const RawResponse response = client->ask(get("/throw"));
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(response.body.find("secret"), std::string::npos);
  EXPECT_NE(log.find("secret"), std::string::npos);
  auto other = connect();
  other->send(get("/throw-late"));
  EXPECT_TRUE(other->wait_end());
  EXPECT_FALSE(other->in.ends_with("0\r\n\r\n")) << "it looks complete";
  EXPECT_EQ(connect()->ask(get("/2")).status, 200);
}

TEST_F(HttpServing, AHandlerThatThrowsAnythingIs500) {
  auto client = connect();
  client->send(get("/throw-int"));
  try {
    EXPECT_EQ(client->response().status, 500);
  } catch (int) {
    ADD_FAILURE() << "it came through the loop";
  }
}

TEST_F(HttpServing, AHandlerThatThrowsAtTheHeadIs500) {
  auto client = connect();
  client->send("POST /throw-head HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n");
  try {
    EXPECT_EQ(client->response().status, 500);
  } catch (const std::exception& e) {
    ADD_FAILURE() << "it came through the loop: " << e.what();
  }
}

// Many.

TEST_F(HttpServing, MoreConnectionsThanAllowedAreRefusedPolitely) {
  Limits limits;
  limits.connections = 3;
  start(limits);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(connect());
    EXPECT_EQ(clients.back()->ask(get("/1")).status, 200);
  }
  auto fourth = connect();
  const RawResponse refused = fourth->response();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.field("connection"), "close");
  EXPECT_TRUE(fourth->wait_end());
  fourth->close();
  EXPECT_EQ(clients[0]->ask(get("/2")).status, 200);
  clients.pop_back();
  ASSERT_TRUE(until([&] { return server->connections() == 2; }));
  EXPECT_EQ(connect()->ask(get("/3")).status, 200);
}

TEST_F(HttpServing, ThousandsOfConnectionsLeaveNothingBehind) {
  connect()->ask(get("/1"));
  ASSERT_TRUE(until([&] { return server->connections() == 0; }));
  const std::size_t before = test::open_descriptors();
  for (int i = 0; i < 2'000; ++i) {
    auto client = connect();
    switch (i % 5) {
      case 0:
        client->ask(get("/1"));
        break;
      case 1:
        client->send(get("/late"));
        loop.poll();
        client->reset();
        break;
      case 2:
        client->send("GARBAGE\r\n\r\n");
        client->response();
        break;
      case 3:
        client->ask(get("/stream", "Connection: close\r\n"));
        break;
      default:
        loop.poll();
        break;
    }
  }
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
  settle();
  EXPECT_EQ(test::open_descriptors(), before);
  for (const auto& waiting : app.waiting) EXPECT_EQ(waiting->gone, 1);
}

/// The server's end of a client's connection.
int server_end(const RawClient& client) {
  sockaddr_in own{};
  socklen_t size = sizeof own;
  ::getsockname(client.fd(), reinterpret_cast<sockaddr*>(&own), &size);
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_in peer{};
    size = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
    if (peer.sin_family == AF_INET && peer.sin_port == own.sin_port) return fd;
  }
  return -1;
}

TEST_F(HttpServing, AnAnswerIsOneSegmentThatWaitsForNobody) {
  auto client = connect();
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(client->ask(post("/echo", "hello")).status, 200);
    tcp_info info{};
    socklen_t size = sizeof info;
    ASSERT_EQ(::getsockopt(client->fd(), IPPROTO_TCP, TCP_INFO, &info, &size), 0);
    EXPECT_EQ(info.tcpi_data_segs_in, static_cast<unsigned>(i)) << "head and body in two writes";
  }
  const int fd = server_end(*client);
  ASSERT_GE(fd, 0);
  int on = 0;
  socklen_t size = sizeof on;
  ASSERT_EQ(::getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &size), 0);
  EXPECT_NE(on, 0);
}

TEST_F(HttpServing, AnswersToRequestsThatCameTogetherGoTogether) {
  auto client = connect();
  client->send(get("/1") + get("/2") + get("/3"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client->response().status, 200);
  tcp_info info{};
  socklen_t size = sizeof info;
  ASSERT_EQ(::getsockopt(client->fd(), IPPROTO_TCP, TCP_INFO, &info, &size), 0);
  EXPECT_EQ(info.tcpi_data_segs_in, 1u);
}

// The end.

TEST_F(HttpServing, DrainClosesWhatIsIdleAndFinishesWhatIsNot) {
  auto idle = connect();
  EXPECT_EQ(idle->ask(get("/1")).status, 200);
  auto late = connect();
  late->send(get("/late") + get("/never"));
  auto stream = connect();
  stream->send(get("/open"));
  ASSERT_TRUE(until([&] { return app.waiting.size() == 2; }));
  const std::string address = server->address();
  int done = 0;
  server->drain([&] { ++done; });
  EXPECT_TRUE(idle->wait_end());
  EXPECT_EQ(done, 0);
  RawClient refused(loop, address);
  EXPECT_FALSE(refused.connected());
  app.waiting[0]->exchange->respond(200, "text/plain", "late");
  const RawResponse response = late->response();
  EXPECT_EQ(response.body, "late");
  EXPECT_EQ(response.field("connection"), "close");
  EXPECT_TRUE(late->wait_end());
  app.waiting[1]->exchange->write("last");
  app.waiting[1]->exchange->end();
  EXPECT_EQ(stream->response().body, "last");
  EXPECT_TRUE(stream->wait_end());
  idle->close();
  late->close();
  stream->close();
  EXPECT_TRUE(until([&] { return done == 1; }));
  settle();
  EXPECT_EQ(done, 1);
  EXPECT_EQ(app.seen.find("/never"), std::string::npos);
  EXPECT_EQ(app.waiting[0]->gone + app.waiting[1]->gone, 0);
}

TEST_F(HttpServing, DrainAnswersWhatWasSentBefore) {
  auto client = connect();
  EXPECT_EQ(client->ask(get("/1")).status, 200);
  client->send(get("/2"));  // not read yet
  int done = 0;
  server->drain([&] { ++done; });
  const RawResponse response = client->response();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.field("connection"), "close");
  EXPECT_TRUE(client->wait_end());
  client->close();
  EXPECT_TRUE(until([&] { return done == 1; }));
}

TEST_F(HttpServing, DrainWaitsNoLongerThanItMay) {
  auto client = connect();
  client->send(get("/late"));
  ASSERT_TRUE(until([&] { return app.waiting.size() == 1; }));
  int done = 0;
  server->drain([&] { ++done; }, 50ms);
  EXPECT_TRUE(until([&] { return done == 1; }));
  EXPECT_EQ(app.waiting[0]->gone, 1);
  EXPECT_EQ(server->connections(), 0u);
}

TEST_F(HttpServing, DrainOfAnIdleServerIsDoneAtOnce) {
  start();
  bool done = false;
  server->drain([&] { done = true; });
  EXPECT_FALSE(done) << "from the loop, not from inside the call";
  EXPECT_TRUE(until([&] { return done; }));
}

// Elsewhere.

TEST_F(HttpServing, SeveralServersShareAPort) {
  auto first = HttpServer::tcp(loop, {"127.0.0.1", 0}, app, {.share_port = true});
  ASSERT_TRUE(first);
  App other;
  const auto address = Address::parse(first->address());
  auto second = HttpServer::tcp(loop, *address, other, {.share_port = true});
  ASSERT_TRUE(second) << second.error().message;
  for (int i = 0; i < 50; ++i) {
    RawClient client(loop, first->address());
    EXPECT_EQ(client.ask(get("/1")).status, 200);
  }
  EXPECT_GT(app.requests, 0);
  EXPECT_GT(other.requests, 0);
}

TEST_F(HttpServing, APortThatIsTakenIsAnError) {
  start();
  auto second = HttpServer::tcp(loop, *Address::parse(server->address()), app);
  EXPECT_FALSE(second);
}

}  // namespace
}  // namespace godwit::inline v0::http
