// Any allocation of a Peer may fail: every call still has exactly one outcome, at the latest when
// the peer is closed, which needs no memory.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fail_allocations.hpp"
#include "godwit/base/clock.hpp"
#include "godwit/rpc/peer.hpp"

namespace godwit::inline v0::rpc {
namespace {

using test::fail_each_allocation;
using test::may_fail;

constexpr std::string_view long_method = "a method whose name is longer than a short string";

/// How often a call had an outcome, and which one it was.
struct Outcome {
  int count = 0;
  Cause cause = Cause::unspecified;

  template <class T>
  void operator()(const Result<T>& outcome) {
    ++count;
    if (!outcome) cause = outcome.error().cause;
  }
};

struct Line {
  explicit Line(std::shared_ptr<const Router> router = nullptr, PeerOptions options = {})
      : peer(output, std::move(router), with_clock(std::move(options))) {}

  PeerOptions with_clock(PeerOptions options) const {
    options.clock = &clock;
    options.log = Log([](LogLevel, std::string_view) {});
    return options;
  }

  ManualClock clock;
  std::size_t sent = 0;
  MessageSink output{[this](std::string_view) { ++sent; }};
  Peer peer;
};

/// One call, which `act` ends if there is memory; otherwise the end of the peer does. `at_once`
/// says that there is always enough.
void expect_one_outcome(const std::function<void(Line&, CallHandle)>& act, bool at_once,
                        std::optional<Cause> cause = {}, PeerOptions options = {}) {
  const auto round = [&] {
    Line line(nullptr, options);
    Outcome outcome;
    const CallHandle call =
        line.peer.call<std::vector<std::string>>(long_method, no_params, std::ref(outcome));
    const bool done = may_fail([&] { act(line, call); });
    if (at_once) {
      EXPECT_TRUE(done);
    }
    if (at_once || done) {
      EXPECT_EQ(outcome.count, 1);
    }
    if (cause && outcome.count == 1) {
      EXPECT_EQ(outcome.cause, *cause);
    }
    line.peer.close();
    EXPECT_EQ(outcome.count, 1);
  };
  EXPECT_GT(fail_each_allocation(round, [] {}), 0);
}

TEST(PeerAllocationFailure, OfACallThatIsCancelled) {
  expect_one_outcome([](Line& line, CallHandle call) { line.peer.cancel(call, "changed my mind"); },
                     true, Cause::cancelled);
}

TEST(PeerAllocationFailure, OfACancellationThatIsTold) {
  PeerOptions options;
  options.abandoned = [](Peer& peer, const Id& id, const Error& reason) {
    peer.notify_cancelled(id, long_method, std::vector<std::string>{reason.message});
  };
  expect_one_outcome([](Line& line, CallHandle call) { line.peer.cancel(call); }, true,
                     Cause::cancelled, options);
}

TEST(PeerAllocationFailure, OfACallWhoseTimeIsUp) {
  expect_one_outcome(
      [](Line& line, CallHandle) {
        line.clock.advance(std::chrono::hours(1));
        line.peer.expire(line.clock.now());
      },
      true, Cause::timeout);
}

TEST(PeerAllocationFailure, OfTheEndOfTheConnection) {
  const Error reason = connection_closed("the other side closed the connection");
  expect_one_outcome([&](Line& line, CallHandle) { line.peer.on_close(reason); }, true,
                     Cause::connection_closed);
  expect_one_outcome([&](Line& line, CallHandle) { line.peer.end_of_input(reason); }, false,
                     Cause::connection_closed);
}

TEST(PeerAllocationFailure, OfACarrierThatFails) {
  const Error reason = error("what carries the messages says no to this one");
  expect_one_outcome([&](Line& line, CallHandle) { line.peer.on_failure(Id(1), reason); }, false);
}

TEST(PeerAllocationFailure, OfAnAnswer) {
  for (const std::string_view answer :
       {R"({"jsonrpc":"2.0","id":1,"result":["a text that is longer than a short string"]})",
        R"({"jsonrpc":"2.0","id":1,"result":"not what was expected"})",
        R"({"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"a message longer than that"}})",
        R"({"jsonrpc":"2.0","id":1,"result":1,"error":{"code":-1,"message":"and a result"}})",
        R"({"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-1,"message":"of old"}})",
        R"([{"jsonrpc":"2.0","id":1,"result":[]}])"}) {
    PeerOptions options;
    options.limits.batch_entries = answer.starts_with('[') ? 0 : 100;  // it is refused then
    expect_one_outcome([&](Line& line, CallHandle) { line.peer.receive(answer); }, false, {},
                       options);
  }
}

TEST(PeerAllocationFailure, OfABatch) {
  const auto round = [] {
    Line line;
    Outcome outcomes[3];
    bool sent = false;
    {
      Batch batch = line.peer.batch();
      for (Outcome& outcome : outcomes) batch.call(long_method, no_params, std::ref(outcome));
      sent = may_fail([&] { batch.send(); });
      EXPECT_EQ(line.sent, sent ? 1u : 0u);
      if (!sent) {
        EXPECT_EQ(line.peer.pending(), 0u);
      }
    }
    if (!sent) {
      for (const Outcome& outcome : outcomes) {
        EXPECT_EQ(outcome.cause, Cause::cancelled);
      }
    }
    line.peer.close();
    for (const Outcome& outcome : outcomes) {
      EXPECT_EQ(outcome.count, 1);
    }
  };
  EXPECT_GT(fail_each_allocation(round, [] {}), 3);
}

TEST(PeerAllocationFailure, OfABatchThatIsRefused) {
  const auto round = [] {
    PeerOptions options;
    options.limits.batch_entries = 1;
    Line line(nullptr, options);
    Outcome outcomes[3];
    {
      Batch batch = line.peer.batch();
      for (Outcome& outcome : outcomes) batch.call(long_method, no_params, std::ref(outcome));
      may_fail([&] { batch.send(); });
    }
    for (const Outcome& outcome : outcomes) {
      EXPECT_EQ(outcome.count, 1);
    }
  };
  EXPECT_GT(fail_each_allocation(round, [] {}), 0);
}

TEST(PeerAllocationFailure, OfAHookThatThrows) {
  const auto round = [] {
    PeerOptions options;
    options.garbage = [](std::string_view) { throw std::runtime_error("careless"); };
    Line line(nullptr, options);
    may_fail([&] { line.peer.receive("this is no message, and long enough to be quoted"); });
  };
  EXPECT_GT(fail_each_allocation(round, [] {}), 0);
}

TEST(PeerAllocationFailure, OfARequestThatIsTakenBack) {
  const auto round = [] {
    std::optional<Reply<int>> reply;
    int told = 0;
    auto router = std::make_shared<Router>();
    router->on("later", [&](Reply<int> given) { reply = std::move(given); });
    router->use({.after = [&](rpc::Outcome&) { ++told; }});
    Line line(router);
    line.peer.receive(R"({"jsonrpc":"2.0","id":1,"method":"later"})");
    may_fail([&] { line.peer.cancel_incoming(Id(1)); });
    EXPECT_TRUE(reply->cancelled().stop_requested());
    EXPECT_EQ(line.peer.in_flight(), 0u);
    EXPECT_EQ(told, 1);
  };
  EXPECT_GT(fail_each_allocation(round, [] {}), 0);
}

/// A request that middleware with a state holds, decides on later, and that is answered at once or
/// later. Those who let it through are told once.
void expect_told_once(std::string_view method) {
  const auto round = [&] {
    std::optional<Decision> decision;
    std::optional<Reply<std::string>> reply;
    int before = 0;
    int after = 0;
    auto router = std::make_shared<Router>();
    router->on("plain", [](std::string in) { return in; });
    router->on("later", [&](std::string, Reply<std::string> given) { reply = std::move(given); });
    router->use<std::string>({.before = [&](IncomingCall&, std::string& state) -> Verdict {
                                state = "a state that is longer than a short string";
                                ++before;
                                return {};
                              },
                              .after =
                                  [&](rpc::Outcome&, std::string& state) {
                                    EXPECT_EQ(state.size(), 42u);
                                    ++after;
                                  }});
    router->use({.before = [&](IncomingCall& call) -> Verdict {
      decision = call.decide_later();
      return {};
    }});
    Line line(router);
    const std::string message =
        R"({"jsonrpc":"2.0","id":"an id that is longer than a short string",)"
        R"("method":")" +
        std::string(method) + R"(","params":["a text that is longer than a short string"]})";
    may_fail([&] { line.peer.receive(message); });
    if (decision) may_fail([&] { (*decision)({}); });
    may_fail([&] { line.peer.process(); });
    if (reply) may_fail([&] { (*reply)("a result that is longer than a short string"); });
    reply.reset();  // if there was no memory for the text
    may_fail([&] { line.peer.process(); });
    EXPECT_EQ(line.peer.in_flight(), 0u);
    EXPECT_LE(line.sent, 1u);
    line.peer.close();
    EXPECT_EQ(before, after);
  };
  EXPECT_GT(fail_each_allocation(round, [] {}), 3);
}

TEST(PeerAllocationFailure, OfARequestThatMiddlewareHolds) { expect_told_once("plain"); }
TEST(PeerAllocationFailure, OfARequestThatIsHeldAndAnsweredLate) { expect_told_once("later"); }

}  // namespace
}  // namespace godwit::inline v0::rpc
