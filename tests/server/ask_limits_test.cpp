// Answers that do not fit, questions that a client cannot be asked, and how long it goes on.
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
  EXPECT_TRUE(is_error_result(answer)) << answer.dump();
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

TEST(AskRevision, WhatTheRevisionLacksIsNotTheClientsFault) {
  Server server(test::server_options());
  const auto form = [](Context& cx) -> Result<std::string> {
    auto answer = cx.elicit<Name>("k", "?");
    if (!answer) return answer.error();
    return "answered";
  };
  server.tool("form", "", form);
  server.prompt("form", "", form);
  server.tool("url", "", [](Context& cx) -> Result<std::string> {
    auto answer = cx.elicit_url("k", "?", "https://x.y");
    if (!answer) return answer.error();
    return "answered";
  });
  Link old(server, "2025-03-26", {.capabilities = std::string(test::can_all)});
  EXPECT_EQ(text_of(old.tool("form")),
            "the revision that this connection speaks, 2025-03-26, has no elicitation");
  const json::Value prompt = old.ask("prompts/get", R"({"name":"form"})");
  EXPECT_EQ(code_of(prompt), -32602) << prompt.dump();
  EXPECT_TRUE(has(error_text(prompt), "2025-03-26, has no elicitation"));
  Link newer(server, "2025-06-18", {.capabilities = std::string(test::can_all)});
  EXPECT_EQ(text_of(newer.tool("url")),
            "the revision that this connection speaks, 2025-06-18, has no elicitation by urls");
}

TEST_P(Ask, FormsAreTheDefaultOfElicitation) {
  server.tool("deploy", "", deploy(runs, effects));
  Link link = connect(R"({"elicitation":{}})");
  EXPECT_EQ(text_of(converse(link, "deploy", accept(R"({"sure":true})"))), "deployed r1");
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
