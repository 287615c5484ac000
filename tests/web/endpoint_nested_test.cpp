// Handlers that use the endpoint they are called by, in ways that end their own session.
#include <gtest/gtest.h>

#include <string>

#include "site.hpp"

namespace godwit::inline v0 {
namespace {

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
