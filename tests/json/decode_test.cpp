#include "godwit/json/decode.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "godwit/json/encode.hpp"
#include "godwit/json/value.hpp"

namespace json = godwit::json;

/// A type of the program with a JSON form of its own.
struct Date {
  int year = 0;
  int month = 0;
  bool operator==(const Date&) const = default;
};
template <>
struct godwit::json::Codec<Date> {
  static bool read(View view, Date& out, DecodeFailure& failure) {
    const auto text = view.as_string();
    if (!text || text->size() != 7 || (*text)[4] != '-') {
      return failure.expected("a month such as \"1999-12\"", view);
    }
    out.year = std::stoi(std::string(text->substr(0, 4)));
    out.month = std::stoi(std::string(text->substr(5)));
    return out.month >= 1 && out.month <= 12;  // no word about why not
  }
  static void write(Writer& writer, const Date& date) {
    writer.value(std::to_string(date.year) + (date.month < 10 ? "-0" : "-") +
                 std::to_string(date.month));
  }
};

namespace {

template <class T>
T good(std::string_view text) {
  auto result = json::decode<T>(text);
  EXPECT_TRUE(result) << text << ": " << (result ? "" : result.error().message);
  if (!result) return T{};
  return *std::move(result);
}

/// The message of the error; empty if there is none.
template <class T>
std::string why(std::string_view text) {
  const auto result = json::decode<T>(text);
  return result ? "" : result.error().message;
}

template <class T>
struct Integers : testing::Test {};
using IntegerTypes = testing::Types<signed char, unsigned char, short, unsigned short, int,
                                    unsigned, long, unsigned long, long long, unsigned long long>;
TYPED_TEST_SUITE(Integers, IntegerTypes);

/// One more than a decimal integer of any size, in absolute value.
std::string beyond(std::string digits) {
  for (std::size_t i = digits.size(); i-- > 0 && digits[i] != '-';) {
    if (digits[i] != '9') {
      ++digits[i];
      return digits;
    }
    digits[i] = '0';
  }
  return digits.insert(digits[0] == '-' ? 1 : 0, "1");
}

TYPED_TEST(Integers, UpToTheLastValueAndNotBeyond) {
  using Limits = std::numeric_limits<TypeParam>;
  const std::string lowest = std::to_string(Limits::min());
  const std::string highest = std::to_string(Limits::max());
  const std::string range = "expected an integer from " + lowest + " to " + highest + ", got ";
  EXPECT_EQ(good<TypeParam>(lowest), Limits::min());
  EXPECT_EQ(good<TypeParam>(highest), Limits::max());
  EXPECT_EQ(why<TypeParam>(beyond(highest)), range + beyond(highest));
  const std::string below = std::is_signed_v<TypeParam> ? beyond(lowest) : "-1";
  EXPECT_EQ(why<TypeParam>(below), range + below);
  EXPECT_EQ(why<TypeParam>("1e30"), range + "1e+30");
}

TYPED_TEST(Integers, HoweverTheyAreWritten) {
  EXPECT_EQ(good<TypeParam>("1.0"), TypeParam{1});
  EXPECT_EQ(good<TypeParam>("1e2"), TypeParam{100});
  EXPECT_EQ(good<TypeParam>("120e-1"), TypeParam{12});
  EXPECT_EQ(good<TypeParam>("-0"), TypeParam{0});
  EXPECT_EQ(good<TypeParam>("-0.0"), TypeParam{0});
  EXPECT_EQ(why<TypeParam>("1.5"), "expected an integer, got 1.5");
  EXPECT_EQ(why<TypeParam>("\"1\""), "expected an integer, got \"1\"");
  EXPECT_EQ(why<TypeParam>("true"), "expected an integer, got true");
  EXPECT_EQ(why<TypeParam>("null"), "expected an integer, got null");
}

TEST(Decode, Reals) {
  EXPECT_EQ(good<double>("1"), 1.0);
  EXPECT_EQ(good<double>("-2.5e-3"), -2.5e-3);
  EXPECT_EQ(good<double>("18446744073709551616"), 0x1p64);
  EXPECT_EQ(good<float>("0.1"), 0.1f);
  EXPECT_EQ(good<float>("3.4028234663852886e38"), std::numeric_limits<float>::max());
  EXPECT_EQ(why<double>("\"1\""), "expected a number, got \"1\"");
  // Never made infinite.
  EXPECT_EQ(why<float>("1e39"), "expected a number that a float can hold, got 1e+39");
  EXPECT_EQ(why<float>("-1e39"), "expected a number that a float can hold, got -1e+39");
  const std::string digits(400, '9');
  EXPECT_EQ(why<double>(digits),
            "expected a number that a double can hold, got " + digits.substr(0, 60) + "…");
  EXPECT_EQ(why<float>(digits),
            "expected a number that a float can hold, got " + digits.substr(0, 60) + "…");
}

TEST(Decode, ScalarsAndTheirMistakes) {
  EXPECT_TRUE(good<bool>("true"));
  EXPECT_EQ(why<bool>("0"), "expected true or false, got 0");
  EXPECT_EQ(good<std::string>(R"("a\u0000b")"), std::string("a\0b", 3));
  EXPECT_EQ(why<std::string>("{}"), "expected a string, got an object");
  EXPECT_EQ(why<std::string>("[1,2]"), "expected a string, got an array of 2");
  good<std::nullptr_t>("null");
  good<std::monostate>("null");
  EXPECT_EQ(why<std::nullptr_t>("0"), "expected null, got 0");
}

TEST(Decode, Sequences) {
  EXPECT_EQ(good<std::vector<int>>("[1,2,3]"), (std::vector{1, 2, 3}));
  EXPECT_EQ(good<std::vector<bool>>("[true,false]"), (std::vector{true, false}));
  EXPECT_EQ(good<std::list<std::string>>(R"(["a"])"), std::list<std::string>{"a"});
  EXPECT_EQ(good<std::deque<int>>("[1]"), std::deque{1});
  EXPECT_EQ(good<std::set<int>>("[3,1,3]"), (std::set{1, 3}));
  EXPECT_EQ((good<std::array<int, 2>>("[1,2]")), (std::array{1, 2}));
  good<std::array<int, 0>>("[]");
  EXPECT_EQ(good<json::Array>("[1,null]").size(), 2u);
  EXPECT_EQ(why<std::vector<int>>("{}"), "expected an array, got an object");
  EXPECT_EQ(why<std::vector<int>>("[1,2,\"3\"]"), "/2: expected an integer, got \"3\"");
  EXPECT_EQ((why<std::array<int, 2>>("[1]")), "expected an array of 2, got an array of 1");
  EXPECT_EQ((why<std::array<int, 2>>("[1,2,3]")), "expected an array of 2, got an array of 3");
  EXPECT_EQ((why<std::array<int, 2>>("7")), "expected an array of 2, got 7");
}

TEST(Decode, Tuples) {
  EXPECT_EQ((good<std::tuple<int, std::string>>(R"([1,"a"])")), std::tuple(1, "a"));
  EXPECT_EQ((good<std::pair<bool, std::vector<int>>>("[true,[1]]")).second, std::vector{1});
  EXPECT_EQ((why<std::tuple<int, std::string>>("[1]")),
            "expected an array of 2, got an array of 1");
  EXPECT_EQ((why<std::pair<int, std::string>>("[1,2]")), "/1: expected a string, got 2");
}

TEST(Decode, Dictionaries) {
  using Map = std::map<std::string, int>;
  EXPECT_EQ(good<Map>(R"({"a":1,"":2})"), (Map{{"a", 1}, {"", 2}}));
  EXPECT_EQ((good<std::unordered_map<std::string, bool>>(R"({"x":true})")).at("x"), true);
  EXPECT_EQ(why<Map>("[]"), "expected an object, got an array of 0");
  EXPECT_EQ(why<Map>(R"({"a~/b":"x"})"), "/a~0~1b: expected an integer, got \"x\"");
  EXPECT_EQ(why<Map>(R"({"a":1,"\u0061":2})"), R"(the member "a" occurs twice)");
  EXPECT_EQ(good<json::Object>(R"({"b":1,"a":2})").begin()->key, "b");
  EXPECT_EQ(why<json::Object>("[]"), "expected an object, got an array of 0");
}

struct Holder {
  std::optional<int> optional{};
  std::unique_ptr<std::string> unique{};
  std::shared_ptr<const bool> shared{};
};

TEST(Decode, OptionalsAndPointers) {
  const Holder empty = good<Holder>(R"({"optional":null,"unique":null,"shared":null})");
  EXPECT_FALSE(empty.optional || empty.unique || empty.shared);
  EXPECT_FALSE(good<Holder>("{}").optional);
  const Holder full = good<Holder>(R"({"optional":1,"unique":"u","shared":true})");
  EXPECT_EQ(full.optional, 1);
  EXPECT_EQ(*full.unique, "u");
  EXPECT_TRUE(*full.shared);
  EXPECT_EQ(why<Holder>(R"({"unique":1})"), "/unique: expected a string, got 1");
  using Numbers = std::vector<std::optional<int>>;
  EXPECT_EQ(good<Numbers>("[1,null]"), (Numbers{1, std::nullopt}));
}

struct Anything {
  json::Value value{};
  godwit::RawJson raw{};
};

struct Borrowed {
  std::string_view text{};
  godwit::RawView raw{};
  json::View view{};
};

TEST(Decode, JsonThatStaysJson) {
  const Anything any = good<Anything>(R"({"value":{"b":[1.0]},"raw": {"a" : 1e2 } })");
  EXPECT_EQ(any.value["b"][0], json::Value(1));
  EXPECT_EQ(any.raw.text, R"({"a" : 1e2 })");

  json::Document document;
  const auto root = document.parse(R"({"text":"t\n","raw":[ 1 ],"view":{"x":true}})");
  ASSERT_TRUE(root);
  const auto borrowed = json::decode<Borrowed>(*root);
  ASSERT_TRUE(borrowed);
  EXPECT_EQ(borrowed->text, "t\n");
  EXPECT_EQ(borrowed->raw.text, "[ 1 ]");
  EXPECT_EQ(borrowed->view.find("x").as_bool(), true);
  static_assert(json::borrows<Borrowed>);
  static_assert(json::borrows<std::vector<std::optional<Borrowed>>>);
  static_assert(!json::borrows<Anything>);
}

TEST(Decode, FromEveryKindOfText) {
  const std::string owned = "[1]";
  const json::Value value = json::Array{1};
  EXPECT_EQ(json::decode<std::vector<int>>(owned)->size(), 1u);
  EXPECT_EQ(json::decode<std::vector<int>>(std::string_view(owned))->size(), 1u);
  EXPECT_EQ(json::decode<std::vector<int>>("[1]")->size(), 1u);
  EXPECT_EQ(json::decode<std::vector<int>>(value)->size(), 1u);
  EXPECT_EQ(json::decode<std::vector<int>>(owned, {.depth = 1})->size(), 1u);
  EXPECT_EQ(value.get<std::vector<int>>().size(), 1u);
  EXPECT_EQ(json::decode<std::vector<int>>("[1").error().code, -32700);
  try {
    value.get<std::map<std::string, int>>();
    FAIL();
  } catch (const json::TypeError& error) {
    EXPECT_STREQ(error.what(), "godwit: expected an object, got an array of 1");
  }
}

struct Event {
  Date day{};
  std::vector<Date> others{};
};

TEST(Decode, OwnCodec) {
  const Event event = good<Event>(R"({"day":"1999-12","others":["2000-01"]})");
  EXPECT_EQ(event.day, (Date{1999, 12}));
  EXPECT_EQ(event.others.at(0), (Date{2000, 1}));
  EXPECT_EQ(why<Event>(R"({"day":"1999-12","others":["2000-01","x"]})"),
            R"(/others/1: expected a month such as "1999-12", got "x")");
  EXPECT_EQ(why<Event>(R"({"day":"1999-13","others":[]})"), "/day: not valid");
}

enum class Unit { celsius, kelvin };
struct Place {
  double latitude{};
  double longitude{};
  static constexpr godwit::Unknown unknown_members = godwit::Unknown::reject;
};
struct Weather {
  std::string city{};
  Unit unit{};
  int days = 3;
  std::optional<double> confidence{};
  std::string id{};
  std::optional<std::variant<int, std::string>> token{};
  std::vector<Place> places{};

  static constexpr godwit::Field fields[] = {
      {.name = "city", .about = "City to look up", .min_length = 1, .max_length = 4},
      {.name = "days", .minimum = 1, .maximum = 10, .has_default = true},
      {.name = "confidence", .minimum = 0.5},
      {.name = "id", .pattern = "^[a-z]+\\d$", .has_default = true},
      {.name = "token", .maximum = 9, .min_length = 2},
      {.name = "places", .has_default = true}};
};

TEST(Decode, FieldOptions) {
  const Weather plain = good<Weather>(R"({"city":"Oslo","unit":"kelvin"})");
  EXPECT_EQ(plain.days, 3);
  EXPECT_EQ(plain.unit, Unit::kelvin);
  // Lengths are counted in code points: these four are 16 bytes.
  good<Weather>(R"({"city":"🐦🐦🐦🐦","unit":"kelvin","id":"ab1","confidence":null})");
  good<Weather>(R"({"city":"a","unit":"kelvin","days":10,"token":9,"confidence":0.5})");
  good<Weather>(R"({"city":"a","unit":"kelvin","days":1,"token":"99","unknown":{"x":[1]}})");
}

TEST(Decode, SaysWhatIsWrongAndWhere) {
  struct Case {
    std::string_view text;
    std::string_view message;
  };
  const Case cases[] = {
      {R"([])", "expected an object, got an array of 0"},
      {R"(null)", "expected an object, got null"},
      {R"({"unit":"kelvin"})", R"(the member "city" is missing (City to look up))"},
      {R"({"city":"a"})", R"(the member "unit" is missing)"},
      {R"({"city":"a","unit":"warm"})",
       R"(/unit: expected one of "celsius", "kelvin", got "warm")"},
      {R"({"city":"a","unit":1})", R"(/unit: expected one of "celsius", "kelvin", got 1)"},
      {R"({"city":"a","unit":null})", R"(/unit: expected one of "celsius", "kelvin", got null)"},
      {R"({"city":null,"unit":"kelvin"})", "/city: expected a string, got null"},
      {R"({"city":"a","city":"b"})", R"(the member "city" occurs twice)"},
      {R"({"city":"a","unit":"kelvin","days":0})", "/days: expected a number from 1 to 10, got 0"},
      {R"({"city":"a","unit":"kelvin","days":11})",
       "/days: expected a number from 1 to 10, got 11"},
      {R"({"city":"a","unit":"kelvin","days":null})", "/days: expected an integer, got null"},
      {R"({"city":"a","unit":"kelvin","confidence":0.25})",
       "/confidence: expected a number of at least 0.5, got 0.25"},
      {R"({"city":"","unit":"kelvin"})", R"(/city: expected at least 1 character, got "")"},
      {R"({"city":"ääääb","unit":"kelvin"})",
       R"(/city: expected at most 4 characters, got "ääääb")"},
      {R"({"city":"a","unit":"kelvin","id":"A1"})",
       R"(/id: expected text that matches ^[a-z]+\d$, got "A1")"},
      {R"({"city":"a","unit":"kelvin","token":10})",
       "/token: expected a number of at most 9, got 10"},
      {R"({"city":"a","unit":"kelvin","token":"x"})",
       R"(/token: expected at least 2 characters, got "x")"},
      {R"({"city":"a","unit":"kelvin","token":true})",
       "/token: expected an integer or a string, got true"},
      {R"({"city":"a","unit":"kelvin","places":[{"latitude":1,"longitude":2},{"latitude":1}]})",
       R"(/places/1: the member "longitude" is missing)"},
      {R"({"city":"a","unit":"kelvin","places":[{"latitude":1,"longitude":[{}]}]})",
       "/places/0/longitude: expected a number, got an array of 1"},
      {R"({"city":"a","unit":"kelvin","places":[{"latitude":1,"x/y":2}]})",
       R"(/places/0: unknown member "x/y"; expected only "latitude", "longitude")"},
  };
  for (const Case& one : cases) EXPECT_EQ(why<Weather>(one.text), one.message) << one.text;

  const auto error = json::decode<Weather>(R"({"city":"a","unit":"warm"})").error();
  EXPECT_EQ(error.code, -32602);
  EXPECT_EQ(error.data, R"({"path":"/unit"})");
}

struct Looking {
  std::string text{};
  static constexpr godwit::Field fields[] = {{.name = "text", .pattern = "a(?=b)"}};
};

TEST(DecodeDeathTest, APatternThatCannotBeUsedEndsTheProgram) {
  EXPECT_DEATH(static_cast<void>(json::decode<Looking>(R"({"text":"ab"})")),
               "godwit: the pattern .* of a Field cannot be used");
}

struct Strict {
  static constexpr godwit::Unknown unknown_members = godwit::Unknown::reject;
};

TEST(Decode, LongValuesAreCutBetweenCharacters) {
  const std::string bird = "🐦";  // four bytes
  std::string text = "a";
  for (int i = 0; i < 30; ++i) text += bird;
  std::string shown = "a";
  for (int i = 0; i < 14; ++i) shown += bird;
  EXPECT_EQ(why<int>(json::quote(text)), "expected an integer, got \"" + shown + "\"… (121 bytes)");

  for (int i = 14; i < 24; ++i) shown += bird;
  EXPECT_EQ(why<Strict>("{" + json::quote(text) + ":1}"),
            "unknown member \"" + shown + "\"…; none is expected");
  EXPECT_EQ((why<std::map<std::string, int>>("{" + json::quote(text) + ":1," + json::quote(text) +
                                             ":1}")),
            "the member \"" + shown + "\"… occurs twice");
}

struct Exact {
  std::int64_t n{};
  json::Value any{};
  static constexpr godwit::Field fields[] = {{.name = "n", .maximum = 9007199254740992.0},
                                             {.name = "any", .maximum = 5, .has_default = true}};
};

TEST(Decode, BoundsAreExactBeyondDoubles) {
  EXPECT_EQ(why<Exact>(R"({"n":9007199254740992})"), "");
  EXPECT_EQ(why<Exact>(R"({"n":9007199254740993})"),
            "/n: expected a number of at most 9007199254740992, got 9007199254740993");
  EXPECT_NE(why<Exact>(R"({"n":1,"any":1)" + std::string(400, '0') + "}"), "");
  EXPECT_EQ(why<Exact>(R"({"n":1,"any":-1)" + std::string(400, '0') + "}"), "");
}

}  // namespace
