// ClientOptions::authorizer: a Client that logs in, over HTTP and WebSocket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "authorizer.hpp"
#include "godwit/http/http_server.hpp"
#include "godwit/mcp/revision.hpp"
#include "godwit/runtime/client.hpp"
#include "godwit/transport/websocket.hpp"
#include "receiver.hpp"
#include "script_server.hpp"

using namespace std::chrono_literals;
using godwit::Client;
using godwit::ClientOptions;
using godwit::Error;
using godwit::Lifecycle;
using godwit::Loop;
using godwit::RawJson;
using godwit::Result;
using godwit::test::ScriptServer;
using godwit::test::SeenRequest;
using godwit::test::TestAuthorizer;
using testing::HasSubstr;
using Peer = ScriptServer::Peer;
namespace http = godwit::http;

namespace {

/// Sends a token with each request, and logs in when the server wants another one. Requests that
/// are refused meanwhile wait for the same login.
class Login final : public http::RequestAuthorizer {
 public:
  /// `log_in` may take its time: it has a thread of its own.
  explicit Login(std::function<Result<std::string>()> log_in) : log_in_(std::move(log_in)) {}

  void authorize(const http::AuthorizerRequest&,
                 http::AuthorizerReply<http::Fields> reply) override {
    const std::lock_guard lock(mutex_);
    http::Fields fields;
    if (!token_.empty()) fields.add("Authorization", "Bearer " + token_);
    reply(std::move(fields));
  }

  void on_refused(const http::AuthorizerRequest& request, const http::AuthorizerRefusal& refusal,
                  http::AuthorizerReply<http::AfterRefusal> reply) override {
    if (refusal.status != 401 || request.attempt > 2) return reply(http::AfterRefusal::fail);
    const std::lock_guard lock(mutex_);
    const auto sent = request.sent.find("Authorization");
    if (!token_.empty() && sent != "Bearer " + token_) {  // there is a newer one
      return reply(http::AfterRefusal::send_again);
    }
    waiting_.push_back(std::move(reply));
    if (waiting_.size() > 1) return;
    thread_ = std::jthread([this] {
      Result<std::string> token = log_in_();
      const std::lock_guard done(mutex_);
      if (token) token_ = *token;
      for (auto& each : std::exchange(waiting_, {})) {
        token ? each(http::AfterRefusal::send_again) : each(token.error());
      }
    });
  }

 private:
  std::function<Result<std::string>()> log_in_;
  std::mutex mutex_;
  std::string token_;
  std::vector<http::AuthorizerReply<http::AfterRefusal>> waiting_;
  std::jthread thread_;
};

std::string result(const SeenRequest& request, std::string_view body = "{}") {
  return R"({"jsonrpc":"2.0","id":)" + request.id() + R"(,"result":)" + std::string(body) + "}";
}

/// A stateless server that wants this token.
ScriptServer::Script wants(std::string token) {
  return [token = std::move(token)](Peer& peer) {
    while (const auto request = peer.read()) {
      if (request->field("authorization") != "Bearer " + token) {
        peer.respond(401, "text/plain", "who are you", "WWW-Authenticate: Bearer\r\n");
      } else if (request->body_has("server/discover")) {
        peer.json(result(*request, R"({"resultType":"complete","supportedVersions":[")" +
                                       std::string(godwit::revisions()[0]) +
                                       R"("],"capabilities":{"tools":{}},"ttlMs":0,)"
                                       R"("cacheScope":"private"})"));
      } else {
        peer.json(result(*request, R"({"resultType":"complete"})"));
      }
    }
  };
}

TEST(ClientAuthorizer, LogsInWhenItConnects) {
  ScriptServer server(wants("t1"));
  std::atomic<int> logins = 0;
  const std::string url = server.url();
  const auto open_browser = [&]() -> Result<std::string> {
    ++logins;
    return "t1";
  };

  ClientOptions options;
  options.authorizer = std::make_shared<Login>(open_browser);
  auto client = Client::connect(url, options);

  ASSERT_TRUE(client) << client.error().message;
  EXPECT_TRUE(client->request("x/y"));
  EXPECT_EQ(logins, 1);
}

TEST(ClientAuthorizer, ALoginMayTakeLongerThanEveryTimeout) {
  ScriptServer server(wants("t1"));
  ClientOptions options;
  options.probe_timeout = 1s;
  options.start_timeout = 1s;
  options.authorizer = std::make_shared<Login>([]() -> Result<std::string> {
    std::this_thread::sleep_for(1200ms);
    return "t1";
  });
  auto client = Client::connect(server.url(), options);
  ASSERT_TRUE(client) << client.error().message;
  std::size_t initialized = 0;
  for (const SeenRequest& each : server.seen()) initialized += each.body_has("initialize");
  EXPECT_EQ(initialized, 0u) << "the probe did not time out";
}

TEST(ClientAuthorizer, ParallelCallsShareOneLogin) {
  std::atomic<int> wanted = 1;
  ScriptServer server([&](Peer& peer) {
    while (const auto request = peer.read()) {
      if (request->field("authorization") != "Bearer t" + std::to_string(wanted)) {
        peer.respond(401, "", "");
      } else {
        peer.json(result(*request, R"({"resultType":"complete"})"));
      }
    }
  });
  std::atomic<int> logins = 0;
  ClientOptions options;
  options.verdict =
      godwit::Verdict{.stateless = true, .revision = std::string(godwit::revisions()[0])};
  options.authorizer = std::make_shared<Login>([&]() -> Result<std::string> {
    ++logins;
    std::this_thread::sleep_for(20ms);
    return "t" + std::to_string(wanted);
  });
  auto client = Client::connect(server.url(), options);
  ASSERT_TRUE(client) << client.error().message;
  for (int round = 1; round <= 3; ++round) {
    wanted = round;
    std::vector<std::jthread> threads;
    std::atomic<int> good = 0;
    for (int i = 0; i < 10; ++i) {
      threads.emplace_back([&] { good += client->request("x/y").has_value(); });
    }
    threads.clear();
    EXPECT_EQ(good, 10);
    EXPECT_EQ(logins, round);
  }
}

TEST(ClientAuthorizer, ALoginThatFailsIsTheErrorOfConnectAndAskedForOnce) {
  ScriptServer server(wants("t1"));
  std::atomic<int> logins = 0;
  ClientOptions options;
  options.authorizer = std::make_shared<Login>([&]() -> Result<std::string> {
    ++logins;
    return Error{.code = 4711, .message = "the login was denied"};
  });
  const auto client = Client::connect(server.url(), options);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, 4711);
  EXPECT_EQ(client.error().message, "the login was denied");
  EXPECT_TRUE(godwit::is_not_authorized(client.error()));
  EXPECT_EQ(logins, 1) << "the handshake is not tried after that";
}

TEST(ClientAuthorizer, TheClientMayBeDestroyedDuringTheLogin) {
  ScriptServer server(wants("t1"));
  const auto authorizer = std::make_shared<TestAuthorizer>();
  authorizer->token = "t1";
  ClientOptions options;
  options.authorizer = authorizer;
  auto client = Client::connect(server.url(), options);
  ASSERT_TRUE(client) << client.error().message;
  std::promise<void> deciding;
  client->with_session([&](const auto&) {
    authorizer->token = "expired";
    authorizer->on_refusal = [&](auto reply) {
      authorizer->waiting.push_back(std::move(reply));
      deciding.set_value();
    };
  });
  std::promise<Result<godwit::ToolResult>> outcome;
  client->call_tool_async("x", {}, [&](auto got) { outcome.set_value(std::move(got)); });
  deciding.get_future().wait();
  {
    const Client over = *std::move(client);
  }
  const auto got = outcome.get_future().get();
  EXPECT_FALSE(got);
  authorizer->waiting[0](http::AfterRefusal::send_again);
}

TEST(ClientAuthorizer, ACallCanBeCancelledDuringTheLogin) {
  ScriptServer server(wants("t1"));
  const auto authorizer = std::make_shared<TestAuthorizer>();
  authorizer->token = "t1";
  ClientOptions options;
  options.authorizer = authorizer;
  auto client = Client::connect(server.url(), options);
  ASSERT_TRUE(client) << client.error().message;
  std::promise<Result<RawJson>> outcome;
  std::promise<godwit::ClientCall> call;
  client->with_session([&](Result<godwit::ClientSession*> session) {
    authorizer->token = "expired";
    authorizer->on_refusal = [&](auto reply) {
      authorizer->waiting.push_back(std::move(reply));
      client->with_session([&](Result<godwit::ClientSession*> with) {
        (*with)->cancel(call.get_future().get(), "enough");
      });
    };
    call.set_value((*session)->request(
        "x/y", {}, [&](Result<RawJson> got) { outcome.set_value(std::move(got)); }));
  });
  const auto got = outcome.get_future().get();
  ASSERT_FALSE(got);
  EXPECT_TRUE(godwit::is_cancelled(got.error()));
}

/// Takes WebSockets of whoever has the token, and answers every request.
struct SocketServer final : http::Handler {
  SocketServer() {
    server.emplace(
        std::move(*http::HttpServer::tcp(loop, *godwit::Address::parse("127.0.0.1:0"), *this, {})));
    address = server->address();
    thread = std::thread([this] {
      const Loop::Work work(loop);
      loop.run();
    });
  }
  ~SocketServer() {
    loop.stop();
    thread.join();
  }
  void on_request(const http::Request&, http::Exchange& exchange) override {
    exchange.respond(404, {}, {});
  }
  std::optional<http::Response> on_upgrade(const http::Request& request, godwit::Stream& stream,
                                           std::string_view rest) override {
    if (request.fields.find("Authorization") != "Bearer t1") {
      return http::Response{.status = 401, .fields = {{"WWW-Authenticate", "Bearer"}}, .body = {}};
    }
    auto socket = *godwit::WebSocketTransport::accept(loop, std::move(stream), request, rest, {});
    godwit::rpc::Transport* const raw = socket.get();
    auto seen = std::make_unique<godwit::test::Recorder>();
    seen->on_each = [raw](std::string_view message) {
      const auto value = godwit::json::parse(message).value();
      if (!value.contains("id")) return;
      const std::string body = value["method"] == "initialize"
                                   ? R"({"protocolVersion":")" +
                                         std::string(godwit::revisions()[1]) +
                                         R"(","capabilities":{},"serverInfo":{"name":"s",)"
                                         R"("version":"1"}})"
                                   : "{}";
      godwit::test::send(
          *raw, R"({"jsonrpc":"2.0","id":)" + value["id"].dump() + R"(,"result":)" + body + "}");
    };
    raw->start(*seen);
    receivers.push_back(std::move(seen));
    sockets.push_back(std::move(socket));
    return std::nullopt;
  }

  Loop loop;
  std::string address;
  std::vector<std::unique_ptr<godwit::test::Recorder>> receivers;
  std::vector<std::unique_ptr<godwit::WebSocketTransport>> sockets;
  std::optional<http::HttpServer> server;
  std::thread thread;
};

TEST(ClientAuthorizer, OverWebSocket) {
  SocketServer server;
  std::atomic<int> logins = 0;
  ClientOptions options;
  options.lifecycle = Lifecycle::stateful;
  options.authorizer = std::make_shared<Login>([&]() -> Result<std::string> {
    ++logins;
    return "t1";
  });
  auto client = Client::connect("ws://" + server.address + "/mcp", options);
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_TRUE(client->ping());
  EXPECT_EQ(logins, 1);

  options.authorizer =
      std::make_shared<Login>([]() -> Result<std::string> { return godwit::error("denied"); });
  const auto denied = Client::connect("ws://" + server.address + "/mcp", options);
  ASSERT_FALSE(denied);
  EXPECT_THAT(denied.error().message, HasSubstr("denied"));
  EXPECT_TRUE(godwit::is_not_authorized(denied.error()));
}

}  // namespace
