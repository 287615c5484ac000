#include "godwit/base/result.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace godwit {
namespace {

Result<std::string> text(bool good) {
  if (good) return "a literal converts";
  return Error{.code = -32602, .message = "no text today", .data = "{}"};
}

TEST(Result, HoldsAValue) {
  auto result = text(true);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result.has_value());
  EXPECT_EQ(*result, "a literal converts");
  EXPECT_EQ(result->size(), 18u);
  EXPECT_EQ(result.value(), "a literal converts");
  EXPECT_EQ(result.value_or("other"), "a literal converts");
  *result = "changed";
  EXPECT_EQ(std::as_const(result).value(), "changed");
  EXPECT_EQ(std::move(result).value_or("other"), "changed");
  EXPECT_EQ(*Result<int>(), 0);
}

TEST(Result, HoldsAnError) {
  const auto result = text(false);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), (Error{.code = -32602, .message = "no text today", .data = "{}"}));
  EXPECT_EQ(result.value_or("other"), "other");
  try {
    (void)result.value();
    ADD_FAILURE();
  } catch (const BadResult& bad) {
    EXPECT_STREQ(bad.what(), "no text today");
    EXPECT_EQ(bad.error().code, -32602);
  }
  EXPECT_EQ(error("a sentence").code, -32603);
}

TEST(Result, PassesAnErrorOn) {
  const auto outer = []() -> Result<int> {
    auto inner = text(false);
    if (!inner) return std::move(inner).error();
    return static_cast<int>(inner->size());
  };
  EXPECT_EQ(outer().error().message, "no text today");
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  std::unique_ptr<int> out = *std::move(result);
  EXPECT_EQ(*out, 7);
  EXPECT_EQ(**Result<std::unique_ptr<int>>(std::move(out)), 7);
}

TEST(Result, Void) {
  const Result<void> good;
  EXPECT_TRUE(good);
  good.value();
  *good;
  const Result<void> bad = error("it broke");
  EXPECT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().message, "it broke");
  EXPECT_THROW(bad.value(), BadResult);
}

TEST(ResultDeathTest, ReadingTheWrongSideEndsTheProgram) {
  const auto bad = text(false);
  EXPECT_DEATH((void)*bad, "a failed Result was read: no text today");
  EXPECT_DEATH((void)bad->size(), "no text today");
  const Result<void> broken = error("it broke");
  EXPECT_DEATH(*broken, "it broke");
  const auto good = text(true);
  EXPECT_DEATH((void)good.error(), "holds a value");
}

static_assert(std::is_constructible_v<Result<std::string>, const char*>);
static_assert(!std::is_convertible_v<Result<int>, bool>, "only an explicit test is offered");

}  // namespace
}  // namespace godwit
