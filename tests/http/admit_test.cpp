#include "godwit/http/admit.hpp"

#include <gtest/gtest.h>

#include <new>
#include <optional>
#include <stdexcept>
#include <string>

#include "fake_exchange.hpp"

namespace godwit::inline v0::http {
namespace {

using test::FakeExchange;
using test::FakeRequest;

struct Admit : testing::Test {
  template <class Ask>
  PendingDecision ask(Ask ask) {
    return admit(request.get(), exchange, Log(), ask, [this](const Request& admitted) {
      ++served;
      EXPECT_TRUE(admitted.access_checked);
      EXPECT_NE(admitted.admitted, nullptr);
      exchange.respond(200, {}, {}, admitted.admitted->fields);
    });
  }

  FakeRequest request{"POST", "/x"};
  FakeExchange exchange;
  int served = 0;
};

TEST_F(Admit, OneThatIsLetInIsServed) {
  const PendingDecision pending = ask([](const Request& head, Decision& decision) {
    EXPECT_EQ(head.target, "/x");
    decision.admit({.fields = {{"Who", "me"}}});
    return true;
  });
  EXPECT_FALSE(pending);
  EXPECT_EQ(served, 1);
  EXPECT_EQ(exchange.field("Who"), "me");
}

TEST_F(Admit, ARefusalIsTheAnswer) {
  EXPECT_FALSE(ask([](const Request&, Decision& decision) {
    decision.refuse({.status = 401});
    return true;
  }));
  EXPECT_EQ(served, 0);
  EXPECT_EQ(exchange.status, 401);
}

TEST_F(Admit, WhoeverSaysNothingIsAnsweredFor) {
  EXPECT_FALSE(ask([](const Request&, Decision&) { return true; }));
  EXPECT_EQ(served, 0);
  EXPECT_EQ(exchange.status, 500);
}

TEST_F(Admit, WhoeverThrowsIsAnsweredForWhateverWasSaidBefore) {
  EXPECT_FALSE(ask([](const Request&, Decision& decision) -> bool {
    decision.admit();
    throw std::runtime_error("a secret");
  }));
  EXPECT_EQ(served, 0);
  EXPECT_EQ(exchange.status, 500);
  EXPECT_EQ(exchange.body, "");
}

TEST_F(Admit, TheEndOfMemoryIsForTheCaller) {
  EXPECT_THROW(
      static_cast<void>(ask([](const Request&, Decision&) -> bool { throw std::bad_alloc(); })),
      std::bad_alloc);
  EXPECT_TRUE(exchange.waiting());
}

TEST_F(Admit, TheExchangeEndsWithWhoeverAsked) {
  EXPECT_FALSE(ask([](const Request&, Decision& decision) {
    decision.admit();
    return false;
  }));
  EXPECT_EQ(served, 0);
  EXPECT_TRUE(exchange.aborted());
}

TEST_F(Admit, WhatIsDecidedLaterIsWaitedFor) {
  std::optional<LateDecision> late;
  PendingDecision pending = ask([&](const Request&, Decision& decision) {
    late.emplace(decision.later());
    return true;
  });
  ASSERT_TRUE(pending);
  EXPECT_TRUE(exchange.waiting());
  late->admit();
  serve_decided(request.get(), exchange, pending.take(), Log(), [this](const Request& admitted) {
    EXPECT_NE(admitted.admitted, nullptr);
    exchange.respond(204, {}, {}, {});
  });
  EXPECT_EQ(exchange.status, 204);
}

TEST_F(Admit, WhatWasLookedAtBeforeIsKnownToTheOneWhoDecides) {
  Request checked = request.get();
  checked.access_checked = true;
  bool known = false;
  const auto pending = admit(
      checked, exchange, Log(),
      [&](const Request&, Decision& decision) {
        known = decision.access_checked();
        decision.refuse({.status = 403});
        return true;
      },
      [](const Request&) {});
  EXPECT_FALSE(pending);
  EXPECT_TRUE(known);
}

}  // namespace
}  // namespace godwit::inline v0::http
