// The streams of a session: those of its requests, and the one for what belongs to no request.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stateful.hpp"

namespace godwit::inline v0 {
namespace {

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

// Nobody waits for ever for an answer whose beginning could not be sent.
TEST_F(Stateful, AStreamThatCannotBeginIsBrokenOff) {
  const std::string session = site.connect();
  FakeRequest requests[] = {
      Site::in(session, Site::tool_body("1", "steps", "{}", with_token)),
      Site::modern_tool("1", "steps", "{}", with_token),
  };
  for (FakeRequest& request : requests) {
    FakeExchange exchange;
    exchange.fails_to_begin = true;
    site.web().on_request(request.get(), exchange);
    EXPECT_TRUE(exchange.aborted());
  }
  EXPECT_EQ(site.web().open_exchanges(), 0u);
  EXPECT_EQ(call(session, "2", "steps", "{}", with_token).messages().size(), 2u);
}

}  // namespace
}  // namespace godwit::inline v0
