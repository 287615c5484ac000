#include "godwit/mcp/memory_event_store.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace godwit::inline v0 {
namespace {

Limits limits(std::size_t events, std::size_t bytes = 1u << 20, std::size_t total = 1u << 30) {
  Limits out;
  out.stream_events = events;
  out.stream_bytes = bytes;
  out.event_store_bytes = total;
  return out;
}

/// `NUMBER=DATA …`, or "gone".
std::string replay(MemoryEventStore& store, std::string_view stream, std::uint64_t after) {
  std::string text;
  const bool there = store.replay(stream, after, [&](std::uint64_t number, std::string_view data) {
    text += (text.empty() ? "" : " ") + std::to_string(number) + "=" + std::string(data);
    return true;
  });
  if (there) return text;
  EXPECT_EQ(text, "") << "half an answer";
  return "gone";
}

TEST(MemoryEventStore, GivesWhatCameAfterInOrder) {
  MemoryEventStore store;
  for (std::uint64_t i = 1; i <= 5; ++i) store.append("a", i, std::to_string(i * i));
  store.append("b", 1, "other");
  EXPECT_EQ(replay(store, "a", 0), "1=1 2=4 3=9 4=16 5=25");
  EXPECT_EQ(replay(store, "a", 3), "4=16 5=25");
  EXPECT_EQ(replay(store, "a", 5), "");
  EXPECT_EQ(replay(store, "a", 6), "gone");
  EXPECT_EQ(replay(store, "a", UINT64_MAX), "gone");
  EXPECT_EQ(replay(store, "b", 0), "1=other");
  EXPECT_EQ(replay(store, "c", 0), "gone");
  EXPECT_EQ(replay(store, "", 0), "gone");
}

TEST(MemoryEventStore, KeepsSoManyEventsOfAStream) {
  for (const std::uint64_t sent : {9u, 10u, 11u}) {
    MemoryEventStore store(limits(10));
    for (std::uint64_t i = 1; i <= sent; ++i) store.append("a", i, "x");
    EXPECT_EQ(replay(store, "a", 0) == "gone", sent > 10) << sent;
    EXPECT_NE(replay(store, "a", sent > 10 ? sent - 10 : 0), "gone") << sent;
    EXPECT_EQ(replay(store, "a", sent), "") << sent;
  }
}

TEST(MemoryEventStore, KeepsSoManyBytesOfAStream) {
  MemoryEventStore probe;
  probe.append("a", 1, std::string(100, 'x'));
  const std::size_t one = probe.bytes();
  EXPECT_GE(one, 100u);
  for (const int difference : {-1, 0, 1}) {
    const std::size_t most = 5 * one + static_cast<std::size_t>(1 - difference) - 1;
    MemoryEventStore store(limits(1000, most));
    for (std::uint64_t i = 1; i <= 5; ++i) store.append("a", i, std::string(100, 'x'));
    EXPECT_EQ(replay(store, "a", 0) == "gone", difference > 0) << difference;
    EXPECT_NE(replay(store, "a", 1), "gone");
    EXPECT_LE(store.bytes(), most);
  }
}

TEST(MemoryEventStore, AnEventThatNeverFitsIsNotKeptAndNothingPretendsIt) {
  MemoryEventStore store(limits(1000, 500));
  store.append("a", 1, "small");
  store.append("a", 2, std::string(1000, 'x'));
  EXPECT_EQ(replay(store, "a", 0), "gone");
  EXPECT_EQ(replay(store, "a", 1), "gone");
  EXPECT_EQ(replay(store, "a", 2), "");
  EXPECT_EQ(store.bytes(), 0u);
  store.append("a", 3, "y");
  EXPECT_EQ(replay(store, "a", 2), "3=y");
  EXPECT_EQ(replay(store, "a", 1), "gone");
}

TEST(MemoryEventStore, KeepsSoManyBytesInAllAndTheQuietestGoFirst) {
  MemoryEventStore probe;
  probe.append("a", 1, std::string(100, 'x'));
  const std::size_t one = probe.bytes();
  MemoryEventStore store(limits(1000, 1u << 20, 4 * one));
  const std::string data(100, 'x');
  store.append("a", 1, data);
  store.append("b", 1, data);
  store.append("a", 2, data);
  store.append("c", 1, data);
  EXPECT_EQ(store.bytes(), 4 * one);
  EXPECT_NE(replay(store, "b", 0), "gone");
  store.append("c", 2, data);  // b was quiet longest
  EXPECT_EQ(replay(store, "b", 0), "gone");
  EXPECT_NE(replay(store, "a", 0), "gone");
  store.append("c", 3, data);
  EXPECT_EQ(replay(store, "a", 0), "gone");
  EXPECT_NE(replay(store, "a", 1), "gone");
  EXPECT_NE(replay(store, "c", 0), "gone");
  EXPECT_LE(store.bytes(), 4 * one);
  for (std::uint64_t i = 4; i < 20; ++i) store.append("c", i, data);
  EXPECT_EQ(replay(store, "a", 1), "gone");
  EXPECT_EQ(replay(store, "c", 14), "gone");
  EXPECT_NE(replay(store, "c", 15), "gone");
  // Dropped as a whole, it can go on, without its past.
  store.append("b", 2, "y");
  EXPECT_EQ(replay(store, "b", 1), "2=y");
  EXPECT_EQ(replay(store, "b", 0), "gone");
}

TEST(MemoryEventStore, WithoutAnyRoomNothingIsKept) {
  for (const Limits& none : {limits(0), limits(10, 0), limits(10, 1000, 0)}) {
    MemoryEventStore store(none);
    store.append("a", 1, "x");
    store.append("b", 1, "x");
    EXPECT_EQ(store.bytes(), 0u);
    EXPECT_EQ(replay(store, "a", 0), "gone");
  }
}

TEST(MemoryEventStore, ForgetsAStream) {
  MemoryEventStore store;
  store.append("a", 1, "x");
  store.append("b", 1, "y");
  store.forget("a");
  store.forget("a");
  store.forget("never there");
  EXPECT_EQ(replay(store, "a", 0), "gone");
  EXPECT_EQ(replay(store, "b", 0), "1=y");
  store.forget("b");
  EXPECT_EQ(store.bytes(), 0u);
  store.append("a", 1, "new");
  EXPECT_EQ(replay(store, "a", 0), "1=new");
}

TEST(MemoryEventStore, MayBeUsedFromInsideAReplay) {
  MemoryEventStore store;
  for (std::uint64_t i = 1; i <= 3; ++i) store.append("a", i, std::to_string(i));
  std::string seen;
  EXPECT_TRUE(store.replay("a", 0, [&](std::uint64_t number, std::string_view data) {
    store.append("b", number, data);
    store.append("a", 3 + number, "later");
    seen += data;
    return true;
  }));
  EXPECT_EQ(seen, "123");
  EXPECT_EQ(replay(store, "b", 0), "1=1 2=2 3=3");
}

TEST(MemoryEventStore, GivesNoMoreThanIsWanted) {
  MemoryEventStore store;
  for (std::uint64_t i = 1; i <= 5; ++i) store.append("a", i, std::to_string(i));
  std::string seen;
  EXPECT_TRUE(store.replay("a", 1, [&](std::uint64_t number, std::string_view data) {
    seen += data;
    return number < 3;
  }));
  EXPECT_EQ(seen, "23");
  // What is dropped meanwhile is not passed over in silence.
  seen.clear();
  EXPECT_FALSE(store.replay("a", 1, [&](std::uint64_t, std::string_view data) {
    seen += data;
    store.forget("a");
    return true;
  }));
  EXPECT_EQ(seen, "2");
}

TEST(MemoryEventStore, NeverHoldsMoreThanItMayAndNeverLies) {
  std::mt19937 random(5);
  constexpr std::size_t total = 5'000;
  MemoryEventStore store(limits(20, 1'500, total));
  std::map<std::string, std::vector<std::string>> sent;
  for (int step = 0; step < 20'000; ++step) {
    const std::string name = "s" + std::to_string(random() % 12);
    std::vector<std::string>& events = sent[name];
    if (random() % 50 == 0) {
      store.forget(name);
      events.clear();
      continue;
    }
    events.emplace_back(random() % 200, static_cast<char>('a' + random() % 26));
    store.append(name, events.size(), events.back());
    ASSERT_LE(store.bytes(), total);
    const std::uint64_t after = random() % (events.size() + 1);
    std::uint64_t next = after;
    const bool there = store.replay(name, after, [&](std::uint64_t number, std::string_view data) {
      EXPECT_EQ(number, ++next);
      EXPECT_EQ(data, events[number - 1]);
      return true;
    });
    ASSERT_EQ(next, there ? events.size() : after);
  }
  for (const auto& [name, events] : sent) store.forget(name);
  EXPECT_EQ(store.bytes(), 0u);
}

TEST(MemoryEventStore, TakesCallsFromAnyThread) {
  MemoryEventStore store(limits(50, 1u << 20, 20'000));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&store, t] {
      const std::string name = "s" + std::to_string(t);
      for (std::uint64_t i = 1; i <= 2'000; ++i) {
        store.append(name, i, name);
        store.replay(name, i - 1, [&](std::uint64_t number, std::string_view data) {
          EXPECT_EQ(number, i);
          EXPECT_EQ(data, name);
          return true;
        });
      }
      store.forget(name);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store.bytes(), 0u);
}

}  // namespace
}  // namespace godwit::inline v0
