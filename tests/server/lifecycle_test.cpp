#include <gtest/gtest.h>

#include <string>

#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

using test::code_of;
using test::equals;
using test::error_text;
using test::has;
using test::Link;
using test::text_of;

constexpr std::string_view legacy_revisions[] = {"2024-11-05", "2025-03-26", "2025-06-18",
                                                 "2025-11-25"};

Server small_server() {
  Server server(test::server_options());
  server.tool("hi", "", [] { return "hi"; });
  return server;
}

std::string initialize(std::string_view version, std::string_view more = "") {
  return R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":)" +
         std::string(version) + R"(,"capabilities":{},"clientInfo":{"name":"c","version":"1"})" +
         std::string(more) + "}}";
}

std::string batch_of(std::string_view method) {
  return R"([{"jsonrpc":"2.0","id":70,"method":)" + json::quote(method) +
         R"(},{"jsonrpc":"2.0","method":"notifications/x"},
            {"jsonrpc":"2.0","id":"71","method":)" +
         json::quote(method) + "}]";
}

TEST(Handshake, EveryRevisionIsEchoed) {
  for (const std::string_view revision : legacy_revisions) {
    ServerOptions options = test::server_options();
    options.instructions = "be kind";
    Server server(std::move(options));
    server.tool("hi", "", [] { return "hi"; });
    Link link(server);
    const json::Value answer = link.handshake(revision);
    EXPECT_TRUE(equals(answer["result"],
                       R"({"protocolVersion":")" + std::string(revision) +
                           R"(","capabilities":{"logging":{},"tools":{"listChanged":true}},
                           "serverInfo":{"name":"test","version":"1.2.3"},
                           "instructions":"be kind"})"));
    EXPECT_EQ(text_of(link.tool("hi")), "hi");
    EXPECT_EQ(link.sent.size(), 2u);  // nothing for the notification
  }
}

TEST(Handshake, OtherVersionsAreAnsweredWithTheNewestOfTheEra) {
  const Server server = small_server();
  for (const char* version : {"1900-01-01", "2099-01-01", "2026-07-28", "", "2025-11-25 ", "x"}) {
    Link link(server);
    const json::Value answer = link.handshake(version);
    EXPECT_EQ(answer["result"]["protocolVersion"].as_string(), test::legacy_revision) << version;
  }
}

TEST(Handshake, MalformedOnesAreRefusedAndChangeNothing) {
  const Server server = small_server();
  for (const char* params :
       {R"({"protocolVersion":5,"capabilities":{},"clientInfo":{"name":"c","version":"1"}})",
        R"({"protocolVersion":null,"capabilities":{},"clientInfo":{"name":"c","version":"1"}})",
        R"({"capabilities":{},"clientInfo":{"name":"c","version":"1"}})",
        R"({"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"}})",
        R"({"protocolVersion":"2025-11-25","capabilities":{}})",
        R"({"protocolVersion":"2025-11-25","capabilities":[],"clientInfo":{}})", "{}"}) {
    Link link(server);
    link.raw("1", "initialize", test::parse(params));
    EXPECT_EQ(code_of(link.take_answer("1")), -32602) << params;
    link.raw("2", "tools/list", test::parse("{}"));
    EXPECT_NE(code_of(link.take_answer("2")), 0) << params;
    // An agreed session survives it.
    Link agreed(server, "2025-06-18");
    agreed.raw("77", "initialize", test::parse(params));
    EXPECT_EQ(code_of(agreed.take_answer("77")), -32600);
    EXPECT_EQ(text_of(agreed.tool("hi")), "hi");
  }
  Link link(server);
  link.raw("1", "initialize", json::Value());
  EXPECT_EQ(code_of(link.take_answer("1")), -32602);
}

TEST(Handshake, UnknownMembersAreIgnored) {
  const Server server = small_server();
  Link link(server);
  const json::Value answer =
      test::parse(link.receive(initialize(R"("2025-03-26")", R"(,"more":1,"_meta":{"x":{}})")));
  EXPECT_EQ(answer["result"]["protocolVersion"].as_string(), "2025-03-26");
  Link other(server, "2025-11-25",
             {.capabilities = R"({"roots":{"listChanged":true,"new":1},"future":{"a":[]},
                                  "experimental":{"x":{}},"tasks":{"list":{}}})"});
  EXPECT_EQ(text_of(other.tool("hi")), "hi");
}

TEST(Handshake, PingComesBeforeEverythingOtherRequestsDoNot) {
  const Server server = small_server();
  Link link(server);
  EXPECT_TRUE(equals(link.ask("ping")["result"], "{}"));
  for (const char* method : {"tools/list", "tools/call", "logging/setLevel", "unknown/method"}) {
    const json::Value answer = link.ask(method, R"({"name":"hi","level":"info"})");
    EXPECT_EQ(code_of(answer), -32600) << method;
    EXPECT_TRUE(has(error_text(answer), "initialize"));
  }
  // Requests between initialize and initialized are served.
  link.receive(initialize(R"("2025-06-18")"));
  const auto early =
      test::parse(link.receive(R"({"jsonrpc":"2.0","id":50,"method":"tools/list","params":{}})"));
  EXPECT_EQ(early["result"]["tools"].size(), 1u);
}

TEST(Handshake, ASecondOneIsRefusedAndChangesNothing) {
  Server server = small_server();
  server.tool("who", "", [](Context& cx) {
    return std::string(cx.revision()) + (cx.client_capabilities().sampling ? " samples" : "");
  });
  Link link(server, "2025-03-26", {.capabilities = R"({"sampling":{}})"});
  link.ask("logging/setLevel", R"({"level":"error"})");
  for (const char* version : {"2025-03-26", "2024-11-05", "2025-11-25"}) {
    link.raw("77", "initialize",
             test::parse(R"({"protocolVersion":")" + std::string(version) +
                         R"(","capabilities":{},"clientInfo":{"name":"other","version":"1"}})"));
    const json::Value answer = link.take_answer("77");
    EXPECT_EQ(code_of(answer), -32600) << version;
    EXPECT_TRUE(has(error_text(answer), "handshake")) << error_text(answer);
    EXPECT_EQ(text_of(link.tool("who")), "2025-03-26 samples");
    EXPECT_TRUE(test::parse(link.receive(batch_of("ping"))).is_array());
    link.forget();
  }
}

TEST(Handshake, NothingOfTheServersOwnBeforeInitialized) {
  Server server = small_server();
  Link link(server);
  link.receive(initialize(R"("2025-11-25")"));
  link.forget();
  server.tool("more", "", [] {});
  link.peer->process();
  EXPECT_TRUE(link.sent.empty());
  link.receive(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  server.tool("even_more", "", [] {});
  link.peer->process();
  EXPECT_EQ(link.sent.size(), 1u);
}

TEST(Batches, OnlyWhereTheRevisionHasThem) {
  const Server server = small_server();
  for (const std::string_view revision : legacy_revisions) {
    Link link(server, revision);
    const json::Value answer = test::parse(link.receive(batch_of("ping")));
    if (revision == "2025-03-26") {
      EXPECT_TRUE(equals(answer, R"([{"jsonrpc":"2.0","id":70,"result":{}},
                                     {"jsonrpc":"2.0","id":"71","result":{}}])"));
      EXPECT_EQ(code_of(test::parse(link.receive("[]"))), -32600);
      EXPECT_EQ(link.receive(R"([{"jsonrpc":"2.0","method":"notifications/x"}])"), "");
    } else {
      EXPECT_EQ(code_of(answer), -32600) << revision;
      EXPECT_FALSE(answer.contains("id")) << revision;
    }
  }
  // Before anything is agreed on, and for the stateless era.
  Link link(server);
  EXPECT_EQ(code_of(test::parse(link.receive(batch_of("ping")))), -32600);
  EXPECT_EQ(code_of(test::parse(link.receive("[" + initialize(R"("2025-03-26")") + "]"))), -32600);
}

TEST(Batches, InitializeIsNeverInOne) {
  const Server server = small_server();
  Link link(server, "2025-03-26");
  link.check_schema = false;
  const json::Value answer = test::parse(link.receive("[" + initialize(R"("2025-06-18")") + "]"));
  const json::Value& one = answer.is_array() ? answer[0] : answer;
  EXPECT_EQ(code_of(one), -32600) << answer.dump();
  // And the rules stay what they were.
  EXPECT_TRUE(test::parse(link.receive(batch_of("ping"))).is_array());
}

TEST(Capabilities, AreWhatIsRegistered) {
  for (const std::string_view revision : test::all_revisions) {
    ServerOptions options = test::server_options();
    options.logging = false;
    Server server(std::move(options));
    Link link(server, revision);
    const auto offered = [&] {
      Link fresh(server);
      const json::Value answer = test::is_modern(revision) ? fresh.ask_modern("server/discover")
                                                           : fresh.handshake(revision);
      return json::Value(answer["result"]["capabilities"]);
    };
    EXPECT_TRUE(equals(offered(), "{}"));
    struct Case {
      const char* method;
      const char* params;
    };
    const Case cases[] = {{"tools/list", "{}"},
                          {"tools/call", R"({"name":"x"})"},
                          {"prompts/list", "{}"},
                          {"prompts/get", R"({"name":"x"})"},
                          {"resources/list", "{}"},
                          {"resources/templates/list", "{}"},
                          {"resources/read", R"({"uri":"x:1"})"},
                          {"completion/complete",
                           R"({"ref":{"type":"ref/prompt","name":"p"},
                               "argument":{"name":"a","value":""}})"},
                          {"logging/setLevel", R"({"level":"info"})"},
                          {"resources/subscribe", R"({"uri":"x:1"})"},
                          {"resources/unsubscribe", R"({"uri":"x:1"})"}};
    for (const Case& c : cases) {
      EXPECT_EQ(code_of(link.ask(c.method, c.params)), -32601) << revision << " " << c.method;
    }
    server.tool("t", "", [] {});
    EXPECT_TRUE(equals(offered(), R"({"tools":{"listChanged":true}})"));
    server.prompt("p", "", [] { return "x"; }, {.arguments = {{.name = "a"}}});
    server.resource("x:1", "x", [] { return "x"; });
    server.complete_prompt("p", "a", [](const CompletionQuery&) { return Completion{}; });
    const bool named = revision != "2024-11-05";  // where completions have a capability
    EXPECT_TRUE(equals(offered(), std::string(named ? R"({"completions":{},)" : "{") +
                                      R"("tools":{"listChanged":true},
                                         "prompts":{"listChanged":true},
                                         "resources":{"subscribe":true,"listChanged":true}})"));
    Link later(server, revision);
    EXPECT_EQ(code_of(later.ask("completion/complete", cases[7].params)), 0) << revision;
  }
}

TEST(Capabilities, OfASessionStayWhatTheHandshakeSaid) {
  Server server = small_server();
  Link link(server, test::legacy_revision);
  server.enable_tool("hi", false);
  link.peer->process();
  EXPECT_EQ(link.notes("notifications/tools/list_changed").size(), 1u);
  // It was told that there are tools: the list is empty now, the method is still there.
  const json::Value list = link.ask("tools/list");
  EXPECT_TRUE(equals(list["result"]["tools"], "[]")) << list.dump();
  EXPECT_EQ(code_of(link.tool("hi")), -32602);
}

TEST(Capabilities, ChangesOfWhatWasNeverOfferedAreNotTold) {
  Server server(test::server_options());
  Link link(server, test::legacy_revision);
  server.tool("late", "", [] {});
  link.peer->process();
  EXPECT_TRUE(link.notes("notifications/tools/list_changed").empty());
}

TEST(Levels, AreCheckedAndAnsweredWithNothing) {
  const Server server = small_server();
  for (const std::string_view revision : legacy_revisions) {
    Link link(server, revision);
    for (const char* level :
         {"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}) {
      EXPECT_TRUE(equals(
          link.ask("logging/setLevel", R"({"level":")" + std::string(level) + R"("})")["result"],
          "{}"));
    }
    for (const char* params :
         {R"({"level":"loud"})", R"({"level":3})", "{}", R"({"level":"Info"})"}) {
      EXPECT_EQ(code_of(link.ask("logging/setLevel", params)), -32602) << params;
    }
  }
}

TEST(Messages, UnreadableOnesAreAnsweredWithoutAnId) {
  const Server server = small_server();
  for (const std::string_view revision : {std::string_view("2025-11-25"), test::modern_revision}) {
    Link link(server, revision);
    struct Case {
      const char* text;
      int code;
    };
    for (const Case& c : {Case{"{", -32700}, Case{R"({"jsonrpc":"2.0"})", -32600},
                          Case{R"({"jsonrpc":"2.0","id":null,"method":"ping"})", -32600},
                          Case{R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", -32600},
                          Case{R"({"jsonrpc":"2.0","id":{},"method":"ping"})", -32600}}) {
      const json::Value answer = test::parse(link.receive(c.text));
      EXPECT_EQ(code_of(answer), c.code) << c.text;
      EXPECT_FALSE(answer.contains("id")) << answer.dump();
    }
    // A readable id is kept.
    const json::Value answer =
        test::parse(link.receive(R"({"jsonrpc":"1.0","id":"a","method":"ping"})"));
    EXPECT_EQ(test::error_of(answer.dump()), "-32600 \"a\"");
    const json::Value array =
        test::parse(link.receive(R"({"jsonrpc":"2.0","id":7,"method":"tools/list","params":[1]})"));
    EXPECT_TRUE(code_of(array) == -32600 || code_of(array) == -32602) << array.dump();
  }
}

TEST(Messages, IdsKeepTypeAndValue) {
  const Server server = small_server();
  Link link(server, test::legacy_revision);
  for (const char* id :
       {"0", "-1", "9007199254740993", "18446744073709551615", R"("7")", R"("")", R"("ü\n")"}) {
    link.raw(id, "ping", json::Value());
    const json::Value answer = link.take_answer(test::parse(id).dump());
    EXPECT_TRUE(equals(answer["id"], id));
  }
}

TEST(Messages, UnknownNotificationsAndAnswersAreIgnored) {
  const Server server = small_server();
  Link link(server, test::legacy_revision);
  link.forget();
  EXPECT_EQ(link.receive(R"({"jsonrpc":"2.0","method":"notifications/none"})"), "");
  EXPECT_EQ(link.receive(R"({"jsonrpc":"2.0","method":"tools/list"})"), "");
  EXPECT_EQ(link.receive(R"({"jsonrpc":"2.0","id":99,"result":{}})"), "");
  EXPECT_EQ(link.receive(R"({"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}})"), "");
  EXPECT_EQ(link.receive(R"({"jsonrpc":"2.0","method":"notifications/roots/list_changed"})"), "");
  link.cancel("12345");
  EXPECT_TRUE(link.sent.empty());
  // A notification's name is no method.
  EXPECT_EQ(code_of(link.ask("notifications/initialized")), -32601);
}

TEST(Sessions, AreCounted) {
  const Server server = small_server();
  EXPECT_EQ(server.sessions(), 0u);
  {
    Link one(server), two(server, test::legacy_revision);
    EXPECT_EQ(server.sessions(), 2u);
  }
  EXPECT_EQ(server.sessions(), 0u);
}

}  // namespace
}  // namespace godwit::inline v0
