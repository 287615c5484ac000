#include "godwit/client/input_handler.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "rpc_station.hpp"

using godwit::Error;
using godwit::InputHandler;
using godwit::InputReply;
using godwit::Result;

namespace {

using Handler = InputHandler<std::string, int>;

/// A reply on the mailbox of a peer, and what it delivered.
struct Asked {
  InputReply<int> reply() {
    return InputReply<int>(
        station.peer->poster(), [this](Result<int> result) { outcome = std::move(result); },
        stop.get_token());
  }
  godwit::test::Station station;
  std::stop_source stop;
  std::optional<Result<int>> outcome;
};

}  // namespace

TEST(InputHandler, PlainFunctions) {
  const Handler handlers[] = {
      [](const std::string& text) { return static_cast<int>(text.size()); },
      [](const std::string& text) -> Result<int> { return static_cast<int>(text.size()); },
      [](const std::string& text, InputReply<int> reply) { reply(static_cast<int>(text.size())); }};
  for (const Handler& handler : handlers) {
    Asked asked;
    ASSERT_TRUE(handler);
    handler("abc", asked.reply());
    EXPECT_FALSE(asked.outcome);  // never inside the call
    asked.station.peer->process();
    ASSERT_TRUE(asked.outcome && *asked.outcome);
    EXPECT_EQ(**asked.outcome, 3);
  }
  EXPECT_FALSE(Handler());
  EXPECT_FALSE(Handler(nullptr));
}

TEST(InputHandler, AReplyAnswersOnceFromAnyThread) {
  Asked asked;
  auto reply = asked.reply();
  std::thread([&] { reply(7); }).join();
  reply(8);
  asked.station.peer->process();
  ASSERT_TRUE(asked.outcome && *asked.outcome);
  EXPECT_EQ(**asked.outcome, 7);
}

TEST(InputHandler, ADroppedReplyAnswersWithAnError) {
  Asked asked;
  {
    auto reply = asked.reply();
  }
  asked.station.peer->process();
  ASSERT_TRUE(asked.outcome);
  EXPECT_FALSE(*asked.outcome);
  Asked other;
  auto replaced = other.reply();
  Asked third;
  replaced = third.reply();
  other.station.peer->process();
  EXPECT_TRUE(other.outcome && !*other.outcome);
}

TEST(InputHandler, CancellationIsSeen) {
  Asked asked;
  auto reply = asked.reply();
  EXPECT_FALSE(reply.cancelled().stop_requested());
  asked.stop.request_stop();
  EXPECT_TRUE(reply.cancelled().stop_requested());
  asked.station.peer->close();
  reply(1);  // nobody is there any more
  EXPECT_FALSE(asked.outcome);
}
