#include "mcp/carrier_error.hpp"

#include <gtest/gtest.h>

#include "godwit/rpc/error_code.hpp"

using godwit::Cause;
using godwit::Error;
using godwit::mcp::carrier_error;
using godwit::mcp::carrier_failure;
using godwit::mcp::CarrierFailure;

TEST(CarrierError, IsToldFromOthers) {
  for (const CarrierFailure failure :
       {CarrierFailure{}, CarrierFailure{.status = 401}, CarrierFailure{404, true}}) {
    const Error error = carrier_error("why", failure);
    EXPECT_EQ(error.message, "why");
    EXPECT_EQ(carrier_failure(error), failure);
  }
  EXPECT_EQ(carrier_error("").code, godwit::rpc::code::connection_closed);
  EXPECT_EQ(carrier_error("", {.status = 500}).code, godwit::rpc::code::internal_error);
  for (const char* data : {"", "{}", "[", R"({"transport":"http"})", R"({"transport":"http",)",
                           R"({"transport":"http","status":"x"})", R"({"status":401})"}) {
    EXPECT_FALSE(carrier_failure(Error{.message = "x", .data = data, .cause = Cause::carrier}))
        << data;
  }
}

TEST(CarrierError, CannotBeSentByAServer) {
  for (const CarrierFailure failure : {CarrierFailure{}, CarrierFailure{404, true}}) {
    Error error = carrier_error("why", failure);
    error.cause = Cause::peer;  // as it is read from the wire
    EXPECT_FALSE(carrier_failure(error));
  }
}

TEST(CarrierError, SaysWhatBecameOfTheRequest) {
  EXPECT_FALSE(is_not_executed(carrier_error("the connection broke")));
  EXPECT_TRUE(is_connection_closed(carrier_error("the connection broke")));
  EXPECT_TRUE(is_not_executed(carrier_error("the session is over", {404, true})));
  EXPECT_FALSE(is_connection_closed(carrier_error("busy", {.status = 503})));
}
