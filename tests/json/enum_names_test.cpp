#include "godwit/json/enum_names.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/json/schema_of.hpp"

namespace json = godwit::json;

namespace colours {
enum class Colour : std::uint16_t { red = 1000, green = 2000, blue = 40000 };
enum Plain { plain_a, plain_b };
}  // namespace colours

template <>
struct godwit::json::EnumNames<colours::Colour> {
  static constexpr std::pair<colours::Colour, std::string_view> names[] = {
      {colours::Colour::red, "rouge"},
      {colours::Colour::red, "red"},  // also understood
      {colours::Colour::blue, "bleu"}};
};

template <>
struct godwit::json::EnumNames<colours::Plain> {
  static constexpr std::array<std::pair<colours::Plain, std::string_view>, 2> names{
      {{colours::plain_a, "a"}, {colours::plain_b, "b"}}};
};

namespace {

enum class Unit { celsius, kelvin };
enum Unscoped : int { unscoped_one = 1, unscoped_two = 2 };
enum class Edges : std::int8_t { lowest = -128, minus = -1, zero, highest = 127 };
enum class Wide : std::int64_t { below = -129, lowest = -128, highest = 127, above = 128 };
// Of one byte all values are seen.
enum class Byte : std::uint8_t { none, last = 255 };
enum class Unsigned : std::uint16_t { none, below = 255, above = 256 };
enum class Truth : bool { no, yes };
enum class Aliased { first, same = first, second };
enum class Letter : char { a = 'a', z = 'z' };

template <class E>
std::string names() {
  std::string out;
  for (int value = -200; value <= 200; ++value) {
    if (const auto name = json::enum_name(static_cast<E>(value)); !name.empty()) {
      out += std::string(name) + "=" + std::to_string(value) + " ";
    }
  }
  return out;
}

TEST(EnumNames, AreFoundByTheCompiler) {
  EXPECT_EQ(json::enum_name(Unit::kelvin), "kelvin");
  EXPECT_EQ(json::enum_value<Unit>("kelvin"), Unit::kelvin);
  EXPECT_EQ(json::enum_value<Unit>("Kelvin"), std::nullopt);
  EXPECT_EQ(json::enum_value<Unit>(""), std::nullopt);
  EXPECT_EQ(json::enum_name(static_cast<Unit>(2)), "");
  EXPECT_EQ(names<Unit>(), "celsius=0 kelvin=1 ");
  EXPECT_EQ(names<Unscoped>(), "unscoped_one=1 unscoped_two=2 ");
  static_assert(json::enum_name(Unit::celsius) == "celsius");
}

TEST(EnumNames, FromMinus128To127) {
  EXPECT_EQ(names<Wide>(), "lowest=-128 highest=127 ");
  EXPECT_EQ(json::enum_name(Edges::lowest), "lowest");
  EXPECT_EQ(json::enum_name(Edges::minus), "minus");
  EXPECT_EQ(json::enum_name(Edges::zero), "zero");
  EXPECT_EQ(json::enum_name(Edges::highest), "highest");
  EXPECT_EQ(json::enum_name(Byte::last), "last");
  EXPECT_EQ(json::enum_name(Unsigned::below), "below");
  EXPECT_EQ(json::enum_name(Unsigned::above), "");
}

TEST(EnumNames, UnusualUnderlyingTypes) {
  EXPECT_EQ(json::enum_value<Truth>("yes"), Truth::yes);
  EXPECT_EQ(json::enum_value<Letter>("z"), Letter::z);
  EXPECT_EQ(json::encode(Letter::a), R"("a")");
}

TEST(EnumNames, OfTwoNamesForOneValueTheFirstCounts) {
  EXPECT_EQ(json::enum_name(Aliased::same), "first");
  EXPECT_EQ(json::enum_value<Aliased>("second"), Aliased::second);
}

template <class T>
auto local_enum() {
  enum class Local { one, two };
  return Local::two;
}

struct Nested {
  enum class Inside : signed char { before = -1, after = 1 };
  template <class... T>
  struct Deep {
    enum class Kind { left, right };
  };
};

TEST(EnumNames, InFunctionsLambdasClassesAndTemplates) {
  enum class Here { a, b };
  EXPECT_EQ(json::encode(Here::b), R"("b")");
  [] {
    enum class InLambda { c, d };
    EXPECT_EQ(json::encode(InLambda::d), R"("d")");
  }();
  EXPECT_EQ(json::encode(local_enum<std::pair<int, std::string>>()), R"("two")");
  EXPECT_EQ(json::encode(Nested::Inside::before), R"("before")");
  EXPECT_EQ((json::encode(Nested::Deep<int, std::pair<int, char>>::Kind::right)), R"("right")");
}

TEST(EnumNames, GivenByTheTrait) {
  using colours::Colour;
  EXPECT_EQ(json::enum_name(Colour::red), "rouge");
  EXPECT_EQ(json::enum_name(Colour::green), "");
  EXPECT_EQ(json::enum_name(Colour::blue), "bleu");
  EXPECT_EQ(json::enum_value<Colour>("rouge"), Colour::red);
  EXPECT_EQ(json::enum_value<Colour>("red"), Colour::red);
  EXPECT_EQ(*json::decode<Colour>(R"("bleu")"), Colour::blue);
  EXPECT_EQ(json::decode<Colour>(R"("blue")").error().message,
            R"(expected one of "rouge", "red", "bleu", got "blue")");
  // In a std::array, and for an enum without a fixed type.
  EXPECT_EQ(json::encode(colours::plain_b), R"("b")");
}

template <class T>
std::string thrown(const T& value) {
  try {
    return "written as " + json::encode(value);
  } catch (const json::TypeError& e) {
    return e.what();
  }
}

struct Holder {
  std::vector<Wide> wide{};
};

TEST(EnumNames, AValueWithoutANameCannotBeWritten) {
  EXPECT_EQ(thrown(Wide::above),
            "godwit: the value 128 of the enum Wide has no name and cannot be written; specialise "
            "godwit::json::EnumNames for it (names are found by themselves from -128 to 127, or "
            "from 0 to 255 if its type is unsigned)");
  EXPECT_EQ(thrown(Holder{{Wide::lowest, Wide::below}}).substr(0, 40),
            "godwit: the value -129 of the enum Wide ");
  EXPECT_EQ(thrown(static_cast<Edges>(-5)).substr(0, 38), "godwit: the value -5 of the enum Edges");
  EXPECT_EQ(thrown(static_cast<Byte>(7)).substr(0, 36), "godwit: the value 7 of the enum Byte");
  EXPECT_EQ(thrown(colours::Colour::green).substr(0, 41),
            "godwit: the value 2000 of the enum Colour");
  EXPECT_EQ(json::decode<Byte>("128").error().message,
            R"(expected one of "none", "last", got 128)");
}

TEST(EnumNames, InASchemaOfAllValues) {
  EXPECT_EQ(json::schema_of<Byte>().dump(), R"({"type":"string","enum":["none","last"]})");
  EXPECT_EQ(json::schema_of<colours::Colour>().dump(),
            R"({"type":"string","enum":["rouge","red","bleu"]})");
  static_assert(json::detail::has_names_beyond<Wide>());
  static_assert(json::detail::has_names_beyond<Unsigned>());
  static_assert(!json::detail::has_names_beyond<Unit>());
  static_assert(!json::detail::has_names_beyond<Edges>());
  enum class Status { ok, not_found = 404 };
  enum class Flags : unsigned { one = 1, large = 1u << 31 };
  enum class Last { first, last = 1023 };
  static_assert(json::detail::has_names_beyond<Status>());
  static_assert(json::detail::has_names_beyond<Flags>());
  static_assert(json::detail::has_names_beyond<Last>());
}

}  // namespace
