// Twice the input, at most two and a half times the steps: for every way JSON is read.
#include "work.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "godwit/json/decode.hpp"
#include "godwit/json/document.hpp"
#include "godwit/json/literal.hpp"
#include "godwit/json/raw_json.hpp"
#include "godwit/json/schema.hpp"
#include "godwit/json/value.hpp"

namespace json = godwit::json;

namespace {

using Make = std::function<std::string(std::size_t)>;

/// [item,item,...]
Make list_of(std::string item) {
  return [item](std::size_t size) {
    std::string text = "[";
    for (std::size_t i = 0; i < size; ++i) text.append(item).push_back(',');
    text.back() = ']';
    return text;
  };
}
/// {"m0":item,"m1":item,...}
Make members_of(std::string item) {
  return [item](std::size_t size) {
    std::string text = "{";
    for (std::size_t i = 0; i < size; ++i) text += "\"m" + std::to_string(i) + "\":" + item + ",";
    text.back() = '}';
    return text;
  };
}

void parse_with(const std::string& text, const json::ParseOptions& options) {
  json::Document document;
  (void)document.parse(text, options);
}

TEST(JsonWork, OfParsing) {
  const auto plain = [](const std::string& text) { parse_with(text, {}); };
  const auto strict = [](const std::string& text) {
    parse_with(
        text,
        {.refuse_duplicates = true, .members = 1'000'000, .items = 1'000'000, .key_bytes = 100});
  };
  expect_linear({
      {"items", list_of("{}"), plain},
      {"items, checked", list_of("{}"), strict},
      {"many members", members_of("1"), plain},
      {"many members, none twice", members_of("1"), strict},
      {"the same name over and over",
       [](std::size_t size) {
         std::string text = "{";
         for (std::size_t i = 0; i < size; ++i) text += "\"a\":1,";
         text.back() = '}';
         return text;
       },
       strict},
      {"objects with a name twice each", list_of(R"({"a":1,"a":1})"), strict},
      {"numbers that only the strict parser takes", list_of("-0"), plain},
      {"numbers beyond 64 bits", list_of("123456789012345678901234567890"), plain},
      {"long runs of digits", [](std::size_t size) { return std::string(size, '1'); }, plain},
      {"strings full of escapes", list_of(R"("\u00e4\n\"\\-0,")"), plain},
      {"text that is cut off", [](std::size_t size) { return std::string(size, '['); },
       [](const std::string& text) { parse_with(text, {.depth = 1'000'000}); }},
  });
}

struct Known {
  std::optional<godwit::RawJson> a{};
  std::optional<int> b{};
};
struct Tagged {
  json::Literal<"tagged"> type{};
  std::optional<godwit::RawJson> a{};
};
struct Other {
  json::Literal<"other"> type{};
  std::optional<godwit::RawJson> a{};
  std::optional<godwit::RawJson> b{};
};
/// Told apart by nothing but what is required, which is seen last.
struct First {
  std::optional<godwit::RawJson> a{};
  std::optional<godwit::RawJson> b{};
  int first{};
};
struct Second {
  std::optional<godwit::RawJson> b{};
  std::optional<godwit::RawJson> a{};
  int second{};
};

struct Last {
  std::optional<godwit::RawJson> b{};
  std::optional<godwit::RawJson> a{};
};
struct FirstValue {
  std::optional<json::Value> a{};
  int first{};
};
struct SecondValue {
  std::optional<json::Value> a{};
  int second{};
};

template <class T>
void decode(const std::string& text) {
  (void)json::decode<T>(text);
}

TEST(JsonWork, OfDecoding) {
  using Untagged = std::variant<First, Second>;
  expect_linear({
      {"structs", list_of(R"({"a":{},"b":1})"), decode<std::vector<Known>>},
      {"a struct among strangers", members_of("1"), decode<Known>},
      {"strings", list_of(R"("x")"), decode<std::vector<std::string>>},
      {"a map", members_of("[1]"), decode<std::map<std::string, std::vector<int>>>},
      {"a map of raw values", members_of("[1]"), decode<std::map<std::string, godwit::RawJson>>},
      {"values", list_of(R"({"a":[1,2]})"), decode<std::vector<json::Value>>},
      {"one value", members_of(R"({"a":[1,2]})"), decode<json::Value>},
      {"variants of scalars", list_of(R"("x")"),
       decode<std::vector<std::variant<int, bool, std::string>>>},
      {"variants by a tag", list_of(R"({"b":{},"a":{},"type":"other"})"),
       decode<std::vector<std::variant<Tagged, Other>>>},
      {"variants by what is missing", list_of(R"({"a":{},"b":{},"second":1})"),
       decode<std::vector<Untagged>>},
      {"a list of variants as a variant", list_of(R"({"a":{},"b":{},"second":1})"),
       decode<std::variant<int, std::vector<Untagged>>>},
      {"variants that all fail but the last", list_of(R"({"a":{},"b":{}})"),
       decode<std::vector<std::variant<First, Second, Last>>>},
      {"variants by a tag that is missing", list_of(R"({"a":{},"b":{}})"),
       decode<std::vector<std::variant<Tagged, Other, Last>>>},
      {"values in variants", list_of(R"({"a":{"x":["a","b"]},"second":1})"),
       decode<std::vector<std::variant<FirstValue, SecondValue>>>},
  });
}

TEST(JsonWork, OfLookingForTheSource) {
  const auto parsed = [](auto ask) {
    return [ask](const std::string& text) {
      json::Document document;
      const auto root = document.parse(text, {.depth = 10'000});
      ASSERT_TRUE(root);
      ask(*root);
    };
  };
  const auto backwards = parsed([](json::View root) {
    std::vector<json::View> views;
    for (json::View item : root.items()) views.push_back(item);
    for (auto it = views.rbegin(); it != views.rend(); ++it) EXPECT_EQ(it->source(), "{}");
  });
  const auto to_and_fro = parsed([](json::View root) {
    std::vector<json::View> views;
    for (json::View item : root.items()) views.push_back(item);
    for (std::size_t i = 0; i < views.size(); ++i) {
      EXPECT_EQ(views[i].source(), "[1,\"x\"]");
      EXPECT_EQ(views[views.size() - 1 - i].source(), "[1,\"x\"]");
    }
  });
  const auto inside_backwards = parsed([](json::View root) {
    (void)root.source();
    for (json::View view = root; view.is_array() && view.size() > 0;) {
      view = view.at(0);
      (void)view.at(1).source();
      (void)view.at(0).type();
    }
  });
  expect_linear({
      {"backwards", list_of("{}"), backwards},
      {"to and fro", list_of(R"([1,"x"])"), to_and_fro},
      {"down a nest, the last item first",
       [](std::size_t size) {
         std::string text = "0";
         for (std::size_t i = 0; i < size / 10; ++i) text = "[" + text + ",true]";
         return text;
       },
       inside_backwards},
  });
}

/// Validates the input; all but the first few steps must be paid from a budget that is high enough.
std::function<void(const std::string&)> by_schema(std::string_view schema) {
  return [schema = std::string(schema)](const std::string& text) {
    const auto compiled = json::Schema::compile(json::parse(schema).value(),
                                                {.assert_formats = true, .steps = 1'000'000'000});
    ASSERT_TRUE(compiled) << compiled.error().message;
    json::Document document;
    const auto root = document.parse(text);
    ASSERT_TRUE(root);
    const auto result = compiled->validate(*root);
    EXPECT_TRUE(result || result.violations().front().keyword != "budget") << schema;
  };
}

/// [item(0),item(1),...]
Make list_by(std::function<std::string(std::size_t)> item) {
  return [item](std::size_t size) {
    std::string text = "[";
    for (std::size_t i = 0; i < size; ++i) text.append(item(i)).push_back(',');
    text.back() = ']';
    return text;
  };
}

TEST(JsonWork, OfValidation) {
  const Make numbers = list_by([](std::size_t i) { return std::to_string(i); });
  const Make objects =
      list_by([](std::size_t i) { return R"({"a":)" + std::to_string(i) + R"(,"b":"x"})"; });
  const Make strings = list_of(R"("2024-02-29T12:00:00Z")");
  expect_linear({
      {"items", numbers, by_schema(R"({"items":{"type":"integer","minimum":0}})")},
      {"items that are all wrong", numbers, by_schema(R"({"items":{"type":"string"}})")},
      {"uniqueItems of numbers", numbers, by_schema(R"({"uniqueItems":true})")},
      {"uniqueItems of objects", objects, by_schema(R"({"uniqueItems":true})")},
      {"uniqueItems of long equal beginnings", list_by([](std::size_t i) {
         return "\"" + std::string(100, 'x') + std::to_string(i) + "\"";
       }),
       by_schema(R"({"uniqueItems":true})")},
      {"contains", numbers, by_schema(R"({"contains":{"const":-1},"minContains":0})")},
      {"a long enum", numbers, by_schema(R"({"items":{"enum":[0,1,2,3,4,5,6,7,8,9]}})")},
      {"an equal constant", members_of("[1]"), by_schema(R"({"const":{}})")},
      {"unevaluatedItems", numbers,
       by_schema(
           R"({"allOf":[{"contains":{"minimum":5}}],"unevaluatedItems":{"type":"integer"}})")},
      {"properties", members_of("1"),
       by_schema(
           R"({"properties":{"m1":{"type":"integer"}},"additionalProperties":{"minimum":0}})")},
      {"required and dependent", members_of("1"),
       by_schema(R"({"required":["m1","m2","none"],"dependentRequired":{"m1":["m5","m7"]}})")},
      {"patternProperties", members_of("1"),
       by_schema(R"({"patternProperties":{"^m[0-9]+$":{"type":"integer"},"9$":true}})")},
      {"propertyNames", members_of("1"), by_schema(R"({"propertyNames":{"pattern":"^m"}})")},
      {"propertyNames by an enum", members_of("1"),
       by_schema(R"({"propertyNames":{"not":{"enum":["x","y"]}}})")},
      {"unevaluatedProperties", members_of("1"),
       by_schema(R"({"anyOf":[{"properties":{"m1":true}},{"properties":{"m2":true}}],)"
                 R"("unevaluatedProperties":{"type":"integer"}})")},
      {"a pattern", strings, by_schema(R"({"items":{"pattern":"^[0-9T:Z-]*$"}})")},
      {"a pattern on one long text",
       [](std::size_t size) { return "\"" + std::string(size, 'a') + "\""; },
       by_schema(R"({"pattern":"^(a+)+b$"})"), 100'000},
      {"a format", strings, by_schema(R"({"items":{"format":"date-time"}})")},
      {"anyOf", objects,
       by_schema(R"({"items":{"anyOf":[{"required":["c"]},{"required":["a","b"]}]}})")},
      {"oneOf", objects,
       by_schema(R"({"items":{"oneOf":[{"required":["c"]},{"required":["a","b"]}]}})")},
      {"if and then", objects,
       by_schema(R"({"items":{"if":{"required":["a"]},"then":{"required":["b"]}}})")},
      {"a schema that refers to itself", list_of("[[[]]]"), by_schema(R"({"items":{"$ref":"#"}})")},
  });
  for (const std::string format :
       {"date-time", "duration", "email", "hostname", "idn-hostname", "ipv4", "ipv6", "iri",
        "json-pointer", "regex", "uri", "uri-reference", "uri-template", "uuid"}) {
    expect_linear({{format + " of one long text",
                    [](std::size_t size) { return "\"x:" + std::string(size, 'a') + "\""; },
                    by_schema(R"({"format":")" + format + "\"}"), 10'000}});
  }
}

/// What a hostile schema costs before anything is validated. Bounded by
/// SchemaOptions::schema_bytes.
TEST(JsonWork, OfManyRefsToManyDefinitions) {
  const auto make = [](std::size_t size) {
    std::string text = R"({"$defs":{)";
    for (std::size_t i = 0; i < size; ++i)
      text += "\"d" + std::to_string(i) + "\":{\"minimum\":1},";
    text.back() = '}';
    text += R"(,"allOf":[)";
    for (std::size_t i = 0; i < size; ++i) {
      text += R"({"$ref":"#/$defs/d)" + std::to_string(i) + "\"},";
    }
    text.back() = ']';
    return text + "}";
  };
  expect_linear({{"compile", make,
                  [](const std::string& text) {
                    const auto value = json::parse(text);
                    ASSERT_TRUE(value);
                    EXPECT_TRUE(json::Schema::compile(*value));
                  },
                  250}});
}

TEST(JsonWork, OfValues) {
  const Make object = members_of("[1]");
  expect_linear({
      {"equal", object,
       [](const std::string& text) {
         const auto one = json::parse(text);
         const auto other = json::parse(text);
         EXPECT_TRUE(*one == *other);
       }},
      {"a name twice, the last counts",
       [](std::size_t size) {
         std::string text = "{";
         for (std::size_t i = 0; i < size; ++i) {
           text += "\"m" + std::to_string(i % (size / 2)) + "\":1,";
         }
         text.back() = '}';
         return text;
       },
       [](const std::string& text) { EXPECT_TRUE(json::parse(text)); }},
      {"written again", object,
       [](const std::string& text) { EXPECT_EQ(json::parse(text)->dump(), text); }},
  });
}

}  // namespace
