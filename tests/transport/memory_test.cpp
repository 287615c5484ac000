#include "godwit/transport/memory.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "receiver.hpp"
#include "wait.hpp"

using godwit::Loop;
using godwit::test::Recorder;
using godwit::test::run_until;
using godwit::test::send;

TEST(MemoryPair, MovesMessagesBothWaysNeverInsideACall) {
  Loop loop;
  auto [a, b] = godwit::memory_pair(loop);
  Recorder at_a, at_b;
  at_b.on_each = [&, &side = b](std::string_view message) {
    send(*side, "re " + std::string(message));
  };
  a->start(at_a);
  b->start(at_b);
  send(*a, "one");
  send(*a, "");
  EXPECT_TRUE(at_b.messages.empty());
  loop.run();  // ends: nothing is under way
  EXPECT_EQ(at_b.messages, (std::vector<std::string>{"one", ""}));
  EXPECT_EQ(at_a.messages, (std::vector<std::string>{"re one", "re "}));
  EXPECT_GE(at_a.least_spare, 64u);
}

TEST(MemoryPair, WhatCameBeforeStartWaits) {
  Loop loop;
  auto [a, b] = godwit::memory_pair(loop);
  Recorder at_a, at_b;
  a->start(at_a);
  send(*a, "early");
  loop.run();
  b->start(at_b);
  loop.run();
  EXPECT_EQ(at_b.messages, std::vector<std::string>{"early"});
}

TEST(MemoryPair, CloseDeliversWhatWasSentAndTellsBothOnce) {
  Loop loop;
  auto [a, b] = godwit::memory_pair(loop);
  Recorder at_a, at_b;
  a->start(at_a);
  b->start(at_b);
  send(*a, "last");
  a->close();
  a->close();
  EXPECT_EQ(at_a.closed, 0);
  loop.run();
  EXPECT_EQ(at_b.messages, std::vector<std::string>{"last"});
  EXPECT_EQ(at_a.closed, 1);
  EXPECT_EQ(at_b.closed, 1);
  send(*b, "into the void");
  loop.run();
  EXPECT_TRUE(at_a.messages.empty());
}

TEST(MemoryPair, DestroyingOneSideClosesTheOther) {
  Loop loop;
  auto [a, b] = godwit::memory_pair(loop);
  Recorder at_a, at_b;
  a->start(at_a);
  b->start(at_b);
  at_b.on_each = [&, &side = b](std::string_view) { side.reset(); };
  send(*a, "1");
  send(*a, "2");
  loop.run();
  EXPECT_EQ(at_b.messages.size(), 1u);
  EXPECT_EQ(at_b.closed, 0);
  EXPECT_EQ(at_a.closed, 1);
}

TEST(MemoryPair, WhoWaitsUntilEverythingIsWrittenIsNotToldOnceItIsDestroyed) {
  Loop loop;
  auto [a, b] = godwit::memory_pair(loop);
  bool told = false;
  a->when_flushed([&] { told = true; });
  a.reset();
  loop.run();
  EXPECT_FALSE(told);
  b->when_flushed([&] { told = true; });
  EXPECT_FALSE(told);
  loop.run();
  EXPECT_TRUE(told);
}

TEST(MemoryPair, KeepsTheLimit) {
  Loop loop;
  godwit::Limits limits;
  limits.message_bytes_in = 3;
  auto [a, b] = godwit::memory_pair(loop, limits);
  Recorder at_a, at_b;
  a->start(at_a);
  b->start(at_b);
  for (const char* text : {"12", "123", "1234", "1"}) send(*a, text);
  loop.run();
  EXPECT_EQ(at_b.messages, (std::vector<std::string>{"12", "123", "1"}));
  EXPECT_EQ(at_b.unreadable.size(), 1u);
}

TEST(MemoryPair, JoinsTwoThreads) {
  Loop here, there;
  auto [a, b] = godwit::memory_pair(here, there);
  Recorder at_a, at_b;
  constexpr std::size_t count = 5000;
  std::thread other([&, &side = b] {
    at_b.on_each = [&](std::string_view message) { send(*side, message); };
    side->start(at_b);
    EXPECT_TRUE(run_until(there, [&] { return at_b.closed > 0; }));
    side.reset();
  });
  a->start(at_a);
  for (std::size_t i = 0; i < count; ++i) send(*a, std::to_string(i));
  EXPECT_TRUE(run_until(here, [&] { return at_a.messages.size() == count; }));
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(at_a.messages[i], std::to_string(i));
  bool flushed = false;
  a->when_flushed([&] { flushed = true; });
  a->close();
  EXPECT_TRUE(run_until(here, [&] { return at_a.closed > 0 && flushed; }));
  other.join();
}
