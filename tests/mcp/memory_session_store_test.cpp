#include "godwit/mcp/memory_session_store.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "store_outcome.hpp"

namespace godwit::inline v0 {
namespace {

using Kind = SessionPlace::Kind;

struct Store {
  explicit Store(const Limits& limits = {}) : store(limits) {}
  bool save(std::string_view id, std::string_view owner, std::string_view state) {
    return test::outcome_of<void>(
               [&](Done<void> done) { store.save(id, owner, state, std::move(done)); })
        .has_value();
  }
  SessionPlace find(std::string_view id, std::string_view asker) {
    return test::outcome_of<SessionPlace>(
               [&](Done<SessionPlace> done) { store.find(id, asker, std::move(done)); })
        .value();
  }
  void release(std::string_view id, std::string_view owner) {
    EXPECT_TRUE(test::outcome_of<void>(
        [&](Done<void> done) { store.release(id, owner, std::move(done)); }));
  }
  void remove(std::string_view id) {
    EXPECT_TRUE(
        test::outcome_of<void>([&](Done<void> done) { store.remove(id, std::move(done)); }));
  }
  MemorySessionStore store;
};

TEST(MemorySessionStore, ASessionBelongsToWhoeverSavedItFirst) {
  Store store;
  EXPECT_EQ(store.find("s", "a").kind, Kind::unknown);
  EXPECT_TRUE(store.save("s", "a", "{1}"));
  EXPECT_TRUE(store.save("s", "a", "{2}"));
  EXPECT_FALSE(store.save("s", "b", "{3}")) << "it is not its own";
  const SessionPlace own = store.find("s", "a");
  EXPECT_EQ(own.kind, Kind::here);
  EXPECT_EQ(own.state, "{2}") << "for one that was restarted";
  const SessionPlace other = store.find("s", "b");
  EXPECT_EQ(other.kind, Kind::elsewhere);
  EXPECT_EQ(other.where, "a");
  EXPECT_EQ(other.state, "") << "that is the owner's alone";
}

TEST(MemorySessionStore, OneThatWasReleasedGoesToWhoeverAsksFirst) {
  Store store;
  store.save("s", "a", "{1}");
  store.release("s", "b");
  EXPECT_EQ(store.find("s", "b").kind, Kind::elsewhere) << "it was not its to release";
  store.release("s", "a");
  EXPECT_FALSE(store.save("s", "a", "{late}")) << "it let go";
  const SessionPlace got = store.find("s", "b");
  EXPECT_EQ(got.kind, Kind::restorable);
  EXPECT_EQ(got.state, "{1}");
  EXPECT_EQ(store.find("s", "c").where, "b");
  EXPECT_FALSE(store.save("s", "a", "{late}"));
  EXPECT_TRUE(store.save("s", "b", "{2}"));
}

TEST(MemorySessionStore, OneThatWasRemovedIsUnknown) {
  Store store;
  store.save("s", "a", "{1}");
  store.save("t", "a", "{1}");
  store.release("t", "a");
  for (const char* id : {"s", "t", "never there"}) {
    store.remove(id);
    EXPECT_EQ(store.find(id, "a").kind, Kind::unknown);
  }
  EXPECT_EQ(store.store.sessions(), 0u);
  EXPECT_EQ(store.store.bytes(), 0u);
}

TEST(MemorySessionStore, IsBoundedAndOnesThatNobodyHasGiveWay) {
  Limits limits;
  limits.sessions = 3;
  Store store(limits);
  for (const char* id : {"a", "b", "c"}) EXPECT_TRUE(store.save(id, "x", "{}"));
  EXPECT_FALSE(store.save("d", "x", "{}"));
  EXPECT_TRUE(store.save("a", "x", "{more}")) << "which is not one more";
  store.release("b", "x");
  store.release("a", "x");
  EXPECT_TRUE(store.save("d", "x", "{}"));
  EXPECT_EQ(store.find("b", "x").kind, Kind::unknown);
  EXPECT_EQ(store.find("a", "x").kind, Kind::restorable);
  EXPECT_EQ(store.store.sessions(), 3u);
}

TEST(MemorySessionStore, HasSoManyBytes) {
  Store probe;
  probe.save("a", "x", std::string(1000, 's'));
  const std::size_t one = probe.store.bytes();
  for (const int more : {-1, 0, 1}) {
    Limits limits;
    limits.session_store_bytes = 2 * one + static_cast<std::size_t>(more + 1) - 1;
    Store store(limits);
    EXPECT_TRUE(store.save("a", "x", std::string(1000, 's')));
    EXPECT_EQ(store.save("b", "x", std::string(1000, 's')), more >= 0);
    EXPECT_EQ(store.save("a", "x", std::string(1001, 's')), more != 0);
    EXPECT_LE(store.store.bytes(), limits.session_store_bytes);
  }
}

TEST(MemorySessionStore, TakesCallsFromAnyThread) {
  Store store;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&store, t] {
      const std::string name = "server " + std::to_string(t);
      for (int i = 0; i < 500; ++i) {
        const std::string own = name + std::to_string(i);
        EXPECT_TRUE(store.save(own, name, "{}"));
        if (store.find("shared", name).kind != Kind::elsewhere) {
          store.save("shared", name, "{}");
          store.release("shared", name);
        }
        store.remove(own);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  store.remove("shared");
  EXPECT_EQ(store.store.bytes(), 0u);
}

}  // namespace
}  // namespace godwit::inline v0
