#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "godwit/rpc/peer.hpp"
#include "rpc_station.hpp"

namespace godwit::inline v0::rpc {
namespace {

using namespace std::chrono_literals;
using test::error_of;
using test::Station;

using Lines = std::vector<std::string>;

std::string request(int id, std::string_view method) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":)" + json::quote(method) +
         "}";
}
std::string notification(std::string_view method) {
  return R"({"jsonrpc":"2.0","method":)" + json::quote(method) + "}";
}

/// Writes down what it sees.
Middleware recorder(Lines& lines, std::string name) {
  return {.before = [&lines, name](Context& cx) -> Result<void> {
            lines.push_back(name + " before " + std::string(cx.method()));
            return {};
          },
          .after =
              [&lines, name](Outcome& outcome) {
                std::string line = name + " after " + std::string(outcome.method());
                if (outcome.is_notification()) line += " note";
                if (outcome.error()) line += " " + std::to_string(outcome.error()->code);
                if (!outcome.result().empty()) line += " " + std::string(outcome.result());
                lines.push_back(line);
              }};
}

struct Fixture {
  Fixture() {
    router->on("plain", [] { return 5; });
    router->on("void", [] {});
    router->on("fail", []() -> Result<int> { return application_error(7, "seven"); });
    router->on("params", [](int) { return 1; });
    router->on("throw", []() -> int { throw std::runtime_error("x"); });
    router->on("later", [this](Reply<int> reply) { replies.push_back(std::move(reply)); });
  }
  std::shared_ptr<Router> router = std::make_shared<Router>();
  std::vector<Reply<int>> replies;
  Lines lines;
};

TEST(Middleware, TheFirstIsTheOutermost) {
  Fixture f;
  f.router->use(recorder(f.lines, "outer")).use(recorder(f.lines, "inner"));
  f.router->use({});  // neither before nor after
  Station station(f.router);
  EXPECT_EQ(station.receive(request(1, "plain")), R"({"jsonrpc":"2.0","id":1,"result":5})");
  EXPECT_EQ(f.lines, (Lines{"outer before plain", "inner before plain", "inner after plain 5",
                            "outer after plain 5"}));
}

TEST(Middleware, SeesEveryKindOfOutcome) {
  Fixture f;
  f.router->use(recorder(f.lines, "m"));
  Station station(f.router);
  for (const char* method : {"void", "fail", "params", "throw"})
    station.receive(request(1, method));
  EXPECT_EQ(f.lines, (Lines{"m before void", "m after void null", "m before fail", "m after fail 7",
                            "m before params", "m after params -32602", "m before throw",
                            "m after throw -32603"}));
  f.lines.clear();
  for (const char* method : {"plain", "void", "fail", "throw"}) {
    EXPECT_EQ(station.receive(notification(method)), "");
  }
  EXPECT_EQ(f.lines, (Lines{"m before plain", "m after plain note", "m before void",
                            "m after void note", "m before fail", "m after fail note 7",
                            "m before throw", "m after throw note -32603"}));
  f.lines.clear();
  station.receive(request(1, "none"));  // nothing handles it
  station.receive("{");
  EXPECT_TRUE(f.lines.empty());
}

TEST(Middleware, CoversLateAnswers) {
  Fixture f;
  f.router->use(recorder(f.lines, "m"));
  Station station(f.router);
  station.receive(request(1, "later"));
  station.receive(notification("later"));
  EXPECT_EQ(f.lines, (Lines{"m before later", "m before later"}));
  f.replies.at(1)(8);
  f.replies.at(0)(7);
  station.peer->process();
  EXPECT_EQ(station.all_sent(), R"({"jsonrpc":"2.0","id":1,"result":7})");
  EXPECT_EQ(f.lines,
            (Lines{"m before later", "m before later", "m after later note", "m after later 7"}));
}

TEST(Middleware, IsToldExactlyOnceHoweverACallEnds) {
  Fixture f;
  f.router->use(recorder(f.lines, "m"));
  Station station(f.router, {.limits = {.in_flight = 3}});
  for (int id = 1; id <= 4; ++id) station.receive(request(id, "later"));
  EXPECT_EQ(f.lines.back(), "m after later -32000");  // busy
  f.lines.clear();
  station.peer->cancel_incoming(Id(1));
  EXPECT_EQ(f.lines, Lines{"m after later -32002"});
  f.replies.at(1)(1);
  station.peer->process();
  EXPECT_EQ(f.lines.back(), "m after later 1");
  station.sent.clear();
  station.peer->close();
  EXPECT_EQ(f.lines, (Lines{"m after later -32002", "m after later 1", "m after later -32000"}));
  EXPECT_TRUE(station.sent.empty());
}

TEST(Middleware, MayStopACall) {
  Fixture f;
  f.router->use(recorder(f.lines, "outer"));
  f.router->use({.before = [](Context& cx) -> Result<void> {
                   if (cx.method() == "plain") return server_error(ServerErrorCode(-32010), "no");
                   return {};
                 },
                 .after = [&](Outcome&) { f.lines.push_back("guard after"); }});
  f.router->use(recorder(f.lines, "inner"));
  Station station(f.router);
  EXPECT_EQ(error_of(station.receive(request(1, "plain"))), "-32010 1");
  EXPECT_EQ(f.lines, (Lines{"outer before plain", "outer after plain -32010"}));
  EXPECT_EQ(station.receive(notification("plain")), "");
  f.lines.clear();
  station.receive(request(1, "void"));
  EXPECT_EQ(f.lines, (Lines{"outer before void", "inner before void", "inner after void null",
                            "guard after", "outer after void null"}));
}

TEST(Middleware, MayChangeTheOutcome) {
  Fixture f;
  f.router->use({.after = [](Outcome& outcome) {
    if (outcome.error()) {
      outcome.set_result(R"({"failed":)" + std::to_string(outcome.error()->code) + "}");
    } else {
      outcome.set_error(application_error(99, "was " + std::string(outcome.result())));
    }
  }});
  Station station(f.router);
  EXPECT_EQ(station.receive(request(1, "fail")),
            R"({"jsonrpc":"2.0","id":1,"result":{"failed":7}})");
  EXPECT_EQ(station.receive(request(1, "plain")),
            R"({"jsonrpc":"2.0","id":1,"error":{"code":99,"message":"was 5"}})");
  EXPECT_EQ(station.receive("[" + request(1, "plain") + "]"),
            R"([{"jsonrpc":"2.0","id":1,"error":{"code":99,"message":"was 5"}}])");
  station.receive(request(1, "later"));
  f.replies.at(0)(3);
  station.peer->process();
  EXPECT_EQ(station.sent.back(),
            R"({"jsonrpc":"2.0","id":1,"error":{"code":99,"message":"was 3"}})");
}

TEST(Middleware, CannotBreakTheRulesOfTheProtocol) {
  auto router = std::make_shared<Router>();
  router->on("m", [] { return json::Value(json::Object{}); });
  router->use({.after = [](Outcome& outcome) { outcome.set_result("5"); }});
  Station station(router, {.rules = {.object_result = true}});
  EXPECT_EQ(error_of(station.receive(request(1, "m"))), "-32603 1");
}

TEST(Middleware, ThatThrowsFailsTheCallAndNothingElse) {
  Fixture f;
  bool before = false;
  bool after = false;
  f.router->use(recorder(f.lines, "outer"));
  f.router->use({.before = [&](Context&) -> Result<void> {
                   if (before) throw std::runtime_error("secret");
                   return {};
                 },
                 .after =
                     [&](Outcome&) {
                       if (after) throw std::runtime_error("secret");
                     }});
  Station station(f.router);
  before = true;
  EXPECT_EQ(error_of(station.receive(request(1, "plain"))), "-32603 1");
  before = false;
  // What it wanted to hide or to refuse is not known, so the result does not get out.
  after = true;
  for (const char* method : {"plain", "later"}) {
    station.receive(request(1, method));
    if (!f.replies.empty()) f.replies.at(0)(1);
    station.peer->process();
    EXPECT_EQ(error_of(station.all_sent()), "-32603 1");
    EXPECT_EQ(station.all_sent().find("secret"), std::string::npos);
  }
  EXPECT_TRUE(station.logged("middleware after \"plain\" threw: secret"));
  after = false;
  EXPECT_EQ(station.receive(request(1, "plain")), R"({"jsonrpc":"2.0","id":1,"result":5})");
  EXPECT_EQ(f.lines[1], "outer after plain -32603");
  EXPECT_EQ(f.lines[3], "outer after plain -32603");
}

TEST(Middleware, KnowsHowLongACallTook) {
  Fixture f;
  std::vector<Duration> took;
  f.router->use({.after = [&](Outcome& outcome) { took.push_back(outcome.took()); }});
  Station station(f.router);
  f.router->on("work", [&] { station.clock.advance(30ms); });
  station.receive(request(1, "work"));
  station.receive(notification("work"));
  station.receive(request(2, "later"));
  station.clock.advance(5s);
  f.replies.at(0)(1);
  station.peer->process();
  EXPECT_EQ(took, (std::vector<Duration>{30ms, 30ms, 5s}));
}

TEST(Middleware, MaySpeakToThePeer) {
  Fixture f;
  f.router->use({.before = [](Context& cx) -> Result<void> {
    cx.notify("begin", json::Array{});
    return {};
  }});
  Station station(f.router);
  f.router->use({.after = [&](Outcome&) { station.peer->notify("end"); }});
  station.receive(request(1, "plain"));
  EXPECT_EQ(station.sent, (Lines{R"({"jsonrpc":"2.0","method":"begin","params":[]})",
                                 R"({"jsonrpc":"2.0","method":"end"})",
                                 R"({"jsonrpc":"2.0","id":1,"result":5})"}));
}

/// Counts those that there are.
struct Tracked {
  static inline int alive = 0;
  Tracked() { ++alive; }
  Tracked(Tracked&& other) noexcept : text(std::move(other.text)) { ++alive; }
  ~Tracked() { --alive; }
  std::string text{};
};

/// Writes into its state before, and reads it after.
template <class State>
MiddlewareWith<State> keeper(Lines& lines, std::string name) {
  return {.before = [name](IncomingCall& call, State& state) -> Verdict {
            state.text = name + " of " + (call.id() ? call.id()->text() : std::string("none")) +
                         ", kept between the two";
            return {};
          },
          .after = [&lines](Outcome&, State& state) { lines.push_back(state.text); }};
}

TEST(Middleware, KeepsAStateForEachCall) {
  Fixture f;
  struct Large : Tracked {
    char bytes[500]{};
  };
  for (const bool large : {false, true}) {
    f.router->use(keeper<Tracked>(f.lines, "a")).use(recorder(f.lines, "m"));
    if (large) f.router->use(keeper<Large>(f.lines, "large"));
    f.router->use(keeper<Tracked>(f.lines, "b"));
    Station station(f.router);
    station.receive(request(1, "later"));
    station.receive(request(2, "plain"));
    f.lines.clear();
    f.replies.back()(3);
    station.peer->process();
    Lines expected = {"b of 1, kept between the two", "m after later 3",
                      "a of 1, kept between the two"};
    if (large) {
      expected.insert(expected.begin() + 1, "large of 1, kept between the two");
      expected.insert(expected.end(), {"b of 1, kept between the two", "m after later 3",
                                       "a of 1, kept between the two"});
    }
    EXPECT_EQ(f.lines, expected);
    EXPECT_EQ(Tracked::alive, 0);
    station.receive(request(3, "later"));
    station.peer->close();
    EXPECT_EQ(Tracked::alive, 0);
  }
}

TEST(Middleware, AStateGoesWithTheCallThatIsStopped) {
  Fixture f;
  f.router->use(keeper<Tracked>(f.lines, "a"));
  bool throws = false;
  f.router->use<Tracked>({.before = [&](IncomingCall&, Tracked&) -> Verdict {
                            if (throws) throw std::runtime_error("x");
                            return application_error(1, "no");
                          },
                          .after = [&](Outcome&, Tracked&) { f.lines.emplace_back("wrong"); }});
  Station station(f.router);
  station.receive(request(1, "plain"));
  throws = true;
  EXPECT_EQ(error_of(station.receive(request(2, "plain"))), "-32603 2");
  EXPECT_EQ(f.lines, (Lines{"a of 1, kept between the two", "a of 2, kept between the two"}));
  EXPECT_EQ(Tracked::alive, 0);
}

TEST(Middleware, AStateThatCannotBeMadeFailsTheCall) {
  Fixture f;
  struct Refuses {
    Refuses() { throw std::runtime_error("x"); }
  };
  f.router->use(recorder(f.lines, "m"));
  f.router->use<Refuses>({});
  Station station(f.router);
  EXPECT_EQ(error_of(station.receive(request(1, "plain"))), "-32603 1");
  EXPECT_EQ(f.lines.back(), "m after plain -32603");
}

TEST(Middleware, MayAnswerItself) {
  Fixture f;
  f.router->use(recorder(f.lines, "outer"));
  f.router->use({.before = [](IncomingCall&) { return Verdict::answer(R"({"cached":true})"); },
                 .after = [&](Outcome&) { f.lines.emplace_back("wrong"); }});
  f.router->use(recorder(f.lines, "inner"));
  Station station(f.router);
  EXPECT_EQ(station.receive(request(1, "plain")),
            R"({"jsonrpc":"2.0","id":1,"result":{"cached":true}})");
  EXPECT_EQ(station.receive(notification("plain")), "");
  EXPECT_EQ(f.lines, (Lines{"outer before plain", R"(outer after plain {"cached":true})",
                            "outer before plain", "outer after plain note"}));
}

TEST(Middleware, KnowsIdFactsAndParamsOfPlainAndLateCalls) {
  Fixture f;
  f.router->use({.before = [&](IncomingCall& call) -> Verdict {
                   f.lines.push_back((call.id() ? call.id()->text() : "none") + " " +
                                     std::string(call.arguments().source()) + " " +
                                     call.identity()->subject + " " + std::string(call.name()));
                   EXPECT_FALSE(call.continues());
                   return {};
                 },
                 .after =
                     [&](Outcome& outcome) {
                       f.lines.push_back((outcome.id() ? outcome.id()->text() : "none") + " " +
                                         outcome.identity()->subject + " " +
                                         std::string(outcome.name()));
                       EXPECT_FALSE(outcome.asks());
                     }});
  Station station(f.router);
  const Facts facts{.identity = std::make_shared<const Identity>(Identity{.subject = "ada"})};
  station.peer->receive(R"({"jsonrpc":"2.0","id":"x","method":"params","params":[1]})", 0, facts);
  station.peer->receive(R"({"jsonrpc":"2.0","id":5,"method":"later"})", 0, facts);
  station.peer->receive(R"({"jsonrpc":"2.0","method":"void"})", 0, facts);
  f.replies.at(0)(1);
  station.peer->process();
  EXPECT_EQ(f.lines, (Lines{"\"x\" [1] ada ", "\"x\" ada ", "5  ada ", "none  ada ", "none ada ",
                            "5 ada "}));
}

TEST(Middleware, ASlowHandlerIsNamedOnce) {
  Fixture f;
  Station station(f.router);
  f.router->on("slow", [&] { station.clock.advance(150ms); });
  for (int i = 0; i < 5; ++i) station.receive(request(1, "slow"));
  EXPECT_EQ(station.log(),
            Lines{"the handler of \"slow\" held its connection for more than 100 ms; "
                  "mark it rpc::blocking"});
}

}  // namespace
}  // namespace godwit::inline v0::rpc
