// An Endpoint with clients that begin with a handshake (2025-03-26 to 2025-11-25).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "godwit/web/memory_event_store.hpp"
#include "site.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::equals;
using test::has;

struct City {
  std::string city{};
};
struct Name {
  std::string name{};
};

constexpr std::string_view http_revisions[] = {"2025-03-26", "2025-06-18", "2025-11-25"};
const std::string with_token = R"(,"_meta":{"progressToken":1})";

struct Stateful : testing::Test {
  Stateful() : Stateful(SiteOptions{}) {}
  explicit Stateful(SiteOptions options) : site(std::move(options)) {
    site.server.tool("echo", "", [this](City in) {
      ++runs;
      return in.city;
    });
    site.server.tool("steps", "", [](Context& cx) {
      cx.progress(1, 2);
      return "two steps";
    });
    site.server.tool("wait", "", parked.handler());
    site.server.tool("asks", "", [](Context& cx) -> Result<std::string> {
      auto name = cx.elicit<Name>("who", "Who?");
      if (!name) return name.error();
      return "hello " + name->value().name;
    });
    site.server.tool("samples", "", [](Context& cx) -> Result<std::string> {
      auto answer = cx.sample("s", {.messages = {}, .maxTokens = 1});
      if (!answer) return answer.error();
      return "the model " + answer->model;
    });
    site.server.resource("x:1", "x", [] { return "x"; });
  }
  FakeExchange& call(std::string_view session, std::string_view id, std::string_view tool,
                     std::string_view arguments = "{}", std::string_view more = "") {
    return site.send(Site::in(session, Site::tool_body(id, tool, arguments, more)));
  }
  /// The server says something that belongs to no request.
  void change() {
    site.server.tool("n" + std::to_string(++changes), "", [] { return ""; });
    site.process();
  }
  /// Answers a question of the server.
  FakeExchange& reply(std::string_view session, const json::Value& question,
                      std::string_view result) {
    return site.send(Site::in(session, R"({"jsonrpc":"2.0","id":)" + question["id"].dump() +
                                           R"(,"result":)" + std::string(result) + "}"));
  }

  int runs = 0, changes = 0;
  Parked parked;
  Site site;
};

const std::string oslo = R"({"city":"Oslo"})";

/// The number in a progress message.
int progress_of(const json::Value& message) { return message["params"]["progress"].get<int>(); }

/// The id of the last event that has one.
std::string last_id(const FakeExchange& x) {
  std::string id;
  for (const auto& event : x.events()) id = event.id.value_or(id);
  return id;
}

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

// Answers and streams of requests.

TEST_F(Stateful, AnAnswerAtOnceIsJsonInEveryRevision) {
  for (const std::string_view revision : http_revisions) {
    FakeExchange& x = call(site.connect(revision), "1", "echo", oslo);
    EXPECT_EQ(x.type, "application/json");
    EXPECT_EQ(outcome(x), "200 result 1");
    EXPECT_FALSE(x.answer()["result"].contains("resultType"));
  }
}

TEST_F(Stateful, ALateAnswerIsPrimedInTheNewestRevisionOnly) {
  for (const std::string_view revision : http_revisions) {
    parked.replies.clear();
    FakeExchange& x = call(site.connect(revision), "1", "wait");
    if (revision == "2025-11-25") {
      ASSERT_TRUE(x.streaming());
      const auto events = x.events();
      ASSERT_EQ(events.size(), 1u);
      EXPECT_EQ(events[0].data, std::vector<std::string>{""});
      EXPECT_TRUE(events[0].id);
    } else {
      EXPECT_EQ(x.body, "");
    }
    parked.replies[0]("late");
    site.process();
    EXPECT_FALSE(x.waiting());
    EXPECT_EQ(test::text_of(x.answer()), "late");
    if (revision != "2025-11-25") {
      EXPECT_EQ(x.type, "application/json");
    }
  }
}

TEST_F(Stateful, EventsOfAStreamHaveIdsOfTheirOwn) {
  for (const std::string_view revision : http_revisions) {
    const std::string session = site.connect(revision);
    std::set<std::string> ids;
    for (int i = 1; i <= 3; ++i) {
      FakeExchange& x = call(session, std::to_string(i), "steps", "{}", with_token);
      EXPECT_TRUE(x.ended());
      EXPECT_EQ(x.field("X-Accel-Buffering"), "no");
      const auto events = x.events();
      ASSERT_EQ(events.size(), revision == "2025-11-25" ? 3u : 2u) << x.body;
      EXPECT_EQ(events[0].data[0].empty(), revision == "2025-11-25");
      for (const auto& event : events) {
        ASSERT_TRUE(event.id);
        EXPECT_TRUE(ids.insert(*event.id).second) << "used twice: " << *event.id;
        EXPECT_EQ(event.data.size(), 1u);
      }
      EXPECT_EQ(test::text_of(x.answer()), "two steps");
    }
  }
}

TEST_F(Stateful, QuestionsGoByTheStreamOfTheRequestAndAreAnsweredByAnotherPost) {
  for (const std::string_view revision : {"2025-06-18", "2025-11-25"}) {
    const std::string session = site.connect(revision);
    FakeExchange& listening = site.send(Site::get(session));
    const std::size_t before = listening.messages().size();
    FakeExchange& x = call(session, "1", "asks");
    FakeExchange& y = call(session, "2", "samples");
    ASSERT_TRUE(x.streaming());
    ASSERT_TRUE(y.streaming());
    ASSERT_EQ(x.messages().size(), 1u);
    EXPECT_EQ(x.answer()["method"].as_string(), "elicitation/create");
    EXPECT_EQ(y.answer()["method"].as_string(), "sampling/createMessage");
    FakeExchange& sampled = reply(session, y.answer(),
                                  R"({"role":"assistant","model":"m1",
                                      "content":{"type":"text","text":"t"}})");
    EXPECT_EQ(outcome(sampled), "202");
    FakeExchange& answered = reply(session, x.answer(), test::accept(R"({"name":"Ada"})"));
    EXPECT_EQ(outcome(answered), "202");
    site.process();
    EXPECT_TRUE(x.ended());
    EXPECT_TRUE(y.ended());
    EXPECT_EQ(test::text_of(x.answer()), "hello Ada");
    EXPECT_EQ(test::text_of(y.answer()), "the model m1");
    EXPECT_EQ(x.answer()["id"].dump(), "1");
    EXPECT_EQ(listening.messages().size(), before);
    listening.go();
    site.send(Site::remove(session));
  }
}

TEST_F(Stateful, AnswersOfOtherSessionsAnswerNothing) {
  const std::string session = site.connect("2025-06-18");
  const std::string other = site.connect("2025-06-18");
  FakeExchange& x = call(session, "1", "asks");
  const json::Value question = x.answer();
  reply(other, question, test::accept(R"({"name":"Eve"})"));
  site.process();
  EXPECT_TRUE(x.waiting());
  reply(session, question, test::accept(R"({"name":"Ada"})"));
  site.process();
  EXPECT_EQ(test::text_of(x.answer()), "hello Ada");
}

TEST_F(Stateful, ARequestThatIsTakenBackEndsItsExchange) {
  for (const std::string_view revision : http_revisions) {
    parked.replies.clear();
    const std::string session = site.connect(revision);
    FakeExchange& x = call(session, R"("a")", "wait");
    FakeExchange& other = call(session, "2", "wait");
    const std::stop_token stop = parked.replies[0].cancelled();
    FakeExchange& y = site.send(Site::in(
        session, Site::legacy_body("", "notifications/cancelled", R"({"requestId":"a"})")));
    EXPECT_EQ(outcome(y), "202");
    EXPECT_TRUE(stop.stop_requested());
    EXPECT_FALSE(x.waiting());
    EXPECT_TRUE(x.messages().empty());
    parked.replies[0]("late");
    site.process();
    EXPECT_TRUE(other.waiting());
    parked.replies[1]("other");
    site.process();
    EXPECT_EQ(test::text_of(other.answer()), "other");
    EXPECT_EQ(site.web().open_exchanges(), 0u);
  }
}

TEST_F(Stateful, ARequestThatIsTakenBackTakesBackItsQuestion) {
  const std::string session = site.connect("2025-06-18");
  FakeExchange& x = call(session, "1", "asks");
  ASSERT_EQ(x.messages().size(), 1u);
  site.send(
      Site::in(session, Site::legacy_body("", "notifications/cancelled", R"({"requestId":1})")));
  site.process();
  EXPECT_FALSE(x.waiting());
  EXPECT_EQ(site.web().open_exchanges(), 0u);
  EXPECT_EQ(outcome(call(session, "1", "echo", oslo)), "200 result 1");
}

TEST_F(Stateful, GoingAwayIsNotTakingBack) {
  for (const std::string_view revision : http_revisions) {
    parked.replies.clear();
    const std::string session = site.connect(revision);
    FakeExchange& x = call(session, "1", "wait");
    const std::stop_token stop = parked.replies[0].cancelled();
    x.go();
    site.process();
    EXPECT_FALSE(stop.stop_requested());
    EXPECT_EQ(site.web().open_exchanges(), 0u);
    parked.replies[0]("late");
    site.process();
    EXPECT_EQ(outcome(call(session, "1", "echo", oslo)), "200 result 1");
  }
}

// The stream for what belongs to no request.

TEST_F(Stateful, TheStreamOfASession) {
  for (const std::string_view revision : http_revisions) {
    const std::string session = site.connect(revision);
    EXPECT_EQ(site.send(Site::get(session).set("Accept", "application/json")).status, 406);
    FakeExchange& x = site.send(Site::get(session));
    ASSERT_TRUE(x.streaming());
    EXPECT_EQ(x.status, 200);
    EXPECT_EQ(x.type, "text/event-stream");
    EXPECT_TRUE(x.messages().empty());
    EXPECT_EQ(x.events().size(), revision == "2025-11-25" ? 1u : 0u);
    FakeExchange& second = site.send(Site::get(session));
    EXPECT_EQ(second.status, 409);
    EXPECT_TRUE(x.streaming());
    change();
    ASSERT_EQ(x.messages().size(), 1u);
    EXPECT_EQ(x.answer()["method"].as_string(), "notifications/tools/list_changed");
    x.go();
    FakeExchange& third = site.send(Site::get(session));
    EXPECT_TRUE(third.streaming());
    change();
    EXPECT_EQ(third.messages().size(), 1u);
    site.send(Site::remove(session));
  }
}

TEST_F(Stateful, EachMessageGoesToOneStream) {
  const std::string a = site.connect();
  const std::string b = site.connect();
  FakeExchange& stream_a = site.send(Site::get(a));
  FakeExchange& stream_b = site.send(Site::get(b));
  FakeExchange& x = call(a, "1", "wait", "{}", with_token);
  change();
  parked.replies[0].context().progress(1);
  site.process();
  EXPECT_EQ(stream_a.messages().size(), 1u);
  EXPECT_EQ(stream_b.messages().size(), 1u);
  EXPECT_EQ(x.messages().size(), 1u);
  EXPECT_EQ(x.answer()["method"].as_string(), "notifications/progress");
  // Subscribed by one of them.
  site.send(Site::in(a, Site::legacy_body("2", "resources/subscribe", R"({"uri":"x:1"})")));
  site.server.resource_updated("x:1");
  site.process();
  EXPECT_EQ(stream_a.messages().size(), 2u);
  EXPECT_EQ(stream_b.messages().size(), 1u);
}

TEST_F(Stateful, WhatWasSaidBeforeTheStreamWasOpenedComesFirst) {
  for (const std::string_view revision : http_revisions) {
    const std::string session = site.connect(revision);
    change();
    site.server.resource("y:" + std::string(revision), "y", [] { return "y"; });
    site.process();
    FakeExchange& x = site.send(Site::get(session));
    auto messages = x.messages();
    ASSERT_EQ(messages.size(), 2u) << x.body;
    EXPECT_EQ(messages[0]["method"].as_string(), "notifications/tools/list_changed");
    EXPECT_EQ(messages[1]["method"].as_string(), "notifications/resources/list_changed");
    change();
    EXPECT_EQ(x.messages().size(), 3u);
    x.go();
    // Handed over once: not again to a stream that does not ask for it.
    FakeExchange& y = site.send(Site::get(session));
    EXPECT_TRUE(y.messages().empty());
    site.send(Site::remove(session));
  }
}

TEST_F(Stateful, WhatIsSaidWhileTheStreamIsBrokenComesWithTheNext) {
  const std::string session = site.connect();
  FakeExchange& x = site.send(Site::get(session));
  change();
  x.go();
  change();
  change();
  FakeExchange& y = site.send(Site::get(session));
  EXPECT_EQ(y.messages().size(), 2u);
}

// Coming back.

TEST_F(Stateful, ComingBackGivesWhatWasMissedAndNothingElse) {
  for (const std::string_view revision : http_revisions) {
    parked.replies.clear();
    const std::string session = site.connect(revision);
    FakeExchange& x = call(session, "1", "wait", "{}", with_token);
    for (int i = 1; i <= 3; ++i) parked.replies[0].context().progress(i);
    site.process();
    const auto events = x.events();
    const std::string second = *events[events.size() - 2].id;
    x.go();
    parked.replies[0].context().progress(4);
    site.process();
    FakeExchange& y = site.send(Site::get(session, second));
    EXPECT_EQ(y.status, 200);
    ASSERT_TRUE(y.streaming());
    ASSERT_EQ(y.messages().size(), 2u) << y.body;
    EXPECT_EQ(progress_of(y.messages()[0]), 3);
    EXPECT_EQ(progress_of(y.messages()[1]), 4);
    parked.replies[0]("late");
    site.process();
    EXPECT_TRUE(y.ended());
    EXPECT_EQ(test::text_of(y.answer()), "late");
    // And once more, although it is over.
    FakeExchange& z = site.send(Site::get(session, last_id(x)));
    EXPECT_TRUE(z.ended());
    ASSERT_EQ(z.messages().size(), 2u);
    EXPECT_EQ(test::text_of(z.answer()), "late");
    FakeExchange& nothing = site.send(Site::get(session, last_id(y)));
    EXPECT_TRUE(nothing.ended());
    EXPECT_TRUE(nothing.messages().empty());
    EXPECT_EQ(site.web().open_exchanges(), 0u);
  }
}

TEST_F(Stateful, ComingBackWithThePrimingEventGivesEverything) {
  const std::string session = site.connect();
  FakeExchange& x = call(session, "1", "wait", "{}", with_token);
  const std::string primed = last_id(x);
  ASSERT_NE(primed, "");
  x.go();
  parked.replies[0].context().progress(1);
  parked.replies[0]("late");
  site.process();
  FakeExchange& y = site.send(Site::get(session, primed));
  EXPECT_TRUE(y.ended());
  EXPECT_EQ(y.messages().size(), 2u);
  EXPECT_EQ(test::text_of(y.answer()), "late");
}

TEST_F(Stateful, ComingBackBeforeTheOldConnectionIsKnownToBeGone) {
  const std::string session = site.connect();
  FakeExchange& x = call(session, "1", "wait", "{}", with_token);
  FakeExchange& y = site.send(Site::get(session, last_id(x)));
  EXPECT_TRUE(y.streaming());
  EXPECT_FALSE(x.waiting());
  parked.replies[0]("late");
  site.process();
  EXPECT_EQ(test::text_of(y.answer()), "late");
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Stateful, TheStreamOfASessionCanBeComeBackToAsWell) {
  const std::string session = site.connect();
  FakeExchange& x = site.send(Site::get(session));
  change();
  change();
  change();
  const auto events = x.events();
  const std::string first = *events[1].id;
  x.go();
  change();
  FakeExchange& y = site.send(Site::get(session, first));
  EXPECT_EQ(y.messages().size(), 3u) << y.body;
  change();
  EXPECT_EQ(y.messages().size(), 4u);
  EXPECT_EQ(site.send(Site::get(session)).status, 409);
}

TEST_F(Stateful, IdsThatNameNothingAreAnErrorAndNothingLeaks) {
  const std::string a = site.connect();
  const std::string b = site.connect();
  FakeExchange& x = call(a, "1", "wait", "{}", with_token);
  parked.replies[0].context().progress(1, {}, "secret of a");
  site.process();
  const std::string id = last_id(x);
  const std::string name = id.substr(0, id.rfind('.'));
  FakeExchange& theirs = call(b, "1", "wait", "{}", with_token);
  parked.replies[1].context().progress(1);
  site.process();
  // Of another session.
  FakeExchange& foreign = site.send(Site::get(b, id));
  EXPECT_EQ(foreign.status, 400);
  EXPECT_FALSE(has(foreign.body, "secret"));
  EXPECT_TRUE(x.streaming()) << "another session's client broke it off";
  for (const std::string& bad :
       {std::string("x"), std::string("."), std::string(".1"), name, name + ".", name + ".x",
        name + ".-1", name + ".+1", name + ".1x", name + ".99", name + ". 1",
        name + ".99999999999999999999999", name + "0.1", "0." + id, id + ".1",
        std::string(10'000, 'x'), std::string("00000000000000000000000000000000.1")}) {
    FakeExchange& y = site.send(Site::get(a, bad));
    EXPECT_EQ(y.status, 400) << bad;
    EXPECT_FALSE(has(y.body, "secret")) << bad;
  }
  EXPECT_TRUE(x.streaming());
  EXPECT_TRUE(theirs.streaming());
  // What a has can be replayed by a.
  FakeExchange& own = site.send(Site::get(a, name + ".0"));
  EXPECT_TRUE(has(own.body, "secret"));
}

TEST_F(Stateful, WhatIsTooOldCannotBeComeBackTo) {
  const std::string session = site.connect();
  FakeExchange& x = call(session, "1", "steps", "{}", with_token);
  const std::string first = *x.events()[0].id;
  site.pass(Limits{}.stream_time - 1ms);
  FakeExchange& y = site.send(Site::get(session, first));
  EXPECT_EQ(y.status, 200);
  EXPECT_EQ(y.messages().size(), 2u);
  site.pass(2ms);
  EXPECT_EQ(site.send(Site::get(session, first)).status, 400);
}

TEST(StatefulStore, WhatNoLongerFitsCannotBeComeBackTo) {
  SiteOptions options;
  options.server.limits.stream_events = 5;
  Site site(std::move(options));
  Parked parked;
  site.server.tool("wait", "", parked.handler());
  const std::string session = site.connect();
  FakeExchange& x = site.send(Site::in(session, Site::tool_body("1", "wait", "{}", with_token)));
  for (int i = 1; i <= 8; ++i) parked.replies[0].context().progress(i);
  site.process();
  const auto events = x.events();
  ASSERT_EQ(events.size(), 9u);
  x.go();
  for (std::size_t i = 0; i < 9; ++i) {
    FakeExchange& y = site.send(Site::get(session, *events[i].id));
    if (i < 3) {  // events 4 to 8 are kept
      EXPECT_EQ(y.status, 400) << i;
    } else {
      EXPECT_EQ(y.status, 200) << i;
      EXPECT_EQ(y.messages().size(), 8 - i);
      y.go();
    }
  }
  // The request itself is not lost.
  FakeExchange& last = site.send(Site::get(session, *events[8].id));
  parked.replies[0]("late");
  site.process();
  EXPECT_EQ(test::text_of(last.answer()), "late");
}

TEST(StatefulStore, MessagesThatNobodyListensToAreBounded) {
  SiteOptions options;
  options.server.limits.stream_events = 10;
  auto store = std::make_shared<MemoryEventStore>(options.server.limits);
  options.endpoint.events = store;
  Site site(std::move(options));
  site.server.tool("t", "", [] { return ""; });
  const std::string session = site.connect();
  for (int i = 0; i < 1000; ++i) {
    site.server.tool("t", "", [] { return ""; });
    site.process();
  }
  EXPECT_LT(store->bytes(), 10'000u);
  FakeExchange& x = site.send(Site::get(session));
  EXPECT_TRUE(x.streaming());
  site.server.tool("t", "", [] { return ""; });
  site.process();
  EXPECT_GE(x.messages().size(), 1u);
  EXPECT_LE(x.messages().size(), 11u);
  site.send(Site::remove(session));
  EXPECT_EQ(store->bytes(), 0u) << "a session that ended left events behind";
}

TEST(StatefulStore, EventsAreKeptBeforeTheyAreSent) {
  struct Store final : EventStore {
    void append(std::string_view stream, std::uint64_t number, std::string_view data) override {
      if (exchange) {
        EXPECT_EQ(exchange->body.find(data), std::string::npos);
      }
      inner.append(stream, number, data);
    }
    bool replay(std::string_view stream, std::uint64_t after, const Each& each) override {
      return inner.replay(stream, after, each);
    }
    void forget(std::string_view stream) override { inner.forget(stream); }
    MemoryEventStore inner;
    FakeExchange* exchange = nullptr;
  };
  SiteOptions options;
  auto store = std::make_shared<Store>();
  options.endpoint.events = store;
  Site site(std::move(options));
  Parked parked;
  site.server.tool("wait", "", parked.handler());
  const std::string session = site.connect();
  FakeExchange& x = site.send(Site::in(session, Site::tool_body("1", "wait", "{}", with_token)));
  store->exchange = &x;
  parked.replies[0].context().progress(1);
  parked.replies[0]("late");
  site.process();
  EXPECT_EQ(x.messages().size(), 2u);
}

TEST(StatefulStore, ManyCutsLoseNothingDoubleNothingAndKeepTheOrder) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    Site site;
    Parked parked;
    site.server.tool("wait", "", parked.handler());
    const std::string session = site.connect();
    FakeExchange* x = &site.send(Site::in(session, Site::tool_body("1", "wait", "{}", with_token)));
    std::vector<std::string> got;  // progress values that the client has
    std::string last;
    std::size_t taken = 0;  // bytes of the present stream
    // The client reads some whole events of what was written.
    const auto read = [&](std::size_t most) {
      std::size_t index = 0;
      for (const auto& event : x->events()) {
        if (index++ < taken) continue;
        if (most-- == 0) break;
        ++taken;
        if (event.id) last = *event.id;
        if (event.data[0].empty()) continue;
        const json::Value message = test::parse(event.data[0]);
        got.push_back(message.contains("result") ? test::text_of(message)
                                                 : std::to_string(progress_of(message)));
      }
    };
    std::vector<std::string> expected;
    read(1);
    for (int i = 1; i <= 300; ++i) {
      if (i == 300) {
        parked.replies[0]("end");
        expected.push_back("end");
      } else {
        parked.replies[0].context().progress(i);
        expected.push_back(std::to_string(i));
      }
      if (random() % 3 == 0) site.process();
      if (random() % 4 == 0) {
        read(random() % 5);
        if (x->waiting()) x->go();
        if (random() % 2 == 0) site.process();
        x = &site.send(Site::get(session, last));
        ASSERT_EQ(x->status, 200) << "seed " << seed << " at " << i << ": " << x->body;
        taken = 0;
      }
    }
    site.process();
    read(1000);
    EXPECT_EQ(got, expected) << "seed " << seed;
    if (HasFailure()) return;
  }
}

TEST_F(Stateful, AStreamThatIsNotReadIsBrokenOffAndCanBeComeBackTo) {
  const std::string session = site.connect();
  FakeExchange& x = call(session, "1", "wait", "{}", with_token);
  x.stuck = true;
  const std::string line(1u << 20, 'x');
  const std::string primed = last_id(x);
  for (int i = 1; i <= 6; ++i) parked.replies[0].context().progress(i, {}, line);
  site.process();
  EXPECT_TRUE(x.aborted());
  EXPECT_LE(x.body.size(), 4 * Limits{}.output_queue_bytes + 2 * line.size());
  FakeExchange& y = site.send(Site::get(session, primed));
  EXPECT_EQ(y.messages().size(), 6u);
  parked.replies[0]("late");
  site.process();
  EXPECT_EQ(test::text_of(y.answer()), "late");
}

// Letting a stream go.

TEST(StatefulLetGo, AHandlerThatRunsLaterClosesTheStreamAndTheClientComesBack) {
  LaterExecutor later;
  SiteOptions options;
  options.server.executor = &later;
  options.endpoint.retry = 1234ms;
  Site site(std::move(options));
  site.server.tool("t", "", blocking([](Context& cx) {
                     cx.progress(1);
                     cx.close_stream();
                     cx.progress(2);
                     return "late";
                   }));
  const std::string session = site.connect();
  FakeExchange& x = site.send(Site::in(session, Site::tool_body("1", "t", "{}", with_token)));
  later.run();
  site.process();
  EXPECT_TRUE(x.ended());
  const auto events = x.events();
  ASSERT_GE(events.size(), 3u) << x.body;
  EXPECT_TRUE(std::ranges::any_of(events, [](const auto& e) { return e.retry == "1234"; }));
  EXPECT_EQ(x.messages().size(), 1u);
  EXPECT_EQ(site.web().open_exchanges(), 0u);
  FakeExchange& y = site.send(Site::get(session, last_id(x)));
  EXPECT_TRUE(y.ended());
  ASSERT_EQ(y.messages().size(), 2u) << y.body;
  EXPECT_EQ(test::text_of(y.answer()), "late");
}

TEST(StatefulLetGo, AHandlerThatRanAtOnceIsAnsweredAtOnce) {
  InlineExecutor now;
  SiteOptions options;
  options.server.executor = &now;
  Site site(std::move(options));
  site.server.tool("t", "", blocking([](Context& cx) {
                     cx.close_stream();
                     return "fast";
                   }));
  const std::string session = site.connect();
  FakeExchange& x = site.send(Site::in(session, Site::tool_body("1", "t")));
  site.process();
  EXPECT_FALSE(x.waiting());
  std::string text = x.body;
  if (!has(text, "fast")) {
    FakeExchange& y = site.send(Site::get(session, last_id(x)));
    text = y.body;
  }
  EXPECT_TRUE(has(text, "fast"));
  // The next request is not let go for it.
  FakeExchange& z = site.send(Site::in(session, Site::legacy_body("2", "ping")));
  EXPECT_EQ(outcome(z), "200 result 2");
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST(StatefulLetGo, AHandlerThatAnswersLaterClosesTheStreamFromInsideTheCall) {
  Site site;
  std::vector<Reply<std::string>> waiting;
  site.server.tool("t", "", [&](Reply<std::string> reply) {
    reply.context().close_stream();
    waiting.push_back(std::move(reply));
  });
  const std::string session = site.connect();
  FakeExchange& x = site.send(Site::in(session, Site::tool_body("1", "t")));
  site.process();
  EXPECT_TRUE(x.ended()) << x.body;
  const std::string id = last_id(x);
  ASSERT_NE(id, "");
  FakeExchange& y = site.send(Site::get(session, id));
  ASSERT_TRUE(y.streaming());
  waiting[0]("late");
  site.process();
  EXPECT_EQ(test::text_of(y.answer()), "late");
}

TEST(StatefulLetGo, ClientsThatDoNotKnowOfItKeepTheirConnection) {
  for (const char* revision : {"2025-03-26", "2025-06-18"}) {
    Site site;
    std::vector<Reply<std::string>> waiting;
    site.server.tool("t", "", [&](Reply<std::string> reply) {
      reply.context().close_stream();
      waiting.push_back(std::move(reply));
    });
    const std::string session = site.connect(revision);
    FakeExchange& x = site.send(Site::in(session, Site::tool_body("1", "t")));
    site.process();
    EXPECT_TRUE(x.waiting()) << revision << ": it takes the end for the end: " << x.body;
    for (const auto& event : x.events()) EXPECT_NE(event.data[0], "") << "cannot be parsed";
    waiting[0]("late");
    site.process();
    if (!x.waiting()) {
      EXPECT_EQ(test::text_of(x.answer()), "late");
    }
  }
}

// Time.

TEST_F(Stateful, KeepAliveCommentsGoToOpenStreams) {
  const std::string session = site.connect();
  FakeExchange& x = site.send(Site::get(session));
  FakeExchange& y = call(session, "1", "wait");
  const std::size_t before_x = x.pieces.size();
  const std::size_t before_y = y.pieces.size();
  for (int i = 0; i < 5; ++i) site.pass(Limits{}.sse_keep_alive);
  EXPECT_GE(x.pieces.size(), before_x + 4);
  EXPECT_GE(y.pieces.size(), before_y + 4);
  EXPECT_EQ(x.pieces.back(), ":\n\n");
  EXPECT_TRUE(x.messages().empty());
  y.go();
  x.go();
  for (int i = 0; i < 3; ++i) site.pass(Limits{}.sse_keep_alive);
}

TEST_F(Stateful, ASessionThatIsNotUsedIsForgotten) {
  const std::string session = site.connect();
  site.pass(Limits{}.session_idle - 1ms);
  EXPECT_EQ(outcome(call(session, "1", "echo", oslo)), "200 result 1");
  site.pass(Limits{}.session_idle - 1ms);
  EXPECT_EQ(outcome(call(session, "1", "echo", oslo)), "200 result 1");
  site.pass(Limits{}.session_idle);
  site.pass(1ms);
  EXPECT_EQ(site.web().sessions(), 0u);
  EXPECT_EQ(call(session, "1", "echo", oslo).status, 404);
  EXPECT_EQ(site.server.sessions(), 0u);
  EXPECT_FALSE(site.web().next_deadline());
}

TEST_F(Stateful, ASessionWithAnOpenStreamOrARunningRequestIsNotForgotten) {
  const std::string listening = site.connect();
  const std::string working = site.connect("2025-06-18");
  const std::string left = site.connect();
  FakeExchange& x = site.send(Site::get(listening));
  FakeExchange& y = call(working, "1", "wait");
  call(left, "1", "wait").go();
  for (int i = 0; i < 10; ++i) site.pass(Limits{}.session_idle);
  EXPECT_EQ(site.web().sessions(), 3u);
  EXPECT_TRUE(x.waiting());
  parked.replies[0]("late");
  parked.replies[1]("late");
  site.process();
  EXPECT_EQ(test::text_of(y.answer()), "late");
  x.go();
  site.pass(Limits{}.session_idle - 1ms);
  EXPECT_EQ(site.web().sessions(), 3u) << "the time runs from the end of the last use";
  for (int i = 0; i < 3; ++i) site.pass(Limits{}.session_idle);
  EXPECT_EQ(site.web().sessions(), 0u);
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Stateful, ManySessionsAreForgottenAtOnce) {
  for (int i = 0; i < 200; ++i) site.connect();
  ASSERT_EQ(site.web().sessions(), 200u);
  site.pass(Limits{}.session_idle);
  EXPECT_EQ(site.web().sessions(), 0u) << "all of them were due";
}

// Bounds.

TEST(StatefulLimits, Sessions) {
  SiteOptions options;
  options.server.limits.sessions = 2;
  Site site(std::move(options));
  const std::string first = site.connect();
  site.connect();
  FakeExchange& x = site.send(Site::post(Site::initialize_body("2025-11-25")));
  EXPECT_EQ(x.status, 503);
  EXPECT_NE(x.field("Retry-After"), "");
  EXPECT_EQ(x.field("Mcp-Session-Id"), "");
  EXPECT_EQ(x.answer()["error"]["code"].dump(), "-32603");
  EXPECT_EQ(site.web().sessions(), 2u);
  site.send(Site::remove(first));
  EXPECT_NE(site.connect(), "");
}

struct InFlight : testing::Test {
  static SiteOptions three() {
    SiteOptions options;
    options.server.limits.in_flight = 3;
    return options;
  }
  InFlight() : site(three()) {
    site.server.tool("wait", "", parked.handler());
    site.server.tool("asks", "", [](Context& cx) -> Result<std::string> {
      auto name = cx.elicit<Name>("who", "Who?");
      if (!name) return name.error();
      return "hello " + name->value().name;
    });
  }
  Parked parked;
  Site site;
};

TEST_F(InFlight, RequestsOfOneSession) {
  const std::string session = site.connect("2025-06-18");
  const std::string other = site.connect("2025-06-18");
  const auto wait = [&](const std::string& in, int id) -> FakeExchange& {
    return site.send(Site::in(in, Site::tool_body(std::to_string(id), "wait")));
  };
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(wait(session, i).waiting());
  FakeExchange& x = wait(session, 4);
  EXPECT_EQ(x.status, 429);
  EXPECT_NE(x.field("Retry-After"), "");
  EXPECT_EQ(x.answer()["error"]["code"].dump(), "-32603");
  EXPECT_TRUE(has(x.body, "busy"));
  EXPECT_TRUE(wait(other, 4).waiting());
  parked.replies[0]("done");
  site.process();
  EXPECT_TRUE(wait(session, 5).waiting());
}

TEST_F(InFlight, AnswersToTheServerAndTakingBackAreAlwaysLetIn) {
  // Else a session whose requests all wait for the client would wait forever.
  const std::string session = site.connect("2025-06-18");
  std::vector<FakeExchange*> asked;
  for (int i = 1; i <= 3; ++i) {
    asked.push_back(&site.send(Site::in(session, Site::tool_body(std::to_string(i), "asks"))));
  }
  FakeExchange& taken_back = site.send(
      Site::in(session, Site::legacy_body("", "notifications/cancelled", R"({"requestId":3})")));
  EXPECT_EQ(outcome(taken_back), "202");
  site.send(Site::in(session, Site::tool_body("4", "wait")));
  const json::Value question = asked[0]->answer();
  FakeExchange& x = site.send(
      Site::in(session, R"({"jsonrpc":"2.0","id":)" + question["id"].dump() +
                            R"(,"result":{"action":"accept","content":{"name":"Ada"}}})"));
  EXPECT_EQ(outcome(x), "202");
  site.process();
  EXPECT_EQ(test::text_of(asked[0]->answer()), "hello Ada") << asked[0]->body;
}

TEST(StatefulLimits, AnswersToTheServerAreLetInWhereTheProcessIsFull) {
  SiteOptions options;
  options.server.limits.process_in_flight = 2;
  Site site(std::move(options));
  site.server.tool("asks", "", [](Context& cx) -> Result<std::string> {
    auto name = cx.elicit<Name>("who", "Who?");
    if (!name) return name.error();
    return "hello " + name->value().name;
  });
  const std::string session = site.connect("2025-06-18");
  FakeExchange& a = site.send(Site::in(session, Site::tool_body("1", "asks")));
  FakeExchange& b = site.send(Site::in(session, Site::tool_body("2", "asks")));
  EXPECT_TRUE(b.waiting());
  FakeExchange& x = site.send(
      Site::in(session, R"({"jsonrpc":"2.0","id":)" + a.answer()["id"].dump() +
                            R"(,"result":{"action":"accept","content":{"name":"Ada"}}})"));
  EXPECT_EQ(outcome(x), "202") << "two requests wait for answers that are not let in";
}

// The end.

TEST_F(Stateful, DrainEndsStreamsAndStillSendsWhatHandlersAnswer) {
  const std::string session = site.connect();
  FakeExchange& stream = site.send(Site::get(session));
  FakeExchange& x = call(session, "1", "wait");
  const std::stop_token stop = parked.replies[0].cancelled();
  site.web().drain();
  EXPECT_TRUE(stream.ended());
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_TRUE(x.waiting());
  EXPECT_EQ(call(session, "2", "echo", oslo).status, 503);
  parked.replies[0]("finished");
  site.process();
  EXPECT_EQ(test::text_of(x.answer()), "finished");
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(Stateful, NoStreamIsBegunAfterDrain) {
  const std::string session = site.connect();
  site.web().drain();
  EXPECT_EQ(site.send(Site::get(session)).status, 503) << "a stream that nobody will end";
}

TEST_F(Stateful, TheHostIsToldWhenToCallNext) {
  EXPECT_FALSE(site.web().next_deadline());
  const std::string session = site.connect();
  EXPECT_GT(site.moved, 0);
  ASSERT_TRUE(site.web().next_deadline());
  EXPECT_EQ(*site.web().next_deadline(), site.clock.now() + Limits{}.session_idle);
  const int before = site.moved;
  site.send(Site::get(session));
  EXPECT_GT(site.moved, before);
  EXPECT_EQ(*site.web().next_deadline(), site.clock.now() + Limits{}.sse_keep_alive);
}

TEST_F(Stateful, AnEndpointThatIsDestroyedLeavesNobodyWaiting) {
  const std::string session = site.connect();
  FakeExchange& stream = site.send(Site::get(session));
  FakeExchange& x = call(session, "1", "wait");
  FakeExchange& y = call(site.connect("2025-06-18"), "1", "wait");
  site.endpoint.reset();
  EXPECT_FALSE(stream.waiting());
  EXPECT_FALSE(x.waiting());
  EXPECT_FALSE(y.waiting());
  parked.replies.clear();
  EXPECT_EQ(site.server.sessions(), 0u);
}

// Handlers that use the endpoint they are called by.

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

}  // namespace
}  // namespace godwit::inline v0
