#include "godwit/mcp/memory_change_bus.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"

namespace godwit::inline v0 {
namespace {

/// Publishes that a resource changed. True if that went well, inside the call.
bool publish(ChangeBus& bus, std::string uri) {
  bool well = false;
  bus.publish({.kind = Change::Kind::resource_updated, .uri = std::move(uri)},
              Done<void>([&](Result<void> outcome) { well = outcome.has_value(); }));
  return well;
}

TEST(MemoryChangeBus, TellsEveryListenerInsideTheCall) {
  MemoryChangeBus bus;
  EXPECT_TRUE(publish(bus, "x:nobody"));
  std::vector<std::string> heard;
  const auto one = bus.subscribe([&](const Change& change) { heard.push_back("1" + change.uri); });
  auto two = bus.subscribe([&](const Change& change) { heard.push_back("2" + change.uri); });
  EXPECT_EQ(bus.listeners(), 2u);
  EXPECT_TRUE(publish(bus, "x:a"));
  EXPECT_EQ(heard, (std::vector<std::string>{"1x:a", "2x:a"}));
  two.reset();
  EXPECT_EQ(bus.listeners(), 1u);
  EXPECT_TRUE(publish(bus, "x:b"));
  EXPECT_EQ(heard.back(), "1x:b");
}

TEST(MemoryChangeBus, AListenerThatThrowsHoldsUpNobody) {
  MemoryChangeBus bus;
  int heard = 0;
  const auto bad = bus.subscribe([](const Change&) { throw std::runtime_error("no"); });
  const auto good = bus.subscribe([&](const Change&) { ++heard; });
  EXPECT_TRUE(publish(bus, "x:a"));
  EXPECT_EQ(heard, 1);
}

TEST(MemoryChangeBus, AListenerMaySubscribeEndAndPublish) {
  MemoryChangeBus bus;
  int heard = 0;
  std::unique_ptr<ChangeBus::Subscription> one, two, three;
  one = bus.subscribe([&](const Change& change) {
    one.reset();
    two.reset();  // which is not told any more
    three = bus.subscribe([&](const Change&) { ++heard; });
    if (change.uri == "x:a") publish(bus, "x:b");
  });
  two = bus.subscribe([&](const Change&) { heard += 100; });
  EXPECT_TRUE(publish(bus, "x:a"));
  EXPECT_EQ(heard, 1);
  EXPECT_EQ(bus.listeners(), 1u);
}

TEST(MemoryChangeBus, MayGoInsideAListenerAndBeforeItsSubscriptions) {
  auto bus = std::make_unique<MemoryChangeBus>();
  int heard = 0;
  const auto one = bus->subscribe([&](const Change&) { bus.reset(); });
  const auto two = bus->subscribe([&](const Change&) { ++heard; });
  EXPECT_TRUE(publish(*bus, "x:a"));
  EXPECT_EQ(heard, 1);
}

TEST(MemoryChangeBus, SeveralThreadsMayDoAllOfThis) {
  MemoryChangeBus bus;
  std::atomic<int> heard = 0;
  const auto always = bus.subscribe([&](const Change&) { ++heard; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const auto brief = bus.subscribe([](const Change&) {});
        publish(bus, "x:a");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(heard, 2000);
  EXPECT_EQ(bus.listeners(), 1u);
}

TEST(Change, HasAJsonForm) {
  const Change change{
      .kind = Change::Kind::tools,
      .caller = rpc::Identity{.issuer = "https://issuer.example", .subject = "ada"}};
  const std::string text = json::encode(change);
  const Result<Change> read = json::decode<Change>(text);
  ASSERT_TRUE(read) << text;
  EXPECT_EQ(read->kind, Change::Kind::tools);
  ASSERT_TRUE(read->caller);
  EXPECT_TRUE(read->caller->is_same(*change.caller));
}

}  // namespace
}  // namespace godwit::inline v0
