// Requests that wait for an answer of the client, while their session moves to another server
// through the stores alone.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "godwit/mcp/memory_ledger.hpp"
#include "slow_stores.hpp"
#include "stateful.hpp"

namespace godwit::inline v0 {
namespace {

using Mode = Asked::Mode;

std::string last_id(const FakeExchange& x) {
  std::string id;
  for (const auto& event : x.events()) id = event.id.value_or(id);
  return id;
}

/// What the servers share, and nothing else.
struct Stores {
  std::shared_ptr<SlowEvents> events = std::make_shared<SlowEvents>();
  std::shared_ptr<SlowSessions> sessions = std::make_shared<SlowSessions>();
  std::shared_ptr<MemoryLedger> ledger = std::make_shared<MemoryLedger>();
};

struct Place final : Stateful {
  Place(const Stores& stores, std::string name, int& effects)
      : Stateful([&] {
          SiteOptions options;
          options.server.ledger = stores.ledger;
          options.endpoint.events = stores.events;
          options.endpoint.sessions = stores.sessions;
          options.endpoint.name = std::move(name);
          return options;
        }()) {
    site.server.tool("deploy", "", [&effects](City in, Context& cx) -> Result<std::string> {
      auto begun = cx.once("begin", [&] { return ++effects; });
      if (!begun) return begun.error();
      cx.progress(1);
      auto who = cx.elicit<Name>("who", "Who?");
      if (!who) return who.error();
      auto more = cx.elicit<Name>("more", "And who else?");
      if (!more) return more.error();
      return in.city + " for " + who->value().name + " and " + more->value().name;
    });
  }
  void TestBody() override {}
};

struct SessionMoves : testing::Test {
  Place& a() { return a_ ? *a_ : a_.emplace(stores, "a", effects); }
  Place& b() { return b_ ? *b_ : b_.emplace(stores, "b", effects); }

  Stores stores;
  int effects = 0;
  std::optional<Place> a_, b_;
};

TEST_F(SessionMoves, AWaitingElicitationGoesOnAtAnotherServer) {
  for (const std::string_view revision : {"2025-06-18", "2025-11-25"}) {
    SCOPED_TRACE(revision);
    a_.reset();
    b_.reset();
    effects = 0;
    const std::string session = a().site.connect(revision);
    FakeExchange& x = a().call(session, "7", "deploy", oslo, with_token);
    ASSERT_TRUE(x.streaming()) << x.body;
    const json::Value question = x.answer();
    ASSERT_EQ(question["method"].as_string(), "elicitation/create") << x.body;
    const std::string seen = last_id(x);
    a_.reset();

    // The answer comes to the other server, which has never seen the request.
    EXPECT_EQ(outcome(b().reply(session, question, test::accept(R"({"name":"Ada"})"))), "202");
    b().site.process();
    // The client comes back to the stream of its request.
    FakeExchange& y = b().site.send(Site::get(session, seen));
    ASSERT_EQ(y.messages().size(), 1u) << y.body << y.status;
    EXPECT_TRUE(y.streaming());
    const json::Value second = y.answer();
    EXPECT_EQ(second["params"]["message"].as_string(), "And who else?");
    EXPECT_NE(second["id"].dump(), question["id"].dump()) << "no id is used twice";
    EXPECT_EQ(outcome(b().reply(session, second, test::accept(R"({"name":"Bob"})"))), "202");
    b().site.process();
    EXPECT_TRUE(y.ended());
    EXPECT_EQ(y.answer()["id"].dump(), "7");
    EXPECT_EQ(test::text_of(y.answer()), "Oslo for Ada and Bob");
    EXPECT_EQ(effects, 1) << "what was done at the first server is not done again";
    // The numbers went on.
    const auto number = [](const std::string& id) {
      return std::stoi(id.substr(id.find('.') + 1));
    };
    EXPECT_EQ(last_id(y).substr(0, last_id(y).find('.')), seen.substr(0, seen.find('.')));
    EXPECT_EQ(number(last_id(y)), number(seen) + 2);
    EXPECT_EQ(b().site.web().open_exchanges(), 0u);
  }
}

TEST_F(SessionMoves, ItMayMoveTwiceAndBeAnsweredBeforeTheClientComesBack) {
  const std::string session = a().site.connect();
  FakeExchange& x = a().call(session, "1", "deploy", oslo);
  const json::Value question = x.answer();
  const std::string seen = last_id(x);
  a_.reset();
  EXPECT_EQ(outcome(b().reply(session, question, test::accept(R"({"name":"Ada"})"))), "202");
  b().site.process();
  b_.reset();
  FakeExchange& y = a().site.send(Site::get(session, seen));
  ASSERT_EQ(y.messages().size(), 1u) << y.body;
  EXPECT_EQ(outcome(a().reply(session, y.answer(), test::accept(R"({"name":"Bob"})"))), "202");
  a().site.process();
  EXPECT_EQ(test::text_of(y.answer()), "Oslo for Ada and Bob");
  EXPECT_EQ(effects, 1);
}

TEST_F(SessionMoves, ADrainedServerHandsOnWhatWaits) {
  const std::string session = a().site.connect();
  FakeExchange& x = a().call(session, "1", "deploy", oslo);
  const json::Value question = x.answer();
  const std::string seen = last_id(x);
  a().site.web().drain();
  EXPECT_TRUE(x.ended()) << "in order, so that the client comes back";
  EXPECT_EQ(outcome(b().reply(session, question, test::accept(R"({"name":"Ada"})"))), "202");
  b().site.process();
  FakeExchange& y = b().site.send(Site::get(session, seen));
  ASSERT_EQ(y.messages().size(), 1u) << y.body << y.status;
  EXPECT_EQ(y.answer()["params"]["message"].as_string(), "And who else?");
}

TEST_F(SessionMoves, AQuestionIsAskedWhenItIsSavedThatItWas) {
  const std::string session = a().site.connect();
  stores.sessions->set("save", Mode::later);
  FakeExchange& x = a().call(session, "1", "deploy", oslo);
  EXPECT_TRUE(x.messages().empty()) << "nothing is told that was not kept";
  // Others do not notice.
  stores.sessions->set("save", Mode::now);
  const std::string other = a().site.connect();
  EXPECT_EQ(a().call(other, "1", "echo", oslo).status, 200);
  EXPECT_TRUE(x.messages().empty());
  stores.sessions->answer();
  a().site.process();
  ASSERT_TRUE(x.streaming());
  EXPECT_EQ(x.answer()["method"].as_string(), "elicitation/create");
}

TEST_F(SessionMoves, AQuestionThatCannotBeSavedFailsTheCallAndIsNotAsked) {
  const std::string session = a().site.connect();
  stores.sessions->set("save", Mode::fail);
  FakeExchange& x = a().call(session, "1", "deploy", oslo);
  stores.sessions->set("save", Mode::now);
  a().site.process();  // the handler runs again
  a().site.process();  // and has answered
  ASSERT_EQ(x.messages().size(), 1u) << x.body;
  EXPECT_TRUE(test::has(test::text_of(x.answer()), "could not be saved")) << x.body;
  EXPECT_EQ(a().call(session, "2", "echo", oslo).status, 200);
}

TEST_F(SessionMoves, ASlowStoreHoldsUpOnlyTheRequestThatMoved) {
  const std::string session = a().site.connect();
  FakeExchange& x = a().call(session, "1", "deploy", oslo);
  const json::Value question = x.answer();
  const std::string seen = last_id(x);
  a_.reset();
  stores.events->set("read", Mode::later);
  EXPECT_EQ(outcome(b().reply(session, question, test::accept(R"({"name":"Ada"})"))), "202");
  EXPECT_EQ(test::text_of(b().call(session, "2", "echo", oslo).answer()), "Oslo");
  EXPECT_EQ(b().site.send(Site::get(session, seen)).status, 503) << "not yet";
  stores.events->set("read", Mode::now);
  stores.events->answer();
  b().site.process();
  FakeExchange& y = b().site.send(Site::get(session, seen));
  ASSERT_EQ(y.messages().size(), 1u) << y.body << y.status;
  EXPECT_EQ(y.answer()["params"]["message"].as_string(), "And who else?");
}

}  // namespace
}  // namespace godwit::inline v0
