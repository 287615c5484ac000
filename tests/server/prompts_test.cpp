#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

using test::code_of;
using test::equals;
using test::Link;

enum class Tone { warm, dry };
struct Draft {
  std::string topic{};
  std::optional<std::string> length{};
  std::optional<Tone> tone{};
  static constexpr Field fields[] = {{"topic", "What about"}};
};

class Prompts : public testing::TestWithParam<std::string_view> {
 protected:
  Prompts() : server(test::server_options()) {}
  json::Value get(Link& link, std::string_view name, std::string_view arguments = "{}") {
    return link.ask("prompts/get", Link::tool_params(name, arguments));
  }
  Server server;
};
INSTANTIATE_TEST_SUITE_P(Revisions, Prompts, testing::ValuesIn(test::all_revisions));

TEST_P(Prompts, TheStructIsTheArguments) {
  server.prompt("draft", "Drafts",
                [](Draft in) {
                  return in.topic + in.length.value_or("-") + (in.tone == Tone::dry ? "dry" : "");
                },
                {.title = "Draft"});
  Link link(server, GetParam());
  const json::Value entry = link.ask("prompts/list")["result"]["prompts"][0];
  EXPECT_EQ(entry["name"].as_string(), "draft");
  EXPECT_EQ(entry["description"].as_string(), "Drafts");
  EXPECT_EQ(entry.contains("title"), GetParam() >= "2025-06-18");
  EXPECT_TRUE(equals(entry["arguments"],
                     R"([{"name":"topic","description":"What about","required":true},
                         {"name":"length","required":false},{"name":"tone","required":false}])"));
  EXPECT_TRUE(equals(get(link, "draft", R"({"topic":"owls","tone":"dry"})")["result"]["messages"],
                     R"([{"role":"user","content":{"type":"text","text":"owls-dry"}}])"));
  for (const char* arguments : {"{}", R"({"length":"x"})", R"({"topic":5})",
                                R"({"topic":"x","tone":"loud"})", "[]", "5", R"({"topic":null})"}) {
    EXPECT_EQ(code_of(get(link, "draft", arguments)), -32602) << arguments;
  }
  EXPECT_EQ(code_of(link.ask("prompts/get", R"({"name":"draft"})")), -32602);
  EXPECT_EQ(code_of(link.ask("prompts/get", "{}")), -32602);
  EXPECT_EQ(code_of(get(link, "nothing")), -32602);
}

TEST_P(Prompts, EachKindOfResult) {
  server.prompt("text", "", [] { return "a"; });
  server.prompt("message", "", [] { return assistant_says(text("b")); });
  server.prompt("several", "", [] {
    return std::vector<PromptMessage>{
        user_says(text("c")),
        assistant_says(embed(TextResourceContents{.uri = "x:1", .text = "d"}))};
  });
  server.prompt("result", "", []() -> Result<PromptResult> {
    return PromptResult{.description = "about", .messages = {}, ._meta = json::Object{{"k", 1}}};
  });
  server.prompt("contents", "", [] { return std::vector<Content>{text("e"), text("f")}; });
  Link link(server, GetParam());
  EXPECT_EQ(get(link, "text")["result"]["messages"][0]["content"]["text"].as_string(), "a");
  EXPECT_EQ(get(link, "message")["result"]["messages"][0]["role"].as_string(), "assistant");
  EXPECT_TRUE(equals(get(link, "several")["result"]["messages"],
                     R"([{"role":"user","content":{"type":"text","text":"c"}},
                         {"role":"assistant","content":{"type":"resource",
                          "resource":{"uri":"x:1","text":"d"}}}])"));
  const json::Value result = get(link, "result");
  EXPECT_EQ(result["result"]["description"].as_string(), "about");
  EXPECT_TRUE(equals(result["result"]["_meta"]["k"], "1"));
  EXPECT_EQ(get(link, "contents")["result"]["messages"].size(), 2u);
}

TEST_P(Prompts, ArgumentsByHand) {
  server.prompt("map", "",
                [](std::map<std::string, std::string> in) {
                  std::string all;
                  for (const auto& [key, value] : in) all += key + "=" + value + ";";
                  return all;
                },
                {.arguments = {{.name = "a", .title = "A", .required = true}, {.name = "b"}}});
  Link link(server, GetParam());
  const json::Value entry = link.ask("prompts/list")["result"]["prompts"][0];
  EXPECT_EQ(entry["arguments"].size(), 2u);
  EXPECT_EQ(entry["arguments"][0].contains("title"), GetParam() >= "2025-06-18");
  EXPECT_EQ(get(link, "map", R"({"a":"1","z":"2"})")["result"]["messages"][0]["content"]["text"]
                .as_string(),
            "a=1;z=2;");
  EXPECT_EQ(code_of(get(link, "map", R"({"b":"1"})")), -32602);
  EXPECT_EQ(code_of(get(link, "map", R"({"a":1})")), -32602);
}

TEST_P(Prompts, Failures) {
  server.prompt("error", "",
                []() -> Result<std::string> { return Error{.code = 9, .message = "nine"}; });
  server.prompt("tool", "", []() -> Result<std::string> { return tool_error("x"); });
  server.prompt("throw", "", []() -> std::string { throw std::runtime_error("secret"); });
  Link link(server, GetParam());
  EXPECT_EQ(code_of(get(link, "error")), 9);
  EXPECT_EQ(code_of(get(link, "tool")), -32603);
  const json::Value threw = get(link, "throw");
  EXPECT_EQ(code_of(threw), -32603);
  EXPECT_EQ(threw.dump().find("secret"), std::string::npos);
}

}  // namespace
}  // namespace godwit::inline v0
