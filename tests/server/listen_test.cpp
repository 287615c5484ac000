#include <gtest/gtest.h>

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

constexpr std::string_view subscription = "io.modelcontextprotocol/subscriptionId";

Server full_server() {
  Server server(test::server_options());
  server.tool("t", "", [] { return "t"; });
  server.prompt("p", "", [] { return "p"; });
  server.resource("x:1", "x", [] { return "x"; });
  server.resource("x:2", "x", [] { return "x"; });
  return server;
}

const std::string everything = R"({"notifications":{"toolsListChanged":true,
    "promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["x:1","x:2"]}})";

std::string subscription_of(const json::Value& note) {
  return note["params"]["_meta"][subscription].dump();
}

TEST(Listen, IsAcknowledgedFirstUnderTheIdAsItCame) {
  Server server = full_server();
  for (const char* id : {"21", R"("21")", "9007199254740993", R"("a\"b")", "0"}) {
    Link link(server, test::modern_revision);
    link.raw(id, "subscriptions/listen", link.dressed(everything));
    ASSERT_EQ(link.sent.size(), 1u);
    EXPECT_TRUE(equals(link.sent[0],
                       R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",
                           "params":{"_meta":{"io.modelcontextprotocol/subscriptionId":)" +
                           std::string(id) + R"(},"notifications":{"toolsListChanged":true,
                           "promptsListChanged":true,"resourcesListChanged":true,
                           "resourceSubscriptions":["x:1","x:2"]}}})"));
    server.tool("t", "", [] { return "again"; });
    server.resource_updated("x:1");
    link.peer->process();
    ASSERT_EQ(link.sent.size(), 3u) << id;
    for (const json::Value& note : link.sent) {
      EXPECT_TRUE(test::same_json(subscription_of(note), id));
    }
    EXPECT_FALSE(link.has_answer(test::parse(id).dump()));
  }
}

TEST(Listen, MayEndWhileItIsTold) {
  Server server = full_server();
  Link link(server, test::modern_revision);
  for (int id = 1; id <= 20; ++id) {
    link.raw(std::to_string(id), "subscriptions/listen", link.dressed(everything));
  }
  link.sent.clear();
  // A client in the same process: it takes back all it listens for as soon as it hears something.
  link.on_next = [&] {
    for (int id = 1; id <= 20; ++id) link.cancel(std::to_string(id));
  };
  server.resource_updated("x:1");
  link.peer->process();
  EXPECT_EQ(link.sent.size(), 1u);
  EXPECT_EQ(link.peer->in_flight(), 0u);
}

TEST(Listen, OnlyWhatWasAskedForIsTold) {
  Server server = full_server();
  struct Case {
    const char* filter;
    const char* told;
  };
  for (const Case& c :
       {Case{"{}", ""}, Case{R"({"toolsListChanged":true})", "tools/list_changed "},
        Case{R"({"toolsListChanged":false,"promptsListChanged":true})", "prompts/list_changed "},
        Case{R"({"resourcesListChanged":true})", "resources/list_changed "},
        Case{R"({"resourceSubscriptions":["x:1"]})", "resources/updated "},
        Case{R"({"resourceSubscriptions":[]})", ""},
        Case{R"({"resourceSubscriptions":["x:9"]})", ""},
        Case{R"({"future":true,"taskIds":["1"]})", ""}}) {
    Link link(server, test::modern_revision);
    const std::string id =
        link.request("subscriptions/listen", R"({"notifications":)" + std::string(c.filter) + "}");
    ASSERT_EQ(link.notes("notifications/subscriptions/acknowledged").size(), 1u) << c.filter;
    link.forget();
    server.tool("t2", "", [] {});
    server.prompt("p2", "", [] { return "x"; });
    server.resource("x:3", "x", [] { return "x"; });
    server.resource_updated("x:1");
    link.peer->process();
    std::string told;
    for (const json::Value& note : link.sent) {
      told += note["method"].get<std::string>().substr(14) + " ";
      EXPECT_EQ(subscription_of(note), id);
    }
    EXPECT_EQ(told, c.told) << c.filter;
    EXPECT_FALSE(link.has_answer(id));
  }
}

TEST(Listen, WhatTheServerDoesNotOfferIsNotHonoured) {
  Server server(test::server_options());
  server.tool("t", "", [] {});
  Link link(server, test::modern_revision);
  link.request("subscriptions/listen", everything);
  ASSERT_EQ(link.sent.size(), 1u);
  EXPECT_TRUE(equals(link.sent[0]["params"]["notifications"], R"({"toolsListChanged":true})"));
  ServerOptions options = test::server_options();
  options.subscriptions = false;
  Server quiet(std::move(options));
  quiet.resource("x:1", "x", [] { return "x"; });
  Link other(quiet, test::modern_revision);
  other.request("subscriptions/listen", everything);
  EXPECT_TRUE(
      equals(other.sent.at(0)["params"]["notifications"], R"({"resourcesListChanged":true})"));
  other.forget();
  quiet.resource_updated("x:1");
  other.peer->process();
  EXPECT_TRUE(other.sent.empty());
}

TEST(Listen, MalformedFiltersAreRefused) {
  const Server server = full_server();
  Link link(server, test::modern_revision);
  for (const char* params : {"{}", R"({"notifications":5})", R"({"notifications":null})",
                             R"({"notifications":{"toolsListChanged":"yes"}})",
                             R"({"notifications":{"resourceSubscriptions":"x:1"}})",
                             R"({"notifications":{"resourceSubscriptions":[1]}})"}) {
    EXPECT_EQ(code_of(link.ask("subscriptions/listen", params)), -32602) << params;
  }
  EXPECT_TRUE(link.notes("notifications/subscriptions/acknowledged").empty());
}

TEST(Listen, ACancellationEndsItWithoutAWord) {
  Server server = full_server();
  Link link(server, test::modern_revision);
  const std::string one = link.request("subscriptions/listen", everything);
  const std::string two = link.request("subscriptions/listen", everything);
  EXPECT_EQ(link.peer->in_flight(), 2u);
  link.forget();
  link.cancel(one);
  EXPECT_TRUE(link.sent.empty());
  EXPECT_EQ(link.peer->in_flight(), 1u);
  server.tool("more", "", [] {});
  server.resource_updated("x:2");
  link.peer->process();
  ASSERT_EQ(link.sent.size(), 2u);
  for (const json::Value& note : link.sent) EXPECT_EQ(subscription_of(note), two);
  link.cancel(two);
  link.forget();
  server.tool("even_more", "", [] {});
  link.peer->process();
  EXPECT_TRUE(link.sent.empty());
  EXPECT_EQ(link.peer->in_flight(), 0u);
  // Other requests of that number are not taken for it.
  link.cancel("77");
  EXPECT_EQ(text_of(link.tool("t")), "t");
}

TEST(Listen, SeveralAreToldApart) {
  Server server = full_server();
  Link link(server, test::modern_revision);
  link.raw("1", "subscriptions/listen", link.dressed(everything));
  link.raw(R"("1")", "subscriptions/listen", link.dressed(everything));
  EXPECT_EQ(link.notes("notifications/subscriptions/acknowledged").size(), 2u);
  link.forget();
  server.enable_tool("t", false);
  link.peer->process();
  ASSERT_EQ(link.sent.size(), 2u);
  EXPECT_NE(subscription_of(link.sent[0]), subscription_of(link.sent[1]));
}

TEST(Listen, BothErasOnOneConnectionGetTheirOwn) {
  Server server = full_server();
  Link link(server, test::legacy_revision);
  link.modern_request("subscriptions/listen", R"({"notifications":{"toolsListChanged":true}})");
  link.forget();
  server.tool("more", "", [] {});
  link.peer->process();
  ASSERT_EQ(link.sent.size(), 2u);
  int tagged = 0;
  for (const json::Value& note : link.sent) {
    tagged += note["params"]["_meta"].contains(subscription) ? 1 : 0;
  }
  EXPECT_EQ(tagged, 1);
}

TEST(Listen, StatelessClientsHearNothingUnlessTheyListen) {
  Server server = full_server();
  Link link(server, test::modern_revision);
  link.tool("t");
  link.forget();
  server.tool("more", "", [] {});
  server.resource_updated("x:1");
  link.peer->process();
  EXPECT_TRUE(link.sent.empty());
}

TEST(Listen, TheEndOfInputEndsItWell) {
  const Server server = full_server();
  Link link(server, test::modern_revision);
  const std::string id = link.request("subscriptions/listen", everything);
  link.peer->end_of_input(Error{.code = rpc::code::connection_closed, .message = "eof"});
  link.peer->process();
  EXPECT_EQ(link.peer->in_flight(), 0u) << "the end of the program would wait for it";
}

TEST(Listen, TheNumberIsBounded) {
  const Server server = full_server();
  Link link(server, test::modern_revision);
  int refused = 0;
  for (int i = 0; i < 500; ++i) {
    const std::string id = link.request("subscriptions/listen", everything);
    if (!link.has_answer(id)) continue;
    EXPECT_EQ(code_of(link.take_answer(id)), -32603);
    ++refused;
  }
  EXPECT_GT(refused, 0);
  EXPECT_EQ(text_of(link.tool("t")), "t");
}

TEST(Subscribe, TheOldWay) {
  Server server = full_server();
  for (const std::string_view revision : test::all_revisions) {
    if (test::is_modern(revision)) continue;
    Link link(server, revision), other(server, revision);
    link.ask("resources/subscribe", R"({"uri":"x:1"})");
    link.ask("resources/subscribe", R"({"uri":"x:1"})");  // twice is once
    link.forget();
    server.resource_updated("x:1");
    server.resource_updated("x:2");
    link.peer->process();
    other.peer->process();
    ASSERT_EQ(link.sent.size(), 1u);
    EXPECT_TRUE(equals(link.sent[0],
                       R"({"jsonrpc":"2.0","method":"notifications/resources/updated",
                           "params":{"uri":"x:1"}})"));
    EXPECT_TRUE(other.notes("notifications/resources/updated").empty());
    link.ask("resources/unsubscribe", R"({"uri":"x:1"})");
    link.ask("resources/unsubscribe", R"({"uri":"x:1"})");
    link.forget();
    server.resource_updated("x:1");
    link.peer->process();
    EXPECT_TRUE(link.sent.empty());
    EXPECT_EQ(code_of(link.ask("resources/subscribe", "{}")), -32602);
    EXPECT_EQ(code_of(link.ask("resources/subscribe", R"({"uri":5})")), -32602);
  }
}

TEST(Subscribe, UpdatesMayComeFromAnyThread) {
  Server server = full_server();
  Link legacy(server, test::legacy_revision), modern(server, test::modern_revision);
  legacy.ask("resources/subscribe", R"({"uri":"x:1"})");
  modern.request("subscriptions/listen", everything);
  legacy.forget();
  modern.forget();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 50; ++n) server.resource_updated("x:1");
    });
  }
  for (std::thread& thread : threads) thread.join();
  legacy.peer->process();
  modern.peer->process();
  // Some may have become one.
  EXPECT_GE(legacy.sent.size(), 1u);
  EXPECT_LE(legacy.sent.size(), 200u);
  EXPECT_GE(modern.sent.size(), 1u);
}

}  // namespace
}  // namespace godwit::inline v0
