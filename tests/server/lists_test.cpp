#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

using test::code_of;
using test::equals;
using test::Link;
using test::text_of;

/// The names in one page, separated by blanks.
std::string names(const json::Value& answer, std::string_view member = "tools",
                  std::string_view name = "name") {
  std::string all;
  if (const json::Array* entries = answer["result"][member].as_array()) {
    for (const json::Value& entry : *entries) all += entry[name].get<std::string>() + " ";
    return all;
  }
  return answer.dump();
}

Server numbered(std::size_t count, std::size_t page_size = 0) {
  ServerOptions options = test::server_options();
  options.page_size = page_size;
  Server server(std::move(options));
  for (std::size_t i = 0; i < count; ++i) {
    server.tool("t" + std::to_string(i), "", [] { return "x"; });
  }
  return server;
}

TEST(Lists, AreInTheOrderOfRegistration) {
  for (const std::string_view revision : test::all_revisions) {
    Server server(test::server_options());
    for (const char* name : {"zebra", "ant", "mole", "bee"}) server.tool(name, "", [] {});
    server.prompt("z", "", [] { return "x"; }).prompt("a", "", [] { return "x"; });
    server.resource("z:1", "n", [] { return "x"; }).resource("a:1", "n", [] { return "x"; });
    server.resource_template("z:{v}", "n", [](std::map<std::string, std::string>) { return "x"; });
    server.resource_template("a:{v}", "n", [](std::map<std::string, std::string>) { return "x"; });
    Link link(server, revision);
    EXPECT_EQ(names(link.ask("tools/list")), "zebra ant mole bee ");
    EXPECT_EQ(names(link.ask("prompts/list"), "prompts"), "z a ");
    EXPECT_EQ(names(link.ask("resources/list"), "resources", "uri"), "z:1 a:1 ");
    EXPECT_EQ(names(link.ask("resources/templates/list"), "resourceTemplates", "uriTemplate"),
              "z:{v} a:{v} ");
    EXPECT_FALSE(link.ask("tools/list")["result"].contains("nextCursor"));
    // A list without params at all is the same.
    if (!link.modern()) {
      link.raw("99", "tools/list", json::Value());
      EXPECT_EQ(names(link.take_answer("99")), "zebra ant mole bee ");
    }
    // Replaced in its place, removed and added at the end.
    server.tool("ant", "new", [] {});
    server.remove_tool("zebra");
    server.tool("zebra", "", [] {});
    EXPECT_EQ(names(link.ask("tools/list")), "ant mole bee zebra ");
    server.enable_tool("mole", false);
    EXPECT_EQ(names(link.ask("tools/list")), "ant bee zebra ");
    server.enable_tool("mole");
    EXPECT_EQ(names(link.ask("tools/list")), "ant mole bee zebra ");
  }
}

TEST(Lists, PagesHoldEverythingOnce) {
  for (const std::size_t count : {1u, 3u, 4u, 7u, 8u}) {
    const Server server = numbered(count, 4);
    for (const std::string_view revision : test::all_revisions) {
      Link link(server, revision);
      std::string all;
      std::string params = "{}";
      int pages = 0;
      for (; pages < 10; ++pages) {
        const json::Value answer = link.ask("tools/list", params);
        ASSERT_EQ(code_of(answer), 0) << answer.dump();
        EXPECT_LE(answer["result"]["tools"].size(), 4u);
        EXPECT_GE(answer["result"]["tools"].size(), 1u);
        all += names(answer);
        if (!answer["result"].contains("nextCursor")) break;
        params = R"({"cursor":)" + answer["result"]["nextCursor"].dump() + "}";
      }
      std::string expected;
      for (std::size_t i = 0; i < count; ++i) expected += "t" + std::to_string(i) + " ";
      EXPECT_EQ(all, expected);
      EXPECT_EQ(pages, static_cast<int>((count + 3) / 4) - 1);
    }
  }
}

TEST(Lists, HostileCursorsAreRefused) {
  Server server = numbered(9, 4);
  server.prompt("p", "", [] { return "x"; });
  server.resource("x:1", "x", [] { return "x"; });
  Link link(server, test::modern_revision);
  const std::string good = std::string(*link.ask("tools/list")["result"]["nextCursor"].as_string());
  std::vector<std::string> cursors = {"",
                                      "x",
                                      "0",
                                      "4",
                                      "-1",
                                      "====",
                                      "AAAA",
                                      good + "A",
                                      good.substr(1),
                                      std::string(100'000, 'A'),
                                      std::string("\0\0", 2),
                                      "ü"};
  for (const char* text : {"tools:1", "tools:5", "tools:-4", "tools:99999999999999999999999",
                           "tools:18446744073709551612", "tools:", "tools:4 ", "tools: 4",
                           "tools:0x4", "prompts:4", "tools", ":4", "tools:4:4", "tools:400"}) {
    cursors.push_back(base64(text));
  }
  for (const std::string& cursor : cursors) {
    const json::Value answer = link.ask("tools/list", R"({"cursor":)" + json::quote(cursor) + "}");
    EXPECT_EQ(code_of(answer), -32602) << cursor.substr(0, 50);
  }
  for (const char* cursor : {"5", "{}", "[]", "true"}) {
    EXPECT_EQ(code_of(link.ask("tools/list", R"({"cursor":)" + std::string(cursor) + "}")), -32602)
        << cursor;
  }
  // A cursor of another list.
  EXPECT_EQ(code_of(link.ask("prompts/list", R"({"cursor":)" + json::quote(good) + "}")), -32602);
  EXPECT_EQ(code_of(link.ask("resources/list", R"({"cursor":)" + json::quote(good) + "}")), -32602);
  const Server unpaged = numbered(9);
  Link other(unpaged, test::modern_revision);
  EXPECT_EQ(code_of(other.ask("tools/list", R"({"cursor":)" + json::quote(good) + "}")), -32602);
}

TEST(Lists, ACursorSurvivesAListThatShrank) {
  Server server = numbered(9, 4);
  Link link(server, test::legacy_revision);
  const json::Value first = link.ask("tools/list");
  const std::string params = R"({"cursor":)" + first["result"]["nextCursor"].dump() + "}";
  for (int i = 0; i < 9; ++i) {
    const json::Value answer = link.ask("tools/list", params);
    EXPECT_TRUE(code_of(answer) == 0 || code_of(answer) == -32602 || i == 9) << answer.dump();
    server.remove_tool("t" + std::to_string(8 - i));
  }
}

TEST(Changes, TakeEffectAtOnce) {
  Server server = numbered(2);
  Link link(server, test::modern_revision);
  EXPECT_EQ(text_of(link.tool("t1")), "x");
  EXPECT_TRUE(server.enable_tool("t1", false));
  EXPECT_EQ(code_of(link.tool("t1")), -32602);
  EXPECT_TRUE(server.enable_tool("t1"));
  EXPECT_EQ(text_of(link.tool("t1")), "x");
  server.tool("t1", "", [] { return "new"; });
  EXPECT_EQ(text_of(link.tool("t1")), "new");
  EXPECT_TRUE(server.remove_tool("t1"));
  EXPECT_FALSE(server.remove_tool("t1"));
  EXPECT_FALSE(server.enable_tool("t1"));
  EXPECT_EQ(code_of(link.tool("t1")), -32602);
  EXPECT_FALSE(server.remove_prompt("none"));
  EXPECT_FALSE(server.remove_resource("none:1"));
  EXPECT_FALSE(server.remove_template("none:{v}"));
  EXPECT_FALSE(server.enable_prompt("none"));
  EXPECT_FALSE(server.enable_resource("none:1"));
  EXPECT_FALSE(server.enable_template("none:{v}"));
}

TEST(Changes, AreToldOnceAndOnlyIfTheyAreOnes) {
  Server server = numbered(2);
  server.prompt("p", "", [] { return "x"; });
  server.resource("x:1", "x", [] { return "x"; });
  Link link(server, test::legacy_revision);
  const auto told = [&] {
    link.peer->process();
    std::string all;
    for (const json::Value& note : link.sent) all += note["method"].get<std::string>() + " ";
    link.forget();
    return all;
  };
  link.forget();
  const std::string tools = "notifications/tools/list_changed ";
  server.tool("new", "", [] {});
  EXPECT_EQ(told(), tools);
  server.tool("new", "other", [] {});
  EXPECT_EQ(told(), tools);
  server.enable_tool("new", false);
  EXPECT_EQ(told(), tools);
  server.enable_tool("new", false);
  EXPECT_EQ(told(), "");
  server.remove_tool("nothing");
  EXPECT_EQ(told(), "");
  server.enable_tool("new");
  EXPECT_EQ(told(), tools);
  server.remove_tool("new");
  EXPECT_EQ(told(), tools);
  server.prompt("q", "", [] { return "x"; }, {.arguments = {{.name = "a"}}});
  EXPECT_EQ(told(), "notifications/prompts/list_changed ");
  server.resource_template("y:{v}", "y", [](std::map<std::string, std::string>) { return "x"; });
  EXPECT_EQ(told(), "notifications/resources/list_changed ");
  server.remove_resource("x:1");
  EXPECT_EQ(told(), "notifications/resources/list_changed ");
  // Several changes of one kind before the connection comes to it may be one.
  for (int i = 0; i < 10; ++i) server.tool("m" + std::to_string(i), "", [] {});
  EXPECT_EQ(told(), tools);
  server.complete_prompt("q", "a", [](const CompletionQuery&) { return Completion{}; });
  server.method("acme/x", [] {});
  EXPECT_EQ(told(), "");
}

TEST(Changes, OfWhatIsHiddenAreNotTold) {
  Server server = numbered(2);
  Link link(server, test::legacy_revision);
  server.enable_tool("t1", false);
  link.peer->process();
  link.forget();
  server.remove_tool("t1");
  link.peer->process();
  EXPECT_TRUE(link.sent.empty());
}

TEST(Changes, FromManyThreadsWhileConnectionsAreServed) {
  Server server = numbered(1);
  std::atomic<bool> stop = false;
  std::vector<std::thread> changers;
  for (int t = 0; t < 3; ++t) {
    changers.emplace_back([&, t] {
      const std::string name = "n" + std::to_string(t);
      for (int i = 0; i < 200; ++i) {
        server.tool(name, "", [i] { return std::to_string(i); });
        server.enable_tool(name, i % 2 == 0);
        if (i % 3 == 0) server.remove_tool(name);
        server.resource("r:" + name, "r", [] { return "x"; });
        server.remove_resource("r:" + name);
      }
    });
  }
  std::vector<std::thread> users;
  std::atomic<int> answered = 0;
  for (int t = 0; t < 2; ++t) {
    users.emplace_back([&, t] {
      rpc::MessageSink sink([&](std::string_view) { ++answered; });
      rpc::Peer peer(sink, server.router(), server.peer_options());
      const std::string meta =
          R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
             "io.modelcontextprotocol/clientCapabilities":{}})";
      for (int i = 1; !stop; ++i) {
        peer.receive(R"({"jsonrpc":"2.0","id":)" + std::to_string(i) +
                     R"(,"method":"tools/call","params":{"name":"n)" + std::to_string(t) +
                     R"(","arguments":{},)" + meta + "}}");
        peer.receive(R"({"jsonrpc":"2.0","id":"l","method":"tools/list","params":{)" + meta + "}}");
        peer.process();
      }
    });
  }
  for (std::thread& thread : changers) thread.join();
  stop = true;
  for (std::thread& thread : users) thread.join();
  EXPECT_GT(answered, 0);
  Link link(server, test::modern_revision);
  EXPECT_EQ(text_of(link.tool("t0")), "x");
}

TEST(Lists, OneChangeDoesNotShowInAnotherRevisionsBytes) {
  Server server(test::server_options());
  server.tool(
      "t", "about", [] { return 5; },
      {.title = "Title", .annotations = {.readOnlyHint = true}, .icons = {{.src = "data:x"}}});
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (const std::string_view revision : test::all_revisions) {
      Link link(server, revision);
      const json::Value tool = link.ask("tools/list")["result"]["tools"][0];
      EXPECT_EQ(tool.contains("title"), revision >= "2025-06-18");
      EXPECT_EQ(tool.contains("annotations"), revision >= "2025-03-26");
      EXPECT_EQ(tool.contains("icons"), revision >= "2025-11-25");
      EXPECT_EQ(tool.contains("outputSchema"), revision >= "2026-07-28");
    }
  }
}

}  // namespace
}  // namespace godwit::inline v0
