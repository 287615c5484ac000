// What hostile schemas and instances may cost: everything ends with an error, never with a hang, a
// crash or a wrong "valid".
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <thread>

#include "godwit/json/document.hpp"
#include "godwit/json/schema.hpp"

namespace {

using godwit::json::Document;
using godwit::json::Draft;
using godwit::json::Schema;
using godwit::json::SchemaOptions;
using godwit::json::Value;

Value json(std::string_view text) {
  auto value = godwit::json::parse(text, {.depth = 5'000});
  if (!value) ADD_FAILURE() << text.substr(0, 100) << ": " << value.error().message;
  return value.value_or(Value());
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

std::string compile_error(const std::string& text, const SchemaOptions& options = {}) {
  const auto schema = Schema::compile(json(text), options);
  return schema ? "" : schema.error().message;
}

/// The keyword of the first violation.
std::string outcome(const std::string& text, std::string_view instance,
                    const SchemaOptions& options = {}) {
  const auto schema = Schema::compile(json(text), options);
  if (!schema) return schema.error().message;
  Document document;
  const auto view = document.parse(instance, {.depth = 5'000});
  if (!view) return view.error().message;
  const auto result = schema->validate(*view);
  EXPECT_EQ(result.ok(), schema->valid(*view));
  return result.ok() ? "" : result.violations().front().keyword;
}

/// a0 applies a1 twice, which applies a2 twice, and so on.
std::string doubling(std::string_view keyword, int levels, std::string_view last) {
  std::string out = R"({"$ref":"#/$defs/a0","$defs":{)";
  for (int i = 0; i < levels; ++i) {
    const std::string next = R"({"$ref":"#/$defs/a)" + std::to_string(i + 1) + "\"}";
    out += "\"a" + std::to_string(i) + "\":{\"" + std::string(keyword) + "\":[" + next + "," +
           next + "]},";
  }
  return out + "\"a" + std::to_string(levels) + "\":" + std::string(last) + "}}";
}

TEST(SchemaBudget, DoublingEndsAtTheSteps) {
  EXPECT_EQ(outcome(doubling("anyOf", 50, "false"), "1"), "budget");
  EXPECT_EQ(outcome(doubling("oneOf", 50, "false"), "1"), "budget");
  EXPECT_EQ(outcome(doubling("allOf", 50, R"({"minimum":0})"), "1"), "budget");
  EXPECT_EQ(outcome(doubling("anyOf", 8, "false"), "1"), "anyOf");
  EXPECT_EQ(outcome(doubling("allOf", 8, R"({"minimum":0})"), "1"), "");
}

TEST(SchemaBudget, LackOfBudgetIsNeverValid) {
  const std::string costly = doubling("anyOf", 50, "false");
  const std::string negated =
      R"({"not":{"$ref":"#/$defs/a0"},)" + costly.substr(costly.find("\"$defs\""));
  EXPECT_EQ(outcome(negated, "1"), "budget");
  EXPECT_EQ(outcome(R"({"not":{"uniqueItems":true}})", "[" + repeated("[1],", 5'000) + "0]",
                    {.steps = 1'000}),
            "budget");
}

TEST(SchemaBudget, StepsMayBeRaised) {
  const std::string schema = R"({"items":{"type":"integer"}})";
  const std::string instance = "[" + repeated("1,", 2'000) + "1]";
  EXPECT_EQ(outcome(schema, instance), "");
  EXPECT_EQ(outcome(schema, instance, {.steps = 1'000}), "budget");
}

TEST(SchemaBudget, LoopsAreErrors) {
  EXPECT_EQ(compile_error(R"({"$ref":"#"})"),
            "the schema loops: the root applies itself to the same value again without end, by way "
            "of the root");
  EXPECT_NE(
      compile_error(
          R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}})")
          .find("loops"),
      std::string::npos);
  EXPECT_NE(compile_error(R"({"anyOf":[{"type":"string"},{"$ref":"#"}]})").find("loops"),
            std::string::npos);
  EXPECT_NE(compile_error(R"({"not":{"$ref":"#"}})").find("loops"), std::string::npos);
  EXPECT_NE(compile_error(R"({"if":{"allOf":[{"$ref":"#"}]}})").find("loops"), std::string::npos);
  EXPECT_NE(compile_error(R"({"$ref":"#"})", {.draft = Draft::draft7}).find("loops"),
            std::string::npos);
  // Going down in the instance is no loop.
  EXPECT_EQ(compile_error(R"({"properties":{"a":{"$ref":"#"}},"items":{"$ref":"#"}})"), "");
}

TEST(SchemaBudget, LoopsThatDependOnTheInstanceEnd) {
  EXPECT_EQ(outcome(R"({"dependentSchemas":{"a":{"$ref":"#"}}})", R"({"a":1})"), "budget");
  EXPECT_EQ(outcome(R"({"dependentSchemas":{"a":{"$ref":"#"}}})", R"({"b":1})"), "");
  EXPECT_EQ(outcome(R"({"if":true,"then":{"$ref":"#"}})", "1"), "budget");
  EXPECT_EQ(outcome(R"({"$dynamicAnchor":"x","$dynamicRef":"#x"})", "1"), "budget");
}

TEST(SchemaBudget, DeepSchemas) {
  const auto nested = [](std::string_view open, std::string_view close, int times) {
    return repeated(open, times) + "{}" + repeated(close, times);
  };
  EXPECT_EQ(compile_error(nested(R"({"not":)", "}", 64)), "");
  EXPECT_NE(compile_error(nested(R"({"not":)", "}", 65)).find("deeper than the 64 levels"),
            std::string::npos);
  EXPECT_NE(compile_error(nested(R"({"anyOf":[)", "]}", 400)).find("deeper"), std::string::npos);
  EXPECT_EQ(compile_error(nested(R"({"not":)", "}", 100), {.schema_depth = 200}), "");
}

TEST(SchemaBudget, LongChainsOfReferences) {
  std::string schema = R"({"$ref":"#/$defs/a0","$defs":{)";
  for (int i = 0; i < 5'000; ++i) {
    schema +=
        "\"a" + std::to_string(i) + R"(":{"$ref":"#/$defs/a)" + std::to_string(i + 1) + "\"},";
  }
  schema += R"("a5000":{"type":"string"}}})";
  EXPECT_EQ(outcome(schema, "\"x\""), "");
  EXPECT_EQ(outcome(schema, "1"), "type");
  // With something beside each reference nothing can be left out.
  std::string guarded = schema;
  for (std::size_t at = 0; (at = guarded.find("{\"$ref\"", at + 1)) != std::string::npos;)
    guarded.insert(at + 1, "\"minimum\":0,");
  EXPECT_EQ(outcome(guarded, "\"x\"", {.schema_bytes = 1u << 20}), "budget");
}

TEST(SchemaBudget, DeepInstances) {
  const std::string tree = R"({"items":{"$ref":"#"},"anyOf":[{"type":"array"},{"type":"null"}]})";
  EXPECT_EQ(outcome(tree, repeated("[", 400) + repeated("]", 400)), "");
  EXPECT_EQ(outcome(tree, repeated("[", 4'000) + repeated("]", 4'000)), "budget");
  EXPECT_EQ(outcome(R"({"const":1})", repeated("[", 4'000) + repeated("]", 4'000)), "const");
  EXPECT_EQ(
      outcome(R"({"uniqueItems":true})", "[" + repeated("[", 3'000) + repeated("]", 3'000) + "," +
                                             repeated("[", 3'000) + repeated("]", 3'000) + "]"),
      "budget");
}

TEST(SchemaBudget, TooManySubschemas) {
  std::string schema = R"({"allOf":[{})" + repeated(",{}", 10'000) + "]}";
  EXPECT_NE(compile_error(schema).find("more than the 10000 subschemas"), std::string::npos);
  EXPECT_EQ(compile_error(schema, {.subschemas = 20'000}), "");
}

TEST(SchemaBudget, LargeSchemas) {
  const std::string schema = R"({"description":")" + std::string(300'000, 'x') + "\"}";
  EXPECT_NE(compile_error(schema).find("larger than the 262144 bytes"), std::string::npos);
  EXPECT_EQ(compile_error(schema, {.schema_bytes = 1u << 20}), "");
  SchemaOptions options;
  options.documents.emplace_back("http://x.org/large", json(schema));
  EXPECT_EQ(compile_error("{}", options), "");
  EXPECT_NE(compile_error(R"({"$ref":"http://x.org/large"})", options).find("larger"),
            std::string::npos);
}

TEST(SchemaBudget, LongNamesDoNotMultiply) {
  std::string open;
  std::string close;
  for (int i = 0; i < 30; ++i) {
    open += R"({"properties":{")" + std::string(1'000, 'n') + "\":";
    close += "}}";
  }
  EXPECT_NE(compile_error(open + "{}" + close), "");
  EXPECT_NE(compile_error(R"({"$id":"http://x.org/)" + std::string(3'000, 'n') + "\"}"), "");
}

TEST(SchemaBudget, CostlyStrings) {
  // Each of many subschemas reads the whole of a long string.
  const std::string text = "\"" + std::string(200'000, 'x') + "\"";
  const auto many = [](const std::string& schema) {
    return R"({"$defs":{"s":)" + schema + R"(},"allOf":[{"$ref":"#/$defs/s"})" +
           repeated(R"(,{"$ref":"#/$defs/s"})", 2'000) + "]}";
  };
  EXPECT_EQ(outcome(many(R"({"minLength":60000,"maxLength":199999999})"), text), "budget");
  EXPECT_EQ(outcome(many(R"({"pattern":"x"})"), text), "budget");
  EXPECT_EQ(outcome(many(R"({"const":)" + text + "}"), text), "budget");
  EXPECT_EQ(outcome(many(R"({"enum":[1,2,3,4,5,6,7,8,9,)" + text + "]}"), text), "budget");
  EXPECT_EQ(outcome(many(R"({"format":"uri-reference"})"), text, {.assert_formats = true}),
            "budget");
}

TEST(SchemaBudget, ManyMembersTimesManySubschemas) {
  std::string members = "{\"x\":0";
  for (int i = 0; i < 5'000; ++i) members += ",\"m" + std::to_string(i) + "\":0";
  members += "}";
  const std::string all = R"({"allOf":[true)" +
                          repeated(R"(,{"properties":{"x":true},"minProperties":0})", 4'000) + "]}";
  EXPECT_EQ(outcome(all, members), "budget");
  std::string required = R"({"required":["x")";
  for (int i = 0; i < 5'000; ++i) required += ",\"m" + std::to_string(i) + "\"";
  EXPECT_EQ(outcome(required + "]}", members), "");
}

TEST(SchemaBudget, PatternsOfAPeer) {
  const SchemaOptions peer{.trusted = false};
  const auto schema = Schema::compile(
      json(R"({"properties":{"a":{"pattern":"(?=x)y","minLength":2},"b":{"pattern":"(?=x)y"}},
      "patternProperties":{"^(a)\\1$":false},"additionalProperties":false})"),
      peer);
  ASSERT_TRUE(schema);
  ASSERT_EQ(schema->warnings().size(), 2u);  // one per pattern
  EXPECT_EQ(
      schema->warnings()[0],
      "/patternProperties: the pattern \"^(a)\\\\1$\" cannot be used: backreferences cannot be "
      "matched in linear time; it is skipped");
  EXPECT_TRUE(schema->valid(json(R"({"a":"zz","b":"z","aa":1})")));
  EXPECT_FALSE(schema->valid(json(R"({"a":"z"})")));
  // The same in a schema of this program is an error.
  EXPECT_NE(compile_error(R"({"pattern":"(?=x)y"})")
                .find("/pattern: the pattern \"(?=x)y\" cannot be used"),
            std::string::npos);
}

TEST(SchemaBudget, PatternsThatMakeOthersBacktrack) {
  const std::string text = "\"" + std::string(5'000, 'a') + "!\"";
  for (const std::string_view pattern :
       {"^(a+)+$", "^(a|aa)+$", "^(a|a?)+$", "(.*a){20}$", "^([a-zA-Z]+)*$"}) {
    EXPECT_EQ(outcome(R"({"pattern":")" + std::string(pattern) + "\"}", text), "pattern")
        << pattern;
  }
  // Slow even in linear time, if the schema may not be trusted: the text is not read at all.
  const std::string slow = R"({"pattern":"(a|b)*a(a|b){900}c"})";
  EXPECT_EQ(outcome(slow, "\"" + std::string(1'000'000, 'a') + "\"", {.trusted = false}), "budget");
}

TEST(SchemaBudget, PatternsShareTheirMemory) {
  std::string schema = R"({"allOf":[true)";
  for (int i = 0; i < 200; ++i)
    schema += R"(,{"pattern":"\\p{L}{)" + std::to_string(100 + i) + "}\"}";
  schema += "]}";
  EXPECT_NE(compile_error(schema).find("more memory than is allowed"), std::string::npos);
  const auto peer = Schema::compile(json(schema), {.trusted = false});
  ASSERT_TRUE(peer);
  EXPECT_FALSE(peer->warnings().empty());
}

TEST(SchemaBudget, DeepestNestingFitsTheStackOfAThread) {
  std::string schema =
      R"({"$ref":"#/$defs/a","$defs":{"a":{"minimum":0,"if":true,"then":{"properties":{"x":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}}}})";
  std::string keyword;
  std::thread([&] { keyword = outcome(schema, R"({"x":{"x":1}})"); }).join();
  EXPECT_EQ(keyword, "budget");
}

}  // namespace
