// HttpServer and HttpClient may be destroyed inside any of their callbacks.
#include "destroyed_inside.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "authorizer.hpp"
#include "fake_exchange.hpp"
#include "godwit/http/http_client.hpp"
#include "godwit/http/http_server.hpp"
#include "godwit/http/parked_request.hpp"
#include "raw_client.hpp"
#include "wait.hpp"

namespace godwit::inline v0::http {
namespace {

using test::DestroyedInside;
using test::Doomed;
using test::RawClient;
using test::run_until;
using test::settle;

// --- the server

/// A handler that does what a row says, with a server that is destroyed.
struct Site final : Handler, Exchange::Owner {
  void on_head(const Request& head, Decision& decision) override {
    if (in_head) in_head(decision);
    if (head.target == "/refused") return decision.refuse({.status = 401});
    decision.admit();
  }
  void on_request(const Request& request, Exchange& exchange) override {
    if (in_request) return in_request(exchange);
    exchange.respond(200, "text/plain", request.body);
  }
  std::optional<Response> on_upgrade(const Request&, Stream&, std::string_view) override {
    server.destroy();
    return Response{.status = 400};
  }
  void on_gone() override {
    if (in_gone) in_gone();
  }
  void on_drained() override {
    if (in_drained) in_drained();
  }

  void listen(HttpServerOptions options = {}) {
    auto made = HttpServer::tcp(loop, {"127.0.0.1", 0}, *this, std::move(options));
    ASSERT_TRUE(made) << made.error().message;
    server.make(*std::move(made));
    address = server->address();
  }
  RawClient& connect() { return *clients.emplace_back(std::make_unique<RawClient>(loop, address)); }
  RawClient& send(std::string_view more = "") {
    RawClient& client = connect();
    // Two, so that the connection has something to go on with.
    const std::string one = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n" +
                            std::string(more) + "\r\nhi";
    client.send_some(one + one);
    return client;
  }
  void expect_destroyed() {
    EXPECT_TRUE(run_until(loop, [&] {
      for (const auto& each : clients) each->take();
      return server.destroyed() > 0;
    }));
    settle(loop);
    EXPECT_EQ(server.destroyed(), 1);
  }

  Loop loop;
  std::function<void(Decision&)> in_head;
  std::function<void(Exchange&)> in_request;
  std::function<void()> in_gone, in_drained;
  std::string address;
  Doomed<HttpServer> server;
  std::vector<std::unique_ptr<RawClient>> clients;
};

void server_head() {
  Site site;
  site.listen();
  site.in_head = site.server.destroyer();
  site.send();
  site.expect_destroyed();
}
void server_late_decision() {
  Site site;
  site.listen();
  std::optional<LateDecision> late;
  site.in_head = [&](Decision& decision) { late.emplace(decision.later()); };
  site.in_request = site.server.destroyer();
  site.send();
  ASSERT_TRUE(run_until(site.loop, [&] { return late.has_value(); }));
  late->admit();
  site.expect_destroyed();
}
void server_request() {
  for (const bool answers : {false, true}) {
    Site site;
    site.listen();
    site.in_request = [&](Exchange& exchange) {
      if (answers) exchange.respond(200, {}, {}, {});
      site.server.destroy();
    };
    site.send();
    site.expect_destroyed();
  }
}
void server_upgrade() {
  Site site;
  site.listen();
  site.send("Connection: upgrade\r\nUpgrade: websocket\r\n");
  site.expect_destroyed();
}
void server_gone() {
  Site site;
  site.listen();
  bool asked = false;
  site.in_gone = site.server.destroyer();
  site.in_request = [&](Exchange& exchange) {
    exchange.set_owner(&site);
    asked = true;
  };
  RawClient& client = site.send();
  ASSERT_TRUE(run_until(site.loop, [&] { return asked; }));
  client.reset();
  EXPECT_TRUE(run_until(site.loop, [&] { return site.server.destroyed() == 1; }));
  settle(site.loop);
}
void server_exchange_drained() {
  Site site;
  site.listen();
  site.in_drained = site.server.destroyer();
  site.in_request = [&](Exchange& exchange) {
    exchange.begin(200, "text/plain");
    exchange.write(std::string(8u << 20, 'x'));
    exchange.set_owner(&site);
  };
  site.send();
  site.expect_destroyed();
}
void server_drained() {
  Site site;
  site.listen();
  site.server->drain(site.server.destroyer());
  site.expect_destroyed();
}
void server_make_room() {
  Site site;
  Limits limits;
  limits.connections = 1;
  site.listen({.limits = limits, .make_room = [destroy = site.server.destroyer()] {
                 destroy();
                 return true;
               }});
  bool asked = false;
  site.in_request = [&](Exchange& exchange) {
    exchange.set_owner(&site);
    asked = true;
  };
  site.send();
  ASSERT_TRUE(run_until(site.loop, [&] { return asked; }));
  site.send();
  site.expect_destroyed();
}
void server_log() {
  Site site;
  site.listen({.log = Log(site.server.destroyer())});
  site.in_request = [](Exchange&) { throw 1; };
  site.send();
  site.expect_destroyed();
}

// --- the client

/// A request under way, and its client, which are destroyed together.
struct Under {
  explicit Under(Loop& loop) : client(loop, {.proxies = Proxies{}}) {}
  HttpClient client;
  FetchHandle fetch;
};

struct Asking {
  Asking() {
    site.listen();
    authorizer->on_refusal = [](AuthorizerReply<AfterRefusal> reply) { reply(AfterRefusal::fail); };
    under.make(site.loop);
  }
  HttpRequest request(std::string_view target = "/") {
    return {.method = "POST",
            .url = *Url::parse("http://" + site.address + std::string(target)),
            .body = "hello",
            .authorizer = authorizer};
  }
  void run(HttpCallbacks callbacks, std::string_view target = "/") {
    under->fetch = under->client.fetch(request(target), std::move(callbacks));
    expect_destroyed();
  }
  void expect_destroyed() {
    EXPECT_TRUE(run_until(site.loop, [&] { return under.destroyed() > 0; }));
    settle(site.loop);
    EXPECT_EQ(under.destroyed(), 1);
  }

  Site site;
  std::shared_ptr<test::TestAuthorizer> authorizer = std::make_shared<test::TestAuthorizer>();
  Doomed<Under> under;
};

void client_head() {
  Asking asking;
  asking.run({.on_head = asking.under.destroyer()});
}
void client_body() {
  Asking asking;
  asking.run({.on_body = asking.under.destroyer()});
}
void client_end() {
  Asking asking;
  asking.run({.on_end = asking.under.destroyer()});
}
void client_end_with_error() {
  Asking asking;
  asking.site.in_request = [](Exchange& exchange) { exchange.abort(); };
  asking.run({.on_end = asking.under.destroyer()});
}
void client_held() {
  Asking asking;
  asking.run({.on_held = asking.under.destroyer()}, "/refused");
}
void client_whole() {
  Asking asking;
  asking.under->fetch =
      asking.under->client.fetch_whole(asking.request(), asking.under.destroyer());
  asking.expect_destroyed();
}
void client_authorize() {
  for (const bool answers : {false, true}) {
    Asking asking;
    asking.authorizer->on_authorize = [&](const AuthorizerRequest&, AuthorizerReply<Fields> reply) {
      asking.under.destroy();
      if (answers) reply(Fields{});
    };
    asking.run({});
  }
}
void client_response() {
  Asking asking;
  asking.authorizer->on_head = asking.under.destroyer();
  asking.run({});
}
void client_refused() {
  Asking asking;
  asking.authorizer->on_refusal = asking.under.destroyer();
  asking.run({}, "/refused");
}

// --- what waits

void parked_gone() {
  test::FakeExchange exchange;
  test::FakeRequest request;
  Doomed<ParkedRequest> parked;
  parked.make(request.get(), exchange, parked.destroyer());
  exchange.go();
  EXPECT_EQ(parked.destroyed(), 1);
}

constexpr DestroyedInside rows[] = {
    {"HttpServer", "on_head", server_head},
    {"HttpServer", "on_request", server_request},
    {"HttpServer", "on_request after LateDecision", server_late_decision},
    {"HttpServer", "on_upgrade", server_upgrade},
    {"HttpServer", "Owner on_gone", server_gone},
    {"HttpServer", "Owner on_drained", server_exchange_drained},
    {"HttpServer", "drain done", server_drained},
    {"HttpServer", "make_room", server_make_room},
    {"HttpServer", "log", server_log},
    {"HttpClient", "on_head", client_head},
    {"HttpClient", "on_body", client_body},
    {"HttpClient", "on_end", client_end},
    {"HttpClient", "on_end with an error", client_end_with_error},
    {"HttpClient", "on_held", client_held},
    {"HttpClient", "fetch_whole done", client_whole},
    {"HttpClient", "authorize", client_authorize},
    {"HttpClient", "on_response", client_response},
    {"HttpClient", "on_refused", client_refused},
    {"ParkedRequest", "gone", parked_gone},
};

struct Destroyed : testing::TestWithParam<DestroyedInside> {};
TEST_P(Destroyed, Inside) { GetParam().run(); }
INSTANTIATE_TEST_SUITE_P(Http, Destroyed, testing::ValuesIn(rows), test::name_of);

}  // namespace
}  // namespace godwit::inline v0::http
