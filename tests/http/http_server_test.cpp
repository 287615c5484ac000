#include "godwit/http/http_server.hpp"

#include <gtest/gtest.h>
#include <linux/tcp.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "serving.hpp"

namespace godwit::inline v0::http {
namespace {

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

TEST_F(HttpServing, RequestsSentAheadDoNotHoldUpOthers) {
  auto eager = connect();
  auto other = connect();
  ASSERT_EQ(eager->ask(get("/a")).status, 200);
  ASSERT_EQ(other->ask(get("/b")).status, 200);
  app.seen.clear();
  std::string all;
  for (int i = 0; i < 50; ++i) all += get("/a");
  eager->send(all);
  other->send(get("/b"));
  ASSERT_TRUE(until([&] { return app.requests == 53; }));
  EXPECT_LT(app.seen.find("/b"), 20u) << app.seen;
  for (int i = 0; i < 50; ++i) EXPECT_EQ(eager->response().status, 200);
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
  app.upgrade = [](const Request&, Stream&) {
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

// Segments.

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
