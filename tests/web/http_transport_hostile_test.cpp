// HttpTransport against servers that mean harm or know no better: every call has one outcome, soon,
// and nothing that a server says ends the program.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "godwit/transport/connection.hpp"
#include "http_rig.hpp"

namespace godwit::inline v0 {
namespace {

using testing::Not;

constexpr std::string_view event_of_a =
    "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/a\"}\n";

/// Those that come back to a stream.
std::vector<SeenRequest> resumed(const ScriptServer& server) {
  std::vector<SeenRequest> out = server.seen("GET");
  std::erase_if(out, [](const SeenRequest& each) { return !each.has("last-event-id"); });
  return out;
}

// Identifiers of events, which are sent back.

TEST(HttpTransportHostile, AnEventIdThatNoFieldCanCarryIsNotSentBack) {
  const std::vector<std::string> ids = {
      "a\x01z", "a\x7f", " a", "a ", "\ta", std::string(2u << 20, 'x'), std::string(1025, 'x')};
  for (const std::string& id : ids) {
    Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
      if (!request.body_has("tools/call")) return false;
      peer.begin_events();
      // A good one first: the next one takes its place.
      peer.write("id: good\nretry: 1\ndata:\n\nid: " + id + "\n" + std::string(event_of_a) + "\n");
      peer.cut();
      return true;
    }));
    rig.begin();
    rig.call(2, "tools/call", R"({"name":"x"})");
    EXPECT_EQ(rig.got(0)["method"], "notifications/a");
    EXPECT_THAT(rig.error(1), HasSubstr("without an answer"));
    EXPECT_EQ(resumed(rig.server).size(), 0u);
  }
}

TEST(HttpTransportHostile, AnAnswerThatWasNotTakenIsSentAgain) {
  std::atomic<int> seen = 0;
  Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
            if (!request.body_has("\"result\"")) return false;
            if (++seen < 3) {
              peer.reset();
            } else {
              peer.respond(202, "", "");
            }
            return true;
          }),
          [](HttpTransportOptions& options) { options.limits.sse_retry_most = 1ms; });
  rig.begin();
  rig.post(R"({"jsonrpc":"2.0","id":"question","result":{}})");
  ASSERT_TRUE(run_until(rig.loop, [&] { return seen == 3; }));
  EXPECT_EQ(rig.to.closed, 0);
}

TEST(HttpTransportHostile, AnAnswerThatIsNeverTakenEndsTheSession) {
  Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
            if (!request.body_has("\"result\"")) return false;
            peer.reset();
            return true;
          }),
          [](HttpTransportOptions& options) { options.limits.sse_retry_most = 1ms; });
  rig.begin();
  rig.post(R"({"jsonrpc":"2.0","id":"question","result":{}})");
  ASSERT_TRUE(run_until(rig.loop, [&] { return rig.to.closed == 1; }));
  EXPECT_THAT(rig.to.why, HasSubstr("did not take an answer"));
}

TEST(HttpTransportHostile, AServersOwnStreamGoesOnAfterAnIdThatNoFieldCanCarry) {
  std::atomic<int> streams = 0;
  Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
            if (request.method != "GET") return false;
            peer.begin_events();
            if (++streams == 1) {
              peer.write("id: a\x01 \nretry: 1\n" + std::string(event_of_a) + "\n");
              peer.cut();
            } else {
              peer.event(R"({"jsonrpc":"2.0","method":"notifications/b"})");
              peer.wait_for_end();
            }
            return true;
          }),
          [](HttpTransportOptions& options) { options.limits.sse_retry_least = 1ms; });
  rig.begin();
  EXPECT_EQ(rig.got(0)["method"], "notifications/a");
  EXPECT_EQ(rig.got(1)["method"], "notifications/b");
  EXPECT_EQ(resumed(rig.server).size(), 0u);
}

TEST(HttpTransportHostile, AnEventIdAsLongAsTheLimitIsSentBack) {
  const std::string id(1024, 'x');
  Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
    if (request.body_has("tools/call")) {
      peer.begin_events();
      peer.write("id: " + id + "\nretry: 1\ndata:\n\n");
      peer.cut();
      return true;
    }
    if (!request.has("last-event-id")) return false;
    peer.begin_events();
    peer.event(R"({"jsonrpc":"2.0","id":2,"result":{}})");
    peer.cut();
    return true;
  }));
  rig.begin();
  rig.call(2, "tools/call", R"({"name":"x"})");
  EXPECT_TRUE(rig.got().contains("result"));
  ASSERT_EQ(resumed(rig.server).size(), 1u);
  EXPECT_EQ(resumed(rig.server)[0].field("last-event-id"), id);
}

TEST(HttpTransportHostile, AnEmptyEventIdClearsTheLastOne) {
  Rig rig(stateful([](Peer& peer, const SeenRequest& request) {
    if (!request.body_has("tools/call")) return false;
    peer.begin_events();
    peer.write("id: a\nretry: 1\ndata:\n\nid:\ndata:\n\n");
    peer.cut();
    return true;
  }));
  rig.begin();
  rig.call(2, "tools/call", R"({"name":"x"})");
  EXPECT_THAT(rig.error(), HasSubstr("without an answer"));
  EXPECT_EQ(resumed(rig.server).size(), 0u);
}

// Coming back.

TEST(HttpTransportHostile, ComesBackNoFasterThanTheLimitWhateverTheServerWishes) {
  std::atomic<int> gets = 0;
  Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
    if (!request.body_has("tools/call") && !request.has("last-event-id")) return false;
    peer.begin_events();
    if (gets++ == 4) {
      peer.event(R"({"jsonrpc":"2.0","id":2,"result":{}})");
    } else {
      peer.write("retry: 0\nid: " + std::to_string(gets) + "\ndata:\n\n");
    }
    peer.cut();
    return true;
  }));
  rig.begin();
  rig.call(2, "tools/call", R"({"name":"x"})");
  EXPECT_TRUE(rig.got().contains("result"));
  const auto seen = resumed(rig.server);
  ASSERT_EQ(seen.size(), 4u);
  for (std::size_t i = 1; i < seen.size(); ++i) {
    EXPECT_GE(seen[i].when - seen[i - 1].when, 100ms) << i;
  }
}

TEST(HttpTransportHostile, ComesBackNoLaterThanTheLimitWhateverTheServerWishes) {
  Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
            if (!request.body_has("tools/call") && !request.has("last-event-id")) return false;
            peer.begin_events();
            if (request.method == "GET") {
              peer.event(R"({"jsonrpc":"2.0","id":2,"result":{}})");
            } else {
              peer.write("retry: 18446744073709551615\nid: a\ndata:\n\n");
            }
            peer.cut();
            return true;
          }),
          [](HttpTransportOptions& options) { options.limits.sse_retry_most = 30ms; });
  rig.begin();
  rig.call(2, "tools/call", R"({"name":"x"})");
  EXPECT_TRUE(rig.got().contains("result"));
}

TEST(HttpTransportHostile, WaitsLongerEachTimeThatBringsNothingNew) {
  for (const bool own_stream : {false, true}) {
    std::atomic<int> streams = 0;
    Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
              if (own_stream ? request.method != "GET"
                             : !request.body_has("tools/call") && !request.has("last-event-id")) {
                return false;
              }
              peer.begin_events();
              if (streams++ == 5) {
                peer.event(R"({"jsonrpc":"2.0","method":"notifications/a"})");
                peer.wait_for_end();
              } else {
                peer.write("retry: 0\nid: same\ndata:\n\n");
                peer.cut();
              }
              return true;
            }),
            [](HttpTransportOptions& options) { options.limits.sse_retry_least = 10ms; });
    rig.begin();
    if (!own_stream) rig.call(2, "tools/call", R"({"name":"x"})");
    EXPECT_EQ(rig.got()["method"], "notifications/a");
    const auto seen = resumed(rig.server);
    ASSERT_EQ(seen.size(), 5u);
    EXPECT_GE(seen[2].when - seen[1].when, 20ms);
    EXPECT_GE(seen[3].when - seen[2].when, 40ms);
    EXPECT_GE(seen[4].when - seen[3].when, 80ms);
  }
}

// Talk that is no answer.

TEST(HttpTransportHostile, EndlessInterimAnswersEndTheCall) {
  for (const std::string_view interim :
       {"HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 X\r\nLink: </x>\r\n\r\n"}) {
    std::atomic<int> sent = 0;
    Rig rig(each([&](Peer& peer, const SeenRequest&) {
      while (sent < 100'000 && peer.write(interim)) ++sent;
      peer.wait_for_end();
    }));
    rig.ask(1, "tools/list");
    EXPECT_THAT(rig.error(), HasSubstr("1xx"));
    EXPECT_THAT(rig.error(), HasSubstr("http_interim_answers"));
  }
}

TEST(HttpTransportHostile, TakesAsManyInterimAnswersAsTheLimitEachTime) {
  Rig rig(each([](Peer& peer, const SeenRequest& request) {
    for (int i = 0; i < 16; ++i) peer.write("HTTP/1.1 102 Processing\r\n\r\n");
    peer.json(result(request));
  }));
  for (int i = 0; i < 3; ++i) {
    rig.ask(i, "tools/list");
    EXPECT_TRUE(rig.got(static_cast<std::size_t>(i)).contains("result"));
  }
}

TEST(HttpTransportHostile, EndlessTalkThatIsNoMessageEndsTheCall) {
  const std::vector<std::string> talk = {": hello\n\n",
                                         ":\n",
                                         "\n",
                                         "nonsense: 1\n\n",
                                         "retry: 5\n\n",
                                         "id: 5\n\n",
                                         "data:\n\n",
                                         "event: ping\ndata: 12345\n\n",
                                         "data: {\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}\n\n"};
  for (const std::string& each_time : talk) {
    std::string piece;
    while (piece.size() < 10'000) piece += each_time;
    std::atomic<std::size_t> sent = 0;
    Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
      if (!request.body_has("tools/call")) return false;
      peer.begin_events();
      while (sent < (64u << 20) && peer.write(piece)) sent += piece.size();
      peer.wait_for_end();
      return true;
    }));
    rig.begin();
    rig.call(2, "tools/call", R"({"name":"x"})");
    EXPECT_THAT(rig.error(), HasSubstr("sse_comment_bytes")) << each_time;
    EXPECT_LT(sent, 64u << 20) << each_time;
    EXPECT_EQ(resumed(rig.server).size(), 0u);
  }
}

TEST(HttpTransportHostile, TakesManyMessagesAndSomeComments) {
  constexpr int many = 5'000;
  Rig rig(stateful([](Peer& peer, const SeenRequest& request) {
    if (!request.body_has("tools/call")) return false;
    peer.begin_events();
    std::string all(60u << 10, ':');
    all += "\n\n";
    for (int i = 0; i < many; ++i) {
      all += "event: message\nid: " + std::to_string(i) + "\n" + std::string(event_of_a) + "\n";
    }
    peer.write(all);
    peer.event(result(request));
    peer.cut();
    return true;
  }));
  rig.begin();
  rig.call(2, "tools/call", R"({"name":"x"})");
  EXPECT_TRUE(rig.got(many).contains("result"));
}

TEST(HttpTransportHostile, ALargeAnswerThatNobodyWaitsForDoesNoHarm) {
  Rig rig(stateful([](Peer& peer, const SeenRequest& request) {
    if (!request.body_has("tools/call")) return false;
    peer.begin_events();
    peer.event(R"({"jsonrpc":"2.0","id":77,"result":{"a":")" + std::string(1u << 20, 'x') + "\"}}");
    peer.event(result(request));
    peer.cut();
    return true;
  }));
  rig.begin();
  rig.call(2, "tools/call", R"({"name":"x"})");
  EXPECT_TRUE(rig.got().contains("result"));
}

// Redirects.

TEST(HttpTransportHostile, FollowsRedirectsWithinItsOrigin) {
  for (const int status : {307, 308}) {
    Rig rig(each([&](Peer& peer, const SeenRequest& request) {
      if (request.target == "/mcp") {
        peer.respond(status, "text/html", "<html>moved", "Location: /mcp/\r\n");
      } else if (request.body_has("\"initialize\"")) {
        peer.json(result(request, R"({"protocolVersion":"2025-11-25"})"),
                  "Mcp-Session-Id: s-1\r\n");
      } else if (request.method == "GET") {
        peer.begin_events();
        peer.event(R"({"jsonrpc":"2.0","method":"notifications/a"})");
        peer.wait_for_end();
      } else if (request.body_has("notifications/")) {
        peer.respond(202, "", "");
      } else {
        peer.json(result(request));
      }
    }));
    rig.begin();
    rig.call(2, "tools/call", R"({"name":"x"})");
    ASSERT_TRUE(rig.wait(2));
    std::vector<SeenRequest> posts = rig.server.seen("POST");
    ASSERT_EQ(posts.size(), 6u);
    for (std::size_t i = 0; i < posts.size(); i += 2) {
      EXPECT_EQ(posts[i].target, "/mcp");
      EXPECT_EQ(posts[i + 1].target, "/mcp/");
      EXPECT_EQ(posts[i + 1].body, posts[i].body);
      EXPECT_EQ(posts[i + 1].fields, posts[i].fields);
    }
    rig.transport->close();
    ASSERT_TRUE(run_until(rig.loop, [&] { return rig.to.closed == 1; }));
    EXPECT_EQ(rig.server.seen("DELETE").back().target, "/mcp/");
  }
}

TEST(HttpTransportHostile, SaysWhereARedirectPointsThatItDoesNotFollow) {
  struct Case {
    int status;
    std::string location;
    std::vector<std::string> expected;
  };
  const std::vector<Case> cases = {
      {307,
       "https://else.example:99/mcp?a=1",
       {"https://else.example:99/mcp?a=1", "another origin"}},
      {308, "//else.example/x", {"http://else.example/x", "another origin"}},
      {307, "https://me:secret@else.example/mcp#part", {"https://else.example/mcp"}},
      {307, "/mcp", {"too often (Limits::http_redirects)", "/mcp,"}},
      {302, "/other", {"/other", "302"}},
      {301, "https://else.example/mcp/", {"https://else.example/mcp/"}},
      {303, "other", {"/other"}},
      {307, "ftp://else.example/x", {"ftp://else.example/x"}},
      {307, "/" + std::string(5000, 'y'), {"yyy"}},
      {307, "", {"HTTP 307"}},
  };
  for (const Case& now : cases) {
    Rig rig(each([&](Peer& peer, const SeenRequest& request) {
      const bool longer = request.target.size() > 100;  // it is followed, but not for ever
      peer.respond(now.status, "", "",
                   now.location.empty() ? ""
                   : longer             ? "Location: " + request.target + "\r\n"
                                        : "Location: " + now.location + "\r\n");
    }));
    rig.ask(1, "tools/list");
    const std::string error = rig.error();
    for (const std::string& words : now.expected) EXPECT_THAT(error, HasSubstr(words));
    EXPECT_THAT(error, Not(HasSubstr("secret")));
    EXPECT_THAT(error, Not(HasSubstr("#part")));
    EXPECT_LT(error.size(), 700u);
    EXPECT_EQ(rig.got()["error"]["data"]["status"], now.status);
    EXPECT_LE(rig.server.seen().size(), 4u);
  }
}

// What cannot be an answer.

TEST(HttpTransportHostile, WhatCannotBeAnAnswerFailsTheCallAtOnce) {
  const std::vector<std::string> bodies = {
      R"([{"jsonrpc":"2.0","id":2,"result":{}}])",
      R"([{"jsonrpc":"2.0","method":"notifications/a"}])",
      "[]",
      "7",
      "null",
      "\"text\"",
      "{}",
      "no json",
      "\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}",
      R"({"jsonrpc":"2.0","id":2})",
      R"({"jsonrpc":"2.0","id":2,"id":3,"result":{}})",
      R"({"jsonrpc":"2.0","id":3,"id":2,"result":{}})",
      R"({"jsonrpc":"2.0","result":{}})",
      R"({"jsonrpc":"2.0","id":null,"result":{}})",
      R"({"jsonrpc":"2.0","id":[2],"result":{}})",
  };
  for (const bool events : {false, true}) {
    for (const std::string& body : bodies) {
      Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
        if (!request.body_has("tools/call")) return false;
        if (events) {
          peer.begin_events();
          peer.event(body);
          peer.wait_for_end();
        } else {
          peer.json(body);
        }
        return true;
      }));
      rig.begin();
      rig.call(2, "tools/call", R"({"name":"x"})");
      EXPECT_THAT(rig.error(), HasSubstr("answered \"tools/call\" with")) << body << events;
      EXPECT_EQ(rig.got()["id"], 2);
      EXPECT_EQ(rig.to.messages.size(), 1u);
    }
  }
}

TEST(HttpTransportHostile, WhateverIsTakenForAnAnswerEndsTheCall) {
  std::string deep = R"({"jsonrpc":"2.0","id":1,"result":{"a":)";
  deep += std::string(200, '[') + std::string(200, ']') + "}}";
  const std::vector<std::string> bodies = {
      R"({"jsonrpc":"2.0","id":1,"result":{}})",
      R"({"jsonrpc":"1.0","id":1,"result":{}})",
      R"({"id":1,"result":{}})",
      R"({"jsonrpc":"2.0","id":1,"result":7})",
      R"({"jsonrpc":"2.0","id":1,"result":{},"result":{}})",
      R"({"jsonrpc":"2.0","id":1,"result":{},"x":1,"x":2})",
      R"({"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"result":{}})",
      R"({"jsonrpc":"2.0","id":1,"result":{},"method":"x"})",
      R"({"jsonrpc":"2.0","id":1,"id":1,"result":{}})",
      R"({"jsonrpc":"2.0","id":1,"error":"x"})",
      R"({"jsonrpc":"2.0","id":1,"error":null})",
      R"({"jsonrpc":"2.0","id":1,"error":null,"result":{}})",
      R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"},"result":null})",
      R"({"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"},"result":null})",
      R"({"jsonrpc":"2.0","error":{"code":1,"message":"m"}})",
      R"({"jsonrpc":"2.0","id":null,"error":{"code":"1"}})",
      R"([{"jsonrpc":"2.0","id":1,"result":{}}])",
      deep,
  };
  for (const bool events : {false, true}) {
    for (const std::string& body : bodies) {
      ScriptServer server(each([&](Peer& peer, const SeenRequest&) {
        if (!events) {
          peer.json(body);
          return;
        }
        peer.begin_events();
        peer.event(body);
        peer.wait_for_end();
      }));
      Loop loop;
      HttpTransportOptions options;
      options.url = http::Url::parse(server.url()).value();
      options.proxy_from_environment = false;
      Connection client(loop, HttpTransport::make(loop, std::move(options)), nullptr,
                        {.rules = {.batch = false, .object_result = true}});
      int outcomes = 0;
      client.peer().call("tools/call", rpc::no_params, [&](const Result<Value>& outcome) {
        ++outcomes;
        EXPECT_EQ(outcome.has_value(), body == bodies[0]) << body;
      });
      EXPECT_TRUE(run_until(loop, [&] { return outcomes == 1; })) << body << events;
    }
  }
}

TEST(HttpTransportHostile, TakesABatchWhereTheRevisionHasBatches) {
  for (const bool events : {false, true}) {
    Rig rig(each([&](Peer& peer, const SeenRequest& request) {
      if (request.body_has("\"initialize\"")) {
        peer.json(result(request, R"({"protocolVersion":"2025-03-26"})"));
      } else if (!request.body_has("tools/call")) {
        peer.respond(request.method == "GET" ? 405 : 202, "", "");
      } else if (events) {
        peer.begin_events();
        peer.event("[" + result(request) + "]");
        peer.cut();
      } else {
        peer.json("[" + result(request) + "]");
      }
    }));
    rig.call(1, "initialize", R"({"protocolVersion":"2025-03-26"})");
    ASSERT_TRUE(rig.wait(1));
    rig.call(2, "tools/call", R"({"name":"x"})");
    ASSERT_TRUE(rig.wait(2));
    EXPECT_EQ(rig.to.messages[1], R"([{"jsonrpc":"2.0","id":2,"result":{}}])");
  }
}

// Answers that need other words.

TEST(HttpTransportHostile, SaysThatAnAnswerIsCompressed) {
  for (const std::string_view type : {"application/json", "text/event-stream"}) {
    for (const int status : {200, 400}) {
      Rig rig(each([&](Peer& peer, const SeenRequest&) {
        peer.respond(status, type, "\x1f\x8b\x08 nobody reads this", "Content-Encoding: gzip\r\n");
      }));
      rig.ask(1, "tools/list");
      EXPECT_THAT(rig.error(), HasSubstr("Content-Encoding: gzip"));
      EXPECT_THAT(rig.error(), Not(HasSubstr("nobody reads")));
      EXPECT_EQ(rig.got()["error"]["data"]["status"], status);
      EXPECT_EQ(rig.server.seen()[0].field("accept-encoding"), "identity");
    }
  }
  Rig rig(each([](Peer& peer, const SeenRequest& request) {
    peer.json(result(request), "Content-Encoding: Identity\r\n");
  }));
  rig.ask(1, "tools/list");
  EXPECT_TRUE(rig.got().contains("result"));
}

TEST(HttpTransportHostile, SaysWhyTheOlderTransportCannotBeUsed) {
  struct Case {
    std::string endpoint;
    std::vector<std::string> expected;
  };
  const std::vector<Case> cases = {
      {"https://me:secret@else.example/messages", {"\"endpoint\"", "user name or password"}},
      {"https://else.example/messages#x", {"another origin", "https://else.example/messages,"}},
      {"//127.0.0.1:1/messages", {"another origin", "http://127.0.0.1:1/messages"}},
      {"/a b", {"\"endpoint\"", "0x20"}},
      {"/" + std::string(1u << 20, 'z'), {"\"endpoint\"", "bytes"}},
  };
  for (const Case& now : cases) {
    Rig rig(each([&](Peer& peer, const SeenRequest& request) {
      if (request.method == "POST") {
        peer.respond(405, "", "");
      } else {
        peer.begin_events();
        peer.write("event: endpoint\ndata: " + now.endpoint + "\n\n");
        peer.wait_for_end();
      }
    }));
    rig.call(1, "initialize", R"({"protocolVersion":"2024-11-05"})");
    const std::string error = rig.error();
    for (const std::string& words : now.expected) EXPECT_THAT(error, HasSubstr(words));
    EXPECT_THAT(error, Not(HasSubstr("secret")));
    EXPECT_LT(error.size(), 1000u);
    EXPECT_EQ(rig.server.seen("POST").size(), 1u);
  }
}

}  // namespace
}  // namespace godwit::inline v0
