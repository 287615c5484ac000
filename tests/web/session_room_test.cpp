// Room for new sessions: how many one address may have, who gives way at a bound, and how long a
// session lives that nobody came back to.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stateful.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::has;

struct Room : testing::Test {
  static SiteOptions bounds(std::size_t all, std::size_t of_one) {
    SiteOptions options;
    options.server.limits.sessions = all;
    options.server.limits.sessions_per_address = of_one;
    options.endpoint.sse_path = "/sse";
    return options;
  }
  void make(SiteOptions options) {
    made.emplace(std::move(options));
    made->server.tool("wait", "", parked.handler());
    made->server.tool("echo", "", [](City in) { return in.city; });
  }
  Site& site() { return *made; }

  FakeExchange& handshake(const std::string& address, const std::string& forwarded = {}) {
    FakeRequest request = Site::post(Site::initialize_body("2025-11-25"));
    request.peer(address + ":4711");
    if (!forwarded.empty()) request.with("X-Forwarded-For", forwarded);
    return site().send(std::move(request));
  }
  std::string connect(const std::string& address, const std::string& forwarded = {}) {
    FakeExchange& x = handshake(address, forwarded);
    EXPECT_EQ(x.status, 200) << x.body;
    const std::string session = x.field("Mcp-Session-Id");
    touch(session);
    return session;
  }
  FakeExchange& touch(const std::string& session) {
    return site().send(Site::in(session, Site::legacy_body("7", "ping")));
  }
  bool lives(const std::string& session) { return touch(session).status == 200; }

  Parked parked;
  std::optional<Site> made;
};

TEST_F(Room, AtTheBoundTheOldestOfTheAddressThatHasMostGivesWay) {
  make(bounds(5, 100));
  const std::string lonely = connect("192.0.2.1");
  std::vector<std::string> many;
  for (int i = 0; i < 4; ++i) many.push_back(connect("192.0.2.2"));
  touch(many[0]);  // now the second is the one used longest ago
  const std::string fresh = connect("192.0.2.3");
  EXPECT_EQ(site().web().sessions(), 5u);
  EXPECT_EQ(touch(many[1]).status, 404);
  for (const std::string& session : {lonely, fresh, many[0], many[2], many[3]}) {
    EXPECT_TRUE(lives(session));
  }
  EXPECT_EQ(site().server.sessions(), 5u) << "what gave way is still there";
}

TEST_F(Room, AnAddressHasAShareAndGivesWayToItself) {
  make(bounds(100, 3));
  const std::string other = connect("192.0.2.1");
  std::vector<std::string> mine;
  for (int i = 0; i < 10; ++i) mine.push_back(connect("192.0.2.2"));
  EXPECT_EQ(site().web().sessions(), 4u);
  EXPECT_TRUE(lives(other));
  for (std::size_t i = 0; i < mine.size(); ++i) {
    EXPECT_EQ(lives(mine[i]), i >= 7) << i;
  }
  // Of IPv6 a network is one address.
  for (int i = 0; i < 10; ++i) connect("[2001:db8::" + std::to_string(i) + "]");
  EXPECT_EQ(site().web().sessions(), 7u);
}

TEST_F(Room, ClientsWithoutAnAddressShareOnlyTheBoundOfAll) {
  make(bounds(8, 2));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(site().send(Site::post(Site::initialize_body("2025-11-25")).peer("")).status, 200);
  }
  EXPECT_EQ(site().web().sessions(), 8u);
}

TEST_F(Room, AFloodLocksNobodyOut) {
  make(bounds(100, 1'000));
  std::vector<std::string> good;
  for (int i = 0; i < 10; ++i) good.push_back(connect("192.0.2." + std::to_string(i)));
  for (int i = 0; i < 5'000; ++i) {
    EXPECT_EQ(handshake("198.51.100.1").status, 200);
    ASSERT_LE(site().web().sessions(), 100u);
  }
  for (const std::string& session : good) EXPECT_TRUE(lives(session));
  EXPECT_TRUE(lives(connect("203.0.113.9")));
}

TEST_F(Room, WhatIsInUseStays) {
  make(bounds(3, 100));
  const std::string working = connect("192.0.2.2");
  site().send(Site::in(working, Site::tool_body("1", "wait")));
  const std::string listening = connect("192.0.2.2");
  FakeExchange& stream = site().send(Site::get(listening));
  const std::string idle = connect("192.0.2.2");
  const std::string fresh = connect("192.0.2.3");
  EXPECT_FALSE(lives(idle));
  FakeExchange& kept = site().send(Site::get(fresh));
  // Nothing is idle now.
  FakeExchange& refused = handshake("192.0.2.4");
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.field("Retry-After"), "");
  EXPECT_TRUE(has(refused.body, "busy"));
  EXPECT_TRUE(has(refused.body, "-32603"));
  EXPECT_TRUE(stream.waiting());
  EXPECT_TRUE(kept.waiting());
  // What becomes idle can give way, also if it was looked at before.
  stream.go();
  EXPECT_EQ(handshake("192.0.2.4").status, 200);
  EXPECT_FALSE(lives(listening));
  parked.replies.at(0)("late");
  site().process();
  EXPECT_EQ(handshake("192.0.2.5").status, 200);
}

TEST_F(Room, AnAddressWhoseShareIsInUseIsTold) {
  make(bounds(100, 2));
  for (int i = 0; i < 2; ++i) site().send(Site::get(connect("192.0.2.2")));
  FakeExchange& refused = handshake("192.0.2.2");
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.field("Retry-After"), "");
  EXPECT_TRUE(has(refused.body, "busy"));
  EXPECT_EQ(handshake("192.0.2.3").status, 200);
}

TEST_F(Room, BehindATrustedProxyTheClientCounts) {
  SiteOptions options = bounds(100, 2);
  options.endpoint.proxies.networks.push_back(IpNetwork::parse("127.0.0.1").value());
  make(std::move(options));
  for (int i = 0; i < 10; ++i) connect("127.0.0.1", "192.0.2." + std::to_string(i));
  EXPECT_EQ(site().web().sessions(), 10u);
  for (int i = 0; i < 10; ++i) {
    connect("127.0.0.1", "203.0.113." + std::to_string(i) + ", 192.0.2.1");
  }
  EXPECT_EQ(site().web().sessions(), 11u) << "a client invented addresses";
  // Others are not believed.
  for (int i = 0; i < 10; ++i) connect("198.51.100.1", "192.0.2." + std::to_string(i));
  EXPECT_EQ(site().web().sessions(), 13u);
}

TEST_F(Room, WithoutATrustedProxyNobodyIsBelieved) {
  make(bounds(100, 2));
  for (int i = 0; i < 10; ++i) connect("127.0.0.1", "192.0.2." + std::to_string(i));
  EXPECT_EQ(site().web().sessions(), 2u);
}

TEST_F(Room, SessionsOfTheOldestTransportCount) {
  make(bounds(3, 2));
  const auto open = [&](const std::string& address) -> FakeExchange& {
    FakeRequest request("GET", "/sse");
    request.with("Host", "localhost").with("Accept", "text/event-stream").peer(address + ":1");
    return site().send(std::move(request));
  };
  FakeExchange& first = open("192.0.2.1");
  EXPECT_TRUE(first.waiting());
  EXPECT_TRUE(open("192.0.2.1").waiting());
  EXPECT_EQ(open("192.0.2.1").status, 429);
  EXPECT_EQ(handshake("192.0.2.1").status, 429);
  const std::string idle = connect("192.0.2.2");
  EXPECT_TRUE(open("192.0.2.3").waiting());
  EXPECT_FALSE(lives(idle));
  EXPECT_EQ(open("192.0.2.3").status, 503);
  first.go();
  site().process();
  EXPECT_EQ(handshake("192.0.2.1").status, 200);
}

TEST_F(Room, ASessionThatNobodyComesBackToEndsSoon) {
  make(bounds(100, 100));
  const Duration soon = Limits{}.session_first_message_time;
  const std::string forgotten = handshake("192.0.2.1").field("Mcp-Session-Id");
  const std::string asks = handshake("192.0.2.1").field("Mcp-Session-Id");
  const std::string listens = handshake("192.0.2.1").field("Mcp-Session-Id");
  const std::string notes = handshake("192.0.2.1").field("Mcp-Session-Id");
  site().pass(soon - 1ms);
  EXPECT_EQ(site().web().sessions(), 4u);
  EXPECT_EQ(site().send(Site::in(asks, Site::legacy_body("1", "ping"))).status, 200)
      << "without \"initialized\"";
  site().send(Site::get(listens)).go();
  EXPECT_EQ(site().send(Site::in(notes, Site::legacy_body("", "notifications/initialized"))).status,
            202);
  site().pass(1ms);
  EXPECT_EQ(site().web().sessions(), 3u);
  EXPECT_FALSE(lives(forgotten));
  site().pass(Limits{}.session_idle - 2ms);
  EXPECT_EQ(site().web().sessions(), 3u);
  site().pass(2ms);
  EXPECT_EQ(site().web().sessions(), 0u);
  EXPECT_EQ(site().server.sessions(), 0u);
}

TEST_F(Room, AStreamOfTheOldestTransportThatNobodyUsesEndsSoon) {
  make(bounds(100, 100));
  const auto open = [&](int messages) -> FakeExchange& {
    FakeExchange& x = site().send(
        FakeRequest("GET", "/sse").with("Host", "localhost").with("Accept", "text/event-stream"));
    const std::size_t at = x.body.find("data: ") + 6;
    const std::string to = x.body.substr(at, x.body.find('\n', at) - at);
    for (int i = 0; i < messages; ++i) {
      site().send(FakeRequest("POST", to)
                      .with("Host", "localhost")
                      .with("Content-Type", "application/json")
                      .body(i == 0 ? Site::initialize_body("2024-11-05")
                                   : Site::legacy_body("", "notifications/initialized")));
    }
    return x;
  };
  FakeExchange& silent = open(0);
  FakeExchange& forgotten = open(1);
  FakeExchange& good = open(2);
  site().pass(Limits{}.session_first_message_time);
  EXPECT_TRUE(silent.ended());
  EXPECT_TRUE(forgotten.ended());
  EXPECT_TRUE(good.streaming());
  site().pass(Limits{}.session_first_message_time);
  EXPECT_TRUE(good.streaming());
}

/// A site whose sessions may keep little together.
struct RoomForBytes : Room {
  RoomForBytes() {
    SiteOptions options = bounds(1'000, 1'000);
    options.server.limits.session_bytes = 20'000;
    options.server.limits.process_session_bytes = 400'000;
    make(std::move(options));
  }
  /// A client that has much to say about itself.
  FakeExchange& long_handshake(const std::string& address) {
    FakeRequest request = Site::post(Site::legacy_body(
        "0", "initialize",
        R"({"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a",
            "version":"1","description":")" +
            std::string(10'000, 'x') + R"("}})"));
    request.peer(address + ":1");
    return site().send(std::move(request));
  }
  void expect_room_for(int many, const std::string& address) {
    for (int i = 0; i < many; ++i) {
      FakeExchange& answer = long_handshake(address);
      ASSERT_NE(answer.field("Mcp-Session-Id"), "") << i << ": " << answer.body;
      ASSERT_LE(site().server.session_bytes(), 400'000u);
    }
  }
};

TEST_F(RoomForBytes, SessionsThatKeepMuchGiveWayToThoseWhoCome) {
  const std::string good = connect("192.0.2.1");
  expect_room_for(200, "198.51.100.1");
  EXPECT_TRUE(lives(good));
  EXPECT_TRUE(lives(connect("192.0.2.2")));
}

TEST_F(RoomForBytes, OlderSessionsThatKeepLittleDoNotHideThem) {
  std::vector<std::string> small;
  for (int i = 0; i < 100; ++i) small.push_back(connect("198.51.100.1"));
  expect_room_for(200, "198.51.100.1");
  for (const std::string& session : small) EXPECT_TRUE(lives(session));
}

TEST_F(RoomForBytes, WhoeverKeepsMostGivesWayHoweverManyHaveMoreSessions) {
  for (int address = 0; address < 70; ++address) {
    for (int i = 0; i < 3; ++i) connect("192.0.2." + std::to_string(address));
  }
  for (int i = 0; i < 2; ++i) expect_room_for(1, "198.51.100.1");
  for (int address = 1; address < 200; ++address) {
    expect_room_for(1, "203.0.113." + std::to_string(address));
  }
}

}  // namespace
}  // namespace godwit::inline v0
