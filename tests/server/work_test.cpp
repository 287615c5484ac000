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

INSTANTIATE_TEST_SUITE_P(Eras, ServerWork,
                         testing::Values(test::legacy_revision, test::modern_revision));

}  // namespace
}  // namespace godwit::inline v0
