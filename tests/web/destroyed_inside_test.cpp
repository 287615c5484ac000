// An Endpoint, a WebServer and an HttpTransport may be destroyed inside any of their callbacks, a
// WebServer only on the thread of its loop.
#include "destroyed_inside.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "authorizer.hpp"
#include "godwit/http/admission.hpp"
#include "godwit/web/blocking_endpoint.hpp"
#include "godwit/web/web_server.hpp"
#include "http_rig.hpp"
#include "raw_client.hpp"
#include "site.hpp"
#include "websocket_frames.hpp"

namespace godwit::inline v0 {
namespace {

using test::DestroyedInside;
using test::Doomed;
using test::RawClient;
using test::settle;
using OnStop = std::stop_callback<std::function<void()>>;

// --- the endpoint

enum class Era { stateless, stateful };

/// An Endpoint with requests under way, and tools that destroy it.
struct Web {
  explicit Web(Era which, EndpointOptions given = {}) : era(which), options(std::move(given)) {
    server.tool("destroy", "", [this] {
      doomed.destroy();
      return "destroyed";
    });
    server.tool("streams", "", [this](Context& cx) {
      cx.progress(1, 2);
      doomed.destroy();
      cx.progress(2, 2);
      return "destroyed";
    });
    server.tool("throws", "", []() -> std::string { throw 1; });
    server.tool("late", "", parked.handler());
    server.tool("asks", "", [](Context& cx) -> Result<std::string> {
      auto name = cx.elicit<Name>("who", "Who?");
      if (!name) return name.error();
      return name->value().name;
    });
  }
  void open() {
    doomed.make(server, options);
    if (era == Era::stateless) return;
    session =
        send(Site::post(Site::initialize_body(test::legacy_revision))).field("Mcp-Session-Id");
    send(Site::in(session, Site::legacy_body("", "notifications/initialized")));
    send(Site::get(session));
  }
  FakeExchange& send(FakeRequest request) {
    FakeExchange& exchange = *exchanges.emplace_back(std::make_unique<FakeExchange>());
    doomed->on_request(request.get(), exchange);
    return exchange;
  }
  FakeExchange& call(std::string_view tool, std::string_view more = "") {
    const std::string id = std::to_string(++last);
    if (era == Era::stateless) return send(Site::modern_tool(id, tool, "{}", more));
    return send(Site::in(session, Site::tool_body(id, tool, "{}", more)));
  }
  void expect_destroyed() {
    EXPECT_EQ(doomed.destroyed(), 1);
    for (const auto& each : exchanges) EXPECT_FALSE(each->waiting());
    for (auto& reply : parked.replies) reply("nobody waits for it");
    EXPECT_EQ(server.sessions(), 0u);
  }

  const Era era;
  EndpointOptions options;
  ManualClock clock;
  Parked parked;
  Server server{server_options()};
  std::string session;
  int last = 0;
  std::vector<std::unique_ptr<FakeExchange>> exchanges;
  Doomed<Endpoint> doomed;
  std::function<void()> in_log;

 private:
  ServerOptions server_options() {
    ServerOptions made = test::server_options();
    made.clock = &clock;
    made.log = Log([this](auto&&...) {
      if (in_log) std::exchange(in_log, nullptr)();
    });
    return made;
  }
};

template <Era era>
void handler() {
  Web web(era);
  web.open();
  web.call("late");
  web.call("destroy");
  web.expect_destroyed();
}
template <Era era>
void handler_that_streams() {
  Web web(era);
  web.open();
  web.call("late");
  web.call("streams", R"(,"_meta":{"progressToken":1})");
  web.expect_destroyed();
}
template <Era era>
void middleware() {
  Web web(era);
  web.server.use({.after = [&](rpc::Outcome& outcome) {
    if (outcome.method() == "tools/call" && web.doomed.destroyed() == 0) web.doomed.destroy();
  }});
  web.open();
  web.call("late");
  web.call("late");
  web.parked.replies.at(0)("now");
  web.doomed->process();
  web.expect_destroyed();
}
template <Era era>
void stop_by_client() {
  Web web(era);
  web.open();
  FakeExchange& exchange = web.call("late");
  web.call("late");
  const OnStop stop(web.parked.replies.at(0).cancelled(), web.doomed.destroyer());
  if (era == Era::stateless) {
    exchange.go();
  } else {
    web.send(Site::in(web.session,
                      Site::legacy_body("", "notifications/cancelled", R"({"requestId":1})")));
  }
  web.expect_destroyed();
}
void stop_by_delete() {
  Web web(Era::stateful);
  web.open();
  web.call("late");
  web.call("late");
  const OnStop stop(web.parked.replies.at(0).cancelled(), web.doomed.destroyer());
  web.send(Site::remove(web.session));
  web.expect_destroyed();
}
template <Era era>
void stop_by_drain() {
  Web web(era);
  web.open();
  for (int i = 0; i < 3; ++i) web.call("late");
  const OnStop stop(web.parked.replies.at(1).cancelled(), web.doomed.destroyer());
  web.doomed->drain();
  web.expect_destroyed();
}
void timeout() {
  Web web(Era::stateful);
  web.server.use({.after = [&](rpc::Outcome& outcome) {
    if (outcome.method() == "tools/call" && web.doomed.destroyed() == 0) web.doomed.destroy();
  }});
  web.open();
  web.call("asks");
  for (int i = 0; i < 3 && web.doomed.destroyed() == 0; ++i) {
    web.clock.advance(web.server.options().ask_timeout + std::chrono::seconds(1));
    web.doomed->expire(web.clock.now());
    if (web.doomed.destroyed() == 0) web.doomed->process();
  }
  web.expect_destroyed();
}
template <Era era>
void log_sink() {
  Web web(era);
  web.open();
  web.call("late");
  web.in_log = web.doomed.destroyer();
  web.call("throws");
  web.expect_destroyed();
}

/// Lets everybody in, and does something before.
std::shared_ptr<http::Admission> admission(std::function<void()>& first) {
  return http::make_admission([&first](const http::Request&, http::Decision& decision) {
    if (first) std::exchange(first, nullptr)();
    decision.admit();
  });
}
template <Era era>
void admission_of_a_request() {
  std::function<void()> first;
  Web web(era, {.admission = admission(first)});
  web.open();
  web.call("late");
  first = web.doomed.destroyer();
  web.call("late");
  web.expect_destroyed();
}
void admission_of_a_head() {
  std::function<void()> first;
  Web web(Era::stateless, {.admission = admission(first)});
  web.open();
  web.call("late");
  first = web.doomed.destroyer();
  FakeRequest request = Site::modern_tool("9", "late");
  http::Decision decision;
  web.doomed->on_head(request.get(), decision);
  web.expect_destroyed();
}
void late_admission() {
  std::optional<http::LateDecision> late;
  Web web(Era::stateless,
          {.admission = http::make_admission([&](const http::Request&, http::Decision& decision) {
             late.emplace(decision.later());
           })});
  web.open();
  web.call("destroy");
  late->admit();
  web.doomed->process();
  web.expect_destroyed();
}

// --- the server on a port

/// A page of the program.
struct Page final : http::Handler {
  void on_request(const http::Request&, http::Exchange& exchange) override {
    call();
    exchange.respond(200, {}, {});
  }
  std::function<void()> call;
};

struct Port {
  Port() {
    server.tool("destroy", "", [this] {
      doomed.destroy();
      return "destroyed";
    });
    server.tool("late", "", parked.handler());
  }
  void listen(WebServerOptions options = {}) {
    auto made = WebServer::listen(loop, server, {"127.0.0.1", 0}, std::move(options));
    ASSERT_TRUE(made) << made.error().message;
    doomed.make(*std::move(made));
    address = doomed->address();
  }
  void send(std::string_view head, std::string_view body) {
    clients.push_back(std::make_unique<RawClient>(loop, address));
    clients.back()->send_some(std::string(head) + "Host: " + address + "\r\nContent-Length: " +
                              std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
  }
  void call(std::string_view tool) {
    send(
        "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: " +
            std::string(test::modern_revision) +
            "\r\nMcp-Method: tools/call\r\nMcp-Name: " + std::string(tool) + "\r\n",
        Site::modern_body("7", "tools/call", test::Link::tool_params(tool, "{}")));
  }
  void expect_destroyed() {
    EXPECT_TRUE(run_until(loop, [&] { return doomed.destroyed() > 0; }));
    settle(loop);
    EXPECT_EQ(doomed.destroyed(), 1);
  }

  Loop loop;
  Parked parked;
  Server server{test::server_options()};
  std::string address;
  std::vector<std::unique_ptr<RawClient>> clients;
  Doomed<WebServer> doomed;
};

void server_handler() {
  Port port;
  port.listen();
  port.call("late");
  ASSERT_TRUE(run_until(port.loop, [&] { return port.parked.replies.size() == 1; }));
  port.call("destroy");
  port.expect_destroyed();
}
void server_websocket() {
  Port port;
  port.listen({.websocket_path = "/ws"});
  auto client = std::make_unique<RawClient>(port.loop, port.address);
  client->send(
      "GET /ws HTTP/1.1\r\nHost: " + port.address +
      "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: mcp\r\n\r\n");
  ASSERT_TRUE(client->wait([&] { return client->in.find("\r\n\r\n") != client->in.npos; }));
  const std::string call =
      Site::modern_body("7", "tools/call", test::Link::tool_params("destroy", "{}"));
  client->send_some(test::ws_frame(call) + test::ws_frame(call));
  port.expect_destroyed();
}
void server_route() {
  Port port;
  auto page = std::make_shared<Page>();
  page->call = port.doomed.destroyer();
  port.listen({.routes = {{.path = "/page", .handler = page}}});
  port.send("GET /page HTTP/1.1\r\n", "");
  port.expect_destroyed();
}
void server_admission() {
  Port port;
  std::function<void()> first = port.doomed.destroyer();
  port.listen({.endpoint = {.admission = admission(first)}});
  port.call("late");
  port.expect_destroyed();
}
void server_stop_by_drain() {
  Port port;
  port.listen();
  port.call("late");
  port.call("late");
  ASSERT_TRUE(run_until(port.loop, [&] { return port.parked.replies.size() == 2; }));
  const OnStop stop(port.parked.replies[0].cancelled(), port.doomed.destroyer());
  port.doomed->drain([] { ADD_FAILURE() << "told after it was destroyed"; });
  port.expect_destroyed();
}
void server_drained() {
  for (const unsigned threads : {1u, 2u}) {
    Port port;
    port.listen({.threads = threads});
    port.doomed->drain(port.doomed.destroyer());
    port.expect_destroyed();
  }
}

// --- the transport of a client

enum class Call { message, failure, close, flushed };

struct Destroyer final : rpc::Receiver {
  Destroyer(Doomed<rpc::Transport>& owner, Call where) : transport(owner), in(where) {}
  void on_message(std::string_view, std::size_t) override { called(Call::message); }
  void on_unreadable(const Error&) override {}
  void on_failure(const rpc::Id&, const Error&) override { called(Call::failure); }
  void on_close(const Error&) override { called(Call::close); }
  void called(Call what) {
    EXPECT_EQ(transport.destroyed(), 0) << "called after it was destroyed";
    if (what == in) transport.destroy();
  }
  Doomed<rpc::Transport>& transport;
  const Call in;
};

/// Several requests to a server that answers each with an event stream, or not at all.
struct Caller {
  explicit Caller(Call where, bool answers = true,
                  std::shared_ptr<http::RequestAuthorizer> authorizer = nullptr)
      : server(each([answers](Peer& peer, const SeenRequest& request) {
          if (!answers) return void(peer.respond(404, "", ""));
          peer.begin_events();
          peer.event(result(request));
          peer.wait_for_end();
        })),
        receiver(doomed, where) {
    HttpTransportOptions options;
    options.url = http::Url::parse(server.url()).value();
    options.proxy_from_environment = false;
    options.authorizer = std::move(authorizer);
    doomed.take(HttpTransport::make(loop, std::move(options)));
    doomed->start(receiver);
  }
  void ask() {
    for (int i = 1; i <= 3; ++i) {
      test::send(*doomed, Site::modern_body(std::to_string(i), "a/b"));
    }
  }
  void expect_destroyed() {
    EXPECT_TRUE(run_until(loop, [&] { return doomed.destroyed() > 0; }));
    settle(loop);
    EXPECT_EQ(doomed.destroyed(), 1);
  }

  Loop loop;
  ScriptServer server;
  Doomed<rpc::Transport> doomed;
  Destroyer receiver;
};

void transport_message() {
  Caller client(Call::message);
  client.ask();
  client.expect_destroyed();
}
void transport_failure() {
  Caller client(Call::failure, false);
  client.ask();
  client.expect_destroyed();
}
void transport_close() {
  Caller client(Call::close);
  client.ask();
  client.doomed->close();
  client.expect_destroyed();
}
void transport_flushed() {
  Caller client(Call::flushed);
  client.ask();
  client.doomed->when_flushed(client.doomed.destroyer());
  client.expect_destroyed();
}
void transport_authorizer() {
  for (const bool answers : {false, true}) {
    auto authorizer = std::make_shared<test::TestAuthorizer>();
    Caller client(Call::flushed, true, authorizer);
    authorizer->on_authorize = [&](auto&&, http::AuthorizerReply<http::Fields> reply) {
      client.doomed.destroy();
      if (answers) reply(http::Fields{});
    };
    client.ask();
    client.expect_destroyed();
  }
}

constexpr DestroyedInside rows[] = {
    {"Endpoint stateless", "handler", handler<Era::stateless>},
    {"Endpoint stateful", "handler", handler<Era::stateful>},
    {"Endpoint stateless", "handler that streams", handler_that_streams<Era::stateless>},
    {"Endpoint stateful", "handler that streams", handler_that_streams<Era::stateful>},
    {"Endpoint stateless", "middleware after a late reply", middleware<Era::stateless>},
    {"Endpoint stateful", "middleware after a late reply", middleware<Era::stateful>},
    {"Endpoint stateless", "stop by the client", stop_by_client<Era::stateless>},
    {"Endpoint stateful", "stop by the client", stop_by_client<Era::stateful>},
    {"Endpoint stateful", "stop by DELETE", stop_by_delete},
    {"Endpoint stateless", "stop by drain", stop_by_drain<Era::stateless>},
    {"Endpoint stateful", "stop by drain", stop_by_drain<Era::stateful>},
    {"Endpoint stateful", "middleware after a timeout", timeout},
    {"Endpoint stateless", "log", log_sink<Era::stateless>},
    {"Endpoint stateful", "log", log_sink<Era::stateful>},
    {"Endpoint stateless", "admission of a request", admission_of_a_request<Era::stateless>},
    {"Endpoint stateful", "admission of a request", admission_of_a_request<Era::stateful>},
    {"Endpoint stateless", "admission of a head", admission_of_a_head},
    {"Endpoint stateless", "handler after LateDecision", late_admission},
    {"WebServer", "handler", server_handler},
    {"WebServer", "handler over WebSocket", server_websocket},
    {"WebServer", "handler of a route", server_route},
    {"WebServer", "admission", server_admission},
    {"WebServer", "stop by drain", server_stop_by_drain},
    {"WebServer", "drain done", server_drained},
    {"HttpTransport", "on_message", transport_message},
    {"HttpTransport", "on_failure", transport_failure},
    {"HttpTransport", "on_close", transport_close},
    {"HttpTransport", "when_flushed", transport_flushed},
    {"HttpTransport", "authorize", transport_authorizer},
};

struct Destroyed : testing::TestWithParam<DestroyedInside> {};
TEST_P(Destroyed, Inside) { GetParam().run(); }
INSTANTIATE_TEST_SUITE_P(Web, Destroyed, testing::ValuesIn(rows), test::name_of);

// What cannot work says so.

TEST(DestroyedDeathTest, ABlockingEndpointInsideHandle) {
  const auto destroy = [] {
    Server server(test::server_options());
    Doomed<BlockingEndpoint> endpoint;
    server.tool("destroy", "", [&] {
      endpoint.destroy();
      return "";
    });
    endpoint.make(server);
    FakeRequest request = Site::modern_tool("1", "destroy");
    static_cast<void>(endpoint->handle(request.get()));
  };
  EXPECT_DEATH(destroy(), "a BlockingEndpoint was destroyed while a thread was in handle");
}

TEST(DestroyedDeathTest, AWebServerOnAThreadOfItsOwn) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto destroy = [] {
    Port port;
    port.server.tool("elsewhere", "", [&] {
      if (!port.loop.on_loop_thread()) port.doomed.destroy();
      return "here";
    });
    port.listen({.threads = 4});
    for (int i = 0; i < 50; ++i) port.call("elsewhere");  // one of them comes to another thread
    run_until(port.loop, [] { return false; });
  };
  EXPECT_DEATH(destroy(), "a WebServer was destroyed on a thread of its own");
}

}  // namespace
}  // namespace godwit::inline v0
