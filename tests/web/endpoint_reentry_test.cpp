// Code of the program that runs inside an Endpoint and calls it again: what is on the stack stays
// until the call that put it there is over.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "stateful.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;

/// A Site with middleware that ends the session in which a call of a tool ends.
struct Reentry : Stateful {
  Reentry() {
    site.server.use({.after = [this](rpc::Outcome& outcome) {
      if (session.empty() || outcome.method() != "tools/call") return;
      FakeExchange& removed = site.send(Site::remove(std::exchange(session, {})));
      EXPECT_EQ(removed.status, 204);
      inside = site.web().sessions();
    }});
  }

  std::string session;     // to be ended; cleared when it was
  std::size_t inside = 0;  // sessions that there were after that, inside the call
};

TEST_F(Reentry, ASessionThatAHandlerEndsStaysWhileItIsHandled) {
  session = site.connect();
  call(session, "1", "echo", oslo);
  EXPECT_EQ(inside, 1u);
  EXPECT_EQ(site.web().sessions(), 0u);
}

TEST_F(Reentry, ASessionThatALateAnswerEndsStaysWhileItIsProcessed) {
  session = site.connect();
  FakeExchange& waiting = call(session, "1", "wait");
  parked.replies.at(0)("late");
  site.process();
  EXPECT_EQ(inside, 1u);
  EXPECT_FALSE(waiting.waiting());
  EXPECT_EQ(site.web().sessions(), 0u);
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Reentry, ASessionThatATimeoutEndsStaysWhileTimeIsTold) {
  session = site.connect();
  call(session, "1", "asks");
  site.process();
  // The client never answers; the handler is run again with that, and then the call is over.
  for (int i = 0; i < 3 && !session.empty(); ++i) {
    site.pass(site.server.options().ask_timeout + 1s);
    site.process();
  }
  EXPECT_TRUE(session.empty());
  EXPECT_EQ(inside, 1u);
  EXPECT_EQ(site.web().sessions(), 0u);
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Reentry, SessionsThatEndWhileAllAreDrainedStayMeanwhile) {
  // A handler that answers when it is told to stop: inside drain().
  std::vector<std::shared_ptr<void>> kept;
  site.server.tool("stops", "", [&](Context& cx, Reply<std::string> reply) {
    using OnStop = std::stop_callback<std::function<void()>>;
    auto answer = std::make_shared<Reply<std::string>>(std::move(reply));
    kept.push_back(std::make_shared<OnStop>(cx.cancelled(), [answer] { (*answer)("stopped"); }));
  });
  session = site.connect();
  const std::string other = site.connect();
  call(session, "1", "stops");
  call(other, "2", "stops");
  site.web().drain();
  site.process();
  EXPECT_EQ(inside, 2u);
  EXPECT_EQ(site.web().sessions(), 1u);
}

/// A Site with middleware that destroys the endpoint in which a call of a tool ends.
struct Destroying : Stateful {
  Destroying() {
    site.server.use({.after = [this](rpc::Outcome& outcome) {
      if (outcome.method() == "tools/call") site.endpoint.reset();
    }});
  }
  void expect_over(const FakeExchange& exchange) {
    EXPECT_FALSE(site.endpoint.has_value());
    EXPECT_FALSE(exchange.waiting());
  }
};

TEST_F(Destroying, AHandlerMayDestroyTheEndpoint) {
  expect_over(site.send(Site::modern_tool("1", "echo", oslo)));
  expect_over(call(site.connect(), "1", "echo", oslo));
  EXPECT_EQ(site.server.sessions(), 0u);
}

TEST_F(Destroying, ItIsDestroyedAlsoIfOthersWait) {
  FakeExchange& lane = site.send(Site::modern_tool("1", "wait"));
  const std::string session = site.connect();
  FakeExchange& listening = site.send(Site::get(session));
  FakeExchange& waiting = call(session, "1", "wait");
  call(session, "2", "echo", oslo);
  for (const FakeExchange* each : {&lane, &listening, &waiting}) expect_over(*each);
  for (auto& reply : parked.replies) reply("nobody waits for it");
}

TEST_F(Destroying, ALateAnswerMayDestroyTheEndpoint) {
  FakeExchange& lane = site.send(Site::modern_tool("1", "wait"));
  parked.replies.at(0)("late");
  site.process();
  expect_over(lane);
  FakeExchange& stream = call(site.connect(), "1", "wait");
  parked.replies.at(1)("late");
  site.process();
  expect_over(stream);
}

TEST_F(Destroying, ATimeoutMayDestroyTheEndpoint) {
  FakeExchange& waiting = call(site.connect(), "1", "asks");
  site.process();
  for (int i = 0; i < 3 && site.endpoint; ++i) {
    site.clock.advance(site.server.options().ask_timeout + 1s);
    site.endpoint->expire(site.clock.now());
    if (site.endpoint) site.endpoint->process();
  }
  expect_over(waiting);
}

TEST_F(Destroying, WhoeverIsToldToStopMayDestroyTheEndpoint) {
  using OnStop = std::stop_callback<std::function<void()>>;
  std::vector<std::shared_ptr<void>> kept;
  site.server.tool("stops", "", [&](Context& cx, Reply<std::string> reply) {
    auto answer = std::make_shared<Reply<std::string>>(std::move(reply));
    kept.push_back(std::make_shared<OnStop>(cx.cancelled(), [this] { site.endpoint.reset(); }));
    kept.push_back(answer);
  });
  FakeExchange& gone = site.send(Site::modern_tool("1", "stops"));
  gone.go();
  expect_over(gone);
  const std::string session = site.connect();
  FakeExchange& drained = call(session, "1", "stops");
  FakeExchange& other = site.send(Site::modern_tool("2", "stops"));
  site.web().drain();
  expect_over(drained);
  expect_over(other);
  const std::string last = site.connect();
  FakeExchange& ended = call(last, "1", "stops");
  site.send(Site::remove(last));
  expect_over(ended);
  kept.clear();
}

}  // namespace
}  // namespace godwit::inline v0
