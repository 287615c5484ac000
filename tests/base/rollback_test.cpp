#include "godwit/base/rollback.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace godwit {
namespace {

TEST(Rollback, UndoesUnlessItIsDismissed) {
  int undone = 0;
  {
    const Rollback undo([&] { ++undone; });
  }
  EXPECT_EQ(undone, 1);
  {
    Rollback undo([&] { ++undone; });
    undo.dismiss();
  }
  EXPECT_EQ(undone, 1);
}

TEST(Rollback, UndoesWhenSomethingIsThrown) {
  int undone = 0;
  EXPECT_THROW(
      {
        Rollback undo([&] { ++undone; });
        throw std::runtime_error("in the middle");
      },
      std::runtime_error);
  EXPECT_EQ(undone, 1);
}

}  // namespace
}  // namespace godwit
