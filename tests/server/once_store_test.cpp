// Effects whose ledger takes its time, fails, or gives the claim to somebody else meanwhile.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "mcp_station.hpp"
#include "slow_ledger.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::accept;
using test::code_of;
using test::error_text;
using test::has;
using test::Link;
using test::SlowLedger;
using test::text_of;
using Calls = std::vector<std::string>;

struct Name {
  std::string name{};
};

/// A server whose ledger waits for the test.
struct Shop {
  explicit Shop(std::shared_ptr<SlowLedger> given = std::make_shared<SlowLedger>(),
                Executor* executor = nullptr,
                std::shared_ptr<Sealer> sealer = std::make_shared<test::TableSealer>())
      : ledger(std::move(given)) {
    ServerOptions options = test::server_options();
    options.ledger = ledger;
    options.executor = executor;
    options.sealer = std::move(sealer);
    options.log = Log(
        [this](LogLevel, std::string_view line) {
          const std::lock_guard lock(mutex);
          log += std::string(line) + "\n";
        },
        LogLevel::warning);
    server.emplace(std::move(options));
    server->tool("pay", "", [this](Context& cx) { return pay(cx); });
    server->tool("plain", "", [] { return "plain"; });
    server->tool("ask", "", [this](Context& cx) -> Result<std::string> {
      auto name = cx.elicit<Name>("who", "Who?");
      if (!name) return name.error();
      auto paid = pay(cx);
      if (!paid) return paid;
      return name->value().name + " " + *paid;
    });
    server->tool("late", "", [this](Context&, Reply<std::string> reply) {
      auto paid = pay(reply.context());
      reply(std::move(paid));
    });
    if (executor) {
      server->tool("blocking", "", blocking([this](Context& cx) { return pay(cx); }));
    }
  }

  Result<std::string> pay(Context& cx) {
    ++runs;
    cx.log(LoggingLevel::error, "before");
    cx.progress(1);
    auto id = cx.once("pay", [&] {
      if (inside) inside();
      return "r" + std::to_string(++effects);
    });
    cx.progress(2);
    cx.log(LoggingLevel::error, "after");
    if (!id) return id.error();
    return "paid " + *id;
  }
  Link connect(std::string_view revision) {
    return Link(*server, revision,
                {.capabilities = std::string(test::can_all), .log_level = "info"});
  }
  static std::string call(std::string_view tool) {
    return Link::tool_params(tool, "{}", R"(,"_meta":{"progressToken":"t"})");
  }
  bool logged(std::string_view part) const {
    const std::lock_guard lock(mutex);
    return log.find(part) != log.npos;
  }

  std::shared_ptr<SlowLedger> ledger;
  std::optional<Server> server;
  std::function<void()> inside;
  std::atomic<int> runs = 0, effects = 0;
  mutable std::mutex mutex;
  std::string log;
};

/// What was logged to the client, in order.
std::vector<std::string> lines(const Link& link) {
  std::vector<std::string> all;
  for (const json::Value& note : link.notes("notifications/message")) {
    all.push_back(note["params"]["data"].get<std::string>());
  }
  return all;
}

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

TEST(OnceStoreChain, TwoServersShareOneLedgerAndTheSameState) {
  const auto ledger = std::make_shared<SlowLedger>();
  const auto sealer = std::make_shared<test::TableSealer>();
  Shop one(ledger, nullptr, sealer), two(ledger, nullptr, sealer);
  Link first = one.connect(test::modern_revision), second = two.connect(test::modern_revision);
  const json::Value asked = first.ask("tools/call", Shop::call("ask"));
  const std::string params = Link::with_answers(
      Shop::call("ask"), asked["result"], [](auto, auto&) { return accept(R"({"name":"Ada"})"); });
  const std::string a = first.request("tools/call", params);
  const std::string b = second.request("tools/call", params);
  const auto both = [&] {
    first.peer->process();
    second.peer->process();
  };
  ASSERT_TRUE(ledger->step());  // claimed by the first
  ASSERT_TRUE(ledger->step());  // running, says the second
  both();
  EXPECT_EQ(one.effects + two.effects, 1);
  second.pass(20ms);            // still running
  ASSERT_TRUE(ledger->step());  // kept
  both();
  EXPECT_EQ(text_of(first.take_answer(a)), "Ada paid r1");
  EXPECT_FALSE(second.has_answer(b));
  while (ledger->step()) both();
  for (int i = 0; i < 10 && !second.has_answer(b); ++i) {
    second.pass(1s);
    while (ledger->step()) both();
  }
  EXPECT_EQ(text_of(second.take_answer(b)), "Ada paid r1");
  EXPECT_EQ(one.effects + two.effects, 1);
}

TEST(OnceStoreChain, WhoeverWaitsForAnotherTooLongIsToldThatItIsBusy) {
  for (const Duration wait : {Duration(10s), Duration(0)}) {
    const auto ledger = std::make_shared<MemoryLedger>();
    ServerOptions options = test::server_options();
    options.ledger = ledger;
    options.once_wait = wait;
    Server server(std::move(options));
    std::string chain;
    server.tool("pay", "", [&](Context& cx) -> Result<std::string> {
      chain = cx.idempotency_key("").substr(0, cx.idempotency_key("").size() - 1);
      if (cx.state().empty()) {  // somebody else has it
        ledger->claim(chain, "pay", Done<Claim>([](Result<Claim>) {}));
      }
      auto paid = cx.once("pay", [] { return 1; });
      if (!paid) return paid.error();
      return "paid";
    });
    Link link(server, test::modern_revision);
    const std::string id = link.request("tools/call", Link::tool_params("pay"));
    if (wait > Duration(0)) {
      EXPECT_FALSE(link.has_answer(id));
      std::size_t looks = 0;
      for (; !link.has_answer(id) && looks < 100; ++looks) {
        ASSERT_TRUE(link.peer->next_deadline());
        link.pass(*link.peer->next_deadline() - link.clock.now());
      }
      EXPECT_LT(looks, 20u);  // the pauses grow
    }
    const json::Value answer = link.take_answer(id);
    EXPECT_TRUE(has(error_text(answer), "busy: \"pay\" is being done")) << answer.dump();
  }
}

TEST(OnceStoreLease, IsRenewedWhileABlockingFunctionRuns) {
  ThreadPool pool(1);
  ManualClock clock;
  const auto ledger = std::make_shared<SlowLedger>(MemoryLedgerOptions{.lease = 30s}, &clock);
  ledger->quick = {"claim", "renew", "complete"};
  Shop shop(ledger, &pool);
  std::atomic<bool> inside = false, go_on = false;
  shop.inside = [&] {
    inside = true;
    while (!go_on) std::this_thread::yield();
  };
  Link link = shop.connect(test::legacy_revision);
  const std::string id = link.request("tools/call", Shop::call("blocking"));
  while (!inside) std::this_thread::yield();
  link.peer->process();
  for (int i = 0; i < 12; ++i) {
    clock.advance(10s);
    link.pass(10s);
  }
  EXPECT_EQ(ledger->count("renew pay"), 12u);
  go_on = true;
  EXPECT_EQ(text_of(link.take_answer(id)), "paid r1");
  link.pass(1h);
  EXPECT_EQ(ledger->count("renew pay"), 12u);
  EXPECT_FALSE(link.peer->next_deadline());
}

TEST(OnceStoreLease, IsRenewedWhileTheResultIsBeingKept) {
  ManualClock clock;
  const auto ledger = std::make_shared<SlowLedger>(MemoryLedgerOptions{.lease = 3s}, &clock);
  ledger->quick = {"claim", "renew"};
  Shop shop(ledger);
  Link link = shop.connect(test::modern_revision);
  const std::string id = link.request("tools/call", Shop::call("pay"));
  EXPECT_EQ(shop.effects, 1);
  for (int i = 0; i < 6; ++i) {
    clock.advance(1s);
    link.pass(1s);
  }
  EXPECT_EQ(ledger->count("renew pay"), 6u);
  ASSERT_TRUE(ledger->step());
  EXPECT_EQ(text_of(link.take_answer(id)), "paid r1");
}

TEST(OnceStoreLease, AnEffectThatWasTakenOverGivesWhatTheOtherKept) {
  ManualClock clock;
  const auto ledger = std::make_shared<SlowLedger>(MemoryLedgerOptions{.lease = 3s}, &clock);
  Shop shop(ledger);
  std::string chain;
  shop.server->tool("slow", "", [&](Context& cx) -> Result<std::string> {
    chain = cx.idempotency_key("").substr(0, cx.idempotency_key("").size() - 1);
    return shop.pay(cx);
  });
  for (const bool done : {true, false}) {
    shop.effects = 0;
    ledger->quick = {"claim", "renew", "complete", "release"};
    shop.inside = [&] {
      // It takes so long that another one gets the claim, and does it or gives it up.
      clock.advance(3s);
      std::uint64_t token = 0;
      ledger->memory.claim(chain, "pay", Done<Claim>([&](Result<Claim> claim) {
                             ASSERT_EQ(claim->state, Claim::State::claimed);
                             token = claim->token;
                           }));
      if (done) {
        ledger->memory.complete(chain, "pay", token, R"("theirs")",
                                Done<void>([](Result<void>) {}));
      } else {
        ledger->memory.release(chain, "pay", token, Done<void>([](Result<void>) {}));
      }
    };
    Link link = shop.connect(test::modern_revision);
    EXPECT_EQ(text_of(link.tool("slow")), done ? "paid theirs" : "paid r1");
    // The same with a ledger that takes its time.
    ledger->quick = {"claim"};
    const std::string id = link.request("tools/call", Link::tool_params("slow"));
    for (int i = 0; i < 5 && !link.has_answer(id); ++i) {
      ledger->step();
      link.peer->process();
    }
    EXPECT_EQ(text_of(link.take_answer(id)), done ? "paid theirs" : "paid r2");
    EXPECT_EQ(shop.effects, 2);
  }
}

TEST(OnceStoreLease, ALedgerThatAlwaysTakesClaimsAwayIsNotAskedForEver) {
  class Thief final : public Ledger {
   public:
    void claim(std::string_view, std::string_view, Done<Claim> done) override {
      done(Claim{.token = ++claims});
    }
    void renew(std::string_view, std::string_view, std::uint64_t, Done<void> done) override {
      done(claim_lost());
    }
    void complete(std::string_view, std::string_view, std::uint64_t, std::string,
                  Done<void> done) override {
      done(claim_lost());
    }
    void release(std::string_view, std::string_view, std::uint64_t, Done<void> done) override {
      done(claim_lost());
    }
    std::uint64_t claims = 0;
  };
  ServerOptions options = test::server_options();
  const auto thief = std::make_shared<Thief>();
  options.ledger = thief;
  Server server(std::move(options));
  server.tool("pay", "", [&](Context& cx) -> Result<std::string> {
    auto paid = cx.once("pay", [] { return 1; });
    if (!paid) return paid.error();
    return "paid";
  });
  Link link(server, test::modern_revision);
  EXPECT_TRUE(has(error_text(link.tool("pay")), "was done, but"));
  EXPECT_LT(thief->claims, 10u);
}

TEST(OnceStoreHostile, EffectsInsideEffects) {
  for (const std::string_view revision : {test::legacy_revision, test::modern_revision}) {
    Shop shop;
    int inner = 0, outer = 0;
    shop.server->tool("nested", "", [&](Context& cx) -> Result<std::string> {
      auto done = cx.once("outer", [&]() -> Result<int> {
        auto one = cx.once("inner", [&] { return ++inner; });
        if (!one) return one.error();
        return ++outer + *one;
      });
      if (!done) return done.error();
      return std::to_string(*done);
    });
    Link link = shop.connect(revision);
    const std::string id = link.request("tools/call", Link::tool_params("nested"));
    for (int i = 0; i < 20 && !link.has_answer(id); ++i) {
      shop.ledger->step();
      link.peer->process();
    }
    EXPECT_EQ(text_of(link.take_answer(id)), "2");
    EXPECT_EQ(inner, 1);
    EXPECT_EQ(outer, 1);
    EXPECT_EQ(shop.ledger->calls(),
              (Calls{"claim outer", "claim inner", "complete inner", "complete outer"}));
  }
}

TEST(OnceStoreHostile, AnEffectThatFailsGivesItsClaimBack) {
  Shop shop;
  int tries = 0;
  shop.server->tool("fail", "", [&](Context& cx) -> Result<std::string> {
    auto done = cx.once("pay", [&]() -> Result<int> {
      if (++tries == 1) return tool_error("not yet");
      throw std::runtime_error("never");
    });
    if (!done) return done.error();
    return "done";
  });
  Link link = shop.connect(test::legacy_revision);
  for (int i = 0; i < 2; ++i) {
    const std::string id = link.request("tools/call", Link::tool_params("fail"));
    ASSERT_TRUE(shop.ledger->step());
    EXPECT_EQ(code_of(link.take_answer(id)), i == 0 ? 0 : -32603);
    ASSERT_TRUE(shop.ledger->step());
    EXPECT_EQ(shop.ledger->memory.size(), 0u);
  }
  EXPECT_EQ(shop.ledger->count("release pay"), 2u);
}

TEST(OnceStoreHostile, AClaimThatTheNextRunDoesNotWantIsGivenBack) {
  for (const std::string_view revision : {test::legacy_revision, test::modern_revision}) {
    Shop shop;
    shop.server->tool("fickle", "", [&](Context& cx) -> Result<std::string> {
      if (++shop.runs > 1) return "changed my mind";
      auto done = cx.once("pay", [] { return 1; });
      if (!done) return done.error();
      return "done";
    });
    Link link = shop.connect(revision);
    const std::string id = link.request("tools/call", Link::tool_params("fickle"));
    ASSERT_TRUE(shop.ledger->step());
    EXPECT_EQ(text_of(link.take_answer(id)), "changed my mind");
    ASSERT_TRUE(shop.ledger->step());
    EXPECT_EQ(shop.ledger->calls(), (Calls{"claim pay", "release pay"}));
    EXPECT_EQ(shop.ledger->memory.size(), 0u);
  }
}

TEST(OnceStoreHostile, TheServerAndThePeerMayGoInsideAnOperation) {
  for (const bool slow : {false, true}) {
    for (const std::string operation : {"claim", "complete", "release"}) {
      for (const bool peer_too : {false, true}) {
        auto shop = std::make_unique<Shop>();
        auto link = std::make_unique<Link>(*shop->server, test::legacy_revision);
        const std::shared_ptr<SlowLedger> ledger = shop->ledger;
        if (!slow) ledger->quick = {"claim", "complete", "release"};
        ledger->on_call = [&](std::string_view name) {
          if (name != operation) return;
          shop->server.reset();
          if (peer_too) link->peer.reset();
        };
        if (operation == "release") shop->inside = [] { throw std::runtime_error("no"); };
        link->check_schema = false;
        link->peer->receive(R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":)" +
                            Shop::call("pay") + "}");
        for (int i = 0; i < 5; ++i) {
          ledger->step();
          if (link->peer) link->peer->process();
        }
        if (!peer_too) {
          const json::Value answer = link->take_answer("7");
          EXPECT_EQ(code_of(answer), operation == "release" ? -32603 : 0) << answer.dump();
        }
        ledger->on_call = nullptr;
      }
    }
  }
}

TEST(OnceStoreHostile, TheLedgerMayGoWhileItIsWaitedFor) {
  Shop shop;
  Link link = shop.connect(test::legacy_revision);
  const std::string id = link.request("tools/call", Shop::call("pay"));
  shop.server.reset();  // kept by the connection, as is the ledger
  shop.ledger->drop();
  EXPECT_EQ(code_of(link.take_answer(id)), -32603);
  const std::string other = link.request("tools/call", Shop::call("pay"));
  link.peer.reset();
  std::weak_ptr<SlowLedger> gone = shop.ledger;
  shop.ledger.reset();  // its last operation ends inside its destructor
  EXPECT_TRUE(gone.expired());
}

TEST(OnceStoreHostile, ManyWaitAtOnce) {
  Shop shop;
  Link link = shop.connect(test::modern_revision);
  std::vector<std::string> ids;
  for (int i = 0; i < 50; ++i) ids.push_back(link.request("tools/call", Shop::call("pay")));
  EXPECT_EQ(shop.ledger->waiting(), 50u);
  while (shop.ledger->step()) link.peer->process();
  for (const std::string& id : ids) EXPECT_TRUE(has(text_of(link.take_answer(id)), "paid r"));
  EXPECT_EQ(shop.effects, 50);
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
