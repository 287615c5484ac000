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
using test::error_text;
using test::has;
using test::Link;

std::string uri_params(std::string_view uri) { return R"({"uri":)" + json::quote(uri) + "}"; }

json::Value read(Link& link, std::string_view uri) {
  return link.ask("resources/read", uri_params(uri));
}
std::string first_text(Link& link, std::string_view uri) {
  const json::Value answer = read(link, uri);
  const json::Value& text = answer["result"]["contents"][0]["text"];
  return text.is_string() ? text.get<std::string>() : answer.dump();
}

class Resources : public testing::TestWithParam<std::string_view> {
 protected:
  Resources() : server(test::server_options()) {}
  bool modern() const { return test::is_modern(GetParam()); }
  Server server;
};
INSTANTIATE_TEST_SUITE_P(Revisions, Resources, testing::ValuesIn(test::all_revisions));

TEST_P(Resources, EachKindOfContents) {
  server.resource("x:text", "t", [] { return "words"; }, {.mimeType = "text/plain"});
  server.resource("x:string", "t", [](Context&) { return std::string("words"); });
  server.resource("x:blob", "t", [] { return Blob{std::string("\x00\xff", 2)}; },
                  {.mimeType = "image/png"});
  server.resource("x:contents", "t", [] {
    return ResourceContents(TextResourceContents{.uri = "x:other", .text = "a"});
  });
  server.resource("x:plain", "t", [] { return TextResourceContents{.uri = "x:2", .text = "b"}; });
  server.resource("x:several", "t", [] {
    return std::vector<ResourceContents>{TextResourceContents{.uri = "x:1", .text = "a"},
                                         BlobResourceContents{.uri = "x:2", .blob = "AA=="}};
  });
  server.resource("x:result", "t", [] {
    return ReadResult{.contents = {TextResourceContents{.uri = "x:1", .text = "a"}},
                      ._meta = json::Object{{"k", 1}}};
  });
  Link link(server, GetParam());
  EXPECT_TRUE(equals(read(link, "x:text")["result"]["contents"],
                     R"([{"uri":"x:text","mimeType":"text/plain","text":"words"}])"));
  EXPECT_EQ(first_text(link, "x:string"), "words");
  EXPECT_TRUE(equals(read(link, "x:blob")["result"]["contents"],
                     R"([{"uri":"x:blob","mimeType":"image/png","blob":"AP8="}])"));
  EXPECT_TRUE(
      equals(read(link, "x:contents")["result"]["contents"], R"([{"uri":"x:other","text":"a"}])"));
  EXPECT_EQ(first_text(link, "x:plain"), "b");
  EXPECT_EQ(read(link, "x:several")["result"]["contents"].size(), 2u);
  EXPECT_TRUE(equals(read(link, "x:result")["result"]["_meta"]["k"], "1"));
}

TEST_P(Resources, Failures) {
  server.resource("x:gone", "t", []() -> Result<std::string> { return not_found("x:gone"); });
  server.resource("x:error", "t",
                  []() -> Result<std::string> { return Error{.code = 5, .message = "five"}; });
  server.resource("x:tool", "t", []() -> Result<std::string> { return tool_error("no tool"); });
  server.resource("x:throw", "t", []() -> std::string { throw std::runtime_error("secret"); });
  Link link(server, GetParam());
  const int missing = modern() ? -32602 : -32002;
  for (const char* uri : {"x:gone", "x:nothing", "", "y:", "x:GONE"}) {
    const json::Value answer = read(link, uri);
    EXPECT_EQ(code_of(answer), missing) << uri;
    EXPECT_TRUE(equals(answer["error"]["data"]["uri"], json::quote(uri)));
  }
  EXPECT_EQ(code_of(read(link, "x:error")), 5);
  EXPECT_EQ(code_of(read(link, "x:tool")), -32603);
  const json::Value threw = read(link, "x:throw");
  EXPECT_EQ(code_of(threw), -32603);
  EXPECT_EQ(threw.dump().find("secret"), std::string::npos);
  EXPECT_EQ(code_of(link.ask("resources/read", "{}")), -32602);
  EXPECT_EQ(code_of(link.ask("resources/read", R"({"uri":5})")), -32602);
}

struct Row {
  std::string table{};
  std::optional<std::string> limit{};
};

TEST_P(Resources, TemplatesTakeTheirVariables) {
  server.resource_template("db://{table}/rows{?limit}", "rows",
                           [](Row in) { return in.table + ":" + in.limit.value_or("all"); },
                           {.mimeType = "text/x-row"});
  server.resource_template("file:///{+path}", "file",
                           [](std::map<std::string, std::string> in, Context& cx) {
                             return in.at("path") + "@" + std::string(cx.method());
                           });
  server.resource_template("both://{a}", "one",
                           [](std::map<std::string, std::string>) { return "first"; });
  server.resource_template("both://{b}", "two",
                           [](std::map<std::string, std::string>) { return "second"; });
  server.resource("both://fixed", "fixed", [] { return "fixed"; });
  Link link(server, GetParam());
  EXPECT_TRUE(equals(read(link, "db://birds/rows?limit=5")["result"]["contents"],
                     R"([{"uri":"db://birds/rows?limit=5","mimeType":"text/x-row",
                          "text":"birds:5"}])"));
  EXPECT_EQ(first_text(link, "db://birds/rows"), "birds:all");
  EXPECT_EQ(first_text(link, "db://a%2Fb/rows"), "a/b:all");
  EXPECT_EQ(first_text(link, "file:///a/b/c.txt"), "a/b/c.txt@resources/read");
  // A resource comes before templates, the first template before the second.
  EXPECT_EQ(first_text(link, "both://fixed"), "fixed");
  EXPECT_EQ(first_text(link, "both://x"), "first");
  EXPECT_EQ(code_of(read(link, "db://birds/cols")), modern() ? -32602 : -32002);
  server.enable_template("both://{a}", false);
  EXPECT_EQ(first_text(link, "both://x"), "second");
  server.remove_template("both://{b}");
  EXPECT_EQ(code_of(read(link, "both://x")), modern() ? -32602 : -32002);
}

TEST_P(Resources, LateOnesKeepTheirUriAndVariables) {
  std::vector<Reply<std::string>> replies;
  std::vector<std::string> tables;
  server.resource_template("db://{table}/rows{?limit}", "rows",
                           [&](Row in, Reply<std::string> reply) {
                             tables.push_back(in.table);
                             replies.push_back(std::move(reply));
                           },
                           {.mimeType = "text/x-row"});
  Link link(server, GetParam());
  const std::string one = link.request("resources/read", uri_params("db://a/rows"));
  const std::string two = link.request("resources/read", uri_params("db://b/rows"));
  replies[1]("two");
  replies[0]("one");
  EXPECT_TRUE(equals(link.take_answer(one)["result"]["contents"],
                     R"([{"uri":"db://a/rows","mimeType":"text/x-row","text":"one"}])"));
  EXPECT_TRUE(equals(link.take_answer(two)["result"]["contents"],
                     R"([{"uri":"db://b/rows","mimeType":"text/x-row","text":"two"}])"));
  EXPECT_EQ(tables, (std::vector<std::string>{"a", "b"}));
}

TEST_P(Resources, AreListedAsDescribed) {
  server.resource("x:1", "one", [] { return "x"; },
                  {.title = "One",
                   .description = "about",
                   .mimeType = "text/plain",
                   .size = 1,
                   .annotations = Annotations{.audience = std::vector{Role::assistant}},
                   .meta = json::Object{{"k", 1}}});
  Link link(server, GetParam());
  const json::Value entry = link.ask("resources/list")["result"]["resources"][0];
  EXPECT_EQ(entry["uri"].as_string(), "x:1");
  EXPECT_EQ(entry["name"].as_string(), "one");
  EXPECT_EQ(entry["description"].as_string(), "about");
  EXPECT_TRUE(equals(entry["annotations"], R"({"audience":["assistant"]})"));
  const bool titles = GetParam() >= "2025-06-18";
  EXPECT_EQ(entry.contains("title"), titles);
  EXPECT_EQ(entry.contains("_meta"), titles);
  // Templates alone make it a server with resources, whose list is empty.
  Server only(test::server_options());
  only.resource_template("x:{v}", "t", [](std::map<std::string, std::string>) { return "x"; });
  Link other(only, GetParam());
  EXPECT_TRUE(equals(other.ask("resources/list")["result"]["resources"], "[]"));
  EXPECT_EQ(other.ask("resources/templates/list")["result"]["resourceTemplates"].size(), 1u);
}

TEST(ResourcesRegistration, WhatCannotBeOfferedThrows) {
  Server server(test::server_options());
  const auto text = [] { return "x"; };
  const auto map = [](std::map<std::string, std::string>) { return "x"; };
  EXPECT_THROW(server.resource("no-scheme", "x", text), std::invalid_argument);
  EXPECT_THROW(server.resource("x:1", "", text), std::invalid_argument);
  EXPECT_THROW(server.resource("x:1", "x", blocking(text)), std::invalid_argument);
  EXPECT_THROW(server.resource_template("x:{", "x", map), std::invalid_argument);
  EXPECT_THROW(server.resource_template("x:{v}", "", map), std::invalid_argument);
}

}  // namespace
}  // namespace godwit::inline v0
