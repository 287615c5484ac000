// What came of an operation of a store that ends inside the call.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "godwit/base/done.hpp"

namespace godwit::test {

/// `call` is given the Done.
template <class T, class Call>
Result<T> outcome_of(Call&& call) {
  std::optional<Result<T>> outcome;
  call(Done<T>([&](Result<T> result) {
    EXPECT_FALSE(outcome) << "a second outcome";
    outcome = std::move(result);
  }));
  EXPECT_TRUE(outcome) << "no outcome";
  if (!outcome) return error("no outcome");
  return *std::move(outcome);
}

}  // namespace godwit::test
