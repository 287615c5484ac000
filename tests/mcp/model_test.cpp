// Every example message of the specification: it validates against the official schema, our structs
// read it, and what they write is the same JSON.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "godwit/json/schema.hpp"
#include "godwit/mcp/capabilities.hpp"
#include "godwit/mcp/completion.hpp"
#include "godwit/mcp/content.hpp"
#include "godwit/mcp/elicitation.hpp"
#include "godwit/mcp/implementation.hpp"
#include "godwit/mcp/notification.hpp"
#include "godwit/mcp/prompt.hpp"
#include "godwit/mcp/resource.hpp"
#include "godwit/mcp/sampling.hpp"
#include "godwit/mcp/tool.hpp"
#include "godwit/rpc/message.hpp"
#include "test_data.hpp"

namespace godwit::inline v0 {
namespace {

using Check = std::function<void(const json::Value&)>;

/// Reads it into a T and writes it again.
template <class T>
void same(const json::Value& value) {
  const auto read = json::decode<T>(value);
  ASSERT_TRUE(read) << read.error().message << "\nin " << value.dump();
  const auto written = json::parse(json::encode(*read));
  ASSERT_TRUE(written);
  EXPECT_TRUE(*written == value) << "got      " << written->dump() << "\nexpected " << value.dump();
}
/// The same for each of several.
template <class T>
void each_same(const json::Value& values) {
  ASSERT_TRUE(values.is_array()) << values.dump();
  for (const json::Value& one : *values.as_array()) same<T>(one);
}

/// A result without what the era puts into all of them.
json::Value bare(json::Value result) {
  for (const char* stamp : {"resultType", "ttlMs", "cacheScope"}) result.erase(stamp);
  return result;
}

void message(const json::Value& value) {
  const auto parsed = rpc::parse_message(value.dump());
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_TRUE(parsed->single());
  const auto written = json::parse(rpc::serialize(*parsed->single()));
  EXPECT_TRUE(written && *written == value) << value.dump();
}

/// What requests say about their sender.
void facts(const json::Value& params) {
  const json::Value& meta = params["_meta"];
  const json::Value& client = meta["io.modelcontextprotocol/clientInfo"];
  if (!client.is_null()) same<Implementation>(client);
  const json::Value& capabilities = meta["io.modelcontextprotocol/clientCapabilities"];
  if (!capabilities.is_null()) same<ClientCapabilities>(capabilities);
}

struct CompleteParams {
  CompletionReference ref{};
  CompletionArgument argument{};
  std::optional<CompletionContext> context{};
};
struct RootList {
  std::vector<Root> roots{};
};

void complete_params(const json::Value& params) {
  facts(params);
  json::Value rest = params;
  rest.erase("_meta");
  same<CompleteParams>(rest);
}
void read_result(const json::Value& result) { same<ReadResult>(bare(result)); }
void tool_result(const json::Value& result) { same<ToolResult>(bare(result)); }
void prompt_result(const json::Value& result) { same<PromptResult>(bare(result)); }
void complete_result(const json::Value& result) { same<Completion>(result["completion"]); }
void discover_result(const json::Value& result) {
  same<ServerCapabilities>(result["capabilities"]);
  const json::Value& server = result["_meta"]["io.modelcontextprotocol/serverInfo"];
  if (!server.is_null()) same<Implementation>(server);
}

/// One part of a whole message, by name.
Check part(std::string name, Check check) {
  return [name = std::move(name), check = std::move(check)](const json::Value& value) {
    message(value);
    check(value[name]);
  };
}

const std::map<std::string, Check, std::less<>> checks = {
    {"AudioContent", same<AudioContent>},
    {"BlobResourceContents", same<BlobResourceContents>},
    {"ClientCapabilities", same<ClientCapabilities>},
    {"CreateMessageRequestParams", same<SamplingRequest>},
    {"CreateMessageResult", same<SamplingResult>},
    {"ElicitResult", same<ElicitResult>},
    {"EmbeddedResource", same<EmbeddedResource>},
    {"ImageContent", same<ImageContent>},
    {"ListRootsResult", same<RootList>},
    {"LoggingMessageNotificationParams", same<LoggingMessage>},
    {"ModelPreferences", same<ModelPreferences>},
    {"ProgressNotificationParams", same<Progress>},
    {"Resource", same<Resource>},
    {"ResourceLink", same<ResourceLink>},
    {"Root", same<Root>},
    {"SamplingMessage", same<SamplingMessage>},
    {"ServerCapabilities", same<ServerCapabilities>},
    {"TextContent", same<TextContent>},
    {"TextResourceContents", same<TextResourceContents>},
    {"Tool", same<Tool>},
    {"ToolResultContent", same<ToolResultContent>},
    {"ToolUseContent", same<ToolUseContent>},

    {"CallToolResult", tool_result},
    {"CompleteResult", complete_result},
    {"DiscoverResult", discover_result},
    {"GetPromptResult", prompt_result},
    {"ReadResourceResult", read_result},
    {"ListPromptsResult", [](const auto& v) { each_same<Prompt>(v["prompts"]); }},
    {"ListResourcesResult", [](const auto& v) { each_same<Resource>(v["resources"]); }},
    {"ListResourceTemplatesResult",
     [](const auto& v) { each_same<ResourceTemplate>(v["resourceTemplates"]); }},
    {"ListToolsResult", [](const auto& v) { each_same<Tool>(v["tools"]); }},
    {"CallToolRequestParams", facts},
    {"CompleteRequestParams", complete_params},
    {"GetPromptRequestParams", facts},
    {"PaginatedRequestParams", facts},

    {"CallToolRequest", part("params", facts)},
    {"CompleteRequest", part("params", complete_params)},
    {"DiscoverRequest", part("params", facts)},
    {"GetPromptRequest", part("params", facts)},
    {"ListPromptsRequest", part("params", facts)},
    {"ListResourcesRequest", part("params", facts)},
    {"ListResourceTemplatesRequest", part("params", facts)},
    {"ListToolsRequest", part("params", facts)},
    {"ReadResourceRequest", part("params", facts)},
    {"SubscriptionsListenRequest", part("params",
                                        [](const auto& v) {
                                          facts(v);
                                          same<SubscriptionFilter>(v["notifications"]);
                                        })},
    {"CallToolResultResponse", part("result", tool_result)},
    {"CompleteResultResponse", part("result", complete_result)},
    {"DiscoverResultResponse", part("result", discover_result)},
    {"GetPromptResultResponse", part("result", prompt_result)},
    {"ReadResourceResultResponse", part("result", read_result)},
    {"ListPromptsResultResponse",
     part("result", [](const auto& v) { each_same<Prompt>(v["prompts"]); })},
    {"ListResourcesResultResponse",
     part("result", [](const auto& v) { each_same<Resource>(v["resources"]); })},
    {"ListResourceTemplatesResultResponse",
     part("result", [](const auto& v) { each_same<ResourceTemplate>(v["resourceTemplates"]); })},
    {"ListToolsResultResponse", part("result", [](const auto& v) { each_same<Tool>(v["tools"]); })},
    {"SubscriptionsListenResultResponse", message},
    {"LoggingMessageNotification", part("params", same<LoggingMessage>)},
    {"ProgressNotification", part("params", same<Progress>)},
    {"SubscriptionsAcknowledgedNotification",
     part("params", [](const auto& v) { same<SubscriptionFilter>(v["notifications"]); })},
    {"CancelledNotification", message},
    {"PromptListChangedNotification", message},
    {"ResourceListChangedNotification", message},
    {"ResourceUpdatedNotification", message},
    {"ToolListChangedNotification", message},
    {"HeaderMismatchError", message},
    {"MissingRequiredClientCapabilityError",
     part("error",
          [](const auto& v) { same<ClientCapabilities>(v["data"]["requiredCapabilities"]); })},
    {"UnsupportedProtocolVersionError", message},

    {"CreateMessageRequest", [](const auto& v) { same<SamplingRequest>(v["params"]); }},
    {"InputResponses",
     [](const auto& v) {
       for (const json::Member& one : *v.as_object()) {
         if (one.value.contains("action")) same<ElicitResult>(one.value);
         if (one.value.contains("roots")) same<RootList>(one.value);
         if (one.value.contains("model")) same<SamplingResult>(one.value);
       }
     }},
};

/// Without a struct of their own: read member by member where they are used, or kept as JSON.
const std::set<std::string, std::less<>> without_struct = {
    // The fields of forms travel as the schema they are written as.
    "BooleanSchema", "NumberSchema", "StringSchema", "TitledMultiSelectEnumSchema",
    "TitledSingleSelectEnumSchema", "UntitledMultiSelectEnumSchema",
    "UntitledSingleSelectEnumSchema",
    // Errors are base's Error, which is not written by reflection.
    "InternalError", "InvalidParamsError", "MethodNotFoundError", "ParseError",
    // Questions: the two modes of ElicitRequest are written by hand.
    "ElicitRequest", "ElicitRequestFormParams", "ElicitRequestURLParams", "InputRequests",
    "InputRequiredResult", "ListRootsRequest",
    // One or two members.
    "CancelledNotificationParams", "ResourceUpdatedNotificationParams",
    "SubscriptionsListenResult"};

TEST(Model, EveryExampleIsUnderstood) {
  const auto folder = test::test_data("mcp-schema/schema/2026-07-28/examples");
  if (!folder) GTEST_SKIP() << "no examples: GODWIT_TEST_DATA";
  const auto file = *test::test_data(".") / ".." / "spec" / "schemas" / "2026-07-28.json";
  std::optional<json::Value> schema;
  if (std::filesystem::exists(file)) schema = *json::parse(test::read_file(file));
  int examples = 0;
  std::set<std::string> seen;
  for (const auto& type : std::filesystem::directory_iterator(*folder)) {
    const std::string name = type.path().filename().string();
    seen.insert(name);
    const auto check = checks.find(name);
    EXPECT_TRUE(check != checks.end() || without_struct.contains(name)) << "a new type: " << name;
    std::optional<json::Schema> compiled;
    if (schema) {
      EXPECT_TRUE(std::as_const(*schema)["$defs"].contains(name)) << name;
      json::Value root = json::Object{{"$schema", std::as_const(*schema)["$schema"]}};
      root["$defs"] = std::as_const(*schema)["$defs"];
      root["$ref"] = "#/$defs/" + name;
      auto made = json::Schema::compile(root, {.schema_bytes = 4u << 20});
      ASSERT_TRUE(made) << made.error().message;
      compiled = *std::move(made);
    }
    for (const auto& example : std::filesystem::directory_iterator(type.path())) {
      SCOPED_TRACE(example.path().string());
      ++examples;
      const std::string text = test::read_file(example.path());
      const auto value = json::parse(text);
      ASSERT_TRUE(value) << value.error().message;
      if (compiled) {
        const json::Validation validation = compiled->validate(*value);
        EXPECT_TRUE(validation.ok()) << validation.text();
      }
      EXPECT_TRUE(*json::parse(value->dump()) == *value);
      if (check != checks.end()) check->second(*value);
    }
  }
  EXPECT_GT(examples, 100);
  for (const auto& [name, check] : checks) EXPECT_TRUE(seen.contains(name)) << name;
  for (const std::string& name : without_struct) EXPECT_TRUE(seen.contains(name)) << name;
}

}  // namespace
}  // namespace godwit::inline v0
