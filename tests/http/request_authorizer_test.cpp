// A RequestAuthorizer as HttpClient asks it. What HttpTransport and the WebSocket client make of it
// is tested there.
#include "godwit/http/request_authorizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "authorizer.hpp"
#include "godwit/http/http_client.hpp"
#include "script_server.hpp"
#include "wait.hpp"

namespace godwit::inline v0::http {
namespace {

using namespace std::chrono_literals;
using test::run_until;
using test::ScriptServer;
using test::SeenRequest;
using test::TestAuthorizer;
using testing::HasSubstr;
using Peer = ScriptServer::Peer;

// Asked by HttpClient.

/// A server that wants this token.
ScriptServer::Script wants(std::string token, std::string more = {}) {
  return [token = std::move(token), more = std::move(more)](Peer& peer) {
    while (const auto request = peer.read()) {
      if (request->field("authorization") == "Bearer " + token) {
        peer.respond(200, "text/plain", request->body, "DPoP-Nonce: n2\r\n");
      } else {
        peer.respond(401, "text/plain", "who are you",
                     "WWW-Authenticate: Bearer\r\nWWW-Authenticate: DPoP algs=\"ES256\"\r\n"
                     "DPoP-Nonce: n1\r\n" +
                         more);
      }
    }
  };
}

struct Rig {
  Loop loop;
  std::shared_ptr<TestAuthorizer> authorizer = std::make_shared<TestAuthorizer>();
  std::optional<HttpClient> client;
  int status = 0, heads = 0, ends = 0;
  std::string body;
  std::vector<bool> held;
  std::optional<Error> error;
  FetchHandle handle;
  std::function<void()> on_held;

  explicit Rig(Limits limits = {}) {
    client.emplace(loop, HttpClientOptions{.limits = limits, .proxy_from_environment = false});
  }
  void begin(HttpRequest request) {
    request.authorizer = authorizer;
    handle = client->fetch(std::move(request),
                           {.on_head =
                                [this](int got, FieldsView) {
                                  ++heads;
                                  status = got;
                                },
                            .on_body = [this](std::string_view piece) { body += piece; },
                            .on_end =
                                [this](Result<void> how) {
                                  ++ends;
                                  if (!how) error = how.error();
                                },
                            .on_held =
                                [this](bool now) {
                                  held.push_back(now);
                                  if (on_held) on_held();
                                }});
    EXPECT_TRUE(authorizer->asked.empty()) << "nothing is asked inside fetch()";
  }
  void post(const ScriptServer& server, std::string text = "body") {
    begin({.method = "POST",
           .url = Url::parse(server.url()).value(),
           .fields = {{"Content-Type", "text/plain"}, {"Authorization", "of the program"}},
           .body = std::move(text)});
  }
  bool wait() {
    return run_until(loop, [&] { return ends > 0; });
  }
  /// Lets everything happen that can happen now.
  void settle() { loop.run_for(10ms); }
};

TEST(RequestAuthorizer, ItsFieldsGoWithTheRequest) {
  ScriptServer server(wants("old"));
  Rig rig;
  rig.post(server);
  ASSERT_TRUE(rig.wait());
  EXPECT_EQ(rig.status, 200);
  EXPECT_EQ(rig.body, "body");
  ASSERT_EQ(rig.authorizer->asked.size(), 1u);
  EXPECT_EQ(rig.authorizer->asked[0].method, "POST");
  EXPECT_EQ(rig.authorizer->asked[0].url, server.url());
  ASSERT_EQ(server.seen().size(), 1u);
  EXPECT_EQ(server.seen()[0].field("authorization"), "Bearer old") << "not that of the program";
  EXPECT_TRUE(rig.held.empty());
  // A nonce may come with a success.
  ASSERT_EQ(rig.authorizer->responses.size(), 1u);
  EXPECT_EQ(rig.authorizer->responses[0].status, 200);
  EXPECT_EQ(rig.authorizer->responses[0].sent, "Bearer old");
  EXPECT_EQ(rig.authorizer->responses[0].fields.find("DPoP-Nonce"), "n2");
}

TEST(RequestAuthorizer, ARefusedRequestIsSentAgainWithItsBody) {
  ScriptServer server(wants("new"));
  Rig rig;
  rig.post(server);
  ASSERT_TRUE(rig.wait());
  EXPECT_EQ(rig.status, 200);
  EXPECT_EQ(rig.body, "body");
  EXPECT_EQ(rig.heads, 1) << "nobody hears of the refusal";
  EXPECT_EQ(rig.held, (std::vector{true, false}));
  ASSERT_EQ(rig.authorizer->refusals.size(), 1u);
  const TestAuthorizer::Seen& refusal = rig.authorizer->refusals[0];
  EXPECT_EQ(refusal.status, 401);
  EXPECT_EQ(refusal.sent, "Bearer old");
  EXPECT_EQ(refusal.body, "who are you");
  EXPECT_EQ(refusal.attempt, 0u);
  EXPECT_EQ(refusal.fields.find("DPoP-Nonce"), "n1");
  int challenges = 0;
  for (const auto& [name, value] : refusal.fields) challenges += name == "WWW-Authenticate";
  EXPECT_EQ(challenges, 2);
  ASSERT_EQ(rig.authorizer->asked.size(), 2u);
  EXPECT_EQ(rig.authorizer->asked[1].attempt, 1u);
  EXPECT_EQ(rig.authorizer->responses.size(), 2u);
  EXPECT_EQ(server.connections(), 1) << "the connection is used again";
}

TEST(RequestAuthorizer, AForbiddenOneToo) {
  ScriptServer server([](Peer& peer) {
    while (const auto request = peer.read()) {
      const bool good = request->field("authorization") == "Bearer new";
      peer.respond(good ? 204 : 403, "", "");
    }
  });
  Rig rig;
  rig.post(server);
  ASSERT_TRUE(rig.wait());
  EXPECT_EQ(rig.status, 204);
  EXPECT_EQ(rig.authorizer->refusals[0].status, 403);
}

TEST(RequestAuthorizer, OtherStatusesAreNotItsConcern) {
  for (const int status : {400, 402, 404, 407, 500}) {
    ScriptServer server([=](Peer& peer) {
      while (peer.read()) peer.respond(status, "text/plain", "no");
    });
    Rig rig;
    rig.post(server);
    ASSERT_TRUE(rig.wait());
    EXPECT_EQ(rig.status, status);
    EXPECT_TRUE(rig.authorizer->refusals.empty());
    EXPECT_EQ(rig.authorizer->responses.size(), 1u);
  }
}

TEST(RequestAuthorizer, ThatGivesUpLeavesTheResponse) {
  ScriptServer server(wants("never"));
  Rig rig;
  rig.authorizer->on_refusal = [](auto reply) { reply(AfterRefusal::fail); };
  rig.post(server);
  ASSERT_TRUE(rig.wait());
  EXPECT_EQ(rig.status, 401);
  EXPECT_EQ(rig.body, "who are you");
  EXPECT_FALSE(rig.error);
  EXPECT_EQ(rig.heads, 1);
}

TEST(RequestAuthorizer, ItsErrorIsTheOutcome) {
  ScriptServer server(wants("never"));
  Rig rig;
  rig.authorizer->on_refusal = [](auto reply) { reply(Error{.code = 7, .message = "denied"}); };
  rig.post(server);
  ASSERT_TRUE(rig.wait());
  EXPECT_EQ(rig.status, 401);
  ASSERT_TRUE(rig.error);
  EXPECT_EQ(*rig.error, (Error{.code = 7, .message = "denied"}));
  EXPECT_TRUE(is_not_authorized(*rig.error));
  EXPECT_TRUE(is_not_executed(*rig.error));
}

TEST(RequestAuthorizer, WithoutFieldsNothingIsSent) {
  ScriptServer server(wants("old"));
  Rig rig;
  rig.authorizer->on_authorize = [](const auto&, auto reply) { reply(error("no key")); };
  rig.post(server);
  ASSERT_TRUE(rig.wait());
  EXPECT_EQ(rig.error->message, "no key");
  EXPECT_TRUE(is_not_authorized(*rig.error));
  EXPECT_EQ(rig.heads, 0);
  EXPECT_EQ(server.connections(), 0);
}

TEST(RequestAuthorizer, IsAskedAsOftenAsTheLimitSays) {
  for (const std::size_t limit : {0u, 1u, 3u}) {
    ScriptServer server(wants("never"));
    Rig rig({.authorization_retries = limit});
    rig.post(server);
    ASSERT_TRUE(rig.wait());
    EXPECT_EQ(rig.status, 401);
    EXPECT_EQ(rig.authorizer->refusals.size(), limit);
    EXPECT_EQ(server.seen().size(), limit + 1);
    EXPECT_EQ(rig.authorizer->responses.size(), limit + 1) << "it sees the last one, too";
    EXPECT_EQ(rig.body, "who are you");
  }
}

TEST(RequestAuthorizer, SeesABoundedPieceOfTheBody) {
  for (const std::size_t size : {99u, 100u, 101u, 100'000u}) {
    ScriptServer server([=](Peer& peer) {
      while (peer.read()) peer.respond(401, "text/plain", std::string(size, 'x'));
    });
    Rig rig({.refusal_body_bytes = 100});
    rig.authorizer->on_refusal = [](auto reply) { reply(AfterRefusal::fail); };
    rig.post(server);
    ASSERT_TRUE(rig.wait());
    EXPECT_EQ(rig.authorizer->refusals[0].body.size(), std::min<std::size_t>(size, 100));
    EXPECT_EQ(rig.body.size(), std::min<std::size_t>(size, 100));
    EXPECT_EQ(rig.status, 401);
    EXPECT_EQ(rig.ends, 1);
    EXPECT_EQ(rig.client->idle(), size <= 100 ? 1u : 0u);
  }
}

TEST(RequestAuthorizer, ARefusalWhoseBodyBreaksOffIsStillOne) {
  std::atomic<int> seen = 0;
  ScriptServer server([&](Peer& peer) {
    while (const auto request = peer.read()) {
      if (++seen == 1) {
        peer.write("HTTP/1.1 401 X\r\nContent-Length: 100\r\n\r\nhalf");
        return;
      }
      peer.respond(200, "text/plain", request->body);
    }
  });
  Rig rig;
  rig.post(server);
  ASSERT_TRUE(rig.wait());
  EXPECT_EQ(rig.status, 200);
  EXPECT_EQ(rig.authorizer->refusals[0].body, "half");
}

TEST(RequestAuthorizer, IsAskedAnewForARedirectAndAClosedConnection) {
  std::atomic<int> seen = 0;
  ScriptServer server([&](Peer& peer) {
    while (const auto request = peer.read()) {
      switch (++seen) {
        case 1:
          peer.respond(200, "text/plain", "kept");
          break;
        case 2:
          return;  // it closes the connection without an answer
        case 3:
          peer.respond(307, "", "", "Location: /elsewhere\r\n");
          break;
        default:
          peer.respond(200, "text/plain", request->target);
      }
    }
  });
  Rig rig;
  rig.begin({.url = Url::parse(server.url()).value()});
  ASSERT_TRUE(rig.wait());
  rig.ends = 0;
  rig.body.clear();
  rig.authorizer->asked.clear();
  int number = 0;
  rig.authorizer->on_authorize = [&](const auto&, auto reply) {
    reply(Fields{{"DPoP", "proof-" + std::to_string(++number)}});
  };
  HttpRequest request{.url = Url::parse(server.url()).value()};
  request.follow_redirects = true;
  rig.begin(std::move(request));
  ASSERT_TRUE(rig.wait());
  EXPECT_EQ(rig.body, "/elsewhere");
  ASSERT_EQ(rig.authorizer->asked.size(), 3u);
  EXPECT_THAT(rig.authorizer->asked[2].url, HasSubstr("/elsewhere"));
  const auto all = server.seen();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[1].field("dpop"), "proof-1");
  EXPECT_EQ(all[2].field("dpop"), "proof-2") << "a proof is good for one request";
  EXPECT_EQ(all[3].field("dpop"), "proof-3");
  EXPECT_TRUE(rig.authorizer->refusals.empty());
}

TEST(RequestAuthorizer, NothingGoesToAnotherOrigin) {
  ScriptServer other(wants("old"));
  ScriptServer server([&](Peer& peer) {
    while (peer.read()) peer.respond(307, "", "", "Location: " + other.url() + "\r\n");
  });
  Rig rig;
  HttpRequest request{.url = Url::parse(server.url()).value()};
  request.follow_redirects = true;
  rig.begin(std::move(request));
  ASSERT_TRUE(rig.wait());
  EXPECT_EQ(rig.status, 307);
  EXPECT_TRUE(other.seen().empty());
}

TEST(RequestAuthorizer, CannotBreakTheProtocol) {
  for (const char* name : {"Host", "content-length", "Content-Type", "Transfer-Encoding", "Accept",
                           "Accept-Encoding", "Connection", "upgrade", "Expect", "TE",
                           "Last-Event-ID", "Sec-WebSocket-Key", "Proxy-Authorization", "X-Mine"}) {
    ScriptServer server(wants("old"));
    Rig rig;
    rig.authorizer->on_authorize = [&](const auto&, auto reply) { reply(Fields{{name, "x"}}); };
    HttpRequest request{.url = Url::parse(server.url()).value()};
    request.is_reserved = [](std::string_view field) { return same_name(field, "x-mine"); };
    rig.begin(std::move(request));
    ASSERT_TRUE(rig.wait());
    ASSERT_TRUE(rig.error) << name;
    EXPECT_THAT(rig.error->message, HasSubstr(name));
    EXPECT_TRUE(server.seen().empty());
  }
}

// When it answers.

TEST(RequestAuthorizer, MayAnswerLaterFromTheLoop) {
  ScriptServer server(wants("new"));
  Rig rig;
  std::optional<AuthorizerReply<Fields>> reply;
  rig.authorizer->on_authorize = [&](const auto&, auto given) { reply.emplace(std::move(given)); };
  rig.authorizer->keep_refusals();
  rig.post(server);
  for (int attempt = 0; attempt < 2; ++attempt) {
    ASSERT_TRUE(run_until(rig.loop, [&] { return reply.has_value(); }));
    rig.settle();
    EXPECT_EQ(server.seen().size(), static_cast<std::size_t>(attempt));
    (*reply)(rig.authorizer->fields());
    reply.reset();
    if (attempt > 0) break;
    ASSERT_TRUE(run_until(rig.loop, [&] { return !rig.authorizer->waiting.empty(); }));
    rig.settle();
    EXPECT_EQ(rig.held, std::vector{true});
    rig.authorizer->token = "new";
    rig.authorizer->waiting[0](AfterRefusal::send_again);
    rig.authorizer->waiting[0](AfterRefusal::fail);
  }
  ASSERT_TRUE(rig.wait());
  EXPECT_EQ(rig.status, 200);
  EXPECT_EQ(rig.held, (std::vector{true, false}));
}

TEST(RequestAuthorizer, MayAnswerFromAnotherThread) {
  ScriptServer server(wants("new"));
  std::vector<std::thread> threads;
  for (int round = 0; round < 20; ++round) {
    Rig rig;
    rig.authorizer->on_authorize = [&](const auto&, auto reply) {
      threads.emplace_back([reply = std::move(reply), fields = rig.authorizer->fields()]() mutable {
        reply(std::move(fields));
      });
    };
    rig.authorizer->on_refusal = [&](auto reply) {
      rig.authorizer->token = "new";
      threads.emplace_back(
          [reply = std::move(reply)]() mutable { reply(AfterRefusal::send_again); });
    };
    rig.post(server);
    ASSERT_TRUE(rig.wait());
    EXPECT_EQ(rig.status, 200);
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(RequestAuthorizer, ThatDropsTheQuestionEndsTheRequest) {
  ScriptServer server(wants("new"));
  Rig rig;
  rig.authorizer->on_refusal = [](auto) {};
  rig.post(server);
  ASSERT_TRUE(rig.wait());
  EXPECT_THAT(rig.error->message, HasSubstr("without an answer"));
  Rig other;
  other.authorizer->on_authorize = [](const auto&, auto) {};
  other.post(server);
  ASSERT_TRUE(other.wait());
  EXPECT_THAT(other.error->message, HasSubstr("without an answer"));
}

TEST(RequestAuthorizer, ThatThrowsEndsTheRequest) {
  ScriptServer server(wants("new"));
  for (int where = 0; where < 3; ++where) {
    Rig rig;
    if (where == 0) {
      rig.authorizer->on_authorize = [](const auto&, auto) { throw std::runtime_error("secret"); };
    } else if (where == 1) {
      rig.authorizer->on_refusal = [](auto) { throw std::runtime_error("secret"); };
    } else {
      rig.authorizer->on_head = [](int) { throw std::runtime_error("secret"); };
    }
    rig.post(server);
    ASSERT_TRUE(rig.wait());
    ASSERT_TRUE(rig.error);
    EXPECT_EQ(rig.error->message, "the authorizer of the request threw");
    EXPECT_TRUE(is_not_authorized(*rig.error));
  }
}

TEST(RequestAuthorizer, ThatAnswersAndThrowsHasThrown) {
  ScriptServer server(wants("old"));
  Rig rig;
  rig.authorizer->on_authorize = [&](const auto&, auto reply) {
    reply(rig.authorizer->fields());
    throw 42;
  };
  rig.post(server);
  ASSERT_TRUE(rig.wait());
  EXPECT_TRUE(rig.error);
  EXPECT_TRUE(server.seen().empty());
}

TEST(RequestAuthorizer, ThatNeverAnswersHasALimit) {
  ScriptServer server(wants("new"));
  for (const bool refused : {false, true}) {
    Rig rig({.authorization_time = 20ms});
    std::vector<AuthorizerReply<Fields>> kept;
    if (refused) {
      rig.authorizer->keep_refusals();
    } else {
      rig.authorizer->on_authorize = [&](const auto&, auto reply) {
        kept.push_back(std::move(reply));
      };
    }
    rig.post(server);
    ASSERT_TRUE(rig.wait());
    EXPECT_THAT(rig.error->message, HasSubstr("Limits::authorization_time"));
    const auto& asked = refused ? rig.authorizer->refusals : rig.authorizer->asked;
    EXPECT_TRUE(asked[0].stop.stop_requested());
    for (auto& reply : kept) reply(Fields{});  // too late
    for (auto& reply : rig.authorizer->waiting) reply(AfterRefusal::send_again);
    rig.settle();
    EXPECT_EQ(rig.ends, 1);
  }
}

// The end of whoever asked.

TEST(RequestAuthorizer, ARequestThatIsGivenUpStopsIt) {
  ScriptServer server(wants("new"));
  Rig rig;
  rig.authorizer->keep_refusals();
  rig.post(server);
  ASSERT_TRUE(run_until(rig.loop, [&] { return !rig.authorizer->waiting.empty(); }));
  int stopped = 0;
  const std::stop_callback callback(rig.authorizer->refusals[0].stop, [&] { ++stopped; });
  rig.settle();
  EXPECT_EQ(stopped, 0);
  rig.handle.cancel();
  EXPECT_EQ(stopped, 0) << "not inside cancel()";
  rig.settle();
  EXPECT_EQ(stopped, 1);
  rig.authorizer->waiting[0](AfterRefusal::send_again);
  rig.settle();
  EXPECT_EQ(rig.ends + rig.heads, 0);
  EXPECT_EQ(server.seen().size(), 1u);
}

TEST(RequestAuthorizer, EverythingMayGoInsideItsCalls) {
  ScriptServer server(wants("new"));
  for (int where = 0; where < 4; ++where) {
    Rig rig;
    bool gone = false;
    const auto destroy = [&] {
      rig.handle = {};
      rig.client.reset();
      rig.authorizer.reset();
      gone = true;
    };
    TestAuthorizer& authorizer = *rig.authorizer;
    if (where == 0) {
      authorizer.on_authorize = [&](const auto& request, auto reply) {
        destroy();
        EXPECT_EQ(request.method, "POST") << "what was given stays good during the call";
        EXPECT_EQ(request.url.text(), server.url());
        reply(Fields{{"Authorization", "x"}});
      };
    } else if (where == 1) {
      authorizer.on_head = [&](int) { destroy(); };
    } else if (where == 2) {
      authorizer.on_refusal = [&](auto reply) {
        destroy();
        reply(AfterRefusal::send_again);
      };
    } else {
      rig.on_held = destroy;
    }
    rig.post(server);
    ASSERT_TRUE(run_until(rig.loop, [&] { return gone; }));
    rig.settle();
    EXPECT_EQ(rig.ends + rig.heads, 0);
  }
}

TEST(RequestAuthorizer, AReplyMayOutliveTheLoop) {
  ScriptServer server(wants("new"));
  std::shared_ptr<TestAuthorizer> authorizer;
  {
    Rig rig;
    rig.authorizer->keep_refusals();
    rig.post(server);
    ASSERT_TRUE(run_until(rig.loop, [&] { return !rig.authorizer->waiting.empty(); }));
    authorizer = rig.authorizer;
  }
  std::thread([&] { authorizer->waiting[0](AfterRefusal::send_again); }).join();
  authorizer->waiting.clear();
}

// Whole documents.

TEST(RequestAuthorizer, TheTimeOfADocumentWaitsForTheDecision) {
  ScriptServer server(wants("new"));
  Rig rig;
  rig.authorizer->keep_refusals();
  std::optional<Result<Response>> got;
  HttpRequest request{.url = Url::parse(server.url()).value()};
  request.authorizer = rig.authorizer;
  rig.handle = rig.client->fetch_whole(
      std::move(request), [&](Result<Response> response) { got.emplace(std::move(response)); },
      {.time = 1s});
  ASSERT_TRUE(run_until(rig.loop, [&] { return !rig.authorizer->waiting.empty(); }));
  rig.loop.run_for(1200ms);
  EXPECT_FALSE(got);
  rig.authorizer->token = "new";
  rig.authorizer->waiting[0](AfterRefusal::send_again);
  ASSERT_TRUE(run_until(rig.loop, [&] { return got.has_value(); }));
  ASSERT_TRUE(*got) << got->error().message;
  EXPECT_EQ((*got)->status, 200);
}

TEST(RequestAuthorizer, ADocumentCanBeRefusedForGood) {
  ScriptServer server(wants("new"));
  for (const bool with_error : {false, true}) {
    Rig rig;
    rig.authorizer->on_refusal = [=](auto reply) {
      if (with_error) return reply(error("denied"));
      reply(AfterRefusal::fail);
    };
    std::optional<Result<Response>> got;
    HttpRequest request{.url = Url::parse(server.url()).value()};
    request.authorizer = rig.authorizer;
    rig.handle = rig.client->fetch_whole(
        std::move(request), [&](Result<Response> response) { got.emplace(std::move(response)); });
    ASSERT_TRUE(run_until(rig.loop, [&] { return got.has_value(); }));
    EXPECT_EQ(got->has_value(), !with_error);
    if (!with_error) {
      EXPECT_EQ((*got)->status, 401);
      EXPECT_EQ((*got)->body, "who are you");
    }
  }
}

}  // namespace
}  // namespace godwit::inline v0::http
