// Any allocation of a parser may fail: the next text is parsed.
#include <gtest/gtest.h>

#include <string>

#include "fail_allocations.hpp"
#include "godwit/json/document.hpp"

namespace godwit::inline v0::json {
namespace {

TEST(DocumentAllocationFailure, TheNextTextIsParsed) {
  std::string large = "[0";
  for (int i = 0; i < 10'000; ++i) large += ",0";
  large += "]";
  const auto round = [&] {
    Document document;
    for (const std::string& text : {std::string("[1]"), large, std::string("[-0]")}) {
      if (test::may_fail([&] { static_cast<void>(document.parse(text)); })) continue;
      const Result<View> again = document.parse(text);
      ASSERT_TRUE(again);
      EXPECT_EQ(again->source(), text);
    }
  };
  EXPECT_GT(test::fail_each_allocation(round, [] {}), 2);
}

}  // namespace
}  // namespace godwit::inline v0::json
