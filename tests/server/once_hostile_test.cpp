// What handlers, programs and ledgers may do to each other while an effect is under way.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "once_fixture.hpp"

namespace godwit::inline v0 {
namespace {

TEST(OnceHostile, EffectsInsideEffects) {
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

TEST(OnceHostile, AnEffectThatFailsGivesItsClaimBack) {
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

TEST(OnceHostile, AClaimThatTheNextRunDoesNotWantIsGivenBack) {
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

TEST(OnceHostile, TheServerAndThePeerMayGoInsideAnOperation) {
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

TEST(OnceHostile, TheLedgerMayGoWhileItIsWaitedFor) {
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

TEST(OnceHostile, ManyWaitAtOnce) {
  Shop shop;
  Link link = shop.connect(test::modern_revision);
  std::vector<std::string> ids;
  for (int i = 0; i < 50; ++i) ids.push_back(link.request("tools/call", Shop::call("pay")));
  EXPECT_EQ(shop.ledger->waiting(), 50u);
  while (shop.ledger->step()) link.peer->process();
  for (const std::string& id : ids) EXPECT_TRUE(has(text_of(link.take_answer(id)), "paid r"));
  EXPECT_EQ(shop.effects, 50);
}

}  // namespace
}  // namespace godwit::inline v0
