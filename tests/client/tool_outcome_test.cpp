#include "godwit/client/tool_outcome.hpp"

#include <gtest/gtest.h>

#include <map>

using godwit::is_tool_error;
using godwit::joined_text;
using godwit::outcome_as;
using godwit::RawJson;
using godwit::ToolResult;

namespace {

struct Point {
  int x{};
  int y{};

  bool operator==(const Point&) const = default;
};

ToolResult says(std::vector<std::string> texts) {
  ToolResult result;
  for (std::string& text : texts) result.content.push_back(godwit::text(std::move(text)));
  return result;
}

ToolResult holds(std::string json) {
  ToolResult result;
  result.structuredContent = RawJson{std::move(json)};
  return result;
}

}  // namespace

TEST(ToolOutcome, Text) {
  EXPECT_EQ(joined_text(says({})), "");
  EXPECT_EQ(joined_text(says({"a"})), "a");
  EXPECT_EQ(joined_text(says({"", "b", ""})), "\nb\n");
  EXPECT_EQ(*outcome_as<std::string>("t", says({"a", "b"})), "a\nb");
}

TEST(ToolOutcome, StructuredContentComesFirst) {
  ToolResult both = holds(R"({"x":1,"y":2})");
  both.content = says({R"({"x":3,"y":4})"}).content;
  EXPECT_EQ(*outcome_as<Point>("t", both), (Point{1, 2}));
  EXPECT_EQ(*outcome_as<Point>("t", says({R"({"x":3,"y":4})", "more"})), (Point{3, 4}));
  EXPECT_EQ(*outcome_as<int>("t", holds("7")), 7);
  EXPECT_EQ((*outcome_as<std::map<std::string, int>>("t", holds(R"({"a":1})"))).at("a"), 1);
  EXPECT_EQ(*outcome_as<std::optional<int>>("t", holds("null")), std::nullopt);
  EXPECT_EQ(outcome_as<RawJson>("t", holds(R"([1, 2])"))->text, "[1, 2]");
}

TEST(ToolOutcome, EverythingAndNothing) {
  EXPECT_EQ(*outcome_as<ToolResult>("t", says({"a"})), says({"a"}));
  EXPECT_TRUE(outcome_as<void>("t", says({})));
}

TEST(ToolOutcome, WhatDoesNotFitNamesTheToolAndThePlace) {
  const auto wrong = outcome_as<Point>("plot", holds(R"({"x":1,"y":"2"})"));
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("\"plot\""), std::string::npos);
  EXPECT_NE(wrong.error().message.find("/y: expected an integer"), std::string::npos);
  EXPECT_FALSE(is_tool_error(wrong.error()));
  EXPECT_FALSE(outcome_as<Point>("plot", says({"not JSON"})));
  EXPECT_FALSE(outcome_as<Point>("plot", says({})));
}

TEST(ToolOutcome, AFailureOfTheToolIsAnError) {
  ToolResult failed = says({"no", "such place"});
  failed.isError = true;
  const auto text = outcome_as<std::string>("t", failed);
  ASSERT_FALSE(text);
  EXPECT_TRUE(is_tool_error(text.error()));
  EXPECT_EQ(text.error().message, "no\nsuch place");
  EXPECT_TRUE(is_tool_error(outcome_as<Point>("t", failed).error()));
  EXPECT_TRUE(is_tool_error(outcome_as<void>("t", failed).error()));
}
