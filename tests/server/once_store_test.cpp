// Effects whose ledger takes its time, or fails.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "once_fixture.hpp"

namespace godwit::inline v0 {
namespace {

class OnceStore : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Revisions, OnceStore, testing::ValuesIn(test::all_revisions));

TEST_P(OnceStore, ACallWaitsForTheLedgerAndOthersDoNot) {
  Shop shop;
  Link link = shop.connect(GetParam());
  const std::string id = link.request("tools/call", Shop::call("pay"));
  EXPECT_EQ(shop.effects, 0);
  EXPECT_EQ(text_of(link.tool("plain")), "plain");
  ASSERT_TRUE(shop.ledger->step());  // claimed
  link.peer->process();
  EXPECT_EQ(shop.effects, 1);
  EXPECT_FALSE(link.has_answer(id));
  EXPECT_EQ(text_of(link.tool("plain")), "plain");
  EXPECT_EQ(lines(link), Calls{"before"}) << "nothing is told before it is kept";
  EXPECT_EQ(link.notes("notifications/progress").size(), 1u);
  ASSERT_TRUE(shop.ledger->step());  // kept
  EXPECT_EQ(text_of(link.take_answer(id)), "paid r1");
  EXPECT_EQ(lines(link), (Calls{"before", "after"})) << "nothing is told twice";
  EXPECT_EQ(link.notes("notifications/progress").size(), 2u);
  EXPECT_TRUE(link.questions.empty());
  EXPECT_EQ(shop.effects, 1);
  EXPECT_EQ(shop.runs, 3);
  EXPECT_EQ(shop.ledger->calls(), (Calls{"claim pay", "complete pay"}));
  EXPECT_EQ(link.peer->in_flight(), 0u);
  EXPECT_FALSE(link.peer->next_deadline());
}

TEST_P(OnceStore, AnOutcomeInsideTheCallKeepsTheCallOnTheStack) {
  Shop shop;
  shop.ledger->quick = {"claim", "complete", "release"};
  Link link = shop.connect(GetParam());
  const std::string id = link.request("tools/call", Shop::call("pay"));
  EXPECT_EQ(text_of(link.take_answer(id)), "paid r1");
  EXPECT_EQ(shop.runs, 1);
  EXPECT_EQ(lines(link), (Calls{"before", "after"}));
}

TEST_P(OnceStore, OneOfTheTwoMayBeSlow) {
  for (const char* quick : {"claim", "complete"}) {
    Shop shop;
    shop.ledger->quick = {quick};
    Link link = shop.connect(GetParam());
    const std::string id = link.request("tools/call", Shop::call("pay"));
    EXPECT_FALSE(link.has_answer(id));
    ASSERT_TRUE(shop.ledger->step());
    EXPECT_EQ(text_of(link.take_answer(id)), "paid r1");
    EXPECT_EQ(shop.runs, 2);
    EXPECT_EQ(shop.effects, 1);
    EXPECT_EQ(lines(link), (Calls{"before", "after"}));
  }
}

TEST_P(OnceStore, BlockingAndLateHandlersWaitToo) {
  ThreadPool pool(2);
  Shop shop(std::make_shared<SlowLedger>(), &pool);
  Link link = shop.connect(GetParam());
  for (const char* tool : {"blocking", "late"}) {
    const std::string id = link.request("tools/call", Shop::call(tool));
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(link.wait([&] { return shop.ledger->step(); })) << tool;
    }
    EXPECT_TRUE(has(text_of(link.take_answer(id)), "paid r")) << tool;
  }
  EXPECT_EQ(shop.effects, 2);
  EXPECT_EQ(lines(link), (Calls{"before", "after", "before", "after"}));
}

TEST_P(OnceStore, TheLedgerMayAnswerOnAnotherThread) {
  Shop shop;
  std::atomic<bool> over = false;
  Link link = shop.connect(GetParam());
  std::thread store([&] {
    while (!over) {
      if (!shop.ledger->step()) std::this_thread::yield();
    }
  });
  for (int i = 1; i <= 50; ++i) {
    const std::string id = link.request("tools/call", Shop::call("pay"));
    EXPECT_EQ(text_of(link.take_answer(id)), "paid r" + std::to_string(i));
  }
  over = true;
  store.join();
  EXPECT_EQ(shop.effects, 50);
}

TEST_P(OnceStore, EachOperationMayFail) {
  for (const bool throws : {false, true}) {
    for (const std::string operation : {"claim", "complete"}) {
      Shop shop;
      shop.ledger->quick = {"claim", "complete", "release"};
      (throws ? shop.ledger->throwing : shop.ledger->failing) = operation;
      Link link = shop.connect(GetParam());
      const std::string id = link.request("tools/call", Shop::call("pay"));
      const json::Value answer = link.take_answer(id);
      EXPECT_EQ(code_of(answer), -32603) << answer.dump();
      EXPECT_FALSE(has(answer.dump(), "secret"));
      EXPECT_TRUE(shop.logged("secret")) << operation;
      if (operation == "claim") {
        EXPECT_TRUE(has(error_text(answer), "\"pay\" was not done"));
        EXPECT_EQ(shop.effects, 0);
      } else {
        EXPECT_TRUE(has(error_text(answer), "\"pay\" was done, but"));
        EXPECT_EQ(shop.effects, 1);
        EXPECT_EQ(shop.ledger->count("release pay"), 0u) << "it must not be tried at once";
      }
      EXPECT_EQ(text_of(link.tool("plain")), "plain");
    }
  }
}

TEST_P(OnceStore, EachOperationMayFailLater) {
  const Error broken = error("the store is down");
  for (const bool dropped : {false, true}) {
    for (const int failing : {0, 1}) {
      Shop shop;
      Link link = shop.connect(GetParam());
      const std::string id = link.request("tools/call", Shop::call("pay"));
      for (int i = 0; i < failing; ++i) {
        ASSERT_TRUE(shop.ledger->step());
        link.peer->process();
      }
      ASSERT_TRUE(dropped ? shop.ledger->drop() : shop.ledger->step(&broken));
      const json::Value answer = link.take_answer(id);
      EXPECT_EQ(code_of(answer), -32603) << answer.dump();
      EXPECT_TRUE(has(error_text(answer), failing == 0 ? "was not done" : "was done, but"));
      EXPECT_EQ(shop.effects, failing);
      EXPECT_EQ(link.peer->in_flight(), 0u);
    }
  }
}

TEST_P(OnceStore, ALedgerThatNeverAnswersIsNotWaitedForForEver) {
  for (const int answered : {0, 1}) {
    Shop shop;
    Link link = shop.connect(GetParam());
    const std::string id = link.request("tools/call", Shop::call("pay"));
    for (int i = 0; i < answered; ++i) {
      ASSERT_TRUE(shop.ledger->step());
      link.peer->process();
      link.peer->process();  // it waits again
    }
    link.pass(10s - 1ns);
    EXPECT_FALSE(link.has_answer(id));
    link.pass(1ns);
    const json::Value answer = link.take_answer(id);
    EXPECT_EQ(code_of(answer), -32603) << answer.dump();
    EXPECT_TRUE(shop.logged("once_wait"));
    EXPECT_FALSE(link.peer->next_deadline());
    // What comes now changes nothing; a claim is given back.
    ASSERT_TRUE(shop.ledger->step());
    link.peer->process();
    EXPECT_EQ(shop.ledger->count("release pay"), answered == 0 ? 1u : 0u);
    shop.ledger->step();
    EXPECT_EQ(shop.effects, answered);
    EXPECT_EQ(shop.ledger->memory.size(), answered == 0 ? 0u : 1u);
  }
}

TEST_P(OnceStore, ARequestThatIsTakenBackGivesItsClaimBack) {
  Shop shop;
  Link link = shop.connect(GetParam());
  const std::string id = link.request("tools/call", Shop::call("pay"));
  link.cancel(id);
  EXPECT_EQ(link.peer->in_flight(), 0u);
  ASSERT_TRUE(shop.ledger->step());
  link.peer->process();
  EXPECT_EQ(shop.effects, 0);
  EXPECT_EQ(shop.runs, 1);
  ASSERT_TRUE(shop.ledger->step());
  EXPECT_EQ(shop.ledger->calls(), (Calls{"claim pay", "release pay"}));
  EXPECT_EQ(shop.ledger->memory.size(), 0u);
  EXPECT_FALSE(link.has_answer(id));
}

TEST_P(OnceStore, AnEffectThatWasDoneIsKeptAlthoughItsRequestIsTakenBack) {
  Shop shop;
  Link link = shop.connect(GetParam());
  const std::string id = link.request("tools/call", Shop::call("pay"));
  ASSERT_TRUE(shop.ledger->step());
  link.peer->process();
  EXPECT_EQ(shop.effects, 1);
  link.cancel(id);
  ASSERT_TRUE(shop.ledger->step());
  link.peer->process();
  EXPECT_FALSE(link.has_answer(id));
  EXPECT_EQ(shop.runs, 2);
  EXPECT_EQ(shop.ledger->calls(), (Calls{"claim pay", "complete pay"}));
  EXPECT_EQ(shop.ledger->memory.size(), 1u);
}

TEST_P(OnceStore, TheEndOfTheConnectionEndsTheWait) {
  for (const bool destroyed : {false, true}) {
    Shop shop;
    {
      Link link = shop.connect(GetParam());
      link.request("tools/call", Shop::call("pay"));
      if (destroyed) {
        link.peer.reset();
      } else {
        link.peer->close();
      }
      EXPECT_EQ(shop.server->sessions(), destroyed ? 0u : 1u);
      ASSERT_TRUE(shop.ledger->step());
    }
    EXPECT_EQ(shop.server->sessions(), 0u);
    EXPECT_EQ(shop.effects, 0);
    EXPECT_EQ(shop.ledger->calls(), (Calls{"claim pay", "release pay"}));
  }
}

TEST_P(OnceStore, TheEndOfInputLetsTheCallFinish) {
  Shop shop;
  Link link = shop.connect(GetParam());
  const std::string id = link.request("tools/call", Shop::call("pay"));
  link.peer->end_of_input(rpc::connection_closed("the other side closed its output"));
  ASSERT_TRUE(shop.ledger->step());
  link.peer->process();
  ASSERT_TRUE(shop.ledger->step());
  EXPECT_EQ(text_of(link.take_answer(id)), "paid r1");
}

TEST_P(OnceStore, TheTimeOfTheHandlerRunsOn) {
  Shop shop;
  shop.server->tool("short", "", [&](Context& cx) { return shop.pay(cx); }, {.timeout = 2s});
  Link link = shop.connect(GetParam());
  const std::string id = link.request("tools/call", Shop::call("short"));
  link.pass(1s);
  ASSERT_TRUE(shop.ledger->step());
  link.peer->process();
  EXPECT_EQ(shop.effects, 1);
  link.pass(1s);
  EXPECT_TRUE(has(link.take_answer(id).dump(), "longer than 2000 ms"));
  ASSERT_TRUE(shop.ledger->step());
  link.peer->process();
  EXPECT_EQ(shop.runs, 2);
  EXPECT_EQ(link.peer->in_flight(), 0u);
  link.pass(20s);
  EXPECT_FALSE(link.peer->next_deadline());
}

TEST_P(OnceStore, ThePersonIsAskedOnceWhileTheLedgerTakesItsTime) {
  if (GetParam() < std::string_view("2025-06-18")) return;  // which have no elicitation
  Shop shop;
  Link link = shop.connect(GetParam());
  std::string id = link.request("tools/call", Shop::call("ask"));
  if (link.modern()) {
    const json::Value asked = link.take_answer(id);
    id = link.request("tools/call",
                      Link::with_answers(Shop::call("ask"), asked["result"],
                                         [](auto, auto&) { return accept(R"({"name":"Ada"})"); }));
  } else {
    link.reply(link.take_question(), accept(R"({"name":"Ada"})"));
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(link.has_answer(id));
    ASSERT_TRUE(shop.ledger->step());
    link.peer->process();
  }
  EXPECT_EQ(text_of(link.take_answer(id)), "Ada paid r1");
  EXPECT_TRUE(link.questions.empty());
  EXPECT_EQ(lines(link), (Calls{"before", "after"}));
}

TEST_P(OnceStore, NothingIsAskedBeforeTheEffectIsKept) {
  if (GetParam() < std::string_view("2025-06-18")) return;
  Shop shop;
  shop.server->tool("then", "", [&](Context& cx) -> Result<std::string> {
    auto paid = cx.once("pay", [&] { return ++shop.effects; });
    auto name = cx.elicit<Name>("who", "Who?");  // in spite of the error
    if (!paid) return paid.error();
    if (!name) return name.error();
    return name->value().name;
  });
  Link link = shop.connect(GetParam());
  const std::string id = link.request("tools/call", Shop::call("then"));
  ASSERT_TRUE(shop.ledger->step());
  link.peer->process();
  EXPECT_EQ(shop.effects, 1);
  EXPECT_TRUE(link.questions.empty());
  EXPECT_FALSE(link.has_answer(id));
  ASSERT_TRUE(shop.ledger->step());
  EXPECT_TRUE(
      link.wait([&] { return link.modern() ? link.has_answer(id) : !link.questions.empty(); }));
}

TEST(OnceStoreExplicit, AHandlerWithItsOwnStateRunsAgainWithIt) {
  for (const std::string_view revision : {test::legacy_revision, test::modern_revision}) {
    Shop shop;
    shop.server->tool("explicit", "",
                      [&](Context& cx) -> Result<std::variant<std::string, InputRequired>> {
                        if (cx.state().empty()) {
                          return InputRequired().state("asked").form<Name>("who", "Who?");
                        }
                        auto paid = cx.once("pay", [&] { return ++shop.effects; });
                        cx.log(LoggingLevel::error, "after");
                        if (!paid) return paid.error();
                        return cx.answer("who")->dump() + std::to_string(*paid);
                      });
    Link link = shop.connect(revision);
    std::string id = link.request("tools/call", Link::tool_params("explicit"));
    if (link.modern()) {
      const json::Value asked = link.take_answer(id);
      id = link.request("tools/call",
                        Link::with_answers(Link::tool_params("explicit"), asked["result"],
                                           [](auto, auto&) { return accept(R"({"name":"A"})"); }));
    } else {
      link.reply(link.take_question(), accept(R"({"name":"A"})"));
    }
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(shop.ledger->step());
      link.peer->process();
    }
    EXPECT_TRUE(has(text_of(link.take_answer(id)), R"("name":"A")"));
    EXPECT_EQ(shop.effects, 1);
    EXPECT_EQ(lines(link), Calls{"after"});
  }
}

}  // namespace
}  // namespace godwit::inline v0
