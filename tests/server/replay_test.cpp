// What is kept between the rounds of a stateless request, and what is believed when it comes back.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "godwit/mcp/memory_ledger.hpp"
#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

using test::accept;
using test::code_of;
using test::equals;
using test::has;
using test::Link;
using test::text_of;

struct Name {
  std::string name{};
};
struct Place {
  std::string city{};
  std::optional<int> zip{};
  std::optional<std::map<std::string, int>> more{};
};

/// One process of several: its own Server that shares what it is given.
struct Process {
  explicit Process(std::shared_ptr<Sealer> sealer, std::shared_ptr<Ledger> ledger = nullptr,
                   Executor* executor = nullptr) {
    ServerOptions options = test::server_options();
    options.sealer = std::move(sealer);
    options.ledger = std::move(ledger);
    options.executor = executor;
    options.unix_time = [this] { return now.load(); };
    server.emplace(std::move(options));
  }
  std::atomic<std::int64_t> now = 1'000'000;
  std::optional<Server> server;
};

Link connect(const Process& process, std::string principal = {}) {
  return Link(*process.server, test::modern_revision,
              {.capabilities = std::string(test::can_all), .facts = {.principal = principal}});
}

/// Three questions with an effect after each.
auto three_steps(std::atomic<int>& effects) {
  return [&effects](Place, Context& cx) -> Result<std::string> {
    std::string all;
    for (const char* key : {"a", "b", "c"}) {
      auto answer = cx.elicit<Name>(key, std::string("Name ") + key);
      if (!answer) return answer.error();
      auto done = cx.once(key, [&] { return ++effects; });
      if (!done) return done.error();
      all += answer->value().name + std::to_string(*done);
    }
    return all;
  };
}

/// Answers a question "Name a" with "a".
std::string by_message(std::string_view, const json::Value& params) {
  return accept(R"({"name":")" + params["message"].get<std::string>().substr(5) + R"("})");
}

const std::string oslo = R"({"city":"Oslo"})";

/// Runs to the point where the state after `rounds` answers is known. Gives the params to send
/// next.
std::string params_after(Link& link, int rounds, std::string_view tool = "steps") {
  std::string params = Link::tool_params(tool, oslo);
  const std::string first = params;
  for (int i = 0; i < rounds; ++i) {
    const json::Value answer = link.ask("tools/call", params);
    EXPECT_EQ(answer["result"]["resultType"].as_string(), "input_required") << answer.dump();
    params = Link::with_answers(first, answer["result"], by_message);
  }
  return params;
}

TEST(Replay, EachRoundMayBeServedByAnotherProcess) {
  for (const bool shared_ledger : {false, true}) {
    const auto sealer = std::make_shared<test::TableSealer>();
    const auto ledger = shared_ledger ? std::make_shared<MemoryLedger>() : nullptr;
    std::atomic<int> effects = 0;
    const std::string first = Link::tool_params("steps", oslo);
    std::string params = first;
    json::Value answer;
    for (int round = 0; round < 4; ++round) {
      Process process(sealer, ledger);
      process.server->tool("steps", "", three_steps(effects));
      Link link = connect(process);
      answer = link.ask("tools/call", params);
      EXPECT_EQ(effects, round) << "in round " << round;
      if (round < 3)
        params = Link::with_answers(first, std::as_const(answer)["result"], by_message);
    }
    EXPECT_EQ(text_of(answer), "a1b2c3");
  }
}

TEST(Replay, TheSameStateTwiceHasOneEffect) {
  std::atomic<int> effects = 0;
  Process process(std::make_shared<test::TableSealer>());
  process.server->tool("steps", "", three_steps(effects));
  Link link = connect(process), other = connect(process);
  const std::string params = params_after(link, 3);
  EXPECT_EQ(effects, 2);
  EXPECT_EQ(text_of(link.ask("tools/call", params)), "a1b2c3");
  EXPECT_EQ(text_of(link.ask("tools/call", params)), "a1b2c3");
  EXPECT_EQ(text_of(other.ask("tools/call", params)), "a1b2c3");
  EXPECT_EQ(effects, 3);
  // In the middle, too: the effect of the first answer.
  const std::string middle = params_after(link, 1);
  const json::Value one = link.ask("tools/call", middle);
  const json::Value two = other.ask("tools/call", middle);
  EXPECT_EQ(effects, 4);
  const std::string first = Link::tool_params("steps", oslo);
  const json::Value end =
      link.converse("tools/call", Link::with_answers(first, two["result"], by_message), by_message);
  EXPECT_EQ(text_of(end), "a4b5c6");
  // A new request is a new chain.
  EXPECT_EQ(text_of(link.converse("tools/call", first, by_message)), "a7b8c9");
}

TEST(Replay, AnOlderStateWithTheOldAnswerDoesNotRepeatWhatWasDoneSince) {
  std::atomic<int> effects = 0;
  Process process(std::make_shared<test::TableSealer>());
  process.server->tool("steps", "", three_steps(effects));
  Link link = connect(process);
  const std::string first = Link::tool_params("steps", oslo);
  const json::Value asked = link.ask("tools/call", first);
  const std::string second = Link::with_answers(first, asked["result"], by_message);
  EXPECT_EQ(text_of(link.converse("tools/call", second, by_message)), "a1b2c3");
  EXPECT_EQ(text_of(link.converse("tools/call", second, by_message)), "a1b2c3");
  EXPECT_EQ(effects, 3);
}

TEST(Replay, TheSameStateInParallelHasOneEffect) {
  ThreadPool pool(8);
  std::atomic<int> effects = 0, inside = 0;
  Process process(std::make_shared<test::TableSealer>(), nullptr, &pool);
  process.server->tool("steps", "", blocking([&](Place, Context& cx) -> Result<std::string> {
                         auto answer = cx.elicit<Name>("a", "Name a");
                         if (!answer) return answer.error();
                         // All of them are here before one goes on, if the pool lets them.
                         ++inside;
                         for (int i = 0; i < 10'000 && inside < 4; ++i) std::this_thread::yield();
                         auto done = cx.once("e", [&] { return ++effects; });
                         if (!done) return done.error();
                         return "done " + std::to_string(*done);
                       }));
  for (int repeat = 0; repeat < 20; ++repeat) {
    inside = 0;
    effects = 0;
    Link link = connect(process);
    const std::string params = params_after(link, 1);
    std::vector<std::string> ids;
    for (int i = 0; i < 4; ++i) ids.push_back(link.request("tools/call", params));
    int good = 0;
    for (const std::string& id : ids) {
      const json::Value answer = link.take_answer(id);
      if (code_of(answer) == 0) {
        EXPECT_EQ(text_of(answer), "done 1");
        ++good;
      } else {
        EXPECT_EQ(code_of(answer), -32603) << answer.dump();
        EXPECT_TRUE(has(answer.dump(), "busy"));
      }
    }
    EXPECT_GE(good, 1);
    EXPECT_EQ(effects, 1);
  }
}

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
  std::atomic<int> effects = 0;
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
  EXPECT_TRUE(code_of(answer) == -32603 || test::is_error_result(answer)) << answer.dump();
}

TEST(Replay, WhatFailedInsideOnceIsTriedAgain) {
  Process process(std::make_shared<test::TableSealer>());
  int tries = 0;
  process.server->tool("fail", "", [&](Place, Context& cx) -> Result<std::string> {
    auto answer = cx.elicit<Name>("a", "Name a");
    if (!answer) return answer.error();
    auto done = cx.once("e", [&]() -> Result<std::string> {
      if (++tries == 1) return tool_error("not yet");
      if (tries == 2) throw std::runtime_error("not yet either");
      return "third";
    });
    if (!done) return done.error();
    auto nothing = cx.once("void", [&] { ++tries; });
    if (!nothing) return nothing.error();
    return *done + std::to_string(tries);
  });
  Link link = connect(process);
  const std::string params = params_after(link, 1, "fail");
  EXPECT_TRUE(test::is_error_result(link.ask("tools/call", params)));
  EXPECT_EQ(code_of(link.ask("tools/call", params)), -32603);
  EXPECT_EQ(text_of(link.ask("tools/call", params)), "third4");
  EXPECT_EQ(text_of(link.ask("tools/call", params)), "third4");
}

TEST(Replay, KeysForOthersAreStableWithinARequestAndDifferBetweenThem) {
  Process process(std::make_shared<test::TableSealer>());
  std::vector<std::string> keys;
  process.server->tool("key", "", [&](Place, Context& cx) -> Result<std::string> {
    keys.push_back(cx.idempotency_key("pay"));
    EXPECT_NE(cx.idempotency_key("pay"), cx.idempotency_key("ship"));
    auto answer = cx.elicit<Name>("a", "Name a");
    if (!answer) return answer.error();
    return "done";
  });
  Link link = connect(process);
  link.ask("tools/call", params_after(link, 1, "key"));
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0], keys[1]);
  link.tool("key", oslo);
  EXPECT_NE(keys[2], keys[0]);
  EXPECT_GE(keys[0].size(), 32u);
}

TEST(Replay, TheStatefulEraDoesNotRepeatEffectsEither) {
  std::atomic<int> effects = 0;
  Process process(nullptr);
  process.server->tool("steps", "", three_steps(effects));
  Link link(*process.server, "2025-06-18", {.capabilities = R"({"elicitation":{}})"});
  EXPECT_EQ(text_of(link.converse("tools/call", Link::tool_params("steps", oslo), by_message)),
            "a1b2c3");
  EXPECT_EQ(effects, 3);
  // Members of the other era mean nothing here.
  EXPECT_EQ(text_of(link.converse(
                "tools/call",
                Link::tool_params("steps", oslo, R"(,"requestState":"x","inputResponses":5)"),
                by_message)),
            "a4b5c6");
}

}  // namespace
}  // namespace godwit::inline v0
