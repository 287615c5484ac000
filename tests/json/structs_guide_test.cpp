// The snippets of docs/structs.md, so that they stay true.
#include <gtest/gtest.h>

// clang-format off: as the page shows them
#include <godwit/json.hpp>
namespace json = godwit::json;

namespace plain {
enum class Unit { celsius, kelvin };

struct Weather {
  std::string city{};
  Unit unit{};
  std::optional<int> days{};
};

godwit::Result<Weather> in = json::decode<Weather>(R"({"city":"Oslo","unit":"kelvin"})");
std::string out = json::encode(*in);                    // {"city":"Oslo","unit":"kelvin"}
json::Value schema = json::schema_of<Weather>();
// {"type":"object",
//  "properties":{"city":{"type":"string"},
//                "unit":{"type":"string","enum":["celsius","kelvin"]},
//                "days":{"type":"integer"}},
//  "required":["city","unit"]}

TEST(StructsGuide, AStructIsItsSchema) {
  ASSERT_TRUE(in);
  EXPECT_EQ(out, R"({"city":"Oslo","unit":"kelvin"})");
  EXPECT_EQ(schema, *json::parse(R"({"type":"object",
      "properties":{"city":{"type":"string"},
                    "unit":{"type":"string","enum":["celsius","kelvin"]},
                    "days":{"type":"integer"}},
      "required":["city","unit"]})"));
}
}  // namespace plain

namespace described {
struct Weather {
  std::string city{};
  int days = 3;
  std::string klass{};

  static constexpr godwit::Field fields[] = {
      {"city", "City to look up"},
      {.name = "days", .about = "How far ahead", .minimum = 1, .maximum = 10, .has_default = true},
      {.name = "klass", .rename = "class"}};
  static constexpr godwit::Unknown unknown_members = godwit::Unknown::reject;
};
}  // namespace described

TEST(StructsGuide, FieldsSayMore) {
  const auto weather = json::decode<described::Weather>(R"({"city":"Oslo","class":"fine"})");
  EXPECT_EQ(weather->days, 3);
  EXPECT_EQ(weather->klass, "fine");
  EXPECT_FALSE(json::decode<described::Weather>(R"({"city":"Oslo","class":"fine","x":1})"));
}

struct Foreign {
  std::string klass{};
};
template <>
struct godwit::Describe<Foreign> {
  static constexpr godwit::Field fields[] = {{.name = "klass", .rename = "class"}};
};

TEST(StructsGuide, ForeignStructsAreDescribedFromOutside) {
  EXPECT_EQ(json::encode(Foreign{.klass = "a"}), R"({"class":"a"})");
}

enum class Colour { red, blue };
template <>
struct godwit::json::EnumNames<Colour> {
  static constexpr std::pair<Colour, std::string_view> names[] = {
      {Colour::red, "rouge"},
      {Colour::red, "red"},  // also understood
      {Colour::blue, "bleu"}};
};

TEST(StructsGuide, EnumsMayHaveOtherNames) {
  EXPECT_EQ(json::encode(Colour::red), "\"rouge\"");
  EXPECT_EQ(*json::decode<Colour>("\"red\""), Colour::red);
}

struct Circle { double radius{}; };
struct Square { double side{}; };
using Shape = std::variant<Circle, Square>;              // {"side":2} is a Square

enum class Add { add };
enum class Mul { mul };
struct Sum { Add op{}; int a{}, b{}; };
struct Product { Mul op{}; int a{}, b{}; };              // {"op":"mul","a":2,"b":3}

TEST(StructsGuide, VariantsAreToldApartByShape) {
  EXPECT_TRUE(std::holds_alternative<Square>(*json::decode<Shape>(R"({"side":2})")));
  using Term = std::variant<Sum, Product>;
  EXPECT_TRUE(std::holds_alternative<Product>(*json::decode<Term>(R"({"op":"mul","a":2,"b":3})")));
}

struct Date {
  int year = 0;
  int month = 1;
  std::string text() const {
    return std::to_string(year) + (month < 10 ? "-0" : "-") + std::to_string(month);
  }
};
template <>
struct godwit::json::Codec<Date> {
  static bool read(View view, Date& out, DecodeFailure& failure) {
    const auto text = view.as_string();
    if (!text || text->size() != 7) return failure.expected("a month such as \"1999-12\"", view);
    out.year = std::stoi(std::string(text->substr(0, 4)));
    out.month = std::stoi(std::string(text->substr(5)));
    return true;
  }
  static void write(Writer& writer, const Date& date) { writer.value(date.text()); }
  static Value schema() { return Object{{"type", "string"}}; }   // may be left out: anything
};

TEST(StructsGuide, ATypeMayHaveAFormOfItsOwn) {
  EXPECT_EQ(json::encode(*json::decode<Date>("\"1999-12\"")), "\"1999-12\"");
  EXPECT_EQ(json::decode<Date>("\"soon\"").error().message,
            "expected a month such as \"1999-12\", got \"soon\"");
}
// clang-format on
