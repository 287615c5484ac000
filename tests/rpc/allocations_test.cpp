// A plain typed call makes no heap allocation in the steady state.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "count_allocations.hpp"
#include "godwit/json/document.hpp"
#include "godwit/rpc/peer.hpp"
#include "reused_output.hpp"

namespace godwit::inline v0::rpc {
namespace {

using test::Reused;

struct Order {
  std::int64_t number{};
  double price{};
  std::string_view name{};
  std::string_view note{};
  bool urgent{};
};

/// Allocations of 10,000 calls after a few to warm up.
std::size_t count(std::shared_ptr<const Router> router, std::string message) {
  Reused out;
  Peer peer(out, std::move(router));
  const std::size_t size = message.size();
  message.append(json::Document::padding, ' ');
  const std::string_view text = std::string_view(message).substr(0, size);
  for (int i = 0; i < 10; ++i) peer.on_message(text, json::Document::padding);
  const std::size_t before = allocations;
  const std::size_t answered = out.messages;
  for (int i = 0; i < 10'000; ++i) peer.on_message(text, json::Document::padding);
  const std::size_t made = allocations - before;
  EXPECT_EQ(out.messages - answered, 10'000u);
  out.keep = true;
  peer.on_message(text, json::Document::padding);
  EXPECT_NE(out.text().find("\"result\":"), std::string_view::npos) << out.text();
  return made;
}

std::string order(std::string_view id, std::string_view method = "order") {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"method":")" + std::string(method) +
         R"(","params":{"number":123456789,"price":17.25,"name":"a name that is longer than what a )"
         R"(string holds without memory of its own","note":"line one\nline two \u00e9","urgent":true}})";
}

TEST(Allocations, AreCounted) {
  const std::size_t before = allocations;
  delete new int(1);
  auto aligned = std::make_unique<std::max_align_t[]>(100);
  EXPECT_EQ(allocations - before, 2u);
}

TEST(Allocations, NoneForAPlainTypedCall) {
  auto router = std::make_shared<Router>();
  router->on("order", [](Order in) {
    ++in.number;
    return in;
  });
  EXPECT_EQ(count(router, order("1")), 0u);
  EXPECT_EQ(count(router, order("18446744073709551615")), 0u);
}

TEST(Allocations, NoneForStringIds) {
  auto router = std::make_shared<Router>();
  router->on("order", [](const Order& in) { return in; });
  EXPECT_EQ(count(router, order(R"("3f1e8a4c-6c1e-4b55-9d0a-7f6f2f0b7d11-and-some-more")")), 0u);
}

TEST(Allocations, NoneWithAThousandMethods) {
  auto router = std::make_shared<Router>();
  for (int i = 0; i < 1000; ++i) {
    router->on("a/method/with/a/rather/long/name/" + std::to_string(i),
               [](Order in) { return in; });
  }
  EXPECT_EQ(count(router, order("1", "a/method/with/a/rather/long/name/777")), 0u);
}

TEST(Allocations, NoneForNamedAndPositionalArguments) {
  auto router = std::make_shared<Router>();
  router->on("add", {"a", "b"}, [](int a, double b) { return a + b; });
  EXPECT_EQ(count(router, R"({"jsonrpc":"2.0","id":1,"method":"add","params":[1,2.5]})"), 0u);
  EXPECT_EQ(count(router, R"({"jsonrpc":"2.0","id":1,"method":"add","params":{"b":1,"a":2}})"), 0u);
}

TEST(Allocations, NoneForContextResultsAndUnknownMembers) {
  auto router = std::make_shared<Router>();
  router->on("order", [](Context& cx, Order in) -> Result<Order> {
    in.urgent = cx.is_notification();
    return in;
  });
  std::string message = order("1");
  message.insert(1, R"("trace":"abc","other":[1,2,3],)");
  EXPECT_EQ(count(router, message), 0u);
}

TEST(Allocations, NoneForAChainOfMiddleware) {
  auto router = std::make_shared<Router>();
  router->on("order", [](const Order& in) { return in; });
  struct Span {
    TimePoint begin{};
    std::string_view method{};
    std::int64_t id = 0;
  };
  std::size_t seen = 0;
  for (int i = 0; i < 6; ++i) {
    router->use<Span>(
        {.before = [&](IncomingCall& call, Span& span) -> Verdict {
           span.method = call.method();
           seen += call.arguments().find("name").as_string()->size();
           return {};
         },
         .after = [&](Outcome& outcome,
                      Span& span) { seen += span.method.size() + outcome.result().size(); }});
    router->use({.before = [&](IncomingCall&) -> Verdict { return {}; },
                 .after = [&](Outcome& outcome) { seen += outcome.error() ? 1u : 0u; }});
  }
  EXPECT_EQ(count(router, order("1")), 0u);
  EXPECT_EQ(count(router, order(R"("3f1e8a4c-6c1e-4b55-9d0a-7f6f2f0b7d11-and-some-more")")), 0u);
  EXPECT_GT(seen, 0u);
}

}  // namespace
}  // namespace godwit::inline v0::rpc
