// What is on the way of every message makes no heap allocation.
#include <gtest/gtest.h>

#include <cstddef>

#include "count_allocations.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/lifetime.hpp"

namespace godwit {
namespace {

TEST(Allocations, NoneToWatchAnObject) {
  const std::size_t before = allocations;
  {
    const Lifetime lifetime;
    const Lifetime::Watch outer(lifetime);
    const Lifetime::Watch inner(outer);
    EXPECT_FALSE(inner.expired());
  }
  EXPECT_EQ(allocations - before, 0u);
}

TEST(Allocations, NoneToKeepAReferenceInAFunction) {
  const std::size_t before = allocations;
  {
    int object = 0;
    const Lifetime lifetime;
    Function<int()> later([ref = Lifetime::Ref<int>(lifetime, object)] { return *ref.get(); });
    Function<int()> moved(std::move(later));
    EXPECT_EQ(moved(), 0);
  }
  EXPECT_EQ(allocations - before, 0u);
}

}  // namespace
}  // namespace godwit
