#include <gtest/gtest.h>

#include "rig.hpp"

using namespace std::chrono_literals;
using godwit::ClientOptions;
using godwit::Error;
using godwit::Lifecycle;
using godwit::Result;
using godwit::revisions;
using godwit::Verdict;
using godwit::json::Value;
using godwit::test::everything;
using godwit::test::newest;
using godwit::test::newest_stateful;
using godwit::test::Outcome;
using godwit::test::Rig;

namespace {

std::string supported(const std::string& revision) {
  return R"({"supported":[")" + revision + R"("],"requested":"x"})";
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

}  // namespace

TEST(Lifecycle, AServerThatAnswersTheProbeIsStateless) {
  Rig rig;
  rig.start();
  const Value probe = rig.next("server/discover");
  const Value& meta = probe["params"]["_meta"];
  EXPECT_EQ(meta["io.modelcontextprotocol/protocolVersion"].as_string(), newest());
  EXPECT_TRUE(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
  EXPECT_EQ(meta["io.modelcontextprotocol/clientInfo"]["name"].as_string(), "godwit");
  EXPECT_FALSE(rig.session().ready());
  rig.answer(probe, Rig::discover_result(R"({"tools":{}})", R"(,"instructions":"be kind")"));
  ASSERT_TRUE(rig.started && *rig.started);
  EXPECT_TRUE(rig.session().ready());
  EXPECT_TRUE(rig.silent());
  EXPECT_EQ(rig.session().server_info().name, "mock");
  EXPECT_EQ(rig.session().instructions(), "be kind");
  EXPECT_TRUE(rig.session().server_capabilities().tools);
  EXPECT_FALSE(rig.session().server_capabilities().prompts);
  EXPECT_EQ(rig.session().supported_revisions(), std::vector<std::string>{newest()});
  EXPECT_TRUE(rig.session().verdict().stateless);
}

TEST(Lifecycle, AnyOtherErrorLeadsToTheHandshakeOnTheSameConnection) {
  for (const int code : {-32601, -32602, -32600, -32603, -32000, 7}) {
    Rig rig;
    rig.start();
    rig.refuse(rig.next("server/discover"), code, "what?");
    const Value hello = rig.next("initialize");
    EXPECT_EQ(hello["params"]["protocolVersion"].as_string(), newest_stateful());
    EXPECT_FALSE(hello["params"].contains("_meta"));
    EXPECT_FALSE(rig.started);
    rig.answer(hello, Rig::initialize_result(newest_stateful()));
    rig.next("notifications/initialized");
    ASSERT_TRUE(rig.started && *rig.started) << code;
    EXPECT_EQ(rig.session().revision(), newest_stateful());
    EXPECT_FALSE(rig.session().verdict().stateless);
    EXPECT_TRUE(rig.silent());
  }
}

TEST(Lifecycle, NoAnswerInTimeLeadsToTheHandshakeAndALateOneIsDropped) {
  Rig rig;
  rig.start();
  const Value probe = rig.next("server/discover");
  rig.pass(4999ms);
  EXPECT_TRUE(rig.silent());
  rig.pass(1ms);
  const Value hello = rig.next("initialize");
  EXPECT_TRUE(rig.silent());  // and no cancellation, which an old server might choke on
  rig.answer(probe, Rig::discover_result());
  EXPECT_FALSE(rig.started);
  rig.answer(hello, Rig::initialize_result(newest_stateful()));
  rig.next("notifications/initialized");
  ASSERT_TRUE(rig.started && *rig.started);
  EXPECT_EQ(rig.session().revision(), newest_stateful());
  rig.answer(probe, Rig::discover_result());
  EXPECT_EQ(rig.session().revision(), newest_stateful());
}

TEST(Lifecycle, EveryRevisionOfTheHandshakeIsAccepted) {
  for (const std::string_view revision : revisions().subspan(1)) {
    const auto rig = Rig::stateful({}, everything, std::string(revision));
    Outcome<void> pong;
    rig->session().ping(pong.taker());
    rig->answer(rig->next("ping"), "{}");
    EXPECT_TRUE(pong.good()) << revision;
  }
}

TEST(Lifecycle, BatchesOnlyWhereTheRevisionHasThem) {
  for (const std::string_view revision : revisions().subspan(1)) {
    const auto rig = Rig::stateful({}, everything, std::string(revision));
    rig->check_schema = false;
    rig->peer->receive(R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])");
    const std::string answer = rig->sent.empty() ? "" : rig->sent.back();
    EXPECT_EQ(answer.starts_with('['), revision == revisions()[3]) << revision << answer;
  }
}

TEST(Lifecycle, AVersionErrorIsAnsweredFromWhatTheServerOffers) {
  Rig rig;
  rig.start();
  rig.refuse(rig.next("server/discover"), -32022, "no", supported(newest()));
  const Value again = rig.next("server/discover");  // with the same one
  rig.answer(again, Rig::discover_result());
  ASSERT_TRUE(rig.started && *rig.started);
  EXPECT_EQ(rig.session().revision(), newest());
}

TEST(Lifecycle, AVersionErrorIsNotRetriedForever) {
  Rig rig;
  rig.start();
  for (int i = 0; i < 3; ++i) {
    rig.refuse(rig.next("server/discover"), -32022, "no", supported(newest()));
  }
  ASSERT_TRUE(rig.started);
  EXPECT_FALSE(*rig.started);
  EXPECT_TRUE(contains(rig.started->error().message, "again and again"));
  EXPECT_TRUE(rig.silent());
}

TEST(Lifecycle, AVersionErrorMayOfferAHandshake) {
  Rig rig;
  rig.start();
  rig.refuse(rig.next("server/discover"), -32022, "no", supported(newest_stateful()));
  rig.answer(rig.next("initialize"), Rig::initialize_result(newest_stateful()));
  rig.next("notifications/initialized");
  EXPECT_TRUE(rig.started && *rig.started);
}

TEST(Lifecycle, NoRevisionInCommonIsSaidWithBothLists) {
  Rig rig;
  rig.start();
  rig.refuse(rig.next("server/discover"), -32022, "no", supported("2031-01-01"));
  ASSERT_TRUE(rig.started && !*rig.started);
  const std::string why = rig.started->error().message;
  EXPECT_TRUE(contains(why, "2031-01-01") && contains(why, newest())) << why;
  EXPECT_TRUE(rig.silent());
}

TEST(Lifecycle, OtherErrorsOfTheStatelessEraAreNoReasonForAHandshake) {
  for (const int code : {-32021, -32020}) {
    Rig rig;
    rig.start();
    rig.refuse(rig.next("server/discover"), code, "needs sampling",
               R"({"requiredCapabilities":{"sampling":{}}})");
    ASSERT_TRUE(rig.started && !*rig.started);
    EXPECT_TRUE(contains(rig.started->error().message, "needs sampling"));
    EXPECT_EQ(rig.started->error().code, code);
    EXPECT_TRUE(rig.silent());
  }
}

TEST(Lifecycle, TheErasCanBeChosen) {
  Rig stateless({.lifecycle = Lifecycle::stateless});
  stateless.start();
  const Value probe = stateless.next("server/discover");
  stateless.pass(10s);  // longer than a probe may take
  EXPECT_FALSE(stateless.started);
  stateless.refuse(probe, -32601, "what?");
  ASSERT_TRUE(stateless.started && !*stateless.started);
  EXPECT_TRUE(contains(stateless.started->error().message, newest()));
  EXPECT_TRUE(stateless.silent());

  Rig stateful({.lifecycle = Lifecycle::stateful});
  stateful.start();
  stateful.next("initialize");
}

TEST(Lifecycle, ARevisionThatNobodySpeaksIsAnActionableError) {
  Rig rig({.lifecycle = Lifecycle::stateful});
  rig.start();
  rig.answer(rig.next("initialize"), Rig::initialize_result("1999-01-01"));
  ASSERT_TRUE(rig.started && !*rig.started);
  const std::string why = rig.started->error().message;
  EXPECT_TRUE(contains(why, "1999-01-01") && contains(why, newest_stateful())) << why;
  EXPECT_TRUE(rig.silent());
  Outcome<void> pong;
  rig.session().ping(pong.taker());
  EXPECT_TRUE(contains(pong.message(), "1999-01-01")) << pong.message();
}

TEST(Lifecycle, HostileAnswersToTheProbe) {
  const std::string answers[] = {"{}", R"({"supportedVersions":7})",
                                 R"({"supportedVersions":[],"capabilities":[]})",
                                 R"({"supportedVersions":[1],"capabilities":{}})",
                                 R"({"supportedVersions":["x"],"capabilities":{"tools":true}})"};
  for (const std::string& answer : answers) {
    Rig rig;
    rig.start();
    rig.answer(rig.next("server/discover"), answer);
    const Value hello = rig.next("initialize");
    rig.refuse(hello, -32601, "no such method");
    ASSERT_TRUE(rig.started && !*rig.started) << answer;
    EXPECT_TRUE(contains(rig.started->error().message, "neither")) << rig.started->error().message;
  }
  Rig rig;
  rig.start();
  rig.peer->receive(R"({"jsonrpc":"2.0","id":)" + rig.next()["id"].dump() + R"(,"result":[1]})");
  rig.next("initialize");
}

TEST(Lifecycle, HostileAnswersToTheHandshake) {
  const std::string answers[] = {"{}", R"({"protocolVersion":7})",
                                 R"({"protocolVersion":")" + newest_stateful() + R"("})",
                                 R"({"protocolVersion":")" + newest_stateful() +
                                     R"(","capabilities":{"tools":[]},"serverInfo":{}})"};
  for (const std::string& answer : answers) {
    Rig rig({.lifecycle = Lifecycle::stateful});
    rig.start();
    rig.answer(rig.next("initialize"), answer);
    ASSERT_TRUE(rig.started && !*rig.started) << answer;
    EXPECT_TRUE(rig.silent());
  }
  // Who the server is matters to nobody but people.
  Rig rig({.lifecycle = Lifecycle::stateful});
  rig.start();
  rig.answer(rig.next("initialize"), R"({"protocolVersion":")" + newest_stateful() +
                                         R"(","capabilities":{},"serverInfo":{"name":7}})");
  EXPECT_TRUE(rig.started && *rig.started);
}

TEST(Lifecycle, TheServerInfoMayBeWhereDraftsHadIt) {
  Rig rig;
  rig.start();
  rig.answer(rig.next("server/discover"), R"({"supportedVersions":[")" + newest() +
                                              R"("],"capabilities":{},"serverInfo":{"name":"old",)"
                                              R"("version":"2"}})");
  ASSERT_TRUE(rig.started && *rig.started);
  EXPECT_EQ(rig.session().server_info().name, "old");
}

TEST(Lifecycle, AVerdictSavesTheProbe) {
  const auto first = Rig::stateless();
  const Verdict verdict = first->session().verdict();
  Rig second({.verdict = verdict});
  second.start();
  ASSERT_TRUE(second.started && *second.started);
  EXPECT_TRUE(second.silent());
  EXPECT_EQ(second.session().server_info().name, "mock");
  EXPECT_TRUE(second.session().server_capabilities().tools);

  const auto old = Rig::stateful({}, everything, std::string(revisions()[2]));
  Rig third({.verdict = old->session().verdict()});
  third.start();
  EXPECT_EQ(third.next("initialize")["params"]["protocolVersion"].as_string(), revisions()[2]);
}

TEST(Lifecycle, ADeadPeerEndsIt) {
  Rig rig;
  rig.start();
  rig.next("server/discover");
  rig.peer->on_close(godwit::error("the program exited with 3"));
  ASSERT_TRUE(rig.started && !*rig.started);
  EXPECT_TRUE(contains(rig.started->error().message, "exited with 3"));
  Outcome<void> pong;
  rig.session().ping(pong.taker());
  EXPECT_TRUE(contains(pong.message(), "exited with 3")) << pong.message();

  Rig closed;
  closed.peer->close();
  closed.start();
  EXPECT_TRUE(closed.started && !*closed.started);
}

TEST(Lifecycle, ASilentServerEndsTheStartInTime) {
  for (const Lifecycle lifecycle :
       {Lifecycle::automatic, Lifecycle::stateful, Lifecycle::stateless}) {
    Rig rig({.lifecycle = lifecycle});
    rig.start();
    rig.pass(5s);  // what a probe may take
    rig.pass(54s);
    EXPECT_FALSE(rig.started);
    rig.pass(1s);
    ASSERT_TRUE(rig.started && !*rig.started);
    const Error& error = rig.started->error();
    EXPECT_TRUE(is_timeout(error) && contains(error.message, "within 60 s")) << error.message;
  }
  ClientOptions options;
  options.lifecycle = Lifecycle::stateful;
  options.start_timeout = 3s;
  Rig rig(options);
  rig.start();
  rig.pass(3s);
  EXPECT_TRUE(rig.started && !*rig.started);
}

TEST(Lifecycle, AServerThatIsReadyIsNotTimedAnyMore) {
  const auto rig = Rig::stateful();
  rig->pass(100s);
  EXPECT_TRUE(rig->session().ready());
}

TEST(Lifecycle, WhatIsNoMessageShortensTheStartAndIsQuoted) {
  Rig rig;
  rig.check_schema = false;  // the answers to what cannot be read
  rig.start();
  rig.pass(2s);
  rig.peer->receive("Usage: server [options]\x1b[31m\r");
  rig.peer->receive(R"({"level":"info","msg":"hello"})");
  for (int i = 0; i < 10; ++i) rig.peer->receive(std::string(5'000, 'x'));
  rig.pass(5s);
  rig.pass(4s);
  EXPECT_FALSE(rig.started);
  rig.pass(1s);
  ASSERT_TRUE(rig.started && !*rig.started);
  const std::string why = rig.started->error().message;
  EXPECT_TRUE(is_timeout(rig.started->error()));
  EXPECT_TRUE(contains(why, "within 10 s")) << why;
  EXPECT_TRUE(contains(why, "Usage: server [options]")) << why;
  EXPECT_TRUE(contains(why, "hello")) << why;
  EXPECT_FALSE(contains(why, "\x1b")) << why;
  EXPECT_LT(why.size(), 1'500u);
}

TEST(Lifecycle, ABannerBeforeTheProtocolDoesNoHarm) {
  Rig rig;
  rig.start();
  const Value probe = rig.next("server/discover");
  rig.check_schema = false;
  rig.peer->receive("Welcome!");
  rig.next();  // that it cannot be read
  rig.check_schema = true;
  rig.answer(probe, Rig::discover_result());
  ASSERT_TRUE(rig.started && *rig.started);
  rig.pass(100s);
  EXPECT_TRUE(rig.session().ready());
}

TEST(Lifecycle, KnowsWhetherTheConnectionEndedAtTheProbe) {
  Rig at_once;
  at_once.start();
  EXPECT_FALSE(at_once.session().ended_at_probe());
  at_once.peer->on_close(godwit::error("it exited with 1"));
  EXPECT_TRUE(at_once.session().ended_at_probe());

  Rig late;  // a program that starts slowly reads the question after we gave it up
  late.start();
  late.pass(5s);
  late.peer->on_close(godwit::error("it exited with 1"));
  EXPECT_TRUE(late.session().ended_at_probe());

  Rig answered;
  answered.start();
  answered.refuse(answered.next("server/discover"), -32601, "what?");
  answered.peer->on_close(godwit::error("it exited with 1"));
  EXPECT_FALSE(answered.session().ended_at_probe());

  Rig stateful({.lifecycle = Lifecycle::stateful});
  stateful.start();
  stateful.peer->on_close(godwit::error("it exited with 1"));
  EXPECT_FALSE(stateful.session().ended_at_probe());
}

TEST(Lifecycle, AServerThatSaysTooMuchAboutItselfIsNotKept) {
  const std::string words = R"(,"instructions":")" + std::string(300'000, 'x') + '"';
  Rig stateless;
  stateless.start();
  stateless.answer(stateless.next("server/discover"), Rig::discover_result("{}", words));
  ASSERT_TRUE(stateless.started && !*stateless.started);
  EXPECT_TRUE(contains(stateless.started->error().message, "session_bytes"));

  Rig stateful({.lifecycle = Lifecycle::stateful});
  stateful.start();
  stateful.answer(stateful.next("initialize"), R"({"protocolVersion":")" + newest_stateful() +
                                                   R"(","capabilities":{})" + words +
                                                   R"(,"serverInfo":{"name":"a","version":"1"}})");
  ASSERT_TRUE(stateful.started && !*stateful.started);
  EXPECT_TRUE(contains(stateful.started->error().message, "session_bytes"));

  const auto later = Rig::stateless();
  Outcome<Verdict> verdict;
  later->session().discover(verdict.taker());
  later->answer(later->next("server/discover"), Rig::discover_result("{}", words));
  EXPECT_TRUE(contains(verdict.message(), "session_bytes")) << verdict.message();
  EXPECT_EQ(later->session().instructions(), "");
}

TEST(Lifecycle, OnlyOnce) {
  const auto rig = Rig::stateless();
  Outcome<void> second;
  rig->session().start(*rig->peer, second.taker());
  EXPECT_TRUE(contains(second.message(), "started before"));
}

TEST(Lifecycle, DestroyingTheSessionEndsTheStart) {
  Rig rig;
  rig.start();
  rig.next("server/discover");
  rig.destroy_session();
  EXPECT_TRUE(rig.started && !*rig.started);
}

TEST(Lifecycle, NothingIsSentBeforeItIsReady) {
  Rig rig;
  Outcome<void> pong;
  rig.session().ping(pong.taker());
  EXPECT_TRUE(contains(pong.message(), "not started")) << pong.message();
  EXPECT_TRUE(rig.silent());
  EXPECT_FALSE(rig.session().notify("x"));
}

TEST(Lifecycle, PingIsAnsweredEvenBeforeTheHandshakeIsDone) {
  Rig rig({.lifecycle = Lifecycle::stateful, .roots = std::vector<godwit::Root>{}});
  rig.start();
  rig.next("initialize");
  rig.ask("5", "ping", "{}");
  EXPECT_EQ(rig.next()["result"].dump(), "{}");
  rig.ask("6", "roots/list", "{}");
  EXPECT_EQ(rig.next()["error"]["code"].as_int64(), -32600);
}

TEST(Lifecycle, CapabilitiesFollowFromTheCallbacks) {
  ClientOptions options;
  options.elicit = [](const godwit::ElicitRequest&) { return godwit::ElicitResult{}; };
  options.elicit_urls = true;
  options.sample = [](const godwit::SamplingRequest&) -> Result<godwit::SamplingResult> {
    return godwit::error("no");
  };
  options.sample_tools = true;
  options.roots.emplace();
  options.lifecycle = Lifecycle::stateful;
  Rig rig(options);
  rig.start();
  EXPECT_EQ(rig.next("initialize")["params"]["capabilities"],
            *godwit::json::parse(R"({"roots":{"listChanged":true},"sampling":{"tools":{}},)"
                                 R"("elicitation":{"form":{},"url":{}}})"));
  const auto plain = Rig::stateful();
  EXPECT_EQ(plain->session().client_capabilities(), godwit::ClientCapabilities{});
}
