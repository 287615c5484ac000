// Calls that the carrier holds up on this side: their time stands still.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "godwit/rpc/peer.hpp"
#include "rpc_station.hpp"

namespace godwit::inline v0::rpc {
namespace {

using namespace std::chrono_literals;
using test::Station;

struct Client : Station {
  using Station::Station;
  ~Client() { peer->close(); }  // its callbacks write to `outcomes`
  CallHandle call(std::string_view method, const CallOptions& options = {}) {
    return peer->call(
        method, no_params, [this](Result<json::Value> r) { outcomes.push_back(std::move(r)); },
        options);
  }
  std::vector<Result<json::Value>> outcomes;
};

TEST(PeerHeld, TheTimeOfACallStandsStill) {
  Client client;
  client.call("slow");
  client.call("other");
  client.pass(59s);
  client.peer->on_held(Id(1), true);
  client.pass(1h);
  ASSERT_EQ(client.outcomes.size(), 1u) << "the other one has its own time";
  client.peer->on_held(Id(1), false);
  EXPECT_EQ(client.peer->next_deadline(), client.clock.now() + 1s);
  client.pass(1s - 1ns);
  EXPECT_EQ(client.outcomes.size(), 1u);
  client.pass(1ns);
  ASSERT_EQ(client.outcomes.size(), 2u);
  EXPECT_EQ(client.outcomes[1].error().message, R"(no answer to "slow" within 60 s)");
}

TEST(PeerHeld, WhatIsSaidTwiceCountsOnce) {
  Client client;
  client.call("slow");
  client.pass(50s);
  client.peer->on_held(Id(1), true);
  client.pass(5s);
  client.peer->on_held(Id(1), true);
  client.pass(5s);
  client.peer->on_held(Id(1), false);
  client.pass(4s);
  client.peer->on_held(Id(1), false);
  client.pass(6s - 1ns);
  EXPECT_TRUE(client.outcomes.empty());
  client.pass(1ns);
  EXPECT_EQ(client.outcomes.size(), 1u);
}

TEST(PeerHeld, ACallThatIsHeldUpCanBeAnsweredCancelledAndExtended) {
  Client client;
  client.call("answered");
  const CallHandle cancelled = client.call("cancelled");
  const CallHandle extended = client.call("extended");
  for (int id = 1; id <= 3; ++id) client.peer->on_held(Id(id), true);
  client.receive(R"({"jsonrpc":"2.0","id":1,"result":1})");
  EXPECT_TRUE(client.peer->cancel(cancelled));
  EXPECT_EQ(client.outcomes.size(), 2u);
  EXPECT_TRUE(client.peer->extend(extended, 5s));
  client.pass(1h);
  EXPECT_EQ(client.outcomes.size(), 2u);
  client.peer->on_held(Id(3), false);
  client.pass(5s);
  EXPECT_EQ(client.outcomes.size(), 3u);
}

TEST(PeerHeld, AnUnknownCallAndAClosedPeerAreNothing) {
  Client client;
  client.peer->on_held(Id(7), true);
  client.call("m");
  client.peer->on_held(Id("1"), true);
  EXPECT_EQ(client.peer->next_deadline(), client.clock.now() + 60s);
  client.peer->close();
  client.peer->on_held(Id(1), true);
}

TEST(PeerHeld, TheProtocolIsToldByTheTagOfTheCall) {
  std::vector<std::pair<std::uint64_t, bool>> told;
  int moved = 0;
  PeerOptions options;
  options.held = [&](std::uint64_t tag, bool held) { told.emplace_back(tag, held); };
  options.deadline_moved = [&] { ++moved; };
  Client client(nullptr, std::move(options));
  client.call("m", {.tag = 42});
  client.call("n");
  moved = 0;
  client.peer->on_held(Id(1), true);
  client.peer->on_held(Id(2), true);
  EXPECT_EQ(moved, 0);
  client.peer->on_held(Id(1), false);
  EXPECT_EQ(moved, 1) << "the next deadline is nearer than it was";
  EXPECT_EQ(told,
            (std::vector<std::pair<std::uint64_t, bool>>{{42, true}, {0, true}, {42, false}}));
}

TEST(PeerHeld, ACallWithoutAnEndHasNoneAfterwards) {
  Client client;
  client.call("never", {.timeout = Duration::max()});
  client.peer->on_held(Id(1), true);
  client.pass(1h);
  client.peer->on_held(Id(1), false);
  client.pass(24h * 365);
  EXPECT_TRUE(client.outcomes.empty());
}

TEST(PeerHeld, ThePeerMayGoWhileItTells) {
  Client client;
  PeerOptions options;
  options.held = [&](std::uint64_t, bool) { client.peer->close(); };
  Client other(nullptr, std::move(options));
  client.call("m");
  other.call("m");
  other.peer->on_held(Id(1), true);
  EXPECT_EQ(client.outcomes.size(), 1u);
}

}  // namespace
}  // namespace godwit::inline v0::rpc
