#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

using test::code_of;
using test::equals;
using test::Link;

class Completions : public testing::TestWithParam<std::string_view> {
 protected:
  Completions() : server(test::server_options()) {
    server.prompt("p", "", [](std::map<std::string, std::string>) { return "x"; },
                  {.arguments = {{.name = "many"}, {.name = "told"}, {.name = "throw"}}});
    server.resource_template("db://{table}/{id}", "row",
                             [](std::map<std::string, std::string>) { return "x"; });
    server.complete_prompt("p", "many", [](const CompletionQuery& query) {
      Completion all;
      for (int i = 0; i < std::stoi(query.value); ++i) all.values.push_back(std::to_string(i));
      return all;
    });
    server.complete_prompt("p", "told", [](const CompletionQuery&) {
      return Completion{.values = std::vector<std::string>(150, "x"), .total = 5000};
    });
    server.complete_prompt("p", "throw", [](const CompletionQuery&) -> Completion {
      throw std::runtime_error("secret");
    });
    server.complete_template("db://{table}/{id}", "id", [](const CompletionQuery& query) {
      std::string all = query.argument + "|" + query.value;
      for (const auto& [key, value] : query.context) all += "|" + key + "=" + value;
      return Completion{.values = {all}, .hasMore = false};
    });
  }
  json::Value complete(Link& link, std::string_view argument, std::string_view value,
                       std::string_view more = "",
                       std::string_view ref = R"({"type":"ref/prompt","name":"p"})") {
    return link.ask("completion/complete", R"({"ref":)" + std::string(ref) +
                                               R"(,"argument":{"name":)" + json::quote(argument) +
                                               R"(,"value":)" + json::quote(value) + "}" +
                                               std::string(more) + "}");
  }
  Server server;
};
INSTANTIATE_TEST_SUITE_P(Revisions, Completions, testing::ValuesIn(test::all_revisions));

constexpr std::string_view row = R"({"type":"ref/resource","uri":"db://{table}/{id}"})";

TEST_P(Completions, AtMostAHundredTravel) {
  Link link(server, GetParam());
  for (const int count : {0, 1, 99, 100}) {
    const json::Value answer = complete(link, "many", std::to_string(count));
    EXPECT_EQ(answer["result"]["completion"]["values"].size(), static_cast<std::size_t>(count));
    EXPECT_FALSE(answer["result"]["completion"]["hasMore"].as_bool().value_or(false));
  }
  const json::Value more = complete(link, "many", "101");
  EXPECT_EQ(more["result"]["completion"]["values"].size(), 100u);
  EXPECT_TRUE(equals(more["result"]["completion"]["total"], "101"));
  EXPECT_EQ(more["result"]["completion"]["hasMore"].as_bool(), true);
  const json::Value told = complete(link, "told", "");
  EXPECT_EQ(told["result"]["completion"]["values"].size(), 100u);
  EXPECT_TRUE(equals(told["result"]["completion"]["total"], "5000"));
  EXPECT_EQ(told["result"]["completion"]["hasMore"].as_bool(), true);
}

TEST_P(Completions, KnowWhatWasChosenBefore) {
  Link link(server, GetParam());
  EXPECT_TRUE(equals(complete(link, "id", "7", R"(,"context":{"arguments":{"table":"birds"}})",
                              row)["result"]["completion"],
                     R"({"values":["id|7|table=birds"],"hasMore":false})"));
  EXPECT_TRUE(
      equals(complete(link, "id", "7", R"(,"context":{})", row)["result"]["completion"]["values"],
             R"(["id|7"])"));
}

TEST_P(Completions, WithoutAProviderThereAreNoValues) {
  Link link(server, GetParam());
  EXPECT_TRUE(equals(complete(link, "unknown", "x")["result"]["completion"]["values"], "[]"));
  EXPECT_TRUE(
      equals(complete(link, "table", "x", "", row)["result"]["completion"]["values"], "[]"));
}

TEST_P(Completions, WhatIsRefused) {
  Link link(server, GetParam());
  for (const char* ref :
       {R"({"type":"ref/prompt","name":"none"})", R"({"type":"ref/resource","uri":"none:{x}"})",
        R"({"type":"ref/tool","name":"p"})", R"({"name":"p"})", R"({"type":"ref/prompt"})", "5",
        R"({"type":"ref/prompt","uri":"p"})"}) {
    EXPECT_EQ(code_of(complete(link, "many", "1", "", ref)), -32602) << ref;
  }
  EXPECT_EQ(code_of(complete(link, "many", "1", R"(,"context":5)")), -32602);
  EXPECT_EQ(code_of(link.ask("completion/complete", R"({"ref":{"type":"ref/prompt","name":"p"}})")),
            -32602);
  EXPECT_EQ(code_of(link.ask("completion/complete",
                             R"({"ref":{"type":"ref/prompt","name":"p"},
                                 "argument":{"name":"many","value":1}})")),
            -32602);
  const json::Value threw = complete(link, "throw", "");
  EXPECT_EQ(code_of(threw), -32603);
  EXPECT_EQ(threw.dump().find("secret"), std::string::npos);
  server.enable_prompt("p", false);
  EXPECT_EQ(code_of(complete(link, "many", "1")), -32602);
}

}  // namespace
}  // namespace godwit::inline v0
