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
  EXPECT_THAT(lines, testing::ElementsAre(testing::MatchesRegex("tools/call [0-9]+ us ok"),
                                          testing::HasSubstr("us error -32603: no")));
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
    seen.push_back(std::string(call.principal) + " " + std::string(call.method) + " " +
                   std::string(call.name));
    if (call.name == "fails") return Error{.code = -32602, .message = "not for you"};
    return {};
  }));
  Link link(server, "2025-11-25", {.facts = {.principal = "ada"}});
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
