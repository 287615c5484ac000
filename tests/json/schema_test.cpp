#include "godwit/json/schema.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "godwit/json/document.hpp"

namespace {

using godwit::json::Array;
using godwit::json::Document;
using godwit::json::Draft;
using godwit::json::Object;
using godwit::json::ParseOptions;
using godwit::json::Schema;
using godwit::json::SchemaOptions;
using godwit::json::Validation;
using godwit::json::Value;

Value json(std::string_view text) {
  auto value = godwit::json::parse(text, {.depth = 2'000});
  if (!value) ADD_FAILURE() << text.substr(0, 100) << ": " << value.error().message;
  return value.value_or(Value());
}

Schema compiled(std::string_view text, const SchemaOptions& options = {}) {
  auto schema = Schema::compile(json(text), options);
  if (!schema) ADD_FAILURE() << text.substr(0, 200) << ": " << schema.error().message;
  return schema ? *schema : *Schema::compile(true);
}

std::string compile_error(std::string_view text, const SchemaOptions& options = {}) {
  const auto schema = Schema::compile(json(text), options);
  return schema ? "" : schema.error().message;
}

/// What validate() says, with the check that all ways to ask agree.
std::string verdict(const Schema& schema, std::string_view instance) {
  Document document;
  const auto view = document.parse(instance, {.depth = 2'000});
  if (!view) {
    ADD_FAILURE() << instance << ": " << view.error().message;
    return "";
  }
  const Validation result = schema.validate(*view);
  EXPECT_EQ(result.ok(), schema.valid(*view)) << instance;
  EXPECT_EQ(result.ok(), schema.valid(Value(*view))) << instance;
  EXPECT_EQ(result.ok(), schema.validate(Value(*view)).ok()) << instance;
  EXPECT_EQ(result.ok(), result.text().empty());
  return result.text();
}

struct KeywordCase {
  std::string_view schema;
  std::vector<std::string_view> good;
  std::vector<std::string_view> bad;
};

void expect(const std::vector<KeywordCase>& cases, const SchemaOptions& options = {}) {
  for (const KeywordCase& one : cases) {
    const Schema schema = compiled(one.schema, options);
    for (const std::string_view instance : one.good) {
      EXPECT_EQ(verdict(schema, instance), "") << one.schema << " for " << instance;
    }
    for (const std::string_view instance : one.bad) {
      EXPECT_NE(verdict(schema, instance), "") << one.schema << " for " << instance;
    }
  }
}

TEST(Schema, Types) {
  expect({
      {"true", {"1", "null", "{}"}, {}},
      {"false", {}, {"1", "null", "{}"}},
      {"{}", {"1", "[]"}, {}},
      {R"({"type":"integer"})",
       {"1", "1.0", "1e3", "-0", "123456789012345678901234567890"},
       {"1.5", "\"1\"", "true"}},
      {R"({"type":"number"})", {"1", "1.5"}, {"\"1\"", "null"}},
      {R"({"type":["string","null"]})", {"\"\"", "null"}, {"0", "[]", "false"}},
      {R"({"type":["integer","boolean"]})", {"2", "true"}, {"2.5"}},
      {R"({"enum":[1,"a",{"x":[1,2]},null]})",
       {"1", "1.0", "\"a\"", R"({"x":[1,2.0]})", "null"},
       {"2", "\"b\"", R"({"x":[2,1]})", "false"}},
      {R"({"const":{"a":1,"b":2}})", {R"({"b":2,"a":1})"}, {R"({"a":1})", R"({"a":1,"b":3})", "1"}},
      {R"({"const":0})", {"0", "0.0", "-0"}, {"false", "null", "1"}},
  });
}

TEST(Schema, EnumWithManyChoices) {
  expect({{R"({"enum":["a","b","c","d","e","f","g","h","i","j",10,[1]]})",
           {"\"a\"", "\"j\"", "10", "1e1", "[1]"},
           {"\"k\"", "11", "[2]", "{}"}}});
}

TEST(Schema, NumbersAreExact) {
  expect({
      {R"({"minimum":2,"exclusiveMaximum":5})", {"2", "4.999", "2.0"}, {"1", "1.999", "5", "5.0"}},
      {R"({"exclusiveMinimum":2,"maximum":5})", {"2.001", "5"}, {"2", "5.1"}},
      {R"({"maximum":9007199254740992})",
       {"9007199254740992", "9007199254740992.0"},
       {"9007199254740993", "18446744073709551615"}},
      {R"({"minimum":-9007199254740992})", {"-9007199254740992"}, {"-9007199254740993"}},
      {R"({"maximum":18446744073709551615})",
       {"18446744073709551615", "-1", "1.5"},
       {"18446744073709551616", "1e20"}},
      {R"({"maximum":123456789012345678901234567890})",
       {"123456789012345678901234567890", "5", "1e10"},
       {"123456789012345678901234567891", "1e30"}},
      {R"({"minimum":-123456789012345678901234567890})",
       {"-123456789012345678901234567890", "0"},
       {"-123456789012345678901234567891", "-1e30"}},
      {R"({"const":9007199254740993})",
       {"9007199254740993"},
       {"9007199254740992", "9007199254740992.0"}},
      {R"({"minimum":0.1})", {"0.1", "1"}, {"0", "0.09"}},
      {R"({"multipleOf":2})",
       {"4", "0", "-6", "1e20", "4.0", "123456789012345678901234567890"},
       {"5", "0.5", "123456789012345678901234567891"}},
      {R"({"multipleOf":0.0001})",
       {"0.0075", "1", "12391239123", "-0.0001"},
       {"0.00751", "0.00005"}},
      {R"({"multipleOf":0.01})", {"19.99", "4.02", "0.07", "1.1"}, {"19.995"}},
      {R"({"multipleOf":1.5})", {"0", "4.5", "3e10"}, {"35", "1"}},
      {R"({"multipleOf":0.5})", {"1e308", "0.5"}, {"0.25"}},
      {R"({"multipleOf":18446744073709551615})",
       {"18446744073709551615", "36893488147419103230", "0"},
       {"1", "36893488147419103231"}},
      {R"({"multipleOf":100})", {"1e5", "200.0"}, {"1e1", "50"}},
  });
}

TEST(Schema, Strings) {
  expect({
      {R"({"minLength":2,"maxLength":3})",
       {"\"ab\"", "\"abc\"", "7", "\"\U0001F432\U0001F432\""},
       {"\"a\"", "\"abcd\"", "\"\U0001F432\"", "\"\""}},
      {R"({"maxLength":2.0})", {"\"ab\""}, {"\"abc\""}},
      {R"({"pattern":"^a+$"})", {"\"aa\"", "1"}, {"\"ab\"", "\"\"", "\"a\\n\""}},
  });
}

TEST(Schema, Arrays) {
  expect({
      {R"({"minItems":1,"maxItems":2})", {"[1]", "[1,2]", "{}"}, {"[]", "[1,2,3]"}},
      {R"({"items":{"type":"integer"}})", {"[]", "[1,2]"}, {"[1,\"a\"]"}},
      {R"({"prefixItems":[{"type":"integer"},{"type":"string"}],"items":false})",
       {"[]", "[1]", "[1,\"a\"]"},
       {"[\"a\"]", "[1,2]", "[1,\"a\",3]"}},
      {R"({"contains":{"type":"integer"}})", {"[\"a\",1]"}, {"[]", "[\"a\"]"}},
      {R"({"contains":{"type":"integer"},"minContains":2,"maxContains":3})",
       {"[1,2]", "[1,\"a\",2,3]"},
       {"[1]", "[1,2,3,4]"}},
      {R"({"contains":{"type":"integer"},"minContains":0})", {"[]", "[\"a\"]"}, {}},
      {R"({"minContains":2})", {"[]"}, {}},
      {R"({"uniqueItems":true})",
       {"[1,2]", "[{\"a\":1},{\"a\":2}]", "[[1],[2]]", "[1,true]", "[0,false]"},
       {"[1,1.0]", "[{\"a\":1,\"b\":2},{\"b\":2,\"a\":1}]", "[[1],[1]]", "[\"a\",\"b\",\"a\"]"}},
      {R"({"unevaluatedItems":false,"prefixItems":[true],"contains":{"type":"string"}})",
       {"[1,\"a\"]"},
       {"[1,2,\"a\"]"}},
  });
}

TEST(Schema, UniqueItemsOfManyKinds) {
  std::string distinct = "[";
  for (int i = 0; i < 40; ++i) {
    distinct += std::to_string(i) + ",\"" + std::to_string(i) + "\",[" + std::to_string(i) +
                "],{\"k\":" + std::to_string(i) + "}," + std::to_string(i) + ".5,";
  }
  const Schema schema = compiled(R"({"uniqueItems":true})");
  EXPECT_EQ(verdict(schema, distinct + "null]"), "");
  EXPECT_EQ(verdict(schema, distinct + "{\"k\":7.0}]"),
            "uniqueItems: the items 38 and 200 are equal");
}

TEST(Schema, UniqueItemsIsNotQuadratic) {
  std::string text = "[";
  // Neighbours that all round to the same few doubles.
  for (int i = 0; i < 100'000; ++i) text += std::to_string(1'000'000'000'000'000'000 + i) + ",";
  const Schema schema = compiled(R"({"uniqueItems":true})");
  EXPECT_EQ(verdict(schema, text + "0]"), "");
  EXPECT_NE(verdict(schema, text + "1000000000000000077]"), "");
}

TEST(Schema, Objects) {
  expect({
      {R"({"properties":{"a":{"type":"integer"}},"required":["a","b"]})",
       {R"({"a":1,"b":2})", "[]"},
       {R"({"a":1})", R"({"a":"x","b":1})", "{}"}},
      {R"({"properties":{"a":true},"additionalProperties":false})",
       {"{}", R"({"a":1})"},
       {R"({"b":1})"}},
      {R"({"patternProperties":{"^n":{"type":"integer"}},"additionalProperties":{"type":"string"}})",
       {R"({"n1":1,"x":"y"})"},
       {R"({"n1":"y"})", R"({"x":1})"}},
      {R"({"minProperties":1,"maxProperties":2})",
       {R"({"a":1})"},
       {"{}", R"({"a":1,"b":2,"c":3})"}},
      {R"({"propertyNames":{"maxLength":2}})", {R"({"ab":1})"}, {R"({"abc":1})"}},
      {R"({"propertyNames":{"enum":["a","b\"c"]}})", {R"({"a":1,"b\"c":2})"}, {R"({"c":1})"}},
      {R"({"propertyNames":{"not":{"const":"x"}}})", {R"({"a":1})"}, {R"({"x":1})"}},
      {R"({"propertyNames":false})", {"{}"}, {R"({"x":1})"}},
      {R"({"propertyNames":{"type":"integer"}})", {"{}"}, {R"({"x":1})"}},
      {R"({"dependentRequired":{"a":["b"]}})",
       {"{}", R"({"b":1})", R"({"a":1,"b":2})"},
       {R"({"a":1})"}},
      {R"({"dependentSchemas":{"a":{"minProperties":2}}})",
       {R"({"b":1})", R"({"a":1,"b":2})"},
       {R"({"a":1})"}},
      {R"({"dependencies":{"a":["b"],"c":{"minProperties":2}}})",
       {"{}", R"({"a":1,"b":2})"},
       {R"({"a":1})", R"({"c":1})"}},
  });
}

TEST(Schema, ManyNames) {
  std::string properties;
  std::string instance;
  for (int i = 0; i < 300; ++i) {
    const std::string name = "\"m" + std::to_string(i * i) + "\":";
    properties += (i ? "," : "") + name + "{\"const\":" + std::to_string(i) + "}";
    instance += (i ? "," : "") + name + std::to_string(i);
  }
  const Schema schema =
      compiled("{\"properties\":{" + properties +
               "},\"required\":[\"m0\",\"m89401\"],\"additionalProperties\":false}");
  EXPECT_EQ(verdict(schema, "{" + instance + "}"), "");
  EXPECT_EQ(verdict(schema, "{" + instance + ",\"m2\":0}"),
            "/m2: additionalProperties: this member is not allowed");
  EXPECT_EQ(verdict(schema, R"({"m0":0})"), "required: \"m89401\" is missing");
}

TEST(Schema, Logic) {
  expect({
      {R"({"allOf":[{"minimum":1},{"maximum":3}]})", {"2"}, {"0", "4"}},
      {R"({"anyOf":[{"type":"string"},{"minimum":3}]})", {"\"a\"", "3"}, {"2"}},
      {R"({"oneOf":[{"multipleOf":2},{"multipleOf":3}]})", {"2", "3"}, {"6", "5"}},
      {R"({"not":{"type":"string"}})", {"1"}, {"\"a\""}},
      {R"({"if":{"type":"integer"},"then":{"minimum":0},"else":{"maxLength":1}})",
       {"1", "\"a\""},
       {"-1", "\"ab\""}},
      {R"({"then":false,"else":false})", {"1"}, {}},
  });
}

TEST(Schema, References) {
  expect({
      {R"({"$defs":{"n":{"type":"integer"}},"items":{"$ref":"#/$defs/n"}})", {"[1]"}, {"[\"a\"]"}},
      {R"({"$defs":{"n":{"$anchor":"num","type":"integer"}},"items":{"$ref":"#num"}})",
       {"[1]"},
       {"[\"a\"]"}},
      {R"({"$id":"http://x.org/a/b","$defs":{"n":{"$id":"c","type":"integer"}},"items":{"$ref":"/a/c"}})",
       {"[1]"},
       {"[\"a\"]"}},
      {R"({"properties":{"next":{"$ref":"#"},"v":{"type":"integer"}},"required":["v"]})",
       {R"({"v":1,"next":{"v":2}})"},
       {R"({"v":1,"next":{"next":{"v":1}}})"}},
      {R"({"$ref":"#/$defs/a~1b%25","$defs":{"a/b%":{"type":"null"}}})", {"null"}, {"1"}},
      {R"({"$ref":"#/x-my/0","x-my":[{"type":"null"}]})", {"null"}, {"1"}},
      {R"({"$ref":"https://json-schema.org/draft/2020-12/schema"})",
       {"{}", "true", R"({"type":"string"})"},
       {"1", R"({"type":1})", R"({"properties":{"a":{"minLength":-1}}})"}},
      {R"({"$ref":"http://json-schema.org/draft-07/schema#"})",
       {"{}", "true"},
       {"1", R"({"type":1})", R"({"items":{"minLength":-1}})"}},
  });
}

TEST(Schema, DynamicReferences) {
  // A tree whose nodes are whatever the outermost schema says.
  const std::string_view strict = R"({
    "$id":"http://x.org/strict","$dynamicAnchor":"node","$ref":"tree","unevaluatedProperties":false,
    "$defs":{"tree":{"$id":"tree","$dynamicAnchor":"node","type":"object","properties":{
      "data":true,"children":{"type":"array","items":{"$dynamicRef":"#node"}}}}}})";
  expect({{strict,
           {R"({"children":[{"data":1}]})"},
           {R"({"children":[{"daat":1}]})", R"({"daat":1})"}}});
}

TEST(Schema, Unevaluated) {
  expect({
      {R"({"properties":{"a":true},"allOf":[{"properties":{"b":true}}],"unevaluatedProperties":false})",
       {R"({"a":1,"b":2})"},
       {R"({"c":1})"}},
      {R"({"anyOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":true},"required":["b"]}],"unevaluatedProperties":false})",
       {R"({"a":1})", R"({"a":1,"b":2})", R"({"b":1})"},
       {R"({"a":"x","b":1})"}},
      {R"({"if":{"required":["a"]},"then":{"properties":{"a":true}},"unevaluatedProperties":{"type":"string"}})",
       {R"({"a":1})", R"({"b":"x"})"},
       {R"({"b":1})"}},
      {R"({"not":{"not":{"properties":{"a":true}}},"unevaluatedProperties":false})",
       {"{}"},
       {R"({"a":1})"}},
      {R"({"allOf":[{"prefixItems":[true]}],"unevaluatedItems":{"type":"string"}})",
       {"[1,\"a\"]"},
       {"[1,2]"}},
  });
}

TEST(Schema, UnevaluatedOfManyMembers) {
  std::string members;
  for (int i = 0; i < 200; ++i) members += "\"p" + std::to_string(i) + "\":1,";
  const Schema schema =
      compiled(R"({"anyOf":[{"patternProperties":{"^p":true}}],"unevaluatedProperties":false})");
  EXPECT_EQ(verdict(schema, "{" + members + "\"p\":1}"), "");
  EXPECT_EQ(verdict(schema, "{" + members + "\"q\":1}"),
            "/q: unevaluatedProperties: this member is not allowed");
}

TEST(Schema, Draft7) {
  const SchemaOptions options{.draft = Draft::draft7};
  expect(
      {
          {R"({"items":[{"type":"integer"}],"additionalItems":{"type":"string"}})",
           {"[1,\"a\"]"},
           {"[\"a\"]", "[1,2]"}},
          {R"({"items":{"type":"integer"},"additionalItems":false})", {"[1,2]"}, {"[\"a\"]"}},
          {R"({"definitions":{"a":{"$id":"#a","type":"integer"}},"items":{"$ref":"#a"}})",
           {"[1]"},
           {"[\"a\"]"}},
          {R"({"items":{"$ref":"#/definitions/a","maximum":0},"definitions":{"a":{"type":"integer"}}})",
           {"[5]"},
           {"[\"a\"]"}},
          {R"({"dependencies":{"a":["b"],"c":{"minProperties":2}}})",
           {R"({"a":1,"b":2})"},
           {R"({"a":1})", R"({"c":1})"}},
          {R"({"prefixItems":[false],"dependentRequired":{"a":["b"]},"unevaluatedProperties":false})",
           {"[1]", R"({"a":1})"},
           {}},
      },
      options);
  // The schema itself has the last word about its draft.
  expect({{R"({"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"integer"}]})",
           {"[1]"},
           {"[\"a\"]"}}});
  expect(
      {{R"({"$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":[{"type":"integer"}]})",
        {"[1]"},
        {"[\"a\"]"}}},
      options);
}

TEST(Schema, Formats) {
  const std::string_view schema = R"({"format":"date"})";
  expect({{schema, {"\"2024-02-30\"", "1"}, {}}});
  const SchemaOptions asserted{.assert_formats = true};
  expect(
      {
          {schema, {"\"2024-02-29\"", "1"}, {"\"2023-02-29\"", "\"2024-2-9\""}},
          {R"({"format":"date-time"})",
           {"\"2024-02-29T23:59:60Z\""},
           {"\"2024-02-29T24:00:00Z\"", "\"2024-02-29\""}},
          {R"({"format":"time"})", {"\"01:29:60+01:30\""}, {"\"12:00:00\""}},
          {R"({"format":"duration"})", {"\"P1DT2H\"", "\"P3W\""}, {"\"P\"", "\"P1Y2D\""}},
          {R"({"format":"email"})",
           {"\"a.b@example.org\"", "\"\\\"a b\\\"@[127.0.0.1]\""},
           {"\"a..b@example.org\"", "\"a@\""}},
          {R"({"format":"hostname"})",
           {"\"a-b.example\""},
           {"\"-a\"", "\"a_b\"", "\"a.\"", "\"xn--X\""}},
          {R"({"format":"idn-hostname"})", {"\"실례.테스트\""}, {"\"〮실례\""}},
          {R"({"format":"ipv4"})",
           {"\"127.0.0.1\""},
           {"\"127.0.0.01\"", "\"1.2.3\"", "\"256.0.0.1\""}},
          {R"({"format":"ipv6"})",
           {"\"::1\"", "\"1::d6:192.168.0.1\""},
           {"\"1\"", "\":1\"", "\"1:2:3:4:5:6:7:8:9\""}},
          {R"({"format":"uri"})",
           {"\"http://a.org/b?c#d\"", "\"urn:x:y\""},
           {"\"/a\"", "\"http://a b\""}},
          {R"({"format":"uri-reference"})", {"\"/a\"", "\"\""}, {"\"1:b\"", "\"%zz\""}},
          {R"({"format":"iri"})", {"\"http://ƒøø.ßår/\""}, {"\"ƒøø\""}},
          {R"({"format":"uuid"})",
           {"\"2eb8aa08-aa98-11ea-b4aa-73b441d16380\""},
           {"\"2eb8aa08aa9811eab4aa73b441d16380\""}},
          {R"({"format":"uri-template"})", {"\"/a/{b:3}{?c*}\""}, {"\"{a\"", "\"{a,}\""}},
          {R"({"format":"json-pointer"})", {"\"\"", "\"/a~0\""}, {"\"a\"", "\"/~2\""}},
          {R"({"format":"relative-json-pointer"})", {"\"0#\"", "\"1/a\""}, {"\"/a\"", "\"01\""}},
          {R"({"format":"regex"})", {"\"(?=a)\"", "\"[a]\""}, {"\"(\"", "\"a**\""}},
          {R"({"format":"whatever"})", {"\"x\""}, {}},
      },
      asserted);
}

TEST(Schema, VocabulariesOfACustomMetaschema) {
  SchemaOptions options;
  options.documents.emplace_back(
      "http://x.org/meta",
      json(
          R"({"$id":"http://x.org/meta","$schema":"https://json-schema.org/draft/2020-12/schema","$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/core":true,"https://json-schema.org/draft/2020-12/vocab/applicator":true,"http://x.org/own":false}})"));
  options.documents.emplace_back(
      "http://x.org/strict",
      json(
          R"({"$schema":"https://json-schema.org/draft/2020-12/schema","$vocabulary":{"http://x.org/own":true}})"));
  expect({{R"({"$schema":"http://x.org/meta","properties":{"a":false,"b":{"minimum":10}}})",
           {R"({"b":1})"},
           {R"({"a":1})"}}},
         options);
  EXPECT_EQ(compile_error(R"({"$schema":"http://x.org/strict"})", options),
            "$vocabulary: the metaschema requires the vocabulary \"http://x.org/own\", which is "
            "not known");
}

TEST(Schema, Documents) {
  SchemaOptions options;
  options.documents.emplace_back(
      "http://x.org/n.json",
      json(R"({"type":"integer","$defs":{"s":{"$id":"other","type":"string"}}})"));
  options.documents.emplace_back("http://x.org/old.json",
                                 json(R"({"$schema":"http://json-schema.org/draft-04/schema#"})"));
  expect({{R"({"items":{"$ref":"http://x.org/n.json"}})", {"[1]"}, {"[\"a\"]"}},
          {R"({"items":{"$ref":"http://x.org/n.json#/$defs/s"}})", {"[\"a\"]"}, {"[1]"}},
          // Known only by the $id inside a document that nothing refers to.
          {R"({"items":{"$ref":"http://x.org/other"}})", {"[\"a\"]"}, {"[1]"}}},
         options);
  EXPECT_NE(compile_error(R"({"$ref":"http://x.org/old.json"})", options).find("draft-04"),
            std::string::npos);
}

TEST(Schema, NothingIsFetched) {
  EXPECT_EQ(
      compile_error(R"({"items":{"$ref":"file:///etc/passwd"}})"),
      "/items: $ref \"file:///etc/passwd\" leads nowhere: no document \"file:///etc/passwd\" is "
      "among SchemaOptions::documents, and nothing is ever fetched");
  EXPECT_NE(compile_error(R"({"$ref":"http://169.254.169.254/latest"})").find("169.254.169.254"),
            std::string::npos);
  EXPECT_NE(compile_error(R"({"$ref":"#/nope"})").find("there is nothing at \"/nope\""),
            std::string::npos);
  EXPECT_NE(compile_error(R"({"$ref":"#nope"})").find("there is no anchor \"nope\""),
            std::string::npos);
  EXPECT_NE(compile_error(R"({"$schema":"http://x.org/unknown"})").find("http://x.org/unknown"),
            std::string::npos);
}

TEST(Schema, MalformedSchemas) {
  const auto first = [](std::string_view schema) { return compile_error(schema); };
  EXPECT_EQ(first("1"), "the schema: expected a schema (an object or a boolean), got 1");
  EXPECT_EQ(first(R"({"properties":{"a":{"minLength":-1}}})"),
            "/properties/a/minLength: expected an integer of 0 or more, got -1");
  EXPECT_EQ(first(R"({"maximum":"3"})"), "/maximum: expected a number, got \"3\"");
  EXPECT_EQ(first(R"({"multipleOf":0})"), "/multipleOf: expected a number more than 0");
  EXPECT_EQ(first(R"({"items":[{}]})"),
            "/items: expected a schema; an array of them is \"prefixItems\" since draft 2020-12");
  for (const std::string_view bad : {R"({"type":"strnig"})",
                                     R"({"type":[1]})",
                                     R"({"enum":1})",
                                     R"({"required":"a"})",
                                     R"({"required":[1]})",
                                     R"({"properties":[]})",
                                     R"({"properties":{"a":1}})",
                                     R"({"allOf":[]})",
                                     R"({"allOf":{}})",
                                     R"({"not":1})",
                                     R"({"pattern":1})",
                                     R"({"pattern":"("})",
                                     R"({"$ref":1})",
                                     R"({"uniqueItems":1})",
                                     R"({"format":1})",
                                     R"({"dependentRequired":{"a":"b"}})",
                                     R"({"dependentSchemas":[]})",
                                     R"({"patternProperties":{"[":true}})",
                                     R"({"minItems":1.5})",
                                     R"({"items":null})",
                                     R"({"$ref":"#/enum","enum":[1]})"}) {
    EXPECT_NE(first(bad), "") << bad;
  }
}

TEST(Schema, Messages) {
  const Schema schema = compiled(R"({"type":"object","properties":{
    "days":{"type":"integer","minimum":1,"maximum":10},
    "unit":{"enum":["celsius","kelvin"]},
    "when":{"anyOf":[{"type":"integer","maximum":5},{"type":"null"}]},
    "tags":{"items":{"type":"string","maxLength":3},"uniqueItems":true,"maxItems":2},
    "a/b~c":{"const":1},
    "code":{"pattern":"^[a-z]+$"}},
    "required":["city"],"additionalProperties":false})");
  EXPECT_EQ(verdict(schema, R"({"city":1})"),
            "/city: additionalProperties: this member is not allowed");
  EXPECT_EQ(verdict(schema, "[]"), "type: expected an object, got an array of 0 items");
  EXPECT_EQ(
      verdict(schema,
              R"({"days":12,"unit":"warm","when":7,"tags":["long",1,1],"a/b~c":2,"code":"A"})"),
      "/days: maximum: 12 is more than 10\n"
      "/unit: enum: expected one of \"celsius\", \"kelvin\", got \"warm\"\n"
      "/when: maximum: 7 is more than 5\n"
      "/tags: maxItems: has 3 items, expected at most 2\n"
      "/tags/0: maxLength: has 4 characters, expected at most 3\n"
      "/tags/1: type: expected a string, got 1\n"
      "/tags/2: type: expected a string, got 1\n"
      "/tags: uniqueItems: the items 1 and 2 are equal\n"
      "/a~1b~0c: const: expected 1, got 2\n"
      "/code: pattern: \"A\" does not match \"^[a-z]+$\"\n"
      "required: \"city\" is missing");
  const Validation result = schema.validate(json(R"({"days":0})"));
  ASSERT_EQ(result.violations().size(), 2u);
  EXPECT_EQ(result.violations()[0].path, "/days");
  EXPECT_EQ(result.violations()[0].keyword, "minimum");
  EXPECT_EQ(result.violations()[0].message, "0 is less than 1");
  EXPECT_EQ(result.violations()[0].schema_path, "/properties/days/minimum");
  EXPECT_EQ(result.violations()[1].schema_path, "/required");

  EXPECT_EQ(verdict(compiled("false"), "1"), "false: no value is allowed here");
  EXPECT_EQ(verdict(compiled(R"({"oneOf":[{"minimum":1},{"minimum":2}]})"), "3"),
            "oneOf: 3 matches alternative 0 and 1, expected exactly one");
  EXPECT_EQ(verdict(compiled(R"({"anyOf":[{"minimum":1},{"maximum":-1}]})"), "0"),
            "anyOf: 0 matches none of the 2 alternatives");
  EXPECT_EQ(verdict(compiled(R"({"contains":{"type":"null"}})"), "[1]"),
            "contains: 0 items match the schema in \"contains\", expected at least 1");
  EXPECT_EQ(verdict(compiled(R"({"dependentRequired":{"a":["b"]}})"), R"({"a":1})"),
            "dependentRequired: \"b\" is missing, which \"a\" needs beside it");
  EXPECT_EQ(verdict(compiled(R"({"multipleOf":0.1})"), "0.25"),
            "multipleOf: 0.25 is not a multiple of 0.1");
  EXPECT_EQ(verdict(compiled(R"({"type":["string","integer","null"]})"), "1.5"),
            "type: expected a string, an integer or null, got 1.5");
}

TEST(Schema, ListsViolationsUpToTheBound) {
  const Value schema = json(R"({"items":{"type":"string"}})");
  std::string text = "[1";
  for (int i = 0; i < 100; ++i) text += ",1";
  text += "]";
  EXPECT_EQ(Schema::compile(schema)->validate(json(text)).violations().size(), 32u);
  EXPECT_EQ(Schema::compile(schema, {.violations = 3})->validate(json(text)).violations().size(),
            3u);
}

TEST(Schema, AMemberNamedTwiceIsCheckedTwice) {
  const Schema schema = compiled(R"({"properties":{"a":{"type":"integer"}}})");
  Document document;
  EXPECT_FALSE(schema.valid(*document.parse(R"({"a":"x","a":1})")));
  EXPECT_FALSE(schema.valid(*document.parse(R"({"a":1,"a":"x"})")));
}

TEST(Schema, ValidatesFromManyThreads) {
  const Schema schema =
      compiled(R"({"properties":{"name":{"pattern":"^\\p{L}+$"},"age":{"maximum":100},
    "id":{"enum":[1,2,3,4,5,6,7,8,9,10]}},"unevaluatedProperties":false})");
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&schema, &wrong] {
      Document document;
      for (int i = 0; i < 300; ++i) {
        const bool good = i % 2 == 0;
        const auto view = document.parse(good ? R"({"name":"Ærø","age":7,"id":10})"
                                              : R"({"name":"a1","age":700,"id":0,"x":1})");
        if (schema.valid(*view) != good) ++wrong;
        if (schema.validate(*view).violations().size() != (good ? 0u : 3u)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
