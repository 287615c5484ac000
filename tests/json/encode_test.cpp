#include "godwit/json/encode.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
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
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "godwit/json/decode.hpp"
#include "godwit/json/value.hpp"

namespace json = godwit::json;

/// Wraps any type: a Codec for a template.
template <class T>
struct Boxed {
  T content{};
};
template <class T>
struct godwit::json::Codec<Boxed<T>> {
  static bool read(View view, Boxed<T>& out, DecodeFailure& failure) {
    return godwit::json::read(view.find("box"), out.content, failure) || failure.inside("box");
  }
  static void write(Writer& writer, const Boxed<T>& boxed) {
    writer.begin_object();
    writer.key("box");
    godwit::json::write(writer, boxed.content);
    writer.end_object();
  }
};

namespace {

enum class Unit { celsius, kelvin };
struct Point {
  int x{};
  int y{};
};

TEST(Encode, Scalars) {
  EXPECT_EQ(json::encode(true), "true");
  EXPECT_EQ(json::encode(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(json::encode(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(json::encode(std::int8_t{-128}), "-128");
  EXPECT_EQ(json::encode(std::uint8_t{255}), "255");
  EXPECT_EQ(json::encode(1.0), "1.0");
  EXPECT_EQ(json::encode(0.1), "0.1");
  EXPECT_EQ(json::encode(std::nan("")), "null");
  EXPECT_EQ(json::encode(std::string("a\"\n")), R"("a\"\n")");
  EXPECT_EQ(json::encode(std::string_view("v")), R"("v")");
  EXPECT_EQ(json::encode("literal"), R"("literal")");
  const char* pointer = "pointer";
  EXPECT_EQ(json::encode(pointer), R"("pointer")");
  EXPECT_EQ(json::encode(Unit::kelvin), R"("kelvin")");
  EXPECT_EQ(json::encode(nullptr), "null");
  EXPECT_EQ(json::encode(std::monostate{}), "null");
}

TEST(Encode, FloatsWithTheirOwnDigits) {
  EXPECT_EQ(json::encode(0.1f), "0.1");
  EXPECT_EQ(json::encode(1.0f), "1.0");
  EXPECT_EQ(json::encode(-0.0f), "-0.0");
  EXPECT_EQ(json::encode(std::numeric_limits<float>::infinity()), "null");
  for (const float value : {0.1f, 1.0f / 3, 3.4028235e38f, 1e-45f, 16777217.0f, -2.5e-7f}) {
    EXPECT_EQ(*json::decode<float>(json::encode(value)), value);
  }
}

TEST(Encode, Containers) {
  EXPECT_EQ(json::encode(std::vector<bool>{true, false}), "[true,false]");
  EXPECT_EQ(json::encode(std::vector<std::vector<int>>{{}, {1}}), "[[],[1]]");
  EXPECT_EQ(json::encode(std::array<int, 2>{1, 2}), "[1,2]");
  EXPECT_EQ(json::encode(std::set<std::string>{"b", "a"}), R"(["a","b"])");
  EXPECT_EQ(json::encode(std::list<Point>{{1, 2}}), R"([{"x":1,"y":2}])");
  EXPECT_EQ(json::encode(std::deque<int>{}), "[]");
  EXPECT_EQ(json::encode(std::map<std::string, int>{{"a\"", 1}}), R"({"a\"":1})");
  EXPECT_EQ(json::encode(std::unordered_map<std::string, Point>{{"p", {}}}),
            R"({"p":{"x":0,"y":0}})");
  EXPECT_EQ(json::encode(std::tuple(1, "two", 3.5)), R"([1,"two",3.5])");
  EXPECT_EQ(json::encode(std::pair(Unit::celsius, false)), R"(["celsius",false])");
  EXPECT_EQ(json::encode(std::tuple<>{}), "[]");
}

TEST(Encode, EmptyOptionalsAreLeftOutOfStructsAndNullElsewhere) {
  struct Holder {
    std::optional<int> a{};
    std::unique_ptr<int> b{};
    std::shared_ptr<Point> c{};
    int d{};
  };
  EXPECT_EQ(json::encode(Holder{}), R"({"d":0})");
  Holder full;
  full.a = 1;
  full.b = std::make_unique<int>(2);
  full.c = std::make_shared<Point>();
  EXPECT_EQ(json::encode(full), R"({"a":1,"b":2,"c":{"x":0,"y":0},"d":0})");
  EXPECT_EQ(json::encode(std::vector<std::optional<int>>{1, {}}), "[1,null]");
  EXPECT_EQ(json::encode(std::optional<int>()), "null");
}

TEST(Encode, Variants) {
  using Any = std::variant<std::monostate, int, std::string, Point>;
  EXPECT_EQ(json::encode(std::vector<Any>{{}, 1, "s", Point{1, 2}}),
            R"([null,1,"s",{"x":1,"y":2}])");
}

TEST(Encode, JsonThatIsJsonAlready) {
  EXPECT_EQ(json::encode(godwit::RawJson{"{ }"}), "{ }");
  EXPECT_EQ(json::encode(godwit::RawJson{}), "null");
  EXPECT_EQ(json::encode(godwit::RawView{"[1]"}), "[1]");
  EXPECT_EQ(json::encode(json::Value(json::Array{1, "a"})), R"([1,"a"])");
  EXPECT_EQ(json::encode(json::Object{{"b", 1}, {"a", json::Object{}}}), R"({"b":1,"a":{}})");
  EXPECT_EQ(json::encode(json::Array{nullptr}), "[null]");
  json::Document document;
  EXPECT_EQ(json::encode(*document.parse(R"( { "a" : 1.50 } )")), R"({"a":1.5})");
}

TEST(Encode, OwnCodecForATemplate) {
  const Boxed<std::vector<Point>> boxed{{{1, 2}}};
  EXPECT_EQ(json::encode(boxed), R"({"box":[{"x":1,"y":2}]})");
  EXPECT_EQ(json::decode<Boxed<std::vector<Point>>>(json::encode(boxed))->content.at(0).y, 2);
  EXPECT_EQ(json::decode<std::vector<Boxed<int>>>(R"([{"box":"x"}])").error().message,
            "/0/box: expected an integer, got \"x\"");
}

TEST(Encode, StringsThatAreNotUtf8AreRepaired) {
  EXPECT_EQ(json::encode(std::string("a\xff")), "\"a\xef\xbf\xbd\"");
}

struct Everything {
  std::string text{};
  bool flag{};
  std::int8_t i8{};
  std::uint64_t u64{};
  float single{};
  double real{};
  Unit unit{};
  std::optional<Point> point{};
  std::unique_ptr<int> unique{};
  std::vector<std::optional<int>> list{};
  std::array<Point, 1> fixed{};
  std::map<std::string, std::vector<Unit>> map{};
  std::variant<int, std::string, Point> variant{};
  std::tuple<int, std::string> tuple{};
  std::nullptr_t nothing{};
  json::Value value{};
  godwit::RawJson raw{};
};

TEST(Encode, WhatWasDecodedIsWrittenTheSame) {
  for (const std::string_view text :
       {R"({"text":"ä\u0000","flag":true,"i8":-128,"u64":18446744073709551615,"single":0.1,)"
        R"("real":-0.0,"unit":"kelvin","point":{"x":1,"y":-2},"unique":5,"list":[1,null],)"
        R"("fixed":[{"x":0,"y":0}],"map":{"a":["celsius"],"b":[]},"variant":{"x":3,"y":4},)"
        R"("tuple":[1,"t"],"nothing":null,"value":{"z":[1,1.5],"a":123456789012345678901},)"
        R"("raw":{"k" : [ ]}})",
        R"({"text":"","flag":false,"i8":0,"u64":0,"single":1e-45,"real":5e-324,"unit":"celsius",)"
        R"("list":[],"fixed":[{"x":9,"y":9}],"map":{},"variant":"v","tuple":[0,""],)"
        R"("nothing":null,"value":null,"raw":null})"}) {
    const auto decoded = json::decode<Everything>(text);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(json::encode(*decoded), text);
  }
}

}  // namespace
