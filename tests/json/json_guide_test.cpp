// The snippets of docs/json.md, so that they stay true.
#include <gtest/gtest.h>

#include <cstdio>
#include <godwit/json.hpp>

namespace {

namespace json = godwit::json;

// clang-format off: as the page shows them
TEST(JsonGuide, Value) {
  json::Value v = json::Object{{"name", "godwit"}, {"legs", 2}, {"tags", json::Array{"bird", 7.5}}};
  v["home"]["country"] = "NZ";
  int legs = v["legs"].get<int>();                  // throws json::TypeError if it does not fit
  const json::Value* tag = v.pointer("/tags/0");    // JSON Pointer; nullptr if nothing is there
  std::string text = v.dump({.indent = 2});

  auto parsed = json::parse(text);                  // Result<json::Value>
  if (!parsed) std::puts(parsed.error().message.c_str());
  EXPECT_EQ(legs, 2);
  EXPECT_EQ(*tag, "bird");
  EXPECT_EQ(*parsed, v);
}

TEST(JsonGuide, Document) {
  json::Document document;                          // one per connection
  auto root = document.parse(R"({"name":"godwit","tags":["bird", 7.50]})");   // Result<json::View>
  if (root) {
    auto name = root->find("name").as_string();     // std::optional<std::string_view>
    auto tags = root->find("tags").source();        // the bytes as they came: ["bird", 7.50]
    EXPECT_EQ(name, "godwit");
    EXPECT_EQ(tags, R"(["bird", 7.50])");
  }
  EXPECT_TRUE(root);
}

TEST(JsonGuide, Writer) {
  std::string out;
  json::Writer w(out);
  w.begin_object();
  w.key("n");
  w.value(1.0);
  w.end_object();                                   // {"n":1.0}
  EXPECT_EQ(out, R"({"n":1.0})");
}
// clang-format on

}  // namespace
