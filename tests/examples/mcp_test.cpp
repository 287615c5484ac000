// The MCP examples, run as a person would: as processes that a client talks to, in both eras.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>
#include <godwit/godwit.hpp>
#include <iterator>
#include <string>
#include <vector>

#include "child.hpp"
#include "test_paths.hpp"
#include "wait.hpp"

namespace godwit {
namespace {

using test::Child;
using testing::HasSubstr;
using testing::StartsWith;

const std::string bin = GODWIT_BIN_DIR;

struct Name {
  std::string name{};
};
struct Env {
  std::string env{};
};
struct Echo {
  std::string message{};
};

ClientOptions options(Lifecycle lifecycle) {
  ClientOptions out;
  out.lifecycle = lifecycle;
  return out;
}

class McpExample : public testing::TestWithParam<Lifecycle> {
 protected:
  static Result<Client> start(const std::string& program, ClientOptions extra = {}) {
    extra.lifecycle = GetParam();
    return Client::spawn({bin + "/" + program, "--stdio"}, std::move(extra));
  }
};

TEST_P(McpExample, AuditWritesASpanAndALineForEachCall) {
  const test::TemporaryFolder folder;
  const std::string file = folder.file("audit");
  ClientOptions extra;
  extra.lifecycle = GetParam();
  {
    auto client = Client::spawn({"sh", "-c", "exec \"$0\" 2>\"$1\"", bin + "/audit", file}, extra);
    ASSERT_TRUE(client) << client.error().message;
    const auto tools = client->list_tools();
    ASSERT_TRUE(tools) << tools.error().message;
    std::string names;
    for (const Tool& tool : *tools) names += tool.name + " ";
    EXPECT_EQ(names, "divide notes_of_somebody ");
    EXPECT_EQ(client->call<std::string>("notes_of_somebody", json::Object{}).value_or("failed"),
              "no notes yet");
    EXPECT_FALSE(client->call<std::string>("divide", json::Object{}));
    EXPECT_FALSE(client->call<std::string>("admin_reset", json::Object{}));
  }
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(text,
              HasSubstr("span: \"tools/call notes_of_somebody\", parent \"none\", went well\n"));
  EXPECT_THAT(text, HasSubstr("audit: somebody called \"notes_of_somebody\": ok\n"));
  EXPECT_THAT(text, HasSubstr("audit: somebody called \"divide\": tool error: there is nothing"));
  EXPECT_THAT(text,
              HasSubstr("audit: somebody called \"admin_reset\": error -32602: Invalid params: "
                        "Unknown tool: \"admin_reset\"\n"));
  EXPECT_THAT(text, HasSubstr("span: \"tools/call admin_reset\", parent \"none\", failed\n"));
}

TEST_P(McpExample, HelloGreets) {
  auto client = start("hello_server");
  ASSERT_TRUE(client) << client.error().message;
  const auto greeting = client->call<std::string>("hello", Name{"Ada"});
  ASSERT_TRUE(greeting) << greeting.error().message;
  EXPECT_EQ(*greeting, "Hello, Ada!");
}

TEST_P(McpExample, WeatherIsTypedOnBothSides) {
  struct Weather {
    std::string city{};
    std::string unit{};
    std::optional<int> days{};
  };
  struct Forecast {
    std::string text{};
    double degrees{};
  };
  auto client = start("weather");
  ASSERT_TRUE(client) << client.error().message;
  ASSERT_TRUE(client->list_tools());  // from here on results are checked against their schema
  const auto day = client->call<Forecast>("forecast", Weather{.city = "Oslo", .unit = "kelvin"});
  ASSERT_TRUE(day) << day.error().message;
  EXPECT_EQ(day->text, "sunny in Oslo");
  EXPECT_DOUBLE_EQ(day->degrees, 294.15);
  const auto never =
      client->call<Forecast>("forecast", Weather{.city = "Oslo", .unit = "celsius", .days = 11});
  ASSERT_FALSE(never);
  EXPECT_TRUE(is_tool_error(never.error()));
  EXPECT_THAT(never.error().message, HasSubstr("/days: maximum"));
}

TEST_P(McpExample, DeployAsksFirst) {
  for (const ElicitAction action : {ElicitAction::accept, ElicitAction::decline}) {
    ClientOptions asking;
    asking.elicit = [action](const ElicitRequest& ask) -> Result<ElicitResult> {
      EXPECT_EQ(ask.message, "Deploy to prod?");
      ElicitResult answer{.action = action};
      if (action == ElicitAction::accept) answer.content = json::Object{{"sure", true}};
      return answer;
    };
    auto client = start("elicitation", asking);
    ASSERT_TRUE(client) << client.error().message;
    const auto outcome = client->call<std::string>("deploy", Env{"prod"});
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(*outcome, action == ElicitAction::accept ? "deployed prod-1" : "not deployed");
  }
}

TEST_P(McpExample, CustomMethodsWorkBesideTheProtocol) {
  auto client = start("custom_method");
  ASSERT_TRUE(client) << client.error().message;
  const auto moved = client->request("robot/move", {R"({"x":1,"y":2})"});
  ASSERT_TRUE(moved) << moved.error().message;
  const auto value = json::parse(moved->text);
  EXPECT_EQ((*value)["to"].dump(), R"({"x":1.0,"y":2.0})");
  EXPECT_EQ((*value)["moves"], 1);
  const auto forbidden = client->call_tool("forbidden");
  ASSERT_FALSE(forbidden);
  EXPECT_THAT(forbidden.error().message, HasSubstr("nobody may call that"));
}

TEST_P(McpExample, EmbeddedLivesInAForeignLoop) {
  struct Spell {
    std::string name{};
    int power{};
  };
  auto client = start("embedded");
  ASSERT_TRUE(client) << client.error().message;
  const auto cast = client->call<std::string>("cast", Spell{.name = "light", .power = 30});
  ASSERT_TRUE(cast) << cast.error().message;
  EXPECT_EQ(*cast, "light! 70 mana left");
  const auto too_much = client->call<std::string>("cast", Spell{.name = "sun", .power = 99});
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().message, "not enough mana");
  const auto late = client->call<std::string>("brew", Spell{.name = "sleep", .power = 1});
  ASSERT_TRUE(late) << late.error().message;
  EXPECT_EQ(*late, "a potion of sleep");
}

TEST_P(McpExample, EverythingAnswersEveryToolThatAsksNobody) {
  auto client = start("everything");
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_EQ(*client->call<std::string>("echo", Echo{"hi"}), "hi");
  EXPECT_EQ(*client->call<std::string>("later", Echo{"hi"}), "later: hi");
  EXPECT_EQ(*client->call<std::string>("now", json::Object{}), "some time in the afternoon");
  EXPECT_EQ(client->call_tool("contents")->content.size(), 5u);
  EXPECT_EQ(client->call_tool("break").error().message, "Internal error");
  EXPECT_EQ(client->call<std::string>("fail", json::Object{}).error().message, "as it should");
  std::vector<double> steps;
  RequestOptions progress;
  progress.on_progress = [&](const Progress& report) { steps.push_back(report.progress); };
  EXPECT_EQ(*client->call<std::string>("work", json::Object{{"milliseconds", 1}}, progress),
            "done after 3 steps");
  EXPECT_THAT(steps, testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(client->list_resources()->size(), 2u);
  EXPECT_EQ(client->list_prompts()->size(), 3u);
  const auto bird = client->read("everything://birds/godwit");
  ASSERT_TRUE(bird) << bird.error().message;
  EXPECT_EQ(std::get<TextResourceContents>(bird->contents[0]).text, "The godwit is a wader.");
  EXPECT_FALSE(client->read("everything://birds/penguin"));
  const auto birds =
      client->complete(PromptReference{.name = "bird"}, {.name = "name", .value = "k"});
  ASSERT_TRUE(birds) << birds.error().message;
  EXPECT_THAT(birds->values, testing::ElementsAre("knot"));
}

TEST_P(McpExample, EverythingTellsOfChanges) {
  auto client = start("everything");
  ASSERT_TRUE(client) << client.error().message;
  std::promise<void> tools;
  std::promise<std::string> updated;
  ListenCallbacks callbacks;
  callbacks.tools_changed = [&] { tools.set_value(); };
  callbacks.resource_updated = [&](const std::string& uri) { updated.set_value(uri); };
  SubscriptionFilter filter{.toolsListChanged = true};
  filter.resourceSubscriptions = std::vector<std::string>{"everything://readme"};
  auto listening = client->listen(filter, callbacks);
  ASSERT_TRUE(listening) << listening.error().message;
  ASSERT_TRUE(client->call_tool("grow"));
  ASSERT_TRUE(client->call_tool("touch"));
  EXPECT_EQ(tools.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  auto uri = updated.get_future();
  ASSERT_EQ(uri.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(uri.get(), "everything://readme");
}

INSTANTIATE_TEST_SUITE_P(Eras, McpExample,
                         testing::Values(Lifecycle::automatic, Lifecycle::stateful,
                                         Lifecycle::stateless),
                         [](const auto& param) { return json::encode(param.param).substr(1, 8); });

TEST(McpExampleClient, HelloClientShowsTheExchange) {
  Loop loop;
  Child client(loop, {bin + "/hello_client"});
  const std::string said = client.rest();
  EXPECT_THAT(
      said, HasSubstr("connected to everything, which speaks " + std::string(revisions().front())));
  EXPECT_THAT(said, HasSubstr("<- \"hello\""));
  EXPECT_THAT(said, HasSubstr("the server asks: Who pays?"));
  EXPECT_THAT(said, HasSubstr("a kite: payment 1 by Ada"));
}

TEST(McpExampleClient, InMemoryTestPasses) {
  Loop loop;
  Child program(loop, {bin + "/in_memory_test"});
  EXPECT_EQ(program.rest(),
            "ok connects\nok adds\nok refuses what is no number\nok does not know other tools\n");
}

TEST(McpExampleClient, TapShowsTheTraffic) {
  const test::TemporaryFolder folder;
  const std::string file = folder.file("traffic");
  {
    auto client = Client::spawn({"sh", "-c", "exec \"$0\" 2>\"$1\"", bin + "/tap", file}, {});
    ASSERT_TRUE(client) << client.error().message;
    ASSERT_TRUE(client->call_tool("greet", {R"({"name":"Ada"})"}));
    EXPECT_FALSE(client->call_tool("nobody"));
  }
  std::ifstream in(file);
  const std::string said{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(said, HasSubstr("<- request tools/call 2: {\"jsonrpc\""));
  EXPECT_THAT(said, HasSubstr("-> answer  2: {\"jsonrpc\""));
  EXPECT_THAT(said, HasSubstr("Hello, Ada"));
  EXPECT_THAT(said, HasSubstr("-> answer  3 error: {"));
}

TEST(McpExampleClient, EmbeddedHttpAnswersWithoutSocketsOfOurs) {
  Loop loop;
  Child program(loop, {bin + "/embedded_http"});
  const std::string said = program.rest();
  EXPECT_THAT(said, StartsWith("200 application/json\n"));
  EXPECT_THAT(said, HasSubstr("42, as for life"));
}

TEST(McpExampleClient, CallersAreKnownByTheirTokens) {
  Loop loop;
  Child program(loop, {bin + "/callers"});
  const std::string said = program.rest();
  EXPECT_THAT(said, HasSubstr("401"));
  EXPECT_THAT(said, HasSubstr("you are ada\n"));
}

// The client of docs/http.md, as pasted; nobody is there.
TEST(McpExampleClient, HttpGuideClientSaysWhyItCannotConnect) {
  if (::getenv("GODWIT_NEVER_SET")) {
    auto client = godwit::Client::connect("http://127.0.0.1:8080/mcp");
    ASSERT_TRUE(client);
  }
  const auto nobody = Client::connect("http://127.0.0.1:1/mcp");
  ASSERT_FALSE(nobody);
  EXPECT_THAT(nobody.error().message, HasSubstr("127.0.0.1:1"));
}

// The client of the README, as pasted.
TEST(McpExampleClient, ReadmeClientWorks) {
  struct Weather {
    std::string city{};
    std::string unit = "celsius";
  };
  struct Forecast {
    std::string text{};
    double degrees{};
  };
  const std::string path = ::getenv("PATH");
  ::setenv("PATH", (bin + ":" + path).c_str(), 1);
  auto client = godwit::Client::spawn({"weather"});
  auto day = client->call<Forecast>("forecast", Weather{.city = "Oslo"});
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(day) << day.error().message;
  EXPECT_EQ(day->text, "sunny in Oslo");
}

TEST(McpExampleClient, AClientFindsOutWhatAServerSpeaks) {
  auto client = Client::spawn({bin + "/hello_server"}, options(Lifecycle::automatic));
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_EQ(client->revision(), revisions().front());
  auto older = Client::spawn({bin + "/hello_server"}, options(Lifecycle::stateful));
  ASSERT_TRUE(older) << older.error().message;
  EXPECT_EQ(older->revision(), revisions()[1]);
}

}  // namespace
}  // namespace godwit
