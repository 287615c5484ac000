// What an Endpoint answers to requests that stand alone (2026-07-28), and how it tells the eras
// apart.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stateless.hpp"

namespace godwit::inline v0 {
namespace {

using test::has;

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

}  // namespace
}  // namespace godwit::inline v0
