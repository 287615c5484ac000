// What an Endpoint asks of the fields of HTTP: names, arguments, media types, origins.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stateless.hpp"

namespace godwit::inline v0 {
namespace {

using test::has;

// The fields of HTTP.

TEST_F(Stateless, NamesOfFieldsHaveAnyCaseAndValuesDoNot) {
  FakeRequest loud = Site::post(Site::modern_body("7", "tools/call", R"({"name":"echo",
      "arguments":{"city":"Oslo"}})"));
  loud.with("mcp-protocol-VERSION", "2026-07-28").with("MCP-METHOD", "tools/call");
  loud.with("mcp-name", "echo");
  EXPECT_EQ(outcome(site.send(loud)), "200 result 7");
  EXPECT_EQ(outcome(site.send(Site::modern("7", "tools/list").set("Mcp-Method", "TOOLS/LIST"))),
            "400 -32020 7");
  EXPECT_EQ(outcome(site.send(Site::modern_tool("7", "echo", oslo).set("Mcp-Name", "Echo"))),
            "400 -32020 7");
}

TEST_F(Stateless, AFieldThatStandsTwiceSaysTwoThings) {
  // Somebody on the way may have read the other one.
  EXPECT_EQ(outcome(site.send(Site::modern("7", "tools/list").with("Mcp-Method", "tools/call"))),
            "400 -32020 7");
  EXPECT_EQ(outcome(site.send(Site::modern_tool("7", "echo", oslo).with("Mcp-Name", "steps"))),
            "400 -32020 7");
  EXPECT_EQ(outcome(site.send(
                Site::modern("7", "tools/list").with("MCP-Protocol-Version", "2025-11-25"))),
            "400 -32020 7");
  EXPECT_EQ(runs, 0);
}

TEST(StatelessNames, TravelInBase64WhereTheyMust) {
  struct Case {
    const char* name;
    const char* field;
  };
  const Case good[] = {{"Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="},
                       {" padded ", "=?base64?IHBhZGRlZCA=?="},
                       {"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
                       {"plain", "=?base64?cGxhaW4=?="},
                       {"=?base64?open", "=?base64?open"},
                       {"shut?=", "shut?="},
                       {"=?BASE64?cGxhaW4=?=", "=?BASE64?cGxhaW4=?="}};
  Site site;
  site.server.prompt("p", "", [] { return "p"; });
  for (const Case& c : good) {
    site.server.prompt(c.name, "", [] { return "found"; });
    const std::string params = R"({"name":)" + json::quote(c.name) + "}";
    FakeExchange& x = site.send(Site::modern("7", "prompts/get", params).set("Mcp-Name", c.field));
    EXPECT_EQ(outcome(x), "200 result 7") << c.field << x.body;
  }
  const Case bad[] = {{"plain", "=?base64?cGxhaW4?="},    // without its padding
                      {"plain", "=?base64?cGxhaW4==?="},  // with too much
                      {"plain", "=?base64?cGxh aW4=?="},  // not of the alphabet
                      {"plain", "=?base64?cGxh-W4=?="},
                      {"plain", "=?base64?cGxhaW5=?="},  // bits that no byte uses
                      {"plain", "=?Base64?cGxhaW4=?="},  // the marks are lower case
                      {"plain", "=?base64?UExBSU4=?="},  // PLAIN
                      {"plain",
                       "=?base64?"
                       "?="},
                      {"plain", ""},
                      {"Hello, 世界", "Hello, ??"}};
  for (const Case& c : bad) {
    const std::string params = R"({"name":)" + json::quote(c.name) + "}";
    FakeExchange& x = site.send(Site::modern("7", "prompts/get", params).set("Mcp-Name", c.field));
    EXPECT_EQ(outcome(x), "400 -32020 7") << c.field << x.body;
  }
}

TEST(StatelessNames, AFieldInMarksIsAlwaysDecoded) {
  // Read by its rules the field says "safe", the body says something else.
  Site site;
  site.server.prompt("=?base64?c2FmZQ==?=", "", [] { return "unsafe"; });
  FakeExchange& x =
      site.send(Site::modern("7", "prompts/get", R"({"name":"=?base64?c2FmZQ==?="})"));
  EXPECT_EQ(outcome(x), "400 -32020 7") << x.body;
}

struct Params : testing::Test {
  Params() {
    ToolOptions options;
    options.input_schema.text = R"({"type":"object","properties":{
      "region":{"type":["string","null"]},
      "zone":{"type":"string","x-mcp-header":"Zone"},
      "count":{"type":"integer","x-mcp-header":"Count"},
      "dry":{"type":"boolean","x-mcp-header":"Dry"},
      "deep":{"type":"object","properties":{"inner":{"type":"object","properties":{
        "leaf":{"type":"string","x-mcp-header":"Leaf"}}}}}}})";
    options.check_arguments = false;
    site.server.tool(
        "t", "",
        [this](json::Value) {
          ++runs;
          return "ran";
        },
        options);
  }
  std::string call(std::string_view arguments,
                   std::vector<std::pair<std::string, std::string>> fields = {}) {
    FakeRequest request = Site::modern_tool("7", "t", arguments);
    for (auto& [name, value] : fields) request.with(name, value);
    return outcome(site.send(request));
  }
  int runs = 0;
  Site site;
};

const std::string yes = "200 result 7";
const std::string no = "400 -32020 7";

TEST_F(Params, MustStandInTheFieldsTheSchemaNames) {
  EXPECT_EQ(call("{}"), yes);
  EXPECT_EQ(call(R"({"zone":"eu"})"), no);
  EXPECT_EQ(call(R"({"zone":"eu"})", {{"Mcp-Param-Zone", "eu"}}), yes);
  EXPECT_EQ(call(R"({"zone":"eu"})", {{"MCP-PARAM-ZONE", "eu"}}), yes);
  EXPECT_EQ(call(R"({"zone":"eu"})", {{"Mcp-Param-Zone", "EU"}}), no);
  EXPECT_EQ(call(R"({"zone":"eu"})", {{"Mcp-Param-Zone", ""}}), no);
  EXPECT_EQ(call(R"({"zone":""})", {{"Mcp-Param-Zone", ""}}), yes);
  EXPECT_EQ(call(R"({"zone":""})"), no);
  EXPECT_EQ(call(R"({"zone":"ü"})", {{"Mcp-Param-Zone", "=?base64?w7w=?="}}), yes);
  EXPECT_EQ(call(R"({"zone":"ü"})", {{"Mcp-Param-Zone", "=?base64?w7w?="}}), no);
  EXPECT_EQ(call(R"({"zone":"ü"})", {{"Mcp-Param-Zone", "=?base64?w7w!?="}}), no);
  EXPECT_EQ(call(R"({"zone":"eu"})", {{"Mcp-Param-Zone", "=?base64?ZXU=?="}}), yes);
}

TEST_F(Params, NumbersAndTruthsAreComparedByValue) {
  EXPECT_EQ(call(R"({"count":42})", {{"Mcp-Param-Count", "42"}}), yes);
  EXPECT_EQ(call(R"({"count":42})", {{"Mcp-Param-Count", "42.0"}}), yes);
  EXPECT_EQ(call(R"({"count":42.0})", {{"Mcp-Param-Count", "42"}}), yes);
  EXPECT_EQ(call(R"({"count":42})", {{"Mcp-Param-Count", "43"}}), no);
  EXPECT_EQ(call(R"({"count":42})", {{"Mcp-Param-Count", "42x"}}), no);
  EXPECT_EQ(call(R"({"count":42})", {{"Mcp-Param-Count", "42, 42"}}), no);
  EXPECT_EQ(call(R"({"count":-1})", {{"Mcp-Param-Count", "-1"}}), yes);
  EXPECT_EQ(call(R"({"count":0})", {{"Mcp-Param-Count", "0"}}), yes);
  EXPECT_EQ(call(R"({"count":9007199254740991})", {{"Mcp-Param-Count", "9007199254740991"}}), yes);
  EXPECT_EQ(call(R"({"count":9007199254740991})", {{"Mcp-Param-Count", "9007199254740990"}}), no);
  EXPECT_EQ(call(R"({"dry":true})", {{"Mcp-Param-Dry", "true"}}), yes);
  EXPECT_EQ(call(R"({"dry":false})", {{"Mcp-Param-Dry", "false"}}), yes);
  EXPECT_EQ(call(R"({"dry":true})", {{"Mcp-Param-Dry", "True"}}), no);
  EXPECT_EQ(call(R"({"dry":true})", {{"Mcp-Param-Dry", "1"}}), no);
  EXPECT_EQ(call(R"({"dry":true})"), no);
}

TEST_F(Params, NothingIsExpectedOfWhatIsNullOrAbsent) {
  EXPECT_EQ(call(R"({"zone":null})"), yes);
  EXPECT_EQ(call(R"({"count":null,"dry":null})"), yes);
  EXPECT_EQ(call(R"({"deep":null})"), yes);
  EXPECT_EQ(call(R"({"deep":{}})"), yes);
  EXPECT_EQ(call(R"({"region":"eu"})"), yes);
}

TEST_F(Params, AreFoundInsideObjects) {
  EXPECT_EQ(call(R"({"deep":{"inner":{"leaf":"x"}}})", {{"Mcp-Param-Leaf", "x"}}), yes);
  EXPECT_EQ(call(R"({"deep":{"inner":{"leaf":"x"}}})", {{"Mcp-Param-Leaf", "y"}}), no);
  EXPECT_EQ(call(R"({"deep":{"inner":{"leaf":"x"}}})"), no);
}

TEST_F(Params, FieldsThatNobodyKnowsAreLeftAlone) {
  EXPECT_EQ(call("{}", {{"Mcp-Param-Other", "=?base64?!?="}, {"Mcp-Param-Region", "x"}}), yes);
  EXPECT_EQ(runs, 1);
}

TEST_F(Params, AFieldThatStandsTwiceSaysTwoThings) {
  EXPECT_EQ(call(R"({"zone":"eu"})", {{"Mcp-Param-Zone", "eu"}, {"Mcp-Param-Zone", "us"}}), no);
}

TEST_F(Params, LargeNumbersThatDifferAreNotTheSame) {
  EXPECT_EQ(call(R"({"count":9007199254740993})", {{"Mcp-Param-Count", "9007199254740992"}}), no);
  EXPECT_EQ(call(R"({"count":9223372036854775807})", {{"Mcp-Param-Count", "9223372036854775806"}}),
            no);
}

struct Place {
  std::string region{};
  static constexpr Field fields[] = {{.name = "region", .schema = R"({"x-mcp-header":"Region"})"}};
};

TEST(ParamsOfStructs, AreMarkedInTheirFields) {
  Site site;
  site.server.tool("t", "", [](Place in) { return in.region; });
  const auto call = [&] { return Site::modern_tool("7", "t", R"({"region":"eu"})"); };
  EXPECT_EQ(outcome(site.send(call().with("Mcp-Param-Region", "eu"))), "200 result 7");
  EXPECT_EQ(outcome(site.send(call().with("Mcp-Param-Region", "us"))), "400 -32020 7");
  EXPECT_EQ(outcome(site.send(call())), "400 -32020 7");
}

// Refusals before the body is looked at.

TEST_F(Stateless, WhatIsAskedOfEveryPost) {
  const auto list = [] { return Site::modern("7", "tools/list"); };
  EXPECT_EQ(site.send(list().without("Content-Type")).status, 415);
  EXPECT_EQ(site.send(list().set("Content-Type", "text/plain")).status, 415);
  EXPECT_EQ(site.send(list().set("Content-Type", "application/jsonx")).status, 415);
  EXPECT_EQ(site.send(list().set("Content-Type", "text/plain; x=application/json")).status, 415);
  EXPECT_EQ(site.send(list().with("Content-Type", "text/plain")).status, 415);
  EXPECT_EQ(site.send(list().set("Content-Type", "Application/JSON; charset=utf-8")).status, 200);
  EXPECT_EQ(site.send(list().set("Content-Type", "application/json ;charset=utf-8")).status, 200);
  EXPECT_EQ(site.send(list().set("Accept", "application/json")).status, 406);
  EXPECT_EQ(site.send(list().set("Accept", "text/event-stream")).status, 406);
  EXPECT_EQ(site.send(list().set("Accept", "text/html")).status, 406);
  EXPECT_EQ(site.send(list().set("Accept", "*/*")).status, 200);
  EXPECT_EQ(site.send(list().set("Accept", "text/*;q=0.5, application/*")).status, 200);
  EXPECT_EQ(site.send(list().set("Accept", "application/json").with("Accept", "text/event-stream"))
                .status,
            200);
  EXPECT_EQ(site.send(list().set("Host", "evil.example")).status, 403);
  EXPECT_EQ(site.send(list().with("Origin", "http://evil.example")).status, 403);
  EXPECT_EQ(site.send(list().with("Origin", "null")).status, 403);
  EXPECT_EQ(site.send(list().with("Origin", "http://localhost")).status, 200);
  EXPECT_EQ(site.send(list().with("Sec-Fetch-Site", "cross-site")).status, 403);
}

TEST_F(Stateless, PathsWithAndWithoutASlashAndNoOthers) {
  const auto to = [&](std::string target) {
    FakeRequest request("POST", std::move(target));
    request.with("Host", "localhost")
        .with("Content-Type", "application/json")
        .with("MCP-Protocol-Version", "2026-07-28")
        .with("Mcp-Method", "tools/list")
        .body(Site::modern_body("7", "tools/list"));
    return site.send(request).status;
  };
  EXPECT_EQ(to("/mcp"), 200);
  EXPECT_EQ(to("/mcp/"), 200);
  EXPECT_EQ(to("/mcp?x=1"), 200);
  for (const char* other : {"/", "/mcp//", "/mcpx", "/MCP", "/mcp/x", "/mc", "*", "/mcp%2f"}) {
    EXPECT_EQ(to(other), 404) << other;
  }
}

TEST_F(Stateless, NobodyIsToldOfOriginsUnlessSomeAreListed) {
  FakeExchange& x = site.send(Site::modern("7", "tools/list").with("Origin", "http://localhost"));
  EXPECT_TRUE(x.fields.empty());
  FakeExchange& y = site.send(FakeRequest("OPTIONS", "/mcp").with("Host", "localhost"));
  EXPECT_EQ(y.status, 405);
}

TEST(StatelessCors, ListedOriginsAreToldThatTheyMay) {
  SiteOptions options;
  options.endpoint.access.origins = {"https://app.example"};
  Site site(std::move(options));
  site.server.tool("t", "", [] { return "t"; });
  FakeExchange& flight = site.send(FakeRequest("OPTIONS", "/mcp")
                                       .with("Host", "localhost")
                                       .with("Origin", "https://app.example")
                                       .with("Access-Control-Request-Method", "POST")
                                       .with("Access-Control-Request-Headers", "mcp-param-x"));
  EXPECT_EQ(flight.status, 204);
  EXPECT_EQ(flight.field("Access-Control-Allow-Origin"), "https://app.example");
  EXPECT_EQ(flight.field("Access-Control-Allow-Headers"), "mcp-param-x");
  EXPECT_TRUE(has(flight.field("Access-Control-Allow-Methods"), "DELETE"));
  FakeExchange& call = site.send(Site::modern_tool("7", "t").with("Origin", "https://app.example"));
  EXPECT_EQ(call.status, 200);
  EXPECT_EQ(call.field("Access-Control-Allow-Origin"), "https://app.example");
  EXPECT_EQ(call.field("Vary"), "Origin");
  EXPECT_EQ(call.field("Access-Control-Expose-Headers"), "Mcp-Session-Id");
  FakeExchange& other = site.send(Site::modern_tool("7", "t").with("Origin", "https://b.example"));
  EXPECT_EQ(other.status, 403);
  EXPECT_EQ(other.field("Access-Control-Allow-Origin"), "");
  FakeExchange& own = site.send(Site::modern_tool("7", "t"));
  EXPECT_EQ(own.status, 200);
  EXPECT_EQ(own.field("Access-Control-Allow-Origin"), "");
}

}  // namespace
}  // namespace godwit::inline v0
