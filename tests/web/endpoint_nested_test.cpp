// Handlers that use the endpoint they are called by.
#include <gtest/gtest.h>

#include <string>

#include "stateful.hpp"
#include "stateless.hpp"

namespace godwit::inline v0 {
namespace {

TEST_F(Stateful, AHandlerMayMakeARequestInAnotherSession) {
  const std::string session = site.connect();
  const std::string other = site.connect();
  site.server.tool("nested", "", [&](City in) {
    return in.city + " " + test::text_of(call(other, "1", "echo", R"({"city":"inner"})").answer());
  });
  EXPECT_EQ(test::text_of(call(session, "1", "nested", oslo).answer()), "Oslo inner");
}

TEST_F(Stateful, AHandlerMayMakeARequestInItsOwnSession) {
  const std::string session = site.connect();
  FakeExchange* inner = nullptr;
  site.server.tool("nested", "", [&](City in) {
    inner = &call(session, "2", "echo", R"({"city":"inner"})");
    return in.city;
  });
  FakeExchange& x = call(session, "1", "nested", oslo);
  site.process();
  EXPECT_EQ(outcome(x), "200 result 1");
  EXPECT_EQ(test::text_of(x.answer()), "Oslo");
  ASSERT_FALSE(inner->waiting());
  EXPECT_EQ(test::text_of(inner->answer()), "inner");
}

TEST_F(Stateless, AHandlerMayMakeARequestItself) {
  site.server.tool("nested", "", [&](City in) {
    FakeExchange& inner = site.send(Site::modern_tool("7", "echo", R"({"city":"inner"})"));
    return in.city + " " + test::text_of(inner.answer());
  });
  FakeExchange& x = site.send(Site::modern_tool("7", "nested", oslo));
  EXPECT_EQ(test::text_of(x.answer()), "Oslo inner");
}

TEST(Nested, AHandlerMayEndItsOwnSession) {
  Site site;
  std::string session;
  site.server.tool("end", "", [&] {
    site.send(Site::remove(session));
    return "ended";
  });
  session = site.connect();
  FakeExchange& x = site.send(Site::in(session, Site::tool_body("1", "end")));
  EXPECT_FALSE(x.waiting());
  EXPECT_EQ(site.web().sessions(), 0u);
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

}  // namespace
}  // namespace godwit::inline v0
