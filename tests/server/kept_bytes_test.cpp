// What a server keeps of its clients' words between messages is counted, bounded and given back.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

using test::code_of;
using test::error_text;
using test::has;
using test::Link;

/// An error says what was wrong, not all of it again.
constexpr std::size_t short_answer = 4'000;

std::string text_of(std::size_t size, char c = 'x') { return std::string(size, c); }

std::string initialize_params(std::string_view info, std::string_view capabilities = "{}") {
  return R"({"protocolVersion":"2025-11-25","capabilities":)" + std::string(capabilities) +
         R"(,"clientInfo":)" + std::string(info) + "}";
}
const std::string tester = R"({"name":"tester","version":"9"})";

struct KeptBytes : testing::Test {
  static ServerOptions options(std::size_t session, std::size_t process) {
    ServerOptions out = test::server_options();
    out.limits.session_bytes = session;
    out.limits.process_session_bytes = process;
    return out;
  }
  static void fill(Server& server) {
    server.tool("t", "", [] { return "t"; });
    server.prompt("p", "", [] { return "p"; });
    server.resource("x:1", "one", [] { return "x"; });
    struct Which {
      std::string name{};
    };
    server.resource_template("x:{name}", "many", [](Which in) { return in.name; });
  }
  static std::string uri(std::size_t number, std::size_t size = 1'000) {
    const std::string digits = std::to_string(number);
    return "x:" + digits + text_of(size - 2 - digits.size());
  }
  static std::string subscribe_to(std::string_view uri) {
    return R"({"uri":)" + json::quote(uri) + "}";
  }
  static std::string listen_to(const std::vector<std::string>& uris) {
    json::Array all;
    for (const std::string& one : uris) all.emplace_back(one);
    return R"({"notifications":{"resourceSubscriptions":)" + json::Value(all).dump() + "}}";
  }
};

TEST_F(KeptBytes, NamesAndVersionsHaveALength) {
  Server server(test::server_options());
  for (const char* member : {"name", "version", "title"}) {
    for (const std::size_t size : {std::size_t{1'024}, std::size_t{1'025}, std::size_t{1u << 20}}) {
      Link link(server, "");
      json::Value info = test::parse(tester);
      info[member] = text_of(size);
      const json::Value answer = link.ask("initialize", initialize_params(info.dump()));
      EXPECT_EQ(code_of(answer), size > 1'024 ? -32602 : 0) << member << " " << size;
      if (code_of(answer) == 0) continue;
      EXPECT_TRUE(has(error_text(answer), member));
      EXPECT_TRUE(has(error_text(answer), "1024"));
      EXPECT_LT(answer.dump().size(), short_answer);
      // Nothing has begun: the client may try again.
      EXPECT_EQ(code_of(link.ask("initialize", initialize_params(tester))), 0);
    }
  }
  Link link(server, "");
  json::Value info = test::parse(tester);
  info["websiteUrl"] = "https://" + text_of(8'192);
  EXPECT_EQ(code_of(link.ask("initialize", initialize_params(info.dump()))), -32602);
  EXPECT_EQ(server.session_bytes(), 0u);
}

TEST_F(KeptBytes, WhatAClientSaysAboutItselfIsBoundedAndForgottenWithItsSession) {
  Server server(options(10'000, 1u << 20));
  const std::string many = [] {
    std::string out = R"({"experimental":{"a":[)";
    for (int i = 0; i < 2'000; ++i) out += i == 0 ? "0" : ",0";
    return out + "]}}";
  }();
  const std::string large = R"({"extensions":{"a":{"b":")" + text_of(10'000) + R"("}}})";
  for (const std::string& capabilities : {many, large}) {
    Link link(server, "");
    const json::Value answer = link.ask("initialize", initialize_params(tester, capabilities));
    EXPECT_EQ(code_of(answer), -32602);
    EXPECT_TRUE(has(error_text(answer), "10000"));
    EXPECT_EQ(server.session_bytes(), 0u);
  }
  json::Value info = test::parse(tester);
  info["description"] = text_of(5'000);
  {
    Link link(server, "");
    EXPECT_EQ(code_of(link.ask("initialize", initialize_params(info.dump()))), 0);
    EXPECT_GT(server.session_bytes(), 5'000u);
    EXPECT_LT(server.session_bytes(), 7'000u);
  }
  EXPECT_EQ(server.session_bytes(), 0u);
}

TEST_F(KeptBytes, SubscriptionsCount) {
  Server server(options(20'000, 1u << 20));
  fill(server);
  Link link(server, test::legacy_revision);
  const std::size_t before = server.session_bytes();
  std::size_t taken = 0;
  json::Value refused;
  for (std::size_t i = 1; i <= 100; ++i) {
    json::Value answer = link.ask("resources/subscribe", subscribe_to(uri(i)));
    EXPECT_EQ(code_of(link.ask("resources/subscribe", subscribe_to(uri(1)))), 0) << "had already";
    if (code_of(answer) == 0) {
      ++taken;
    } else {
      refused = std::move(answer);
    }
  }
  EXPECT_GE(taken, 10u);
  EXPECT_LT(taken, 20u);
  EXPECT_EQ(code_of(refused), -32602);
  EXPECT_TRUE(has(error_text(refused), "end a subscription first"));
  EXPECT_LE(server.session_bytes(), 20'000u);
  // Room is made by unsubscribing, by as much as was taken.
  link.ask("resources/unsubscribe", subscribe_to(uri(1)));
  link.ask("resources/unsubscribe", subscribe_to(uri(1)));
  link.ask("resources/unsubscribe", subscribe_to(uri(99)));
  EXPECT_EQ(code_of(link.ask("resources/subscribe", subscribe_to(uri(50)))), 0);
  EXPECT_EQ(code_of(link.ask("resources/subscribe", subscribe_to(uri(51)))), -32602);
  for (std::size_t i = 1; i <= 100; ++i) {
    link.ask("resources/unsubscribe", subscribe_to(uri(i)));
  }
  EXPECT_EQ(server.session_bytes(), before);
}

TEST_F(KeptBytes, OnlyWhatCouldExistIsSubscribedTo) {
  Server server(test::server_options());
  server.resource("x:1", "one", [] { return "x"; });
  for (const std::string_view revision : test::all_revisions) {
    if (test::is_modern(revision)) continue;
    Link link(server, revision);
    EXPECT_EQ(code_of(link.ask("resources/subscribe", subscribe_to("x:1"))), 0);
    EXPECT_EQ(code_of(link.ask("resources/subscribe", subscribe_to("x:2"))),
              code_of(link.ask("resources/read", subscribe_to("x:2"))));
    EXPECT_EQ(code_of(link.ask("resources/unsubscribe", subscribe_to("x:2"))), 0);
  }
  Link link(server, test::modern_revision);
  link.request("subscriptions/listen", listen_to({"x:2", "x:1", "x:3", "x:1"}));
  EXPECT_EQ(link.sent.at(0)["params"]["notifications"].dump(),
            R"({"resourceSubscriptions":["x:1"]})");
}

TEST_F(KeptBytes, ListensCountAndEndWithTheirBytes) {
  Server server(options(20'000, 1u << 20));
  fill(server);
  Link link(server, test::modern_revision);
  std::vector<std::string> uris;
  for (std::size_t i = 1; i <= 10; ++i) uris.push_back(uri(i));
  const std::string first = link.request("subscriptions/listen", listen_to(uris));
  EXPECT_FALSE(link.has_answer(first));
  const std::size_t one = server.session_bytes();
  EXPECT_GT(one, 10'000u);
  EXPECT_LT(one, 13'000u);
  const std::string second = link.request("subscriptions/listen", listen_to(uris));
  ASSERT_TRUE(link.has_answer(second));
  EXPECT_EQ(code_of(link.take_answer(second)), -32602);
  EXPECT_EQ(server.session_bytes(), one);
  for (std::size_t i = 11; i <= 40; ++i) uris.push_back(uri(i));
  const json::Value never = link.ask("subscriptions/listen", listen_to(uris));
  EXPECT_EQ(code_of(never), -32602) << "it can never be taken";
  EXPECT_TRUE(has(error_text(never), "20000"));
  link.cancel(first);
  EXPECT_EQ(server.session_bytes(), 0u);
  const std::string again = link.request("subscriptions/listen", listen_to({uri(1)}));
  EXPECT_FALSE(link.has_answer(again));
}

TEST_F(KeptBytes, AllSessionsTogetherHaveABound) {
  Server server(options(20'000, 50'000));
  fill(server);
  std::vector<std::unique_ptr<Link>> links;
  int refused = 0;
  for (int i = 0; i < 10; ++i) {
    links.push_back(std::make_unique<Link>(server, test::legacy_revision));
  }
  for (const auto& link : links) {
    for (std::size_t n = 1; n <= 15; ++n) {
      const json::Value answer = link->ask("resources/subscribe", subscribe_to(uri(n)));
      if (code_of(answer) == 0) continue;
      EXPECT_EQ(code_of(answer), -32603);
      EXPECT_TRUE(has(error_text(answer), "busy"));
      ++refused;
    }
    EXPECT_LE(server.session_bytes(), 50'000u);
  }
  EXPECT_GT(refused, 90);
  links.clear();
  EXPECT_EQ(server.session_bytes(), 0u);
}

TEST_F(KeptBytes, LongTextsAreNotRepeatedInErrors) {
  Server server(test::server_options());
  fill(server);
  const std::string huge = text_of(1u << 20);
  const std::string quoted = json::quote(huge);
  for (const std::string_view revision : test::all_revisions) {
    Link link(server, revision);
    link.check_schema = false;
    const auto refused = [&](std::string_view method, const std::string& params) {
      const json::Value answer = link.ask(method, params);
      EXPECT_NE(code_of(answer), 0) << revision << " " << method;
      EXPECT_LT(answer.dump().size(), short_answer) << revision << " " << method;
    };
    refused("tools/call", R"({"name":)" + quoted + "}");
    refused("prompts/get", R"({"name":)" + quoted + "}");
    refused("resources/read", R"({"uri":)" + quoted + "}");
    refused("resources/read", R"({"uri":"y:)" + text_of(8'000) + R"("})");
    refused("tools/list", R"({"cursor":)" + quoted + "}");
    refused(huge, "{}");
    if (test::is_modern(revision)) {
      refused("subscriptions/listen", listen_to({"x:" + huge}));
      refused("tools/list", R"({"_meta":{"io.modelcontextprotocol/logLevel":)" + quoted + "}}");
      link.raw("900", "tools/list",
               test::parse(R"({"_meta":{"io.modelcontextprotocol/protocolVersion":)" + quoted +
                           R"(,"io.modelcontextprotocol/clientCapabilities":{}}})"));
      const json::Value answer = link.take_answer("900");
      EXPECT_NE(code_of(answer), 0);
      EXPECT_LT(answer.dump().size(), short_answer);
    } else {
      refused("resources/subscribe", subscribe_to("x:" + huge));
      refused("logging/setLevel", R"({"level":)" + quoted + "}");
    }
    refused("completion/complete", R"({"ref":{"type":"ref/prompt","name":)" + quoted +
                                       R"(},"argument":{"name":"a","value":"b"}})");
    refused("completion/complete",
            R"({"ref":{"type":)" + quoted + R"(},"argument":{"name":"a","value":"b"}})");
  }
}

}  // namespace
}  // namespace godwit::inline v0
