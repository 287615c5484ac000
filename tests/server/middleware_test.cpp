// The middleware that comes with the library, around plain calls and late ones.
#include "godwit/server/middleware.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "mcp_station.hpp"

namespace godwit {
namespace {

using test::code_of;
using test::Link;

class Middlewares : public testing::Test {
 protected:
  Middlewares() {
    server.tool("plain", "", [] { return "x"; });
    server.tool("later", "", [this](Reply<std::string> reply) { late.emplace(std::move(reply)); });
    server.tool("fails", "", []() -> Result<std::string> { return error("no"); });
  }
  ManualClock clock;
  Server server{{.name = "s", .version = "1", .clock = &clock}};
  std::optional<Reply<std::string>> late;
};

TEST_F(Middlewares, LogCallsWritesALinePerOutcome) {
  std::vector<std::string> lines;
  server.use(log_calls(Log([&](LogLevel, std::string_view line) { lines.emplace_back(line); })));
  Link link(server, "2025-11-25");
  lines.clear();
  link.tool("plain");
  link.tool("fails");
  EXPECT_THAT(lines,
              testing::ElementsAre(testing::MatchesRegex("tools/call \"plain\" [0-9]+ us ok"),
                                   testing::HasSubstr("\"fails\" 0 us error -32603: no")));
}

TEST_F(Middlewares, LogCallsNamesWhatWasCalledAndHowItEnded) {
  server.tool("bad", "", []() -> Result<std::string> { return tool_error("no such city"); });
  server.tool("quotes", "", [] {
    return ToolResult{.content = {text("\"isError\":true")},
                      .structuredContent = RawJson{R"({"isError":true})"}};
  });
  server.resource("a:b", "r", [] { return "x"; });
  server.prompt("p", "", [] { return "x"; });
  std::vector<std::string> lines;
  server.use(log_calls(Log([&](LogLevel, std::string_view line) { lines.emplace_back(line); })));
  Link link(server, "2025-11-25");
  lines.clear();
  link.tool("bad");
  link.tool("quotes");
  link.ask("resources/read", R"({"uri":"a:b"})");
  link.ask("prompts/get", R"({"name":"p"})");
  link.ask("ping");
  link.ask("tools/call", R"({"name":")" + std::string(5000, 'x') + R"("})");
  EXPECT_THAT(
      lines,
      testing::ElementsAre(
          "tools/call \"bad\" 0 us tool error: no such city", "tools/call \"quotes\" 0 us ok",
          "resources/read \"a:b\" 0 us ok", "prompts/get \"p\" 0 us ok", "ping 0 us ok",
          testing::AllOf(testing::HasSubstr("xxx"), testing::SizeIs(testing::Lt(700)))));
}

TEST_F(Middlewares, LogCallsSaysCancelled) {
  std::vector<std::string> lines;
  server.use(log_calls(Log([&](LogLevel, std::string_view line) { lines.emplace_back(line); })));
  Link link(server, "2025-11-25");
  lines.clear();
  link.cancel(link.request("tools/call", Link::tool_params("later")));
  link.request("tools/call", Link::tool_params("later"));
  link.peer->close();
  EXPECT_THAT(lines, testing::Contains(testing::MatchesRegex(
                         "tools/call \"later\" 0 us cancelled: the request was cancelled")));
  EXPECT_THAT(lines.back(), testing::HasSubstr("tools/call \"later\" 0 us cancelled: "));
}

TEST_F(Middlewares, LogCallsSaysThatAnAnswerIsAQuestion) {
  struct Name {
    std::string name{};
  };
  ServerOptions options = test::server_options();
  options.clock = &clock;
  Server asking(std::move(options));
  asking.tool("ask", "", [](Context& cx) -> Result<std::string> {
    auto answer = cx.elicit<Name>("who", "Who?");
    if (!answer) return answer.error();
    return "hi";
  });
  std::vector<std::string> lines;
  asking.use(log_calls(Log([&](LogLevel, std::string_view line) { lines.emplace_back(line); })));
  Link link(asking, test::modern_revision, {.capabilities = std::string(test::can_all)});
  link.tool("ask");
  EXPECT_THAT(lines, testing::ElementsAre("tools/call \"ask\" 0 us input required"));
}

TEST_F(Middlewares, TimeCallsCountsUntilTheLateAnswer) {
  std::vector<Duration> took;
  server.use(time_calls([&](std::string_view method, Duration time, const Error* error) {
    EXPECT_EQ(error, nullptr);
    if (method == "tools/call") took.push_back(time);
  }));
  Link link(server, "2025-11-25");
  link.request("tools/call", Link::tool_params("later"));
  link.clock.advance(std::chrono::seconds(3));
  ASSERT_TRUE(late);
  EXPECT_TRUE(took.empty());
  (*late)(std::string("done"));
  link.peer->process();
  EXPECT_THAT(took, testing::ElementsAre(std::chrono::seconds(3)));
}

TEST_F(Middlewares, AuthorizeSeesWhatIsCalledAndByWhom) {
  std::vector<std::string> seen;
  server.use(authorize([&](const CallFacts& call) -> Result<void> {
    seen.push_back(call.identity->subject + " " + std::string(call.method) + " " +
                   std::string(call.name));
    if (call.name == "fails") return Error{.code = -32602, .message = "not for you"};
    return {};
  }));
  Link link(server, "2025-11-25", {.facts = {.identity = test::known_as("ada")}});
  seen.clear();
  EXPECT_EQ(code_of(link.tool("fails")), -32602);
  link.tool("plain");
  link.ask("resources/read", R"({"uri":"a:b"})");
  EXPECT_THAT(seen, testing::ElementsAre("ada tools/call fails", "ada tools/call plain",
                                         "ada resources/read a:b"));
}

struct Who {
  std::string name{};
};

/// Writes down what it sees before and after, with a state in between.
rpc::MiddlewareWith<int> recorder(std::vector<std::string>& lines) {
  return {
      .before = [&lines, calls = 0](rpc::IncomingCall& call, int& state) mutable -> rpc::Verdict {
        state = ++calls;
        if (call.name().empty()) return {};
        lines.push_back(std::to_string(state) + " " + std::string(call.method()) + " " +
                        std::string(call.name()) + " " + std::string(call.arguments().source()) +
                        (call.continues() ? " continues" : ""));
        return {};
      },
      .after =
          [&lines](rpc::Outcome& outcome, int& state) {
            if (outcome.name().empty()) return;
            lines.push_back(std::to_string(state) + " " + std::string(outcome.name()) + " " +
                            describe(outcome) + (outcome.asks() ? " asks" : "") +
                            (outcome.continues() ? " continued" : ""));
          }};
}

/// A server whose tool asks twice, plainly or on another thread, with middleware around it.
class AskingMiddleware : public testing::TestWithParam<std::tuple<bool, bool, bool>> {
 protected:
  struct Now final : Executor {
    void execute(Function<void()> work) override { work(); }
  };
  bool modern() const { return std::get<0>(GetParam()); }

  void SetUp() override {
    ServerOptions options = test::server_options();
    options.executor = &now;
    server.emplace(std::move(options));
    const auto ask = [this](Context& cx) -> Result<std::string> {
      ++runs;
      std::string all;
      for (const char* key : {"a", "b"}) {
        auto answer = cx.elicit<Who>(key, "Who?");
        if (!answer) return answer.error();
        all += answer->value().name;
      }
      return all;
    };
    if (std::get<1>(GetParam())) {
      server->tool("ask", "", blocking(ask));
    } else {
      server->tool("ask", "", ask);
    }
    server->use(recorder(lines));
    if (std::get<2>(GetParam())) {
      server->use({.before = [](rpc::IncomingCall& call) -> rpc::Verdict {
                     call.decide_later()({});
                     return {};
                   },
                   .after = {}});
    }
    link.emplace(*server, modern() ? test::modern_revision : test::legacy_revision,
                 test::LinkOptions{.capabilities = std::string(test::can_all)});
    lines.clear();
  }
  Now now;
  int runs = 0;
  std::vector<std::string> lines;
  std::optional<Server> server;
  std::optional<Link> link;
};

TEST_P(AskingMiddleware, RunsOnceForEachRequestAndNotForEachReplay) {
  int rounds = 0;
  const json::Value answer = link->converse(
      "tools/call", R"({"name":"ask","arguments":{"x":1}})",
      [](std::string_view, const json::Value&) { return test::accept(R"({"name":"Eve"})"); },
      &rounds);
  EXPECT_EQ(test::text_of(answer), "EveEve") << answer.dump();
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(rounds, 2);
  if (modern()) {  // every round is a request
    EXPECT_THAT(
        lines, testing::ElementsAre(R"(1 tools/call ask {"x":1})", "1 ask input required asks",
                                    R"(2 tools/call ask {"x":1} continues)",
                                    "2 ask input required asks continued",
                                    R"(3 tools/call ask {"x":1} continues)", "3 ask ok continued"));
  } else {
    EXPECT_THAT(lines, testing::ElementsAre(testing::EndsWith(R"(tools/call ask {"x":1})"),
                                            testing::EndsWith("ask ok")));
  }
}

TEST_P(AskingMiddleware, IsToldOfACallThatIsTakenBackWhileItAsks) {
  if (modern()) return;  // the question is the answer
  const std::string id = link->request("tools/call", R"({"name":"ask"})");
  ASSERT_TRUE(link->wait_question());
  link->cancel(id);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines.back(), testing::HasSubstr("ask cancelled: "));
  link->request("tools/call", R"({"name":"ask"})");
  server.reset();
  link.reset();
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_THAT(lines.back(), testing::HasSubstr("ask cancelled: "));
}

INSTANTIATE_TEST_SUITE_P(Eras, AskingMiddleware,
                         testing::Combine(testing::Bool(), testing::Bool(), testing::Bool()),
                         [](const auto& param) {
                           return std::string(std::get<0>(param.param) ? "stateless" : "stateful") +
                                  (std::get<1>(param.param) ? "_blocking" : "_plain") +
                                  (std::get<2>(param.param) ? "_held" : "");
                         });

TEST_F(Middlewares, MayHoldEveryKindOfMessage) {
  std::vector<rpc::Decision> held;
  bool hold = false;
  server.use({.before = [&](rpc::IncomingCall& call) -> rpc::Verdict {
                if (hold) held.push_back(call.decide_later());
                return {};
              },
              .after = {}});
  for (const std::string_view revision : test::all_revisions) {
    hold = false;
    Link link(server, revision);
    hold = true;
    std::vector<std::string> ids = {link.request("tools/list"),
                                    link.request("tools/call", Link::tool_params("plain")),
                                    link.request("tools/call", Link::tool_params("none"))};
    ASSERT_EQ(held.size(), 3u);
    for (rpc::Decision& decision : held) decision({});
    held.clear();
    EXPECT_EQ(link.take_answer(ids[0])["result"]["tools"].size(), 3u);
    EXPECT_EQ(test::text_of(link.take_answer(ids[1])), "x");
    EXPECT_EQ(code_of(link.take_answer(ids[2])), -32602);
    // The client takes one back that is held: the notification that says so is held, too.
    const std::string id = link.request("tools/call", Link::tool_params("plain"));
    link.cancel(id);
    ASSERT_EQ(held.size(), 2u);
    held.at(1)({});
    link.peer->process();
    EXPECT_TRUE(held.at(0).cancelled().stop_requested());
    held.clear();
    link.peer->process();
    EXPECT_FALSE(link.has_answer(id));
    EXPECT_EQ(link.peer->in_flight(), 0u);
  }
}

TEST_F(Middlewares, MayAnswerInPlaceOfATool) {
  server.use({.before = [](rpc::IncomingCall& call) -> rpc::Verdict {
                if (call.name() == "cached") return answer_with(call, {.content = {text("kept")}});
                return {};
              },
              .after = {}});
  for (const std::string_view revision : test::all_revisions) {
    Link link(server, revision);
    EXPECT_EQ(test::text_of(link.tool("cached")), "kept");  // checked against the schema
    EXPECT_EQ(test::text_of(link.tool("plain")), "x");
  }
}

TEST_F(Middlewares, LimitRateRefusesWhatIsTooMuchAndForgives) {
  server.use(limit_rate(5, &clock));
  Link link(server, "2025-11-25");  // one request: the handshake
  int good = 0;
  for (int i = 0; i < 10; ++i) good += link.tool("plain").contains("result") ? 1 : 0;
  EXPECT_EQ(good, 4);
  EXPECT_EQ(code_of(link.tool("plain")), -32603);
  clock.advance(std::chrono::milliseconds(400));
  for (int i = 0; i < 10; ++i) good += link.tool("plain").contains("result") ? 1 : 0;
  EXPECT_EQ(good, 6);
}

}  // namespace
}  // namespace godwit
