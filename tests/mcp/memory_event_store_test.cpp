#include "godwit/mcp/memory_event_store.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "store_outcome.hpp"

namespace godwit::inline v0 {
namespace {

Limits limits(std::size_t events, std::size_t bytes = 1u << 20, std::size_t total = 1u << 30) {
  Limits out;
  out.stream_events = events;
  out.stream_bytes = bytes;
  out.event_store_bytes = total;
  return out;
}

/// In one session.
struct Store {
  explicit Store(const Limits& limits = {}) : store(limits) {}
  void append(std::string_view stream, std::uint64_t number, std::string_view data,
              bool final = false) {
    EXPECT_TRUE(test::outcome_of<void>([&](Done<void> done) {
      store.append({"me", stream}, number, data, final, std::move(done));
    }));
  }
  EventPage read(std::string_view stream, std::uint64_t after, std::size_t most = SIZE_MAX) {
    return test::outcome_of<EventPage>([&](Done<EventPage> done) {
             store.read({"me", stream}, after, most, std::move(done));
           })
        .value();
  }
  void forget(std::string_view stream) {
    EXPECT_TRUE(test::outcome_of<void>(
        [&](Done<void> done) { store.forget({"me", stream}, std::move(done)); }));
  }
  void forget_session(std::string_view session) {
    EXPECT_TRUE(test::outcome_of<void>(
        [&](Done<void> done) { store.forget_session(session, std::move(done)); }));
  }
  std::size_t bytes() const { return store.bytes(); }
  MemoryEventStore store;
};

std::string text_of(const EventPage& page) {
  if (page.gone) {
    EXPECT_TRUE(page.events.empty()) << "half an answer";
    return "gone";
  }
  std::string text;
  for (const auto& [number, data] : page.events) {
    text += (text.empty() ? "" : " ") + std::to_string(number) + "=" + *data;
  }
  return text;
}

/// `NUMBER=DATA …`, or "gone".
std::string replay(Store& store, std::string_view stream, std::uint64_t after) {
  return text_of(store.read(stream, after));
}

TEST(MemoryEventStore, GivesWhatCameAfterInOrder) {
  Store store;
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
    Store store(limits(10));
    for (std::uint64_t i = 1; i <= sent; ++i) store.append("a", i, "x");
    EXPECT_EQ(replay(store, "a", 0) == "gone", sent > 10) << sent;
    EXPECT_NE(replay(store, "a", sent > 10 ? sent - 10 : 0), "gone") << sent;
    EXPECT_EQ(replay(store, "a", sent), "") << sent;
  }
}

TEST(MemoryEventStore, KeepsSoManyBytesOfAStream) {
  Store probe;
  probe.append("a", 1, std::string(100, 'x'));
  const std::size_t one = probe.bytes();
  EXPECT_GE(one, 100u);
  for (const int difference : {-1, 0, 1}) {
    const std::size_t most = 5 * one + static_cast<std::size_t>(1 - difference) - 1;
    Store store(limits(1000, most));
    for (std::uint64_t i = 1; i <= 5; ++i) store.append("a", i, std::string(100, 'x'));
    EXPECT_EQ(replay(store, "a", 0) == "gone", difference > 0) << difference;
    EXPECT_NE(replay(store, "a", 1), "gone");
    EXPECT_LE(store.bytes(), most);
  }
}

TEST(MemoryEventStore, AnEventThatNeverFitsIsNotKeptAndNothingPretendsIt) {
  Store store(limits(1000, 500));
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
  Store probe;
  probe.append("a", 1, std::string(100, 'x'));
  const std::size_t one = probe.bytes();
  Store store(limits(1000, 1u << 20, 4 * one));
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
    Store store(none);
    store.append("a", 1, "x");
    store.append("b", 1, "x");
    EXPECT_EQ(store.bytes(), 0u);
    EXPECT_EQ(replay(store, "a", 0), "gone");
  }
}

TEST(MemoryEventStore, ForgetsAStream) {
  Store store;
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

TEST(MemoryEventStore, StreamsBelongToTheirSessions) {
  Store store;
  store.append("a", 1, "mine");
  store.append("b", 1, "mine, too");
  EXPECT_TRUE(test::outcome_of<void>([&](Done<void> done) {
    store.store.append({"you", "a"}, 1, "yours", false, std::move(done));
  }));
  EXPECT_EQ(replay(store, "a", 0), "1=mine");
  const auto yours = [&] {
    return text_of(*test::outcome_of<EventPage>(
        [&](Done<EventPage> done) { store.store.read({"you", "a"}, 0, 1000, std::move(done)); }));
  };
  EXPECT_EQ(yours(), "1=yours");
  store.forget_session("nobody");
  store.forget_session("me");
  store.forget_session("me");
  EXPECT_EQ(replay(store, "a", 0), "gone");
  EXPECT_EQ(replay(store, "b", 0), "gone");
  EXPECT_EQ(yours(), "1=yours");
  store.forget_session("you");
  EXPECT_EQ(store.bytes(), 0u);
}

TEST(MemoryEventStore, GivesPagesOfSoManyBytesAndAtLeastOneEvent) {
  Store store;
  for (std::uint64_t i = 1; i <= 5; ++i) store.append("a", i, "0123456789");
  for (const std::size_t most : {0u, 1u, 10u, 11u, 20u, 21u}) {
    const EventPage page = store.read("a", 1, most);
    EXPECT_EQ(page.events.size(), most <= 10 ? 1u : most <= 20 ? 2u : 3u) << most;
    EXPECT_EQ(page.events.front().number, 2u);
    EXPECT_EQ(page.last, 5u);
  }
}

TEST(MemoryEventStore, SaysWhichNumberIsTheLastAndWhetherTheStreamHasEnded) {
  Store store;
  store.append("a", 1, "x");
  store.append("a", 2, "y");
  EXPECT_EQ(store.read("a", 2).last, 2u);
  EXPECT_FALSE(store.read("a", 2).ended);
  store.append("a", 3, "z", true);
  EXPECT_EQ(store.read("a", 0).last, 3u);
  EXPECT_TRUE(store.read("a", 0).ended);
  EXPECT_TRUE(store.read("a", 3).ended);
}

TEST(MemoryEventStore, WhatWasGivenStaysWhenItIsDropped) {
  Store store;
  store.append("a", 1, "still there");
  const EventPage page = store.read("a", 0);
  store.forget("a");
  EXPECT_EQ(text_of(page), "1=still there");
}

TEST(MemoryEventStore, MayBeUsedFromInsideItsAnswers) {
  Store store;
  store.append("a", 1, "x");
  int outcomes = 0;
  store.store.append({"me", "a"}, 2, "y", false, Done<void>([&](Result<void>) {
                       ++outcomes;
                       store.forget("a");
                     }));
  store.append("a", 1, "x");
  store.store.read({"me", "a"}, 0, 1000, Done<EventPage>([&](Result<EventPage> page) {
                     ++outcomes;
                     store.forget_session("me");
                     EXPECT_EQ(text_of(*page), "1=x");
                   }));
  EXPECT_EQ(outcomes, 2);
  EXPECT_EQ(store.bytes(), 0u);
}

TEST(MemoryEventStore, NeverHoldsMoreThanItMayAndNeverLies) {
  std::mt19937 random(5);
  constexpr std::size_t total = 5'000;
  Store store(limits(20, 1'500, total));
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
    const EventPage page = store.read(name, after);
    for (const auto& [number, data] : page.events) {
      EXPECT_EQ(number, ++next);
      EXPECT_EQ(*data, events[number - 1]);
    }
    ASSERT_EQ(next, page.gone ? after : events.size());
  }
  for (const auto& [name, events] : sent) store.forget(name);
  EXPECT_EQ(store.bytes(), 0u);
}

TEST(MemoryEventStore, TakesCallsFromAnyThread) {
  Store store(limits(50, 1u << 20, 20'000));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&store, t] {
      const std::string name = "s" + std::to_string(t);
      for (std::uint64_t i = 1; i <= 2'000; ++i) {
        store.append(name, i, name);
        for (const auto& [number, data] : store.read(name, i - 1).events) {
          EXPECT_EQ(number, i);
          EXPECT_EQ(*data, name);
        }
      }
      store.forget(name);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store.bytes(), 0u);
}

}  // namespace
}  // namespace godwit::inline v0
