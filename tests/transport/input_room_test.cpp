#include "godwit/transport/input_room.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace godwit {
namespace {

struct Holder final : InputRoom::Guest {
  explicit Holder(std::function<void()> then = {}) : on_way(std::move(then)) {}
  ~Holder() override = default;
  using Guest::holds_room;

  void give_way() noexcept override {
    ++asked;
    if (const auto call = on_way) call();  // a copy: it may destroy this
  }

  std::function<void()> on_way;
  int asked = 0;
};

TEST(InputRoom, CountsWhatIsHeld) {
  InputRoom room(100);
  Holder a, b;
  room.hold(a, 30);
  room.hold(b, 40);
  EXPECT_EQ(room.bytes(), 70u);
  room.hold(a, 50);
  EXPECT_EQ(room.bytes(), 90u);
  room.hold(b, 0);
  EXPECT_EQ(room.bytes(), 50u);
  EXPECT_TRUE(a.holds_room());
  EXPECT_FALSE(b.holds_room());
  room.hold(b, 0);  // holds nothing already
  EXPECT_EQ(room.bytes(), 50u);
  EXPECT_EQ(a.asked + b.asked, 0);
}

TEST(InputRoom, WhoeverBeganFirstGivesWay) {
  InputRoom room(100);
  Holder a, b, c;
  room.hold(a, 10);
  room.hold(b, 40);
  room.hold(c, 40);
  room.hold(a, 20);  // growing does not make it younger
  EXPECT_EQ(a.asked, 0);
  room.hold(c, 50);
  EXPECT_EQ(a.asked, 1);
  EXPECT_EQ(b.asked + c.asked, 0);
  EXPECT_EQ(room.bytes(), 90u);
}

TEST(InputRoom, AsManyAsNeeded) {
  InputRoom room(100);
  std::vector<std::unique_ptr<Holder>> small;
  for (int i = 0; i < 10; ++i) room.hold(*small.emplace_back(std::make_unique<Holder>()), 10);
  Holder large;
  room.hold(large, 45);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(small[i]->asked, i < 5 ? 1 : 0) << i;
  EXPECT_EQ(room.bytes(), 95u);
}

TEST(InputRoom, TheOnlyOneGivesWayToItsOwnSize) {
  InputRoom room(100);
  Holder alone;
  room.hold(alone, 101);
  EXPECT_EQ(alone.asked, 1);
  EXPECT_EQ(room.bytes(), 0u);
  room.hold(alone, 5);  // and may begin anew
  EXPECT_EQ(room.bytes(), 5u);
}

TEST(InputRoom, GuestsAndRoomMayGoInAnyOrder) {
  std::optional<InputRoom> room(std::in_place, 100);
  Holder stays;
  {
    Holder first, middle;
    room->hold(first, 1);
    room->hold(stays, 2);
    room->hold(middle, 4);
  }
  EXPECT_EQ(room->bytes(), 2u);
  room.reset();
  EXPECT_FALSE(stays.holds_room());
}

TEST(InputRoom, AGuestMayMoveToAnotherRoom) {
  InputRoom one(100), two(100);
  Holder guest;
  one.hold(guest, 10);
  two.hold(guest, 20);
  EXPECT_EQ(one.bytes(), 0u);
  EXPECT_EQ(two.bytes(), 20u);
}

TEST(InputRoom, WhoGivesWayMayDestroyItselfAndOthers) {
  InputRoom room(100);
  auto other = std::make_unique<Holder>();
  std::unique_ptr<Holder> first;
  first = std::make_unique<Holder>([&] {
    other.reset();
    first.reset();
  });
  room.hold(*first, 50);
  room.hold(*other, 40);
  Holder late;
  room.hold(late, 60);
  EXPECT_FALSE(first);
  EXPECT_EQ(late.asked, 0);
  EXPECT_EQ(room.bytes(), 60u);
}

}  // namespace
}  // namespace godwit
