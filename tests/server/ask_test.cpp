// Asking the client: in the stateful era by requests, in the stateless one by results that ask for
// input. replay_test.cpp is about what is kept between the rounds.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "mcp_station.hpp"

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

struct Deploy {
  std::string env{};
};
struct Confirm {
  bool sure{};
};
struct Name {
  std::string name{};
};

constexpr std::string_view asking_revisions[] = {"2025-11-25", "2026-07-28"};

class Ask : public testing::TestWithParam<std::string_view> {
 protected:
  Ask() : server(test::server_options()) {}
  bool modern() const { return test::is_modern(GetParam()); }
  Link connect(std::string_view capabilities = test::can_all) {
    return Link(server, GetParam(), {.capabilities = std::string(capabilities)});
  }
  /// Answers every form with this.
  static Link::Answerer always(std::string_view answer) {
    return [answer](std::string_view, const json::Value&) { return std::string(answer); };
  }
  json::Value converse(Link& link, std::string_view tool, std::string_view answer,
                       int* rounds = nullptr) {
    return link.converse("tools/call", Link::tool_params(tool, R"({"env":"prod"})"), always(answer),
                         rounds);
  }

  Server server;
  int runs = 0, effects = 0;
};
INSTANTIATE_TEST_SUITE_P(Eras, Ask, testing::ValuesIn(asking_revisions));

/// The handler of the README.
auto deploy(int& runs, int& effects) {
  return [&runs, &effects](Deploy in, Context& cx) -> Result<std::string> {
    ++runs;
    auto answer = cx.elicit<Confirm>("confirm", "Deploy to " + in.env + "?");
    if (!answer) return answer.error();
    if (answer->declined()) return "declined";
    if (answer->cancelled()) return "cancelled";
    if (!answer->value().sure) return "not sure";
    auto id = cx.once("release", [&] { return "r" + std::to_string(++effects); });
    if (!id) return id.error();
    return "deployed " + *id;
  };
}

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

TEST_P(Ask, OnlyWhatIsMissingIsAskedAgain) {
  server.tool("two", "", [&](Context& cx) -> Result<std::string> {
    auto all = cx.ask_all(ask_form<Name>("a", "A?"), ask_form<Name>("b", "B?"));
    if (!all) return all.error();
    return std::get<0>(*all).value().name + std::get<1>(*all).value().name;
  });
  Link link = connect();
  int asked_a = 0, asked_b = 0;
  const json::Value answer =
      link.converse("tools/call", Link::tool_params("two"),
                    [&](std::string_view, const json::Value& params) -> std::string {
                      if (params["message"].as_string() == "A?") {
                        ++asked_a;
                        return accept(R"({"name":"x"})");
                      }
                      return ++asked_b < 3 ? R"({"action":"accept","content":{"name":7}})"
                                           : accept(R"({"name":"y"})");
                    });
  EXPECT_EQ(text_of(answer), "xy");
  EXPECT_EQ(asked_a, 1);
  EXPECT_EQ(asked_b, 3);
}

TEST_P(Ask, WrongAnswersAreAskedAgainAndNeverSucceed) {
  server.tool("deploy", "", deploy(runs, effects));
  for (const char* wrong :
       {R"({"action":"accept"})", R"({"action":"accept","content":{}})",
        R"({"action":"accept","content":{"sure":"yes"}})", R"({"action":"accept","content":null})",
        R"({"action":"accept","content":[true]})", R"({"action":"perhaps"})", R"({"action":1})",
        R"({"sure":true})", "{}", R"({"content":{"sure":true}})"}) {
    Link link = connect();
    int asked = 0;
    const json::Value answer =
        link.converse("tools/call", Link::tool_params("deploy", R"({"env":"prod"})"),
                      [&](std::string_view, const json::Value&) -> std::string {
                        return ++asked < 3 ? wrong : std::string(test::decline);
                      });
    EXPECT_EQ(text_of(answer), "declined") << wrong;
    EXPECT_EQ(asked, 3) << wrong;
  }
  EXPECT_EQ(effects, 0);
}

TEST_P(Ask, WrongAnswersOfOtherKinds) {
  server.tool("sample", "", [](Context& cx) -> Result<std::string> {
    auto answer = cx.sample("s", ask_model("x", 1));
    if (!answer) return answer.error();
    return answer->model;
  });
  server.tool("roots", "", [](Context& cx) -> Result<std::string> {
    auto answer = cx.roots("r");
    if (!answer) return answer.error();
    return std::to_string(answer->size());
  });
  server.tool("url", "", [](Context& cx) -> Result<std::string> {
    auto answer = cx.elicit_url("u", "x", "https://x.y");
    if (!answer) return answer.error();
    return "consent";
  });
  struct Case {
    const char* tool;
    const char* wrong;
    const char* right;
    const char* text;
  };
  for (const Case& c :
       {Case{"sample", R"({"role":"assistant"})",
             R"({"role":"assistant","content":{"type":"text","text":"t"},"model":"m"})", "m"},
        Case{"roots", R"({"roots":5})", R"({"roots":[]})", "0"},
        Case{"url", R"({"action":true})", R"({"action":"accept"})", "consent"}}) {
    Link link = connect();
    int asked = 0;
    const json::Value answer = link.converse("tools/call", Link::tool_params(c.tool),
                                             [&](std::string_view, const json::Value&) {
                                               return std::string(++asked < 2 ? c.wrong : c.right);
                                             });
    EXPECT_EQ(text_of(answer), c.text);
    EXPECT_EQ(asked, 2) << c.tool;
  }
}

TEST_P(Ask, GivesUpOnAClientThatNeverAnswersRight) {
  server.tool("deploy", "", deploy(runs, effects));
  Link link = connect();
  int rounds = 0;
  const std::string id =
      modern() ? "" : link.request("tools/call", Link::tool_params("deploy", R"({"env":"x"})"));
  if (modern()) {
    const json::Value answer = converse(link, "deploy", R"({"action":"accept"})", &rounds);
    EXPECT_NE(answer["result"]["resultType"].as_string(), "input_required");
  } else {
    while (!link.has_answer(id) && rounds < 40) {
      link.reply(link.take_question(), R"({"action":"accept"})");
      ++rounds;
    }
    EXPECT_TRUE(link.has_answer(id)) << "asked " << rounds << " times";
  }
  EXPECT_LE(rounds, 10);
}

TEST_P(Ask, TenRoundsAndNoMore) {
  server.tool("count", "", [&](Deploy in, Context& cx) -> Result<std::string> {
    for (int i = 0; i < std::stoi(in.env); ++i) {
      auto answer = cx.elicit<Name>("k" + std::to_string(i), "Number " + std::to_string(i));
      if (!answer) return answer.error();
    }
    return "counted";
  });
  Link link = connect();
  const auto count = [&](const char* to, int& rounds) {
    return link.converse("tools/call",
                         Link::tool_params("count", R"({"env":")" + std::string(to) + R"("})"),
                         always(R"({"action":"accept","content":{"name":"x"}})"), &rounds);
  };
  int rounds = 0;
  EXPECT_EQ(text_of(count("10", rounds)), "counted");
  EXPECT_EQ(rounds, 10);
  const json::Value answer = count("11", rounds);
  EXPECT_EQ(rounds, 10);
  EXPECT_TRUE(is_error_result(answer) || code_of(answer) == -32603) << answer.dump();
}

// What the client cannot do.

struct Missing {
  const char* tool;
  const char* capabilities;
  const char* required;
};
constexpr Missing missing[] = {
    {"form", "{}", R"({"elicitation":{"form":{}}})"},
    {"form", R"({"elicitation":{"url":{}}})", R"({"elicitation":{"form":{}}})"},
    {"url", R"({"elicitation":{}})", R"({"elicitation":{"url":{}}})"},
    {"url", R"({"elicitation":{"form":{}}})", R"({"elicitation":{"url":{}}})"},
    {"sample", R"({"roots":{}})", R"({"sampling":{}})"},
    {"sample_tools", R"({"sampling":{}})", R"({"sampling":{"tools":{}}})"},
    {"roots", R"({"sampling":{},"elicitation":{}})", R"({"roots":{}})"},
    {"all", R"({"elicitation":{}})", R"({"sampling":{}})"},
};

TEST_P(Ask, WhatTheClientDidNotDeclareIsRefusedBeforeAnythingIsSent) {
  const auto pass_on = [](auto answer) -> Result<std::string> {
    if (!answer) return answer.error();
    return "answered";
  };
  server.tool("form", "", [=](Context& cx) { return pass_on(cx.elicit<Name>("k", "?")); });
  server.tool("url", "",
              [=](Context& cx) { return pass_on(cx.elicit_url("k", "?", "https://x.y")); });
  server.tool("sample", "",
              [=](Context& cx) { return pass_on(cx.sample("k", ask_model("?", 1))); });
  server.tool("sample_tools", "", [=](Context& cx) {
    SamplingRequest request = ask_model("?", 1);
    request.tools = {Tool{.name = "t", .inputSchema = RawJson{R"({"type":"object"})"}}};
    return pass_on(cx.sample("k", std::move(request)));
  });
  server.tool("roots", "", [=](Context& cx) { return pass_on(cx.roots("k")); });
  server.tool("all", "", [=](Context& cx) {
    return pass_on(cx.ask_all(ask_form<Name>("k", "?"), ask_sample("s", ask_model("?", 1))));
  });
  for (const Missing& c : missing) {
    Link link = connect(c.capabilities);
    link.forget();
    const std::string id = link.request("tools/call", Link::tool_params(c.tool));
    EXPECT_TRUE(link.questions.empty()) << c.tool;
    if (!link.has_answer(id)) {
      ADD_FAILURE() << c.tool << " with " << c.capabilities << " was asked";
      continue;
    }
    const json::Value answer = link.take_answer(id);
    if (modern()) {
      EXPECT_EQ(code_of(answer), -32021) << c.tool << answer.dump();
      EXPECT_TRUE(equals(answer["error"]["data"],
                         R"({"requiredCapabilities":)" + std::string(c.required) + "}"));
    } else {
      EXPECT_TRUE(is_error_result(answer)) << c.tool << answer.dump();
    }
  }
}

TEST_P(Ask, FormsAreTheDefaultOfElicitation) {
  server.tool("deploy", "", deploy(runs, effects));
  Link link = connect(R"({"elicitation":{}})");
  EXPECT_EQ(text_of(converse(link, "deploy", accept(R"({"sure":true})"))), "deployed r1");
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
  EXPECT_EQ(code_of(answer), modern() ? -32021 : -32603) << answer.dump();
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

// The explicit style.

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

TEST_P(Ask, TheExplicitStyleRefusesWhatTheClientCannotDo) {
  server.tool("steps", "", [](Context&) -> Result<InputRequired> {
    return InputRequired().form<Name>("a", "?").sample("b", ask_model("?", 1));
  });
  Link link = connect(R"({"elicitation":{}})");
  const json::Value answer = link.tool("steps");
  EXPECT_TRUE(modern() ? code_of(answer) == -32021 : is_error_result(answer)) << answer.dump();
  EXPECT_TRUE(link.questions.empty());
}

TEST_P(Ask, WithoutASealerOnlyTheOldEraCanWait) {
  ServerOptions options = test::server_options();
  options.sealer = nullptr;
  Server bare(std::move(options));
  bare.tool("deploy", "", deploy(runs, effects));
  Link link(bare, GetParam(), {.capabilities = std::string(test::can_all)});
  const json::Value answer = converse(link, "deploy", accept(R"({"sure":true})"));
  EXPECT_EQ(code_of(answer), modern() ? -32603 : 0);
  bare.set_default_sealer(std::make_shared<test::TableSealer>());
  effects = 0;
  EXPECT_EQ(text_of(converse(link, "deploy", accept(R"({"sure":true})"))), "deployed r1");
}

}  // namespace
}  // namespace godwit::inline v0
