#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

using test::equals;
using test::Link;
using test::text_of;

class Telling : public testing::TestWithParam<std::string_view> {
 protected:
  Telling() : server(test::server_options()) {}
  bool modern() const { return test::is_modern(GetParam()); }
  /// The progress values told, in order.
  static std::vector<double> progress(const Link& link) {
    std::vector<double> values;
    for (const json::Value& note : link.notes("notifications/progress")) {
      values.push_back(*note["params"]["progress"].as_double());
    }
    return values;
  }
  Server server;
};
INSTANTIATE_TEST_SUITE_P(Revisions, Telling, testing::ValuesIn(test::all_revisions));

TEST_P(Telling, ProgressComesBeforeTheAnswerWithItsToken) {
  server.tool("work", "", [](Context& cx) {
    cx.progress(0);
    cx.progress(1, 2, "half");
    cx.progress(2, 2);
    return "done";
  });
  Link link(server, GetParam());
  for (const char* token : {"7", R"("tok")", "0", R"("")", "-3"}) {
    link.forget();
    const std::string id =
        link.request("tools/call",
                     Link::tool_params("work", "{}",
                                       R"(,"_meta":{"progressToken":)" + std::string(token) + "}"));
    ASSERT_EQ(link.sent.size(), 4u);
    EXPECT_TRUE(link.sent[3].contains("result"));
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(equals(link.sent[static_cast<std::size_t>(i)]["params"]["progressToken"], token));
    }
    EXPECT_FALSE(link.sent[0]["params"].contains("total"));
    EXPECT_EQ(link.sent[1]["params"]["total"].as_double(), 2);
    // A sentence can be told since 2025-03-26.
    EXPECT_EQ(link.sent[1]["params"].contains("message"), GetParam() != "2024-11-05");
  }
  // Nobody wants to know.
  link.forget();
  EXPECT_EQ(text_of(link.tool("work")), "done");
  EXPECT_EQ(link.sent.size(), 1u);
}

TEST_P(Telling, ProgressAlwaysRises) {
  server.tool("jump", "", [](Context& cx) {
    for (const double value : {1.0, 3.0, 2.0, 3.0, std::numeric_limits<double>::quiet_NaN(), 3.5,
                               std::numeric_limits<double>::infinity(), -1.0, 10.0, 10.0, 1e300}) {
      cx.progress(value, 100);
    }
  });
  Link link(server, GetParam());
  link.tool("jump", "{}", R"(,"_meta":{"progressToken":1})");
  EXPECT_EQ(progress(link), (std::vector<double>{1, 3, 3.5, 10, 1e300}));
}

TEST_P(Telling, TokensThatAreNoneGetNothing) {
  server.tool("work", "", [](Context& cx) {
    cx.progress(1);
    return "done";
  });
  Link link(server, GetParam());
  for (const char* token : {"null", "{}", "[1]", "true", "1.5"}) {
    link.forget();
    const json::Value answer =
        link.tool("work", "{}", R"(,"_meta":{"progressToken":)" + std::string(token) + "}");
    // Refused or served, but a notification would have a token that is none.
    EXPECT_TRUE(progress(link).empty()) << token;
  }
}

TEST_P(Telling, LateHandlersTellWhileTheyMay) {
  std::vector<Reply<std::string>> replies;
  server.tool("late", "", [&](Reply<std::string> reply) { replies.push_back(std::move(reply)); });
  Link link(server, GetParam(), {.log_level = "info"});
  const std::string id = link.request(
      "tools/call", Link::tool_params("late", "{}", R"(,"_meta":{"progressToken":1})"));
  link.forget();
  replies[0].context().progress(1);
  replies[0].context().log(LoggingLevel::error, "e");
  link.peer->process();
  EXPECT_EQ(link.sent.size(), 2u);
  replies[0].context().progress(2);
  replies[0]("done");
  link.peer->process();
  ASSERT_EQ(link.sent.size(), 4u);
  EXPECT_TRUE(link.sent[3].contains("result"));
}

TEST_P(Telling, FromABlockingHandlerInOrder) {
  ThreadPool pool(2);
  ServerOptions options = test::server_options();
  options.executor = &pool;
  Server own(std::move(options));
  own.tool("work", "", blocking([](Context& cx) {
             for (int i = 1; i <= 100; ++i) cx.progress(i, 100);
             return "done";
           }));
  Link link(own, GetParam());
  EXPECT_EQ(text_of(link.tool("work", "{}", R"(,"_meta":{"progressToken":1})")), "done");
  const std::vector<double> values = progress(link);
  ASSERT_EQ(values.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i + 1);
  EXPECT_TRUE(link.sent.back().contains("result"));
}

constexpr LoggingLevel levels[] = {
    LoggingLevel::debug, LoggingLevel::info,     LoggingLevel::notice, LoggingLevel::warning,
    LoggingLevel::error, LoggingLevel::critical, LoggingLevel::alert,  LoggingLevel::emergency};
constexpr std::string_view level_names[] = {"debug", "info",     "notice", "warning",
                                            "error", "critical", "alert",  "emergency"};

TEST_P(Telling, LogLinesFromTheLevelOn) {
  server.tool("log", "", [](Context& cx) {
    for (const LoggingLevel level : levels) cx.log(level, json::Object{{"n", 1}}, "me");
  });
  Link plain(server, GetParam());
  for (std::size_t at = 0; at < std::size(level_names); ++at) {
    const std::string name(level_names[at]);
    Link link(server, GetParam(), {.log_level = name});
    if (!modern()) link.ask("logging/setLevel", R"({"level":")" + name + R"("})");
    link.forget();
    link.tool("log");
    const auto lines = link.notes("notifications/message");
    ASSERT_EQ(lines.size(), std::size(level_names) - at) << name;
    EXPECT_TRUE(
        equals(lines[0]["params"], R"({"level":")" + name + R"(","logger":"me","data":{"n":1}})"));
    EXPECT_TRUE(link.sent.back().contains("result"));
  }
  // Not asked for: nothing in the new era, whatever the server thinks right in the old one.
  plain.tool("log");
  EXPECT_TRUE(!modern() || plain.notes("notifications/message").empty());
}

TEST_P(Telling, ALevelIsThatOfItsOwnConversation) {
  server.tool("log", "", [](Context& cx) { cx.log(LoggingLevel::info, "x"); });
  Link link(server, GetParam() == test::modern_revision ? test::legacy_revision : GetParam());
  link.ask("logging/setLevel", R"({"level":"debug"})");
  link.forget();
  link.ask_modern("tools/call", Link::tool_params("log"));
  EXPECT_TRUE(link.notes("notifications/message").empty());
  link.tool("log");
  EXPECT_EQ(link.notes("notifications/message").size(), 1u);
  Link other(server, link.revision());
  other.ask("logging/setLevel", R"({"level":"error"})");
  link.forget();
  link.tool("log");
  EXPECT_EQ(link.notes("notifications/message").size(), 1u);
}

TEST_P(Telling, WithoutTheCapabilityThereAreNoLines) {
  ServerOptions options = test::server_options();
  options.logging = false;
  Server quiet(std::move(options));
  quiet.tool("log", "", [](Context& cx) { cx.log(LoggingLevel::emergency, "x"); });
  Link link(quiet, GetParam(), {.log_level = "debug"});
  link.forget();
  link.tool("log");
  EXPECT_EQ(link.sent.size(), 1u);
}

}  // namespace
}  // namespace godwit::inline v0
