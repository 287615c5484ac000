// What the clients of an HttpServer may cost in time and in connections. There is no clock to move
// by hand here: a limit is short, or it is so long that only a mistake could reach it. Sizes are
// tested with the parsers.
#include "godwit/base/limits.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "godwit/http/http_server.hpp"
#include "raw_client.hpp"
#include "wait.hpp"

namespace godwit::inline v0::http {
namespace {

using namespace std::chrono_literals;
using test::RawClient;
using test::run_until;

/// Answers each request at once, with more than any buffer takes if asked for "/big", but never if
/// asked for "/late".
struct App final : Handler, Exchange::Owner {
  void on_request(const Request& request, Exchange& exchange) override {
    if (request.path() == "/late") {
      ++late;
      return exchange.set_owner(this);
    }
    exchange.respond(200, "text/plain",
                     request.path() == "/big" ? std::string(16u << 20, 'b') : "ok");
  }
  void on_gone() override { --late; }
  std::size_t late = 0;
};

struct HttpLimits : testing::Test {
  void start(const Limits& limits, bool loopback_exempt = true) {
    server.reset();
    const auto note = [this](LogLevel, std::string_view line) { log += std::string(line) + "\n"; };
    auto made =
        HttpServer::tcp(loop, {"127.0.0.1", 0}, app,
                        {.limits = limits, .log = Log(note), .loopback_exempt = loopback_exempt});
    ASSERT_TRUE(made) << made.error().message;
    server.emplace(*std::move(made));
  }
  std::unique_ptr<RawClient> connect(int receive_buffer = 0) {
    return std::make_unique<RawClient>(loop, server->address(), receive_buffer);
  }

  Loop loop;
  App app;
  std::string log;
  std::optional<HttpServer> server;
};

const std::string get = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
const std::string get_big = "GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n";
const std::string get_late = "GET /late HTTP/1.1\r\nHost: localhost\r\n\r\n";
const std::string half_a_head = "GET / HTTP/1.1\r\nHost:";
const std::string half_a_body =
    "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhel";

using Time = Duration Limits::*;
constexpr Time all_times[] = {&Limits::http_header_time, &Limits::http_body_idle,
                              &Limits::http_request_time, &Limits::http_keep_alive,
                              &Limits::write_stall};

/// A client that stops somewhere, and the limits that may end its patience.
struct Stop {
  const char* name;
  const std::string& request;
  bool reads;             // else it takes nothing of the answer
  int answers;            // before it stops
  const char* last_word;  // how what it is told begins; nothing if it is just closed
  std::vector<Time> limits;
};
const Stop stops[] = {
    {"before the first request", "", true, 0, "", {&Limits::http_header_time}},
    {"in the head",
     half_a_head,
     true,
     0,
     "HTTP/1.1 408 ",
     {&Limits::http_header_time, &Limits::http_request_time}},
    {"in the body",
     half_a_body,
     true,
     0,
     "HTTP/1.1 408 ",
     {&Limits::http_body_idle, &Limits::http_request_time}},
    {"between requests", get, true, 1, "", {&Limits::http_keep_alive}},
    {"in the answer", get_big, false, 0, "", {&Limits::write_stall}},
};

TEST_F(HttpLimits, EachTimeEndsWhatItIsFor) {
  for (const Stop& stop : stops) {
    for (const Time limit : stop.limits) {
      Limits limits;
      for (const Time each : all_times) limits.*each = 1h;
      limits.*limit = 40ms;
      start(limits);
      auto client = connect(stop.reads ? 0 : 4096);
      if (!stop.request.empty()) client->send(stop.request);
      for (int i = 0; i < stop.answers; ++i) EXPECT_EQ(client->response().status, 200);
      if (stop.reads) {
        EXPECT_TRUE(client->wait_end()) << stop.name;
        EXPECT_TRUE(client->in.starts_with(stop.last_word)) << stop.name << ": " << client->in;
        EXPECT_EQ(client->in.empty(), std::string(stop.last_word).empty()) << client->in;
      }
      if (client->ended) client->close();  // the server waits for that after its last word
      EXPECT_TRUE(run_until(loop, [&] { return server->connections() == 0; })) << stop.name;
    }
  }
}

TEST_F(HttpLimits, NoTimeEndsWhatItIsNotFor) {
  for (const Stop& stop : stops) {
    Limits limits;
    for (const Time each : all_times) limits.*each = 40ms;
    for (const Time limit : stop.limits) limits.*limit = 1h;
    if (stop.answers > 0) limits.http_header_time = 1h;  // that of the first request
    start(limits);
    auto client = connect(stop.reads ? 0 : 4096);
    if (!stop.request.empty()) client->send(stop.request);
    for (int i = 0; i < stop.answers; ++i) EXPECT_EQ(client->response().status, 200);
    loop.run_for(200ms);
    if (stop.reads) client->take();
    EXPECT_EQ(server->connections(), 1u) << stop.name;
    EXPECT_FALSE(client->ended) << stop.name;
    EXPECT_EQ(client->in, "") << stop.name;
  }
}

TEST_F(HttpLimits, ConnectionsInAll) {
  Limits limits;
  limits.connections = 3;
  start(limits);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (std::size_t i = 1; i <= 5; ++i) {
    clients.push_back(connect());
    if (i <= 3) {
      clients.back()->send(get_late);
      ASSERT_TRUE(run_until(loop, [&] { return app.late == i; }));
      continue;
    }
    const test::RawResponse answer = clients.back()->response();
    EXPECT_EQ(answer.status, 503) << i;
    EXPECT_EQ(answer.field("connection"), "close");
    EXPECT_TRUE(clients.back()->wait_end());
    clients.back()->close();
    ASSERT_TRUE(run_until(loop, [&] { return server->connections() == 3; }));
  }
  clients[2].reset();
  ASSERT_TRUE(run_until(loop, [&] { return server->connections() == 2; }));
  EXPECT_EQ(connect()->ask(get).status, 200) << "one that ended made no room";
}

TEST_F(HttpLimits, AConnectionThatWaitsForItsNextRequestGivesWay) {
  Limits limits;
  limits.connections = 4;
  start(limits);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(connect());
  clients[0]->send(get_late);
  clients[1]->send(half_a_head);
  ASSERT_TRUE(run_until(loop, [&] { return app.late == 1; }));
  EXPECT_EQ(clients[2]->ask(get).status, 200);
  for (int i = 0; i < 10; ++i) {
    clients.push_back(connect());
    EXPECT_EQ(clients.back()->ask(get).status, 200) << "idle connections lock it out";
    EXPECT_LE(server->connections(), 4u);
  }
  EXPECT_TRUE(clients[2]->wait_end());
  EXPECT_TRUE(clients[3]->wait_end());
  EXPECT_EQ(app.late, 1u);
  clients[1]->send(" localhost\r\n\r\n");
  EXPECT_EQ(clients[1]->response().status, 200) << "it was in the middle of its request";
}

TEST_F(HttpLimits, ThoseThatAreRefusedTakeNoRoom) {
  Limits limits;
  limits.connections = 2;
  start(limits);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (std::size_t i = 1; i <= 2; ++i) {
    clients.push_back(connect());
    clients.back()->send(get_late);
    ASSERT_TRUE(run_until(loop, [&] { return app.late == i; }));
  }
  int told = 0;
  for (int i = 0; i < 120; ++i) {  // and they stay, to be told why, but not all of them
    clients.push_back(connect());
    EXPECT_TRUE(clients.back()->wait_end());
    if (clients.back()->in.starts_with("HTTP/1.1 503 ")) ++told;
    EXPECT_LE(server->connections(), 102u);
  }
  EXPECT_GE(told, 100);
  clients.front()->close();
  EXPECT_TRUE(run_until(loop, [&] { return server->connections() <= 101; }));
  EXPECT_EQ(connect()->ask(get).status, 200);
}

TEST_F(HttpLimits, ConnectionsOfOneAddress) {
  Limits limits;
  limits.connections_per_address = 3;
  start(limits, false);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 1; i <= 3; ++i) {
    clients.push_back(connect());
    EXPECT_EQ(clients.back()->ask(get).status, 200) << i;
  }
  auto fourth = connect();
  const test::RawResponse refused = fourth->response();
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("your address"), std::string::npos) << refused.body;
  EXPECT_TRUE(fourth->wait_end());
  fourth->close();
  EXPECT_TRUE(run_until(loop, [&] { return server->connections() == 3; }));
  EXPECT_NE(log.find("127.0.0.1"), std::string::npos) << log;
  clients.pop_back();
  ASSERT_TRUE(run_until(loop, [&] { return server->connections() == 2; }));
  EXPECT_EQ(connect()->ask(get).status, 200) << "one that ended made no room";
}

TEST_F(HttpLimits, ConnectionsOfTheOwnMachineAreExempt) {
  Limits limits;
  limits.connections_per_address = 3;
  start(limits);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 1; i <= 5; ++i) {
    clients.push_back(connect());
    EXPECT_EQ(clients.back()->ask(get).status, 200) << i;
  }
}

}  // namespace
}  // namespace godwit::inline v0::http
