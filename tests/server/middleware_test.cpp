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
