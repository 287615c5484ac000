#include "godwit/rpc/identity.hpp"

#include <gtest/gtest.h>

#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"

namespace godwit::rpc {
namespace {

const Identity ada{.issuer = "https://issuer.example", .subject = "ada", .client = "editor"};

TEST(Identity, IsTheSameByIssuerSubjectAndClient) {
  Identity other = ada;
  other.scopes = {"read"};
  other.expires = 5;
  other.claims.set("email", "ada@example.com");
  EXPECT_TRUE(ada.is_same(other)) << "these change while a session goes on";
  for (std::string Identity::* part : {&Identity::issuer, &Identity::subject, &Identity::client}) {
    Identity another = ada;
    another.*part = "x";
    EXPECT_FALSE(ada.is_same(another));
  }
}

TEST(Identity, NobodyIsTheSameAsNobody) {
  EXPECT_TRUE(same_caller(nullptr, nullptr));
  EXPECT_TRUE(same_caller(&ada, &ada));
  EXPECT_FALSE(same_caller(&ada, nullptr));
  EXPECT_FALSE(same_caller(nullptr, &ada));
  const Identity copy = ada;
  EXPECT_TRUE(same_caller(&ada, &copy));
}

TEST(Identity, MayDoWhatItsScopesSay) {
  Identity one = ada;
  EXPECT_FALSE(one.may("read"));
  one.scopes = {"read", "write"};
  EXPECT_TRUE(one.may("write"));
  EXPECT_FALSE(one.may("writ"));
}

TEST(Identity, HasAJsonForm) {
  Identity one = ada;
  one.scopes = {"read"};
  one.expires = 1'800'000'000;
  one.claims.set("level", 3);
  const std::string text = json::encode(one);
  EXPECT_EQ(text, R"({"issuer":"https://issuer.example","subject":"ada","client":"editor",)"
                  R"("scopes":["read"],"expires":1800000000,"claims":{"level":3}})");
  const auto read = json::decode<Identity>(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->is_same(one));
  EXPECT_EQ(json::encode(*read), text);
}

}  // namespace
}  // namespace godwit::rpc
