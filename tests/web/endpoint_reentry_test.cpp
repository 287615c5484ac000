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

}  // namespace
}  // namespace godwit::inline v0
