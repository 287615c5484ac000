// An Endpoint with clients whose every request stands alone (2026-07-28).
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "site.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::equals;
using test::has;

constexpr std::string_view subscription = "io.modelcontextprotocol/subscriptionId";

struct Stateless : testing::Test {
  Stateless() : Stateless(SiteOptions{}) {}
  explicit Stateless(SiteOptions options) : site(std::move(options)) { offer(site.server); }

  void offer(Server& server) {
    server.tool("echo", "", [this](City in) {
      ++runs;
      return in.city;
    });
    server.tool("steps", "", [](Context& cx) {
      cx.progress(1, 2, "half");
      cx.progress(2, 2, "done\r\nall");
      return "two steps";
    });
    server.tool("wait", "", parked.handler());
    server.tool("samples", "", [](Context& cx) -> Result<std::string> {
      auto answer = cx.sample("s", {.messages = {}, .maxTokens = 1});
      if (!answer) return answer.error();
      return "sampled";
    });
    server.tool("fails", "", []() -> Result<std::string> { return rpc::internal_error("x"); });
    server.tool("throws", "", []() -> std::string { throw std::runtime_error("secret"); });
    server.tool("asks", "", [](City, Context& cx) -> Result<std::string> {
      auto name = cx.elicit<Name>("who", "Who?");
      if (!name) return name.error();
      auto more = cx.elicit<Name>("more", "And " + name->value().name + "?");
      if (!more) return more.error();
      return name->value().name + "+" + more->value().name;
    });
    server.prompt("p", "", [] { return "p"; });
    server.resource("x:1", "x", [] { return "x"; });
    server.notification("acme/note", [this](json::Value) { ++noted; });
    server.notification("acme/late", [this](json::Value, Reply<void> reply) {
      ++noted;
      late_notes.push_back(std::move(reply));
    });
  }
  FakeExchange& listen(std::string_view id = "21") {
    return site.send(
        site.modern(id, "subscriptions/listen", R"({"notifications":{"toolsListChanged":true}})"));
  }

  int runs = 0, noted = 0;
  Parked parked;
  std::vector<Reply<void>> late_notes;
  Site site;
};

// The table of answers.

TEST_F(Stateless, ASimpleRequestGetsOneJsonAnswer) {
  FakeExchange& x = site.send(site.modern_tool("7", "echo", oslo));
  EXPECT_EQ(outcome(x), "200 result 7");
  EXPECT_EQ(x.type, "application/json");
  EXPECT_EQ(test::text_of(x.answer()), "Oslo");
  EXPECT_EQ(x.answer()["result"]["resultType"].as_string(), "complete");
  EXPECT_EQ(x.field("Mcp-Session-Id"), "");
  EXPECT_EQ(site.web().sessions(), 0u);
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Stateless, IdsComeBackAsTheyWere) {
  for (const char* id : {"0", "-7", R"("7")", R"("")", "9007199254740993", R"("a\"b ü")"}) {
    FakeExchange& x = site.send(site.modern_tool(id, "echo", oslo));
    EXPECT_TRUE(test::same_json(x.answer()["id"].dump(), id)) << x.body;
    FakeExchange& bad = site.send(site.modern(id, "no/such"));
    EXPECT_EQ(bad.status, 404);
    EXPECT_TRUE(test::same_json(bad.answer()["id"].dump(), id)) << bad.body;
  }
}

TEST_F(Stateless, ANotificationGets202AndNoBody) {
  for (const char* method : {"notifications/cancelled", "acme/note", "no/such"}) {
    FakeExchange& x = site.send(site.modern("", method));
    EXPECT_EQ(outcome(x), "202") << method;
    EXPECT_EQ(x.type, "") << method;
  }
  EXPECT_EQ(noted, 1);
  // Of its headers nothing is required.
  EXPECT_EQ(outcome(site.send(site.modern("", "acme/note").without("Mcp-Method"))), "202");
}

TEST_F(Stateless, ANotificationWhoseHandlerAnswersLaterGets202) {
  FakeExchange& x = site.send(site.modern("", "acme/late"));
  EXPECT_EQ(noted, 1);
  for (auto& reply : late_notes) reply();
  site.process();
  EXPECT_EQ(outcome(x), "202");
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Stateless, TheTableOfRefusals) {
  struct Case {
    const char* what;
    FakeRequest request;
    const char* expected;
  };
  const std::string no_meta = Site::legacy_body("7", "tools/list");
  const auto meta = [](std::string_view text) {
    return Site::legacy_body("7", "tools/list", R"({"_meta":)" + std::string(text) + "}");
  };
  const auto with_version = [](std::string_view body) {
    return Site::post(body)
        .with("MCP-Protocol-Version", "2026-07-28")
        .with("Mcp-Method", "tools/list");
  };
  std::vector<Case> cases = {
      {"no meta", with_version(no_meta), "400 -32602 7"},
      {"no params", with_version(R"({"jsonrpc":"2.0","id":7,"method":"tools/list"})"),
       "400 -32602 7"},
      {"meta is null", with_version(meta("null")), "400 -32602 7"},
      {"meta is a number", with_version(meta("5")), "400 -32602 7"},
      {"no capabilities",
       with_version(meta(R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28"})")),
       "400 -32602 7"},
      {"capabilities are a list",
       with_version(meta(R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28",
                             "io.modelcontextprotocol/clientCapabilities":[]})")),
       "400 -32602 7"},
      {"no version", with_version(meta(R"({"io.modelcontextprotocol/clientCapabilities":{}})")),
       "400 -32602 7"},
      {"the version is a number", with_version(meta(R"({"io.modelcontextprotocol/protocolVersion":5,
                             "io.modelcontextprotocol/clientCapabilities":{}})")),
       "400 -32602 7"},
      {"no such level",
       Site::modern("7", "tools/list", R"({"_meta":{"io.modelcontextprotocol/logLevel":"loud"}})"),
       "400 -32602 7"},
      {"no version header", Site::modern("7", "tools/list").without("MCP-Protocol-Version"),
       "400 -32020 7"},
      {"another version header",
       Site::modern("7", "tools/list").set("MCP-Protocol-Version", "2025-11-25"), "400 -32020 7"},
      {"no method header", Site::modern("7", "tools/list").without("Mcp-Method"), "400 -32020 7"},
      {"another method header", Site::modern("7", "tools/list").set("Mcp-Method", "tools/call"),
       "400 -32020 7"},
      {"no name header", Site::modern_tool("7", "echo", oslo).without("Mcp-Name"), "400 -32020 7"},
      {"another name header", Site::modern_tool("7", "echo", oslo).set("Mcp-Name", "steps"),
       "400 -32020 7"},
      {"unknown method", Site::modern("7", "no/such"), "404 -32601 7"},
      {"initialize of the other era", Site::modern("7", "initialize"), "404 -32601 7"},
      {"ping of the other era", Site::modern("7", "ping"), "404 -32601 7"},
      {"missing capability", Site::modern_tool("7", "samples"), "400 -32021 7"},
      {"unknown tool", Site::modern_tool("7", "nobody"), "200 -32602 7"},
      {"wrong cursor", Site::modern("7", "tools/list", R"({"cursor":"x"})"), "200 -32602 7"},
      {"unknown resource", Site::modern("7", "resources/read", R"({"uri":"x:9"})"), "200 -32602 7"},
      {"unknown prompt", Site::modern("7", "prompts/get", R"({"name":"q"})"), "200 -32602 7"},
      {"internal error", Site::modern_tool("7", "fails"), "200 -32603 7"},
      {"no JSON", with_version("{\"jsonrpc\":"), "400 -32700 none"},
      {"empty", with_version(""), "400 -32700 none"},
      {"bytes", with_version("\xff\xfe"), "400 -32700 none"},
      {"array", with_version("[" + Site::modern_body("7", "tools/list") + "]"), "400 -32600 none"},
      {"empty array", with_version("[]"), "400 -32600 none"},
      {"scalar", with_version("5"), "400 -32600 none"},
      {"response", with_version(R"({"jsonrpc":"2.0","id":7,"result":{}})"), "400 -32600 none"},
      {"no version of JSON-RPC", with_version(R"({"id":7,"method":"tools/list","params":{"_meta":{
           "io.modelcontextprotocol/protocolVersion":"2026-07-28",
           "io.modelcontextprotocol/clientCapabilities":{}}}})"),
       "400 -32600 7"},
  };
  for (Case& c : cases) {
    FakeExchange& x = site.send(c.request);
    EXPECT_EQ(outcome(x), c.expected) << c.what << ": " << x.body;
    EXPECT_EQ(x.type, "application/json") << c.what;
    EXPECT_FALSE(has(x.body, R"("id":null)")) << c.what;
  }
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Stateless, AHandlerThatThrowsIsAnInternalErrorWithoutItsText) {
  FakeExchange& x = site.send(site.modern_tool("7", "throws"));
  EXPECT_EQ(x.status, 200);
  EXPECT_FALSE(has(x.body, "secret"));
  EXPECT_EQ(outcome(site.send(site.modern_tool("8", "echo", oslo))), "200 result 8");
}

TEST_F(Stateless, AnUnsupportedVersionIsToldWhatIsSpoken) {
  for (const char* version : {"2027-01-01", "2025-11-25", "", "x"}) {
    FakeRequest request = Site::post(Site::legacy_body(
        "7", "tools/list",
        R"({"_meta":{"io.modelcontextprotocol/protocolVersion":")" + std::string(version) +
            R"(","io.modelcontextprotocol/clientCapabilities":{}}})"));
    FakeExchange& x =
        site.send(request.with("MCP-Protocol-Version", version).with("Mcp-Method", "tools/list"));
    EXPECT_EQ(outcome(x), "400 -32022 7") << version;
    EXPECT_EQ(x.answer()["error"]["data"]["requested"].as_string(), version);
    EXPECT_TRUE(has(x.answer()["error"]["data"]["supported"].dump(), "2026-07-28"));
  }
}

TEST_F(Stateless, TheMistakeThatComesFirstIsTheOneThatIsTold) {
  // Each line keeps the mistakes of the line before it company.
  const auto body = [](std::string_view version, std::string_view caps, std::string_view method) {
    return R"({"jsonrpc":"2.0","id":7,"method":")" + std::string(method) +
           R"(","params":{"name":"nobody","_meta":{"io.modelcontextprotocol/protocolVersion":")" +
           std::string(version) + "\"" + std::string(caps) + "}}}";
  };
  const std::string caps = R"(,"io.modelcontextprotocol/clientCapabilities":{})";
  // A missing header before a missing _meta.
  EXPECT_EQ(outcome(site.send(Site::post(body("2027-01-01", "", "no/such")))), "400 -32020 7");
  // A missing member of _meta before a header that differs.
  EXPECT_EQ(outcome(site.send(Site::post(body("2027-01-01", "", "no/such"))
                                  .with("MCP-Protocol-Version", "2026-07-28"))),
            "400 -32602 7");
  // A header that differs before a version that is not spoken.
  EXPECT_EQ(outcome(site.send(Site::post(body("2027-01-01", caps, "no/such"))
                                  .with("MCP-Protocol-Version", "2026-07-28"))),
            "400 -32020 7");
  // That before Mcp-Method.
  EXPECT_EQ(outcome(site.send(Site::post(body("2027-01-01", caps, "no/such"))
                                  .with("MCP-Protocol-Version", "2027-01-01"))),
            "400 -32022 7");
  // Mcp-Method before whether there is such a method.
  EXPECT_EQ(outcome(site.send(Site::post(body("2026-07-28", caps, "no/such"))
                                  .with("MCP-Protocol-Version", "2026-07-28"))),
            "400 -32020 7");
  EXPECT_EQ(outcome(site.send(Site::post(body("2026-07-28", caps, "no/such"))
                                  .with("MCP-Protocol-Version", "2026-07-28")
                                  .with("Mcp-Method", "tools/call"))),
            "400 -32020 7");
  // Whether there is such a method before Mcp-Name.
  EXPECT_EQ(outcome(site.send(Site::post(body("2026-07-28", caps, "no/such"))
                                  .with("MCP-Protocol-Version", "2026-07-28")
                                  .with("Mcp-Method", "no/such"))),
            "404 -32601 7");
  // Mcp-Name before whether there is such a tool.
  EXPECT_EQ(outcome(site.send(Site::post(body("2026-07-28", caps, "tools/call"))
                                  .with("MCP-Protocol-Version", "2026-07-28")
                                  .with("Mcp-Method", "tools/call"))),
            "400 -32020 7");
}

TEST(StatelessOrder, AMethodThatIsNotOfferedIsUnknownWhateverMcpNameSays) {
  Site site;  // without tools, prompts, resources
  const std::pair<const char*, const char*> cases[] = {{"prompts/get", R"({"name":"p"})"},
                                                       {"resources/read", R"({"uri":"x:1"})"},
                                                       {"tools/call", R"({"name":"t"})"}};
  for (const auto& [method, params] : cases) {
    EXPECT_EQ(outcome(site.send(Site::modern("7", method, params))), "404 -32601 7") << method;
    EXPECT_EQ(outcome(site.send(Site::modern("7", method, params).without("Mcp-Name"))),
              "404 -32601 7")
        << method;
  }
}

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
                       {"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
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

// Streams.

TEST_F(Stateless, ProgressMakesAStreamOfOneLinePerMessage) {
  FakeExchange& x =
      site.send(site.modern_tool("7", "steps", "{}", R"(,"_meta":{"progressToken":"p"})"));
  EXPECT_EQ(x.status, 200);
  EXPECT_EQ(x.type, "text/event-stream");
  EXPECT_TRUE(x.ended());
  EXPECT_EQ(x.field("X-Accel-Buffering"), "no");
  EXPECT_EQ(x.field("Cache-Control"), "no-cache");
  const auto events = x.events();
  ASSERT_EQ(events.size(), 3u) << x.body;
  for (const auto& event : events) {
    EXPECT_EQ(event.data.size(), 1u);
    EXPECT_FALSE(event.id);
    EXPECT_FALSE(event.retry);
  }
  const auto messages = x.messages();
  EXPECT_EQ(messages[0]["method"].as_string(), "notifications/progress");
  EXPECT_EQ(messages[1]["params"]["message"].as_string(), "done\r\nall");
  EXPECT_EQ(test::text_of(messages[2]), "two steps");
  EXPECT_EQ(messages[2]["id"].dump(), "7");
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Stateless, WithoutATokenThereIsNothingToStream) {
  FakeExchange& x = site.send(site.modern_tool("7", "steps"));
  EXPECT_EQ(x.type, "application/json");
  EXPECT_EQ(outcome(x), "200 result 7");
}

TEST_F(Stateless, ALateAnswerIsJsonIfNothingWasSaidBefore) {
  FakeExchange& x = site.send(site.modern_tool("7", "wait"));
  EXPECT_EQ(x.state, FakeExchange::State::open);
  EXPECT_EQ(site.web().open_exchanges(), 1u);
  parked.replies[0]("late");
  EXPECT_GT(site.woken, 0);
  EXPECT_EQ(x.state, FakeExchange::State::open);
  site.process();
  EXPECT_EQ(outcome(x), "200 result 7");
  EXPECT_EQ(x.type, "application/json");
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Stateless, ALateAnswerEndsTheStreamThatBeganBefore) {
  FakeExchange& x =
      site.send(site.modern_tool("7", "wait", "{}", R"(,"_meta":{"progressToken":1})"));
  parked.replies[0].context().progress(1);
  site.process();
  ASSERT_TRUE(x.streaming());
  EXPECT_EQ(x.messages().size(), 1u);
  parked.replies[0]("late");
  site.process();
  EXPECT_TRUE(x.ended());
  EXPECT_EQ(test::text_of(x.answer()), "late");
}

TEST_F(Stateless, ALateErrorHasTheStatusThatFitsIt) {
  const std::pair<Error, const char*> cases[] = {
      {Error{.code = -32021, .message = "x", .data = {}}, "400 -32021 7"},
      {rpc::invalid_params("x"), "200 -32602 7"},
      {rpc::internal_error("x"), "200 -32603 7"}};
  for (const auto& [error, expected] : cases) {
    parked.replies.clear();
    FakeExchange& x = site.send(site.modern_tool("7", "wait"));
    parked.replies[0](error);
    site.process();
    EXPECT_EQ(outcome(x), expected);
  }
}

TEST(StatelessLate, ABlockingHandlerThatLacksACapabilityIs400) {
  for (const bool now : {true, false}) {
    InlineExecutor inline_executor;
    LaterExecutor later;
    SiteOptions options;
    options.server.executor = now ? static_cast<Executor*>(&inline_executor) : &later;
    Site site(std::move(options));
    site.server.tool("t", "", blocking([](Context& cx) -> Result<std::string> {
                       auto roots = cx.roots("r");
                       if (!roots) return roots.error();
                       return "roots";
                     }));
    FakeExchange& x = site.send(Site::modern_tool("7", "t"));
    later.run();
    site.process();
    EXPECT_EQ(outcome(x), "400 -32021 7") << now;
    FakeExchange& y = site.send(Site::modern_tool("8", "t", "{}", "", R"({"roots":{}})"));
    later.run();
    site.process();
    EXPECT_EQ(y.answer()["result"]["resultType"].as_string(), "input_required") << y.body;
  }
}

TEST_F(Stateless, AReplyThatIsDroppedIsAnswered) {
  FakeExchange& x = site.send(site.modern_tool("7", "wait"));
  parked.replies.clear();
  site.process();
  EXPECT_EQ(outcome(x), "200 -32603 7");
}

TEST_F(Stateless, KeepAliveCommentsGoOutWhileNothingElseDoes) {
  FakeExchange& x = listen();
  ASSERT_TRUE(x.streaming());
  const std::size_t before = x.pieces.size();
  ASSERT_TRUE(site.web().next_deadline());
  EXPECT_LE(*site.web().next_deadline(), site.clock.now() + Limits{}.sse_keep_alive);
  site.pass(Limits{}.sse_keep_alive - 1ms);
  EXPECT_EQ(x.pieces.size(), before);
  site.pass(1ms);
  ASSERT_EQ(x.pieces.size(), before + 1);
  EXPECT_EQ(x.pieces.back(), ":\n\n");
  for (int i = 0; i < 10; ++i) site.pass(Limits{}.sse_keep_alive);
  EXPECT_EQ(x.pieces.size(), before + 11);
  EXPECT_EQ(x.messages().size(), 1u);
}

TEST_F(Stateless, ALongSilenceIsKeptAliveToo) {
  FakeExchange& x = site.send(site.modern_tool("7", "wait"));
  site.pass(Limits{}.sse_keep_alive - 1ms);
  EXPECT_EQ(x.state, FakeExchange::State::open);
  site.pass(1ms);
  EXPECT_TRUE(x.streaming());
  EXPECT_EQ(x.body, ":\n\n");
  parked.replies[0]("late");
  site.process();
  EXPECT_TRUE(x.ended());
  EXPECT_EQ(test::text_of(x.answer()), "late");
}

TEST_F(Stateless, NoDeadlineIsLeftBehindByWhatIsOver) {
  FakeExchange& x = site.send(site.modern_tool("7", "wait"));
  parked.replies[0]("late");
  site.process();
  EXPECT_FALSE(x.waiting());
  site.pass(1h);
  EXPECT_FALSE(site.web().next_deadline());
}

TEST_F(Stateless, AClientThatDoesNotReadIsGivenUp) {
  FakeExchange& x =
      site.send(site.modern_tool("7", "wait", "{}", R"(,"_meta":{"progressToken":1})"));
  x.stuck = true;
  const std::stop_token stop = parked.replies[0].cancelled();
  const std::string line(1u << 20, 'x');
  for (int i = 1; i < 20 && !x.aborted(); ++i) {
    parked.replies[0].context().progress(i, {}, line);
    site.process();
  }
  EXPECT_TRUE(x.aborted());
  EXPECT_LE(x.body.size(), 4 * Limits{}.output_queue_bytes + 2 * line.size());
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_EQ(site.web().open_exchanges(), 0u);
  parked.replies[0]("late");
  site.process();
}

// Going away.

TEST_F(Stateless, AClientThatGoesAwayTakesItsRequestBackAtOnce) {
  FakeExchange& x = site.send(site.modern_tool("7", "wait"));
  const std::stop_token stop = parked.replies[0].cancelled();
  x.go();
  EXPECT_EQ(site.web().open_exchanges(), 0u);
  EXPECT_TRUE(stop.stop_requested()) << "the handler works on for nobody";
}

TEST_F(Stateless, AClientThatGoesAwayTakesItsRequestBackBeforeTheNextCall) {
  // What the endpoint does by itself or when it is called next, but not by the passing of time.
  FakeExchange& x = site.send(site.modern_tool("7", "wait"));
  const std::stop_token stop = parked.replies[0].cancelled();
  x.go();
  site.process();
  EXPECT_TRUE(stop.stop_requested());
  parked.replies[0].context().progress(1);
  parked.replies[0]("late");
  site.process();
  EXPECT_EQ(x.body, "");
  EXPECT_FALSE(x.waiting());
  EXPECT_EQ(outcome(site.send(site.modern_tool("7", "echo", oslo))), "200 result 7");
}

TEST_F(Stateless, AClientThatGoesAwayFromAStreamGetsNothingMore) {
  FakeExchange& x =
      site.send(site.modern_tool("7", "wait", "{}", R"(,"_meta":{"progressToken":1})"));
  parked.replies[0].context().progress(1);
  site.process();
  ASSERT_TRUE(x.streaming());
  const std::size_t size = x.body.size();
  x.go();
  parked.replies[0].context().progress(2);
  parked.replies[0]("late");
  site.process();
  site.pass(1h);
  EXPECT_EQ(x.body.size(), size);
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Stateless, TheSlotOfOneThatWentAwayIsFree) {
  site.server.tool("one", "", parked.handler(), {.concurrency = 1});
  for (int i = 0; i < 5; ++i) {
    FakeExchange& x = site.send(site.modern_tool("7", "one"));
    ASSERT_TRUE(x.waiting()) << i << x.body;
    x.go();
    parked.replies.clear();  // the handler sees that it is to stop
    site.process();
  }
}

TEST_F(Stateless, AnEndpointThatIsDestroyedLeavesNobodyWaiting) {
  FakeExchange& late = site.send(site.modern_tool("7", "wait"));
  FakeExchange& stream = listen();
  const std::stop_token stop = parked.replies[0].cancelled();
  site.endpoint.reset();
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_FALSE(late.waiting()) << "it still has an owner, which is gone";
  EXPECT_FALSE(stream.waiting()) << "it still has an owner, which is gone";
}

// Listening.

TEST_F(Stateless, AListenIsAcknowledgedFirstAndTellsChanges) {
  for (const char* id : {"21", R"("21")"}) {
    FakeExchange& x = listen(id);
    ASSERT_TRUE(x.streaming());
    EXPECT_EQ(x.type, "text/event-stream");
    auto messages = x.messages();
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0]["method"].as_string(), "notifications/subscriptions/acknowledged");
    EXPECT_TRUE(equals(messages[0]["params"]["notifications"], R"({"toolsListChanged":true})"));
    site.server.tool("new", "", [] { return ""; });
    EXPECT_GT(site.woken, 0);
    site.process();
    messages = x.messages();
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_EQ(messages[1]["method"].as_string(), "notifications/tools/list_changed");
    for (const json::Value& message : messages) {
      EXPECT_TRUE(test::same_json(message["params"]["_meta"][subscription].dump(), id));
    }
    site.server.prompt("q", "", [] { return ""; });
    site.process();
    EXPECT_EQ(x.messages().size(), 2u);
    x.go();
    site.process();
    site.server.tool("newer", "", [] { return ""; });
    site.process();
    EXPECT_EQ(x.messages().size(), 2u);
    EXPECT_EQ(site.web().open_exchanges(), 0u);
  }
}

TEST_F(Stateless, ManyListensEachGetTheirOwn) {
  std::vector<FakeExchange*> all;
  for (int i = 0; i < 200; ++i) all.push_back(&listen("1"));
  for (int i = 0; i < 200; i += 2) all[static_cast<std::size_t>(i)]->go();
  site.server.tool("new", "", [] { return ""; });
  site.process();
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i]->messages().size(), i % 2 == 0 ? 1u : 2u) << i;
  }
  EXPECT_EQ(site.web().open_exchanges(), 100u);
}

TEST_F(Stateless, DrainAnswersListensAndLetsRunningHandlersFinish) {
  FakeExchange& x = listen();
  FakeExchange& y = site.send(site.modern_tool("7", "wait"));
  const std::stop_token stop = parked.replies[0].cancelled();
  site.web().drain();
  EXPECT_TRUE(x.ended());
  EXPECT_TRUE(equals(x.answer()["result"]["_meta"][subscription], "21")) << x.body;
  EXPECT_EQ(x.answer()["result"]["resultType"].as_string(), "complete");
  EXPECT_EQ(x.answer()["id"].dump(), "21");
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_TRUE(y.waiting());
  FakeExchange& refused = site.send(site.modern_tool("8", "echo", oslo));
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.field("Retry-After"), "");
  parked.replies[0]("finished");
  site.process();
  EXPECT_EQ(test::text_of(y.answer()), "finished");
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

// Questions.

TEST_F(Stateless, QuestionsTravelInResults) {
  const std::string caps = R"({"elicitation":{"form":{}}})";
  std::string more;
  const std::string params = test::Link::tool_params("asks", oslo);
  FakeExchange* x = &site.send(Site::modern("1", "tools/call", params, caps));
  int rounds = 0;
  while (x->answer()["result"]["resultType"].as_string() == "input_required" && rounds < 5) {
    EXPECT_EQ(x->status, 200);
    EXPECT_EQ(x->type, "application/json");
    ++rounds;
    const std::string next = test::Link::with_answers(
        params, x->answer()["result"], [&](std::string_view, const json::Value&) {
          return test::accept(R"({"name":"n)" + std::to_string(rounds) + R"("})");
        });
    x = &site.send(Site::modern(std::to_string(rounds + 1), "tools/call", next, caps));
  }
  EXPECT_EQ(rounds, 2);
  EXPECT_EQ(test::text_of(x->answer()), "n1+n2") << x->body;
  // Somebody else's state is refused.
  FakeExchange& forged = site.send(
      Site::modern("9", "tools/call",
                   R"({"name":"asks","arguments":{"city":"Oslo"},"requestState":"t1.99"})", caps));
  EXPECT_EQ(outcome(forged), "200 -32602 9");
  EXPECT_EQ(outcome(site.send(Site::modern("9", "tools/call", params))), "400 -32021 9");
}

// Eras.

TEST_F(Stateless, WhichEraARequestBelongsTo) {
  const std::string session = site.connect();
  // 1. _meta decides, whatever else is there.
  EXPECT_EQ(outcome(site.send(Site::modern_tool("7", "echo", oslo).with("Mcp-Session-Id", "x"))),
            "200 result 7");
  EXPECT_EQ(outcome(site.send(Site::modern("7", "initialize"))), "404 -32601 7");
  EXPECT_EQ(outcome(site.send(Site::modern("7", "ping").with("Mcp-Session-Id", session))),
            "404 -32601 7");
  // 2. A session.
  EXPECT_EQ(outcome(site.send(Site::in(session, Site::legacy_body("7", "ping")))), "200 result 7");
  EXPECT_EQ(site.send(Site::in("nope", Site::legacy_body("7", "ping"))).status, 404);
  // 3. A version with a handshake.
  EXPECT_EQ(site.send(Site::post(Site::legacy_body("7", "tools/list"))
                          .with("MCP-Protocol-Version", "2025-06-18"))
                .status,
            400);
  // 4. initialize, also if it asks for something newer, with any version in the header.
  for (const char* version : {"2026-07-28", "2030-01-01", "2025-11-25", ""}) {
    FakeRequest request = Site::post(Site::initialize_body("2026-07-28"));
    if (*version) request.with("MCP-Protocol-Version", version);
    FakeExchange& x = site.send(request);
    EXPECT_EQ(outcome(x), "200 result 0") << version << x.body;
    EXPECT_EQ(x.answer()["result"]["protocolVersion"].as_string(), "2025-11-25");
    EXPECT_NE(x.field("Mcp-Session-Id"), "");
  }
  // 5. Another version.
  for (const char* version : {"2026-07-28", "2030-01-01"}) {
    EXPECT_EQ(outcome(site.send(Site::post(Site::legacy_body("7", "tools/list"))
                                    .with("MCP-Protocol-Version", version))),
              "400 -32602 7")
        << version;
  }
  // 6. Nothing.
  FakeExchange& x = site.send(Site::post(Site::legacy_body("7", "tools/list")));
  EXPECT_EQ(x.status, 400);
}

TEST(Eras, AServerOfTheStatelessEraOnly) {
  SiteOptions options;
  options.endpoint.stateful = false;
  Site site(std::move(options));
  site.server.tool("t", "", [] { return "t"; });
  EXPECT_EQ(site.send(Site::get("x")).status, 405);
  EXPECT_EQ(site.send(Site::get("x")).field("Allow"), "POST");
  EXPECT_EQ(site.send(Site::remove("x")).status, 405);
  EXPECT_EQ(
      outcome(site.send(
          Site::modern_tool("7", "t").with("Mcp-Session-Id", "x").with("Last-Event-ID", "x.1"))),
      "200 result 7");
  FakeExchange& initialize = site.send(Site::post(Site::initialize_body("2025-11-25")));
  EXPECT_EQ(outcome(initialize), "400 -32022 0");
  EXPECT_EQ(initialize.field("Mcp-Session-Id"), "");
  EXPECT_EQ(outcome(site.send(Site::post(Site::legacy_body("7", "tools/list")))), "400 -32020 7");
  EXPECT_EQ(outcome(site.send(Site::post(Site::legacy_body("7", "tools/list"))
                                  .with("MCP-Protocol-Version", "2025-11-25"))),
            "400 -32602 7");
  EXPECT_EQ(site.web().sessions(), 0u);
}

TEST(Eras, AClientOfTheOtherEraLearnsWhatIsSpoken) {
  // Old clients can do no more than show the text.
  SiteOptions options;
  options.endpoint.stateful = false;
  Site site(std::move(options));
  FakeExchange& x = site.send(Site::post(Site::initialize_body("2025-11-25")));
  EXPECT_TRUE(has(x.answer()["error"]["message"].dump(), "2026-07-28"));
  // Newer ones read what else there is.
  EXPECT_EQ(x.answer()["error"]["data"]["supported"].dump(), R"(["2026-07-28"])");
  EXPECT_EQ(x.answer()["error"]["data"]["requested"].as_string(), "2025-11-25");
}

TEST(Eras, AServerOfTheStatefulEraOnly) {
  SiteOptions options;
  options.endpoint.stateless = false;
  Site site(std::move(options));
  site.server.tool("t", "", [] { return "t"; });
  EXPECT_EQ(site.send(Site::modern_tool("7", "t")).status, 400);
  const std::string session = site.connect();
  EXPECT_EQ(outcome(site.send(Site::in(session, Site::tool_body("7", "t")))), "200 result 7");
  // Not even inside a session.
  FakeExchange& x = site.send(Site::modern_tool("7", "t").with("Mcp-Session-Id", session));
  EXPECT_EQ(x.status, 400) << x.body;
}

// Nothing crosses.

TEST_F(Stateless, AThousandRequestsUnderTheSameIdNeverCross) {
  std::vector<std::pair<std::string, Reply<std::string>>> waiting;
  site.server.tool("secret", "", [&](City in, Reply<std::string> reply) {
    reply.context().progress(1, {}, in.city);
    waiting.emplace_back(in.city, std::move(reply));
  });
  std::mt19937 random(7);
  std::vector<std::pair<std::string, FakeExchange*>> open;
  const auto answer_some = [&](std::size_t keep) {
    while (waiting.size() > keep) {
      const std::size_t at = random() % waiting.size();
      std::swap(waiting[at], waiting.back());
      waiting.back().second.context().progress(2, {}, waiting.back().first);
      waiting.back().second(waiting.back().first);
      waiting.pop_back();
      if (random() % 3 == 0) site.process();
    }
    site.process();
  };
  for (int i = 0; i < 1000; ++i) {
    const std::string secret = "secret-" + std::to_string(i);
    const bool progress = random() % 2 == 0;
    FakeExchange& x =
        site.send(Site::modern_tool("1", "secret", R"({"city":")" + secret + R"("})",
                                    progress ? R"(,"_meta":{"progressToken":1})" : ""));
    if (random() % 10 == 0 && x.waiting()) {
      x.go();
    } else {
      open.emplace_back(secret, &x);
    }
    if (random() % 5 == 0) answer_some(random() % 50);
  }
  answer_some(0);
  for (const auto& [secret, x] : open) {
    EXPECT_FALSE(x->waiting()) << secret;
    EXPECT_EQ(test::text_of(x->answer()), secret);
    for (std::size_t at = x->body.find("secret-"); at != x->body.npos;
         at = x->body.find("secret-", at + 1)) {
      EXPECT_EQ(x->body.substr(at, secret.size()), secret);
    }
  }
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

// Limits.

TEST(StatelessLimits, TooManyRequestsInTheProcessAreToldToComeBack) {
  SiteOptions options;
  options.server.limits.process_in_flight = 3;
  Site site(std::move(options));
  Parked parked;
  site.server.tool("wait", "", parked.handler());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(site.send(Site::modern_tool("1", "wait")).waiting());
  FakeExchange& x = site.send(Site::modern_tool("1", "wait"));
  EXPECT_EQ(x.status, 503);
  EXPECT_EQ(x.answer()["error"]["code"].dump(), "-32603");
  EXPECT_TRUE(has(x.body, "busy"));
  EXPECT_NE(x.field("Retry-After"), "");
  parked.replies[0]("done");
  site.process();
  EXPECT_TRUE(site.send(Site::modern_tool("1", "wait")).waiting());
  EXPECT_EQ(site.send(Site::modern_tool("1", "wait")).status, 503);
}

TEST(StatelessLimits, ABodyLargerThanAMessageMayBeIsRefused) {
  // For those HTTP stacks that do not bound it themselves.
  SiteOptions options;
  options.server.limits.message_bytes_in = 1000;
  Site site(std::move(options));
  site.server.tool("t", "", [](json::Value) { return "t"; });
  const auto padded = [](std::size_t size) {
    return Site::modern_tool("7", "t", "{}", R"(,"x":")" + std::string(size, 'x') + "\"");
  };
  EXPECT_EQ(site.send(padded(100)).status, 200);
  EXPECT_EQ(site.send(padded(2000)).status, 413);
}

TEST(StatelessLimits, AnAnswerThatIsTooLargeIsAnError) {
  SiteOptions options;
  options.server.limits.message_bytes_out = 1000;
  Site site(std::move(options));
  site.server.tool("t", "", [] { return std::string(2000, 'x'); });
  FakeExchange& x = site.send(Site::modern_tool("7", "t"));
  EXPECT_EQ(outcome(x), "200 -32603 7");
}

// A handler that uses the endpoint it is called by.

TEST_F(Stateless, AHandlerMayMakeARequestItself) {
  site.server.tool("nested", "", [&](City in) {
    FakeExchange& inner = site.send(Site::modern_tool("7", "echo", R"({"city":"inner"})"));
    return in.city + " " + test::text_of(inner.answer());
  });
  FakeExchange& x = site.send(Site::modern_tool("7", "nested", oslo));
  EXPECT_EQ(test::text_of(x.answer()), "Oslo inner");
}

}  // namespace
}  // namespace godwit::inline v0
