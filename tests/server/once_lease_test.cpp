// Effects that somebody else does at the same time, or takes over because a lease ended.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "once_fixture.hpp"

namespace godwit::inline v0 {
namespace {

TEST(OnceLease, TwoServersShareOneLedgerAndTheSameState) {
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

TEST(OnceLease, WhoeverWaitsForAnotherTooLongIsToldThatItIsBusy) {
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

TEST(OnceLease, IsRenewedWhileABlockingFunctionRuns) {
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

TEST(OnceLease, IsRenewedWhileTheResultIsBeingKept) {
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

TEST(OnceLease, AnEffectThatWasTakenOverGivesWhatTheOtherKept) {
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

TEST(OnceLease, ALedgerThatAlwaysTakesClaimsAwayIsNotAskedForEver) {
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

}  // namespace
}  // namespace godwit::inline v0
