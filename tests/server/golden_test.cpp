// One neutral scenario in every revision, byte for byte. tests/golden/<revision>.jsonl has one line
// per message: {"client":…} was sent to the server, {"server":…} is what it sent. With
// GODWIT_UPDATE_GOLDEN=1 the files are written instead of compared.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "mcp_station.hpp"
#include "test_paths.hpp"

namespace godwit::inline v0 {
namespace {

using test::Link;

enum class Unit { celsius, kelvin };
struct Weather {
  std::string city{};
  std::optional<int> days{};
  Unit unit{};
  static constexpr Field fields[] = {
      {"city", "City to look up"},
      {.name = "days", .about = "How far ahead", .minimum = 1, .maximum = 10}};
};
struct Forecast {
  std::string text{};
  double degrees{};
};
struct Confirm {
  bool sure{};
};
struct Draft {
  std::string topic{};
  std::optional<std::string> tone{};
};
struct Row {
  std::string table{};
  std::string id{};
};

Server scenario_server() {
  ServerOptions options = test::server_options();
  options.name = "golden";
  options.version = "1.0";
  options.title = "Golden";
  options.description = "A server that never changes";
  options.websiteUrl = "https://example.com/";
  options.icons = {{.src = "https://example.com/i.png", .mimeType = "image/png"}};
  options.instructions = "Ask for the weather.";
  options.cache = {.ttl = std::chrono::minutes(1), .scope = CacheScope::public_};
  Server server(std::move(options));
  server.tool("forecast", "Forecast for a city",
              [](Weather in, Context& cx) -> Result<Forecast> {
                cx.progress(0.5, 1, "looking");
                cx.log(LoggingLevel::warning, "clouds", "sky");
                if (in.city == "Atlantis") return tool_error("no such city");
                if (in.city == "Nowhere") return Error{.code = 4, .message = "no map"};
                return Forecast{.text = "sunny in " + in.city, .degrees = 21.5};
              },
              {.title = "Forecast",
               .annotations = {.readOnlyHint = true, .openWorldHint = false},
               .icons = {{.src = "data:image/png;base64,AA==", .theme = IconTheme::dark}},
               .meta = json::Object{{"com.example/cost", 1}}});
  server.tool("gallery", "One of each", [] {
    return std::vector<Content>{
        text("words"), image("\x01", "image/png"), audio("\x02", "audio/wav"),
        link("weather://oslo", "oslo"),
        embed(TextResourceContents{
            .uri = "weather://rome", .mimeType = "text/plain", .text = "hot"})};
  });
  server.tool("ask", "Asks first", [](Context& cx) -> Result<std::string> {
    auto sure = cx.elicit<Confirm>("sure", "Sure?");
    if (!sure) return sure.error();
    return sure->accepted() ? "done" : "not done";
  });
  server.tool("count", "A number", [] { return 3; });
  server.resource("weather://oslo", "oslo", [] { return "rain"; },
                  {.title = "Oslo",
                   .mimeType = "text/plain",
                   .size = 4,
                   .annotations = Annotations{.audience = std::vector{Role::user},
                                              .priority = 0.5,
                                              .lastModified = "2026-01-01T00:00:00Z"}});
  server.resource("weather://map", "map", [] { return Blob{"\x01\x02\x03"}; },
                  {.mimeType = "image/png"});
  server.resource_template("db://{table}/{id}", "row",
                           [](Row in) -> Result<std::string> {
                             if (in.id == "0") return not_found("db://" + in.table + "/0");
                             return in.table + "#" + in.id;
                           },
                           {.title = "A row"});
  server.prompt("draft", "Drafts a text",
                [](Draft in) {
                  return PromptResult{.description = "A draft",
                                      .messages = {user_says(text("Write about " + in.topic)),
                                                   assistant_says(link("weather://oslo", "oslo"))}};
                },
                {.title = "Draft"});
  server.complete_prompt("draft", "topic", [](const CompletionQuery& query) {
    return Completion{.values = {query.value + "ducks", query.value + "owls"}, .total = 2};
  });
  server.complete_template("db://{table}/{id}", "id", [](const CompletionQuery& query) {
    const auto table = query.context.find("table");
    return Completion{.values = {(table == query.context.end() ? "" : table->second) + "7"}};
  });
  return server;
}

class Recording {
 public:
  explicit Recording(std::string_view revision)
      : server_(scenario_server()),
        revision_(revision),
        link_(server_, {}, {.capabilities = std::string(test::can_all)}) {}

  std::string run() {
    // A Link reads what comes; here the bytes count, so a second sink sees them first.
    if (!test::is_modern(revision_)) {
      send("initialize", R"("protocolVersion":")" + revision_ +
                             R"(","capabilities":{"roots":{},"sampling":{},"elicitation":{}},)" +
                             R"("clientInfo":{"name":"client","version":"1"})");
      write("client", R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
      send("ping", "");
      send("logging/setLevel", R"("level":"info")");
    } else {
      send("server/discover", "");
    }
    send("tools/list", "");
    send("resources/list", "");
    send("resources/templates/list", "");
    send("prompts/list", "");
    send(
        "tools/call",
        R"("name":"forecast","arguments":{"city":"Oslo","unit":"kelvin"},"_meta":{"progressToken":7})");
    call("forecast", R"({"city":"Atlantis","unit":"kelvin"})");
    call("forecast", R"({"city":"Nowhere","unit":"kelvin"})");
    call("forecast", R"({"city":"Oslo","unit":"miles"})");
    call("gallery", "{}");
    call("count", "{}");
    call("nothing", "{}");
    ask();
    for (const char* uri :
         {"weather://oslo", "weather://map", "db://birds/7", "db://birds/0", "weather://nowhere"}) {
      send("resources/read", R"("uri":")" + std::string(uri) + "\"");
    }
    send("prompts/get", R"("name":"draft","arguments":{"topic":"birds"})");
    send("prompts/get", R"("name":"draft")");
    send("prompts/get", R"("name":"nothing")");
    send("completion/complete",
         R"("ref":{"type":"ref/prompt","name":"draft"},"argument":{"name":"topic","value":"x"})");
    send(
        "completion/complete",
        R"("ref":{"type":"ref/resource","uri":"db://{table}/{id}"},"argument":{"name":"id","value":""},"context":{"arguments":{"table":"birds"}})");
    send("no/such/method", "");
    return text_;
  }

 private:
  void send(std::string_view method, std::string_view members) {
    const std::string id = std::to_string(++last_id_);
    std::string params(members);
    if (test::is_modern(revision_)) {
      const std::size_t at = params.find(R"("_meta":{)");
      const std::string facts =
          R"("io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"client","version":"1"},"io.modelcontextprotocol/logLevel":"info")";
      if (at != params.npos) {
        params.insert(at + 9, facts + ",");
      } else {
        params += (params.empty() ? "" : ",") + (R"("_meta":{)" + facts + "}");
      }
    }
    write("client", R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + std::string(method) +
                        "\"" + (params.empty() ? "" : R"(,"params":{)" + params + "}") + "}");
  }
  void call(std::string_view name, std::string_view arguments) {
    send("tools/call",
         R"("name":")" + std::string(name) + R"(","arguments":)" + std::string(arguments));
  }
  void ask() {
    call("ask", "{}");
    const json::Value& last = link_.sent.back();
    if (test::is_modern(revision_)) {
      send("tools/call",
           R"("name":"ask","arguments":{},"requestState":)" +
               last["result"]["requestState"].dump() +
               R"(,"inputResponses":{"sure":{"action":"accept","content":{"sure":true}}})");
    } else if (last.contains("method")) {
      write("client", R"({"jsonrpc":"2.0","id":)" + last["id"].dump() +
                          R"(,"result":{"action":"accept","content":{"sure":true}}})");
    }
  }
  void write(std::string_view who, const std::string& message) {
    text_ += R"({")" + std::string(who) + R"(":)" + message + "}\n";
    const std::size_t before = link_.sent_texts.size();
    link_.receive(message);
    for (std::size_t i = before; i < link_.sent_texts.size(); ++i) {
      text_ += R"({"server":)" + link_.sent_texts[i] + "}\n";
    }
    if (link_.revision().empty() && !link_.sent.empty() && !test::is_modern(revision_)) {
      link_.set_revision(revision_);
    }
  }

  Server server_;
  std::string revision_;
  Link link_;
  int last_id_ = 0;
  std::string text_;
};

class Golden : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Revisions, Golden, testing::ValuesIn(test::all_revisions));

TEST_P(Golden, SaysExactlyThis) {
  const std::string revision(GetParam());
  const std::string text = Recording(revision).run();
  const std::filesystem::path file =
      std::filesystem::path(GODWIT_SOURCE_DIR) / "tests" / "golden" / (revision + ".jsonl");
  const char* update = std::getenv("GODWIT_UPDATE_GOLDEN");
  if (update && std::string_view(update) == "1") {
    std::ofstream(file, std::ios::binary) << text;
    return;
  }
  std::istringstream actual(text), expected(test::read_file(file));
  std::string a, b;
  for (int line = 1; std::getline(expected, b); ++line) {
    ASSERT_TRUE(std::getline(actual, a)) << "ends before line " << line << ": " << b;
    ASSERT_EQ(a, b) << "line " << line;
  }
  EXPECT_FALSE(std::getline(actual, a)) << "more than expected: " << a;
}

}  // namespace
}  // namespace godwit::inline v0
