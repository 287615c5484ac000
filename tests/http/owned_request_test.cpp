#include "godwit/http/owned_request.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "fake_exchange.hpp"

namespace godwit::inline v0::http {
namespace {

using test::FakeRequest;

std::unique_ptr<OwnedRequest> keep(const Admitted* admitted = nullptr) {
  FakeRequest from("POST", "/x?y=1");
  from.with("Host", "localhost").with("X-Empty", "").body("hello");
  Request request = from.get();
  request.peer = "127.0.0.1:1";
  request.secure = true;
  request.admitted = admitted;
  return std::make_unique<OwnedRequest>(request);  // what it was made of is gone then
}

TEST(OwnedRequest, KeepsAllOfIt) {
  const auto kept = keep();
  const Request& view = kept->view();
  EXPECT_EQ(view.method, "POST");
  EXPECT_EQ(view.target, "/x?y=1");
  EXPECT_EQ(view.peer, "127.0.0.1:1");
  EXPECT_TRUE(view.secure);
  EXPECT_EQ(view.body, "hello");
  EXPECT_EQ(view.fields.find("host"), "localhost");
  EXPECT_EQ(view.fields.find("X-Empty"), "");
  EXPECT_EQ(view.admitted, nullptr);
  EXPECT_GE(view.spare, 64u);
  for (std::size_t i = 0; i < view.spare; ++i) EXPECT_EQ(view.body.data()[5 + i], '\0');
  EXPECT_GT(kept->size(), sizeof(OwnedRequest) + 5);
}

TEST(OwnedRequest, KeepsWhatWasFoundOut) {
  std::unique_ptr<OwnedRequest> kept;
  {
    const Admitted admitted{.identity = {}, .fields = {{"X-Nonce", "n"}}};
    kept = keep(&admitted);
  }
  ASSERT_NE(kept->view().admitted, nullptr);
  EXPECT_EQ(kept->view().admitted->fields.find("X-Nonce"), "n");
}

TEST(OwnedRequest, CanBeToldLater) {
  const auto kept = keep();
  kept->set({.kind = Outcome::Kind::passed, .admitted = {}, .refusal = {}});
  EXPECT_TRUE(kept->view().access_checked);
  EXPECT_EQ(kept->view().admitted, nullptr);
  kept->set({.kind = Outcome::Kind::admitted,
             .admitted = {.identity = {}, .fields = {{"X-Nonce", "n"}}},
             .refusal = {}});
  ASSERT_NE(kept->view().admitted, nullptr);
  EXPECT_EQ(kept->view().admitted->fields.find("X-Nonce"), "n");
}

}  // namespace
}  // namespace godwit::inline v0::http
