#include "godwit/base/lifetime.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "godwit/base/function.hpp"

namespace godwit {
namespace {

/// Calls out, and says what it has seen afterwards.
class Caller {
 public:
  enum class Seen { here, destroyed };

  Seen call(const std::function<void()>& out) {
    const Lifetime::Watch watch(lifetime_);
    out();
    if (watch.expired()) return Seen::destroyed;
    ++calls_;  // the sanitizer looks whether it is there
    return Seen::here;
  }
  Lifetime::Watch watch() const { return Lifetime::Watch(lifetime_); }
  Lifetime::Ref<Caller> ref() { return {lifetime_, *this}; }
  int calls() const { return calls_; }

 private:
  int calls_ = 0;
  Lifetime lifetime_;
};

using Seen = Caller::Seen;

TEST(Lifetime, AnObjectThatStaysIsSeen) {
  Caller caller;
  EXPECT_EQ(caller.call([] {}), Seen::here);
  EXPECT_EQ(caller.calls(), 1);
}

TEST(Lifetime, AnObjectThatIsDestroyedInsideIsMissed) {
  auto caller = std::make_unique<Caller>();
  EXPECT_EQ(caller->call([&] { caller.reset(); }), Seen::destroyed);
}

TEST(Lifetime, EveryLevelOfNestedCallsLearnsOfIt) {
  auto owner = std::make_unique<Caller>();
  Caller& caller = *owner;
  std::vector<Seen> seen;
  std::function<void(int)> descend = [&](int levels) {
    if (levels == 0) return owner.reset();
    seen.push_back(caller.call([&] { descend(levels - 1); }));
  };
  descend(5);
  EXPECT_EQ(seen, std::vector<Seen>(5, Seen::destroyed));
}

TEST(Lifetime, AnInnerCallThatReturnedChangesNothingForTheOuterOne) {
  auto caller = std::make_unique<Caller>();
  const Seen outer = caller->call([&] {
    EXPECT_EQ(caller->call([] {}), Seen::here);
    EXPECT_EQ(caller->call([] {}), Seen::here);
    caller.reset();
  });
  EXPECT_EQ(outer, Seen::destroyed);
}

TEST(Lifetime, AnExceptionLeavesNoWatchBehind) {
  Caller caller;
  EXPECT_THROW(caller.call([] { throw 1; }), int);
  EXPECT_EQ(caller.call([] {}), Seen::here);
}

TEST(Lifetime, WatchesMayEndInAnyOrder) {
  auto caller = std::make_unique<Caller>();
  std::vector<std::optional<Lifetime::Watch>> watches(4);
  for (auto& watch : watches) watch.emplace(caller->watch());
  watches[1].reset();
  watches[3].reset();
  EXPECT_FALSE(watches[0]->expired());
  EXPECT_FALSE(watches[2]->expired());
  watches[0].reset();
  caller.reset();
  EXPECT_TRUE(watches[2]->expired());
}

TEST(Lifetime, AWatchThatIsCopiedWatchesTheSame) {
  auto caller = std::make_unique<Caller>();
  auto first = std::make_unique<Lifetime::Watch>(caller->watch());
  const Lifetime::Watch second(*first);
  first.reset();
  EXPECT_FALSE(second.expired());
  caller.reset();
  EXPECT_TRUE(second.expired());
  const Lifetime::Watch third(second);
  EXPECT_TRUE(third.expired());
}

TEST(Lifetime, AWatchThatIsMovedFromIsExpired) {
  auto caller = std::make_unique<Caller>();
  Lifetime::Watch first = caller->watch();
  const Lifetime::Watch second(std::move(first));
  EXPECT_TRUE(first.expired());
  EXPECT_FALSE(second.expired());
  caller.reset();
  EXPECT_TRUE(second.expired());
}

TEST(Lifetime, AWatchThatIsAssignedWatchesTheOther) {
  auto one = std::make_unique<Caller>();
  auto other = std::make_unique<Caller>();
  Lifetime::Watch watch = one->watch();
  const Lifetime::Watch of_other = other->watch();
  watch = of_other;
  one.reset();
  EXPECT_FALSE(watch.expired());
  Lifetime::Watch& same = watch;
  watch = same;
  EXPECT_FALSE(watch.expired());
  watch = std::move(same);
  EXPECT_FALSE(watch.expired());
  other.reset();
  EXPECT_TRUE(watch.expired());
  EXPECT_TRUE(of_other.expired());
}

TEST(Lifetime, ACopyOfTheObjectHasALifetimeOfItsOwn) {
  auto original = std::make_unique<Caller>();
  const Lifetime::Watch watch = original->watch();
  auto copy = std::make_unique<Caller>(*original);
  const Lifetime::Watch of_copy = copy->watch();
  original.reset();
  EXPECT_TRUE(watch.expired());
  EXPECT_FALSE(of_copy.expired());
}

TEST(Lifetime, WhoeverWatchesAnObjectThatIsMovedFromGoesOnWatchingIt) {
  auto from = std::make_unique<Caller>();
  const Lifetime::Watch watch = from->watch();
  Caller to(std::move(*from));
  EXPECT_FALSE(watch.expired());
  Caller third;
  const Lifetime::Watch of_third = third.watch();
  third = std::move(to);
  EXPECT_FALSE(of_third.expired());
  from.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(LifetimeRef, IsNullOnceTheObjectIsDestroyed) {
  auto caller = std::make_unique<Caller>();
  const Lifetime::Ref<Caller> ref = caller->ref();
  EXPECT_EQ(ref.get(), caller.get());
  const Lifetime::Ref<Caller> copy = ref;
  caller.reset();
  EXPECT_EQ(ref.get(), nullptr);
  EXPECT_EQ(copy.get(), nullptr);
}

TEST(LifetimeRef, IsKeptInAFunctionThatIsMovedAround) {
  auto caller = std::make_unique<Caller>();
  int found = 0;
  std::vector<Function<void()>> later;
  for (int i = 0; i < 10; ++i) {  // the vector moves them as it grows
    later.emplace_back([ref = caller->ref(), &found] { found += ref.get() ? 1 : 0; });
  }
  later.erase(later.begin() + 3);
  for (auto& each : later) each();
  EXPECT_EQ(found, 9);
  caller.reset();
  for (auto& each : later) each();
  EXPECT_EQ(found, 9);
}

TEST(LifetimeRef, MayBeDestroyedOnAnotherThreadOnceItIsExpired) {
  auto caller = std::make_unique<Caller>();
  auto ref = std::make_unique<Lifetime::Ref<Caller>>(caller->ref());
  caller.reset();
  std::thread([&] { ref.reset(); }).join();
}

static_assert(std::is_nothrow_copy_constructible_v<Lifetime::Ref<Caller>>);
static_assert(std::is_nothrow_move_constructible_v<Lifetime::Ref<Caller>>);
static_assert(sizeof(Lifetime) == sizeof(void*));

}  // namespace
}  // namespace godwit
