// Who calls over HTTP: what handlers know of it, and to whom a session belongs.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "site.hpp"

namespace godwit::inline v0 {
namespace {

using test::has;

/// Believes everything: "Bearer ada" is ada, "Bearer ada:write" is ada with a scope.
std::shared_ptr<const rpc::Identity> believe(const http::Request& request) {
  const auto field = request.fields.find("Authorization");
  if (!field || !field->starts_with("Bearer ")) return nullptr;
  const std::string_view token = field->substr(7);
  rpc::Identity identity{.issuer = "test",
                         .subject = std::string(token.substr(0, token.find(':')))};
  if (token.find(':') != token.npos)
    identity.scopes = {std::string(token.substr(token.find(':') + 1))};
  return std::make_shared<const rpc::Identity>(std::move(identity));
}

std::string describe(Context& cx) {
  std::string text = cx.identity() ? cx.identity()->subject : "nobody";
  if (cx.identity() && cx.identity()->may("write")) text += "(write)";
  text += "|" + cx.request_id()->text() + "|" + std::string(cx.header("x-test").value_or("-"));
  text += "|" + std::string(cx.header("Authorization").value_or("hidden"));
  return text + "|" + std::string(cx.peer());
}

struct Counter {
  int value = 0;
};

struct Callers : testing::Test {
  static SiteOptions options() {
    SiteOptions all;
    all.endpoint.admission =
        http::make_admission([](const http::Request& head, http::Decision& decision) {
          decision.admit({.identity = believe(head)});
        });
    all.endpoint.sse_path = "/sse";
    static InlineExecutor inline_executor;
    all.server.executor = &inline_executor;
    return all;
  }
  Callers() : site(options()) {
    site.server.tool("who", "", [](Context& cx) { return describe(cx); });
    site.server.tool("late", "", blocking([](Context& cx) { return describe(cx); }));
    site.server.tool("asks", "", [](Context& cx) -> Result<std::string> {
      auto name = cx.elicit<Name>("who", "Who?");
      if (!name) return name.error();
      return name->value().name + " says " + describe(cx);
    });
    site.server.tool("count", "", [](Context& cx) {
      const auto counter = cx.session_state<Counter>();
      return counter ? std::to_string(++counter->value) : std::string("no session");
    });
  }
  static FakeRequest as(const std::string& token, FakeRequest request) {
    if (!token.empty()) request.with("Authorization", "Bearer " + token);
    return request.with("X-Test", "t").with("Cookie", "c");
  }
  std::string connect(const std::string& token) {
    FakeExchange& answer =
        site.send(as(token, Site::post(Site::initialize_body(test::legacy_revision))));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.field("Mcp-Session-Id");
  }
  std::string text(FakeExchange& exchange) {
    site.process();
    return test::text_of(exchange.answer());
  }

  Site site;
};

TEST_F(Callers, HandlersOfBothErasKnowWhoCalls) {
  const std::string session = connect("ada");
  for (const std::string tool : {"who", "late"}) {
    FakeExchange& modern = site.send(as("ada:write", Site::modern_tool("7", tool)));
    EXPECT_TRUE(text(modern).starts_with("ada(write)|7|t|hidden|")) << text(modern);
    FakeExchange& nobody = site.send(as("", Site::modern_tool("8", tool)));
    EXPECT_TRUE(text(nobody).starts_with("nobody|8|t|hidden|")) << text(nobody);
    FakeExchange& legacy = site.send(as("ada", Site::in(session, Site::tool_body("9", tool))));
    EXPECT_TRUE(text(legacy).starts_with("ada|9|t|hidden|")) << text(legacy);
    FakeExchange& more = site.send(as("ada:write", Site::in(session, Site::tool_body("10", tool))));
    EXPECT_TRUE(text(more).starts_with("ada(write)|10|t|hidden|")) << "scopes may change";
  }
}

TEST_F(Callers, ASessionBelongsToWhoeverBeganIt) {
  const std::string session = connect("ada");
  const std::string open = connect("");
  for (const std::string other : {"bob", ""}) {
    EXPECT_EQ(site.send(as(other, Site::in(session, Site::tool_body("7", "who")))).status, 404);
    EXPECT_EQ(site.send(as(other, Site::get(session))).status, 404);
    EXPECT_EQ(site.send(as(other, Site::remove(session))).status, 404);
  }
  EXPECT_EQ(site.send(as("ada", Site::in(open, Site::tool_body("7", "who")))).status, 404)
      << "nobody's session is not hers";
  // What others are told is what they are told of a session that is not there.
  FakeExchange& hers = site.send(as("bob", Site::in(session, Site::tool_body("7", "who"))));
  FakeExchange& none = site.send(as("bob", Site::in("nothing", Site::tool_body("7", "who"))));
  EXPECT_EQ(hers.body, none.body);
  // None of that has harmed it.
  EXPECT_EQ(site.send(as("ada", Site::in(session, Site::tool_body("7", "who")))).status, 200);
  EXPECT_EQ(site.send(as("", Site::in(open, Site::tool_body("7", "who")))).status, 200);
  EXPECT_EQ(site.send(as("ada", Site::remove(session))).status, 204);
}

TEST_F(Callers, WhatIsSealedForOneIsNoGoodForAnother) {
  const std::string can = R"({"elicitation":{}})";
  FakeExchange& first = site.send(as("ada", Site::modern_tool("7", "asks", "{}", "", can)));
  const json::Value asked = first.answer();
  ASSERT_EQ(asked["result"]["resultType"].as_string(), "input_required") << first.body;
  const std::string more =
      R"(,"requestState":)" + asked["result"]["requestState"].dump() +
      R"(,"inputResponses":{"who":{"action":"accept","content":{"name":"x"}}})";
  for (const std::string other : {"bob", ""}) {
    FakeExchange& stolen = site.send(as(other, Site::modern_tool("8", "asks", "{}", more, can)));
    EXPECT_TRUE(has(stolen.body, "requestState")) << stolen.body;
    EXPECT_TRUE(stolen.answer().contains("error")) << stolen.body;
  }
  FakeExchange& again = site.send(as("ada:write", Site::modern_tool("8", "asks", "{}", more, can)));
  EXPECT_TRUE(text(again).starts_with("x says ada(write)|8|")) << again.body;
}

TEST_F(Callers, TheTransportOfTwoAddressesKnowsThemToo) {
  FakeExchange& stream = site.send(
      as("ada",
         FakeRequest("GET", "/sse").with("Host", "localhost").with("Accept", "text/event-stream")));
  const std::size_t at = stream.body.find("data: ") + 6;
  const std::string to = stream.body.substr(at, stream.body.find('\n', at) - at);
  const auto post = [&](const std::string& token, const std::string& body) {
    return site
        .send(as(token, FakeRequest("POST", to)
                            .with("Host", "localhost")
                            .with("Content-Type", "application/json")
                            .body(body)))
        .status;
  };
  EXPECT_EQ(post("bob", Site::initialize_body("2024-11-05")), 404);
  EXPECT_EQ(post("", Site::initialize_body("2024-11-05")), 404);
  EXPECT_EQ(post("ada", Site::initialize_body("2024-11-05")), 202);
  EXPECT_EQ(post("ada", Site::tool_body("7", "who")), 202);
  site.process();
  EXPECT_TRUE(has(stream.body, "ada|7|t|hidden|")) << stream.body;
}

TEST_F(Callers, ASessionHasStateOfTheProgramsOwn) {
  const std::string one = connect("ada");
  const std::string two = connect("ada");
  const auto count = [&](const std::string& session) {
    return text(site.send(as("ada", Site::in(session, Site::tool_body("7", "count")))));
  };
  EXPECT_EQ(count(one), "1");
  EXPECT_EQ(count(one), "2");
  EXPECT_EQ(count(two), "1");
  EXPECT_EQ(text(site.send(as("ada", Site::modern_tool("8", "count")))), "no session");
}

}  // namespace
}  // namespace godwit::inline v0
