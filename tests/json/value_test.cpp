#include "godwit/json/value.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace godwit::inline v0::json {
namespace {

using namespace std::string_literals;

TEST(Value, BuildsFromPlainThings) {
  EXPECT_TRUE(Value().is_null());
  EXPECT_TRUE(Value(nullptr).is_null());
  EXPECT_EQ(Value(true).dump(), "true");
  EXPECT_EQ(Value(7).dump(), "7");
  EXPECT_EQ(Value(std::int8_t{-8}).dump(), "-8");
  EXPECT_EQ(Value(std::uint8_t{200}).dump(), "200");
  EXPECT_EQ(Value(std::numeric_limits<std::int64_t>::min()).dump(), "-9223372036854775808");
  EXPECT_EQ(Value(std::numeric_limits<std::uint64_t>::max()).dump(), "18446744073709551615");
  EXPECT_EQ(Value(1.5f).dump(), "1.5");
  EXPECT_EQ(Value(2.0).dump(), "2.0");
  EXPECT_EQ(Value("text").dump(), R"("text")");
  EXPECT_EQ(Value("text"s).dump(), R"("text")");
  EXPECT_EQ(Value(std::string_view("text")).dump(), R"("text")");
  EXPECT_EQ(Value(Array{}).dump(), "[]");
  EXPECT_EQ(Value(Object{}).dump(), "{}");
}

TEST(Value, BuildsNested) {
  Value v = Object{{"name", "godwit"}, {"legs", 2}, {"tags", Array{"bird", 7.5, nullptr, true}}};
  v["home"]["country"] = "NZ";
  v["list"].push_back(1);
  v["list"].push_back(Object{{"x", Array{}}});
  EXPECT_EQ(v.dump(),
            R"({"name":"godwit","legs":2,"tags":["bird",7.5,null,true],"home":{"country":"NZ"},)"
            R"("list":[1,{"x":[]}]})");
  EXPECT_EQ(v.size(), 5u);
  EXPECT_FALSE(v.empty());
  // One array in another stays two, on every compiler.
  EXPECT_EQ(Value(Array{Array{1, 2}, Array{}}).dump(), "[[1,2],[]]");
  EXPECT_EQ(Value(Array{Value(Array{1})}).dump(), "[[1]]");
  // A name given twice: the last one wins, at the place of the first.
  EXPECT_EQ(Value(Object{{"a", 1}, {"b", 2}, {"a", 3}}).dump(), R"({"a":3,"b":2})");
}

TEST(Value, ReadsThroughMissingParts) {
  const Value v = *parse(R"({"a":{"b":[10,20]},"n":null})");
  EXPECT_EQ(v["a"]["b"][1], 20);
  EXPECT_EQ(v["a"]["b"].size(), 2u);
  EXPECT_TRUE(v["a"]["b"][2].is_null());
  EXPECT_TRUE(v["a"]["b"][-1].is_null());
  EXPECT_TRUE(v["x"]["y"][3]["z"].is_null());
  EXPECT_TRUE(v["a"]["b"]["c"].is_null());
  EXPECT_TRUE(v[0].is_null());
  EXPECT_TRUE(v.contains("n"));
  EXPECT_FALSE(v.contains("x"));
  EXPECT_FALSE(v["a"]["b"].contains("x"));
}

TEST(Value, WritingThroughTheWrongTypeThrows) {
  Value number = 7;
  EXPECT_THROW(number["a"] = 1, TypeError);
  EXPECT_THROW(number.push_back(1), TypeError);
  EXPECT_THROW(number[0] = 1, TypeError);
  Value list = Array{1, 2};
  list[1] = "two";
  EXPECT_EQ(list.dump(), R"([1,"two"])");
  EXPECT_THROW(list["a"] = 1, TypeError);
  try {
    list[2] = 1;
    ADD_FAILURE();
  } catch (const TypeError& error) {
    EXPECT_STREQ(error.what(), "godwit: there is no item 2 in an array of 2");
  }
  Value object = Object{};
  EXPECT_THROW(object.push_back(1), TypeError);
  EXPECT_EQ(number, 7);
}

TEST(Value, Get) {
  const Value v =
      *parse(R"({"b":true,"i":-5,"u":300,"r":1.5,"w":2.0,"s":"x","max":18446744073709551615,)"
             R"("big":123456789012345678901234567890,"far":1e300})");
  EXPECT_TRUE(v["b"].get<bool>());
  EXPECT_EQ(v["i"].get<int>(), -5);
  EXPECT_EQ(v["i"].get<std::int8_t>(), -5);
  EXPECT_EQ(v["u"].get<std::uint16_t>(), 300);
  EXPECT_EQ(v["w"].get<int>(), 2);
  EXPECT_EQ(v["r"].get<double>(), 1.5);
  EXPECT_EQ(v["r"].get<float>(), 1.5f);
  EXPECT_EQ(v["i"].get<double>(), -5.0);
  EXPECT_EQ(v["s"].get<std::string>(), "x");
  EXPECT_EQ(v["s"].get<std::string_view>(), "x");
  EXPECT_EQ(v["max"].get<std::uint64_t>(), UINT64_MAX);
  EXPECT_EQ(v["big"].get<double>(), 123456789012345678901234567890.0);
  EXPECT_EQ(v["u"].get<Value>(), 300);

  EXPECT_THROW(v["u"].get<std::uint8_t>(), TypeError);
  EXPECT_THROW(v["u"].get<std::int8_t>(), TypeError);
  EXPECT_THROW(v["i"].get<unsigned>(), TypeError);
  EXPECT_THROW(v["r"].get<int>(), TypeError);
  EXPECT_THROW(v["max"].get<std::int64_t>(), TypeError);
  EXPECT_THROW(v["big"].get<std::uint64_t>(), TypeError);
  EXPECT_THROW(v["far"].get<float>(), TypeError);
  EXPECT_THROW(v["far"].get<std::int64_t>(), TypeError);
  EXPECT_THROW(v["i"].get<bool>(), TypeError);
  EXPECT_THROW(v["b"].get<int>(), TypeError);
  EXPECT_THROW(v["i"].get<std::string>(), TypeError);
  EXPECT_THROW(v["s"].get<int>(), TypeError);
  EXPECT_THROW(v["none"].get<int>(), TypeError);
  try {
    (void)v["s"].get<int>();
    ADD_FAILURE();
  } catch (const TypeError& error) {
    EXPECT_STREQ(error.what(), "godwit: expected an integer in range, got string \"x\"");
  }
  // What only a Value built here can hold passes as it is.
  EXPECT_TRUE(std::isnan(Value(std::nan("")).get<float>()));
  EXPECT_TRUE(std::isinf(Value(HUGE_VAL).get<float>()));
}

TEST(Value, PointerExamplesOfRfc6901) {
  Value v = *parse(R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,)"
                   R"("k\"l":6," ":7,"m~n":8})");
  EXPECT_EQ(v.pointer(""), &v);
  const std::pair<std::string_view, Value> table[] = {{"/foo", Array{"bar", "baz"}},
                                                      {"/foo/0", "bar"},
                                                      {"/", 0},
                                                      {"/a~1b", 1},
                                                      {"/c%d", 2},
                                                      {"/e^f", 3},
                                                      {"/g|h", 4},
                                                      {"/i\\j", 5},
                                                      {"/k\"l", 6},
                                                      {"/ ", 7},
                                                      {"/m~0n", 8}};
  for (const auto& [path, expected] : table) {
    SCOPED_TRACE(path);
    ASSERT_NE(v.pointer(path), nullptr);
    EXPECT_EQ(*v.pointer(path), expected);
  }
  for (const std::string_view path :
       {"foo", "/foo/2", "/foo/-", "/foo/-1", "/foo/00", "/foo/01", "/foo/+1", "/foo/0x", "/foo/ 0",
        "/foo/", "/foo/0/", "/foo/99999999999999999999", "/m~n", "/m~", "/m~2n", "//", "/nothing",
        "/foo/0/x", " "}) {
    EXPECT_EQ(v.pointer(path), nullptr) << path;
  }
  const Value tricky = Object{{"~1", 1}, {"/", 2}, {"a", Object{{"", Array{3}}}}};
  EXPECT_EQ(*tricky.pointer("/~01"), 1);
  EXPECT_EQ(*tricky.pointer("/~1"), 2);
  EXPECT_EQ(*tricky.pointer("/a//0"), 3);
  *v.pointer("/foo/1") = 5;
  EXPECT_EQ(v["foo"][1], 5);
}

TEST(Value, NumbersAreEqualByValueAndExactly) {
  const auto equal = [](std::string_view a, std::string_view b) {
    const Value x = *parse(a);
    const Value y = *parse(b);
    EXPECT_EQ(x == y, y == x) << a << " " << b;
    return x == y;
  };
  EXPECT_TRUE(equal("1", "1.0"));
  EXPECT_TRUE(equal("100", "1e2"));
  EXPECT_TRUE(equal("0", "-0"));
  EXPECT_TRUE(equal("0", "-0.0"));
  EXPECT_FALSE(equal("1", "1.5"));
  EXPECT_FALSE(equal("-1", "18446744073709551615"));
  EXPECT_TRUE(equal("9007199254740992", "9007199254740992.0"));
  EXPECT_FALSE(equal("9007199254740993", "9007199254740992.0"));  // 2^53+1 is no double
  EXPECT_FALSE(equal("9007199254740993", "9007199254740992"));
  EXPECT_TRUE(equal("9223372036854775808", "9223372036854775808.0"));
  EXPECT_FALSE(equal("9223372036854775807", "9223372036854775808.0"));
  EXPECT_TRUE(equal("-9223372036854775808", "-9223372036854775808.0"));
  EXPECT_FALSE(equal("18446744073709551615", "18446744073709551616.0"));
  EXPECT_TRUE(equal("18446744073709551615", "18446744073709551615"));
  EXPECT_TRUE(equal("18446744073709551616", "18446744073709551616.0"));
  EXPECT_TRUE(equal("18446744073709551616", "18446744073709551616"));
  EXPECT_FALSE(equal("18446744073709551616", "18446744073709551617"));
  EXPECT_FALSE(equal("18446744073709551617", "18446744073709551616.0"));
  EXPECT_FALSE(equal("18446744073709551616", "18446744073709551615"));
  EXPECT_TRUE(equal("100000000000000000000", "1e20"));
  EXPECT_TRUE(equal("-100000000000000000000", "-1e20"));
  EXPECT_FALSE(equal("100000000000000000001", "1e20"));
  EXPECT_FALSE(equal("100000000000000000000", "-1e20"));
  EXPECT_FALSE(equal("18446744073709551616", "0.5"));
  EXPECT_FALSE(equal("1" + std::string(400, '0'), "1e300"));
  EXPECT_NE(Value(std::nan("")), Value(std::nan("")));
  EXPECT_NE(*parse("18446744073709551616"), Value(HUGE_VAL));
}

TEST(Value, EqualityOfTheRest) {
  EXPECT_EQ(*parse(R"({"a":1,"b":[true,null]})"), *parse(R"({"b":[true,null],"a":1.0})"));
  EXPECT_NE(*parse(R"({"a":1})"), *parse(R"({"a":1,"b":null})"));
  EXPECT_NE(*parse(R"({"a":1,"b":2})"), *parse(R"({"a":1,"c":2})"));
  EXPECT_NE(*parse("[1,2]"), *parse("[2,1]"));
  EXPECT_NE(Value(1), Value("1"));
  EXPECT_NE(Value(1), Value(true));
  EXPECT_NE(Value(), Value(false));
  EXPECT_NE(Value(Array{}), Value(Object{}));
  Object forward;
  Object backward;
  for (int i = 0; i < 100; ++i) forward.set(std::to_string(i), i);
  for (int i = 100; i-- > 0;) backward.set(std::to_string(i), i);
  EXPECT_EQ(forward, backward);
  backward.set("50", 0);
  EXPECT_NE(forward, backward);
}

TEST(Value, CopiesAndMoves) {
  const Value original = *parse(R"({"a":[1,"x",{"b":12345678901234567890123}]})");
  Value copy = original;
  EXPECT_EQ(copy, original);
  copy["a"][1] = "changed";
  EXPECT_EQ(original["a"][1], "x");

  Value moved = std::move(copy);
  EXPECT_EQ(moved["a"][1], "changed");
  EXPECT_TRUE(copy.is_null());  // NOLINT: a moved-from Value is null
  copy = moved;
  EXPECT_EQ(copy, moved);

  Value& same = copy;
  copy = same;
  EXPECT_EQ(copy, moved);
  copy = std::move(same);
  EXPECT_EQ(copy, moved);
}

TEST(Value, TakesAPartOfItself) {
  const std::string text = R"({"a":{"b":["deep",{"c":1}]},"x":[1,2,3]})";
  Value v = *parse(text);
  v = v["a"];
  EXPECT_EQ(v.dump(), R"({"b":["deep",{"c":1}]})");
  v = std::move(v["b"]);
  EXPECT_EQ(v.dump(), R"(["deep",{"c":1}])");
  v = std::move(v[1]["c"]);
  EXPECT_EQ(v, 1);

  v = *parse(text);
  v["a"] = v;
  EXPECT_EQ(v["a"]["a"]["b"][0], "deep");
  v["x"].push_back(v["x"]);
  EXPECT_EQ(v["x"].dump(), "[1,2,3,[1,2,3]]");
}

TEST(Value, EraseAndSet) {
  Value v = *parse(R"({"a":1,"b":2,"c":3})");
  EXPECT_TRUE(v.erase("b"));
  EXPECT_FALSE(v.erase("b"));
  EXPECT_EQ(v.dump(), R"({"a":1,"c":3})");
  EXPECT_FALSE(Value(1).erase("a"));
  Object& object = *v.as_object();
  object.set("b", 4);
  object.set("a", 5);
  object["d"] = 6;
  EXPECT_EQ(v.dump(), R"({"a":5,"c":3,"b":4,"d":6})");
  EXPECT_EQ(object.find("nothing"), nullptr);
  std::vector<std::string> names;
  for (const Member& member : object) names.push_back(member.key);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "c", "b", "d"}));
}

TEST(Value, PartsAreReachableByType) {
  Value v = *parse(R"([1,{"a":2}])");
  ASSERT_NE(v.as_array(), nullptr);
  EXPECT_EQ(v.as_object(), nullptr);
  v.as_array()->push_back(3);
  EXPECT_EQ(v.size(), 3u);
  const Value& constant = v;
  EXPECT_EQ(constant.as_array()->size(), 3u);
  ASSERT_NE(constant[1].as_object(), nullptr);
  EXPECT_EQ(*constant[1].as_object()->find("a"), 2);
  EXPECT_EQ(Value(1).as_array(), nullptr);
}

TEST(Value, IntegersOfAnySize) {
  EXPECT_EQ(Value::integer("0"), 0);
  EXPECT_EQ(Value::integer("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(Value::integer("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(Value::integer("18446744073709551615").big_integer(), "");
  const Value big = Value::integer("-123456789012345678901234567890");
  EXPECT_TRUE(big.is_number());
  EXPECT_TRUE(big.is_integer());
  EXPECT_EQ(big.big_integer(), "-123456789012345678901234567890");
  EXPECT_EQ(big.dump(), "-123456789012345678901234567890");
  EXPECT_EQ(big, *parse("-123456789012345678901234567890"));
  EXPECT_EQ(Value(big).dump(), big.dump());
  for (const std::string_view bad : {"", "-", "+1", "01", "-01", "1.0", "1e5", " 1", "1 ", "0x1",
                                     "abc", "12345678901234567890123x", "--1"}) {
    EXPECT_THROW(Value::integer(bad), TypeError) << bad;
  }
}

TEST(Value, DumpsPretty) {
  const Value v = *parse(R"({"a":[],"b":{},"c":[1,{"d":"[{,:}]\"\\"}],"e":null})");
  EXPECT_EQ(v.dump({.indent = 2}),
            "{\n"
            "  \"a\": [],\n"
            "  \"b\": {},\n"
            "  \"c\": [\n"
            "    1,\n"
            "    {\n"
            "      \"d\": \"[{,:}]\\\"\\\\\"\n"
            "    }\n"
            "  ],\n"
            "  \"e\": null\n"
            "}");
  EXPECT_EQ(*parse(v.dump({.indent = 4})), v);
  EXPECT_EQ(Value(1).dump({.indent = 2}), "1");
  EXPECT_EQ(Value(Array{}).dump({.indent = 2}), "[]");
}

TEST(Value, MembersKeepTheirOrder) {
  const std::string text = R"({"z":1,"a":2,"m":{"y":1,"b":2}})";
  EXPECT_EQ(parse(text)->dump(), text);
}

TEST(Value, CopiesAView) {
  Value value;
  {
    Document document;
    const auto root = document.parse(R"({"a":[null,true,-1,18446744073709551615,1.5,"x",-0]})");
    ASSERT_TRUE(root);
    value = Value(*root);
    ASSERT_TRUE(document.parse("[0]"));
  }
  EXPECT_EQ(value.dump(), R"({"a":[null,true,-1,18446744073709551615,1.5,"x",-0.0]})");
  EXPECT_TRUE(Value(View()).is_null());
}

TEST(Value, ParseSaysWhereItFailed) {
  const auto result = parse("[1,\n2,,3]");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "line 2, column 3 (byte 6): expected a value, got ','");
}

}  // namespace
}  // namespace godwit::inline v0::json
