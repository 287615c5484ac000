#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

using test::code_of;
using test::equals;
using test::Link;

struct Sum {
  int a{};
  int b{};
};
struct Total {
  int total{};
};

/// How often a member of this name is in the text.
std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

class Custom : public testing::TestWithParam<std::string_view> {
 protected:
  Custom() : server(test::server_options()) {}
  bool modern() const { return test::is_modern(GetParam()); }
  Server server;
};
INSTANTIATE_TEST_SUITE_P(Revisions, Custom, testing::ValuesIn(test::all_revisions));

TEST_P(Custom, MethodsOfTheProgramsOwn) {
  server.method("acme/sum", [](Sum in) { return Total{in.a + in.b}; });
  server.method("acme/nothing", [](Context&) {});
  server.method("acme/fail", []() -> Result<Total> { return Error{.code = 3, .message = "no"}; });
  server.method("acme/throw", []() -> Total { throw std::runtime_error("secret"); });
  server.method("acme/text", [] { return json::Value("text"); });
  server.method("acme/list", [] { return RawJson{"[1]"}; });
  std::vector<Reply<Total>> replies;
  server.method("acme/late", [&](Reply<Total> reply) { replies.push_back(std::move(reply)); });
  Link link(server, GetParam());
  const json::Value sum = link.ask("acme/sum", R"({"a":2,"b":3})");
  EXPECT_TRUE(equals(sum["result"]["total"], "5"));
  EXPECT_EQ(sum["result"].contains("resultType"), modern());
  if (!modern()) {
    EXPECT_EQ(sum["result"].dump(), R"({"total":5})");
    EXPECT_EQ(link.ask("acme/nothing")["result"].dump(), "{}");
  } else {
    EXPECT_EQ(link.ask("acme/nothing")["result"]["resultType"].as_string(), "complete");
  }
  EXPECT_EQ(code_of(link.ask("acme/sum", R"({"a":2})")), -32602);
  EXPECT_EQ(code_of(link.ask("acme/fail")), 3);
  EXPECT_EQ(code_of(link.ask("acme/throw")), -32603);
  EXPECT_EQ(code_of(link.ask("acme/text")), -32603);  // results are objects
  EXPECT_EQ(code_of(link.ask("acme/list")), -32603);
  EXPECT_EQ(code_of(link.ask("acme/none")), -32601);
  const std::string id = link.request("acme/late");
  replies[0](Total{9});
  EXPECT_TRUE(equals(link.take_answer(id)["result"]["total"], "9"));
  // A notification of that name is no call.
  link.forget();
  link.notify("acme/late");
  EXPECT_EQ(replies.size(), 1u);
  EXPECT_TRUE(link.sent.empty());
}

TEST_P(Custom, AMethodMayAnswerAsAToolDoes) {
  server.method("acme/result", [] {
    return ToolResult{.content = {TextContent{.text = "x"}},
                      .structuredContent = RawJson{R"({"a":1})"}};
  });
  Link link(server, GetParam());
  const json::Value answer = link.ask("acme/result");
  EXPECT_EQ(test::text_of(answer), "x") << answer.dump();
}

TEST_P(Custom, NotificationsOfTheProgramsOwn) {
  std::vector<int> seen;
  server.notification("acme/tell", [&](Sum in) { seen.push_back(in.a); });
  server.notification("acme/throw", [](Sum) { throw std::runtime_error("x"); });
  Link link(server, GetParam());
  link.forget();
  link.notify("acme/tell", R"({"a":1,"b":2})");
  link.notify("acme/tell", R"({"a":"x"})");
  link.notify("acme/throw", R"({"a":1,"b":2})");
  EXPECT_EQ(seen, std::vector<int>{1});
  EXPECT_TRUE(link.sent.empty());
  EXPECT_EQ(code_of(link.ask("acme/tell", R"({"a":1,"b":2})")), -32601);
}

TEST_P(Custom, AResultKeepsOneOfEachMember) {
  server.method("acme/meta", [] {
    return json::Value(json::Object{{"x", 1}, {"_meta", json::Object{{"k", 1}}}});
  });
  server.method("acme/type",
                [] { return json::Value(json::Object{{"resultType", "acme/task"}, {"x", 1}}); });
  server.extension({.id = "com.example/tasks", .result_types = {"acme/task"}});
  Link link(server, GetParam(), {.capabilities = R"({"extensions":{"com.example/tasks":{}}})"});
  const json::Value meta = link.ask("acme/meta");
  EXPECT_TRUE(equals(meta["result"]["_meta"]["k"], "1")) << meta.dump();
  EXPECT_EQ(count(link.sent_texts.back(), R"("_meta")"), 1u) << link.sent_texts.back();
  link.check_schema = false;  // a result type of an extension
  const json::Value type = link.ask("acme/type");
  EXPECT_EQ(type["result"]["resultType"].as_string(), "acme/task");
  EXPECT_EQ(count(link.sent_texts.back(), R"("resultType")"), 1u) << link.sent_texts.back();
}

TEST_P(Custom, AResultTypeThatTheClientDoesNotKnowIsNeverSent) {
  server.method("acme/type", [] { return json::Value(json::Object{{"resultType", "acme/task"}}); });
  server.extension({.id = "com.example/tasks", .result_types = {"acme/task"}});
  Link link(server, GetParam());
  link.check_schema = false;  // older revisions have no types: there it is a member like others
  const json::Value answer = link.ask("acme/type");
  if (modern()) {
    EXPECT_EQ(code_of(answer), -32603);
  } else {
    EXPECT_EQ(answer["result"]["resultType"].as_string(), "acme/task");
  }
}

TEST_P(Custom, MethodsOfAnExtensionAreForClientsThatDeclareIt) {
  server.method("acme/do", [] { return json::Value(json::Object{{"x", 1}}); });
  server.extension({.id = "com.example/do", .methods = {"acme/do"}});
  Link without(server, GetParam());
  EXPECT_EQ(code_of(without.ask("acme/do")), modern() ? -32021 : -32601);
  Link with(server, GetParam(), {.capabilities = R"({"extensions":{"com.example/do":{}}})"});
  EXPECT_TRUE(equals(with.ask("acme/do")["result"]["x"], "1"));
}

TEST(CustomListen, FiltersOfAnExtensionAreServedToThoseWhoseValueItIs) {
  Server server{{.name = "s", .version = "1"}};
  server.extension({.id = "com.example/jobs", .listen_filters = {"jobIds"}});
  Link link(server, std::string(revisions().front()),
            {.capabilities = R"({"extensions":{"com.example/jobs":{}}})"});
  link.check_schema = false;  // a filter and a notification of an extension
  link.forget();
  link.request("subscriptions/listen", R"({"notifications":{"jobIds":["a","b"]}})");
  ASSERT_EQ(link.sent.size(), 1u);
  EXPECT_EQ(link.sent[0]["params"]["notifications"].dump(), R"({"jobIds":["a","b"]})");
  link.forget();
  server.tell_listeners("jobIds", "c", "acme/job", {R"({"id":"c"})"});
  server.tell_listeners("jobIds", "b", "acme/job", {R"({"id":"b"})"});
  server.tell_listeners("others", "b", "acme/job", {"{}"});
  link.peer->process();
  ASSERT_EQ(link.sent.size(), 1u);
  EXPECT_EQ(link.sent[0]["params"]["id"].as_string(), "b");
  EXPECT_TRUE(link.sent[0]["params"]["_meta"].contains("io.modelcontextprotocol/subscriptionId"));
}

TEST_P(Custom, ExtensionsAreOfferedWhereTheRevisionHasThem) {
  server.extension({.id = "com.example/thing", .settings = json::Object{{"level", 2}}});
  server.extension({.id = "com.example/other"});
  EXPECT_THROW(server.extension({.id = "thing"}), std::invalid_argument);
  Link link(server);
  const json::Value answer =
      modern() ? link.ask_modern("server/discover") : link.handshake(GetParam());
  const json::Value& capabilities = answer["result"]["capabilities"];
  if (modern()) {
    EXPECT_TRUE(equals(capabilities["extensions"],
                       R"({"com.example/thing":{"level":2},"com.example/other":{}})"));
  } else {
    EXPECT_FALSE(capabilities.contains("extensions"));
  }
}

TEST_P(Custom, ExperimentalCapabilitiesAreHandedOn) {
  ServerOptions options = test::server_options();
  options.experimental = {{"acme", json::Object{{"a", 1}}}};
  Server own(std::move(options));
  Link link(own);
  const json::Value answer =
      modern() ? link.ask_modern("server/discover") : link.handshake(GetParam());
  EXPECT_TRUE(equals(answer["result"]["capabilities"]["experimental"], R"({"acme":{"a":1}})"));
}

TEST(CustomRegistration, ReservedNamesThrow) {
  Server server(test::server_options());
  EXPECT_THROW(server.method("rpc.x", [] {}), std::invalid_argument);
  EXPECT_THROW(server.method("", [] {}), std::invalid_argument);
  EXPECT_THROW(server.method("acme/b", blocking([] {})), std::invalid_argument);
}

TEST(Middleware, RunsAroundEveryCall) {
  Server server(test::server_options());
  std::vector<std::string> lines;
  server.use({.before = {}, .after = [&](rpc::Outcome& outcome) {
                lines.push_back(std::string(outcome.method()) +
                                (outcome.error() ? " failed" : " ok"));
              }});
  std::vector<Reply<std::string>> replies;
  server.tool("late", "", [&](Reply<std::string> reply) { replies.push_back(std::move(reply)); });
  Link link(server, test::legacy_revision);
  const std::string id = link.request("tools/call", Link::tool_params("late"));
  EXPECT_EQ(lines.back(), "notifications/initialized ok");
  replies[0]("x");
  link.take_answer(id);
  EXPECT_EQ(lines.back(), "tools/call ok");
  link.ask("none/such");
  EXPECT_EQ(lines.back(), "none/such failed");
}

}  // namespace
}  // namespace godwit::inline v0
