// Asking the client: in the stateful era by requests, in the stateless one by results that ask for
// input. replay_test.cpp is about what is kept between the rounds.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <variant>
#include <vector>

#include "ask_fixture.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::accept;
using test::code_of;
using test::equals;
using test::error_text;
using test::has;
using test::is_error_result;
using test::Link;
using test::text_of;

INSTANTIATE_TEST_SUITE_P(Eras, Ask, testing::ValuesIn(asking_revisions));

TEST_P(Ask, OneHandlerForBothEras) {
  server.tool("deploy", "", deploy(runs, effects));
  Link link = connect();
  int rounds = 0;
  EXPECT_EQ(text_of(converse(link, "deploy", accept(R"({"sure":true})"), &rounds)), "deployed r1");
  EXPECT_EQ(rounds, 1);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(effects, 1);
  EXPECT_EQ(text_of(converse(link, "deploy", accept(R"({"sure":false})"))), "not sure");
  EXPECT_EQ(text_of(converse(link, "deploy", R"({"action":"decline"})")), "declined");
  EXPECT_EQ(text_of(converse(link, "deploy", R"({"action":"cancel"})")), "cancelled");
  // Content of an answer that is no consent is nothing to look at.
  EXPECT_EQ(text_of(converse(link, "deploy", R"({"action":"decline","content":{"sure":5}})")),
            "declined");
  EXPECT_EQ(effects, 1);
}

TEST_P(Ask, AsTheWireHasIt) {
  server.tool("deploy", "", deploy(runs, effects));
  Link link = connect();
  const std::string params = R"({"mode":"form","message":"Deploy to prod?","requestedSchema":
      {"type":"object","properties":{"sure":{"type":"boolean"}},"required":["sure"]}})";
  const std::string id =
      link.request("tools/call", Link::tool_params("deploy", R"({"env":"prod"})"));
  if (modern()) {
    const json::Value result = link.take_answer(id)["result"];
    EXPECT_EQ(result["resultType"].as_string(), "input_required");
    EXPECT_TRUE(equals(result["inputRequests"],
                       R"({"confirm":{"method":"elicitation/create","params":)" + params + "}}"));
    EXPECT_TRUE(result["requestState"].is_string());
    for (const char* member : {"content", "ttlMs", "cacheScope", "isError"}) {
      EXPECT_FALSE(result.contains(member)) << member;
    }
    EXPECT_EQ(link.sent.size(), 1u);
  } else {
    const json::Value question = link.take_question();
    EXPECT_EQ(question["method"].as_string(), "elicitation/create");
    EXPECT_TRUE(equals(question["params"], params));
    EXPECT_FALSE(link.has_answer(id));
    link.reply(question, accept(R"({"sure":true})"));
    EXPECT_EQ(text_of(link.take_answer(id)), "deployed r1");
  }
}

TEST_P(Ask, TheSameKeyTwiceIsAnError) {
  server.tool("twice", "", [&](Context& cx) -> Result<std::string> {
    auto first = cx.elicit<Name>("who", "Who?");
    if (!first) return first.error();
    auto second = cx.elicit<Name>("who", "Who else?");
    if (!second) return second.error();
    return "fine";
  });
  Link link = connect();
  int rounds = 0;
  const json::Value answer = converse(link, "twice", accept(R"({"name":"x"})"), &rounds);
  EXPECT_EQ(code_of(answer), -32603) << answer.dump();
  EXPECT_EQ(rounds, 1);
}

TEST_P(Ask, OnceSomethingIsUnansweredNothingHappens) {
  bool suspended = false, later_suspended = false, once_suspended = false;
  server.tool("careless", "", [&](Context& cx) -> std::string {
    ++runs;
    cx.progress(1);
    auto first = cx.elicit<Name>("a", "A?");
    auto second = cx.elicit<Name>("b", "B?");
    auto roots = cx.roots("c");
    auto done = cx.once("e", [&] { return ++effects; });
    cx.progress(2);
    cx.log(LoggingLevel::emergency, "never");
    if (runs == 1) {
      suspended = !first && is_suspended(first.error());
      later_suspended =
          !second && is_suspended(second.error()) && !roots && is_suspended(roots.error());
      once_suspended = !done && is_suspended(done.error());
    }
    return first && second && roots && done ? "complete" : "given up";
  });
  Link link(server, GetParam(), {.capabilities = std::string(test::can_all), .log_level = "debug"});
  const std::string params = Link::tool_params("careless", "{}", R"(,"_meta":{"progressToken":1})");
  const std::string id = link.request("tools/call", params);
  EXPECT_TRUE(suspended);
  EXPECT_TRUE(later_suspended);
  EXPECT_TRUE(once_suspended);
  EXPECT_EQ(effects, 0);
  EXPECT_EQ(link.notes("notifications/progress").size(), 1u);
  EXPECT_TRUE(link.notes("notifications/message").empty());
  // What it returned does not count: it has a question open, and only the first one.
  if (modern()) {
    const json::Value result = link.take_answer(id)["result"];
    EXPECT_EQ(result["resultType"].as_string(), "input_required") << result.dump();
    EXPECT_EQ(result["inputRequests"].size(), 1u);
    EXPECT_TRUE(result["inputRequests"].contains("a"));
  } else {
    EXPECT_EQ(link.questions.size(), 1u);
    EXPECT_FALSE(link.has_answer(id));
  }
}

TEST_P(Ask, ItGoesThroughAllOfThemInOrder) {
  server.tool("three", "", [&](Context& cx) -> Result<std::string> {
    std::string all;
    for (const char* key : {"a", "b", "c"}) {
      auto answer = cx.elicit<Name>(key, std::string("Name ") + key);
      if (!answer) return answer.error();
      auto done = cx.once(key, [&] { return ++effects; });
      if (!done) return done.error();
      all += answer->value().name + std::to_string(*done);
    }
    return all;
  });
  Link link = connect();
  int rounds = 0;
  const json::Value answer = link.converse(
      "tools/call", Link::tool_params("three"),
      [](std::string_view, const json::Value& params) {
        return accept(R"({"name":")" + params["message"].get<std::string>().substr(5) + R"("})");
      },
      &rounds);
  EXPECT_EQ(text_of(answer), "a1b2c3");
  EXPECT_EQ(rounds, 3);
  EXPECT_EQ(effects, 3);
}

TEST_P(Ask, EveryKindOfQuestion) {
  server.tool("all", "", [&](Context& cx) -> Result<std::string> {
    ++runs;
    auto all = cx.ask_all(ask_form<Name>("form", "Name?"), ask_url("url", "Open", "https://a.b/c"),
                          ask_sample("sample", ask_model("Say hi", 10)), ask_roots("roots"));
    if (!all) return all.error();
    const auto& [form, url, sample, roots] = *all;
    return form.value().name + " " + std::to_string(static_cast<int>(url)) + " " +
           std::get<TextContent>(sample.content).text + " " + sample.model + " " + roots.at(0).uri;
  });
  Link link = connect();
  std::vector<std::string> methods;
  int rounds = 0;
  const json::Value answer = link.converse(
      "tools/call", Link::tool_params("all"),
      [&](std::string_view method, const json::Value& params) -> std::string {
        methods.emplace_back(method);
        if (method == "sampling/createMessage") {
          EXPECT_TRUE(equals(params,
                             R"({"messages":[{"role":"user","content":{"type":"text",
                                 "text":"Say hi"}}],"maxTokens":10})"));
          return R"({"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"})";
        }
        if (method == "roots/list") return R"({"roots":[{"uri":"file:///w"}]})";
        if (params["mode"].as_string() == "url") {
          EXPECT_EQ(params["url"].as_string(), "https://a.b/c");
          EXPECT_EQ(params.contains("elicitationId"), !modern());
          return R"({"action":"accept"})";
        }
        return accept(R"({"name":"Ada"})");
      },
      &rounds);
  EXPECT_EQ(text_of(answer), "Ada 0 hi m file:///w");
  EXPECT_EQ(methods.size(), 4u);
  EXPECT_EQ(rounds, 1);
  EXPECT_EQ(runs, 2);
}

TEST_P(Ask, PromptsAndResourcesMayAsk) {
  const auto name = [](Context& cx) -> Result<std::string> {
    auto answer = cx.elicit<Name>("who", "Who?");
    if (!answer) return answer.error();
    return answer->accepted() ? answer->value().name : "nobody";
  };
  server.prompt("p", "", name);
  server.resource("x:1", "x", name);
  Link link = connect();
  const auto ada = always(R"({"action":"accept","content":{"name":"Ada"}})");
  EXPECT_EQ(link.converse("prompts/get", R"({"name":"p"})",
                          ada)["result"]["messages"][0]["content"]["text"]
                .as_string(),
            "Ada");
  EXPECT_EQ(
      link.converse("resources/read", R"({"uri":"x:1"})", ada)["result"]["contents"][0]["text"]
          .as_string(),
      "Ada");
  Link poor = connect("{}");
  const json::Value answer = poor.ask("prompts/get", R"({"name":"p"})");
  EXPECT_EQ(code_of(answer), modern() ? -32021 : -32602) << answer.dump();
}

TEST_P(Ask, FormsWithASchemaOfTheirOwn) {
  server.tool("own", "", [](Context& cx) -> Result<std::string> {
    auto answer =
        cx.elicit("k", "?", RawJson{R"({"type":"object","properties":{"a":{"type":"string",
        "oneOf":[{"const":"r","title":"Red"}],"default":"r"}}})"});
    if (!answer) return answer.error();
    return json::Value(answer->value()).dump();
  });
  Link link = connect();
  EXPECT_EQ(text_of(converse(link, "own", accept(R"({"a":"r"})"))), R"({"a":"r"})");
}

TEST_P(Ask, BlockingAndAsynchronousHandlersMayAsk) {
  ThreadPool pool(2);
  ServerOptions options = test::server_options();
  options.executor = &pool;
  Server own(std::move(options));
  std::atomic<int> done = 0;
  const auto body = [&](Context& cx) -> Result<std::string> {
    std::string all;
    for (const char* key : {"a", "b"}) {
      auto answer = cx.elicit<Name>(key, key);
      if (!answer) return answer.error();
      auto id = cx.once(key, [&] { return ++done; });
      if (!id) return id.error();
      all += answer->value().name + std::to_string(*id);
    }
    return all;
  };
  own.tool("blocking", "", blocking([&](Context& cx) { return body(cx); }));
  own.tool("async", "", [&](Reply<std::string> reply) {
    pool.execute([&, reply = std::move(reply)]() mutable { reply(body(reply.context())); });
  });
  own.tool("inline", "", [&](Context& cx, Reply<std::string> reply) { reply(body(cx)); });
  Link link(own, GetParam(), {.capabilities = std::string(test::can_all)});
  for (const char* name : {"blocking", "async", "inline"}) {
    done = 0;
    EXPECT_EQ(text_of(converse(link, name, accept(R"({"name":"x"})"))), "x1x2") << name;
    EXPECT_EQ(done, 2) << name;
  }
}

TEST_P(Ask, TheExplicitStyle) {
  using Either = std::variant<std::string, InputRequired>;
  server.tool("steps", "", [&](Context& cx) -> Either {
    ++runs;
    cx.progress(runs);
    if (cx.state().empty()) {
      EXPECT_EQ(cx.answer("who"), nullptr);
      return InputRequired().form<Name>("who", "Who?").roots("where").state("one");
    }
    if (cx.state() == "one") {
      const json::Value* who = cx.answer("who");
      const json::Value* where = cx.answer("where");
      if (!who || !where) return "answers lost";
      return InputRequired()
          .form<Confirm>("sure", "Sure, " + (*who)["content"]["name"].get<std::string>() + "?")
          .state("two:" + (*where)["roots"][0]["uri"].get<std::string>());
    }
    if (!cx.answer("sure") || cx.answer("who")) return "wrong answers";
    return std::string(cx.state());
  });
  Link link = connect();
  int rounds = 0;
  const json::Value answer = link.converse(
      "tools/call", Link::tool_params("steps", "{}", R"(,"_meta":{"progressToken":"p"})"),
      [](std::string_view method, const json::Value& params) -> std::string {
        if (method == "roots/list") return R"({"roots":[{"uri":"file:///w"}]})";
        if (params["message"].as_string() == "Sure, Ada?") return accept(R"({"sure":true})");
        return accept(R"({"name":"Ada"})");
      },
      &rounds);
  EXPECT_EQ(text_of(answer), "two:file:///w");
  EXPECT_EQ(rounds, 2);
  EXPECT_EQ(runs, 3);
  // No replay: each run tells something new.
  EXPECT_EQ(link.notes("notifications/progress").size(), 3u);
}

}  // namespace
}  // namespace godwit::inline v0
