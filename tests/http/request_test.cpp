#include "godwit/http/request.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace godwit::inline v0::http {
namespace {

TEST(Request, PathAndQuery) {
  EXPECT_EQ((Request{.target = "/mcp?x=1?y"}.path()), "/mcp");
  EXPECT_EQ((Request{.target = "/mcp?x=1?y"}.query()), "x=1?y");
  EXPECT_EQ((Request{.target = "/mcp"}.query()), "");
}

TEST(Request, ASlashAtTheEndMakesNoDifference) {
  for (const char* target : {"/mcp", "/mcp/", "/mcp?x", "/mcp/?x"}) {
    EXPECT_TRUE((Request{.target = target}.is_at("/mcp"))) << target;
  }
  for (const char* target : {"/", "/mc", "/mcpx", "/mcp//", "/MCP", "/mcp/x", ""}) {
    EXPECT_FALSE((Request{.target = target}.is_at("/mcp"))) << target;
  }
}

bool is_json(std::vector<Field> fields) {
  return Request{.fields = FieldsView(fields)}.is_type("application/json");
}

TEST(Request, TheTypeOfItsBody) {
  for (const char* good :
       {"application/json", "Application/JSON", "application/json; charset=utf-8",
        "application/json ;a=b", "application/json\t;"}) {
    EXPECT_TRUE(is_json({{"Content-Type", good}})) << good;
    EXPECT_TRUE(is_json({{"content-type", good}})) << good;
  }
  for (const char* bad : {"", "text/plain", "application/jsonp", "application/json,text/plain",
                          "text/plain; application/json"}) {
    EXPECT_FALSE(is_json({{"Content-Type", bad}})) << bad;
  }
  EXPECT_FALSE(is_json({}));
  EXPECT_FALSE(
      is_json({{"Content-Type", "application/json"}, {"Content-Type", "application/json"}}));
}

}  // namespace
}  // namespace godwit::inline v0::http
