#include "godwit/base/function.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace godwit {
namespace {

int twice(int n) { return 2 * n; }

struct Counter {
  int add(int n) { return total += n; }
  int total = 0;
};

/// Counts the copies of itself that live.
struct Tracked {
  explicit Tracked(int& alive) : alive_(&alive) { ++*alive_; }
  Tracked(Tracked&& other) noexcept : alive_(other.alive_) { ++*alive_; }
  ~Tracked() { --*alive_; }
  int operator()() const { return *alive_; }
  int* alive_;
};

TEST(Function, EmptyThrows) {
  Function<void()> empty;
  EXPECT_FALSE(empty);
  EXPECT_THROW(empty(), std::bad_function_call);
  Function<int(int)> null = nullptr;
  EXPECT_FALSE(null);
  int (*none)(int) = nullptr;
  EXPECT_FALSE((Function<int(int)>(none)));
  int (Counter::*no_member)(int) = nullptr;
  EXPECT_FALSE((Function<int(Counter&, int)>(no_member)));
}

TEST(Function, TakesWhateverCanBeCalled) {
  Function<int(int)> by_name = twice;
  EXPECT_EQ(by_name(21), 42);
  Function<int(int)> by_pointer = &twice;
  EXPECT_EQ(by_pointer(4), 8);
  Function<int(Counter&, int)> member = &Counter::add;
  Counter counter;
  member(counter, 3);
  EXPECT_EQ(member(counter, 4), 7);
  Function<int()> state = [n = 0]() mutable { return ++n; };
  state();
  EXPECT_EQ(state(), 2);
}

TEST(Function, ConvertsOrDropsTheResult) {
  Function<long(short)> wider = twice;
  EXPECT_EQ(wider(5), 10);
  int calls = 0;
  Function<void(int)> dropped = [&](int n) { return calls += n; };
  dropped(2);
  EXPECT_EQ(calls, 2);
  Function<std::string()> converted = [] { return "text"; };
  EXPECT_EQ(converted(), "text");
}

TEST(Function, PassesMoveOnlyAndReferences) {
  Function<std::unique_ptr<int>(std::unique_ptr<int>)> through = [](std::unique_ptr<int> p) {
    ++*p;
    return p;
  };
  EXPECT_EQ(*through(std::make_unique<int>(1)), 2);
  Function<void(int&)> change = [](int& n) { n = 9; };
  int n = 0;
  change(n);
  EXPECT_EQ(n, 9);
}

TEST(Function, OwnsMoveOnlyCallables) {
  auto owned = std::make_unique<int>(5);
  Function<int()> first = [owned = std::move(owned)] { return *owned; };
  Function<int()> second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT: moved from is empty
  EXPECT_EQ(second(), 5);
  first = std::move(second);
  EXPECT_EQ(first(), 5);
  static_assert(!std::is_copy_constructible_v<Function<int()>>);
}

template <std::size_t Bytes>
void expect_lifetimes() {
  int alive = 0;
  {
    std::array<char, Bytes> filler{};
    Function<int()> f = [tracked = Tracked(alive), filler] { return tracked() + filler[0]; };
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(f(), 1);
    Function<int()> g = std::move(f);
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(g(), 1);
    f = [tracked = Tracked(alive)] { return tracked(); };
    EXPECT_EQ(alive, 2);
    g = std::move(f);
    EXPECT_EQ(alive, 1);
    Function<int()>& same = g;
    g = std::move(same);
    EXPECT_EQ(g(), 1);
    g = nullptr;
    EXPECT_EQ(alive, 0);
    f = [tracked = Tracked(alive)] { return tracked(); };
  }
  EXPECT_EQ(alive, 0);
}

TEST(Function, DestroysOnceInsideAndOnTheHeap) {
  expect_lifetimes<1>();
  expect_lifetimes<500>();
}

TEST(Function, OverAlignedCallables) {
  struct alignas(64) Wide {
    bool operator()() const { return reinterpret_cast<std::uintptr_t>(this) % 64 == 0; }
  };
  Function<bool()> f = Wide();
  Function<bool()> g = std::move(f);
  EXPECT_TRUE(g());
}

// The next link of a chain is owned by the one it replaces.
TEST(Function, TakesWhatItOwns) {
  struct Link {
    Function<int()> next;
    int operator()() { return 1; }
  };
  auto owner = std::make_unique<Link>();
  owner->next = [] { return 2; };
  Function<int()>* inner = &owner->next;
  Function<int()> chain = [owner = std::move(owner)] { return (*owner)(); };
  EXPECT_EQ(chain(), 1);
  chain = std::move(*inner);
  EXPECT_EQ(chain(), 2);
}

}  // namespace
}  // namespace godwit
