#include "godwit/base/done.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

namespace godwit {
namespace {

struct Taken {
  int calls = 0;
  std::optional<Result<std::string>> last{};

  Done<std::string> done() {
    return Done<std::string>([this](Result<std::string> outcome) {
      ++calls;
      last = std::move(outcome);
    });
  }
};

TEST(Done, GivesTheOutcome) {
  Taken taken;
  taken.done()("kept");
  EXPECT_EQ(taken.calls, 1);
  EXPECT_EQ(**taken.last, "kept");
}

TEST(Done, OnlyTheFirstOutcomeCounts) {
  Taken taken;
  Done<std::string> done = taken.done();
  done("first");
  done(error("second"));
  EXPECT_EQ(taken.calls, 1);
  EXPECT_EQ(**taken.last, "first");
}

TEST(Done, DroppedItGivesAnError) {
  Taken taken;
  {
    const Done<std::string> done = taken.done();
  }
  ASSERT_EQ(taken.calls, 1);
  EXPECT_EQ(taken.last->error().message, "the operation was dropped without an outcome");
}

TEST(Done, WhoeverMakesItMaySayWhatItMeansToDropIt) {
  std::string why;
  {
    const Done<int> done([&](Result<int> outcome) { why = outcome.error().message; }, "no luck");
  }
  EXPECT_EQ(why, "no luck");
}

TEST(Done, MovedFromItGivesNothing) {
  Taken taken;
  {
    Done<std::string> first = taken.done();
    Done<std::string> second = std::move(first);
    second("moved");
  }
  EXPECT_EQ(taken.calls, 1);
  EXPECT_EQ(**taken.last, "moved");
}

TEST(Done, AssignedOverItGivesAnError) {
  Taken before;
  Taken after;
  Done<std::string> done = before.done();
  done = after.done();
  EXPECT_EQ(before.calls, 1);
  EXPECT_FALSE(*before.last);
  done("later");
  EXPECT_EQ(**after.last, "later");
}

TEST(Done, WhatItOwnsMayOwnIt) {
  // Calling it may destroy whoever has it.
  struct Owner {
    std::optional<Done<void>> done{};
  };
  auto owner = std::make_unique<Owner>();
  bool called = false;
  owner->done.emplace([&](Result<void> outcome) {
    owner.reset();
    called = outcome.has_value();
  });
  (*owner->done)({});
  EXPECT_TRUE(called);
}

}  // namespace
}  // namespace godwit
