// HttpTransport with servers of the stateless era, and what it does with any answer.
#include "godwit/web/http_transport.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "godwit/rpc/error_code.hpp"
#include "http_rig.hpp"

namespace godwit::inline v0 {
namespace {

TEST(HttpTransport, PostsAMessageAndTakesTheAnswer) {
  Rig rig(each([](Peer& peer, const SeenRequest& request) {
            peer.json(result(request, R"({"x":1})"), "Mcp-Session-Id: ignored\r\n");
          }),
          [](HttpTransportOptions& options) {
            options.headers = {{"Authorization", "Bearer t"}, {"Accept", "image/png"}};
          });
  rig.ask(7, "tools/list");
  EXPECT_EQ(rig.got()["id"], 7);
  EXPECT_EQ(rig.got()["result"]["x"], 1);
  rig.ask(8, "tools/call", R"("name":"add","arguments":{})");
  EXPECT_EQ(rig.got(1)["id"], 8);
  const auto seen = rig.server.seen();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].method, "POST");
  EXPECT_EQ(seen[0].target, "/mcp");
  EXPECT_EQ(seen[0].field("content-type"), "application/json");
  EXPECT_EQ(seen[0].field("accept"), "application/json, text/event-stream");
  EXPECT_EQ(seen[0].field("authorization"), "Bearer t");
  EXPECT_EQ(seen[0].field("mcp-protocol-version"), modern);
  EXPECT_EQ(seen[0].field("mcp-method"), "tools/list");
  EXPECT_FALSE(seen[0].has("mcp-name"));
  EXPECT_EQ(seen[1].field("mcp-name"), "add");
  EXPECT_FALSE(seen[1].has("mcp-session-id"));
  EXPECT_EQ(rig.server.connections(), 1);
}

TEST(HttpTransport, EncodesNames) {
  Rig rig(each([](Peer& peer, const SeenRequest& request) { peer.json(result(request)); }));
  rig.ask(1, "prompts/get", R"("name":"Hello, 世界")");
  rig.ask(2, "resources/read", R"("uri":"file:///path/to/file%20name.txt")");
  rig.ask(3, "tasks/get", R"("taskId":"t")");
  ASSERT_TRUE(rig.wait(3));
  std::map<std::string, std::string> names;
  for (const auto& each : rig.server.seen()) names[each.id()] = each.field("mcp-name");
  EXPECT_EQ(names["1"], "=?base64?SGVsbG8sIOS4lueVjA==?=");
  EXPECT_EQ(names["2"], "file:///path/to/file%20name.txt");
  EXPECT_EQ(names["3"], "t");
}

TEST(HttpTransport, SendsMarkedArgumentsAsFields) {
  constexpr std::string_view tools = R"({"tools":[
    {"name":"q","inputSchema":{"type":"object","properties":{
      "region":{"type":"string","x-mcp-header":"Region"},
      "count":{"type":"integer","x-mcp-header":"Count"},
      "dry":{"type":"boolean","x-mcp-header":"Dry"},
      "empty":{"type":"string","x-mcp-header":"Empty"},
      "none":{"type":"string","x-mcp-header":"None"},
      "in":{"type":"object","properties":{"deep":{"type":"string","x-mcp-header":"Deep"}}},
      "plain":{"type":"string"}}}},
    {"name":"bad","inputSchema":{"type":"object","properties":{
      "n":{"type":"number","x-mcp-header":"N"}}}}]})";
  Rig rig(each([&](Peer& peer, const SeenRequest& request) {
    peer.json(result(request, request.body_has("tools/list") ? tools : "{}"));
  }));
  rig.ask(1, "tools/call", R"("name":"q","arguments":{"region":"eu"})");  // nothing is known yet
  ASSERT_TRUE(rig.wait(1));
  rig.ask(2, "tools/list");
  ASSERT_TRUE(rig.wait(2));
  rig.ask(3, "tools/call",
          R"("name":"q","arguments":{"region":" eu ","count":42,"dry":false,"empty":"","none":null,
             "in":{"deep":"ü"},"plain":"p"})");
  rig.ask(4, "tools/call", R"("name":"bad","arguments":{"n":1})");
  ASSERT_TRUE(rig.wait(4));
  std::map<std::string, SeenRequest> seen;
  for (const auto& each : rig.server.seen()) seen[each.id()] = each;
  EXPECT_FALSE(seen["1"].has("mcp-param-region"));
  EXPECT_EQ(seen["3"].field("mcp-param-region"), "=?base64?IGV1IA==?=");
  EXPECT_EQ(seen["3"].field("mcp-param-count"), "42");
  EXPECT_EQ(seen["3"].field("mcp-param-dry"), "false");
  EXPECT_TRUE(seen["3"].has("mcp-param-empty"));
  EXPECT_EQ(seen["3"].field("mcp-param-empty"), "");
  EXPECT_FALSE(seen["3"].has("mcp-param-none"));
  EXPECT_EQ(seen["3"].field("mcp-param-deep"), "=?base64?w7w=?=");
  EXPECT_FALSE(seen["3"].has("mcp-param-plain"));
  EXPECT_FALSE(seen["4"].has("mcp-param-n"));
}

TEST(HttpTransport, SendsFieldsOfOneMessage) {
  Rig rig(each([](Peer& peer, const SeenRequest& request) { peer.json(result(request)); }));
  rig.ask(1, "a/b", "", {{"X-Trace", "abc"}});
  ASSERT_TRUE(rig.wait(1));
  rig.ask(2, "a/b");
  ASSERT_TRUE(rig.wait(2));
  rig.ask(3, "a/b", "", {{"X-Bad", "a\r\nb"}});
  EXPECT_THAT(rig.error(2), HasSubstr("X-Bad"));
  const auto seen = rig.server.seen();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].field("x-trace"), "abc");
  EXPECT_FALSE(seen[1].has("x-trace"));
}

TEST(HttpTransport, ReadsEventsHoweverTheyAreWritten) {
  Rig rig(each([](Peer& peer, const SeenRequest& request) {
    peer.write(
        "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\n"
        "Transfer-Encoding: chunked\r\n\r\n");
    const std::string events = "\xef\xbb\xbf: hello\r\n\r\nevent: message\r\ndata: " +
                               std::string(R"({"jsonrpc":"2.0","method":"notifications/x"})") +
                               "\r\n\r\ndata:\n\nevent: other\ndata: nonsense\n\n: ping\n\ndata:{"
                               "\"jsonrpc\":\"2.0\",\ndata:\"id\":" +
                               request.id() + ",\"result\":{}}\n\n";
    for (const char c : events) peer.write("1\r\n" + std::string(1, c) + "\r\n");
    peer.write("0\r\n\r\n");
  }));
  rig.ask(1, "tools/call", R"("name":"x")");
  EXPECT_EQ(rig.got(0)["method"], "notifications/x");
  EXPECT_EQ(rig.got(1)["id"], 1);
  rig.ask(2, "tools/list");
  ASSERT_TRUE(rig.wait(4));
  EXPECT_EQ(rig.to.messages.size(), 4u);
  EXPECT_EQ(rig.server.connections(), 1);
}

TEST(HttpTransport, TakesWhateverAnswersNotifications) {
  std::atomic<int> n = 0;
  Rig rig(each([&](Peer& peer, const SeenRequest&) {
    switch (n++) {
      case 0:
        peer.json(R"({"jsonrpc":"2.0","result":{}})");
        break;
      case 1:
        peer.respond(202, "", "");
        break;
      case 2:
        peer.respond(204, "", "");
        break;
      default:
        peer.respond(500, "text/plain", "no");
    }
  }));
  rig.ask(0, "x/y");  // so that the era is known; answered without an id, which is an error
  ASSERT_TRUE(rig.wait(1));
  for (int i = 0; i < 3; ++i) rig.post(R"({"jsonrpc":"2.0","method":"notifications/my"})");
  ASSERT_TRUE(run_until(rig.loop, [&] { return n == 4; }));
  rig.idle();
  EXPECT_EQ(rig.to.messages.size(), 1u);
  EXPECT_EQ(rig.lines.size(), 1u);
  EXPECT_THAT(rig.lines[0], HasSubstr("500"));
  EXPECT_EQ(rig.server.seen()[1].field("mcp-method"), "notifications/my");
  EXPECT_EQ(rig.server.seen()[1].field("mcp-protocol-version"), modern);
}

TEST(HttpTransport, GivesErrorsOfTheServerUnderTheRightId) {
  std::atomic<int> n = 0;
  Rig rig(each([&](Peer& peer, const SeenRequest& request) {
    const std::string error =
        R"("error":{"code":-32022,"message":"no","data":{"supported":["x"]}})";
    switch (n++) {
      case 0:
        peer.respond(400, "application/json", R"({"jsonrpc":"2.0",)" + error + "}");
        break;
      case 1:
        peer.respond(400, "application/json", R"({"jsonrpc":"2.0","id":null,)" + error + "}");
        break;
      case 2:
        peer.respond(404, "application/json",
                     R"({"jsonrpc":"2.0","id":)" + request.id() + "," + error + "}");
        break;
      default:
        peer.json(R"({"jsonrpc":"2.0","id":null,)" + error + "}");
    }
  }));
  for (int i = 0; i < 4; ++i) {
    rig.ask(i, "server/discover");
    EXPECT_EQ(rig.got(static_cast<std::size_t>(i))["id"], i);
    EXPECT_EQ(rig.got(static_cast<std::size_t>(i))["error"]["code"], -32022);
    EXPECT_EQ(rig.got(static_cast<std::size_t>(i))["error"]["data"]["supported"][0], "x");
  }
}

TEST(HttpTransport, ExplainsWhatIsNoAnswer) {
  struct Case {
    int status;
    std::string type, body, more, expected;
  };
  const std::vector<Case> cases = {
      {404, "text/html", "<html>nothing here\x1b[31m", "", "HTTP 404 Not Found: \"<html>nothing"},
      {503, "", "", "", "HTTP 503"},
      {401, "application/json", R"({"jsonrpc":"2.0","id":0,"error":{"code":1,"message":"m"}})", "",
       "HTTP 401"},
      {307, "", "", "Location: https://else.example:99/mcp?token=1\r\n",
       "redirects to https://else.example:99/mcp?token=1,"},
      {302, "", "", "Location: /other\r\n", "redirects to http://127.0.0.1:"},
      {200, "text/html", "<html>", "", "expected was application/json or text/event-stream"},
      {202, "", "", "", "HTTP 202"},
      {200, "application/json", "{oops", "", "no JSON"},
      {200, "application/json", R"({"jsonrpc":"2.0","id":99,"result":{}})", "", "no answer to it"},
      {200, "application/json", "", "", "no JSON"},
  };
  std::atomic<std::size_t> n = 0;
  Rig rig(each([&](Peer& peer, const SeenRequest&) {
    const Case& now = cases[n++];
    peer.respond(now.status, now.type, now.body, now.more);
  }));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    rig.ask(0, "tools/list");
    EXPECT_THAT(rig.error(i), HasSubstr(cases[i].expected));
    EXPECT_EQ(rig.got(i)["id"], 0);
    EXPECT_EQ(rig.error(i).find('\x1b'), std::string::npos);
    if (cases[i].status >= 300) {
      EXPECT_EQ(rig.got(i)["error"]["data"]["status"], cases[i].status);
    }
  }
  EXPECT_EQ(rig.to.messages.size(), cases.size());
  EXPECT_EQ(rig.to.closed, 0);
}

TEST(HttpTransport, AnswersAtOnceWhenAStreamBreaks) {
  std::atomic<int> n = 0;
  Rig rig(each([&](Peer& peer, const SeenRequest&) {
    switch (n++) {
      case 0:  // an orderly end without an answer
        peer.begin_events();
        peer.write("id: 5\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/p\"}\n\n");
        peer.cut();
        break;
      case 1:  // a reset in the middle of an event
        peer.begin_events("Transfer-Encoding: chunked\r\n");
        peer.write("5\r\ndata:\r\n");
        peer.reset();
        break;
      default:  // not even a head
        peer.cut();
    }
  }));
  for (int i = 0; i < 3; ++i) rig.ask(i, "tools/call", R"("name":"x")");
  ASSERT_TRUE(rig.wait(4));
  rig.idle();
  int answers = 0;
  for (std::size_t i = 0; i < rig.to.messages.size(); ++i) {
    if (!rig.got(i).contains("error")) continue;
    ++answers;
    EXPECT_EQ(rig.got(i)["error"]["code"], godwit::rpc::code::connection_closed);
  }
  EXPECT_EQ(answers, 3);
  EXPECT_EQ(rig.server.seen().size(), 3u);  // nothing was sent again or resumed
}

TEST(HttpTransport, SaysThatNobodyIsThere) {
  Rig rig([](Peer&) {});
  rig.server.stop();
  rig.ask(1, "tools/list");
  EXPECT_THAT(rig.error(), HasSubstr("cannot connect"));
  EXPECT_EQ(rig.got()["error"]["code"], godwit::rpc::code::connection_closed);
}

TEST(HttpTransport, CancelsByEndingTheConnection) {
  std::atomic<int> ended = 0;
  Rig rig([&](Peer& peer) {
    peer.read();
    peer.begin_events();
    peer.event(R"({"jsonrpc":"2.0","method":"notifications/p"})");
    peer.wait_for_end();
    ++ended;
  });
  rig.ask(3, "tools/call", R"("name":"slow")");
  ASSERT_TRUE(rig.wait(1));
  rig.post(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}})");
  ASSERT_TRUE(run_until(rig.loop, [&] { return ended == 1; }));
  rig.post(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}})");
  rig.idle();
  EXPECT_EQ(rig.to.messages.size(), 1u);
  EXPECT_EQ(rig.server.seen().size(), 1u);
}

TEST(HttpTransport, BoundsWhatComesBack) {
  const std::string large(70'000, 'x');
  for (const bool stream : {false, true}) {
    Rig rig(each([&](Peer& peer, const SeenRequest& request) {
              const std::string body = result(request, "\"" + large + "\"");
              if (!stream) {
                peer.json(body);
                return;
              }
              peer.begin_events();
              peer.write("id: 1\ndata:\n\n");
              peer.event(body);
              peer.wait_for_end();
            }),
            [](HttpTransportOptions& options) { options.limits.sse_event_bytes = 65'536; });
    rig.call(1, "tools/list");
    EXPECT_THAT(rig.error(), HasSubstr("more than 65536 bytes"));
  }
}

TEST(HttpTransport, TheBoundIsForMessagesWhateverIsAroundThem) {
  constexpr std::size_t most = 65'536;
  for (const bool stream : {false, true}) {
    for (const std::size_t size : {most - 1, most, most + 1}) {
      Rig rig(
          each([&](Peer& peer, const SeenRequest& request) {
            const std::size_t around = result(request, "\"\"").size();
            const std::string body = result(request, "\"" + std::string(size - around, 'x') + "\"");
            if (!stream) {
              peer.json(body);
              return;
            }
            peer.begin_events();
            peer.write("event: message\nid: " + std::string(100, 'i') + "\ndata: " + body + "\n\n");
            peer.wait_for_end();
          }),
          [](HttpTransportOptions& options) { options.limits.sse_event_bytes = most; });
      rig.call(1, "tools/list");
      EXPECT_EQ(rig.got().contains("result"), size <= most) << size << stream;
    }
  }
}

TEST(HttpTransport, BoundsWhatWaitsToBeSent) {
  std::atomic<bool> over = false;
  Rig rig(
      [&](Peer&) {
        while (!over) std::this_thread::sleep_for(1ms);
      },
      [](HttpTransportOptions& options) { options.limits.output_queue_bytes = 1000; });
  const std::string text = "\"x\":\"" + std::string(3000, 'x') + "\"";
  for (int i = 0; i < 3; ++i) rig.ask(i, "a/b", text);
  EXPECT_THAT(rig.error(), HasSubstr("bytes are waiting"));
  EXPECT_EQ(rig.got()["id"], 2);
  over = true;
}

TEST(HttpTransport, AnswersARequestThatIsNoJson) {
  Rig rig([](Peer&) {});
  rig.post(R"({"jsonrpc":"2.0","id":4,"method":"a","params":{oops})");
  EXPECT_EQ(rig.got()["id"], 4);
  EXPECT_EQ(rig.got()["error"]["code"], -32700);
  EXPECT_EQ(rig.server.seen().size(), 0u);
}

TEST(HttpTransport, LetsMoreRequestsWaitTheirTurn) {
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  Rig rig(each([&](Peer& peer, const SeenRequest& request) {
    most = std::max<int>(most, ++now);
    std::this_thread::sleep_for(1ms);
    --now;
    peer.json(result(request));
  }));
  for (int i = 0; i < 250; ++i) rig.ask(i, "a/b");
  ASSERT_TRUE(rig.wait(250));
  EXPECT_EQ(rig.to.messages.size(), 250u);
  EXPECT_LE(most, 100);
}

TEST(HttpTransport, MayBeDestroyedInACallback) {
  Rig rig(each([](Peer& peer, const SeenRequest& request) {
    peer.begin_events();
    peer.event(result(request));
    peer.event(result(request));
    peer.wait_for_end();
  }));
  rig.to.on_each = [&](std::string_view) { rig.transport.reset(); };
  rig.ask(1, "a/b");
  rig.ask(2, "a/b");
  ASSERT_TRUE(rig.wait(1));
  rig.idle();
  EXPECT_EQ(rig.to.messages.size(), 1u);
  EXPECT_EQ(rig.to.closed, 0);
}

}  // namespace
}  // namespace godwit::inline v0
