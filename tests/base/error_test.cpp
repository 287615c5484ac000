#include "godwit/base/error.hpp"

#include <gtest/gtest.h>

using godwit::Cause;
using godwit::Error;
using godwit::is_busy;
using godwit::is_cancelled;
using godwit::is_connection_closed;
using godwit::is_not_authorized;
using godwit::is_not_executed;
using godwit::is_timeout;

TEST(Error, TheCauseSaysHowACallEndedAndTheCodeDoesNot) {
  for (const std::int64_t code : {-32000, -32001, -32002, -32603}) {
    for (const Cause cause : {Cause::unspecified, Cause::peer, Cause::carrier, Cause::in_process}) {
      const Error error{.code = code, .message = "x", .cause = cause};
      EXPECT_FALSE(is_timeout(error) || is_cancelled(error) || is_connection_closed(error) ||
                   is_busy(error) || is_not_authorized(error) || is_not_executed(error))
          << code;
    }
  }
  EXPECT_TRUE(is_timeout({.cause = Cause::timeout}));
  EXPECT_TRUE(is_cancelled({.cause = Cause::cancelled}));
  EXPECT_TRUE(is_connection_closed({.cause = Cause::connection_closed}));
  EXPECT_TRUE(is_connection_closed({.cause = Cause::not_connected}));
  EXPECT_TRUE(is_busy({.cause = Cause::busy}));
  EXPECT_TRUE(is_not_authorized({.cause = Cause::not_authorized}));
}

TEST(Error, OnlyWhatWasNeverSentIsSurelyNotExecuted) {
  for (const Cause cause : {Cause::not_connected, Cause::busy, Cause::not_authorized}) {
    EXPECT_TRUE(is_not_executed({.cause = cause}));
  }
  for (const Cause cause : {Cause::timeout, Cause::cancelled, Cause::connection_closed}) {
    EXPECT_FALSE(is_not_executed({.cause = cause}));
  }
}

TEST(Error, IsEqualIfItLooksTheSameOnTheWire) {
  const Error error{.code = 1, .message = "m", .data = "{}"};
  Error other = error;
  other.cause = Cause::peer;
  EXPECT_EQ(error, other);
  other.data = "[]";
  EXPECT_NE(error, other);
}

TEST(Error, IsSmall) { EXPECT_LE(sizeof(Error), 96u); }
