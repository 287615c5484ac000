#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

using test::code_of;
using test::equals;
using test::error_text;
using test::has;
using test::is_error_result;
using test::Link;
using test::text_of;

enum class Unit { celsius, kelvin };

struct Weather {
  std::string city{};
  std::optional<int> days{};
  Unit unit{};
  static constexpr Field fields[] = {
      {"city", "City to look up"},
      {.name = "days", .about = "How far ahead", .minimum = 1, .maximum = 10}};
};
struct Forecast {
  std::string text{};
  double degrees{};
};

/// The tool of this name in tools/list.
json::Value listed(Link& link, std::string_view name) {
  const json::Value answer = link.ask("tools/list");
  for (const json::Value& tool : *answer["result"]["tools"].as_array()) {
    if (tool["name"].as_string() == name) return tool;
  }
  return {};
}

class Tools : public testing::TestWithParam<std::string_view> {
 protected:
  bool modern() const { return test::is_modern(GetParam()); }
  /// Structured results exist.
  bool structured() const { return GetParam() >= "2025-06-18"; }
};
INSTANTIATE_TEST_SUITE_P(Revisions, Tools, testing::ValuesIn(test::all_revisions));

TEST_P(Tools, TheStructIsTheSchema) {
  Server server(test::server_options());
  server.tool("forecast", "Forecast for a city",
              [](Weather in) { return Forecast{.text = "sunny in " + in.city, .degrees = 21.5}; });
  Link link(server, GetParam());
  const json::Value tool = listed(link, "forecast");
  EXPECT_EQ(tool["description"].as_string(), "Forecast for a city");
  EXPECT_EQ(tool["inputSchema"]["type"].as_string(), "object");
  EXPECT_TRUE(equals(tool["inputSchema"]["required"], R"(["city","unit"])"));
  EXPECT_TRUE(
      equals(tool["inputSchema"]["properties"]["days"],
             R"({"type":"integer","description":"How far ahead","minimum":1,"maximum":10})"));
  EXPECT_TRUE(equals(tool["inputSchema"]["properties"]["unit"],
                     R"({"type":"string","enum":["celsius","kelvin"]})"));
  EXPECT_EQ(tool.contains("outputSchema"), structured());
  const json::Value answer = link.tool("forecast", R"({"city":"Oslo","unit":"kelvin"})");
  EXPECT_TRUE(test::same_json(text_of(answer), R"({"text":"sunny in Oslo","degrees":21.5})"));
  EXPECT_EQ(answer["result"].contains("structuredContent"), structured());
  if (structured()) {
    EXPECT_TRUE(equals(answer["result"]["structuredContent"],
                       R"({"text":"sunny in Oslo","degrees":21.5})"));
  }
  EXPECT_FALSE(answer["result"].contains("isError"));
}

TEST_P(Tools, EachKindOfResult) {
  Server server(test::server_options());
  server.tool("text", "", [] { return "hello"; });
  server.tool("string", "", [] { return std::string("hello"); });
  server.tool("content", "", [] { return image("\x01\x02", "image/png"); });
  server.tool("several", "", [] {
    return std::vector<Content>{text("a"), embed(TextResourceContents{.uri = "x:1", .text = "b"})};
  });
  server.tool("result", "", [] {
    return ToolResult{.content = {text("bad")}, .isError = true, ._meta = json::Object{{"k", 1}}};
  });
  server.tool("void", "", [] {});
  server.tool("result_void", "", []() -> Result<void> { return {}; });
  server.tool("good", "", []() -> Result<std::string> { return "fine"; });
  Link link(server, GetParam());
  EXPECT_EQ(text_of(link.tool("text")), "hello");
  EXPECT_EQ(text_of(link.tool("string")), "hello");
  EXPECT_TRUE(equals(link.tool("content")["result"]["content"],
                     R"([{"type":"image","data":"AQI=","mimeType":"image/png"}])"));
  EXPECT_TRUE(equals(link.tool("several")["result"]["content"],
                     R"([{"type":"text","text":"a"},
                         {"type":"resource","resource":{"uri":"x:1","text":"b"}}])"));
  const json::Value result = link.tool("result");
  EXPECT_TRUE(is_error_result(result));
  EXPECT_TRUE(equals(result["result"]["_meta"]["k"], "1"));
  EXPECT_TRUE(equals(link.tool("void")["result"]["content"], "[]"));
  EXPECT_TRUE(equals(link.tool("result_void")["result"]["content"], "[]"));
  EXPECT_EQ(text_of(link.tool("good")), "fine");
  for (const char* name : {"text", "content", "several", "result", "void"}) {
    EXPECT_FALSE(listed(link, name).contains("outputSchema")) << name;
  }
}

TEST_P(Tools, ValuesThatAreNoObjectsAreStructuredOnlyInTheNewEra) {
  Server server(test::server_options());
  server.tool("list", "", [] { return std::vector<Forecast>{{.text = "a", .degrees = 1}}; });
  server.tool("map", "", [] { return std::map<std::string, int>{{"a", 1}}; });
  server.tool("maybe", "", [] { return std::optional<int>(); });
  server.tool("number", "", [] { return 7; });
  Link link(server, GetParam());
  const json::Value list = link.tool("list");
  EXPECT_TRUE(test::same_json(text_of(list), R"([{"text":"a","degrees":1}])"));
  EXPECT_EQ(list["result"].contains("structuredContent"), modern());
  EXPECT_EQ(listed(link, "list").contains("outputSchema"), modern());
  const json::Value map = link.tool("map");
  EXPECT_EQ(map["result"].contains("structuredContent"), structured());
  EXPECT_EQ(listed(link, "map").contains("outputSchema"), structured());
  const json::Value maybe = link.tool("maybe");
  EXPECT_EQ(text_of(maybe), "null");
  EXPECT_EQ(maybe["result"].contains("structuredContent"), modern());
  EXPECT_EQ(link.tool("number")["result"].contains("structuredContent"), modern());
}

TEST_P(Tools, WithoutParametersTheSchemaIsAnObjectThatMayBeEmpty) {
  Server server(test::server_options());
  server.tool("now", "", [] { return "late"; });
  server.tool("who", "", [](Context& cx) { return cx.client().name; });
  Link link(server, GetParam());
  const json::Value schema = listed(link, "now")["inputSchema"];
  EXPECT_EQ(schema["type"].as_string(), "object");
  EXPECT_FALSE(schema.contains("required"));
  EXPECT_EQ(text_of(link.tool("now")), "late");
  EXPECT_EQ(text_of(link.tool("now", R"({"more":1})")), "late");
  EXPECT_EQ(text_of(link.ask("tools/call", R"({"name":"now"})")), "late");
  EXPECT_EQ(text_of(link.tool("who")), "tester");
}

TEST_P(Tools, ArgumentsThatAreNoObjectNeverReachTheHandler) {
  Server server(test::server_options());
  int runs = 0;
  server.tool("none", "", [&runs] { ++runs; });
  server.tool("some", "", [&runs](Forecast) { ++runs; });
  server.tool("any", "", [&runs](json::Value) { ++runs; });
  Link link(server, GetParam());
  for (const char* name : {"none", "some", "any"}) {
    for (const char* arguments : {"5", "[1]", R"("x")", "true"}) {
      const json::Value answer = link.tool(name, arguments);
      EXPECT_TRUE(code_of(answer) == -32602 || is_error_result(answer))
          << name << " took " << arguments << ": " << answer.dump();
    }
  }
  EXPECT_EQ(runs, 0);
}

TEST_P(Tools, ArgumentsMayBeLeftOut) {
  Server server(test::server_options());
  struct Options {
    std::optional<int> days{};
  };
  server.tool("forecast", "", [](Weather in) { return in.city; });
  server.tool("options", "", [](Options in) { return in.days ? "days" : "none"; });
  server.tool("map", "",
              [](std::map<std::string, std::string> in) { return std::to_string(in.size()); });
  server.tool("value", "", [](json::Value in) { return in.dump(); });
  server.tool("object", "", [](json::Object in) { return std::to_string(in.size()); });
  server.tool("raw", "", [](RawJson in) { return in.text; });
  server.tool("view", "", [](json::View in) { return in.find("x") ? "x" : "none"; });
  server.tool("schema", "", [](json::Value) { return "called"; },
              {.input_schema = RawJson{R"({"type":"object","required":["city"]})"}});
  server.prompt("map", "",
                [](std::map<std::string, std::string> in) { return std::to_string(in.size()); });
  Link link(server, GetParam());
  const auto call = [&](std::string_view name) {
    return link.ask("tools/call", R"({"name":)" + json::quote(name) + "}");
  };
  EXPECT_EQ(text_of(call("options")), "none");
  EXPECT_EQ(text_of(call("map")), "0");
  EXPECT_EQ(text_of(call("value")), "{}");
  EXPECT_EQ(text_of(call("object")), "0");
  EXPECT_EQ(text_of(call("raw")), "{}");
  EXPECT_EQ(text_of(call("view")), "none");
  EXPECT_EQ(code_of(link.ask("prompts/get", R"({"name":"map"})")), 0);
  for (const char* name : {"forecast", "schema"}) {
    const json::Value answer = call(name);
    const std::string text = is_error_result(answer) ? text_of(answer) : error_text(answer);
    EXPECT_TRUE(has(text, "\"city\"")) << answer.dump();
    EXPECT_FALSE(has(text, "null"));
  }
}

TEST_P(Tools, ArgumentErrorsNamePathAndKeyword) {
  Server server(test::server_options());
  server.tool("forecast", "", [](Weather) { return "ran"; });
  server.tool("raw", "", [](RawJson in) { return in.text; },
              {.input_schema = RawJson{
                   R"({"type":"object","properties":{"n":{"type":"integer","maximum":3}}})"}});
  Link link(server, GetParam());
  struct Case {
    const char* tool;
    const char* arguments;
    const char* path;
    const char* keyword;
  };
  for (const Case& c :
       {Case{"forecast", R"({"unit":"kelvin"})", "city", "required"},
        Case{"forecast", R"({"city":1,"unit":"kelvin"})", "/city", "type"},
        Case{"forecast", R"({"city":"x","unit":"miles"})", "/unit", "enum"},
        Case{"forecast", R"({"city":"x","unit":"kelvin","days":99})", "/days", "maximum"},
        Case{"raw", R"({"n":4})", "/n", "maximum"}}) {
    const json::Value answer = link.tool(c.tool, c.arguments);
    const bool result = GetParam() >= "2025-11-25";
    EXPECT_EQ(is_error_result(answer), result) << answer.dump();
    EXPECT_EQ(code_of(answer), result ? 0 : -32602) << answer.dump();
    const std::string text = result ? text_of(answer) : error_text(answer);
    EXPECT_TRUE(has(text, c.path));
    EXPECT_TRUE(has(text, c.keyword));
  }
  EXPECT_EQ(text_of(link.tool("raw", R"({"n":3})")), R"({"n":3})");
}

TEST_P(Tools, UnknownAndMalformedCalls) {
  Server server(test::server_options());
  server.tool("known", "", [] {});
  Link link(server, GetParam());
  EXPECT_EQ(code_of(link.tool("unknown")), -32602);
  EXPECT_EQ(code_of(link.ask("tools/call", R"({"name":5})")), -32602);
  EXPECT_EQ(code_of(link.ask("tools/call", "{}")), -32602);
  const std::string long_name(100'000, 'x');
  const json::Value answer = link.tool(long_name);
  EXPECT_EQ(code_of(answer), -32602);
  EXPECT_LT(error_text(answer).size(), 1000u);
}

TEST_P(Tools, ThreeRoadsOfFailure) {
  Server server(test::server_options());
  server.tool("told", "", []() -> Result<int> { return tool_error("no such bird"); });
  server.tool("error", "", []() -> Result<int> {
    return Error{.code = 77, .message = "seventy-seven", .data = R"({"k":1})"};
  });
  server.tool("threw", "", []() -> int { throw std::runtime_error("secret path /etc"); });
  server.tool("threw_else", "", []() -> int { throw 5; });
  // How a call of the handler's own may end: inside this process, or by another server's word.
  const auto passes_on = [&](const char* name, std::int64_t code, Cause cause) {
    server.tool(name, "", [=]() -> Result<int> {
      return Error{.code = code, .message = "x", .cause = cause};
    });
  };
  passes_on("closed", rpc::code::connection_closed, Cause::connection_closed);
  passes_on("timeout", rpc::code::request_timeout, Cause::timeout);
  passes_on("cancelled", rpc::code::cancelled, Cause::cancelled);
  passes_on("busy", rpc::code::busy, Cause::busy);
  passes_on("own", -32050, Cause::unspecified);
  passes_on("theirs", rpc::code::request_timeout, Cause::peer);
  Link link(server, GetParam());
  const json::Value told = link.tool("told");
  EXPECT_TRUE(is_error_result(told));
  EXPECT_EQ(text_of(told), "no such bird");
  EXPECT_FALSE(told["result"].contains("structuredContent"));
  const json::Value error = link.tool("error");
  EXPECT_TRUE(equals(error["error"], R"({"code":77,"message":"seventy-seven","data":{"k":1}})"));
  for (const char* name : {"threw", "threw_else"}) {
    const json::Value threw = link.tool(name);
    EXPECT_EQ(code_of(threw), -32603);
    EXPECT_EQ(threw.dump().find("secret"), std::string::npos);
  }
  for (const char* name : {"closed", "timeout", "cancelled", "busy"}) {
    EXPECT_EQ(code_of(link.tool(name)), -32603) << name;
  }
  EXPECT_EQ(code_of(link.tool("own")), -32050);
  EXPECT_EQ(code_of(link.tool("theirs")), rpc::code::request_timeout);
}

TEST_P(Tools, JsonOfItsOwnKind) {
  Server server(test::server_options());
  const RawJson schema{R"({"type":"object","properties":{"a":{}},"x-mine":[1.0]})"};
  server.tool("value", "", [](json::Value in) { return in; }, {.input_schema = schema});
  server.tool("view", "", [](json::View in) { return std::string(in.find("a").source()); });
  server.tool("raw", "", [](RawJson in) { return in; },
              {.output_schema = RawJson{R"({"type":"object"})"}});
  Link link(server, GetParam());
  EXPECT_TRUE(equals(listed(link, "value")["inputSchema"], schema.text));
  EXPECT_TRUE(equals(listed(link, "view")["inputSchema"], R"({"type":"object"})"));
  EXPECT_EQ(text_of(link.tool("value", R"({"a":[1,{"b":null}]})")), R"({"a":[1,{"b":null}]})");
  EXPECT_EQ(text_of(link.tool("view", R"({"a":12345678901234567890123})")),
            "12345678901234567890123");
  EXPECT_EQ(text_of(link.tool("raw", R"({"a":1})")), R"({"a":1})");
  EXPECT_EQ(listed(link, "raw").contains("outputSchema"), structured());
}

TEST_P(Tools, ResultsAreCheckedOnRequest) {
  ServerOptions options = test::server_options();
  options.check_output = true;
  Server server(std::move(options));
  const RawJson schema{R"({"type":"object","properties":{"n":{"type":"integer"}}})"};
  server.tool("raw", "", [](json::Value in) { return in; }, {.output_schema = schema});
  server.tool("result", "",
              [](json::Value in) { return ToolResult{.structuredContent = RawJson{in.dump()}}; },
              {.output_schema = schema});
  server.tool(
      "failed", "",
      [] { return ToolResult{.structuredContent = RawJson{R"({"n":"x"})"}, .isError = true}; },
      {.output_schema = schema});
  Link link(server, GetParam());
  for (const char* name : {"raw", "result"}) {
    EXPECT_EQ(code_of(link.tool(name, R"({"n":1})")), 0) << name;
    EXPECT_EQ(code_of(link.tool(name, R"({"n":"x"})")), -32603) << name;
  }
  EXPECT_TRUE(is_error_result(link.tool("failed")));
}

TEST_P(Tools, OneMoreThanTheLimitIsBusy) {
  Server server(test::server_options());
  std::vector<Reply<std::string>> replies;
  server.tool("slow", "", [&](Reply<std::string> reply) { replies.push_back(std::move(reply)); },
              {.concurrency = 2});
  Link link(server, GetParam());
  const std::string first = link.request("tools/call", Link::tool_params("slow"));
  const std::string second = link.request("tools/call", Link::tool_params("slow"));
  const json::Value third = link.tool("slow");
  EXPECT_EQ(code_of(third), -32603);
  EXPECT_TRUE(has(error_text(third), "busy"));
  replies[0]("one");
  EXPECT_EQ(text_of(link.take_answer(first)), "one");
  const std::string fourth = link.request("tools/call", Link::tool_params("slow"));
  EXPECT_EQ(replies.size(), 3u);
  replies[1]("two");
  replies[2]("four");
  EXPECT_EQ(text_of(link.take_answer(second)), "two");
  EXPECT_EQ(text_of(link.take_answer(fourth)), "four");
  // The limit of a connection.
  Limits limits;
  limits.in_flight = 1;
  server.tool("free", "", [&](Reply<std::string> reply) { replies.push_back(std::move(reply)); });
  Link narrow(server, GetParam(), {.limits = limits});
  const std::string waiting = narrow.request("tools/call", Link::tool_params("free"));
  EXPECT_EQ(code_of(narrow.tool("free")), -32603);
  replies.back()("done");
  EXPECT_EQ(text_of(narrow.take_answer(waiting)), "done");
}

TEST(ToolsRegistration, WhatCannotBeOfferedThrows) {
  Server server(test::server_options());
  EXPECT_THROW(server.tool("b", "", blocking([] {})), std::invalid_argument);
  EXPECT_THROW(server.tool("", "", [] {}), std::invalid_argument);
  const auto with_input = [&](const char* schema) {
    server.tool("x", "", [](json::Value) {}, {.input_schema = RawJson{schema}});
  };
  EXPECT_THROW(with_input("{"), std::invalid_argument);
  EXPECT_THROW(with_input(R"({"type":"array"})"), std::invalid_argument);
  EXPECT_THROW(with_input(R"({"type":"object","properties":5})"), std::invalid_argument);
  EXPECT_THROW(with_input(R"({"type":"object","$ref":"https://example.com/x"})"),
               std::invalid_argument);
  EXPECT_THROW(server.tool("x", "", [] { return json::Value(); },
                           {.output_schema = RawJson{R"({"type":7})"}}),
               std::invalid_argument);
  EXPECT_THROW(Server(ServerOptions{}), std::invalid_argument);
  // None of them is there now.
  Link link(server, test::modern_revision);
  EXPECT_EQ(code_of(link.ask("tools/list")), -32601);
}

TEST(ToolsRegistration, HandlersMayOwnWhatCannotBeCopied) {
  Server server(test::server_options());
  server.tool("own", "", [p = std::make_unique<int>(5)] { return std::to_string(*p); });
  Link link(server, test::modern_revision);
  EXPECT_EQ(text_of(link.tool("own")), "5");
}

}  // namespace
}  // namespace godwit::inline v0
