#include "godwit/web/http_transport.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "godwit/json/value.hpp"
#include "godwit/rpc/error_code.hpp"
#include "receiver.hpp"
#include "script_server.hpp"
#include "wait.hpp"

using namespace std::chrono_literals;
using godwit::Error;
using godwit::HttpTransport;
using godwit::HttpTransportOptions;
using godwit::Log;
using godwit::LogLevel;
using godwit::Loop;
using godwit::http::Url;
using godwit::json::Value;
using godwit::test::Recorder;
using godwit::test::run_until;
using godwit::test::ScriptServer;
using godwit::test::SeenRequest;
using godwit::test::send;
using testing::HasSubstr;
using Peer = ScriptServer::Peer;
using Milliseconds = std::chrono::milliseconds;

namespace {

constexpr std::string_view modern = "2026-07-28";
constexpr std::string_view legacy = "2025-11-25";

/// A transport against a script.
struct Rig {
  Loop loop;
  ScriptServer server;
  Recorder to;
  std::vector<std::string> lines;  // of the log
  std::unique_ptr<HttpTransport> transport;

  explicit Rig(ScriptServer::Script script, std::function<void(HttpTransportOptions&)> change = {})
      : server(std::move(script)) {
    HttpTransportOptions options;
    options.url = Url::parse(server.url()).value();
    options.proxy_from_environment = false;
    options.log = Log([this](LogLevel, std::string_view line) { lines.emplace_back(line); });
    if (change) change(options);
    transport = HttpTransport::make(loop, std::move(options));
    transport->start(to);
  }

  void post(std::string_view message) { send(*transport, message); }
  /// A request of the stateless era.
  void ask(int id, std::string_view method, std::string_view params = "") {
    post(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + std::string(method) +
         R"(","params":{)" + std::string(params) + (params.empty() ? "" : ",") +
         R"("_meta":{"io.modelcontextprotocol/protocolVersion":")" + std::string(modern) +
         R"(","io.modelcontextprotocol/clientCapabilities":{}}}})");
  }
  /// One of the stateful era.
  void call(int id, std::string_view method, std::string_view params = "{}") {
    post(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + std::string(method) +
         R"(","params":)" + std::string(params) + "}");
  }
  bool wait(std::size_t messages) {
    return run_until(loop, [&] { return to.messages.size() >= messages; });
  }
  /// The nth message, read.
  Value got(std::size_t n = 0) {
    if (!wait(n + 1)) {
      ADD_FAILURE() << "no message " << n;
      return {};
    }
    return godwit::json::parse(to.messages[n]).value();
  }
  std::string error(std::size_t n = 0) {
    Value message = got(n);
    return message.contains("error") ? message["error"]["message"].get<std::string>() : "no error";
  }
  /// The handshake, with everything that follows it.
  void begin() {
    call(1, "initialize", R"({"protocolVersion":")" + std::string(legacy) + "\"}");
    ASSERT_TRUE(wait(1));
    post(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
    to.messages.clear();
  }
  void idle(Milliseconds time = 30ms) { loop.run_for(time); }
};

std::string result(const SeenRequest& request, std::string_view body = "{}") {
  return R"({"jsonrpc":"2.0","id":)" + request.id() + R"(,"result":)" + std::string(body) + "}";
}

/// Answers the requests of one connection with a function.
ScriptServer::Script each(std::function<void(Peer&, const SeenRequest&)> answer) {
  return [answer = std::move(answer)](Peer& peer) {
    while (const auto request = peer.read()) answer(peer, *request);
  };
}

/// A stateful server with a session, and a function for what follows the handshake.
ScriptServer::Script stateful(std::function<bool(Peer&, const SeenRequest&)> answer) {
  return each([answer = std::move(answer)](Peer& peer, const SeenRequest& request) {
    if (request.body_has("\"initialize\"")) {
      peer.json(result(request, R"({"protocolVersion":")" + std::string(legacy) + "\"}"),
                "Mcp-Session-Id: s-1\r\n");
    } else if (request.body_has("notifications/")) {
      peer.respond(202, "", "");
    } else if (!answer(peer, request)) {
      if (request.method == "GET") {
        peer.respond(405, "", "");
      } else if (request.method == "DELETE") {
        peer.respond(204, "", "");
      } else {
        peer.json(result(request));
      }
    }
  });
}

bool nothing(Peer&, const SeenRequest&) { return false; }

}  // namespace

// The stateless era.

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
  rig.transport->set_fields({{"X-Trace", "abc"}});
  rig.ask(1, "a/b");
  ASSERT_TRUE(rig.wait(1));
  rig.ask(2, "a/b");
  ASSERT_TRUE(rig.wait(2));
  rig.transport->set_fields({{"X-Bad", "a\r\nb"}});
  rig.ask(3, "a/b");
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
       "redirects to https://else.example:99,"},
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
              peer.write("id: 1\ndata: x\n\n");
              peer.event(body);
              peer.wait_for_end();
            }),
            [](HttpTransportOptions& options) { options.limits.sse_event_bytes = 65'536; });
    rig.call(1, "tools/list");
    EXPECT_THAT(rig.error(), HasSubstr("more than 65536 bytes"));
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

// The stateful era.

TEST(HttpTransport, CarriesTheSession) {
  Rig rig(stateful(nothing));
  rig.begin();
  rig.call(2, "tools/list");
  ASSERT_TRUE(rig.wait(1));
  rig.transport->close();
  rig.loop.run();  // nothing keeps it
  EXPECT_EQ(rig.to.closed, 1);
  const auto seen = rig.server.seen();
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_FALSE(seen[0].has("mcp-session-id"));
  EXPECT_FALSE(seen[0].has("mcp-protocol-version"));
  std::vector<std::string> methods;
  for (std::size_t i = 1; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].field("mcp-session-id"), "s-1");
    EXPECT_EQ(seen[i].field("mcp-protocol-version"), legacy);
    EXPECT_FALSE(seen[i].has("mcp-method"));
    methods.push_back(seen[i].method);
  }
  EXPECT_TRUE(seen[1].body_has("notifications/initialized"));
  EXPECT_EQ(methods.back(), "DELETE");
  EXPECT_EQ(rig.server.seen("GET").size(), 1u);
  EXPECT_EQ(rig.server.seen("GET")[0].field("accept"), "text/event-stream");
  for (const std::string& line : rig.lines) ADD_FAILURE() << line;  // a 405 is no complaint
}

TEST(HttpTransport, LetsNoRequestOvertakeTheHandshake) {
  std::atomic<bool> taken = false;
  std::atomic<bool> early = false;
  Rig rig([&](Peer& peer) {
    while (const auto request = peer.read()) {
      if (request->body_has("notifications/initialized")) {
        std::this_thread::sleep_for(20ms);
        taken = true;
        peer.respond(202, "", "");
      } else if (request->method == "GET") {
        peer.respond(405, "", "");
      } else {
        if (!request->body_has("\"initialize\"") && !taken) early = true;
        peer.json(result(*request, R"({"protocolVersion":"2025-06-18"})"));
      }
    }
  });
  rig.begin();
  rig.call(2, "tools/list");
  ASSERT_TRUE(rig.wait(1));
  EXPECT_FALSE(early);
}

TEST(HttpTransport, HearsTheServerOnAStreamOfItsOwn) {
  std::atomic<int> streams = 0;
  Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
    if (request.method != "GET") {
      if (!request.body_has("\"result\"")) return false;
      peer.respond(202, "", "");
      return true;
    }
    peer.begin_events();
    if (++streams == 1) {
      peer.write(
          "retry: 40\nid: e1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/a\"}\n\n");
      peer.cut();
      return true;
    }
    peer.event(R"({"jsonrpc":"2.0","id":"s","method":"ping"})");
    peer.wait_for_end();
    return true;
  }));
  rig.begin();
  EXPECT_EQ(rig.got(0)["method"], "notifications/a");
  EXPECT_EQ(rig.got(1)["method"], "ping");
  rig.post(R"({"jsonrpc":"2.0","id":"s","result":{}})");
  ASSERT_TRUE(run_until(rig.loop, [&] { return rig.server.seen("POST").size() == 3; }));
  const auto gets = rig.server.seen("GET");
  ASSERT_EQ(gets.size(), 2u);
  EXPECT_FALSE(gets[0].has("last-event-id"));
  EXPECT_EQ(gets[1].field("last-event-id"), "e1");
  EXPECT_GE(gets[1].when - gets[0].when, 40ms);
  EXPECT_EQ(rig.to.messages.size(), 2u);
}

TEST(HttpTransport, ComesBackToAStreamThatBroke) {
  // As a server that polls does it: the first connection says where to resume, and when.
  std::atomic<int> gets = 0;
  std::string id;
  std::chrono::steady_clock::time_point cut;
  Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
    if (request.body_has("tools/call")) {
      id = request.id();
      peer.begin_events();
      peer.write("id: a\nretry: 120\ndata: \n\n");
      cut = std::chrono::steady_clock::now();
      peer.cut();
      return true;
    }
    if (request.method != "GET" || !request.has("last-event-id")) return false;
    peer.begin_events();
    if (++gets == 1) {
      peer.write("id: b\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/p\"}\n\n");
      peer.reset();
      return true;
    }
    const std::string answer = R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":{"done":true}})";
    peer.write("id: c\ndata: " + answer + "\n\n");
    peer.write("id: d\ndata: " + answer + "\n\n");  // a second answer is none
    peer.cut();
    return true;
  }));
  rig.begin();
  rig.call(2, "tools/call", R"({"name":"x"})");
  EXPECT_EQ(rig.got(0)["method"], "notifications/p");
  EXPECT_EQ(rig.got(1)["result"]["done"], true);
  rig.idle(200ms);
  EXPECT_EQ(rig.to.messages.size(), 2u);
  std::vector<SeenRequest> resumed = rig.server.seen("GET");
  std::erase_if(resumed, [](const SeenRequest& each) { return !each.has("last-event-id"); });
  ASSERT_EQ(resumed.size(), 2u);
  EXPECT_EQ(resumed[0].field("last-event-id"), "a");
  EXPECT_EQ(resumed[0].field("mcp-session-id"), "s-1");
  EXPECT_EQ(resumed[1].field("last-event-id"), "b");
  EXPECT_GE(resumed[0].when - cut, 120ms);
  EXPECT_LE(resumed[0].when - cut, 320ms);
}

TEST(HttpTransport, GivesUpComingBack) {
  for (const int status : {400, 503}) {
    Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
      if (request.body_has("tools/call")) {
        peer.begin_events();
        peer.write("id: a\nretry: 1\n\n");
        peer.cut();
        return true;
      }
      if (request.method != "GET" || !request.has("last-event-id")) return false;
      peer.respond(status, "", "");
      return true;
    }));
    rig.begin();
    rig.call(2, "tools/call", R"({"name":"x"})");
    EXPECT_THAT(rig.error(), HasSubstr("is lost"));
    EXPECT_EQ(rig.got()["id"], 2);
    std::vector<SeenRequest> resumed = rig.server.seen("GET");
    std::erase_if(resumed, [](const SeenRequest& each) { return !each.has("last-event-id"); });
    EXPECT_EQ(resumed.size(), status == 400 ? 1u : 5u);
  }
}

TEST(HttpTransport, DoesNotComeBackWithoutAnEventId) {
  Rig rig(stateful([](Peer& peer, const SeenRequest& request) {
    if (!request.body_has("tools/call")) return false;
    peer.begin_events();
    peer.event(R"({"jsonrpc":"2.0","method":"notifications/p"})");
    peer.cut();
    return true;
  }));
  rig.begin();
  rig.call(2, "tools/call", R"({"name":"x"})");
  EXPECT_THAT(rig.error(1), HasSubstr("without an answer"));
}

TEST(HttpTransport, ClosesWhenTheSessionIsGone) {
  std::atomic<bool> gone = false;
  Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
    if (!gone || request.method == "GET") return false;
    peer.respond(404, "application/json",
                 R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"no such session"}})");
    return true;
  }));
  rig.begin();
  rig.call(2, "tools/list");
  ASSERT_TRUE(rig.wait(1));
  gone = true;
  rig.call(3, "tools/call", R"({"name":"x"})");
  rig.call(4, "tools/call", R"({"name":"y"})");
  ASSERT_TRUE(run_until(rig.loop, [&] { return rig.to.closed == 1; }));
  ASSERT_EQ(rig.to.messages.size(), 3u);
  for (const std::size_t i : {1u, 2u}) {
    Value message = rig.got(i);
    const Error error{.code = -32000,
                      .message = message["error"]["message"].get<std::string>(),
                      .data = message["error"]["data"].dump()};
    EXPECT_TRUE(HttpTransport::is_session_ended(error));
  }
  EXPECT_THAT(rig.to.why, HasSubstr("ended the session"));
  EXPECT_EQ(rig.server.seen("DELETE").size(), 0u);
}

TEST(HttpTransport, ClosesWhenTheStreamShowsThatTheSessionIsGone) {
  std::atomic<int> streams = 0;
  Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
    if (request.method != "GET") return false;
    if (++streams > 1) {
      peer.respond(404, "", "");
      return true;
    }
    peer.begin_events();
    peer.write("retry: 5\nid: e1\ndata:\n\n");
    peer.cut();
    return true;
  }));
  rig.begin();
  ASSERT_TRUE(run_until(rig.loop, [&] { return rig.to.closed == 1; }));
  EXPECT_THAT(rig.to.why, HasSubstr("ended the session"));
  EXPECT_EQ(streams, 2);
  EXPECT_EQ(rig.server.seen("DELETE").size(), 0u);
}

TEST(HttpTransport, ClosesIfTheEndOfTheHandshakeIsLost) {
  Rig rig(each([](Peer& peer, const SeenRequest& request) {
    if (request.body_has("notifications/")) return peer.cut();
    peer.json(result(request, R"({"protocolVersion":")" + std::string(legacy) + "\"}"),
              "Mcp-Session-Id: s-1\r\n");
  }));
  rig.begin();
  ASSERT_TRUE(run_until(rig.loop, [&] { return rig.to.closed == 1; }));
  EXPECT_THAT(rig.to.why, HasSubstr("notifications/initialized"));
}

TEST(HttpTransport, OpensAStreamAgainThatWasCutBeforeItBegan) {
  std::atomic<int> streams = 0;
  Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
    if (request.method != "GET") return false;
    if (++streams == 1) {
      peer.cut();
      return true;
    }
    peer.begin_events();
    peer.event(R"({"jsonrpc":"2.0","method":"notifications/a"})");
    peer.wait_for_end();
    return true;
  }));
  rig.begin();
  EXPECT_EQ(rig.got(0)["method"], "notifications/a");
}

TEST(HttpTransport, OpensAStreamAnewThatCannotBeResumed) {
  std::atomic<int> streams = 0;
  Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
    if (request.method != "GET") return false;
    if (++streams == 2) {
      peer.respond(400, "", "");
      return true;
    }
    peer.begin_events();
    peer.write("retry: 5\nid: e1\ndata:\n\n");
    if (streams == 1) {
      peer.cut();
    } else {
      peer.event(R"({"jsonrpc":"2.0","method":"notifications/a"})");
      peer.wait_for_end();
    }
    return true;
  }));
  rig.begin();
  EXPECT_EQ(rig.got(0)["method"], "notifications/a");
  const auto gets = rig.server.seen("GET");
  ASSERT_EQ(gets.size(), 3u);
  EXPECT_TRUE(gets[1].has("last-event-id"));
  EXPECT_FALSE(gets[2].has("last-event-id"));
  EXPECT_THAT(rig.lines, testing::Contains(HasSubstr("is lost")));
}

TEST(HttpTransport, CancelsByANotification) {
  std::atomic<int> ended = 0;
  Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
    if (!request.body_has("tools/call")) return false;
    peer.begin_events();
    peer.wait_for_end();
    ++ended;
    peer.cut();
    return true;
  }));
  rig.begin();
  rig.call(2, "tools/call", R"({"name":"x"})");
  ASSERT_TRUE(run_until(rig.loop, [&] { return rig.server.seen("POST").size() == 3; }));
  rig.post(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}})");
  ASSERT_TRUE(
      run_until(rig.loop, [&] { return ended == 1 && rig.server.seen("POST").size() == 4; }));
  EXPECT_TRUE(rig.server.seen("POST")[3].body_has("notifications/cancelled"));
  EXPECT_TRUE(rig.to.messages.empty());
}

TEST(HttpTransport, ClosesInTimeWhateverTheServerDoes) {
  Rig rig(stateful([](Peer& peer, const SeenRequest& request) {
            if (request.method == "POST" && !request.body_has("tools/call")) return false;
            if (request.method == "GET") peer.begin_events();
            peer.wait_for_end();  // says nothing to DELETE
            peer.cut();
            return true;
          }),
          [](HttpTransportOptions& options) { options.limits.eof_grace = 50ms; });
  rig.begin();
  rig.call(2, "tools/call", R"({"name":"x"})");
  ASSERT_TRUE(run_until(rig.loop, [&] { return rig.server.seen("GET").size() == 1; }));
  rig.transport->close();
  rig.transport->close();
  bool flushed = false;
  rig.transport->when_flushed([&] { flushed = true; });
  const auto before = std::chrono::steady_clock::now();
  ASSERT_TRUE(run_until(rig.loop, [&] { return rig.to.closed == 1 && flushed; }));
  EXPECT_LT(std::chrono::steady_clock::now() - before, 5s);
  rig.call(3, "tools/list");
  rig.idle();
  EXPECT_EQ(rig.to.closed, 1);
  EXPECT_TRUE(rig.to.messages.empty());
}

TEST(HttpTransport, SendsWhatWasSaidBeforeTheEnd) {
  Rig rig(stateful(nothing));
  rig.begin();
  rig.post(R"({"jsonrpc":"2.0","method":"notifications/last"})");
  rig.transport->close();
  ASSERT_TRUE(run_until(rig.loop, [&] { return rig.to.closed == 1; }));
  const auto seen = rig.server.seen();
  EXPECT_EQ(seen.back().method, "DELETE");
  EXPECT_TRUE(std::ranges::any_of(
      seen, [](const SeenRequest& each) { return each.body_has("notifications/last"); }));
}

TEST(HttpTransport, LeavesNothingBehind) {
  Loop other;
  ScriptServer quiet(stateful(nothing));
  const std::size_t before = godwit::test::open_descriptors();
  {
    Rig rig(stateful([](Peer& peer, const SeenRequest& request) {
      if (request.method != "GET") return false;
      peer.begin_events();
      peer.wait_for_end();
      peer.cut();
      return true;
    }));
    rig.begin();
    rig.call(2, "tools/list");
    ASSERT_TRUE(rig.wait(1));
    rig.transport.reset();  // without close(): nothing is waited for
    rig.loop.run();         // and nothing is left to do
  }
  EXPECT_LE(godwit::test::open_descriptors(), before);
}

// The transport before Streamable HTTP.

namespace {

/// A server of 2024: a stream, and an address for messages.
struct OldServer {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> events;
  std::string endpoint = "/messages?session=1";
  bool over = false;

  void push(std::string event) {
    const std::lock_guard lock(mutex);
    events.push_back(std::move(event));
    changed.notify_all();
  }
  void end() {
    const std::lock_guard lock(mutex);
    over = true;
    changed.notify_all();
  }
  ScriptServer::Script script() {
    return [this](Peer& peer) {
      while (const auto request = peer.read()) {
        if (request->method == "GET") {
          peer.begin_events();
          peer.write("event: endpoint\ndata: " + endpoint + "\n\n");
          std::unique_lock lock(mutex);
          while (!over) {
            changed.wait(lock, [&] { return over || !events.empty(); });
            for (const std::string& event : std::exchange(events, {})) {
              peer.write("event: message\n");
              peer.event(event);
            }
          }
          peer.cut();
        } else if (request->target != "/messages?session=1") {
          peer.respond(405, "text/plain", "Method Not Allowed");
        } else {
          peer.respond(202, "text/plain", "Accepted");
          if (request->body_has("\"id\"")) {
            push(result(*request, R"({"protocolVersion":"2024-11-05"})"));
          }
        }
      }
    };
  }
};

}  // namespace

TEST(HttpTransport, FallsBackToTheOlderTransport) {
  OldServer old;
  Rig rig(old.script());
  rig.call(1, "initialize", R"({"protocolVersion":"2025-11-25"})");
  EXPECT_EQ(rig.got()["result"]["protocolVersion"], "2024-11-05");
  rig.post(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  rig.call(2, "tools/list");
  EXPECT_EQ(rig.got(1)["id"], 2);
  const auto posts = rig.server.seen("POST");
  ASSERT_EQ(posts.size(), 4u);
  EXPECT_EQ(posts[0].target, "/mcp");
  EXPECT_EQ(posts[1].target, "/messages?session=1");
  EXPECT_FALSE(posts[2].has("mcp-protocol-version"));
  EXPECT_EQ(rig.server.seen("GET").size(), 1u);
  EXPECT_EQ(rig.to.closed, 0);
  old.end();
  ASSERT_TRUE(run_until(rig.loop, [&] { return rig.to.closed == 1; }));
  EXPECT_THAT(rig.to.why, HasSubstr("ended the event stream"));
}

TEST(HttpTransport, PostsNowhereElse) {
  OldServer old;
  old.endpoint = "http://evil.example/steal";
  Rig rig(old.script());
  rig.call(1, "initialize", R"({"protocolVersion":"2025-11-25"})");
  EXPECT_THAT(rig.error(), HasSubstr("405"));
  EXPECT_EQ(rig.server.seen("POST").size(), 1u);
  old.end();
}

TEST(HttpTransport, WaitsForAnEndpointOnlySoLong) {
  Rig rig(each([](Peer& peer, const SeenRequest& request) {
            if (request.method == "POST") {
              peer.respond(404, "", "");
              return;
            }
            peer.begin_events();
            peer.wait_for_end();
            peer.cut();
          }),
          [](HttpTransportOptions& options) { options.endpoint_timeout = 30ms; });
  rig.call(1, "initialize", R"({"protocolVersion":"2025-11-25"})");
  EXPECT_THAT(rig.error(), HasSubstr("HTTP 404"));
  EXPECT_EQ(rig.to.closed, 0);
}
