#include "godwit/transport/rpc_endpoint.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "fake_exchange.hpp"
#include "godwit/rpc/router.hpp"

namespace godwit {
namespace {

using test::FakeExchange;
using test::FakeRequest;

FakeRequest call(std::string_view method) {
  FakeRequest request("POST", "/");
  request.with("Host", "localhost")
      .with("Content-Type", "application/json")
      .body(R"({"jsonrpc":"2.0","id":1,"method":")" + std::string(method) + R"("})");
  return request;
}

// Whoever hears that one request is over may end the others, also those that drain() is just about
// to look at.
TEST(RpcEndpoint, RequestsMayEndEachOtherWhileAllAreDrained) {
  using OnStop = std::stop_callback<std::function<void()>>;
  Loop loop;
  std::vector<std::unique_ptr<OnStop>> stops;
  std::vector<std::unique_ptr<FakeExchange>> exchanges;
  auto router = std::make_shared<rpc::Router>();
  router->on("stops", [&](rpc::Reply<std::string> reply) {
    const std::stop_token token = reply.cancelled();
    auto answer = std::make_shared<rpc::Reply<std::string>>(std::move(reply));
    stops.push_back(std::make_unique<OnStop>(token, [answer] { (*answer)("stopped"); }));
  });
  router->use({.after = [&](rpc::Outcome&) {
    for (const auto& exchange : exchanges) {
      if (exchange->waiting() && exchange->owner && exchange != exchanges.front()) exchange->go();
    }
  }});
  RpcEndpoint endpoint(loop, router, {}, {});
  for (int i = 0; i < 5; ++i) {
    exchanges.push_back(std::make_unique<FakeExchange>());
    FakeRequest request = call("stops");
    endpoint.on_request(request.get(), *exchanges.back());
  }
  ASSERT_EQ(endpoint.in_flight(), 5u);
  endpoint.drain();
  EXPECT_EQ(endpoint.in_flight(), 0u);
  EXPECT_EQ(exchanges.front()->status, 200);
  loop.poll();
}

TEST(RpcEndpoint, AHandlerMayDestroyIt) {
  using OnStop = std::stop_callback<std::function<void()>>;
  Loop loop;
  std::optional<RpcEndpoint> endpoint;
  std::vector<rpc::Reply<int>> replies;
  std::vector<std::unique_ptr<OnStop>> stops;
  auto router = std::make_shared<rpc::Router>();
  router->on("end", [&] {
    endpoint.reset();
    return "ended";
  });
  router->on("later", [&](rpc::Reply<int> reply) { replies.push_back(std::move(reply)); });
  router->on("stops", [&](rpc::Reply<int> reply) {
    stops.push_back(std::make_unique<OnStop>(reply.cancelled(), [&] { endpoint.reset(); }));
    replies.push_back(std::move(reply));
  });
  router->use({.after = [&](rpc::Outcome& outcome) {
    if (outcome.method() == "later") endpoint.reset();
  }});
  const auto send = [&](std::string_view method, FakeExchange& exchange) {
    if (!endpoint) endpoint.emplace(loop, router);
    FakeRequest request = call(method);
    endpoint->on_request(request.get(), exchange);
  };
  FakeExchange plain, later, stops_late, other;
  send("end", plain);
  EXPECT_FALSE(endpoint);
  EXPECT_FALSE(plain.waiting());
  send("later", later);
  send("later", other);
  replies.at(0)(1);
  for (int i = 0; i < 10; ++i) loop.poll();
  EXPECT_FALSE(endpoint);
  EXPECT_FALSE(later.waiting());
  EXPECT_FALSE(other.waiting());
  send("stops", stops_late);
  stops_late.go();
  EXPECT_FALSE(endpoint);
  for (int i = 0; i < 10; ++i) loop.poll();
  stops.clear();
  for (int i = 0; i < 10; ++i) loop.poll();
}

}  // namespace
}  // namespace godwit
