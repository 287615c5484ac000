// Variants: told apart by their shape, with a bound on the work that takes.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/json/literal.hpp"
#include "godwit/json/raw_json.hpp"

namespace json = godwit::json;

namespace {

template <class T>
T good(std::string_view text) {
  auto result = json::decode<T>(text);
  EXPECT_TRUE(result) << text << ": " << (result ? "" : result.error().message);
  if (!result) return T{};
  return *std::move(result);
}

template <class T>
std::string why(std::string_view text) {
  const auto result = json::decode<T>(text);
  return result ? "" : result.error().message;
}

enum class Unit { celsius, kelvin };
struct Circle {
  double radius{};
  bool operator==(const Circle&) const = default;
};
struct Square {
  double side{};
  std::optional<std::string> name{};
  bool operator==(const Square&) const = default;
};
using Shape = std::variant<Circle, Square>;

TEST(DecodeVariant, ByKind) {
  using Any =
      std::variant<std::monostate, bool, int, double, std::string, std::vector<int>, Circle>;
  EXPECT_EQ(good<Any>("null").index(), 0u);
  EXPECT_EQ(good<Any>("true").index(), 1u);
  EXPECT_EQ(good<Any>("1").index(), 2u);
  EXPECT_EQ(good<Any>("1.5").index(), 3u);
  EXPECT_EQ(good<Any>("1e300").index(), 3u);  // whole, but no int
  EXPECT_EQ(good<Any>("\"\"").index(), 4u);
  EXPECT_EQ(good<Any>("[]").index(), 5u);
  EXPECT_EQ(good<Any>(R"({"radius":1})").index(), 6u);
}

TEST(DecodeVariant, StructsByTheirRequiredMembers) {
  EXPECT_EQ(good<Shape>(R"({"side":2})"), Shape(Square{2, {}}));
  EXPECT_EQ(good<Shape>(R"({"radius":2})"), Shape(Circle{2}));
  // The first that fits wins.
  EXPECT_EQ(good<Shape>(R"({"side":1,"radius":2})"), Shape(Circle{2}));
}

// A tag is an enum with one name.
enum class Add { add };
enum class Mul { mul };
struct Sum {
  Add op{};
  int a{}, b{};
};
struct Product {
  Mul op{};
  int a{}, b{};
};

TEST(DecodeVariant, ByATag) {
  using Expression = std::variant<Sum, Product>;
  EXPECT_EQ(good<Expression>(R"({"op":"mul","a":2,"b":3})").index(), 1u);
  EXPECT_EQ(json::encode(Expression(Product{{}, 2, 3})), R"({"op":"mul","a":2,"b":3})");
}

TEST(DecodeVariant, InsideEachOther) {
  using Inner = std::variant<int, std::string>;
  using Outer = std::variant<bool, Inner, std::optional<std::vector<int>>>;
  EXPECT_EQ(good<Outer>("true").index(), 0u);
  EXPECT_EQ(std::get<Inner>(good<Outer>("7")), Inner(7));
  EXPECT_EQ(std::get<Inner>(good<Outer>("\"x\"")), Inner("x"));
  EXPECT_EQ(std::get<2>(good<Outer>("[1]")), std::vector{1});
  EXPECT_EQ(std::get<2>(good<Outer>("null")), std::nullopt);
  EXPECT_EQ(why<Outer>("1.5"),
            "expected true or false, an integer, a string, an array or null, got 1.5");
}

TEST(DecodeVariant, Mistakes) {
  EXPECT_EQ((why<std::variant<int, std::string>>("null")),
            "expected an integer or a string, got null");
  EXPECT_EQ((why<std::variant<Circle, Square, int>>("[]")),
            "expected an object or an integer, got an array of 0");
  // Where only one alternative is of the right kind, it tells what is wrong.
  EXPECT_EQ((why<std::variant<int, Unit>>("\"warm\"")),
            R"(expected one of "celsius", "kelvin", got "warm")");
  EXPECT_EQ((why<std::vector<std::variant<Circle, int>>>(R"([1,{"radius":"r"}])")),
            R"(/1/radius: expected a number, got "r")");
  EXPECT_EQ(why<std::vector<Shape>>(R"([{"side":"s"}])"),
            R"(/0: expected one of 2 shapes, got an object, which is none of them: )"
            R"(the member "radius" is missing; /side: expected a number, got "s")");
}

TEST(DecodeVariant, RoundTrip) {
  for (const std::string_view text :
       {R"([{"radius":1.5},{"side":2.0,"name":"n"},{"side":1.0}])", "[]"}) {
    EXPECT_EQ(json::encode(good<std::vector<Shape>>(text)), text);
  }
}

// Both take all of what is inside before they miss their own member: every level doubles the work.
struct Left;
struct Right;
using Branch = std::variant<std::unique_ptr<Left>, std::unique_ptr<Right>>;
struct Left {
  std::vector<int> data{};
  std::optional<Branch> next{};
  int left{};
};
struct Right {
  std::vector<int> data{};
  std::optional<Branch> next{};
  int right{};
};

std::string nested(int depth, const std::string& innermost) {
  std::string text = innermost;
  for (int i = 0; i < depth; ++i) text = R"({"data":[],"next":)" + text + "}";
  return text;
}

TEST(DecodeVariant, AHostileNestIsGivenUpSoon) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string message = why<Branch>(nested(100, "{}"));
  EXPECT_NE(message.find("it takes too long to find out which of the possible shapes this is"),
            std::string::npos)
      << message;
  // Few levels, but much to read again and again.
  std::string numbers = "[0";
  for (int i = 0; i < 100'000; ++i) numbers += ",0";
  const std::string large = why<Branch>(nested(20, R"({"data":)" + numbers + "]}"));
  EXPECT_NE(large.find("it takes too long"), std::string::npos) << large.substr(0, 300);
  // Far less than a second; without a bound it would be years.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(DecodeVariant, ADeepNestThatIsGoodIsRead) {
  std::string text = R"({"data":[1],"left":1})";
  for (int i = 0; i < 100; ++i) text = R"({"data":[],"next":)" + text + R"(,"left":1})";
  EXPECT_TRUE(json::decode<Branch>(text));
}

TEST(DecodeVariant, LongListsAreNotTakenForHostile) {
  std::string text = "[";
  for (int i = 0; i < 50'000; ++i) text += R"({"side":1},)";
  text.back() = ']';
  const auto shapes = json::decode<std::variant<int, std::vector<Shape>>>(text);
  ASSERT_TRUE(shapes) << shapes.error().message;
  EXPECT_EQ(std::get<1>(*shapes).size(), 50'000u);

  text = "[";
  for (int i = 0; i < 50'000; ++i) text += "\"\",";
  text.back() = ']';
  using Word = std::variant<Unit, Add, std::string>;
  EXPECT_TRUE((json::decode<std::variant<std::vector<int>, std::vector<Word>>>(text)));
}

struct Note {
  json::Literal<"note"> type{};
  std::string text{};
};
struct Picture {
  json::Literal<"picture"> type{};
  std::string text{};
};
using Part = std::variant<Note, Picture, int>;

TEST(DecodeVariant, ATagSaysWhichShapeIsMeant) {
  EXPECT_EQ(good<Part>(R"({"text":"x","type":"picture"})").index(), 1u);
  // Only the shape that was meant has a say in what is wrong.
  EXPECT_EQ(why<Part>(R"({"text":1,"type":"picture"})"), "/text: expected a string, got 1");
  EXPECT_EQ(why<std::vector<Part>>(R"([{"type":"film"}])"),
            R"(/0/type: expected one of "note", "picture", got "film")");
  EXPECT_EQ(why<Part>(R"({"type":1})"), R"(/type: expected one of "note", "picture", got 1)");
  EXPECT_EQ(why<Part>("{}"), R"(expected one of 2 shapes, got an object, which is none of them: )"
                             R"(the member "type" is missing; the member "type" is missing)");
  EXPECT_NE(why<Part>(R"({"type":"note","type":"picture","text":""})"), "");
}

// Each has an own name for its tag.
struct Named {
  json::Literal<"named"> kind{};
};
TEST(DecodeVariant, TagsMayHaveDifferentNames) {
  using Mixed = std::variant<Note, Named, Circle>;
  EXPECT_EQ(good<Mixed>(R"({"kind":"named"})").index(), 1u);
  EXPECT_EQ(good<Mixed>(R"({"type":"other","kind":"named"})").index(), 1u);
  EXPECT_EQ(good<Mixed>(R"({"type":"circle","kind":"round","radius":1})").index(), 2u);
}

// The same nest, where every level has much text that is taken as it came.
struct RawLeft;
struct RawRight;
using RawBranch = std::variant<std::unique_ptr<RawLeft>, std::unique_ptr<RawRight>>;
struct RawLeft {
  godwit::RawJson data{};
  std::optional<RawBranch> next{};
  int left{};
};
struct RawRight {
  godwit::RawJson data{};
  std::optional<RawBranch> next{};
  int right{};
};

TEST(DecodeVariant, BytesArePartOfTheBudget) {
  std::string text = "{}";
  for (int i = 0; i < 12; ++i) {
    text = R"({"data":")" + std::string(100'000, 'x') + R"(","next":)" + text + "}";
  }
  // 2^12 attempts fit into what is allowed by the number of values, but not by their bytes.
  const std::string message = why<RawBranch>(text);
  EXPECT_NE(message.find("it takes too long"), std::string::npos) << message.substr(0, 300);
}

TEST(DecodeVariant, TheBudgetIsForAllVariantsOfAText) {
  // The first alternative fails on every level, after it has read all of what is inside.
  std::string one = R"({"data":[],"right":1})";
  for (int i = 0; i < 10; ++i) one = R"({"data":[],"next":)" + one + R"(,"right":1})";
  EXPECT_TRUE(json::decode<Branch>(one));
  std::string text = "[" + one;
  for (int i = 0; i < 100; ++i) text += "," + one;
  const std::string message = why<std::vector<Branch>>(text + "]");
  EXPECT_NE(message.find("it takes too long"), std::string::npos) << message.substr(0, 300);
}

TEST(DecodeVariant, OneLongTextIsNotTakenForHostile) {
  const std::string text = R"({"data":")" + std::string(4'000'000, 'x') + R"(","right":1})";
  EXPECT_TRUE(json::decode<RawBranch>(text));
}

}  // namespace
