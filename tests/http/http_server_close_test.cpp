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

// A server that is destroyed by what it calls. The loop goes on afterwards.

TEST_F(HttpServing, AHandlerMayDestroyTheServer) {
  for (const bool answers_first : {false, true}) {
    start();
    auto client = connect();
    auto other = connect();
    other->send(get("/late"));
    ASSERT_TRUE(until([&] { return app.waiting.size() == 1; }));
    app.call = [&](Exchange& exchange) {
      if (answers_first) exchange.respond(200, "text/plain", "said");
      server.reset();
      if (!answers_first) exchange.respond(200, "text/plain", "said");
    };
    client->send(get("/call") + get("/never"));
    EXPECT_TRUE(until([&] { return !server.has_value(); }));
    EXPECT_TRUE(client->wait_end());
    EXPECT_TRUE(other->wait_end());
    EXPECT_EQ(app.waiting[0]->gone, 1);
    app.waiting.clear();
  }
  EXPECT_EQ(app.seen.find("/never"), std::string::npos);
}

TEST_F(HttpServing, WhoIsToldThatAClientIsGoneMayDestroyTheServer) {
  struct Last final : Exchange::Owner {
    void on_gone() override { server->reset(); }
    void on_drained() override { server->reset(); }
    std::optional<HttpServer>* server = nullptr;
  };
  for (const bool drained : {false, true}) {
    start();
    Last last;
    last.server = &server;
    app.call = [&](Exchange& exchange) {
      exchange.begin(200, "text/plain");
      exchange.write(std::string(app.big, 'x'));
      exchange.set_owner(&last);
    };
    auto client = connect();
    client->send(get("/call"));
    ASSERT_TRUE(until([&] { return app.requests > 0; }));
    if (!drained) client->reset();
    EXPECT_TRUE(until([&] {
      if (drained) client->take();
      return !server.has_value();
    }));
    settle();
  }
}

TEST_F(HttpServing, WhoIsToldThatItIsDrainedMayDestroyTheServer) {
  start();
  server->drain([&] { server.reset(); });
  EXPECT_TRUE(until([&] { return !server.has_value(); }));
  settle();
}

TEST_F(HttpServing, WhoTakesAnUpgradedStreamMayDestroyTheServer) {
  start();
  std::optional<Stream> taken;
  app.upgrade = [&](const Request&, Stream& stream) -> std::optional<Response> {
    taken.emplace(std::move(stream));
    server.reset();
    return std::nullopt;
  };
  auto client = connect();
  client->send(get("/", "Connection: upgrade\r\nUpgrade: websocket\r\n"));
  EXPECT_TRUE(until([&] { return taken.has_value(); }));
  settle();
  EXPECT_FALSE(server.has_value());
  taken.reset();
  EXPECT_TRUE(client->wait_end());
}

TEST_F(HttpServing, WhoMakesRoomMayDestroyTheServer) {
  Limits limits;
  limits.connections = 1;
  auto made = HttpServer::tcp(loop, {"127.0.0.1", 0}, app, {.limits = limits, .make_room = [&] {
                                                              server.reset();
                                                              return true;
                                                            }});
  ASSERT_TRUE(made);
  server.emplace(*std::move(made));
  auto first = connect();
  first->send(get("/late"));
  ASSERT_TRUE(until([&] { return app.waiting.size() == 1; }));
  auto second = connect();
  EXPECT_TRUE(second->wait_end());
  EXPECT_FALSE(server.has_value());
  EXPECT_EQ(app.waiting[0]->gone, 1);
}

TEST_F(HttpServing, AServerThatIsReplacedTellsThoseWhoAnswer) {
  auto client = connect();
  client->send(get("/late"));
  ASSERT_TRUE(until([&] { return app.waiting.size() == 1; }));
  auto next = HttpServer::tcp(loop, {"127.0.0.1", 0}, app);
  ASSERT_TRUE(next);
  *server = *std::move(next);
  EXPECT_EQ(app.waiting[0]->gone, 1);
  EXPECT_TRUE(client->wait_end());
  EXPECT_EQ(connect()->ask(get("/1")).status, 200);
}

TEST_F(HttpServing, NobodyIsToldThatADestroyedServerIsDrained) {
  start();
  bool told = false;
  server->drain([&] { told = true; });
  server.reset();
  settle();
  EXPECT_FALSE(told);
}

// Requests that were sent ahead.

TEST_F(HttpServing, RequestsSentAheadAreAnsweredAlthoughTheClientHasSaidAll) {
  auto client = connect();
  client->send(get("/1") + get("/2") + get("/3"));
  client->half_close();
  EXPECT_EQ(client->response().body, "GET /1 ");
  EXPECT_EQ(client->response().body, "GET /2 ");
  EXPECT_EQ(client->response().body, "GET /3 ");
  EXPECT_TRUE(client->wait_end());
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
}

TEST_F(HttpServing, FarMoreRequestsThanAreKeptMayBeSentAhead) {
  auto client = connect();
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += get("/" + std::to_string(i));
  std::string_view left = many;
  ASSERT_TRUE(client->wait([&] {
    left.remove_prefix(client->send_some(left));
    return app.requests == 10'000;
  }));
}

TEST_F(HttpServing, RequestsThatWaitForRoomAreAnsweredAlthoughTheClientHasSaidAll) {
  auto client = connect(4096);
  client->send(get("/big") + get("/big") + get("/last"));
  client->half_close();
  settle();
  EXPECT_EQ(client->response().body.size(), app.big);
  EXPECT_EQ(client->response().body.size(), app.big);
  EXPECT_EQ(client->response().body, "GET /last ");
  EXPECT_TRUE(client->wait_end());
}

TEST_F(HttpServing, ABeginningOfARequestIsForgottenAtTheEnd) {
  auto client = connect();
  client->send(get("/1") + get("/2") + "GET /3 HT");
  client->half_close();
  EXPECT_EQ(client->response().body, "GET /1 ");
  EXPECT_EQ(client->response().body, "GET /2 ");
  EXPECT_TRUE(client->wait_end());
  EXPECT_EQ(client->in, "");
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
}

TEST_F(HttpServing, DrainAnswersTheNextOfThoseThatWereSentAhead) {
  auto client = connect();
  app.call = [&](Exchange& exchange) {
    exchange.respond(200, "text/plain", "said");
    loop.post([&] { server->drain([] {}); });
  };
  client->send(get("/call") + get("/2") + get("/3"));
  EXPECT_EQ(client->response().body, "said");
  const RawResponse last = client->response();
  EXPECT_EQ(last.body, "GET /2 ");
  EXPECT_EQ(last.field("connection"), "close");
  EXPECT_TRUE(client->wait_end());
}

// Handlers that fail.

TEST_F(HttpServing, AnUpgradeThatThrowsAfterItTookTheStreamEndsThatConnection) {
  start();
  app.upgrade = [&](const Request&, Stream& stream) -> std::optional<Response> {
    const Stream taken = std::move(stream);
    throw std::runtime_error("secret");
  };
  auto client = connect();
  client->send(get("/", "Connection: upgrade\r\nUpgrade: websocket\r\n"));
  EXPECT_TRUE(client->wait_end());
  EXPECT_NE(log.find("secret"), std::string::npos);
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
  EXPECT_EQ(connect()->ask(get("/1")).status, 200);
}

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
