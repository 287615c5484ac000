// Sessions of an Endpoint: how they begin and end, and what may be in the body of a request in one.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stateful.hpp"

namespace godwit::inline v0 {
namespace {

// Sessions.

TEST_F(Stateful, TheHandshakeGivesASessionThatNobodyCanGuess) {
  std::set<std::string> seen;
  for (const std::string_view revision : test::all_revisions) {
    FakeExchange& x = site.send(Site::post(Site::initialize_body(revision)));
    EXPECT_EQ(outcome(x), "200 result 0");
    EXPECT_EQ(x.type, "application/json");
    const std::string id = x.field("Mcp-Session-Id");
    EXPECT_GE(id.size(), 32u);
    EXPECT_TRUE(std::ranges::all_of(id, [](char c) { return c >= 0x21 && c <= 0x7e; })) << id;
    EXPECT_TRUE(seen.insert(id).second);
  }
  EXPECT_EQ(site.web().sessions(), 5u);
}

TEST_F(Stateful, SessionsNeverRepeatAndAllTheirBitsVary) {
  std::set<std::string> seen;
  std::vector<int> ones(128);
  for (int i = 0; i < 10'000; ++i) {
    FakeExchange& x = site.send(Site::post(Site::initialize_body("2025-11-25")));
    const std::string id = x.field("Mcp-Session-Id");
    ASSERT_TRUE(seen.insert(id).second);
    ASSERT_EQ(id.find_first_not_of("0123456789abcdef"), id.npos) << id;
    ASSERT_GE(id.size(), 32u);
    for (std::size_t digit = 0; digit < 32; ++digit) {
      const int value = std::stoi(id.substr(id.size() - 1 - digit, 1), nullptr, 16);
      for (std::size_t bit = 0; bit < 4; ++bit) ones[digit * 4 + bit] += value >> bit & 1;
    }
    site.exchanges.clear();
  }
  // 5,000 with a deviation of 50; eight of them are far out.
  for (const int count : ones) EXPECT_NEAR(count, 5'000, 400);
  EXPECT_EQ(site.web().sessions(), 10'000u);
}

TEST_F(Stateful, AHandshakeThatFailsLeavesNothingBehind) {
  for (const std::string& body :
       {Site::legacy_body("0", "initialize", "{}"), Site::legacy_body("0", "initialize", "[]"),
        Site::legacy_body("0", "initialize", R"({"protocolVersion":5})"),
        Site::legacy_body("", "initialize", R"({"protocolVersion":"2025-11-25",
            "capabilities":{},"clientInfo":{"name":"n","version":"v"}})")}) {
    FakeExchange& x = site.send(Site::post(body));
    EXPECT_EQ(x.field("Mcp-Session-Id"), "") << x.body;
    EXPECT_FALSE(x.waiting());
    EXPECT_EQ(site.web().sessions(), 0u) << body;
  }
  EXPECT_EQ(site.server.sessions(), 0u);
  // Nor does one inside an array.
  FakeExchange& x = site.send(Site::post("[" + Site::initialize_body("2025-03-26") + "]"));
  EXPECT_EQ(x.status, 400);
  EXPECT_EQ(x.field("Mcp-Session-Id"), "");
  EXPECT_EQ(site.web().sessions(), 0u);
}

TEST_F(Stateful, OnlyTheAnswerToTheHandshakeCarriesTheSession) {
  const std::string session = site.connect();
  EXPECT_EQ(call(session, "1", "echo", oslo).field("Mcp-Session-Id"), "");
}

TEST_F(Stateful, WithoutASession400AndInAnUnknownOne404) {
  const std::string session = site.connect();
  const std::string ping = Site::legacy_body("1", "ping");
  EXPECT_EQ(site.send(Site::post(ping)).status, 400);
  EXPECT_EQ(site.send(Site::get("x").without("Mcp-Session-Id")).status, 400);
  EXPECT_EQ(site.send(Site::remove("x").without("Mcp-Session-Id")).status, 400);
  for (const std::string& wrong :
       {std::string("x"), std::string(), session + "0", session.substr(1), " " + session,
        "0123456789abcdef0123456789abcdef"[0] == session[0] ? "f" + session.substr(1)
                                                            : "0" + session.substr(1)}) {
    EXPECT_EQ(site.send(Site::in(wrong, ping)).status, 404) << wrong;
    EXPECT_EQ(site.send(Site::get(wrong)).status, 404) << wrong;
    EXPECT_EQ(site.send(Site::remove(wrong)).status, 404) << wrong;
  }
  // Two of them.
  EXPECT_NE(site.send(Site::in(session, ping).with("Mcp-Session-Id", "x")).status, 200);
  for (const char* name : {"mcp-session-id", "MCP-Session-Id", "MCP-SESSION-ID"}) {
    EXPECT_EQ(outcome(site.send(Site::post(ping).with(name, session))), "200 result 1") << name;
  }
}

TEST_F(Stateful, DeleteEndsTheSession) {
  const std::string session = site.connect();
  const std::string other = site.connect();
  FakeExchange& waiting = call(session, "1", "wait");
  FakeExchange& stream = site.send(Site::get(session));
  const std::stop_token stop = parked.replies[0].cancelled();
  FakeExchange& x = site.send(Site::remove(session));
  EXPECT_EQ(x.status / 100, 2);
  EXPECT_EQ(site.web().sessions(), 1u);
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_FALSE(waiting.waiting());
  EXPECT_FALSE(stream.waiting());
  EXPECT_EQ(site.send(Site::in(session, Site::legacy_body("1", "ping"))).status, 404);
  EXPECT_EQ(site.send(Site::get(session)).status, 404);
  EXPECT_EQ(site.send(Site::remove(session)).status, 404);
  EXPECT_EQ(outcome(call(other, "1", "echo", oslo)), "200 result 1");
  parked.replies[0]("late");
  site.process();
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Stateful, TheVersionInTheHeaderMustBeOneThatIsSpoken) {
  const std::string session = site.connect();
  const std::string ping = Site::legacy_body("1", "ping");
  for (const char* good : {"2025-11-25", "2025-06-18", "2025-03-26"}) {
    EXPECT_EQ(site.send(Site::in(session, ping).with("MCP-Protocol-Version", good)).status, 200);
  }
  for (const char* bad : {"2026-07-28", "1.0", "", "2025-11-25x", "2030-01-01"}) {
    EXPECT_EQ(site.send(Site::in(session, ping).with("MCP-Protocol-Version", bad)).status, 400)
        << bad;
    EXPECT_EQ(site.send(Site::get(session).with("MCP-Protocol-Version", bad)).status, 400) << bad;
    EXPECT_EQ(site.send(Site::remove(session).with("MCP-Protocol-Version", bad)).status, 400)
        << bad;
  }
  EXPECT_EQ(site.web().sessions(), 1u);
}

TEST_F(Stateful, ASecondHandshakeInASessionChangesNothing) {
  const std::string session = site.connect("2025-11-25");
  FakeExchange& x = site.send(Site::in(session, Site::initialize_body("2025-03-26", "{}")));
  EXPECT_EQ(x.answer()["error"]["code"].dump(), "-32600") << x.body;
  EXPECT_EQ(site.web().sessions(), 1u);
  // Arrays are still refused, and the client can still be asked.
  EXPECT_EQ(site.send(Site::in(session, "[" + Site::legacy_body("1", "ping") + "]")).status, 400);
  EXPECT_TRUE(call(session, "2", "asks").waiting());
}

TEST_F(Stateful, ManyAreServedAtOnceAndNothingCrosses) {
  std::vector<std::string> sessions;
  std::vector<std::pair<std::string, Reply<std::string>>> waiting;
  site.server.tool("secret", "", [&](City in, Reply<std::string> reply) {
    waiting.emplace_back(in.city, std::move(reply));
  });
  for (int i = 0; i < 50; ++i) sessions.push_back(site.connect(http_revisions[i % 3]));
  std::mt19937 random(3);
  std::vector<std::pair<std::string, FakeExchange*>> open;
  for (int i = 0; i < 1000; ++i) {
    const std::string secret = "secret-" + std::to_string(i);
    const std::string& session = sessions[static_cast<std::size_t>(i) % sessions.size()];
    open.emplace_back(secret, &call(session, std::to_string(i / 50), "secret",
                                    R"({"city":")" + secret + R"("})", with_token));
    while (waiting.size() > random() % 100) {
      const std::size_t at = random() % waiting.size();
      std::swap(waiting[at], waiting.back());
      waiting.back().second.context().progress(1, {}, waiting.back().first);
      waiting.back().second(waiting.back().first);
      waiting.pop_back();
      if (random() % 3 == 0) site.process();
    }
  }
  for (auto& [secret, reply] : waiting) reply(secret);
  site.process();
  for (const auto& [secret, x] : open) {
    EXPECT_FALSE(x->waiting());
    EXPECT_EQ(test::text_of(x->answer()), secret);
    for (std::size_t at = x->body.find("secret-"); at != x->body.npos;
         at = x->body.find("secret-", at + 1)) {
      EXPECT_EQ(x->body.substr(at, secret.size()), secret);
    }
  }
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

// What may be in a body.

TEST_F(Stateful, BodiesWithoutARequestGet202) {
  for (const std::string_view revision : http_revisions) {
    const std::string session = site.connect(revision);
    for (const char* body :
         {R"({"jsonrpc":"2.0","method":"notifications/roots/list_changed"})",
          R"({"jsonrpc":"2.0","method":"no/such"})", R"({"jsonrpc":"2.0","id":99,"result":{}})",
          R"({"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"m"}})"}) {
      FakeExchange& x = site.send(Site::in(session, body));
      EXPECT_EQ(outcome(x), "202") << body;
      EXPECT_EQ(x.type, "");
    }
    EXPECT_EQ(site.web().open_exchanges(), 0u);
  }
}

TEST_F(Stateful, BodiesThatAreNoMessageGet400) {
  const std::string session = site.connect();
  const std::pair<const char*, const char*> cases[] = {
      {"", "400 -32700 none"},
      {"{", "400 -32700 none"},
      {"5", "400 -32600 none"},
      {"{}", "400 -32600 none"},
      {"null", "400 -32600 none"},
      {R"({"jsonrpc":"1.0","id":1,"method":"ping"})", "400 -32600 1"},
      {R"({"jsonrpc":"2.0","id":null,"method":"ping"})", "400 -32600 none"},
      {R"({"jsonrpc":"2.0","id":1,"method":5})", "400 -32600 1"}};
  for (const auto& [body, expected] : cases) {
    EXPECT_EQ(outcome(site.send(Site::in(session, body))), expected) << body;
  }
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Stateful, ErrorsOfHandlersAreAnswersLikeAnyOther) {
  const std::string session = site.connect();
  EXPECT_EQ(outcome(site.send(Site::in(session, Site::legacy_body("1", "no/such")))),
            "200 -32601 1");
  EXPECT_EQ(outcome(call(session, "1", "nobody")), "200 -32602 1");
}

TEST_F(Stateful, AnIdThatIsInUseIsRefusedAndTheFirstIsAnswered) {
  const std::string session = site.connect("2025-06-18");
  FakeExchange& first = call(session, "1", "wait");
  FakeExchange& second = call(session, "1", "echo", oslo);
  EXPECT_EQ(outcome(second), "400 -32600 none");
  EXPECT_EQ(runs, 0);
  parked.replies[0]("first");
  site.process();
  EXPECT_EQ(test::text_of(first.answer()), "first");
}

TEST_F(Stateful, BatchesWhereTheRevisionHasThem) {
  const std::string session = site.connect("2025-03-26");
  const std::string one = Site::tool_body("1", "echo", oslo);
  const std::string two = Site::legacy_body("2", "ping");
  const std::string note = Site::legacy_body("", "notifications/roots/list_changed");
  const std::string response = R"({"jsonrpc":"2.0","id":99,"result":{}})";
  const auto send = [&](const std::string& body) -> FakeExchange& {
    return site.send(Site::in(session, body));
  };
  const auto ids = [](const FakeExchange& x) {
    std::string text = std::to_string(x.status) + ":";
    const json::Value answer = x.answer();
    if (const json::Array* all = answer.as_array()) {
      for (const json::Value& entry : *all) {
        text += " " + (entry.contains("id") ? entry["id"].dump() : "none") +
                (entry.contains("error") ? "!" : "");
      }
    } else {
      text += x.body;
    }
    return text;
  };
  EXPECT_EQ(ids(send("[" + one + "]")), "200: 1");
  EXPECT_EQ(ids(send("[" + one + "," + two + "]")), "200: 1 2");
  EXPECT_EQ(ids(send("[" + one + "," + note + "," + two + "," + response + "]")), "200: 1 2");
  EXPECT_EQ(ids(send("[" + one + ",5," + two + "]")), "200: 1 none! 2");
  EXPECT_EQ(ids(send("[" + one + "," + Site::initialize_body("2025-03-26") + "]")), "200: 1 0!");
  EXPECT_EQ(ids(send("[" + note + "," + note + "]")), "202:");
  EXPECT_EQ(ids(send("[" + response + "," + response + "]")), "202:");
  EXPECT_EQ(outcome(send("[]")), "400 -32600 none");
  std::string many;
  for (int i = 0; i < 101; ++i)
    many += (i ? "," : "") + Site::legacy_body("1" + std::to_string(i), "ping");
  EXPECT_EQ(outcome(send("[" + many + "]")), "400 -32600 none");
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Stateful, ABatchIsAnsweredWhenItsLastEntryIs) {
  const std::string session = site.connect("2025-03-26");
  FakeExchange& x = site.send(Site::in(session, "[" + Site::tool_body("1", "wait") + "," +
                                                    Site::tool_body("2", "echo", oslo) + "," +
                                                    Site::tool_body("3", "wait") + "]"));
  EXPECT_TRUE(x.waiting());
  parked.replies[1]("three");
  site.process();
  EXPECT_TRUE(x.waiting());
  parked.replies[0]("one");
  site.process();
  EXPECT_EQ(x.status, 200);
  ASSERT_NE(x.answer().as_array(), nullptr) << x.body;
  EXPECT_EQ(x.answer().as_array()->size(), 3u);
}

TEST_F(Stateful, ABatchWhoseLastRequestIsTakenBackIsOver) {
  const std::string session = site.connect("2025-03-26");
  FakeExchange& x = site.send(Site::in(session, "[" + Site::tool_body("1", "wait") + "]"));
  site.send(
      Site::in(session, Site::legacy_body("", "notifications/cancelled", R"({"requestId":1})")));
  EXPECT_FALSE(x.waiting());
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Stateful, BatchesAreRefusedWhereTheRevisionHasNone) {
  for (const char* revision : {"2025-06-18", "2025-11-25"}) {
    const std::string session = site.connect(revision);
    FakeExchange& x = site.send(Site::in(session, "[" + Site::tool_body("1", "echo", oslo) + "]"));
    EXPECT_EQ(x.status, 400) << revision;
    EXPECT_EQ(x.answer()["error"]["code"].dump(), "-32600");
  }
  EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace godwit::inline v0
