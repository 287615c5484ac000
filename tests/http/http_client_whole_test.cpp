// HttpClient::fetch_whole: a document in one call, within bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "godwit/http/http_client.hpp"
#include "script_server.hpp"
#include "wait.hpp"

using namespace std::chrono_literals;
using godwit::Loop;
using godwit::Result;
using godwit::http::FetchBounds;
using godwit::http::FetchHandle;
using godwit::http::HttpClient;
using godwit::http::HttpRequest;
using godwit::http::Response;
using godwit::http::Url;
using godwit::test::run_until;
using godwit::test::ScriptServer;
using testing::HasSubstr;
using Peer = ScriptServer::Peer;

namespace {

struct Rig {
  Loop loop;
  std::optional<HttpClient> client{
      std::in_place, loop, godwit::http::HttpClientOptions{.proxy_from_environment = false}};
  std::optional<Result<Response>> got;
  int outcomes = 0;
  FetchHandle handle;

  void begin(const std::string& url, FetchBounds bounds = {}, bool follow = false) {
    HttpRequest request{.url = Url::parse(url).value()};
    request.follow_redirects = follow;
    handle = client->fetch_whole(
        std::move(request),
        [this](Result<Response> response) {
          ++outcomes;
          got.emplace(std::move(response));
        },
        bounds);
    EXPECT_EQ(outcomes, 0) << "nothing is called inside fetch_whole()";
  }
  bool wait() {
    return run_until(loop, [&] { return outcomes > 0; });
  }
};

ScriptServer::Script body_of(std::size_t size, bool chunked = false) {
  return [=](Peer& peer) {
    while (peer.read()) {
      if (!chunked) {
        peer.respond(200, "text/plain", std::string(size, 'x'), "X-More: yes\r\n");
        continue;
      }
      peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      for (std::size_t i = 0; i < size; ++i) peer.write("1\r\nx\r\n");
      peer.write("0\r\n\r\n");
    }
  };
}

TEST(HttpClientWhole, GivesStatusFieldsAndBody) {
  ScriptServer server([](Peer& peer) {
    while (peer.read()) {
      peer.respond(404, "application/json", "{\"a\":1}", "X-More: 1\r\nX-More: 2\r\n");
    }
  });
  Rig rig;
  rig.begin(server.url());
  ASSERT_TRUE(rig.wait());
  ASSERT_TRUE(*rig.got) << rig.got->error().message;
  const Response& response = **rig.got;
  EXPECT_EQ(response.status, 404) << "a status is an answer, not an error";
  EXPECT_EQ(response.body, "{\"a\":1}");
  EXPECT_EQ(response.fields.find("content-type"), "application/json");
  int more = 0;
  for (const auto& [name, value] : response.fields) more += name == "X-More";
  EXPECT_EQ(more, 2);
  EXPECT_FALSE(rig.handle.active());
}

TEST(HttpClientWhole, TheBodyHasABound) {
  for (const bool chunked : {false, true}) {
    for (const std::size_t size : {99u, 100u, 101u}) {
      ScriptServer server(body_of(size, chunked));
      Rig rig;
      rig.begin(server.url(), {.body_bytes = 100});
      ASSERT_TRUE(rig.wait());
      EXPECT_EQ(rig.got->has_value(), size <= 100) << size;
      if (size <= 100) {
        EXPECT_EQ((*rig.got)->body.size(), size);
      } else {
        EXPECT_THAT(rig.got->error().message, HasSubstr("more than 100 bytes"));
        EXPECT_EQ(rig.client->idle(), 0u) << "the rest of the body is not waited for";
      }
      EXPECT_EQ(rig.outcomes, 1);
    }
  }
}

TEST(HttpClientWhole, ABoundOfNothingTakesAnEmptyBody) {
  ScriptServer server(body_of(0));
  Rig rig;
  rig.begin(server.url(), {.body_bytes = 0});
  ASSERT_TRUE(rig.wait());
  EXPECT_TRUE(*rig.got);
}

TEST(HttpClientWhole, ATruncatedBodyIsAnError) {
  ScriptServer server([](Peer& peer) {
    peer.read();
    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
  });
  Rig rig;
  rig.begin(server.url());
  ASSERT_TRUE(rig.wait());
  EXPECT_FALSE(*rig.got);
  EXPECT_EQ(rig.outcomes, 1);
}

TEST(HttpClientWhole, ARedirectThatIsFollowedLeavesNothingBehind) {
  ScriptServer server([](Peer& peer) {
    while (const auto request = peer.read()) {
      if (request->target == "/b") {
        peer.respond(200, "text/plain", "there");
      } else {
        peer.respond(307, "text/plain", "elsewhere", "Location: /b\r\nX-Old: yes\r\n");
      }
    }
  });
  Rig rig;
  rig.begin(server.url("/a"), {}, true);
  ASSERT_TRUE(rig.wait());
  EXPECT_EQ((*rig.got)->status, 200);
  EXPECT_EQ((*rig.got)->body, "there");
  EXPECT_FALSE((*rig.got)->fields.find("X-Old"));
}

TEST(HttpClientWhole, TimeIsBounded) {
  const ScriptServer::Script slow[] = {
      [](Peer& peer) { peer.wait_for_end(); },
      [](Peer& peer) {
        peer.read();
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
        peer.wait_for_end();
      },
      [](Peer& peer) {
        peer.read();
        peer.write("HTTP/1.1 200 OK\r\n\r\n");
        while (peer.write("x")) std::this_thread::sleep_for(1ms);
      }};
  for (const ScriptServer::Script& script : slow) {
    ScriptServer server(script);
    Rig rig;
    rig.begin(server.url(), {.time = 30ms});
    ASSERT_TRUE(rig.wait());
    ASSERT_FALSE(*rig.got);
    EXPECT_TRUE(godwit::is_timeout(rig.got->error()));
    EXPECT_THAT(rig.got->error().message, HasSubstr("did not end within"));
    rig.loop.run_for(5ms);
    EXPECT_EQ(rig.outcomes, 1);
  }
}

TEST(HttpClientWhole, GivenUpItIsSilent) {
  ScriptServer server(body_of(10));
  Rig rig;
  rig.begin(server.url(), {.time = 10ms});
  rig.handle.cancel();
  rig.loop.run_for(30ms);
  EXPECT_EQ(rig.outcomes, 0);
  rig.begin(server.url());
  rig.handle = {};
  rig.loop.run_for(10ms);
  EXPECT_EQ(rig.outcomes, 0);
}

TEST(HttpClientWhole, EverythingMayGoInTheCallback) {
  for (const bool fails : {false, true}) {
    ScriptServer server(body_of(10));
    Rig rig;
    int outcomes = 0;
    rig.handle = rig.client->fetch_whole({.url = Url::parse(server.url()).value()},
                                         [&](const Result<Response>& response) {
                                           EXPECT_EQ(response.has_value(), !fails);
                                           ++outcomes;
                                           rig.handle = {};
                                           rig.client.reset();
                                         },
                                         {.body_bytes = fails ? 1u : 10u});
    ASSERT_TRUE(run_until(rig.loop, [&] { return outcomes > 0; }));
    rig.loop.run_for(5ms);
    EXPECT_EQ(outcomes, 1);
  }
}

TEST(HttpClientWhole, WhatCannotBeSentIsTold) {
  Rig rig;
  HttpRequest request;
  request.url = Url{.scheme = "ftp", .host = "x", .port = 1};
  rig.handle = rig.client->fetch_whole(std::move(request), [&](Result<Response> response) {
    ++rig.outcomes;
    rig.got.emplace(std::move(response));
  });
  ASSERT_TRUE(rig.wait());
  EXPECT_THAT(rig.got->error().message, HasSubstr("http://"));
}

}  // namespace
