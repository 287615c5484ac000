// Effects that a replay, a second copy of the request or another process must not repeat.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "godwit/mcp/memory_ledger.hpp"
#include "replay_fixture.hpp"

namespace godwit::inline v0 {
namespace {

using test::code_of;
using test::has;
using test::text_of;

TEST(Once, EachRoundMayBeServedByAnotherProcess) {
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

TEST(Once, TheSameStateTwiceHasOneEffect) {
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

TEST(Once, AnOlderStateWithTheOldAnswerDoesNotRepeatWhatWasDoneSince) {
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

TEST(Once, TheSameStateInParallelHasOneEffect) {
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
      // Those who came second look again and again whether it is done.
      while (!link.has_answer(id)) {
        link.pass(std::chrono::milliseconds(20));
        std::this_thread::yield();
      }
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

TEST(Once, WhatFailedInsideOnceIsTriedAgain) {
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

TEST(Once, KeysForOthersAreStableWithinARequestAndDifferBetweenThem) {
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

TEST(Once, TheStatefulEraDoesNotRepeatEffectsEither) {
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
