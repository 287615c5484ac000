// What is kept between the rounds of a stateless request, and what is believed when it comes back.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "replay_fixture.hpp"

namespace godwit::inline v0 {
namespace {

using test::code_of;
using test::equals;
using test::text_of;

TEST(Replay, AChangedQuestionIsAskedAgain) {
  std::atomic<int> effects = 0;
  Process process(std::make_shared<test::TableSealer>());
  int price = 5;
  process.server->tool("buy", "", [&](Place, Context& cx) -> Result<std::string> {
    auto sure = cx.elicit<Name>("price", "Name " + std::to_string(price));
    if (!sure) return sure.error();
    auto more = cx.elicit<Name>("more", "Name x");
    if (!more) return more.error();
    ++effects;
    return sure->value().name;
  });
  Link link = connect(process);
  const std::string first = Link::tool_params("buy", oslo);
  const std::string second = params_after(link, 1, "buy");
  price = 6;
  const json::Value again = link.ask("tools/call", second);
  EXPECT_EQ(again["result"]["inputRequests"]["price"]["params"]["message"].as_string(), "Name 6")
      << again.dump();
  EXPECT_EQ(again["result"]["inputRequests"].size(), 1u);
  // Also one that was answered rounds ago.
  const json::Value third =
      link.ask("tools/call", Link::with_answers(first, again["result"], by_message));
  EXPECT_TRUE(third["result"]["inputRequests"].contains("more")) << third.dump();
  price = 7;
  const json::Value fourth =
      link.ask("tools/call", Link::with_answers(first, third["result"], by_message));
  EXPECT_EQ(fourth["result"]["inputRequests"]["price"]["params"]["message"].as_string(), "Name 7");
  EXPECT_EQ(effects, 0);
  const json::Value end = link.converse(
      "tools/call", Link::with_answers(first, fourth["result"], by_message), by_message);
  EXPECT_EQ(text_of(end), "7");
}

TEST(Replay, StateThatIsNotOursIsRefusedAndNotAskedAgain) {
  std::atomic<int> effects = 0;
  int runs = 0;
  Process process(std::make_shared<test::TableSealer>());
  const auto body = [&](Place, Context& cx) -> Result<std::string> {
    ++runs;
    auto answer = cx.elicit<Name>("a", "Name a");
    if (!answer) return answer.error();
    ++effects;
    return "done";
  };
  process.server->tool("steps", "", body);
  process.server->tool("other", "", body);
  process.server->prompt("steps", "", [](std::map<std::string, std::string>) { return "x"; });
  Link alice = connect(process, "alice"), bob = connect(process, "bob"), nobody = connect(process);
  const json::Value good = test::parse(params_after(alice, 1));
  runs = 0;
  const auto send = [&](Link& link, auto change, std::string_view method = "tools/call") {
    json::Value params = good;
    change(params);
    return code_of(link.ask(method, params.dump()));
  };
  const auto same = [](json::Value&) {};
  EXPECT_EQ(send(bob, same), -32602);
  EXPECT_EQ(send(nobody, same), -32602);
  EXPECT_EQ(send(alice, [](json::Value& p) { p["name"] = "other"; }), -32602);
  EXPECT_EQ(send(alice, [](json::Value& p) { p["arguments"]["city"] = "Rome"; }), -32602);
  EXPECT_EQ(send(alice, [](json::Value& p) { p["arguments"]["zip"] = 5; }), -32602);
  EXPECT_EQ(send(alice, same, "prompts/get"), -32602);
  for (const char* state :
       {R"("")", R"("t1.77")", R"("garbage")", "5", "null", "{}", "[]", "true"}) {
    EXPECT_EQ(send(alice, [&](json::Value& p) { p["requestState"] = test::parse(state); }), -32602)
        << state;
  }
  for (const char* responses : {"5", "null", "[]", R"("x")", "true"}) {
    EXPECT_EQ(send(alice, [&](json::Value& p) { p["inputResponses"] = test::parse(responses); }),
              -32602)
        << responses;
  }
  process.now += 15 * 60 + 1;
  EXPECT_EQ(send(alice, same), -32602);
  EXPECT_EQ(runs, 0);
  process.now -= 2;
  EXPECT_EQ(send(alice, same), 0);
  EXPECT_EQ(effects, 1);
}

TEST(Replay, TheOrderOfMembersDoesNotCount) {
  Process process(std::make_shared<test::TableSealer>());
  process.server->tool("steps", "", [&](Place in, Context& cx) -> Result<std::string> {
    auto answer = cx.elicit<Name>("a", "Name a");
    if (!answer) return answer.error();
    return in.city + answer->value().name;
  });
  Link link = connect(process);
  const json::Value asked = link.ask(
      "tools/call", R"({"name":"steps","arguments":{"city":"Oslo","zip":5,"more":{"x":1,"y":2}}})");
  const std::string state = asked["result"]["requestState"].dump();
  const std::string responses = R"({"a":{"action":"accept","content":{"name":"x"}}})";
  EXPECT_EQ(text_of(link.ask("tools/call", R"({"name":"steps","arguments":{"more":{"y":2,"x":1},
                "zip":5,"city":"Oslo"},"requestState":)" +
                                               state + R"(,"inputResponses":)" + responses + "}")),
            "Oslox");
  // Nor does that of the params.
  EXPECT_EQ(text_of(link.ask("tools/call",
                             R"({"inputResponses":)" + responses + R"(,"requestState":)" + state +
                                 R"(,"arguments":{"city":"Oslo","zip":5,"more":{"x":1,"y":2}},
                                 "name":"steps"})")),
            "Oslox");
}

TEST(Replay, AToolThatTakesSomethingElseNowDoesNotTakeTheOldState) {
  std::atomic<int> effects = 0;
  const auto sealer = std::make_shared<test::TableSealer>();
  Process old(sealer), renewed(sealer);
  old.server->tool("steps", "", three_steps(effects));
  struct Wider {
    std::string city{};
    std::optional<int> floor{};
  };
  renewed.server->tool("steps", "", [&](Wider, Context& cx) -> Result<std::string> {
    auto answer = cx.elicit<Name>("a", "Name a");
    if (!answer) return answer.error();
    return "done";
  });
  Link before = connect(old), after = connect(renewed);
  EXPECT_EQ(code_of(after.ask("tools/call", params_after(before, 1))), -32602);
}

TEST(Replay, AnswersMayComeBeforeTheyAreAskedFor) {
  std::atomic<int> effects = 0;
  Process process(std::make_shared<test::TableSealer>());
  process.server->tool("steps", "", three_steps(effects));
  Link link = connect(process);
  const std::string early = R"(,"inputResponses":{"a":{"action":"accept","content":{"name":"1"}},
      "b":{"action":"accept","content":{"name":"2"}},"c":{"action":"accept","content":{"name":"3"}},
      "unknown":{"action":"accept"}})";
  EXPECT_EQ(text_of(link.tool("steps", oslo, early)), "112233");
  // Some of them, and wrong ones.
  effects = 0;
  const json::Value some = link.tool(
      "steps", oslo,
      R"(,"inputResponses":{"a":{"action":"accept","content":{"name":"1"}},"b":5,"c":null})");
  EXPECT_TRUE(some["result"]["inputRequests"].contains("b")) << some.dump();
  EXPECT_EQ(some["result"]["inputRequests"].size(), 1u);
  EXPECT_EQ(effects, 1);
  const json::Value end = link.converse(
      "tools/call",
      Link::with_answers(Link::tool_params("steps", oslo), some["result"], by_message), by_message);
  EXPECT_EQ(text_of(end), "11b2c3");
}

TEST(Replay, AnEarlyAnswerBelongsToTheQuestionItAnswered) {
  Process process(std::make_shared<test::TableSealer>());
  std::string what = "one";
  process.server->tool("steps", "", [&](Place, Context& cx) -> Result<std::string> {
    auto first = cx.elicit<Name>("a", "Name " + what);
    if (!first) return first.error();
    auto second = cx.elicit<Name>("b", "Name b");
    if (!second) return second.error();
    return first->value().name;
  });
  Link link = connect(process);
  const json::Value asked = link.tool(
      "steps", oslo, R"(,"inputResponses":{"a":{"action":"accept","content":{"name":"early"}}})");
  EXPECT_TRUE(asked["result"]["inputRequests"].contains("b"));
  what = "two";
  const json::Value again =
      link.ask("tools/call",
               Link::with_answers(Link::tool_params("steps", oslo), asked["result"], by_message));
  EXPECT_TRUE(again["result"]["inputRequests"].contains("a")) << again.dump();
}

TEST(Replay, OnlyWhatWasAskedIsTaken) {
  std::atomic<int> effects = 0;
  Process process(std::make_shared<test::TableSealer>());
  process.server->tool("steps", "", three_steps(effects));
  Link link = connect(process);
  const json::Value asked = link.tool("steps", oslo);
  json::Value next = test::parse(
      Link::with_answers(Link::tool_params("steps", oslo), asked["result"], by_message));
  // Answers to what comes later, and to what never comes: not taken, no error.
  next["inputResponses"]["c"] = test::parse(accept(R"({"name":"smuggled"})"));
  next["inputResponses"]["zzz"] = test::parse("5");
  const json::Value second = link.ask("tools/call", next.dump());
  EXPECT_TRUE(second["result"]["inputRequests"].contains("b"));
  const json::Value end = link.converse(
      "tools/call",
      Link::with_answers(Link::tool_params("steps", oslo), second["result"], by_message),
      by_message);
  EXPECT_EQ(text_of(end), "a1b2c3");
}

TEST(Replay, WithoutAnAnswerItIsAskedAgain) {
  std::atomic<int> effects = 0;
  Process process(std::make_shared<test::TableSealer>());
  process.server->tool("steps", "", three_steps(effects));
  Link link = connect(process);
  const json::Value asked = link.tool("steps", oslo);
  for (const char* responses :
       {"", R"(,"inputResponses":{})", R"(,"inputResponses":{"a":5})",
        R"(,"inputResponses":{"a":null})", R"(,"inputResponses":{"a":[]})",
        R"(,"inputResponses":{"b":{"action":"accept","content":{"name":"x"}}})"}) {
    const json::Value again = link.tool(
        "steps", oslo, R"(,"requestState":)" + asked["result"]["requestState"].dump() + responses);
    EXPECT_TRUE(equals(again["result"]["inputRequests"], asked["result"]["inputRequests"].dump()))
        << responses << again.dump();
    EXPECT_EQ(effects, 0);
  }
}

TEST(Replay, TheStateHasALimit) {
  const auto sealer = std::make_shared<test::TableSealer>();
  ServerOptions options = test::server_options();
  options.state_bytes = 2000;
  Server server(std::move(options));
  server.tool("big", "", [](Context& cx) -> Result<std::string> {
    auto first = cx.elicit<Name>("a", "Name a");
    if (!first) return first.error();
    auto second = cx.elicit<Name>("b", "Name b");
    if (!second) return second.error();
    return "done";
  });
  Link link(server, test::modern_revision, {.capabilities = std::string(test::can_all)});
  const auto answer_with = [&](std::size_t size) {
    return link.converse("tools/call", Link::tool_params("big"),
                         [&](std::string_view, const json::Value&) {
                           return accept(R"({"name":")" + std::string(size, 'x') + R"("})");
                         });
  };
  EXPECT_EQ(text_of(answer_with(500)), "done");
  const json::Value answer = answer_with(3000);
  EXPECT_EQ(code_of(answer), -32602) << answer.dump();
  EXPECT_TRUE(
      test::has(test::error_text(answer), "bytes of state between its rounds, more than 2000"));
}

}  // namespace
}  // namespace godwit::inline v0
