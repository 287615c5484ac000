// Several handlers on one port.
#include "godwit/http/mux.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "fake_exchange.hpp"
#include "serving.hpp"

namespace godwit::inline v0::http {
namespace {

using test::FakeExchange;
using test::FakeRequest;

/// Says who it is.
struct Named final : Handler {
  explicit Named(std::string name_) : name(std::move(name_)) {}
  void on_request(const Request& request, Exchange& exchange) override {
    checked += request.access_checked ? 1 : 0;
    ++requests;
    exchange.respond(200, "text/plain", name + std::string(request.body));
  }
  void on_head(const Request&, Decision& decision) override {
    ++heads;
    if (refuses) return decision.refuse({.status = 401});
    if (keeps) return late.push_back(decision.later());
    admits ? decision.admit({.fields = {{"X-By", name}}}) : decision.pass();
  }
  std::optional<Response> on_upgrade(const Request& request, Stream&, std::string_view) override {
    checked += request.access_checked ? 1 : 0;
    return Response{.status = 426, .fields = {{"X-Name", name}}};
  }
  std::string name;
  bool refuses = false, admits = false, keeps = false;
  int requests = 0, heads = 0, checked = 0;
  std::vector<LateDecision> late;
};

FakeRequest ask(const std::string& target, const std::string& host = "localhost") {
  return FakeRequest("GET", target).with("Host", host);
}

struct Muxed : testing::Test {
  std::string at(const std::string& target) {
    FakeExchange exchange;
    mux.on_request(ask(target).get(), exchange);
    return exchange.status == 200 ? exchange.body : std::to_string(exchange.status);
  }
  Mux mux;
  Named a{"a"}, b{"b"}, c{"c"}, rest{"rest"};
};

TEST_F(Muxed, PathsLeadToHandlers) {
  ASSERT_TRUE(mux.add("/a", a));
  ASSERT_TRUE(mux.add("/a/b/", b));
  ASSERT_TRUE(mux.add("/", c));
  EXPECT_EQ(at("/a"), "a");
  EXPECT_EQ(at("/a/"), "a");
  EXPECT_EQ(at("/a?x=/a/b"), "a");
  EXPECT_EQ(at("/a/b"), "b");
  EXPECT_EQ(at("/a/b/"), "b");
  EXPECT_EQ(at("/"), "c");
  for (const std::string other : {"/ab", "/a//", "/a/b/c", "//a", "/A", "/%61", "/a/../a"}) {
    EXPECT_EQ(at(other), "404") << other;
  }
  mux.otherwise(rest);
  EXPECT_EQ(at("/ab"), "rest");
  EXPECT_EQ(at("/a"), "a");
}

TEST_F(Muxed, WhatIsBelowAPathMayGoTheSameWay) {
  ASSERT_TRUE(mux.add_below("/.well-known", a));
  ASSERT_TRUE(mux.add_below("/.well-known/deep/", b));
  ASSERT_TRUE(mux.add("/.well-known/deep/one", c));
  EXPECT_EQ(at("/.well-known"), "a");
  EXPECT_EQ(at("/.well-known/"), "a");
  EXPECT_EQ(at("/.well-known/x/y"), "a");
  EXPECT_EQ(at("/.well-knownx"), "404");
  EXPECT_EQ(at("/.well-known/deep"), "b");
  EXPECT_EQ(at("/.well-known/deep/two"), "b");
  EXPECT_EQ(at("/.well-known/deep/one/"), "c");
  EXPECT_EQ(at("/.well-known/deeper"), "a");
  ASSERT_TRUE(mux.add_below("/", rest));
  EXPECT_EQ(at("/anything"), "rest");
}

TEST_F(Muxed, MistakesAreToldToTheProgram) {
  ASSERT_TRUE(mux.add("/a", a));
  EXPECT_NE(mux.add("/a/", b).error().message.find("already"), std::string::npos);
  EXPECT_TRUE(mux.add_below("/a", b));
  EXPECT_FALSE(mux.add_below("/a", b));
  EXPECT_NE(mux.add("a", b).error().message.find("slash"), std::string::npos);
  EXPECT_FALSE(mux.add("", b));
  EXPECT_FALSE(mux.add("/x?y", b));
}

TEST_F(Muxed, NobodyIsToldWhichPathsThereAre) {
  ASSERT_TRUE(mux.add("/secret", a));
  FakeExchange exchange;
  mux.on_request(ask("/x").get(), exchange);
  EXPECT_EQ(exchange.status, 404);
  EXPECT_EQ(exchange.body.find("secret"), std::string::npos);
}

TEST_F(Muxed, OnlyThoseWhoMayCallReachAHandler) {
  ASSERT_TRUE(mux.add("/a", a));
  FakeExchange foreign;
  mux.on_request(ask("/a", "evil.example").get(), foreign);
  EXPECT_EQ(foreign.status, 403);
  FakeExchange page;
  mux.on_request(ask("/a").with("Origin", "https://evil.example").get(), page);
  EXPECT_EQ(page.status, 403);
  EXPECT_EQ(a.requests, 0);
  EXPECT_EQ(at("/a"), "a");
  EXPECT_EQ(a.checked, 1);
  // Somebody in front has looked already.
  FakeRequest checked = ask("/a", "evil.example");
  Request request = checked.get();
  request.access_checked = true;
  FakeExchange through;
  mux.on_request(request, through);
  EXPECT_EQ(through.status, 200);
}

TEST_F(Muxed, TheAnswerToOthersMayBeTheProgramsOwn) {
  Mux own({.access = {.hosts = {"tools.example"}},
           .forbidden = [](const Request& request, const std::string& why) {
             return Response{.status = 403, .body = std::string(request.path()) + ": " + why};
           }});
  ASSERT_TRUE(own.add("/a", a));
  FakeExchange refused;
  own.on_request(ask("/a", "evil.example").get(), refused);
  EXPECT_TRUE(refused.body.starts_with("/a: ")) << refused.body;
  FakeExchange good;
  own.on_request(ask("/a", "tools.example").get(), good);
  EXPECT_EQ(good.status, 200);
}

// On a port.

struct MuxOnAPort : Muxed {
  void SetUp() override {
    ASSERT_TRUE(mux.add("/a", a));
    ASSERT_TRUE(mux.add("/b", b));
    auto made = HttpServer::tcp(loop, {"127.0.0.1", 0}, mux);
    ASSERT_TRUE(made);
    server.emplace(*std::move(made));
    client = std::make_unique<RawClient>(loop, server->address());
  }
  static std::string upgrade(std::string_view path) {
    return get(path, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
  }
  Loop loop;
  std::optional<HttpServer> server;
  std::unique_ptr<RawClient> client;
};

TEST_F(MuxOnAPort, HeadsRequestsAndUpgradesGoTheSameWay) {
  EXPECT_EQ(client->ask(get("/a")).body, "a");
  EXPECT_EQ(client->ask(post("/b", "!")).body, "b!");
  EXPECT_EQ(client->ask(upgrade("/a")).field("x-name"), "a");
  EXPECT_EQ(client->ask(upgrade("/b/")).field("x-name"), "b");
  EXPECT_EQ(client->ask(upgrade("/c")).status, 404);
  EXPECT_EQ(client->ask(get("/c")).status, 404);
  EXPECT_EQ(a.heads, 2);
  EXPECT_EQ(b.heads, 2);
  EXPECT_EQ(a.checked + b.checked, 4) << "each is looked at once, by the mux";
}

TEST_F(MuxOnAPort, EachHandlerDecidesForItself) {
  a.refuses = true;
  b.admits = true;
  EXPECT_EQ(client->ask(get("/a")).status, 401);
  EXPECT_EQ(client->ask(upgrade("/a")).status, 401);
  EXPECT_EQ(client->ask(get("/b")).field("x-by"), "b");
  b.keeps = true;
  client->send(get("/b"));
  ASSERT_TRUE(run_until(loop, [&] { return b.late.size() == 1; }));
  b.late[0].admit();
  EXPECT_EQ(client->response().body, "b");
  EXPECT_EQ(a.requests, 0);
}

TEST_F(MuxOnAPort, ForeignPagesReachNothing) {
  for (const std::string path : {"/a", "/b", "/c"}) {
    EXPECT_EQ(client->ask(get(path, "Origin: https://evil.example\r\n")).status, 403);
    EXPECT_EQ(client
                  ->ask(get(path,
                            "Origin: null\r\nConnection: Upgrade\r\n"
                            "Upgrade: websocket\r\n"))
                  .status,
              403);
  }
  client->send("POST /a HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(client->response().status, 403);
  EXPECT_EQ(a.heads + b.heads, 0);
}

TEST_F(MuxOnAPort, OneMayBeInsideAnother) {
  Mux outer;
  ASSERT_TRUE(outer.add_below("/", mux));
  auto made = HttpServer::tcp(loop, {"127.0.0.1", 0}, outer);
  ASSERT_TRUE(made);
  RawClient nested(loop, made->address());
  EXPECT_EQ(nested.ask(get("/a")).body, "a");
  EXPECT_EQ(nested.ask(get("/x")).status, 404);
}

}  // namespace
}  // namespace godwit::inline v0::http
