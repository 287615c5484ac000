#include "godwit/http/response.hpp"

#include <gtest/gtest.h>

using godwit::http::reason_of;
using godwit::http::Response;

TEST(Response, Reasons) {
  EXPECT_EQ(reason_of(200), "OK");
  EXPECT_EQ(reason_of(404), "Not Found");
  EXPECT_EQ(reason_of(431), "Request Header Fields Too Large");
  for (const int status : {0, -1, 99, 299, 418, 600, 1000}) EXPECT_EQ(reason_of(status), "Unknown");
}

TEST(Response, IsAPlainValue) {
  EXPECT_EQ(Response{}.status, 200);
  EXPECT_EQ((Response{.status = 404, .fields = {{"A", "b"}}, .body = "x"}),
            (Response{.status = 404, .fields = {{"A", "b"}}, .body = "x"}));
}
