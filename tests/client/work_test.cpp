// Twice the input, at most two and a half times the steps: what a server's questions cost a client.
#include "work.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "rig.hpp"

namespace godwit::inline v0 {
namespace {

using test::Rig;

std::string question(std::size_t size) {
  std::string text = "[";
  for (std::size_t i = 0; i < size; ++i) {
    text +=
        R"({"structuredContent":{},"input":{},"type":"tool_result","toolUseId":"a","content":[]},)";
  }
  text.back() = ']';
  return R"({"maxTokens":1,"messages":[{"role":"user","content":)" + text + "}]}";
}

ClientOptions options(int& asked) {
  ClientOptions out;
  out.sample = [&asked](const SamplingRequest&) -> Result<SamplingResult> {
    ++asked;
    return SamplingResult{.content = text("hi"), .model = "m"};
  };
  return out;
}

TEST(ClientWork, OfASamplingRequest) {
  expect_linear({{"stateful", question,
                  [](const std::string& params) {
                    int asked = 0;
                    auto rig = Rig::stateful(options(asked));
                    rig->check_schema = false;
                    rig->ask("1", "sampling/createMessage", params);
                    rig->settle();
                    EXPECT_EQ(asked, 1);
                  }},
                 {"stateless", question, [](const std::string& params) {
                    int asked = 0;
                    auto rig = Rig::stateless(options(asked));
                    rig->check_schema = false;
                    rig->session().call_tool("t", RawJson{"{}"}, [](Result<ToolResult>) {});
                    rig->answer(rig->next("tools/call"),
                                R"({"resultType":"input_required","requestState":"s",)"
                                R"("inputRequests":{"k":{"method":"sampling/createMessage",)"
                                R"("params":)" +
                                    params + "}}}");
                    rig->settle();
                    EXPECT_EQ(asked, 1);
                  }}});
}

TEST(ClientWork, OfFillingInAForm) {
  const auto form = [](std::size_t size) {
    std::string text = R"({"message":"?","requestedSchema":{"type":"object","properties":{)";
    for (std::size_t i = 0; i < size; ++i) {
      text += "\"p" + std::to_string(i) + R"(":{"type":"string","default":"x"},)";
    }
    text.back() = '}';
    return text + "}}";
  };
  expect_linear({{"defaults", form, [](const std::string& params) {
                    ClientOptions options;
                    options.elicit = [](const ElicitRequest&) -> Result<ElicitResult> {
                      return ElicitResult{.action = ElicitAction::accept,
                                          .content = json::Object{}};
                    };
                    auto rig = Rig::stateful(std::move(options));
                    rig->check_schema = false;
                    rig->ask("1", "elicitation/create", params);
                    rig->settle();
                    EXPECT_FALSE(rig->silent());
                  }}});
}

}  // namespace
}  // namespace godwit::inline v0
