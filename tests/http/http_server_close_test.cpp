// How exchanges, connections and an HttpServer itself end: clients that go away, handlers that
// fail, drain.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "serving.hpp"

namespace godwit::inline v0::http {
namespace {

using namespace std::chrono_literals;

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

// Whoever is told that one client went away may break off all the others, also those that the
// server is just about to look at.
TEST_F(HttpServing, WhoIsToldThatAClientIsGoneMayEndTheOthers) {
  struct Chain final : Exchange::Owner {
    void on_gone() override {
      ++gone;
      for (const auto& each : *others) {
        if (Exchange* const exchange = std::exchange(each->exchange, nullptr)) exchange->abort();
      }
    }
    std::vector<std::unique_ptr<Waiting>>* others = nullptr;
    int gone = 0;
  };
  Limits limits;
  limits.write_stall = 20ms;
  start(limits);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(connect(4096));
    clients.back()->send(get("/open"));
    ASSERT_TRUE(until([&] { return app.waiting.size() == clients.size(); }));
  }
  // The first does not read, and is given up at a look at the clock.
  Chain chain;
  chain.others = &app.waiting;
  Exchange* const stuck = std::exchange(app.waiting[0]->exchange, nullptr);
  stuck->set_owner(&chain);
  stuck->write(std::string(app.big, 'x'));
  EXPECT_TRUE(until([&] { return chain.gone > 0; }));
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
  EXPECT_EQ(chain.gone, 1);
  auto next = connect();
  next->send(get("/next"));
  EXPECT_EQ(next->response().status, 200);
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

TEST_F(HttpServing, WhatIsThrownAfterTheAnswerIsNotASecondAnswer) {
  auto client = connect();
  client->send(get("/answer-and-throw") + get("/next"));
  EXPECT_EQ(client->response().body, "said");
  EXPECT_EQ(client->response().body, "GET /next ");
  settle();
  EXPECT_EQ(client->in, "");
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

}  // namespace
}  // namespace godwit::inline v0::http
