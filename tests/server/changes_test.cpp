// Changes reach the clients by the bus: of one server or of several, and never more of them at once
// than a client has subscribed to.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "godwit/mcp/memory_change_bus.hpp"
#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

using test::has;
using test::Link;

constexpr std::string_view updated = "notifications/resources/updated";

/// Tells nobody until the test says so.
class HeldBus final : public ChangeBus {
 public:
  void publish(Change change, Done<void> done) override {
    if (throws) throw std::runtime_error("the broker threw");
    if (fails) return done(error("the broker is down"));
    held.emplace_back(std::move(change), std::move(done));
  }
  std::unique_ptr<Subscription> subscribe(Listener listener) override {
    return inner.subscribe(std::move(listener));
  }
  void let_go() {
    for (auto& [change, done] : std::exchange(held, {})) {
      inner.publish(std::move(change), std::move(done));
    }
  }
  MemoryChangeBus inner;
  std::vector<std::pair<Change, Done<void>>> held;
  bool fails = false, throws = false;
};

struct Shop {
  explicit Shop(std::shared_ptr<ChangeBus> bus = nullptr) {
    ServerOptions options = test::server_options();
    options.changes = std::move(bus);
    options.log = Log([kept = log](LogLevel, std::string_view line) { *kept += line; });
    server.emplace(std::move(options));
    server->resource("x:a", "a", [] { return "a"; });
    server->resource("x:b", "b", [] { return "b"; });
    server->tool("t", "", [] { return "t"; });
  }
  std::shared_ptr<std::string> log = std::make_shared<std::string>();
  std::optional<Server> server;
};

/// Hears of both resources, and of the lists.
struct Client : Link {
  Client(Shop& shop, std::string_view revision, const std::string& name = {})
      : Link(*shop.server, revision, {.facts = {.identity = test::known_as(name)}}) {
    if (test::is_modern(revision)) {
      request("subscriptions/listen", R"({"notifications":{"toolsListChanged":true,)"
                                      R"("resourceSubscriptions":["x:a","x:b"]}})");
    } else {
      ask("resources/subscribe", R"({"uri":"x:a"})");
      ask("resources/subscribe", R"({"uri":"x:b"})");
    }
    forget();
  }
};

class Changes : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Eras, Changes,
                         testing::Values(test::legacy_revision, test::modern_revision));

TEST_P(Changes, TwoServersWithOneBusTellTheClientsOfBoth) {
  const auto bus = std::make_shared<MemoryChangeBus>();
  Shop one(bus), two(bus), other;
  Client a(one, GetParam()), b(two, GetParam()), c(other, GetParam());
  one.server->resource_updated("x:a");
  one.server->tool("more", "", [] { return "more"; });
  for (Link* link : {&a, &b, &c}) link->peer->process();
  for (Link* link : {&a, &b}) {
    EXPECT_EQ(link->notes(updated).size(), 1u);
    EXPECT_EQ(link->notes("notifications/tools/list_changed").size(), 1u);
  }
  EXPECT_TRUE(c.notes(updated).empty());
  two.server.reset();
  one.server->resource_updated("x:b");
  for (Link* link : {&a, &b}) link->peer->process();
  EXPECT_EQ(a.notes(updated).size(), 2u);
  EXPECT_EQ(b.notes(updated).size(), 2u) << "its connections are served on";
  EXPECT_EQ(bus->listeners(), 2u);
  b.peer.reset();
  EXPECT_EQ(bus->listeners(), 1u);
}

TEST_P(Changes, EverythingGoesByTheBus) {
  const auto bus = std::make_shared<HeldBus>();
  Shop shop(bus);
  bus->let_go();
  Client link(shop, GetParam(), "ada");
  shop.server->resource_updated("x:a");
  shop.server->list_changed(OfferKind::tool);
  shop.server->list_changed(OfferKind::tool, *test::known_as("ada"));
  shop.server->list_changed(OfferKind::tool, *test::known_as("bob"));
  shop.server->enable_tool("t", false);
  link.peer->process();
  EXPECT_TRUE(link.sent.empty());
  ASSERT_EQ(bus->held.size(), 5u);
  EXPECT_EQ(bus->held[0].first.uri, "x:a");
  EXPECT_EQ(bus->held[2].first.caller->subject, "ada");
  bus->let_go();
  link.peer->process();
  EXPECT_EQ(link.notes(updated).size(), 1u);
  EXPECT_EQ(link.notes("notifications/tools/list_changed").size(), 2u);  // for all, for ada
}

TEST_P(Changes, ABusThatFailsIsLogged) {
  const auto bus = std::make_shared<HeldBus>();
  Shop shop(bus);
  Client link(shop, GetParam());
  bus->fails = true;
  shop.server->resource_updated("x:a");
  EXPECT_TRUE(has(*shop.log, "the broker is down"));
  bus->throws = true;
  shop.server->resource_updated("x:a");
  EXPECT_TRUE(has(*shop.log, "the broker threw"));
  link.peer->process();
  EXPECT_TRUE(link.sent.empty());
}

TEST_P(Changes, ManyUpdatesWaitAsOneUntilThePeersThreadComes) {
  Shop shop;
  Client link(shop, GetParam());
  Link uninterested(*shop.server, GetParam());
  for (int i = 0; i < 100'000; ++i) {
    shop.server->resource_updated(i % 2 ? "x:b" : "x:a");
    shop.server->resource_updated("x:of-no-interest-" + std::to_string(i));
  }
  link.peer->process();
  uninterested.peer->process();
  const std::vector<json::Value> told = link.notes(updated);
  ASSERT_EQ(told.size(), 2u) << "each resource once";
  EXPECT_EQ(told[0]["params"]["uri"], "x:a");
  EXPECT_EQ(told[1]["params"]["uri"], "x:b");
  EXPECT_TRUE(uninterested.notes(updated).empty());
  // And from now on again.
  shop.server->resource_updated("x:a");
  link.peer->process();
  EXPECT_EQ(link.notes(updated).size(), 3u);
}

TEST_P(Changes, ManyChangesOfOneCallersListWaitAsOne) {
  Shop shop;
  Client ada(shop, GetParam(), "ada"), bob(shop, GetParam(), "bob");
  for (int i = 0; i < 10'000; ++i) {
    shop.server->list_changed(OfferKind::tool, *test::known_as("ada"));
  }
  ada.peer->process();
  bob.peer->process();
  EXPECT_EQ(ada.notes("notifications/tools/list_changed").size(), 1u);
  EXPECT_TRUE(bob.notes("notifications/tools/list_changed").empty());
}

TEST_P(Changes, AServerMayGoInsideWhatItTellsTheBus) {
  class Deadly final : public ChangeBus {
   public:
    void publish(Change, Done<void> done) override {
      if (server) server->reset();
      done({});
    }
    std::unique_ptr<Subscription> subscribe(Listener listener) override {
      return inner.subscribe(std::move(listener));
    }
    MemoryChangeBus inner;
    std::optional<Server>* server = nullptr;
  };
  auto bus = std::make_shared<Deadly>();
  std::weak_ptr<Deadly> gone = bus;
  Shop shop(bus);
  bus->server = &shop.server;
  bus.reset();
  shop.server->resource_updated("x:a");
  EXPECT_FALSE(shop.server);
  EXPECT_TRUE(gone.expired());
}

}  // namespace
}  // namespace godwit::inline v0
