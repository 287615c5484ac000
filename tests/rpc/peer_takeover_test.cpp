// A Peer that takes over a connection from another one: it waits for answers to requests that it
// has not sent.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "godwit/rpc/peer.hpp"
#include "rpc_station.hpp"

namespace godwit::inline v0::rpc {
namespace {

using namespace std::chrono_literals;
using test::Station;

struct Heir : Station {
  explicit Heir(PeerOptions options = {}) : Station(nullptr, std::move(options)) {}
  ~Heir() { peer->close(); }  // its callbacks write to `outcomes`
  auto done() {
    return [this](Result<json::Value> outcome) { outcomes.push_back(std::move(outcome)); };
  }
  CallHandle expect(const Id& id, const CallOptions& options = {}) {
    return peer->expect_answer(id, "ask", done(), options);
  }
  std::vector<Result<json::Value>> outcomes;
};

TEST(PeerTakeover, AnAnswerToWhatAnotherPeerSentHasItsOutcome) {
  Heir heir;
  EXPECT_NE(heir.expect(Id(7)).number, 0u);
  EXPECT_NE(heir.expect(Id("a-b")).number, 0u);
  EXPECT_TRUE(heir.sent.empty());
  EXPECT_EQ(heir.peer->pending(), 2u);
  heir.receive(R"({"jsonrpc":"2.0","id":"a-b","result":1})");
  heir.receive(R"({"jsonrpc":"2.0","id":7,"error":{"code":5,"message":"no"}})");
  ASSERT_EQ(heir.outcomes.size(), 2u);
  EXPECT_EQ(*heir.outcomes[0], 1);
  EXPECT_EQ(heir.outcomes[1].error().message, "no");
  EXPECT_EQ(heir.peer->pending(), 0u);
}

TEST(PeerTakeover, OwnCallsGoOnCounting) {
  Heir heir;
  heir.peer->set_calls_made(20);
  EXPECT_EQ(heir.peer->calls_made(), 20u);
  heir.expect(Id(7));
  heir.peer->call("x", no_params, heir.done());
  EXPECT_TRUE(test::same_json(heir.all_sent(), R"({"jsonrpc":"2.0","id":21,"method":"x"})"));
  heir.expect(Id(30));
  EXPECT_EQ(heir.peer->calls_made(), 30u);
}

TEST(PeerTakeover, ItTimesOutAndCanBeCancelled) {
  std::vector<std::string> abandoned;
  PeerOptions options;
  options.abandoned = [&](Peer&, const Id& id, const Error&) { abandoned.push_back(id.text()); };
  Heir heir(std::move(options));
  heir.expect(Id(1), {.timeout = 5s});
  const CallHandle second = heir.expect(Id("b"));
  EXPECT_EQ(heir.peer->id_of(second), Id("b"));
  heir.pass(5s);
  ASSERT_EQ(heir.outcomes.size(), 1u);
  EXPECT_TRUE(is_timeout(heir.outcomes[0].error()));
  EXPECT_TRUE(heir.peer->cancel(second));
  ASSERT_EQ(heir.outcomes.size(), 2u);
  EXPECT_EQ(abandoned, (std::vector<std::string>{"1", R"("b")"}));
}

TEST(PeerTakeover, IdsThatCannotBeAreRefused) {
  Heir heir;
  heir.expect(Id(3));
  for (const Id& id : {Id(), Id(0), Id(-1), Id(3)}) {
    const std::size_t before = heir.outcomes.size();
    EXPECT_EQ(heir.expect(id).number, 0u) << id.text();
    ASSERT_EQ(heir.outcomes.size(), before + 1) << id.text();
    EXPECT_FALSE(heir.outcomes.back());
  }
  EXPECT_EQ(heir.peer->pending(), 1u);
  EXPECT_NE(heir.expect(Id(std::numeric_limits<std::int64_t>::max())).number, 0u);
  heir.peer->call("x", no_params, heir.done());  // as far as numbers go
  EXPECT_EQ(heir.sent.size(), 1u);
}

TEST(PeerTakeover, TheEndOfTheConnectionAndTheBoundCount) {
  PeerOptions options;
  options.limits.pending_calls = 1;
  Heir heir(std::move(options));
  heir.expect(Id(1));
  EXPECT_EQ(heir.expect(Id(2)).number, 0u);
  ASSERT_EQ(heir.outcomes.size(), 1u);
  EXPECT_TRUE(is_busy(heir.outcomes[0].error()));
  heir.peer->close();
  ASSERT_EQ(heir.outcomes.size(), 2u);
  EXPECT_TRUE(is_connection_closed(heir.outcomes[1].error()));
  EXPECT_EQ(heir.expect(Id(4)).number, 0u);
  EXPECT_TRUE(is_connection_closed(heir.outcomes.back().error()));
}

}  // namespace
}  // namespace godwit::inline v0::rpc
