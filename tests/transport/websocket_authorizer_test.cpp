// The handshake of a WebSocket with an authorizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "authorizer.hpp"
#include "godwit/http/http_server.hpp"
#include "godwit/transport/websocket.hpp"
#include "script_server.hpp"
#include "wait.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using http::AfterRefusal;
using test::run_until;
using test::ScriptServer;
using test::TestAuthorizer;
using testing::HasSubstr;

/// Takes WebSockets of whoever has the token.
struct Server : http::Handler {
  explicit Server(Loop& loop_, std::string token_ = "new") : loop(loop_), token(std::move(token_)) {
    server.emplace(
        std::move(*http::HttpServer::tcp(loop, *Address::parse("127.0.0.1:0"), *this, {})));
  }
  void on_request(const http::Request&, http::Exchange& exchange) override {
    exchange.respond(404, {}, {});
  }
  std::optional<http::Response> on_upgrade(const http::Request& request, Stream& stream,
                                           std::string_view rest) override {
    keys.emplace_back(request.fields.find("Sec-WebSocket-Key").value_or(""));
    tokens.emplace_back(request.fields.find("Authorization").value_or(""));
    if (tokens.back() != "Bearer " + token) {
      return http::Response{.status = status,
                            .fields = {{"WWW-Authenticate", "Bearer"}, {"DPoP-Nonce", "n1"}},
                            .body = body};
    }
    auto socket = WebSocketTransport::accept(loop, std::move(stream), request, rest, {});
    sockets.push_back(*std::move(socket));
    return std::nullopt;
  }
  http::Url url() const { return *http::Url::parse("ws://" + server->address() + "/mcp"); }

  Loop& loop;
  std::string token;
  int status = 401;
  std::string body = "who are you";
  std::vector<std::string> keys, tokens;
  std::vector<std::unique_ptr<WebSocketTransport>> sockets;
  std::optional<http::HttpServer> server;
};

struct Rig {
  Loop loop;
  std::shared_ptr<TestAuthorizer> authorizer = std::make_shared<TestAuthorizer>();
  std::optional<Result<std::unique_ptr<rpc::Transport>>> outcome;
  std::optional<WebSocketConnector> attempt;
  int outcomes = 0;

  void connect(const http::Url& url, WebSocketConnectOptions options = {}) {
    options.authorizer = authorizer;
    options.proxy_from_environment = false;
    attempt.emplace(connect_websocket(
        loop, url,
        [this](Result<std::unique_ptr<rpc::Transport>> got) {
          ++outcomes;
          outcome.emplace(std::move(got));
        },
        options));
    EXPECT_TRUE(authorizer->asked.empty()) << "nothing is asked inside the call";
  }
  bool wait() {
    return run_until(loop, [&] { return outcome.has_value(); });
  }
  void settle() { loop.run_for(20ms); }
};

TEST(WebSocketAuthorizer, ItsFieldsGoWithTheHandshake) {
  Rig rig;
  Server server(rig.loop, "old");
  rig.connect(server.url(), {.fields = {{"authorization", "fixed"}}});
  ASSERT_TRUE(rig.wait());
  ASSERT_TRUE(*rig.outcome) << rig.outcome->error().message;
  EXPECT_EQ(server.tokens, std::vector<std::string>{"Bearer old"});
  EXPECT_EQ(rig.authorizer->asked[0].method, "GET");
  EXPECT_EQ(rig.authorizer->asked[0].url, server.url().text());
  ASSERT_EQ(rig.authorizer->responses.size(), 1u);
  EXPECT_EQ(rig.authorizer->responses[0].status, 101);
}

TEST(WebSocketAuthorizer, ARefusedHandshakeIsMadeAgain) {
  for (const int status : {401, 403}) {
    Rig rig;
    Server server(rig.loop);
    server.status = status;
    rig.connect(server.url());
    ASSERT_TRUE(rig.wait());
    ASSERT_TRUE(*rig.outcome) << rig.outcome->error().message;
    ASSERT_EQ(rig.authorizer->refusals.size(), 1u);
    EXPECT_EQ(rig.authorizer->refusals[0].status, status);
    EXPECT_EQ(rig.authorizer->refusals[0].body, "who are you");
    EXPECT_EQ(rig.authorizer->refusals[0].sent, "Bearer old");
    EXPECT_EQ(rig.authorizer->refusals[0].fields.find("DPoP-Nonce"), "n1");
    ASSERT_EQ(server.keys.size(), 2u);
    EXPECT_NE(server.keys[0], server.keys[1]);
  }
}

TEST(WebSocketAuthorizer, TheTimeOfTheHandshakeWaitsForTheDecision) {
  Rig rig;
  Server server(rig.loop);
  rig.authorizer->keep_refusals();
  WebSocketConnectOptions options;
  options.websocket.limits.ws_handshake_time = 1s;
  rig.connect(server.url(), options);
  ASSERT_TRUE(run_until(rig.loop, [&] { return !rig.authorizer->waiting.empty(); }));
  rig.loop.run_for(1200ms);
  EXPECT_FALSE(rig.outcome);
  rig.authorizer->token = "new";
  rig.authorizer->waiting[0](AfterRefusal::send_again);
  ASSERT_TRUE(rig.wait());
  EXPECT_TRUE(*rig.outcome);
}

TEST(WebSocketAuthorizer, EachDecisionHasItsOutcome) {
  Rig fails;
  Server server(fails.loop);
  fails.authorizer->on_refusal = [](auto reply) { reply(AfterRefusal::fail); };
  fails.connect(server.url());
  ASSERT_TRUE(fails.wait());
  EXPECT_THAT(fails.outcome->error().message, HasSubstr("401"));

  Rig error_;
  Server other(error_.loop);
  error_.authorizer->on_refusal = [](auto reply) { reply(Error{.code = 3, .message = "denied"}); };
  error_.connect(other.url());
  ASSERT_TRUE(error_.wait());
  EXPECT_EQ(error_.outcome->error(), (Error{.code = 3, .message = "denied"}));
  EXPECT_TRUE(is_not_authorized(error_.outcome->error()));
}

TEST(WebSocketAuthorizer, IsBoundedByTheLimits) {
  for (const std::size_t limit : {0u, 2u}) {
    Rig rig;
    Server server(rig.loop, "never");
    server.body = std::string(1000, 'x');
    WebSocketConnectOptions options;
    options.websocket.limits.authorization_retries = limit;
    options.websocket.limits.refusal_body_bytes = 100;
    rig.connect(server.url(), options);
    ASSERT_TRUE(rig.wait());
    EXPECT_THAT(rig.outcome->error().message, HasSubstr("401"));
    EXPECT_EQ(server.keys.size(), limit + 1);
    EXPECT_EQ(rig.authorizer->refusals.size(), limit);
    for (const auto& seen : rig.authorizer->refusals) EXPECT_EQ(seen.body.size(), 100u);
  }
}

TEST(WebSocketAuthorizer, ARefusalThatBreaksOffIsStillOne) {
  ScriptServer server([](ScriptServer::Peer& peer) {
    peer.read();
    peer.write("HTTP/1.1 401 X\r\nContent-Length: 100\r\n\r\nhalf");
  });
  Rig rig;
  rig.authorizer->on_refusal = [](auto reply) { reply(AfterRefusal::fail); };
  rig.connect(http::Url::parse(server.url()).value());
  ASSERT_TRUE(rig.wait());
  EXPECT_EQ(rig.authorizer->refusals[0].body, "half");
  EXPECT_THAT(rig.outcome->error().message, HasSubstr("401"));
}

TEST(WebSocketAuthorizer, WhatGoesWrongInItEndsTheAttempt) {
  using Reply = http::AuthorizerReply<http::Fields>;
  const std::pair<std::function<void(Reply)>, const char*> cases[] = {
      {[](Reply reply) { reply(error("no key")); }, "no key"},
      {[](Reply) { throw std::runtime_error("secret"); }, "threw"},
      {[](Reply) {}, "without an answer"},
      {[](Reply reply) { reply(http::Fields{{"Sec-WebSocket-Key", "x"}}); }, "Sec-WebSocket-Key"},
      {[](Reply reply) { reply(http::Fields{{"Upgrade", "x"}}); }, "Upgrade"}};
  for (const auto& [answer, message] : cases) {
    Rig rig;
    Server server(rig.loop);
    rig.authorizer->on_authorize = [&](const auto&, Reply reply) { answer(std::move(reply)); };
    rig.connect(server.url());
    ASSERT_TRUE(rig.wait());
    EXPECT_THAT(rig.outcome->error().message, HasSubstr(message));
    EXPECT_TRUE(is_not_authorized(rig.outcome->error()));
    EXPECT_TRUE(server.keys.empty());
  }
}

TEST(WebSocketAuthorizer, ThatNeverAnswersHasALimit) {
  Rig rig;
  Server server(rig.loop);
  rig.authorizer->keep_refusals();
  WebSocketConnectOptions options;
  options.websocket.limits.authorization_time = 20ms;
  rig.connect(server.url(), options);
  ASSERT_TRUE(rig.wait());
  EXPECT_THAT(rig.outcome->error().message, HasSubstr("authorization_time"));
}

TEST(WebSocketAuthorizer, TheAttemptMayBeGivenUpMeanwhileAndInsideItsCalls) {
  for (int where = 0; where < 4; ++where) {
    Rig rig;
    Server server(rig.loop);
    bool gone = false;
    const auto destroy = [&] {
      rig.attempt.reset();
      gone = true;
    };
    if (where == 0) {
      rig.authorizer->on_authorize = [&](const auto&, auto reply) {
        destroy();
        reply(http::Fields{});
      };
    } else if (where == 1) {
      rig.authorizer->on_head = [&](int) { destroy(); };
    } else if (where == 2) {
      rig.authorizer->on_refusal = [&](auto reply) {
        destroy();
        reply(AfterRefusal::send_again);
      };
    } else {
      rig.authorizer->keep_refusals();
    }
    rig.connect(server.url());
    ASSERT_TRUE(run_until(rig.loop, [&] { return gone || !rig.authorizer->waiting.empty(); }));
    if (!gone) destroy();
    rig.settle();
    for (auto& reply : rig.authorizer->waiting) reply(AfterRefusal::send_again);
    rig.settle();
    EXPECT_EQ(rig.outcomes, 0);
    if (where == 3) {
      EXPECT_TRUE(rig.authorizer->refusals[0].stop.stop_requested());
    }
  }
}

TEST(WebSocketAuthorizer, MayAnswerFromAnotherThread) {
  Rig rig;
  Server server(rig.loop);
  std::vector<std::thread> threads;
  rig.authorizer->on_authorize = [&](const auto&, auto reply) {
    threads.emplace_back([reply = std::move(reply), fields = rig.authorizer->fields()]() mutable {
      reply(std::move(fields));
    });
  };
  rig.authorizer->on_refusal = [&](auto reply) {
    rig.authorizer->token = "new";
    threads.emplace_back([reply = std::move(reply)]() mutable { reply(AfterRefusal::send_again); });
  };
  rig.connect(server.url());
  ASSERT_TRUE(rig.wait());
  EXPECT_TRUE(*rig.outcome);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace godwit::inline v0
