// Client over HTTP: against a WebServer of ours in another thread, in both eras, and against
// scripts where a server has to misbehave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "godwit/json/value.hpp"
#include "godwit/mcp/revision.hpp"
#include "godwit/runtime/client.hpp"
#include "godwit/seal/aes_sealer.hpp"
#include "godwit/server/server.hpp"
#include "godwit/web/web_server.hpp"
#include "script_server.hpp"
#include "wait.hpp"

using namespace std::chrono_literals;
using godwit::Client;
using godwit::ClientOptions;
using godwit::ClientSession;
using godwit::Context;
using godwit::ElicitAction;
using godwit::ElicitRequest;
using godwit::ElicitResult;
using godwit::Error;
using godwit::Lifecycle;
using godwit::Log;
using godwit::LogLevel;
using godwit::Loop;
using godwit::Progress;
using godwit::RawJson;
using godwit::RequestOptions;
using godwit::Result;
using godwit::Server;
using godwit::ServerOptions;
using godwit::ToolResult;
using godwit::WebServer;
using godwit::json::Object;
using godwit::test::ScriptServer;
using godwit::test::SeenRequest;
using testing::HasSubstr;
using Peer = ScriptServer::Peer;

namespace {

struct Weather {
  std::string city{};
};
struct Forecast {
  std::string text{};
  double degrees{};
};
struct Confirm {
  bool sure{};
};
struct Nothing {};

/// Waits for something another thread does.
template <class Condition>
bool eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

struct Host {
  Server server;
  std::atomic<int> stopped = 0;  // slow calls that were told to stop
  std::atomic<int> started = 0;
  std::atomic<int> deployed = 0;

  Host() : server(options()) {
    server.tool("forecast", "Forecast for a city",
                [](Weather in) { return Forecast{.text = "sunny in " + in.city, .degrees = 21}; });
    server.tool("count", "Counts to three", [](Nothing, Context& cx) {
      for (int i = 1; i <= 3; ++i) cx.progress(i, 3, "so far");
      return "counted";
    });
    server.tool("deploy", "Asks first", [this](Nothing, Context& cx) -> Result<std::string> {
      auto answer = cx.elicit<Confirm>("confirm", "Sure?");
      if (!answer) return answer.error();
      if (!answer->accepted()) return "not deployed";
      ++deployed;
      return "deployed";
    });
    server.tool("slow", "Never answers",
                [this](Nothing, Context& cx, godwit::Reply<std::string> reply) {
                  ++started;
                  std::thread([this, stop = cx.cancelled(), reply = std::move(reply)]() mutable {
                    eventually([&] { return stop.stop_requested(); });
                    ++stopped;
                    reply(std::string("stopped"));
                  }).detach();
                });
    server.tool("let_go", "Answers after the stream was closed",
                [](Nothing, Context& cx, godwit::Reply<std::string> reply) {
                  cx.close_stream();
                  std::thread([reply = std::move(reply)]() mutable {
                    std::this_thread::sleep_for(5ms);  // so that it really is
                    reply(std::string("still here"));
                  }).detach();
                });
    run();
  }
  ~Host() {
    halt();
    eventually([&] { return stopped == started; });
  }

  static ServerOptions options() {
    ServerOptions out;
    out.name = "host";
    out.version = "1";
    out.sealer = std::make_shared<godwit::AesSealer>();
    return out;
  }

  void run() {
    loop = std::make_unique<Loop>();
    std::promise<void> ready;
    thread = std::thread([&] {
      const Loop::Work work(*loop);
      godwit::Address address;
      address.port = port;
      godwit::WebServerOptions web_options;
      web_options.endpoint.retry = 20ms;
      web_options.endpoint.sse_path = "/sse";
      web = std::make_unique<WebServer>(
          WebServer::listen(*loop, server, address, web_options).value());
      url = web->url();
      port = godwit::Address::parse(web->address()).value().port;
      ready.set_value();
      loop->run();
      web.reset();
    });
    ready.get_future().wait();
  }
  void halt() {
    if (!thread.joinable()) return;
    loop->stop();
    thread.join();
    loop.reset();
  }
  /// Loses every session, as a new process would.
  void restart() {
    halt();
    run();
  }

  std::unique_ptr<Loop> loop;
  std::unique_ptr<WebServer> web;
  std::thread thread;
  std::string url;
  std::uint16_t port = 0;
};

class ClientOverHttp : public testing::TestWithParam<Lifecycle> {
 protected:
  ClientOptions options() {
    ClientOptions out;
    out.lifecycle = GetParam();
    return out;
  }
  bool stateless() const { return GetParam() == Lifecycle::stateless; }
};

std::string text_of(const Result<ToolResult>& result) {
  if (!result) return "error: " + result.error().message;
  std::string out;
  for (const auto& content : result->content) {
    if (const auto* text = std::get_if<godwit::TextContent>(&content)) out += text->text;
  }
  return out;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Eras, ClientOverHttp,
                         testing::Values(Lifecycle::stateful, Lifecycle::stateless),
                         [](const auto& each) {
                           return each.param == Lifecycle::stateful ? "stateful" : "stateless";
                         });

TEST_P(ClientOverHttp, CallsTools) {
  Host host;
  auto client = Client::connect(host.url, options());
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_EQ(client->server_info().name, "host");
  EXPECT_EQ(client->verdict().stateless, stateless());
  const auto tools = client->list_tools();
  ASSERT_TRUE(tools);
  EXPECT_EQ(tools->size(), 5u);
  const auto day = client->call<Forecast>("forecast", Weather{.city = "Oslo"});
  ASSERT_TRUE(day) << day.error().message;
  EXPECT_EQ(day->text, "sunny in Oslo");
  EXPECT_TRUE(client->ping());
  const auto unknown = client->call_tool("nope");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, -32602);
  const auto method = client->request("acme/none");
  ASSERT_FALSE(method);
  EXPECT_EQ(method.error().code, -32601);
}

TEST_P(ClientOverHttp, HearsProgress) {
  Host host;
  auto client = Client::connect(host.url, options());
  ASSERT_TRUE(client);
  std::vector<double> seen;
  RequestOptions request;
  request.on_progress = [&](const Progress& progress) { seen.push_back(progress.progress); };
  EXPECT_EQ(text_of(client->call_tool("count", {}, request)), "counted");
  EXPECT_EQ(seen, (std::vector<double>{1, 2, 3}));
}

TEST_P(ClientOverHttp, AnswersQuestions) {
  Host host;
  ClientOptions mine = options();
  std::atomic<int> asked = 0;
  mine.elicit = [&](const ElicitRequest&) -> Result<ElicitResult> {
    ++asked;
    return ElicitResult{.action = ElicitAction::accept, .content = Object{{"sure", true}}};
  };
  auto client = Client::connect(host.url, mine);
  ASSERT_TRUE(client);
  EXPECT_EQ(text_of(client->call_tool("deploy")), "deployed");
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(host.deployed, 1);
}

TEST_P(ClientOverHttp, Listens) {
  Host host;
  auto client = Client::connect(host.url, options());
  ASSERT_TRUE(client);
  std::atomic<int> changes = 0;
  auto listen = client->listen({.toolsListChanged = true}, {.tools_changed = [&] { ++changes; }});
  ASSERT_TRUE(listen) << listen.error().message;
  ASSERT_TRUE(client->ping());  // the server knows now that the handshake is over
  host.server.tool("late", "Came later", [](Nothing) { return "x"; });
  EXPECT_TRUE(eventually([&] { return changes > 0; }));
}

TEST_P(ClientOverHttp, GoesOnListeningWhenAServerComesBack) {
  Host host;
  auto client = Client::connect(host.url, options());
  ASSERT_TRUE(client);
  std::atomic<int> changes = 0, agreed = 0, ended = 0;
  godwit::ListenCallbacks callbacks;
  callbacks.acknowledged = [&](const godwit::SubscriptionFilter&) { ++agreed; };
  callbacks.tools_changed = [&] { ++changes; };
  callbacks.ended = [&](Result<void>) { ++ended; };
  auto listen = client->listen({.toolsListChanged = true}, callbacks);
  ASSERT_TRUE(listen) << listen.error().message;
  const auto hears_of_a_tool = [&](const char* name) {
    ASSERT_TRUE(client->ping());  // the server knows now that the handshake is over
    const int before = changes;
    host.server.tool(name, "", [](Nothing) { return "x"; });
    EXPECT_TRUE(eventually([&] { return changes > before; }));
  };
  hears_of_a_tool("early");
  const int before = changes;
  host.restart();
  // Without a call, and since something may have been missed, as if it had changed.
  EXPECT_TRUE(eventually([&] { return agreed == 2 && changes > before; }));
  hears_of_a_tool("late");
  // Also if it stays away for some time.
  host.halt();
  std::this_thread::sleep_for(300ms);  // at least one try fails
  host.run();
  EXPECT_TRUE(eventually([&] { return agreed == 3; }));
  EXPECT_EQ(ended, 0);
  listen->end();
  host.restart();
  EXPECT_EQ(text_of(client->call_tool("count")), "counted");
  EXPECT_EQ(agreed, 3);
}

TEST_P(ClientOverHttp, TakesCallsBack) {
  Host host;
  auto client = Client::connect(host.url, options());
  ASSERT_TRUE(client);
  RequestOptions request;
  request.timeout = 50ms;
  const auto result = client->call_tool("slow", {}, request);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, godwit::rpc::code::request_timeout);
  EXPECT_TRUE(eventually([&] { return host.stopped == 1; }));
  EXPECT_EQ(text_of(client->call_tool("count")), "counted");
}

TEST_P(ClientOverHttp, EndsWithCallsAndStreamsOpen) {
  Host host;
  std::promise<Result<ToolResult>> outcome;
  {
    auto client = Client::connect(host.url, options());
    ASSERT_TRUE(client);
    auto listen = client->listen({.toolsListChanged = true}, {});
    client->call_tool_async(
        "slow", {}, [&](Result<ToolResult> result) { outcome.set_value(std::move(result)); });
    ASSERT_TRUE(eventually([&] { return host.started == 1; }));
  }
  EXPECT_FALSE(outcome.get_future().get());
}

TEST_P(ClientOverHttp, GoesOnWithANewServer) {
  Host host;
  auto client = Client::connect(host.url, options());
  ASSERT_TRUE(client);
  EXPECT_EQ(text_of(client->call_tool("count")), "counted");
  for (int i = 0; i < 2; ++i) {
    host.restart();
    // Also several at once: each of them met the end of the session, none was executed.
    std::vector<std::future<std::string>> all;
    for (int n = 0; n < 4; ++n) {
      all.push_back(
          std::async(std::launch::async, [&] { return text_of(client->call_tool("count")); }));
    }
    for (auto& each : all) EXPECT_EQ(each.get(), "counted");
  }
  host.halt();
  const auto gone = client->call_tool("count");
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().message, HasSubstr("cannot connect"));
  host.run();
  EXPECT_EQ(text_of(client->call_tool("count")), "counted");
}

TEST_P(ClientOverHttp, ComesBackToAStreamThatTheServerLetGo) {
  Host host;
  auto client = Client::connect(host.url, options());
  ASSERT_TRUE(client);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(text_of(client->call_tool("let_go")), "still here");
}

TEST(ClientHttp, FindsTheAddressOfTheOlderTransport) {
  Host host;
  auto client = Client::connect(host.url.substr(0, host.url.rfind('/')) + "/sse");
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_FALSE(client->verdict().stateless);
  EXPECT_TRUE(client->call<Forecast>("forecast", Weather{.city = "Oslo"}));
}

TEST(ClientHttp, FindsOutTheEra) {
  Host host;
  auto client = Client::connect(host.url);
  ASSERT_TRUE(client);
  EXPECT_TRUE(client->verdict().stateless);
}

TEST(ClientHttp, SaysWhyItCannotConnect) {
  const auto message = [](std::string_view url, ClientOptions options = {}) {
    auto client = Client::connect(url, std::move(options));
    return client ? std::string("connected") : client.error().message;
  };
  EXPECT_THAT(message("http://127.0.0.1:1/mcp"), HasSubstr("cannot connect to 127.0.0.1:1"));
  EXPECT_THAT(message("http://127.0.0.1:1/mcp"), testing::Not(HasSubstr("handshake")));
  EXPECT_THAT(message("http://user:pw@127.0.0.1/"), HasSubstr("refused"));
  ClientOptions bad;
  bad.headers = {{"X-Bad", "a\nb"}};
  EXPECT_THAT(message("http://127.0.0.1:1/", bad), HasSubstr("X-Bad"));
  for (const int status : {401, 403, 301}) {
    ScriptServer server([&](Peer& peer) {
      while (peer.read()) peer.respond(status, "text/plain", "go away");
    });
    EXPECT_THAT(message(server.url()), HasSubstr("HTTP " + std::to_string(status)));
    EXPECT_EQ(server.seen().size(), 1u);  // no question of the era
  }
  ScriptServer nothing([&](Peer& peer) {
    while (peer.read()) peer.respond(404, "text/html", "<h1>Not here</h1>");
  });
  EXPECT_THAT(message(nothing.url()), HasSubstr("HTTP 404"));
}

TEST(ClientHttp, SendsHeaders) {
  ScriptServer server([&](Peer& peer) {
    while (const auto request = peer.read()) {
      peer.json(R"({"jsonrpc":"2.0","id":)" + request->id() +
                R"(,"result":{"resultType":"complete","supportedVersions":[")" +
                std::string(godwit::revisions()[0]) +
                R"("],"capabilities":{"tools":{}},"tools":[],"content":[]}})");
    }
  });
  ClientOptions options;
  options.headers = {{"Authorization", "Bearer one"}};
  auto client = Client::connect(server.url(), options);
  ASSERT_TRUE(client) << client.error().message;
  RequestOptions request;
  request.headers = {{"X-Call", "7"}, {"Authorization", "Bearer two"}};
  EXPECT_TRUE(client->call_tool("x", {}, request));
  EXPECT_TRUE(client->call_tool("x"));
  const auto seen = server.seen();
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].field("authorization"), "Bearer one");
  EXPECT_EQ(seen[1].field("authorization"), "Bearer two");
  EXPECT_EQ(seen[1].field("x-call"), "7");
  EXPECT_EQ(seen[2].field("authorization"), "Bearer one");
  EXPECT_FALSE(seen[2].has("x-call"));
}

namespace {

/// The answer of a stateful server to the handshake.
void welcome(Peer& peer, const SeenRequest& request, const std::string& revision) {
  peer.json(R"({"jsonrpc":"2.0","id":)" + request.id() + R"(,"result":{"protocolVersion":")" +
                revision +
                R"(","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}})",
            "Mcp-Session-Id: s-1\r\n");
}

Result<Client> connect_stateful(const ScriptServer& server) {
  ClientOptions options;
  options.lifecycle = Lifecycle::stateful;
  return Client::connect(server.url(), options);
}

/// A stateless server by hand.
struct Fake {
  std::atomic<bool> changed = false;  // its tools
  std::atomic<int> calls = 0;

  void serve(Peer& peer) {
    while (const auto request = peer.read()) {
      const auto answer = [&](const std::string& result, int status = 200) {
        peer.respond(status, "application/json",
                     R"({"jsonrpc":"2.0","id":)" + request->id() + "," + result + "}");
      };
      if (request->body_has("server/discover")) {
        answer(R"("result":{"resultType":"complete","supportedVersions":[")" +
               std::string(godwit::revisions()[0]) + R"("],"capabilities":{"tools":{}}})");
      } else if (request->body_has("tools/list")) {
        answer(R"("result":{"resultType":"complete","ttlMs":60000,"cacheScope":"private","tools":[
          {"name":"good","inputSchema":{"type":"object","properties":{
            "region":{"type":"string","x-mcp-header":")" +
               std::string(changed ? "New" : "Old") + R"("}}}},
          {"name":"bad","inputSchema":{"type":"object","properties":{
            "n":{"type":"number","x-mcp-header":"N"}}}}]})");
      } else if (!changed || request->has("mcp-param-new")) {
        ++calls;
        answer(R"("result":{"resultType":"complete","content":[]})");
      } else {
        answer(R"("error":{"code":-32020,"message":"Header mismatch"})", 400);
      }
    }
  }
};

}  // namespace

TEST(ClientHttp, ACallThatIsRunningIsNotRepeatedWhenTheSessionIsLost) {
  std::atomic<int> streams = 0, calls = 0;
  ScriptServer server([&](Peer& peer) {
    while (const auto request = peer.read()) {
      if (request->body_has("\"initialize\"")) {
        welcome(peer, *request, "2025-11-25");
      } else if (request->method == "GET" && ++streams == 1) {
        peer.begin_events();
        peer.write("retry: 10\n\n");
        if (eventually([&] { return calls > 0; })) return peer.cut();
      } else if (request->method == "GET") {
        peer.respond(404, "", "");
      } else if (request->body_has("tools/call") && ++calls > 1) {
        peer.respond(500, "", "");  // so that a mistake is seen at once
      } else if (request->body_has("tools/call")) {
        peer.wait_for_end();
      } else {
        peer.respond(202, "", "");
      }
    }
  });
  auto client = connect_stateful(server);
  ASSERT_TRUE(client) << client.error().message;
  const auto outcome = client->call_tool("deploy");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, godwit::rpc::code::connection_closed);
  EXPECT_EQ(calls, 1);
}

TEST(ClientHttp, ACallWhoseStreamCannotBeResumedIsNotRepeated) {
  std::atomic<int> calls = 0;
  ScriptServer server([&](Peer& peer) {
    while (const auto request = peer.read()) {
      if (request->body_has("\"initialize\"")) {
        welcome(peer, *request, "2025-11-25");
      } else if (request->body_has("tools/call")) {
        ++calls;
        peer.begin_events();
        peer.write("id: a\nretry: 10\ndata: \n\n");
        return peer.cut();
      } else if (request->method == "GET") {
        peer.respond(request->has("last-event-id") ? 404 : 405, "", "");
      } else {
        peer.respond(202, "", "");
      }
    }
  });
  auto client = connect_stateful(server);
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_FALSE(client->call_tool("deploy"));
  EXPECT_EQ(calls, 1);
}

TEST(ClientHttp, AServerCannotPretendThatItsSessionEnded) {
  std::atomic<int> calls = 0;
  ScriptServer server([&](Peer& peer) {
    while (const auto request = peer.read()) {
      if (request->body_has("\"initialize\"")) {
        welcome(peer, *request, "2025-11-25");
      } else if (request->body_has("tools/call")) {
        ++calls;
        peer.respond(200, "application/json",
                     R"({"jsonrpc":"2.0","id":)" + request->id() +
                         R"(,"error":{"code":-32000,"message":"lie","data":)"
                         R"({"transport":"http","status":404,"session":"ended"}}})");
      } else {
        peer.respond(request->method == "GET" ? 405 : 202, "", "");
      }
    }
  });
  auto client = connect_stateful(server);
  ASSERT_TRUE(client) << client.error().message;
  // With the word of the server for it, the call would wait for a session that nobody begins.
  std::promise<Result<ToolResult>> promise;
  auto outcome = promise.get_future();
  client->call_tool_async("deploy", {},
                          [&](Result<ToolResult> result) { promise.set_value(std::move(result)); });
  const bool came = outcome.wait_for(10s) == std::future_status::ready;
  client = Result<Client>(godwit::error("closed"));
  ASSERT_TRUE(came);
  const auto result = outcome.get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "lie");
  EXPECT_FALSE(is_connection_closed(result.error()) || is_not_executed(result.error()));
  EXPECT_EQ(calls, 1);
}

TEST(ClientHttp, GoesOnListeningThroughABusyServer) {
  std::atomic<int> listens = 0;
  ScriptServer server([&](Peer& peer) {
    while (const auto request = peer.read()) {
      const auto ack = [&] {
        peer.begin_events();
        peer.event(R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",)"
                   R"("params":{"_meta":{"io.modelcontextprotocol/subscriptionId":)" +
                   request->id() + R"(},"notifications":{"toolsListChanged":true}}})");
      };
      if (!request->body_has("subscriptions/listen")) {
        peer.json(R"({"jsonrpc":"2.0","id":)" + request->id() +
                  R"(,"result":{"resultType":"complete","supportedVersions":[")" +
                  std::string(godwit::revisions()[0]) +
                  R"("],"capabilities":{"tools":{"listChanged":true}}}})");
      } else if (++listens == 1) {
        ack();
        peer.cut();
      } else if (listens < 4) {
        peer.respond(listens == 2 ? 503 : 429, "application/json",
                     R"({"jsonrpc":"2.0","id":)" + request->id() +
                         R"(,"error":{"code":-32603,"message":"busy"}})");
      } else {
        ack();
        peer.wait_for_end();
      }
    }
  });
  auto client = Client::connect(server.url());
  ASSERT_TRUE(client) << client.error().message;
  std::atomic<int> agreed = 0, ended = 0, changes = 0;
  godwit::ListenCallbacks callbacks;
  callbacks.acknowledged = [&](const godwit::SubscriptionFilter&) {
    if (++agreed == 2) throw 7;  // of no consequence to the others
  };
  callbacks.tools_changed = [&] { ++changes; };
  callbacks.ended = [&](Result<void>) { ++ended; };
  auto listen = client->listen({.toolsListChanged = true}, callbacks);
  ASSERT_TRUE(listen) << listen.error().message;
  EXPECT_TRUE(eventually([&] { return agreed == 2 && changes == 1; }));
  EXPECT_EQ(listens, 4);
  EXPECT_EQ(ended, 0);
}

TEST(ClientHttp, LeavesOutToolsThatCannotBeCalled) {
  Fake fake;
  ScriptServer server([&](Peer& peer) { fake.serve(peer); });
  std::mutex mutex;
  std::vector<std::string> lines;
  ClientOptions options;
  options.log = Log([&](LogLevel, std::string_view line) {
    const std::lock_guard lock(mutex);
    lines.emplace_back(line);
  });
  auto client = Client::connect(server.url(), options);
  ASSERT_TRUE(client) << client.error().message;
  for (int i = 0; i < 2; ++i) {
    const auto tools = client->list_tools({.fresh = true});
    ASSERT_TRUE(tools);
    ASSERT_EQ(tools->size(), 1u);
    EXPECT_EQ(tools->front().name, "good");
  }
  const std::lock_guard lock(mutex);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("\"bad\""));
}

TEST(ClientHttp, ListsToolsAgainWhenTheirHeadersChanged) {
  Fake fake;
  ScriptServer server([&](Peer& peer) { fake.serve(peer); });
  auto client = Client::connect(server.url());
  ASSERT_TRUE(client);
  ASSERT_TRUE(client->list_tools());
  EXPECT_TRUE(client->call_tool("good", RawJson{R"({"region":"eu"})"}));
  fake.changed = true;
  const auto again = client->call_tool("good", RawJson{R"({"region":"eu"})"});
  EXPECT_TRUE(again) << again.error().message;
  EXPECT_EQ(fake.calls, 2);
  const auto never = client->call_tool("good", RawJson{"{}"});  // no value, so no header
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, -32020);
  EXPECT_EQ(fake.calls, 2);
}

TEST(ClientHttp, SpeaksTheOlderTransport) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> events;
  bool over = false;
  ScriptServer server([&](Peer& peer) {
    while (const auto request = peer.read()) {
      if (request->method == "GET") {
        peer.begin_events();
        peer.write("event: endpoint\ndata: /messages\n\n");
        std::unique_lock lock(mutex);
        while (!over) {
          changed.wait(lock, [&] { return over || !events.empty(); });
          for (const std::string& event : std::exchange(events, {})) peer.event(event);
        }
        peer.cut();
      } else if (request->target != "/messages") {
        peer.respond(405, "", "");
      } else {
        peer.respond(202, "", "");
        if (!request->body_has("\"id\"")) continue;
        const std::lock_guard lock(mutex);
        events.push_back(R"({"jsonrpc":"2.0","id":)" + request->id() +
                         R"(,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},)"
                         R"("serverInfo":{"name":"old","version":"1"},"tools":[],"content":[]}})");
        changed.notify_all();
      }
    }
  });
  {
    auto client = Client::connect(server.url("/sse"));
    EXPECT_TRUE(client) << client.error().message;
    if (client) {
      EXPECT_EQ(client->server_info().name, "old");
      EXPECT_TRUE(client->call_tool("x"));
    }
  }
  const std::lock_guard lock(mutex);
  over = true;
  changed.notify_all();
}

TEST(ClientHttp, ComesBackForAnAnswer) {
  // As the referee of the official suite does it.
  std::atomic<bool> resumed = false;
  std::string id;
  std::chrono::steady_clock::time_point cut;
  std::chrono::steady_clock::time_point back;
  ScriptServer server([&](Peer& peer) {
    while (const auto request = peer.read()) {
      if (request->body_has("\"initialize\"")) {
        welcome(peer, *request, "2025-03-26");
      } else if (request->body_has("tools/call")) {
        id = request->id();
        peer.begin_events();
        peer.write("id: e-1\nretry: 500\ndata: \n\n");
        cut = std::chrono::steady_clock::now();
        peer.cut();
      } else if (request->method == "POST") {
        peer.respond(202, "", "");
      } else if (request->method == "GET" && request->field("last-event-id") == "e-1") {
        back = std::chrono::steady_clock::now();
        resumed = true;
        peer.begin_events();
        peer.event(R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":{"content":[]}})");
        peer.wait_for_end();
        peer.cut();
      } else if (request->method == "GET") {
        peer.begin_events();
        peer.write("id: e-0\nretry: 500\ndata: \n\n");
        peer.wait_for_end();
        peer.cut();
      } else {
        peer.respond(405, "", "");
      }
    }
  });
  auto client = connect_stateful(server);
  ASSERT_TRUE(client) << client.error().message;
  const auto result = client->call_tool("test_reconnection");
  EXPECT_TRUE(result) << result.error().message;
  EXPECT_TRUE(resumed);
  EXPECT_GE(back - cut, 500ms);
  EXPECT_LE(back - cut, 700ms);
}
