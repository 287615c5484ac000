// Who may call an RpcEndpoint: on a port, over WebSocket, and on an HTTP stack that brings whole
// requests.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fake_exchange.hpp"
#include "godwit/rpc/context.hpp"
#include "godwit/rpc/identity.hpp"
#include "godwit/transport/rpc_endpoint.hpp"
#include "godwit/transport/rpc_server.hpp"
#include "raw_client.hpp"
#include "wait.hpp"
#include "websocket_frames.hpp"

namespace godwit {
namespace {

using namespace std::chrono_literals;
using test::FakeExchange;
using test::FakeRequest;
using test::RawClient;
using test::RawResponse;
using test::run_until;

/// "later" waits for the test, "throw" throws, whatever else stands in X-Caller is let in.
struct Callers final : http::Admission {
  void decide(const http::Request& head, http::Decision& decision) override {
    ++asked;
    const auto caller = head.fields.find("X-Caller");
    if (!caller) return decision.refuse({.status = 401});
    if (*caller == "later") return late.push_back(decision.later());
    if (*caller == "throw") throw std::runtime_error("secret");
    if (*caller == "nothing") return;
    decision.admit(known(std::string(*caller)));
  }
  static http::Admitted known(const std::string& who) {
    return {.identity = std::make_shared<rpc::Identity>(rpc::Identity{.subject = who}),
            .fields = {{"X-Nonce", "n"}}};
  }
  int asked = 0;
  std::vector<http::LateDecision> late;
};

struct Guarded : testing::Test {
  Guarded() {
    router->on("who", [this](rpc::Context& context) {
      ++runs;
      const auto& identity = context.facts().identity;
      return identity ? identity->subject : std::string("nobody");
    });
    router->on("refused", []() -> Result<int> {
      Error error{.code = 7, .message = "no"};
      error.http =
          std::make_shared<HttpError>(HttpError{.status = 403, .fields = {{"X-Why", "so"}}});
      return error;
    });
  }
  static FakeRequest ask(const std::string& caller, const std::string& method = "who") {
    FakeRequest request("POST", "/rpc");
    request.with("Host", "localhost").with("Content-Type", "application/json");
    if (!caller.empty()) request.with("X-Caller", caller);
    return request.body(R"({"jsonrpc":"2.0","id":1,"method":")" + method + "\"}");
  }
  FakeExchange& send(FakeRequest request) {
    if (!endpoint) start({});
    exchanges.push_back(std::make_unique<FakeExchange>());
    endpoint->on_request(request.get(), *exchanges.back());
    return *exchanges.back();
  }
  void start(const Limits& limits) {
    endpoint.emplace(loop, router, rpc::PeerOptions{.limits = limits},
                     RpcEndpointOptions{.admission = callers});
  }
  void settle() {
    for (int i = 0; i < 10; ++i) loop.poll();
  }

  Loop loop;
  int runs = 0;
  std::shared_ptr<Callers> callers = std::make_shared<Callers>();
  std::shared_ptr<rpc::Router> router = std::make_shared<rpc::Router>();
  std::vector<std::unique_ptr<FakeExchange>> exchanges;
  std::optional<RpcEndpoint> endpoint;
};

TEST_F(Guarded, WholeRequestsAreDecidedAbout) {
  FakeExchange& known = send(ask("ada"));
  EXPECT_EQ(known.status, 200);
  EXPECT_EQ(known.answer()["result"], "ada");
  EXPECT_EQ(known.field("X-Nonce"), "n");
  EXPECT_EQ(send(ask("")).status, 401);
  EXPECT_EQ(send(ask("throw")).status, 500);
  EXPECT_EQ(send(ask("nothing")).status, 500);
  EXPECT_EQ(callers->asked, 4);
  EXPECT_EQ(send(ask("ada").set("Host", "evil.example")).status, 403);
  EXPECT_EQ(callers->asked, 4);
  EXPECT_EQ(runs, 1);
}

TEST_F(Guarded, ADecisionMayComeLater) {
  FakeExchange& admitted = send(ask("later"));
  FakeExchange& refused = send(ask("later"));
  FakeExchange& dropped = send(ask("later"));
  EXPECT_EQ(endpoint->in_flight(), 3u);
  callers->late[0].admit(Callers::known("ada"));
  callers->late[1].refuse({.status = 401});
  callers->late.clear();
  EXPECT_TRUE(admitted.waiting());
  settle();
  EXPECT_EQ(admitted.answer()["result"], "ada");
  EXPECT_EQ(admitted.field("X-Nonce"), "n");
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(dropped.status, 500);
  EXPECT_EQ(endpoint->in_flight(), 0u);
}

TEST_F(Guarded, WhoeverSaysNothingIsAnsweredForInTime) {
  Limits limits;
  limits.admission_time = 5ms;
  start(limits);
  FakeExchange& waits = send(ask("later"));
  EXPECT_TRUE(run_until(loop, [&] { return !waits.waiting(); }));
  EXPECT_EQ(waits.status, 503);
  callers->late[0].admit();
  settle();
  EXPECT_EQ(runs, 0);
}

TEST_F(Guarded, ClientsMayGoAndSoMayTheEndpoint) {
  FakeExchange& gone = send(ask("later"));
  gone.go();
  EXPECT_EQ(endpoint->in_flight(), 0u);
  callers->late[0].admit();
  settle();
  FakeExchange& late = send(ask("later"));
  callers->late[1].admit();
  late.go();  // after the decision, before it is heard
  settle();
  FakeExchange& left = send(ask("later"));
  endpoint.reset();
  EXPECT_TRUE(left.aborted());
  callers->late[2].admit();
  settle();
  EXPECT_EQ(runs, 0);
}

/// Destroys the endpoint it decides for, and lets everybody in.
struct Destroyer final : http::Admission {
  explicit Destroyer(std::optional<RpcEndpoint>& of) : endpoint(of) {}
  void decide(const http::Request&, http::Decision& decision) override {
    endpoint.reset();
    decision.admit();
  }
  std::optional<RpcEndpoint>& endpoint;
};

TEST_F(Guarded, WhoeverDecidesMayDestroyTheEndpoint) {
  const auto begin = [&] {
    RpcEndpointOptions options{.admission = std::make_shared<Destroyer>(endpoint)};
    options.on_websocket = [](auto&&...) {};
    endpoint.emplace(loop, router, rpc::PeerOptions{}, std::move(options));
  };
  begin();
  FakeExchange& exchange = send(ask("ada"));
  EXPECT_EQ(exchange.state, FakeExchange::State::aborted);
  EXPECT_EQ(runs, 0) << "no handler runs for an endpoint that is gone";

  begin();
  FakeRequest upgrade("GET", "/rpc");
  upgrade.with("Host", "localhost")
      .with("Upgrade", "websocket")
      .with("Connection", "Upgrade")
      .with("Sec-WebSocket-Version", "13")
      .with("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Descriptor other(ends[1]);
  Stream stream = *Stream::open(loop, Descriptor(ends[0]));
  const auto refused = endpoint->on_upgrade(upgrade.get(), stream, {});
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
}

TEST_F(Guarded, TheNumberOfUndecidedOnesIsBounded) {
  Limits limits;
  limits.process_in_flight = 2;
  limits.process_body_bytes = 10'000;
  start(limits);
  EXPECT_TRUE(send(ask("later")).waiting());
  EXPECT_EQ(send(ask("later").body(std::string(10'001, ' '))).status, 503);
  EXPECT_TRUE(send(ask("later")).waiting());
  EXPECT_EQ(send(ask("later")).status, 503);
  EXPECT_EQ(send(ask("ada")).status, 503);
}

TEST_F(Guarded, AnErrorMaySayItsStatus) {
  FakeExchange& refused = send(ask("ada", "refused"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.field("X-Why"), "so");
}

// On a port.

struct GuardedPort : Guarded {
  std::unique_ptr<RawClient> connect(bool ws) {
    server.emplace(loop, router);
    const RpcHttpOptions options{.admission = callers};
    auto bound = ws ? server->listen_ws({"127.0.0.1", 0}, options)
                    : server->listen_http({"127.0.0.1", 0}, options);
    EXPECT_TRUE(bound);
    address = *bound;
    return std::make_unique<RawClient>(loop, address);
  }
  std::string post(const std::string& caller) const {
    const std::string body = R"({"jsonrpc":"2.0","id":1,"method":"who"})";
    return "POST /rpc HTTP/1.1\r\nHost: " + address + "\r\nContent-Type: application/json\r\n" +
           (caller.empty() ? "" : "X-Caller: " + caller + "\r\n") +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  std::string upgrade(const std::string& caller) const {
    return "GET /rpc HTTP/1.1\r\nHost: " + address +
           "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
           "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
           (caller.empty() ? "" : "X-Caller: " + caller + "\r\n") + "\r\n";
  }
  std::string address;
  std::optional<RpcServer> server;
};

TEST_F(GuardedPort, EachPostIsDecidedAboutOnce) {
  auto client = connect(false);
  EXPECT_EQ(client->ask(post("")).status, 401);
  const RawResponse known = client->ask(post("ada"));
  EXPECT_NE(known.body.find("ada"), known.body.npos);
  EXPECT_EQ(known.field("x-nonce"), "n");
  client->send(post("later"));
  ASSERT_TRUE(run_until(loop, [&] { return callers->late.size() == 1; }));
  callers->late[0].admit(Callers::known("bob"));
  EXPECT_NE(client->response().body.find("bob"), std::string::npos);
  EXPECT_EQ(callers->asked, 3);
}

TEST_F(GuardedPort, SoIsEachWebSocket) {
  auto client = connect(true);
  EXPECT_EQ(client->ask(upgrade("")).status, 401);
  EXPECT_EQ(client->ask(upgrade("ada").replace(0, 3, "PUT")).status, 405);
  client->send(upgrade("later"));
  ASSERT_TRUE(run_until(loop, [&] { return callers->late.size() == 1; }));
  callers->late[0].admit(Callers::known("ada"));
  const RawResponse opened = client->response(true);
  EXPECT_EQ(opened.status, 101);
  EXPECT_EQ(opened.field("x-nonce"), "n");
  for (int i = 0; i < 2; ++i) {
    client->in.clear();
    client->send(test::ws_frame(R"({"jsonrpc":"2.0","id":1,"method":"who"})"));
    ASSERT_TRUE(client->wait([&] { return client->in.ends_with('}'); }));
    EXPECT_NE(client->in.find("ada"), std::string::npos) << client->in;
  }
  EXPECT_EQ(callers->asked, 3) << "once, when it begins";
}

}  // namespace
}  // namespace godwit
