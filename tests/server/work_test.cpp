// Twice the input, at most two and a half times the steps: what a client's answer costs a server.
#include "work.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

class ServerWork : public testing::TestWithParam<std::string_view> {};

std::string blocks(std::size_t size) {
  std::string text = "[";
  for (std::size_t i = 0; i < size; ++i) {
    text +=
        R"({"structuredContent":{},"input":{},"type":"tool_result","toolUseId":"a","content":[]},)";
  }
  text.back() = ']';
  return R"({"role":"user","model":"m","content":)" + text + "}";
}

TEST_P(ServerWork, OfASamplingAnswer) {
  Server server(test::server_options());
  server.tool("ask", "Asks the model", [](Context& cx) -> Result<std::string> {
    auto answer = cx.sample("s", ask_model("?", 10));
    if (!answer) return answer.error();
    const auto* list = std::get_if<std::vector<SamplingBlock>>(&answer->content);
    return std::to_string(list ? list->size() : 0);
  });
  const auto ask = [&](const std::string& answer, const std::string& expected) {
    test::Link link(server, GetParam(), {.capabilities = std::string(test::can_all)});
    link.check_schema = false;
    const json::Value outcome =
        link.converse("tools/call", test::Link::tool_params("ask"),
                      [&](std::string_view, const json::Value&) { return answer; });
    EXPECT_EQ(test::text_of(outcome), expected);
  };
  expect_linear(
      {{"blocks", blocks,
        [&](const std::string& answer) {
          ask(answer,
              std::to_string(
                  static_cast<std::size_t>(std::count(answer.begin(), answer.end(), '{') - 1) / 3));
        },
        500}});
}

/// An object with this many members.
std::string members(std::size_t size, std::string_view value) {
  std::string text = "{";
  for (std::size_t i = 0; i < size; ++i) {
    text += "\"k" + std::to_string(i) + "\":" + std::string(value) + ",";
  }
  text.back() = '}';
  return text;
}

TEST_P(ServerWork, OfTheContentOfAForm) {
  Server server(test::server_options());
  server.tool("ask", "Asks a person", [](Context& cx) -> Result<std::string> {
    auto answer = cx.elicit("who", "Who?", RawJson{R"({"type":"object","properties":{}})"});
    if (!answer) return answer.error();
    return answer->accepted() ? "accepted" : "declined";
  });
  expect_linear({{"content", [](std::size_t size) { return test::accept(members(size, "0")); },
                  [&](const std::string& answer) {
                    test::Link link(server, GetParam(),
                                    {.capabilities = std::string(test::can_all)});
                    link.check_schema = false;
                    const json::Value outcome =
                        link.converse("tools/call", test::Link::tool_params("ask"),
                                      [&](std::string_view, const json::Value&) { return answer; });
                    EXPECT_EQ(test::text_of(outcome), "accepted");
                  }}});
}

TEST_P(ServerWork, OfWhatAClientCanDo) {
  const Server server(test::server_options());
  expect_linear(
      {{"capabilities",
        [](std::size_t size) { return R"({"experimental":)" + members(size, "{}") + "}"; },
        [&](const std::string& capabilities) {
          test::LinkOptions options{.capabilities = capabilities};
          test::Link link(server, GetParam(), options);
          link.check_schema = false;
          EXPECT_EQ(test::code_of(link.ask("tools/list")), -32601);
        },
        200}});
}

TEST(ServerWorkStateless, OfAnswersToNothing) {
  Server server(test::server_options());
  server.tool("deaf", "Asks nobody", [] { return "done"; });
  expect_linear({{"inputResponses", [](std::size_t size) { return members(size, "{}"); },
                  [&](const std::string& responses) {
                    test::Link link(server, test::modern_revision);
                    link.check_schema = false;
                    const json::Value outcome =
                        link.tool("deaf", "{}", R"(,"inputResponses":)" + responses);
                    EXPECT_EQ(test::text_of(outcome), "done");
                  }}});
}

TEST(ServerWorkStateless, OfWhatAClientListensTo) {
  Server server(test::server_options());
  server.resource("x:1", "one", [] { return "x"; });
  expect_linear({{"uris",
                  [](std::size_t size) {
                    std::string text = R"({"notifications":{"resourceSubscriptions":[)";
                    for (std::size_t i = 0; i < size; ++i)
                      text += R"("x:)" + std::to_string(i) + R"(",)";
                    text.back() = ']';
                    return text + "}}";
                  },
                  [&](const std::string& params) {
                    test::Link link(server, test::modern_revision);
                    link.check_schema = false;
                    link.request("subscriptions/listen", params);
                    EXPECT_EQ(link.sent.at(0)["params"]["notifications"].dump(),
                              R"({"resourceSubscriptions":["x:1"]})");
                  }}});
}

INSTANTIATE_TEST_SUITE_P(Eras, ServerWork,
                         testing::Values(test::legacy_revision, test::modern_revision));

}  // namespace
}  // namespace godwit::inline v0
