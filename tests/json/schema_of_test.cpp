#include "godwit/json/schema_of.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
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

#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/json/schema.hpp"
#include "godwit/json/value.hpp"

namespace json = godwit::json;

struct Percent {
  int value = 0;
};
template <>
struct godwit::json::Codec<Percent> {
  static bool read(View view, Percent& out, DecodeFailure& failure) {
    const auto text = view.as_string();
    if (!text || text->size() < 2 || text->back() != '%' ||
        text->substr(0, text->size() - 1).find_first_not_of("0123456789") != text->npos) {
      return failure.expected("a percentage such as \"5%\"", view);
    }
    out.value = std::stoi(std::string(text->substr(0, 4)));
    return true;
  }
  static void write(Writer& writer, const Percent& percent) {
    writer.value(std::to_string(percent.value) + "%");
  }
  static Value schema() { return Object{{"type", "string"}, {"pattern", "^[0-9]+%$"}}; }
};

namespace one {
struct Item {
  int a{};
};
struct Item2 {
  int c{};
};
}  // namespace one
namespace two {
struct Item {
  int b{};
};
}  // namespace two

namespace {

template <class T>
std::string schema() {
  return json::schema_of<T>().dump();
}

enum class Unit { celsius, kelvin };

TEST(SchemaOf, Scalars) {
  EXPECT_EQ(schema<bool>(), R"({"type":"boolean"})");
  EXPECT_EQ(schema<int>(), R"({"type":"integer"})");
  EXPECT_EQ(schema<std::int64_t>(), R"({"type":"integer"})");
  EXPECT_EQ(schema<unsigned>(), R"({"type":"integer","minimum":0})");
  EXPECT_EQ(schema<std::uint64_t>(), R"({"type":"integer","minimum":0})");
  EXPECT_EQ(schema<std::uint8_t>(), R"({"type":"integer","minimum":0,"maximum":255})");
  EXPECT_EQ(schema<std::int16_t>(), R"({"type":"integer","minimum":-32768,"maximum":32767})");
  EXPECT_EQ(schema<float>(), R"({"type":"number"})");
  EXPECT_EQ(schema<double>(), R"({"type":"number"})");
  EXPECT_EQ(schema<std::string>(), R"({"type":"string"})");
  EXPECT_EQ(schema<std::string_view>(), R"({"type":"string"})");
  EXPECT_EQ(schema<Unit>(), R"({"type":"string","enum":["celsius","kelvin"]})");
  EXPECT_EQ(schema<std::nullptr_t>(), R"({"type":"null"})");
  EXPECT_EQ(schema<std::monostate>(), R"({"type":"null"})");
}

TEST(SchemaOf, AnyJson) {
  EXPECT_EQ(schema<json::Value>(), "{}");
  EXPECT_EQ(schema<godwit::RawJson>(), "{}");
  EXPECT_EQ(schema<godwit::RawView>(), "{}");
  EXPECT_EQ(schema<json::View>(), "{}");
  EXPECT_EQ(schema<json::Object>(), R"({"type":"object"})");
  EXPECT_EQ(schema<json::Array>(), R"({"type":"array","items":{}})");
}

TEST(SchemaOf, Containers) {
  EXPECT_EQ(schema<std::vector<int>>(), R"({"type":"array","items":{"type":"integer"}})");
  EXPECT_EQ(schema<std::set<bool>>(), R"({"type":"array","items":{"type":"boolean"}})");
  EXPECT_EQ((schema<std::array<bool, 3>>()),
            R"({"type":"array","items":{"type":"boolean"},"minItems":3,"maxItems":3})");
  EXPECT_EQ((schema<std::map<std::string, double>>()),
            R"({"type":"object","additionalProperties":{"type":"number"}})");
  EXPECT_EQ((schema<std::tuple<int, std::string>>()),
            R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],)"
            R"("minItems":2,"maxItems":2})");
  EXPECT_EQ((schema<std::variant<std::monostate, int, std::vector<bool>>>()),
            R"({"anyOf":[{"type":"null"},{"type":"integer"},)"
            R"({"type":"array","items":{"type":"boolean"}}]})");
  EXPECT_EQ(schema<Percent>(), R"({"type":"string","pattern":"^[0-9]+%$"})");
}

TEST(SchemaOf, OptionalsAreNullWhereTheyCannotBeLeftOut) {
  EXPECT_EQ(schema<std::vector<std::optional<int>>>(),
            R"({"type":"array","items":{"anyOf":[{"type":"integer"},{"type":"null"}]}})");
  EXPECT_EQ(schema<std::optional<json::Value>>(), "{}");
}

struct Place {
  double latitude{};
  static constexpr godwit::Unknown unknown_members = godwit::Unknown::reject;
};

struct Weather {
  std::string city{};
  std::optional<int> days{};
  Unit unit = Unit::kelvin;
  std::uint8_t level{};
  std::unique_ptr<Place> place{};
  std::string klass{};

  static constexpr godwit::Field fields[] = {
      {.name = "city", .about = "City", .min_length = 1, .max_length = 80, .pattern = "^[A-Z]"},
      {.name = "days", .about = "How far ahead", .minimum = 1, .maximum = 10.5},
      {.name = "unit", .has_default = true},
      {.name = "level", .minimum = -3, .maximum = 9},
      {.name = "klass", .rename = "class"}};
};

TEST(SchemaOf, Structs) {
  EXPECT_EQ(
      schema<Weather>(),
      R"({"type":"object","properties":{)"
      R"("city":{"type":"string","description":"City","minLength":1,"maxLength":80,"pattern":"^[A-Z]"},)"
      R"("days":{"type":"integer","description":"How far ahead","minimum":1,"maximum":10.5},)"
      R"("unit":{"type":"string","enum":["celsius","kelvin"],"default":"kelvin"},)"
      R"("level":{"type":"integer","minimum":0,"maximum":9},)"
      R"("place":{"type":"object","properties":{"latitude":{"type":"number"}},)"
      R"("required":["latitude"],"additionalProperties":false},)"
      R"("class":{"type":"string"}},)"
      R"("required":["city","level","class"]})");
  struct Empty {};
  EXPECT_EQ(schema<Empty>(), R"({"type":"object","properties":{}})");
}

struct Link {
  std::string url{};
  int region{};
  static constexpr godwit::Field fields[] = {
      {.name = "url", .about = "Where", .schema = R"({"format":"uri","examples":["x:1"]})"},
      {.name = "region", .schema = R"({"x-mcp-header":"Region","minimum":0})"}};
};
struct BadText {
  int n{};
  static constexpr godwit::Field fields[] = {{.name = "n", .schema = R"("format":"uri")"}};
};
struct BadShape {
  int n{};
  static constexpr godwit::Field fields[] = {{.name = "n", .schema = "[]"}};
};

TEST(SchemaOf, WhatTheProgramAdds) {
  const std::string got = schema<Link>();
  EXPECT_NE(
      got.find(
          R"("url":{"type":"string","description":"Where","format":"uri","examples":["x:1"]})"),
      got.npos)
      << got;
  EXPECT_NE(got.find(R"("x-mcp-header":"Region")"), got.npos) << got;
  EXPECT_NE(got.find(R"("minimum":0)"), got.npos) << got;
  EXPECT_THROW(schema<BadText>(), std::invalid_argument);
  EXPECT_THROW(schema<BadShape>(), std::invalid_argument);
}

struct Pair {
  Place from{};
  std::optional<Place> to{};
};

TEST(SchemaOf, RepeatedStructsGoToDefs) {
  EXPECT_EQ(schema<Pair>(),
            R"({"type":"object","properties":{"from":{"$ref":"#/$defs/Place"},)"
            R"("to":{"$ref":"#/$defs/Place"}},"required":["from"],)"
            R"("$defs":{"Place":{"type":"object","properties":{"latitude":{"type":"number"}},)"
            R"("required":["latitude"],"additionalProperties":false}}})");
}

struct Node {
  int n{};
  std::vector<Node> children{};
  std::unique_ptr<Node> next{};
};

TEST(SchemaOf, RecursiveStructs) {
  EXPECT_EQ(schema<Node>(),
            R"({"type":"object","properties":{"n":{"type":"integer"},)"
            R"("children":{"type":"array","items":{"$ref":"#"}},"next":{"$ref":"#"}},)"
            R"("required":["n","children"]})");
  EXPECT_EQ(schema<std::vector<Node>>(),
            R"({"type":"array","items":{"$ref":"#/$defs/Node"},"$defs":{"Node":)"
            R"({"type":"object","properties":{"n":{"type":"integer"},)"
            R"("children":{"type":"array","items":{"$ref":"#/$defs/Node"}},)"
            R"("next":{"$ref":"#/$defs/Node"}},"required":["n","children"]}}})");
}

TEST(SchemaOf, TypesOfOneNameAreKeptApart) {
  using All = std::tuple<one::Item, one::Item, two::Item, two::Item, one::Item2, one::Item2>;
  const json::Value all = json::schema_of<All>();
  EXPECT_EQ(all["$defs"].size(), 3u);
  const auto member = [&](std::size_t position) {
    const std::string ref = all["prefixItems"][position]["$ref"].get<std::string>();
    return all.pointer(ref.substr(1))->pointer("/required/0")->get<std::string>();
  };
  EXPECT_EQ(member(0), "a");
  EXPECT_EQ(member(2), "b");
  EXPECT_EQ(member(4), "c");
}

// Agreement. Every text is tried on every type: what the codec writes the schema must accept, and
// what the codec refuses the schema must refuse.
constexpr std::string_view texts[] = {
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1",
    "5",
    "255",
    "256",
    "-129",
    "32768",
    "1.0",
    "1.5",
    "1e2",
    "\"\"",
    "\"a\"",
    "\"Oslo\"",
    "\"ÖÖÖÖÖ\"",
    "\"kelvin\"",
    "\"warm\"",
    "\"5%\"",
    "[]",
    "[1]",
    "[1,2]",
    "[1,2,3]",
    "[null,1]",
    "[\"a\"]",
    "[1,\"a\"]",
    "[true,false]",
    "[[1],[]]",
    "[{\"n\":1,\"children\":[]}]",
    "{}",
    R"({"a":1})",
    R"({"a":"x"})",
    R"({"latitude":1})",
    R"({"latitude":"x"})",
    R"({"latitude":1,"more":2})",
    R"({"n":1,"children":[]})",
    R"({"n":1,"children":[{"n":2,"children":[]}],"next":{"n":3,"children":[]}})",
    R"({"n":1,"children":[{"n":2}]})",
    R"({"n":1,"children":[],"next":null})",
    R"({"from":{"latitude":1}})",
    R"({"from":{"latitude":1},"to":{"latitude":2}})",
    R"({"from":{"latitude":1},"to":{"x":2}})",
    R"({"radius":1})",
    R"({"side":2})",
    R"({"radius":"1","side":"2"})",
    R"({"city":"Oslo","level":3,"class":"c"})",
    R"({"city":"Oslo","level":10,"class":"c"})",
    R"({"city":"oslo","level":3,"class":"c"})",
    R"({"city":"","level":3,"class":"c"})",
    R"({"city":"Oslo","level":-1,"class":"c"})",
    R"({"city":"Oslo","level":3,"class":"c","days":10,"unit":"celsius"})",
    R"({"city":"Oslo","level":3,"class":"c","days":11})",
    R"({"city":"Oslo","level":3,"class":"c","days":0})",
    R"({"city":"Oslo","level":3,"class":"c","unit":"warm"})",
    R"({"city":"Oslo","level":3,"class":"c","place":{"latitude":1,"more":2}})",
    R"({"city":"Oslo","level":3,"class":"c","place":{"latitude":1}})",
    R"({"city":"Oslo","level":3})"};

struct Circle {
  double radius{};
};
struct Square {
  double side{};
};

template <class T>
struct Agreement : testing::Test {};
using Types = testing::Types<
    bool, int, std::uint8_t, std::int8_t, std::int16_t, unsigned, double, float, std::string, Unit,
    std::nullptr_t, std::optional<int>, std::vector<int>, std::vector<bool>, std::list<std::string>,
    std::vector<std::optional<int>>, std::set<int>, std::array<int, 2>, std::pair<int, std::string>,
    std::map<std::string, int>, std::unordered_map<std::string, std::optional<int>>,
    std::variant<int, std::string>, std::variant<Circle, Square, std::vector<std::vector<int>>>,
    std::variant<std::monostate, Node>, json::Value, godwit::RawJson, json::Object, json::Array,
    Percent, Place, Pair, Node, std::vector<Node>, Weather, Circle>;
TYPED_TEST_SUITE(Agreement, Types);

TYPED_TEST(Agreement, BetweenSchemaAndCodec) {
  const json::Value described = json::schema_of<TypeParam>();
  const auto compiled = json::Schema::compile(described);
  ASSERT_TRUE(compiled) << compiled.error().message << "\n" << described.dump();
  int accepted = 0;
  for (const std::string_view text : texts) {
    const json::Value value = *json::parse(text);
    const auto decoded = json::decode<TypeParam>(text);
    if (decoded) {
      ++accepted;
      const std::string written = json::encode(*decoded);
      EXPECT_TRUE(compiled->valid(*json::parse(written)))
          << written << "\n"
          << described.dump() << "\n"
          << compiled->validate(*json::parse(written)).text();
    } else {
      EXPECT_FALSE(compiled->valid(value)) << text << "\n" << described.dump();
    }
  }
  EXPECT_GT(accepted, 0);
}

// The schema itself is good JSON Schema.
TYPED_TEST(Agreement, WithTheMetaschema) {
  const auto meta =
      json::Schema::compile(json::Object{{"$ref", "https://json-schema.org/draft/2020-12/schema"}});
  ASSERT_TRUE(meta) << meta.error().message;
  const json::Validation validation = meta->validate(json::schema_of<TypeParam>());
  EXPECT_TRUE(validation) << validation.text();
}

}  // namespace
