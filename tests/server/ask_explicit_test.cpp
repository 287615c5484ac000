// The explicit style (InputRequired): its handlers read the answers as JSON, so that nothing may
// reach them that does not fit the question. ask_test.cpp has the style itself.
#include <string>
#include <variant>
#include <vector>

#include "ask_fixture.hpp"

namespace godwit::inline v0 {
namespace {

using test::accept;
using test::code_of;
using test::has;
using test::is_error_result;
using test::text_of;

using Either = std::variant<std::string, InputRequired>;

INSTANTIATE_TEST_SUITE_P(Revisions, Ask, testing::ValuesIn(asking_revisions));

/// Trusts its answers, as a handler should be able to.
auto greet(int& runs) {
  return [&runs](Context& cx) -> Either {
    ++runs;
    const json::Value* who = cx.answer("who");
    const json::Value* where = cx.answer("where");
    if (!who || !where) {
      return InputRequired().form<Name>("who", "Who?").roots("where").state("asked");
    }
    if ((*who)["action"].as_string() != "accept") return "nobody";
    return (*who)["content"]["name"].get<std::string>() + " at " +
           (*where)["roots"][0]["uri"].get<std::string>();
  };
}

constexpr const char* bad_forms[] = {R"({})",
                                     R"({"action":"maybe"})",
                                     R"({"action":"accept"})",
                                     R"({"action":"accept","content":{}})",
                                     R"({"action":"accept","content":{"name":5}})",
                                     R"({"action":"accept","content":{"name":null}})"};

TEST_P(Ask, AnAnswerThatDoesNotFitIsAskedForAgain) {
  server.tool("greet", "", greet(runs));
  Link link = connect();
  std::size_t forms = 0, roots = 0;
  const json::Value answer = link.converse(
      "tools/call", Link::tool_params("greet"),
      [&](std::string_view method, const json::Value&) -> std::string {
        if (method == "roots/list") {
          return ++roots == 1 ? R"({"roots":5})" : R"({"roots":[{"uri":"file:///w"}]})";
        }
        if (forms < std::size(bad_forms)) return bad_forms[forms++];
        return accept(R"({"name":"Ada"})");
      });
  EXPECT_EQ(text_of(answer), "Ada at file:///w");
  EXPECT_EQ(forms, std::size(bad_forms));
  EXPECT_EQ(roots, 2u) << "what was answered well is not asked for again";
  EXPECT_EQ(runs, 2) << "the handler runs when all answers fit";
}

TEST_P(Ask, DecliningFits) {
  server.tool("greet", "", greet(runs));
  Link link = connect();
  const json::Value answer =
      link.converse("tools/call", Link::tool_params("greet"),
                    [&](std::string_view method, const json::Value&) -> std::string {
                      if (method == "roots/list") return R"({"roots":[{"uri":"file:///w"}]})";
                      return R"({"action":"decline"})";
                    });
  EXPECT_EQ(text_of(answer), "nobody");
}

TEST_P(Ask, ItIsNotAskedForEver) {
  server.tool("greet", "", greet(runs));
  server.prompt("greet", "", greet(runs));
  Link link = connect();
  const auto badly = always(R"({"action":"accept","content":{"name":5}})");
  int rounds = 0;
  const json::Value tool = link.converse("tools/call", Link::tool_params("greet"), badly, &rounds);
  EXPECT_TRUE(is_error_result(tool)) << tool.dump();
  EXPECT_TRUE(has(text_of(tool), "gave up after 10 rounds of questions"));
  EXPECT_EQ(rounds, 10);
  const json::Value prompt = link.converse("prompts/get", R"({"name":"greet"})", badly, &rounds);
  EXPECT_EQ(code_of(prompt), -32602) << prompt.dump();
  EXPECT_TRUE(has(test::error_text(prompt), "the answer to \"who\" does not fit"));
  EXPECT_EQ(runs, 2);
}

TEST_P(Ask, AFormOfOnesOwnSchemaIsCheckedToo) {
  server.tool("any", "", [&](Context& cx) -> Result<std::string> {
    ++runs;
    auto form = cx.elicit(
        "who", "Who?",
        RawJson{R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]})"});
    if (!form) return form.error();
    return std::to_string(form->value().find("n")->get<int>());
  });
  Link link = connect();
  std::size_t asked = 0;
  constexpr const char* answers[] = {R"({"action":"accept","content":{"n":"x"}})",
                                     R"({"action":"accept"})",
                                     R"({"action":"accept","content":{"n":7}})"};
  const json::Value answer = link.converse(
      "tools/call", Link::tool_params("any"),
      [&](std::string_view, const json::Value&) { return std::string(answers[asked++]); });
  EXPECT_EQ(text_of(answer), "7");
}

/// Asks the model something of this size, and says what it answered.
auto ask_at_length(int& runs, std::size_t bytes) {
  return [&runs, bytes](Context& cx) -> Either {
    ++runs;
    if (const json::Value* said = cx.answer("said")) {
      return (*said)["content"]["text"].get<std::string>();
    }
    return InputRequired().sample("said", ask_model(std::string(bytes, '?'), 10)).state("asked");
  };
}

TEST_P(Ask, APromptForTheModelIsNoPartOfTheState) {
  server.tool("ask", "", ask_at_length(runs, server.options().state_bytes + 1'000));
  Link link = connect();
  const json::Value answer = link.converse(
      "tools/call", Link::tool_params("ask"),
      always(R"({"role":"assistant","model":"m","content":{"type":"text","text":"42"}})"));
  EXPECT_EQ(text_of(answer), "42");
  EXPECT_EQ(runs, 2);
}

TEST_P(Ask, AModelsAnswerThatDoesNotFitIsToldAsSuch) {
  server.tool("ask", "", ask_at_length(runs, 10));
  Link link = connect();
  int rounds = 0;
  const json::Value answer =
      link.converse("tools/call", Link::tool_params("ask"), always(R"({"role":5})"), &rounds);
  EXPECT_TRUE(is_error_result(answer)) << answer.dump();
  EXPECT_TRUE(has(text_of(answer), "the answer to \"said\" does not fit"));
  EXPECT_EQ(rounds, modern() ? 1 : 10) << "only a server that keeps the question asks it again";
  EXPECT_EQ(runs, 1);
}

TEST_P(Ask, QuestionsThatAreTooLargeAreTheHandlersMistake) {
  server.tool("ask", "", [&](Context&) -> Either {
    return InputRequired().form<Name>("who", std::string(server.options().state_bytes, '?'));
  });
  Link link = connect();
  link.check_schema = false;
  const json::Value answer =
      link.converse("tools/call", Link::tool_params("ask"), always(R"({"action":"decline"})"));
  if (modern()) {
    EXPECT_EQ(code_of(answer), -32603);
    EXPECT_TRUE(has(test::error_text(answer), "the questions of the handler are too large"));
  }
}

TEST_P(Ask, WhatCameUnaskedIsNotGivenOut) {
  if (!modern()) GTEST_SKIP() << "only stateless clients can answer before they are asked";
  server.tool("greet", "", greet(runs));
  Link link = connect();
  const json::Value answer =
      link.tool("greet", "{}", R"(,"inputResponses":{"who":{"content":5},"where":{"roots":[]}})");
  EXPECT_EQ(answer["result"]["resultType"].as_string(), "input_required") << answer.dump();
}

}  // namespace
}  // namespace godwit::inline v0
