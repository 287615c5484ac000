// What an older revision has no word for is left out or said in another way. That nothing remains
// which its schema does not know is checked for every message by the Link.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

using test::accept;
using test::equals;
using test::is_error_result;
using test::Link;
using test::text_of;

const json::Object mark{{"com.example/mark", 1}};
const std::vector<Icon> icon{{.src = "https://example.com/i.png", .theme = IconTheme::light}};

class Degrade : public testing::TestWithParam<std::string_view> {
 protected:
  Degrade() : server(make_options()) {}
  static ServerOptions make_options() {
    ServerOptions options = test::server_options();
    options.title = "T";
    options.description = "D";
    options.websiteUrl = "https://example.com/";
    options.icons = icon;
    return options;
  }
  bool modern() const { return test::is_modern(GetParam()); }
  bool audio_exists() const { return GetParam() >= "2025-03-26"; }
  bool titles() const { return GetParam() >= "2025-06-18"; }
  bool icons() const { return GetParam() >= "2025-11-25"; }
  Server server;
};
INSTANTIATE_TEST_SUITE_P(Revisions, Degrade, testing::ValuesIn(test::all_revisions));

TEST_P(Degrade, Content) {
  server.tool("all", "", [] {
    AudioContent sound = audio("\x01", "audio/wav");
    sound.annotations = Annotations{.priority = 0.5, .lastModified = "2026-01-01T00:00:00Z"};
    sound._meta = mark;
    ResourceLink to = link("x:1", "one");
    to.title = "One";
    to.description = "about";
    to.icons = icon;
    to._meta = mark;
    TextContent words = text("words");
    words._meta = mark;
    words.annotations = Annotations{.lastModified = "2026-01-01T00:00:00Z"};
    EmbeddedResource inside =
        embed(TextResourceContents{.uri = "x:2", .text = "two", ._meta = mark});
    inside._meta = mark;
    return std::vector<Content>{words, sound, to, inside};
  });
  Link link(server, GetParam());
  const json::Value answer = link.tool("all");
  const json::Value& content = answer["result"]["content"];
  ASSERT_EQ(content.size(), 4u);
  EXPECT_EQ(content[0].contains("_meta"), titles());
  EXPECT_EQ(content[0]["annotations"].contains("lastModified"), titles());
  EXPECT_EQ(content[1]["type"].as_string(), audio_exists() ? "audio" : "resource");
  EXPECT_EQ(content[1]["annotations"]["priority"].as_double(), 0.5);
  EXPECT_EQ(content[1].contains("_meta"), titles());
  if (!audio_exists()) {
    EXPECT_EQ(content[1]["resource"]["blob"].as_string(), "AQ==");
    EXPECT_EQ(content[1]["resource"]["mimeType"].as_string(), "audio/wav");
  }
  EXPECT_EQ(content[2]["type"].as_string(), titles() ? "resource_link" : "text");
  if (titles()) {
    EXPECT_EQ(content[2].contains("icons"), icons());
    EXPECT_EQ(content[2]["title"].as_string(), "One");
  } else {
    EXPECT_TRUE(test::has(content[2]["text"].get<std::string>(), "x:1"));
  }
  EXPECT_EQ(content[3].contains("_meta"), titles());
  EXPECT_EQ(content[3]["resource"].contains("_meta"), titles());
}

TEST_P(Degrade, MessagesOfPrompts) {
  server.prompt("p", "",
                [] {
                  return std::vector<PromptMessage>{user_says(audio("\x01", "audio/wav")),
                                                    assistant_says(link("x:1", "one"))};
                },
                {.title = "P",
                 .icons = icon,
                 .meta = mark,
                 .arguments = {{.name = "a", .title = "A", .description = "about"}}});
  Link link(server, GetParam());
  const json::Value answer = link.ask("prompts/get", R"({"name":"p"})");
  EXPECT_EQ(answer["result"]["messages"][0]["content"]["type"].as_string(),
            audio_exists() ? "audio" : "resource");
  EXPECT_EQ(answer["result"]["messages"][1]["content"]["type"].as_string(),
            titles() ? "resource_link" : "text");
  const json::Value entry = link.ask("prompts/list")["result"]["prompts"][0];
  EXPECT_EQ(entry.contains("title"), titles());
  EXPECT_EQ(entry.contains("_meta"), titles());
  EXPECT_EQ(entry.contains("icons"), icons());
}

TEST_P(Degrade, Lists) {
  server.tool("t", "", [] { return std::map<std::string, int>(); },
              {.title = "T",
               .annotations = {.title = "TT", .destructiveHint = false},
               .icons = icon,
               .meta = mark});
  server.resource(
      "x:1", "x", [] { return "x"; },
      {.title = "X",
       .icons = icon,
       .annotations = Annotations{.priority = 1, .lastModified = "2026-01-01T00:00:00Z"},
       .meta = mark});
  server.resource_template("x:{v}", "x", [](std::map<std::string, std::string>) { return "x"; },
                           {.title = "X", .icons = icon, .meta = mark});
  Link link(server, GetParam());
  const json::Value tools = link.ask("tools/list")["result"]["tools"][0];
  const json::Value resources = link.ask("resources/list")["result"]["resources"][0];
  const json::Value templates =
      link.ask("resources/templates/list")["result"]["resourceTemplates"][0];
  for (const json::Value* entry : {&tools, &resources, &templates}) {
    EXPECT_EQ(entry->contains("title"), titles());
    EXPECT_EQ(entry->contains("_meta"), titles());
    EXPECT_EQ(entry->contains("icons"), icons());
  }
  EXPECT_EQ(tools.contains("annotations"), audio_exists());
  EXPECT_EQ(tools.contains("outputSchema"), titles());
  EXPECT_EQ(resources["annotations"].contains("lastModified"), titles());
  EXPECT_EQ(resources["annotations"]["priority"].as_double(), 1);
}

TEST_P(Degrade, WhoTheServerIs) {
  server.tool("t", "", [] {});
  Link link(server);
  json::Value info;
  if (modern()) {
    const json::Value answer = link.ask_modern("tools/list");
    info = answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
  } else {
    const json::Value answer = link.handshake(GetParam());
    info = answer["result"]["serverInfo"];
  }
  EXPECT_EQ(info.contains("title"), titles());
  for (const char* member : {"description", "websiteUrl", "icons"}) {
    EXPECT_EQ(info.contains(member), icons()) << member;
  }
}

TEST_P(Degrade, SamplingSaysOnlyWhatTheRevisionKnows) {
  server.tool("audio", "", [](Context& cx) -> Result<std::string> {
    SamplingRequest request = ask_model("x", 5);
    request.messages.push_back({.role = Role::user, .content = audio("\x01", "audio/wav")});
    auto answer = cx.sample("s", std::move(request));
    if (!answer) return answer.error();
    return "sampled";
  });
  server.tool("blocks", "", [](Context& cx) -> Result<std::string> {
    SamplingRequest request;
    request.maxTokens = 5;
    request.messages.push_back(
        {.role = Role::user, .content = std::vector<SamplingBlock>{text("a"), text("b")}});
    auto answer = cx.sample("s", std::move(request));
    if (!answer) return answer.error();
    return "sampled";
  });
  server.tool("tool_use", "", [](Context& cx) -> Result<std::string> {
    SamplingRequest request;
    request.maxTokens = 5;
    request.messages.push_back(
        {.role = Role::assistant,
         .content = ToolUseContent{.id = "1", .name = "t", .input = RawJson{"{}"}}});
    auto answer = cx.sample("s", std::move(request));
    if (!answer) return answer.error();
    return "sampled";
  });
  Link link(server, GetParam(), {.capabilities = std::string(test::can_all)});
  const auto model = [](std::string_view, const json::Value&) {
    return std::string(R"({"role":"assistant","content":{"type":"text","text":"t"},"model":"m"})");
  };
  // Said in another way, or refused; what is sent is checked against the schema.
  for (const char* name : {"audio", "blocks", "tool_use"}) {
    const json::Value answer = link.converse("tools/call", Link::tool_params(name), model);
    EXPECT_TRUE(text_of(answer) == "sampled" || is_error_result(answer)) << answer.dump();
    EXPECT_TRUE(!icons() || text_of(answer) == "sampled") << name;
  }
}

enum class Color { red, green };
struct Form {
  std::string name{};
  std::optional<int> age{};
  double height{};
  bool sure{};
  Color color{};
  std::optional<Color> other{};
  static constexpr Field fields[] = {
      {.name = "age", .about = "Years", .minimum = 0, .maximum = 150},
      {.name = "name", .min_length = 1, .max_length = 20}};
};
struct Choice {
  std::vector<Color> colors{};
};

TEST_P(Degrade, FormsSayOnlyWhatTheRevisionKnows) {
  server.tool("form", "", [](Context& cx) -> Result<std::string> {
    auto answer = cx.elicit<Form>("f", "Fill in");
    if (!answer) return answer.error();
    return answer->value().name;
  });
  server.tool("several", "", [](Context& cx) -> Result<std::string> {
    auto answer = cx.elicit<Choice>("f", "Choose");
    if (!answer) return answer.error();
    return std::to_string(answer->value().colors.size());
  });
  Link link(server, GetParam(), {.capabilities = std::string(test::can_all)});
  const json::Value one = link.converse(
      "tools/call", Link::tool_params("form"), [](std::string_view, const json::Value& params) {
        EXPECT_TRUE(
            equals(params["requestedSchema"]["properties"]["age"],
                   R"({"type":"integer","description":"Years","minimum":0,"maximum":150})"));
        EXPECT_TRUE(
            equals(params["requestedSchema"]["required"], R"(["name","height","sure","color"])"));
        return accept(R"({"name":"Ada","height":1.7,"sure":true,"color":"red"})");
      });
  if (titles()) {
    EXPECT_EQ(text_of(one), "Ada");
  } else {
    EXPECT_TRUE(is_error_result(one));
  }
  const json::Value several = link.converse(
      "tools/call", Link::tool_params("several"),
      [](std::string_view, const json::Value&) { return accept(R"({"colors":["red","red"]})"); });
  if (icons()) {
    EXPECT_EQ(text_of(several), "2");
  } else {
    // There is no word for a choice of several.
    EXPECT_TRUE(is_error_result(several)) << several.dump();
  }
}

}  // namespace
}  // namespace godwit::inline v0
