#include <gtest/gtest.h>

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
using test::text_of;

const std::string server_info =
    R"({"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1.2.3"}})";

Server full_server(ServerOptions options = test::server_options()) {
  Server server(std::move(options));
  server.tool("era", "", [](Context& cx) { return std::string(cx.revision()); });
  server.tool("caps", "", [](Context& cx) {
    return std::string(cx.client_capabilities().elicitation ? "asks " : "") + cx.client().name;
  });
  server.prompt("p", "", [] { return "x"; }, {.arguments = {{.name = "a"}}});
  server.resource("x:1", "x", [] { return "x"; });
  server.resource_template("y:{v}", "y",
                           [](std::map<std::string, std::string> in) { return in.at("v"); });
  server.complete_prompt("p", "a", [](const CompletionQuery&) { return Completion{}; });
  return server;
}

/// A request with exactly this _meta.
json::Value with_meta(Link& link, std::string_view method, std::string_view meta) {
  link.raw("500", method,
           test::parse(R"({"name":"era","level":"info","uri":"x:1","_meta":)" + std::string(meta) +
                       "}"));
  return link.take_answer("500");
}

TEST(Eras, InterleaveOnOneConnection) {
  const Server server = full_server();
  Link link(server, "2024-11-05");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(text_of(link.tool("era")), "2024-11-05");
    const json::Value modern = link.ask_modern("tools/call", Link::tool_params("era"));
    EXPECT_EQ(text_of(modern), test::modern_revision);
    EXPECT_EQ(modern["result"]["resultType"].as_string(), "complete");
  }
  // Modern first, then a handshake.
  Link other(server);
  EXPECT_EQ(text_of(other.ask_modern("tools/call", Link::tool_params("era"))),
            test::modern_revision);
  EXPECT_EQ(code_of(other.ask("tools/list")), -32600);  // nothing was agreed on by that
  other.handshake("2025-06-18");
  EXPECT_EQ(text_of(other.tool("era")), "2025-06-18");
  EXPECT_EQ(text_of(other.ask_modern("tools/call", Link::tool_params("era"))),
            test::modern_revision);
}

TEST(Eras, NothingIsRememberedBetweenStatelessRequests) {
  const Server server = full_server();
  Link link(server, test::legacy_revision, {.capabilities = std::string(test::can_all)});
  EXPECT_EQ(text_of(link.tool("caps")), "asks tester");
  const auto caps = [&](std::string_view more) {
    link.raw("600", "tools/call",
             test::parse(R"({"name":"caps","_meta":{"io.modelcontextprotocol/protocolVersion":
                             "2026-07-28")" +
                         std::string(more) + "}}"));
    return link.take_answer("600");
  };
  EXPECT_EQ(text_of(caps(R"(,"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},
                            "io.modelcontextprotocol/clientInfo":{"name":"m","version":"1"})")),
            "asks m");
  EXPECT_EQ(text_of(caps(R"(,"io.modelcontextprotocol/clientCapabilities":{})")), "");
  EXPECT_EQ(code_of(caps("")), -32602);
  EXPECT_EQ(text_of(link.tool("caps")), "asks tester");
}

// Two readers of such a message could see two different ones.
TEST(Eras, NoNameOccursTwice) {
  const Server server = full_server();
  const std::string meta = R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                           R"("io.modelcontextprotocol/clientCapabilities":{},)"
                           R"("io.modelcontextprotocol/clientInfo":{"name":"m","version":"1"},)"
                           R"("io.modelcontextprotocol/logLevel":"info","x":1,"y":2)";
  Link link(server, test::legacy_revision);
  const auto call = [&](const std::string& params_more, const std::string& meta_more,
                        std::string_view method = "tools/call") {
    link.receive(R"({"jsonrpc":"2.0","id":700,"method":")" + std::string(method) +
                 R"(","params":{"name":"era","arguments":{},"u":1,"v":2)" + params_more +
                 R"(,"_meta":{)" + meta + meta_more + "}}}");
    return link.take_answer("700");
  };
  EXPECT_EQ(text_of(call("", "")), "2026-07-28");
  for (const std::string name : {"name", "arguments", "u", "v", "_meta"}) {
    for (const char* method : {"tools/call", "nobody/knows"}) {
      const json::Value answer = call(",\"" + name + "\":{}", "", method);
      EXPECT_EQ(code_of(answer), -32600) << name << answer.dump();
      EXPECT_TRUE(has(error_text(answer), "\"" + name + "\" occurs twice in \"params\""));
    }
  }
  for (const std::string name :
       {"protocolVersion", "clientCapabilities", "clientInfo", "logLevel"}) {
    const json::Value answer = call("", ",\"io.modelcontextprotocol/" + name + "\":null");
    EXPECT_EQ(code_of(answer), -32600) << name << answer.dump();
    EXPECT_TRUE(has(error_text(answer), name + "\" occurs twice in \"_meta\""));
  }
  for (const std::string name : {"x", "y"}) {
    EXPECT_TRUE(has(error_text(call("", ",\"" + name + "\":3")), "occurs twice in \"_meta\""));
  }
  // Names that only look alike to a quick reader are two names.
  std::string many;
  for (int i = 0; i < 300; ++i) many += ",\"m" + std::to_string(i) + "\":0";
  EXPECT_EQ(text_of(call(many, many)), "2026-07-28");
}

TEST(Eras, MissingAndWrongMeta) {
  const Server server = full_server();
  const std::string version = R"("io.modelcontextprotocol/protocolVersion":"2026-07-28")";
  const std::string caps = R"("io.modelcontextprotocol/clientCapabilities":{})";
  for (const std::string_view era : {std::string_view(), test::legacy_revision}) {
    Link link(server, era);
    for (const std::string& meta :
         {"{" + version + "}",
          "{" + version + R"(,"io.modelcontextprotocol/clientCapabilities":5})",
          "{" + version + R"(,"io.modelcontextprotocol/clientCapabilities":null})",
          R"({"io.modelcontextprotocol/protocolVersion":5,)" + caps + "}",
          R"({"io.modelcontextprotocol/protocolVersion":null,)" + caps + "}",
          "{" + version + "," + caps + R"(,"io.modelcontextprotocol/logLevel":"loud"})",
          "{" + version + "," + caps + R"(,"io.modelcontextprotocol/logLevel":3})"}) {
      const json::Value answer = with_meta(link, "tools/call", meta);
      EXPECT_EQ(code_of(answer), -32602) << meta << answer.dump();
      EXPECT_TRUE(has(error_text(answer), "io.modelcontextprotocol/"));
    }
    for (const char* meta : {"5", "[]", "null", R"("x")"}) {
      EXPECT_EQ(code_of(with_meta(link, "tools/call", meta)), -32602) << meta;
    }
    // clientInfo may be absent, other members are nobody's business.
    EXPECT_EQ(code_of(with_meta(link, "tools/call", "{" + version + "," + caps + R"(,"z":[1]})")),
              0);
  }
  // Stateless requests without their _meta on a connection that agreed on nothing.
  Link link(server);
  for (const char* method : {"server/discover", "subscriptions/listen"}) {
    link.raw("1", method, test::parse("{}"));
    const json::Value answer = link.take_answer("1");
    EXPECT_EQ(code_of(answer), -32602) << method;
    EXPECT_TRUE(has(error_text(answer), "io.modelcontextprotocol/protocolVersion"));
    link.raw("2", method, json::Value());
    EXPECT_EQ(code_of(link.take_answer("2")), -32602) << method;
  }
}

TEST(Eras, UnsupportedVersionsAreToldTheSupportedOnes) {
  const Server server = full_server();
  Link link(server);
  const json::Value discover = link.ask_modern("server/discover");
  for (const char* version : {"2099-01-01", "2025-11-25", "2024-11-05", "", "2026-07-28 "}) {
    const json::Value answer = with_meta(link, "tools/call",
                                         R"({"io.modelcontextprotocol/clientCapabilities":{},
            "io.modelcontextprotocol/protocolVersion":)" +
                                             json::quote(version) + "}");
    EXPECT_EQ(code_of(answer), -32022) << version;
    EXPECT_TRUE(equals(answer["error"]["data"]["requested"], json::quote(version)));
    const json::Array* supported = answer["error"]["data"]["supported"].as_array();
    ASSERT_TRUE(supported);
    EXPECT_FALSE(supported->empty());
    for (const json::Value& each : *supported) {
      EXPECT_TRUE(has(discover["result"]["supportedVersions"].dump(), each.dump()));
    }
  }
  // Whatever the method is.
  EXPECT_EQ(code_of(with_meta(link, "unknown/method",
                              R"({"io.modelcontextprotocol/clientCapabilities":{},
                                  "io.modelcontextprotocol/protocolVersion":"2030-01-01"})")),
            -32022);
}

TEST(Eras, WhatTheNewEraTookAway) {
  const Server server = full_server();
  for (const std::string_view era : {std::string_view(), test::legacy_revision}) {
    Link link(server, era);
    for (const char* method :
         {"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
          "notifications/initialized", "tasks/get", "sampling/createMessage", "roots/list",
          "elicitation/create", "nothing/at/all"}) {
      const json::Value answer = link.ask_modern(
          method,
          R"({"level":"info","uri":"x:1","protocolVersion":"2025-11-25","capabilities":{},
              "clientInfo":{"name":"c","version":"1"}})");
      EXPECT_EQ(code_of(answer), -32601) << method;
    }
  }
  // And what the old one never had.
  Link link(server, test::legacy_revision);
  for (const char* method : {"server/discover", "subscriptions/listen"}) {
    EXPECT_EQ(code_of(link.ask(method, R"({"notifications":{}})")), -32601) << method;
  }
}

TEST(Eras, ResultsOfTheNewEraAreStamped) {
  ServerOptions options = test::server_options();
  options.cache = {.ttl = std::chrono::seconds(60), .scope = CacheScope::public_};
  Server server = full_server(std::move(options));
  server.resource("x:2", "x", [] { return "x"; },
                  {.cache = {.ttl = std::chrono::milliseconds(-5)}});
  Link link(server, test::modern_revision);
  struct Case {
    const char* method;
    const char* params;
    bool cached;
  };
  for (const Case& c : {Case{"server/discover", "{}", true}, Case{"tools/list", "{}", true},
                        Case{"prompts/list", "{}", true}, Case{"resources/list", "{}", true},
                        Case{"resources/templates/list", "{}", true},
                        Case{"tools/call", R"({"name":"era"})", false},
                        Case{"prompts/get", R"({"name":"p"})", false},
                        Case{"completion/complete",
                             R"({"ref":{"type":"ref/prompt","name":"p"},
                                 "argument":{"name":"a","value":""}})",
                             false}}) {
    const json::Value answer = link.ask(c.method, c.params);
    EXPECT_EQ(answer["result"]["resultType"].as_string(), "complete") << c.method;
    EXPECT_TRUE(equals(answer["result"]["_meta"], server_info)) << c.method;
    EXPECT_EQ(answer["result"].contains("ttlMs"), c.cached) << c.method;
    EXPECT_EQ(answer["result"].contains("cacheScope"), c.cached) << c.method;
    if (c.cached) {
      EXPECT_TRUE(equals(answer["result"]["ttlMs"], "60000"));
      EXPECT_EQ(answer["result"]["cacheScope"].as_string(), "public");
    }
  }
  const json::Value read = link.ask("resources/read", R"({"uri":"x:1"})");
  EXPECT_TRUE(equals(read["result"]["ttlMs"], "0"));
  EXPECT_EQ(read["result"]["cacheScope"].as_string(), "private");
  EXPECT_TRUE(equals(link.ask("resources/read", R"({"uri":"x:2"})")["result"]["ttlMs"], "0"));
  const json::Value discover = link.ask("server/discover");
  EXPECT_TRUE(equals(discover["result"]["supportedVersions"],
                     R"(["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"])"));
  EXPECT_FALSE(discover["result"].contains("serverInfo"));
}

TEST(Eras, ResultsOfTheOldOneAreClean) {
  const Server server = full_server();
  for (const std::string_view revision : test::all_revisions) {
    if (test::is_modern(revision)) continue;
    Link link(server, revision);
    for (const auto& [method, params] : std::vector<std::pair<const char*, const char*>>{
             {"ping", "{}"},
             {"logging/setLevel", R"({"level":"error"})"},
             {"resources/subscribe", R"({"uri":"x:1"})"},
             {"resources/unsubscribe", R"({"uri":"x:1"})"}}) {
      EXPECT_EQ(link.ask(method, params)["result"].dump(), "{}") << revision << " " << method;
    }
    EXPECT_EQ(link.tool("era").dump(),
              R"({"jsonrpc":"2.0","id":6,"result":{"content":[{"type":"text","text":")" +
                  std::string(revision) + R"("}]}})");
    for (const char* method :
         {"tools/list", "prompts/list", "resources/list", "resources/templates/list"}) {
      const json::Value answer = link.ask(method);
      EXPECT_EQ(answer["result"].size(), 1u) << answer.dump();
    }
    EXPECT_EQ(link.ask("resources/read", R"({"uri":"x:1"})")["result"].size(), 1u);
  }
}

TEST(Eras, AbsentResources) {
  const Server server = full_server();
  for (const std::string_view revision : test::all_revisions) {
    Link link(server, revision);
    const json::Value answer = link.ask("resources/read", R"({"uri":"z:none"})");
    EXPECT_EQ(code_of(answer), test::is_modern(revision) ? -32602 : -32002) << revision;
    EXPECT_TRUE(equals(answer["error"]["data"], R"({"uri":"z:none"})")) << answer.dump();
  }
}

TEST(Eras, ACancellationNeedsNoHandshakeAndNoMeta) {
  Server server = full_server();
  std::vector<Reply<std::string>> replies;
  server.tool("slow", "", [&](Reply<std::string> reply) { replies.push_back(std::move(reply)); });
  for (const char* meta : {"", R"(,"_meta":{})",
                           R"(,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"})",
                           R"(,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
            "io.modelcontextprotocol/clientCapabilities":{}})"}) {
    Link link(server);
    const std::string id = link.modern_request("tools/call", Link::tool_params("slow"));
    link.notify("notifications/cancelled",
                R"({"requestId":)" + id + R"(,"reason":"no")" + meta + "}");
    EXPECT_TRUE(replies.back().cancelled().stop_requested()) << meta;
    replies.back()("late");
    link.peer->process();
    EXPECT_FALSE(link.has_answer(id)) << meta;
  }
}

TEST(Eras, WhatAHandlerKnows) {
  Server server(test::server_options());
  server.tool("know", "", [](Context& cx) {
    const TraceContext trace = cx.trace();
    return trace.traceparent + "|" + trace.tracestate + "|" + trace.baggage + "|" +
           std::string(cx.method()) + "|" + cx.identity()->subject + "|" +
           std::string(cx.meta().find("com.example/x").source()) + "|" +
           std::to_string(*cx.user<int>());
  });
  for (const std::string_view revision : test::all_revisions) {
    Link link(server, revision,
              {.facts = {.identity = test::known_as("alice"), .user = std::make_shared<int>(5)}});
    EXPECT_EQ(text_of(link.tool("know", "{}",
                                R"(,"_meta":{"traceparent":"00-a","tracestate":"b",
                                    "com.example/x":{"y":1}})")),
              R"(00-a|b||tools/call|alice|{"y":1}|5)");
  }
}

}  // namespace
}  // namespace godwit::inline v0
