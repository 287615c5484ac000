#include <gtest/gtest.h>

#include "rig.hpp"

using namespace std::chrono_literals;
using godwit::ClientCall;
using godwit::Page;
using godwit::Prompt;
using godwit::Resource;
using godwit::ResourceTemplate;
using godwit::Tool;
using godwit::json::Value;
using godwit::test::Outcome;
using godwit::test::Rig;

namespace {

std::vector<std::unique_ptr<Rig>> both() {
  std::vector<std::unique_ptr<Rig>> rigs;
  rigs.push_back(Rig::stateless());
  rigs.push_back(Rig::stateful());
  return rigs;
}

std::string page(const std::string& name, const std::string& next = "") {
  return R"({"tools":[{"name":")" + name + R"(","inputSchema":{"type":"object"}}])" +
         (next.empty() ? "" : R"(,"nextCursor":)" + next) + R"(,"ttlMs":0,"cacheScope":"private"})";
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

}  // namespace

TEST(Lists, AllPages) {
  for (const auto& rig : both()) {
    Outcome<std::vector<Tool>> outcome;
    rig->session().list_tools(outcome.taker());
    const Value first = rig->next("tools/list");
    EXPECT_FALSE(first["params"].contains("cursor"));
    rig->answer(first, page("a", R"("1")"));
    const Value second = rig->next("tools/list");
    EXPECT_EQ(second["params"]["cursor"].as_string(), "1");
    EXPECT_NE(second["id"], first["id"]);
    rig->answer(second, page("b", R"("")"));  // an empty cursor is one, too
    const Value third = rig->next("tools/list");
    EXPECT_EQ(third["params"]["cursor"].as_string(), "");
    rig->answer(third, page("c"));
    ASSERT_TRUE(outcome.good()) << outcome.message();
    ASSERT_EQ(outcome.value().size(), 3u);
    EXPECT_EQ(outcome.value()[2].name, "c");
    EXPECT_TRUE(rig->silent());
  }
}

TEST(Lists, OnePage) {
  for (const auto& rig : both()) {
    Outcome<Page<Tool>> outcome;
    rig->session().list_tools_page("x", outcome.taker());
    const Value request = rig->next("tools/list");
    EXPECT_EQ(request["params"]["cursor"].as_string(), "x");
    rig->answer(request, page("a", R"("y")"));
    ASSERT_TRUE(outcome.good());
    EXPECT_EQ(outcome.value().next, "y");
    EXPECT_TRUE(rig->silent());
  }
}

TEST(Lists, TheOtherKinds) {
  for (const auto& rig : both()) {
    Outcome<std::vector<Resource>> resources;
    rig->session().list_resources(resources.taker());
    rig->answer(rig->next("resources/list"), R"({"resources":[{"uri":"f:a","name":"a"}]})");
    EXPECT_TRUE(resources.good() && resources.value()[0].uri == "f:a");
    Outcome<std::vector<ResourceTemplate>> templates;
    rig->session().list_resource_templates(templates.taker());
    rig->answer(rig->next("resources/templates/list"),
                R"({"resourceTemplates":[{"uriTemplate":"f:{a}","name":"a"}]})");
    EXPECT_TRUE(templates.good() && templates.value()[0].uriTemplate == "f:{a}");
    Outcome<std::vector<Prompt>> prompts;
    rig->session().list_prompts(prompts.taker());
    rig->answer(rig->next("prompts/list"), R"({"prompts":[{"name":"p"}]})");
    EXPECT_TRUE(prompts.good() && prompts.value()[0].name == "p");
  }
}

TEST(Lists, ARepeatedCursorIsRefused) {
  for (const auto& rig : both()) {
    Outcome<std::vector<Tool>> outcome;
    rig->session().list_tools(outcome.taker());
    rig->answer(rig->next(), page("a", R"("1")"));
    rig->answer(rig->next(), page("a", R"("2")"));
    rig->answer(rig->next(), page("a", R"("1")"));
    EXPECT_TRUE(contains(outcome.message(), "cursor")) << outcome.message();
    EXPECT_TRUE(rig->silent());
  }
}

TEST(Lists, AThousandPagesAreEnough) {
  const auto rig = Rig::stateful();
  Outcome<std::vector<Tool>> outcome;
  rig->session().list_tools(outcome.taker());
  int pages = 0;
  while (!rig->silent() && pages < 2000) {
    rig->answer(rig->next(), page("a", '"' + std::to_string(++pages) + '"'));
  }
  EXPECT_EQ(pages, 1000);
  EXPECT_TRUE(contains(outcome.message(), "1000 pages")) << outcome.message();
}

TEST(Lists, EntriesAreBoundedOnTheLastPageToo) {
  for (const bool last : {false, true}) {
    godwit::ClientOptions options;
    options.limits.list_entries = 2;
    const auto rig = Rig::stateful(options);
    for (const bool fits : {true, false}) {
      Outcome<std::vector<Tool>> outcome;
      rig->session().list_tools(outcome.taker());
      rig->answer(rig->next(), page("a", R"("1")"));
      if (fits) {
        rig->answer(rig->next(), page("b"));
        EXPECT_TRUE(outcome.good()) << outcome.message();
        continue;
      }
      rig->answer(rig->next(), page("b", R"("2")"));
      rig->answer(rig->next(), last ? page("c") : page("c", R"("3")"));
      EXPECT_TRUE(contains(outcome.message(), "more than 2 entries")) << outcome.message();
      EXPECT_TRUE(rig->silent());
    }
  }
}

TEST(Lists, BytesAreBounded) {
  godwit::ClientOptions options;
  options.limits.list_bytes = 10'000;
  const auto rig = Rig::stateful(options);
  Outcome<std::vector<Tool>> outcome;
  rig->session().list_tools(outcome.taker());
  int pages = 0;
  // What is left out of the list counts as well.
  while (!rig->silent() && pages < 50) {
    rig->answer(rig->next(), page(std::string(1'000, 'x'), '"' + std::to_string(++pages) + '"'));
  }
  EXPECT_EQ(pages, 10);
  EXPECT_TRUE(contains(outcome.message(), "more than 10000 bytes")) << outcome.message();
}

TEST(Lists, TheTimeIsForAllPages) {
  for (const auto& rig : both()) {
    Outcome<std::vector<Tool>> outcome;
    godwit::RequestOptions options;
    options.timeout = 10s;
    rig->session().list_tools(outcome.taker(), options);
    for (int i = 1; i <= 3; ++i) {
      rig->pass(3s);
      EXPECT_FALSE(outcome);
      rig->answer(rig->next("tools/list"), page("a", '"' + std::to_string(i) + '"'));
    }
    rig->next("tools/list");
    rig->pass(1s);
    ASSERT_TRUE(outcome && !outcome.good());
    EXPECT_TRUE(is_timeout(outcome.error())) << outcome.message();
    EXPECT_TRUE(contains(outcome.message(), "3 pages came")) << outcome.message();
  }
}

TEST(Lists, HostilePages) {
  const std::string bad[] = {
      "{}",           R"({"tools":{}})", R"({"tools":null})",
      page("a", "7"), page("a", "{}"),   page("a", '"' + std::string(70'000, 'x') + '"')};
  for (const auto& rig : both()) {
    for (const std::string& answer : bad) {
      Outcome<std::vector<Tool>> outcome;
      rig->session().list_tools(outcome.taker());
      rig->answer(rig->next(), answer);
      EXPECT_TRUE(contains(outcome.message(), "not what was expected")) << outcome.message();
      EXPECT_TRUE(rig->silent());
    }
    Outcome<std::vector<Tool>> null;
    rig->session().list_tools(null.taker());
    rig->answer(rig->next(), page("a", "null"));
    EXPECT_TRUE(null.good());
  }
}

TEST(Lists, EntriesThatCannotBeReadAreLeftOut) {
  for (const auto& rig : both()) {
    Outcome<std::vector<Tool>> outcome;
    rig->session().list_tools(outcome.taker());
    rig->answer(rig->next(),
                R"({"tools":[{"name":"good","inputSchema":{"type":"object"}},{"name":"bad"},7,)"
                R"({"name":"worse","inputSchema":3},{"inputSchema":{}},)"
                R"({"name":"also good","inputSchema":{},"future":{"a":1}}]})");
    ASSERT_TRUE(outcome.good()) << outcome.message();
    ASSERT_EQ(outcome.value().size(), 2u);
    EXPECT_EQ(outcome.value()[1].name, "also good");
    EXPECT_TRUE(rig->logged("4 of 6 tools cannot be read"));
    EXPECT_TRUE(rig->logged("the first one is \"bad\""));
  }
}

TEST(Lists, HostileEntriesDoNotFloodTheLog) {
  for (const auto& rig : both()) {
    std::string answer = R"({"tools":[{})";
    for (int i = 1; i < 10'000; ++i) answer += ",{}";
    for (int i = 0; i < 100; ++i) {
      Outcome<std::vector<Tool>> outcome;
      rig->session().list_tools(outcome.taker());
      rig->answer(rig->next(), answer + "]}");
      EXPECT_TRUE(outcome.good());
    }
    EXPECT_LE(rig->log.size(), 10u);
  }
}

TEST(Lists, CancellingEndsAllOfIt) {
  for (const auto& rig : both()) {
    Outcome<std::vector<Tool>> outcome;
    const ClientCall call = rig->session().list_tools(outcome.taker());
    rig->answer(rig->next(), page("a", R"("1")"));
    const Value second = rig->next("tools/list");
    EXPECT_TRUE(rig->session().cancel(call));
    EXPECT_TRUE(outcome && !outcome.good());
    EXPECT_EQ(rig->next("notifications/cancelled")["params"]["requestId"], second["id"]);
    EXPECT_FALSE(rig->session().cancel(call));
  }
}

TEST(Lists, AFailureInTheMiddleIsTheOutcome) {
  for (const auto& rig : both()) {
    Outcome<std::vector<Tool>> outcome;
    rig->session().list_tools(outcome.taker());
    rig->answer(rig->next(), page("a", R"("1")"));
    rig->refuse(rig->next(), -32602, "bad cursor");
    EXPECT_EQ(outcome.message(), "bad cursor");
  }
}
