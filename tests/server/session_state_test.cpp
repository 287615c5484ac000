// The state of a session, saved by one Server and restored by another.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

using test::Link;

struct SessionState : testing::Test {
  static void fill(Server& server) {
    server.resource("x:1", "x", [] { return "x"; });
    server.tool("who", "", [](Context& cx) {
      return cx.client().name + (cx.client_capabilities().sampling ? " samples" : "");
    });
  }
  struct Cart {
    std::vector<std::string> items{};
  };
  struct Item {
    std::string name{};
  };
  static void fill_cart(Server& server) {
    server.tool("add", "", [](Item in, Context& cx) -> Result<std::string> {
      auto cart = cx.session_value<Cart>("cart");
      if (!cart) return cart.error();
      cart->items.push_back(in.name);
      if (auto kept = cx.set_session_value("cart", *cart); !kept) return kept.error();
      return std::to_string(cart->items.size());
    });
    server.tool("number", "", [](Context& cx) -> Result<std::string> {
      const auto number = cx.session_value<int>("cart");
      if (!number) return number.error();
      return std::to_string(*number);
    });
  }
  SessionState() {
    fill_cart(first);
    fill_cart(second);
    fill(first);
    fill(second);
  }
  static Service::Session& session_of(Link& link) { return Service::session_of(*link.peer); }

  Server first{test::server_options()};
  Server second{test::server_options()};
};

TEST_F(SessionState, IsRestoredAndSavedAgainAsItWas) {
  for (const std::string_view revision : test::all_revisions) {
    if (test::is_modern(revision)) continue;
    Link link(first, revision, {.capabilities = std::string(test::can_all)});
    link.ask("logging/setLevel", R"({"level":"error"})");
    link.ask("resources/subscribe", R"({"uri":"x:1"})");
    const Result<std::string> saved = session_of(link).save();
    ASSERT_TRUE(saved) << saved.error().message;
    Link other(second);
    ASSERT_TRUE(session_of(other).restore(*saved));
    EXPECT_TRUE(session_of(other).established());
    EXPECT_EQ(session_of(other).resumes_streams(), session_of(link).resumes_streams());
    EXPECT_EQ(session_of(other).kept_bytes(), session_of(link).kept_bytes());
    EXPECT_EQ(session_of(other).save().value(), *saved);
    other.set_revision(revision);
    EXPECT_EQ(test::text_of(other.tool("who")), "tester samples");
  }
}

TEST_F(SessionState, CountsWhatAClientWantsChanged) {
  Link link(first, test::legacy_revision);
  Service::Session& session = session_of(link);
  const auto moves = [&](std::string_view method, std::string_view params) {
    const std::uint64_t before = session.changes();
    link.ask(method, params);
    return session.changes() != before;
  };
  EXPECT_TRUE(moves("logging/setLevel", R"({"level":"error"})"));
  EXPECT_TRUE(moves("resources/subscribe", R"({"uri":"x:1"})"));
  EXPECT_TRUE(moves("resources/subscribe", R"({"uri":"x:1"})"));
  EXPECT_TRUE(moves("resources/unsubscribe", R"({"uri":"x:1"})"));
  EXPECT_FALSE(moves("tools/list", "{}"));
  EXPECT_FALSE(moves("tools/call", Link::tool_params("who")));
  EXPECT_FALSE(moves("ping", "{}"));
}

TEST_F(SessionState, HasWhatTheProgramKeepsInIt) {
  Link link(first, test::legacy_revision);
  const auto add = [](Link& to, const std::string& name) {
    return test::text_of(to.tool("add", R"({"name":")" + name + "\"}"));
  };
  const std::size_t before = session_of(link).kept_bytes();
  const std::uint64_t changes = session_of(link).changes();
  EXPECT_EQ(test::text_of(link.tool("number")), "0") << "nothing yet";
  EXPECT_EQ(session_of(link).changes(), changes) << "looking changes nothing";
  EXPECT_EQ(add(link, "pen"), "1");
  EXPECT_EQ(add(link, "ink"), "2");
  EXPECT_NE(session_of(link).changes(), changes);
  EXPECT_GT(session_of(link).kept_bytes(), before);
  EXPECT_TRUE(test::has(link.tool("number").dump(), "error")) << "it is no number";
  const std::string saved = session_of(link).save().value();
  Link other(second);
  ASSERT_TRUE(session_of(other).restore(saved));
  EXPECT_EQ(session_of(other).kept_bytes(), session_of(link).kept_bytes());
  other.set_revision(test::legacy_revision);
  EXPECT_EQ(add(other, "paper"), "3");
  EXPECT_EQ(add(link, "own"), "3") << "they share nothing";
  // All of it has a bound, and what does not fit changes nothing.
  const std::string long_name(Limits{}.session_bytes, 'x');
  EXPECT_TRUE(test::has(link.tool("add", R"({"name":")" + long_name + "\"}").dump(), "error"));
  EXPECT_EQ(add(link, "more"), "4");
  // There is no session in the other era.
  Link modern(first, test::modern_revision);
  EXPECT_TRUE(test::has(modern.tool("add", R"({"name":"pen"})").dump(), "without sessions"));
}

TEST_F(SessionState, OfAnythingElseChangesNothing) {
  Link link(first, test::legacy_revision);
  link.ask("resources/subscribe", R"({"uri":"x:1"})");
  const std::string good = session_of(link).save().value();
  EXPECT_FALSE(session_of(link).restore(good)) << "it has begun";
  Link other(second);
  EXPECT_FALSE(session_of(other).save()) << "it has not";
  for (const std::string& bad :
       {std::string(), std::string("null"), std::string("[]"), std::string("{}"),
        std::string(R"({"revision":7})"), good.substr(1),
        R"({"revision":"2026-07-28",)" + good.substr(good.find("\"caller\""))}) {
    EXPECT_FALSE(session_of(other).restore(bad)) << bad;
    EXPECT_FALSE(session_of(other).established());
    EXPECT_EQ(session_of(other).kept_bytes(), 0u);
  }
  EXPECT_TRUE(session_of(other).restore(good));
}

TEST_F(SessionState, IsBoundedAsASessionIs) {
  Link link(first, test::legacy_revision);
  link.ask("resources/subscribe", R"({"uri":"x:1"})");
  const std::string good = session_of(link).save().value();
  ServerOptions options = test::server_options();
  options.limits.session_bytes = session_of(link).kept_bytes() - 1;
  Server small(options);
  Link other(small);
  EXPECT_FALSE(session_of(other).restore(good));
  EXPECT_EQ(session_of(other).kept_bytes(), 0u);
  EXPECT_FALSE(session_of(other).established());
}

}  // namespace
}  // namespace godwit::inline v0
