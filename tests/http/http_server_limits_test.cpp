// What an HttpServer refuses: what is no request, what is too much, and who takes too long.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "godwit/base/work.hpp"
#include "serving.hpp"

namespace godwit::inline v0::http {
namespace {

using namespace std::chrono_literals;

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

// What is too much.

TEST_F(HttpServing, BodiesThatAreNotCompleteHaveABoundTogether) {
  const auto bytes = std::make_shared<std::atomic<std::size_t>>(0);
  Limits limits;
  limits.process_body_bytes = 8u << 20;
  auto made = HttpServer::tcp(loop, {"127.0.0.1", 0}, app, {.limits = limits, .body_bytes = bytes});
  ASSERT_TRUE(made);
  server.emplace(*std::move(made));
  const std::string whole = post("/x", std::string(1'500'000, 'x'));
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 20; ++i) {
    slow.push_back(connect());
    slow.back()->send(std::string_view(whole).substr(0, 1'200'000));
    settle();
    EXPECT_LE(bytes->load(), 8u << 20);
  }
  // Small ones are served all the time, and so is whoever comes and does not take his time.
  auto good = connect();
  EXPECT_EQ(good->ask(post("/x", std::string(30'000, 'x'))).status, 200);
  EXPECT_EQ(good->ask(whole).status, 200);
  // Those that began first gave way; the others are completed.
  int refused = 0;
  for (const auto& client : slow) {
    client->take();
    const bool late = client->in.empty();
    if (late) client->send(std::string_view(whole).substr(1'200'000));
    const RawResponse answer = client->response();
    EXPECT_EQ(answer.status, late ? 200 : 503);
    EXPECT_EQ(answer.field("retry-after") != "", !late);
    if (!late) {
      EXPECT_EQ(refused, &client - slow.data());
      ++refused;
    }
  }
  EXPECT_GE(refused, 15);
  EXPECT_LT(refused, 20);
  EXPECT_EQ(bytes->load(), 0u) << "an answered request still counts";
  // One that is answered later needs its body no longer.
  auto late = connect();
  late->send(post("/late", std::string(1'500'000, 'x')));
  EXPECT_TRUE(until([&] { return app.waiting.size() == 1; }));
  settle();
  EXPECT_EQ(bytes->load(), 0u);
  auto gone = connect();
  gone->send(std::string_view(whole).substr(0, 1'200'000));
  EXPECT_TRUE(until([&] { return bytes->load() > 0; }));
  gone->close();
  EXPECT_TRUE(until([&] { return bytes->load() == 0; }));
}

TEST_F(HttpServing, TheMemoryOfALargeRequestIsGivenBackWhenTheNextOneHasBegun) {
  const auto bytes = std::make_shared<std::atomic<std::size_t>>(0);
  auto made = HttpServer::tcp(loop, {"127.0.0.1", 0}, app, {.body_bytes = bytes});
  ASSERT_TRUE(made);
  server.emplace(*std::move(made));
  auto client = connect();
  client->send(post("/x", std::string(1'500'000, 'x')) + "GET /next HT");
  EXPECT_EQ(client->response().status, 200);
  client->send("TP/1.1\r\n");
  settle();
  EXPECT_EQ(bytes->load(), 0u);
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
  limits.write_stall = 60ms;
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

TEST_F(HttpServing, AnAnswerToASlowReaderIsNotMovedForEachPiece) {
  if (!godwit::detail::base::counts_work) GTEST_SKIP();
  app.big = 16u << 20;
  auto client = connect(4096);
  client->send(get("/big"));
  const std::uint64_t before = godwit::detail::base::work_done();
  EXPECT_EQ(client->response().body.size(), app.big);
  EXPECT_LT(godwit::detail::base::work_done() - before, 2 * app.big);
}

}  // namespace
}  // namespace godwit::inline v0::http
