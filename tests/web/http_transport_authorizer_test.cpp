// HttpTransport with an authorizer: each kind of request gets its fields, may be refused and is
// sent again; the server sees nothing twice that it took, the receiver neither.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "authorizer.hpp"
#include "godwit/transport/connection.hpp"
#include "http_rig.hpp"

namespace godwit::inline v0 {
namespace {

using http::AfterRefusal;
using test::TestAuthorizer;

struct Authorized {
  std::shared_ptr<TestAuthorizer> authorizer = std::make_shared<TestAuthorizer>();
  Rig rig;

  explicit Authorized(ScriptServer::Script script,
                      std::function<void(HttpTransportOptions&)> change = {})
      : rig(std::move(script), [&](HttpTransportOptions& options) {
          options.authorizer = authorizer;
          options.limits.sse_retry_least = 1ms;
          options.limits.sse_retry_most = 5ms;
          if (change) change(options);
        }) {}
  bool until(auto condition) { return run_until(rig.loop, condition); }
};

bool refuse_unless(Peer& peer, const SeenRequest& request, const std::string& token) {
  if (request.field("authorization") == "Bearer " + token) return false;
  peer.respond(401, "text/plain", "no", "WWW-Authenticate: Bearer scope=\"" + token + "\"\r\n");
  return true;
}

/// A server that takes each token once: every request is refused the first time.
struct Moody {
  std::mutex mutex{};
  std::set<std::string> refused{};
  bool operator()(Peer& peer, const SeenRequest& request) {
    const std::lock_guard lock(mutex);
    if (!refused.insert(request.method + request.field("last-event-id") + request.body).second) {
      return false;
    }
    return refuse_unless(peer, request, "a better one");
  }
};

std::size_t sent(const ScriptServer& server, std::string_view method, std::string_view text) {
  std::size_t count = 0;
  for (const SeenRequest& request : server.seen(method)) count += request.body_has(text);
  return count;
}

TEST(HttpTransportAuthorizer, APostIsSentAgain) {
  Authorized to(each([](Peer& peer, const SeenRequest& request) {
    if (!refuse_unless(peer, request, "new")) peer.json(result(request));
  }));
  to.rig.ask(1, "tools/list");
  EXPECT_TRUE(to.rig.got().contains("result"));
  EXPECT_EQ(to.authorizer->refusals.size(), 1u);
  EXPECT_EQ(to.authorizer->refusals[0].fields.find("WWW-Authenticate"), "Bearer scope=\"new\"");
  const auto seen = to.rig.server.seen();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].body, seen[1].body);
  auto first = seen[0].fields;
  auto second = seen[1].fields;
  first.erase("authorization");
  second.erase("authorization");
  EXPECT_EQ(first, second) << "all but the token stays as it was";
}

TEST(HttpTransportAuthorizer, EveryKindOfRequestOfASession) {
  Moody moody;
  std::atomic<int> streams = 0;
  Authorized to([&](Peer& peer) {
    while (const auto request = peer.read()) {
      if (moody(peer, *request)) continue;
      if (request->body_has("\"initialize\"")) {
        peer.json(result(*request, R"({"protocolVersion":")" + std::string(legacy) + "\"}"),
                  "Mcp-Session-Id: s-1\r\n");
      } else if (request->method == "DELETE") {
        peer.respond(204, "", "");
      } else if (request->method == "GET" && request->has("last-event-id")) {
        peer.begin_events();
        peer.write("id: e2\n");
        peer.event(R"({"jsonrpc":"2.0","id":2,"result":{"late":true}})");
        return;
      } else if (request->method == "GET") {
        ++streams;
        peer.begin_events();
        peer.event(R"({"jsonrpc":"2.0","method":"notifications/own"})");
        peer.wait_for_end();
        return;
      } else if (request->body_has("tools/call")) {
        peer.begin_events();
        peer.write("id: e1\nretry: 1\n");
        peer.event(R"({"jsonrpc":"2.0","method":"notifications/early"})");
        return;
      } else {
        peer.respond(202, "", "");
      }
    }
  });
  to.rig.begin();
  ASSERT_TRUE(to.until([&] { return streams == 1; }));
  to.rig.call(2, "tools/call", R"({"name":"x"})");
  ASSERT_TRUE(to.rig.wait(3));
  to.rig.idle();
  EXPECT_EQ(to.rig.to.messages.size(), 3u) << "nothing of a stream comes twice";
  int early = 0, late = 0;
  for (const std::string& message : to.rig.to.messages) {
    early += message.find("notifications/early") != message.npos;
    late += message.find("late") != message.npos;
  }
  EXPECT_EQ(early, 1);
  EXPECT_EQ(late, 1);
  const ScriptServer& server = to.rig.server;
  EXPECT_EQ(sent(server, "POST", "\"initialize\""), 2u);
  EXPECT_EQ(sent(server, "POST", "notifications/initialized"), 2u);
  EXPECT_EQ(sent(server, "POST", "tools/call"), 2u);
  to.rig.transport->close();
  ASSERT_TRUE(to.until([&] { return to.rig.to.closed == 1; }));
  EXPECT_EQ(server.seen("DELETE").size(), 2u);
  EXPECT_EQ(server.seen("GET").size(), 4u) << "two streams, each refused once";
  std::set<std::string> methods;
  for (const auto& seen : to.authorizer->refusals) methods.insert(seen.method);
  EXPECT_EQ(methods, (std::set<std::string>{"POST", "GET", "DELETE"}));
  for (const auto& seen : to.authorizer->asked) EXPECT_EQ(seen.url, server.url());
  EXPECT_EQ(to.authorizer->asked.size(), server.seen().size()) << "once for each request";
}

TEST(HttpTransportAuthorizer, TheOlderTransport) {
  Moody moody;
  std::atomic<Peer*> stream = nullptr;
  Authorized to([&](Peer& peer) {
    while (const auto request = peer.read()) {
      if (moody(peer, *request)) continue;
      if (request->method == "GET") {
        peer.begin_events();
        peer.write("event: endpoint\ndata: /messages?s=1\n\n");
        stream = &peer;
        peer.wait_for_end();
        return;
      }
      if (request->target == "/mcp") {
        peer.respond(405, "", "");
        continue;
      }
      peer.respond(202, "", "");
      stream.load()->event(result(*request, R"({"protocolVersion":"2024-11-05"})"));
    }
  });
  to.rig.call(1, "initialize");
  EXPECT_TRUE(to.rig.got().contains("result"));
  bool posted = false;
  for (const auto& seen : to.authorizer->asked) {
    posted = posted || seen.url == to.rig.server.url("/messages?s=1");
  }
  EXPECT_TRUE(posted);
  EXPECT_EQ(to.authorizer->asked.size(), to.rig.server.seen().size());
  EXPECT_EQ(to.authorizer->refusals.size(), 2u) << "the POST and the stream";
}

TEST(HttpTransportAuthorizer, ItsErrorIsTheAnswer) {
  Authorized to(
      each([](Peer& peer, const SeenRequest& request) { refuse_unless(peer, request, "never"); }));
  to.authorizer->on_refusal = [](auto reply) {
    reply(Error{.code = 4711, .message = "the login was denied", .data = R"({"why":"x"})"});
  };
  to.rig.ask(1, "tools/list");
  ASSERT_TRUE(to.rig.wait(1));
  ASSERT_EQ(to.rig.to.failures.size(), 1u);
  EXPECT_EQ(to.rig.to.failures[0],
            (Error{.code = 4711, .message = "the login was denied", .data = R"({"why":"x"})"}));
  EXPECT_TRUE(is_not_authorized(to.rig.to.failures[0]));
  EXPECT_FALSE(HttpTransport::is_passing(to.rig.to.failures[0]));
}

TEST(HttpTransportAuthorizer, ThatGivesUpLeavesWhatTheServerSaid) {
  Authorized to(
      each([](Peer& peer, const SeenRequest& request) { refuse_unless(peer, request, "never"); }));
  to.authorizer->on_refusal = [](auto reply) { reply(AfterRefusal::fail); };
  to.rig.ask(1, "tools/list");
  EXPECT_THAT(to.rig.error(), HasSubstr("HTTP 401"));
  EXPECT_FALSE(is_not_authorized(to.rig.to.failures[0]));
}

TEST(HttpTransportAuthorizer, IsBoundedByTheLimit) {
  Authorized to(
      each([](Peer& peer, const SeenRequest& request) { refuse_unless(peer, request, "never"); }),
      [](HttpTransportOptions& options) { options.limits.authorization_retries = 2; });
  to.rig.ask(1, "tools/list");
  EXPECT_THAT(to.rig.error(), HasSubstr("HTTP 401"));
  EXPECT_EQ(to.rig.server.seen().size(), 3u);
  EXPECT_EQ(to.authorizer->refusals.size(), 2u);
}

TEST(HttpTransportAuthorizer, WithoutFieldsTheRequestFails) {
  Authorized to(each([](Peer& peer, const SeenRequest& request) { peer.json(result(request)); }));
  to.authorizer->on_authorize = [](const auto&, auto reply) {
    reply(Error{.code = 5, .message = "no token"});
  };
  to.rig.ask(1, "tools/list");
  ASSERT_TRUE(to.rig.wait(1));
  EXPECT_EQ(to.rig.to.failures[0], (Error{.code = 5, .message = "no token"}));
  EXPECT_TRUE(to.rig.server.seen().empty());
}

TEST(HttpTransportAuthorizer, CannotSetAFieldOfTheProtocol) {
  Authorized to(each([](Peer& peer, const SeenRequest& request) { peer.json(result(request)); }));
  to.authorizer->on_authorize = [](const auto&, auto reply) {
    reply(http::Fields{{"mcp-session-id", "stolen"}});
  };
  to.rig.ask(1, "tools/list");
  EXPECT_THAT(to.rig.error(), HasSubstr("mcp-session-id"));
  EXPECT_TRUE(to.rig.server.seen().empty());
}

TEST(HttpTransportAuthorizer, TakesThePlaceOfAFixedHeader) {
  Authorized to(each([](Peer& peer, const SeenRequest& request) { peer.json(result(request)); }),
                [](HttpTransportOptions& options) {
                  options.headers = {{"authorization", "fixed"}, {"X-Other", "stays"}};
                });
  to.rig.ask(1, "tools/list");
  to.rig.got();
  EXPECT_EQ(to.rig.server.seen()[0].field("authorization"), "Bearer old");
  EXPECT_EQ(to.rig.server.seen()[0].field("x-other"), "stays");
}

TEST(HttpTransportAuthorizer, SeveralRefusedAtOnceAreAllSeenAndAllAnswered) {
  Authorized to(each([](Peer& peer, const SeenRequest& request) {
    if (!refuse_unless(peer, request, "new")) peer.json(result(request));
  }));
  to.authorizer->keep_refusals();
  for (int id = 1; id <= 20; ++id) to.rig.ask(id, "tools/list");
  ASSERT_TRUE(to.until([&] { return to.authorizer->waiting.size() == 20; }));
  // One login for all of them.
  to.authorizer->token = "new";
  for (auto& reply : to.authorizer->waiting) reply(AfterRefusal::send_again);
  ASSERT_TRUE(to.rig.wait(20));
  std::set<std::string> ids;
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_TRUE(to.rig.got(i).contains("result"));
    ids.insert(to.rig.got(i)["id"].dump());
  }
  EXPECT_EQ(ids.size(), 20u);
}

// While it decides.

/// Counts what is held up.
struct HeldRecorder : Recorder {
  void on_held(const rpc::Id& id, bool now) override { held.emplace_back(id.text(), now); }
  std::vector<std::pair<std::string, bool>> held;
};

TEST(HttpTransportAuthorizer, TheReceiverIsToldThatARequestIsHeldUp) {
  Authorized to(each([](Peer& peer, const SeenRequest& request) {
    if (!refuse_unless(peer, request, "new")) peer.json(result(request));
  }));
  HeldRecorder receiver;
  to.rig.transport->start(receiver);
  to.authorizer->keep_refusals();
  to.rig.ask(7, "tools/list");
  ASSERT_TRUE(to.until([&] { return to.authorizer->waiting.size() == 1; }));
  using Held = std::vector<std::pair<std::string, bool>>;
  EXPECT_EQ(receiver.held, (Held{{"7", true}}));
  to.authorizer->token = "new";
  to.authorizer->waiting[0](AfterRefusal::send_again);
  ASSERT_TRUE(to.until([&] { return !receiver.messages.empty(); }));
  EXPECT_EQ(receiver.held, (Held{{"7", true}, {"7", false}}));
}

TEST(HttpTransportAuthorizer, WhatWaitsBehindTheEndOfTheHandshakeIsHeldUpToo) {
  Authorized to([](Peer& peer) {
    while (const auto request = peer.read()) {
      if (request->body_has("\"initialize\"")) {
        peer.json(result(*request, R"({"protocolVersion":")" + std::string(legacy) + "\"}"));
      } else if (request->body_has("initialized")) {
        if (!refuse_unless(peer, *request, "new")) peer.respond(202, "", "");
      } else if (request->method == "GET") {
        peer.respond(405, "", "");
      } else {
        peer.json(result(*request));
      }
    }
  });
  HeldRecorder receiver;
  to.rig.transport->start(receiver);
  to.authorizer->keep_refusals();
  to.rig.call(1, "initialize");
  ASSERT_TRUE(to.until([&] { return receiver.messages.size() == 1; }));
  to.rig.post(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  to.rig.call(2, "ping");
  ASSERT_TRUE(to.until([&] { return to.authorizer->waiting.size() == 1; }));
  to.rig.call(3, "ping");
  EXPECT_EQ(receiver.held.size(), 1u) << "not inside the call that sends it";
  using Held = std::vector<std::pair<std::string, bool>>;
  ASSERT_TRUE(to.until([&] { return receiver.held.size() == 2; }));
  EXPECT_EQ(receiver.held, (Held{{"2", true}, {"3", true}}));
  to.authorizer->token = "new";
  to.authorizer->waiting[0](AfterRefusal::send_again);
  ASSERT_TRUE(to.until([&] { return receiver.messages.size() == 3; }));
  EXPECT_EQ(receiver.held, (Held{{"2", true}, {"3", true}, {"2", false}, {"3", false}}));
}

TEST(HttpTransportAuthorizer, WhatWaitsBehindRequestsThatAreHeldUpIsHeldUpToo) {
  constexpr std::size_t most = 100;  // that a server is given at a time
  Authorized to(each([](Peer& peer, const SeenRequest& request) {
    if (!refuse_unless(peer, request, "new")) peer.json(result(request));
  }));
  HeldRecorder receiver;
  to.rig.transport->start(receiver);
  to.authorizer->keep_refusals();
  for (int id = 1; id <= 102; ++id) to.rig.ask(id, "tools/list");
  ASSERT_TRUE(to.until([&] { return receiver.held.size() == 102; }));
  EXPECT_EQ(to.authorizer->waiting.size(), most);
  for (const auto& [id, held] : receiver.held) EXPECT_TRUE(held);
  to.authorizer->token = "new";
  for (auto& reply : to.authorizer->waiting) reply(AfterRefusal::send_again);
  ASSERT_TRUE(to.until([&] { return receiver.messages.size() == 102; }));
  EXPECT_EQ(receiver.held.size(), 204u);
  // One of them given up makes room.
  to.authorizer->token = "old";
  to.authorizer->waiting.clear();
  receiver.held.clear();
  for (int id = 201; id <= 302; ++id) to.rig.ask(id, "tools/list");
  ASSERT_TRUE(to.until([&] { return receiver.held.size() == 102; }));
  to.authorizer->token = "new";
  to.rig.post(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":201}})");
  ASSERT_TRUE(to.until([&] { return receiver.messages.size() == 104; }));
  EXPECT_EQ(receiver.held.size(), 104u) << "the two that waited go on";
}

TEST(HttpTransportAuthorizer, ALoginDoesNotCountAgainstTheTimeoutOfACall) {
  auto authorizer = std::make_shared<TestAuthorizer>();
  ScriptServer server(each([](Peer& peer, const SeenRequest& request) {
    if (!refuse_unless(peer, request, "new")) peer.json(result(request));
  }));
  Loop loop;
  HttpTransportOptions options{.url = http::Url::parse(server.url()).value()};
  options.authorizer = authorizer;
  options.proxy_from_environment = false;
  authorizer->keep_refusals();
  Connection connection(loop, HttpTransport::make(loop, std::move(options)));
  std::optional<Result<Value>> outcome;
  connection.peer().call("m", rpc::no_params,
                         [&](Result<Value> got) { outcome.emplace(std::move(got)); },
                         {.timeout = 1s});
  ASSERT_TRUE(run_until(loop, [&] { return !authorizer->waiting.empty(); }));
  loop.run_for(1200ms);
  EXPECT_FALSE(outcome);
  authorizer->token = "new";
  authorizer->waiting[0](AfterRefusal::send_again);
  ASSERT_TRUE(run_until(loop, [&] { return outcome.has_value(); }));
  EXPECT_TRUE(*outcome) << outcome->error().message;
}

TEST(HttpTransportAuthorizer, ACallThatIsCancelledMeanwhileIsNotSentAgain) {
  for (const bool stateless : {true, false}) {
    Authorized to(stateful([&](Peer& peer, const SeenRequest& request) {
      return request.body_has("tools/") && refuse_unless(peer, request, "new");
    }));
    to.authorizer->keep_refusals();
    if (stateless) {
      to.rig.ask(2, "tools/list");
    } else {
      to.rig.begin();
      to.rig.call(2, "tools/list");
    }
    ASSERT_TRUE(to.until([&] { return to.authorizer->waiting.size() == 1; }));
    to.rig.post(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}})");
    ASSERT_TRUE(to.until([&] { return to.authorizer->refusals[0].stop.stop_requested(); }));
    to.authorizer->token = "new";
    to.authorizer->waiting[0](AfterRefusal::send_again);
    to.rig.idle();
    EXPECT_EQ(sent(to.rig.server, "POST", "tools/list"), 1u);
    EXPECT_EQ(sent(to.rig.server, "POST", "cancelled"), 0u) << "the server never took the request";
    EXPECT_TRUE(to.rig.to.messages.empty());
  }
}

TEST(HttpTransportAuthorizer, ClosingEndsEverything) {
  Authorized to(stateful([](Peer& peer, const SeenRequest& request) {
    if (request.body_has("initialize")) return false;
    return refuse_unless(peer, request, "new");
  }));
  to.rig.begin();
  to.authorizer->keep_refusals();
  to.rig.call(2, "tools/list");
  to.rig.post(R"({"jsonrpc":"2.0","id":"q","result":{}})");
  ASSERT_TRUE(to.until([&] { return to.authorizer->waiting.size() >= 2; }));
  to.rig.transport->close();
  ASSERT_TRUE(to.until([&] { return to.rig.to.closed == 1; }));
  to.rig.idle();
  for (const auto& seen : to.authorizer->refusals) EXPECT_TRUE(seen.stop.stop_requested());
  for (auto& reply : to.authorizer->waiting) reply(AfterRefusal::send_again);
  to.rig.idle();
  EXPECT_TRUE(to.rig.to.messages.empty());
}

TEST(HttpTransportAuthorizer, TheTransportMayGoInsideItsCallsAndMeanwhile) {
  for (int where = 0; where < 4; ++where) {
    Authorized to(each([](Peer& peer, const SeenRequest& request) {
      if (!refuse_unless(peer, request, "new")) peer.json(result(request));
    }));
    bool gone = false;
    const auto destroy = [&] {
      to.rig.transport.reset();
      gone = true;
    };
    if (where == 0) {
      to.authorizer->on_authorize = [&](const auto&, auto reply) {
        destroy();
        reply(http::Fields{});
      };
    } else if (where == 1) {
      to.authorizer->on_head = [&](int) { destroy(); };
    } else if (where == 2) {
      to.authorizer->on_refusal = [&](auto reply) {
        destroy();
        reply(AfterRefusal::send_again);
      };
    } else {
      to.authorizer->keep_refusals();
    }
    to.rig.ask(1, "tools/list");
    to.rig.ask(2, "tools/list");
    ASSERT_TRUE(to.until([&] { return gone || !to.authorizer->waiting.empty(); }));
    if (!gone) destroy();
    to.rig.idle();
    for (auto& reply : to.authorizer->waiting) reply(AfterRefusal::send_again);
    to.rig.idle(5ms);
    EXPECT_TRUE(to.rig.to.messages.empty());
  }
}

TEST(HttpTransportAuthorizer, AHookThatThrowsOrNeverAnswersIsAnOutcome) {
  for (const bool throws : {true, false}) {
    Authorized to(
        each([](Peer& peer, const SeenRequest& request) { refuse_unless(peer, request, "new"); }),
        [](HttpTransportOptions& options) { options.limits.authorization_time = 20ms; });
    if (throws) {
      to.authorizer->on_refusal = [](auto) { throw std::runtime_error("secret"); };
    } else {
      to.authorizer->keep_refusals();
    }
    to.rig.ask(1, "tools/list");
    EXPECT_THAT(to.rig.error(), HasSubstr(throws ? "threw" : "authorization_time"));
    to.rig.ask(2, "tools/list");
    EXPECT_THAT(to.rig.error(1), HasSubstr("authorizer")) << "the transport lives on";
  }
}

// The session.

TEST(HttpTransportAuthorizer, ASessionThatEndedIsStillOne) {
  std::atomic<bool> ended = false;
  Authorized to(stateful([&](Peer& peer, const SeenRequest& request) {
    if (!ended || request.method != "POST") return false;
    if (!refuse_unless(peer, request, "new")) peer.respond(404, "", "");
    return true;
  }));
  to.rig.begin();
  to.rig.call(2, "tools/list");
  to.rig.got(0);
  ended = true;
  to.rig.call(3, "tools/list");
  ASSERT_TRUE(to.until([&] { return !to.rig.to.failures.empty(); }));
  EXPECT_TRUE(HttpTransport::is_session_ended(to.rig.to.failures[0]));
  EXPECT_TRUE(is_not_executed(to.rig.to.failures[0]));
}

TEST(HttpTransportAuthorizer, WhatIsHeldUpWhenTheSessionEndsWasNotExecuted) {
  std::atomic<bool> ended = false;
  Authorized to(stateful([&](Peer& peer, const SeenRequest& request) {
    if (request.body_has("tools/list")) return refuse_unless(peer, request, "new");
    if (!ended || request.method != "POST") return false;
    peer.respond(404, "", "");
    return true;
  }));
  to.rig.begin();
  to.authorizer->keep_refusals();
  to.rig.call(2, "tools/list");
  ASSERT_TRUE(to.until([&] { return to.authorizer->waiting.size() == 1; }));
  ended = true;
  to.rig.call(3, "ping");
  ASSERT_TRUE(to.until([&] { return to.rig.to.failures.size() == 2; }));
  for (const Error& each : to.rig.to.failures) {
    EXPECT_TRUE(HttpTransport::is_session_ended(each)) << each.message;
  }
}

TEST(HttpTransportAuthorizer, AStreamOfTheServerThatIsRefusedForGoodIsNotAskedForAgain) {
  std::atomic<int> streams = 0;
  Authorized to(stateful([&](Peer& peer, const SeenRequest& request) {
    if (request.method != "GET") return false;
    if (++streams > 1) return refuse_unless(peer, request, "never");
    peer.begin_events();
    peer.write("id: e1\nretry: 1\ndata:\n\n");
    peer.cut();
    return true;
  }));
  to.authorizer->on_refusal = [](auto reply) { reply(error("denied")); };
  to.rig.begin();
  ASSERT_TRUE(to.until([&] { return streams == 2 && !to.rig.lines.empty(); }));
  to.rig.idle(50ms);
  EXPECT_EQ(streams, 2);
  EXPECT_THAT(to.rig.lines.back(), HasSubstr("denied"));
  to.rig.call(2, "ping");
  EXPECT_TRUE(to.rig.got().contains("result"));
}

}  // namespace
}  // namespace godwit::inline v0
