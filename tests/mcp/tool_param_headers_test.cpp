#include "mcp/era/tool_param_headers.hpp"

#include <gtest/gtest.h>

#include <string>

#include "godwit/json/document.hpp"

namespace godwit::inline v0::mcp {
namespace {

std::string tool(std::string_view name, std::string_view header) {
  return R"({"name":")" + std::string(name) +
         R"(","inputSchema":{"type":"object","properties":{"a":{"type":"string")" +
         (header.empty() ? std::string() : R"(,"x-mcp-header":")" + std::string(header) + "\"") +
         "}}}}";
}

rpc::MessageFields fields_of(const ToolParamHeaders& headers, const std::string& name,
                             std::string_view arguments) {
  rpc::MessageFields fields;
  headers.add_fields(fields, name, arguments);
  return fields;
}

void learn(ToolParamHeaders& headers, const std::string& tools) {
  json::Document document;
  headers.learn(*document.parse("[" + tools + "]"));
}

TEST(ToolParamHeaders, AddsTheFieldsOfMarkedArguments) {
  ToolParamHeaders headers;
  learn(headers, tool("one", "Region") + "," + tool("plain", ""));
  EXPECT_EQ(fields_of(headers, "one", R"({"a":"eu"})"),
            (rpc::MessageFields{{"Mcp-Param-Region", "eu"}}));
  EXPECT_EQ(fields_of(headers, "one", R"({"a":" eu "})"),
            (rpc::MessageFields{{"Mcp-Param-Region", "=?base64?IGV1IA==?="}}));
  EXPECT_TRUE(fields_of(headers, "one", "{}").empty());
  EXPECT_TRUE(fields_of(headers, "one", "no JSON").empty());
  EXPECT_TRUE(fields_of(headers, "plain", R"({"a":"eu"})").empty());
  EXPECT_TRUE(fields_of(headers, "unknown", R"({"a":"eu"})").empty());
}

TEST(ToolParamHeaders, APageReplacesWhatItNames) {
  ToolParamHeaders headers;
  learn(headers, tool("one", "A") + "," + tool("two", "B"));
  learn(headers, tool("one", "C"));
  EXPECT_EQ(fields_of(headers, "one", R"({"a":"x"})"), (rpc::MessageFields{{"Mcp-Param-C", "x"}}));
  EXPECT_EQ(fields_of(headers, "two", R"({"a":"x"})"), (rpc::MessageFields{{"Mcp-Param-B", "x"}}));
  learn(headers, tool("one", ""));
  EXPECT_TRUE(fields_of(headers, "one", R"({"a":"x"})").empty());
  headers.clear();
  EXPECT_TRUE(fields_of(headers, "two", R"({"a":"x"})").empty());
  EXPECT_EQ(headers.bytes(), 0u);
}

TEST(ToolParamHeaders, RemembersNoMoreThanItsBound) {
  ToolParamHeaders headers;
  for (int i = 0; i < 200; ++i) {
    learn(headers, tool(std::to_string(i) + std::string(100'000, 'n'), "A"));
  }
  EXPECT_LE(headers.bytes(), 4u << 20);
  EXPECT_GT(headers.bytes(), 3u << 20);
  // What it knows can still change.
  learn(headers, tool("0" + std::string(100'000, 'n'), ""));
  EXPECT_LT(headers.bytes(), (4u << 20) - 100'000);
}

}  // namespace
}  // namespace godwit::inline v0::mcp
