#include "godwit/rpc/error_code.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <utility>

namespace godwit::inline v0::rpc {
namespace {

TEST(ErrorCode, ClassifiesTheFiveStandardCodes) {
  EXPECT_EQ(classify(-32700), ErrorKind::parse_error);
  EXPECT_EQ(classify(-32600), ErrorKind::invalid_request);
  EXPECT_EQ(classify(-32601), ErrorKind::method_not_found);
  EXPECT_EQ(classify(-32602), ErrorKind::invalid_params);
  EXPECT_EQ(classify(-32603), ErrorKind::internal_error);
}

TEST(ErrorCode, CountsEveryOtherCodeAsInternal) {
  for (const std::int64_t code :
       {std::int64_t{0}, std::int64_t{1001}, std::int64_t{-32000}, std::int64_t{-32099},
        std::int64_t{-32604}, std::int64_t{-32699}, std::int64_t{-32768},
        std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(classify(code), ErrorKind::internal_error) << code;
    EXPECT_FALSE(is_client_fault(code)) << code;
  }
}

TEST(ErrorCode, SaysWhoseFaultItIs) {
  for (const std::int64_t code : {-32700, -32600, -32601, -32602}) {
    EXPECT_TRUE(is_client_fault(code)) << code;
  }
  EXPECT_FALSE(is_client_fault(-32603));
}

TEST(ErrorCode, ExplainsEachKindInOneSentence) {
  EXPECT_EQ(explain(method_not_found("nope")),
            R"(client error: Method not found (-32601): there is no method "nope")");
  EXPECT_EQ(explain(parse_error("line 1")), "client error: Parse error (-32700): line 1");
  EXPECT_EQ(explain(invalid_request("no method")),
            "client error: Invalid request (-32600): no method");
  EXPECT_EQ(explain(invalid_params("/a: expected an integer")),
            "client error: Invalid params (-32602): /a: expected an integer");
  EXPECT_EQ(explain(Error{.code = -32603, .message = "boom", .cause = Cause::peer}),
            "server error: Internal error (-32603): boom");
}

TEST(ErrorCode, ExplainsCodesOfServersAndApplications) {
  EXPECT_EQ(explain(Error{.code = -32050, .message = "disk full"}),
            "server error (-32050): disk full");
  EXPECT_EQ(explain(Error{.code = -32002, .message = "Resource not found", .cause = Cause::peer}),
            "server error (-32002): Resource not found");
  EXPECT_EQ(explain(Error{.code = 1001, .message = "no such bird"}),
            "application error (1001): no such bird");
}

TEST(ErrorCode, ExplainsWhatHappenedOnThisSide) {
  // Nobody knows whose fault it is.
  EXPECT_EQ(explain(internal_error()), "Internal error (-32603)");
  EXPECT_EQ(explain(error("out of coffee")), "Internal error (-32603): out of coffee");
  const std::pair<Cause, const char*> cases[] = {{Cause::timeout, "timeout: x"},
                                                 {Cause::cancelled, "cancelled: x"},
                                                 {Cause::connection_closed, "connection lost: x"},
                                                 {Cause::not_connected, "not connected: x"},
                                                 {Cause::busy, "busy: x"},
                                                 {Cause::not_authorized, "not authorized: x"},
                                                 {Cause::carrier, "transport error: x"},
                                                 {Cause::in_process, "error: x"}};
  for (const auto& [cause, text] : cases) {
    EXPECT_EQ(explain(Error{.code = -32601, .message = "x", .cause = cause}), text);
  }
}

TEST(ErrorCode, ExplanationsDoNotRepeatThemselves) {
  // The specification's own spelling, which most servers send.
  EXPECT_EQ(explain(Error{.code = -32600, .message = "Invalid Request"}),
            "client error: Invalid request (-32600)");
  EXPECT_EQ(explain(Error{.code = -32601, .message = "Method not found"}),
            "client error: Method not found (-32601)");
  // A sentence that only happens to begin alike stays whole.
  EXPECT_EQ(explain(Error{.code = -32603, .message = "Internal errors are sad"}),
            "Internal error (-32603): Internal errors are sad");
  EXPECT_EQ(explain(Error{.code = -32603, .message = ""}), "Internal error (-32603)");
}

TEST(ErrorCode, MakersSayTheKindFirst) {
  EXPECT_EQ(parse_error(), (Error{.code = -32700, .message = "Parse error"}));
  EXPECT_EQ(invalid_request(), (Error{.code = -32600, .message = "Invalid request"}));
  EXPECT_EQ(invalid_params("x"), (Error{.code = -32602, .message = "Invalid params: x"}));
  EXPECT_EQ(internal_error(), (Error{.code = -32603, .message = "Internal error"}));
  const Error long_name = method_not_found(std::string(100'000, 'x'));
  EXPECT_EQ(long_name.code, -32601);
  EXPECT_LT(long_name.message.size(), 300u);
}

TEST(ErrorCode, ServerCodesAreChecked) {
  static_assert(ServerErrorCode(-32000).value() == -32000);
  static_assert(ServerErrorCode(-32099).value() == -32099);
  static_assert(!ServerErrorCode::from(-31999));
  static_assert(!ServerErrorCode::from(-32100));
  static_assert(ServerErrorCode::from(-32050) == ServerErrorCode(-32050));
  EXPECT_EQ(server_error(ServerErrorCode(-32050), "disk full"),
            (Error{.code = -32050, .message = "disk full"}));
}

TEST(ErrorCode, ApplicationCodesLieOutsideTheReservedRange) {
  EXPECT_EQ(application_error(1001, "m").code, 1001);
  EXPECT_EQ(application_error(-31999, "m").code, -31999);
  EXPECT_EQ(application_error(-32769, "m").code, -32769);
  for (const std::int64_t code : {-32000, -32001, -32603, -32768}) {
    EXPECT_THROW(application_error(code, "m"), std::invalid_argument) << code;
  }
}

}  // namespace
}  // namespace godwit::inline v0::rpc
