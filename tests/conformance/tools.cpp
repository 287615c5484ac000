// Tools that answer by themselves: content, errors, progress, log lines, schemas, changes.
#include <chrono>
#include <godwit/godwit.hpp>
#include <string>
#include <thread>
#include <vector>

#include "fixture.hpp"

namespace conformance {

namespace {

struct Region {
  std::string region{};
};

/// Long enough for the suite to see the messages one by one.
void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

/// Every keyword of it must come through tools/list as it is written here.
constexpr const char* rich_schema = R"({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {
    "address": {
      "$anchor": "addressDef",
      "type": "object",
      "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
    }
  },
  "properties": {
    "name": {"type": "string"},
    "address": {"$ref": "#/$defs/address"},
    "contactMethod": {"type": "string", "enum": ["phone", "email"]},
    "phone": {"type": "string"},
    "email": {"type": "string"}
  },
  "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
  "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
  "then": {"required": ["phone"]},
  "else": {"required": ["email"]},
  "additionalProperties": false
})";

void add_content_tools(godwit::Server& server) {
  server.tool("test_simple_text", "Answers with a text",
              [] { return "This is a simple text response for testing."; });

  server.tool("test_image_content", "Answers with an image",
              [] { return godwit::ImageContent{.data = dot_png, .mimeType = "image/png"}; });

  server.tool("test_audio_content", "Answers with a sound",
              [] { return godwit::AudioContent{.data = silence_wav, .mimeType = "audio/wav"}; });

  server.tool("test_embedded_resource", "Answers with a resource", [] {
    return godwit::embed(
        godwit::TextResourceContents{.uri = "test://embedded-resource",
                                     .mimeType = "text/plain",
                                     .text = "This is an embedded resource content."});
  });

  server.tool("test_multiple_content_types", "Answers with a text, an image and a resource", [] {
    return std::vector<godwit::Content>{
        godwit::text("Multiple content types test:"),
        godwit::ImageContent{.data = dot_png, .mimeType = "image/png"},
        godwit::embed(godwit::TextResourceContents{.uri = "test://mixed-content-resource",
                                                   .mimeType = "application/json",
                                                   .text = R"({"test":"data","value":123})"})};
  });

  server.tool("test_error_handling", "Fails, and says so to the model",
              []() -> godwit::Result<std::string> {
                return godwit::tool_error("This tool intentionally returns an error for testing");
              });
}

void add_telling_tools(godwit::Server& server) {
  server.tool("test_tool_with_logging", "Writes three log lines while it works",
              godwit::blocking([](godwit::Context& cx) {
                cx.log(godwit::LoggingLevel::info, "Tool execution started");
                pause();
                cx.log(godwit::LoggingLevel::info, "Tool processing data");
                pause();
                cx.log(godwit::LoggingLevel::info, "Tool execution completed");
                return "Tool with logging executed successfully";
              }));

  server.tool("test_logging_tool", "Writes a log line, if the request wants any",
              [](godwit::Context& cx) {
                cx.log(godwit::LoggingLevel::info, "This line was asked for");
                return "Logged";
              });

  server.tool("test_tool_with_progress", "Reports progress while it works",
              godwit::blocking([](godwit::Context& cx) {
                cx.progress(0, 100, "Completed step 0 of 100");
                pause();
                cx.progress(50, 100, "Completed step 50 of 100");
                pause();
                cx.progress(100, 100, "Completed step 100 of 100");
                return "Tool with progress executed successfully";
              }));

  server.tool("test_reconnection", "Answers after the client has come back for the answer",
              godwit::blocking([](godwit::Context& cx) {
                cx.close_stream();
                pause();
                pause();
                return "Reconnection test completed successfully.";
              }));
}

void add_changing_tools(godwit::Server& server) {
  server.tool("test_trigger_tool_change", "Changes the list of tools", [&server] {
    server.tool("test_changed_tool", "Offered anew by each change", [] { return "changed"; });
    return "The list of tools has changed";
  });

  server.tool("test_trigger_prompt_change", "Changes the list of prompts", [&server] {
    server.prompt("test_changed_prompt", "Offered anew by each change", [] { return "changed"; });
    return "The list of prompts has changed";
  });
}

void add_schema_tools(godwit::Server& server) {
  server.tool("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features",
              [](godwit::json::View in) { return "Called with " + std::string(in.source()); },
              {.input_schema = {rich_schema}});

  server.tool("test_x_mcp_header", "Has an argument that travels in a header, too",
              [](Region in) { return "The region is " + in.region; },
              {.input_schema = {R"({"type": "object", "properties": {"region": {"type": "string",)"
                                R"( "x-mcp-header": "Region"}}, "required": ["region"]})"}});
}

}  // namespace

void add_tools(godwit::Server& server) {
  add_content_tools(server);
  add_telling_tools(server);
  add_changing_tools(server);
  add_schema_tools(server);
}

}  // namespace conformance
