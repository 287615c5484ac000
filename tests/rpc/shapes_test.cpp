// The examples of the JSON-RPC 2.0 specification, and the shapes of jsonrpc2-shapes.json, sent to a
// peer: whole, cut off at every byte, and inside other messages.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "rpc_station.hpp"
#include "test_data.hpp"

namespace godwit::inline v0::rpc {
namespace {

using test::error_of;
using test::same_json;
using test::Station;

struct Operands {
  int a{};
  int b{};
};

std::shared_ptr<Router> shapes_router() {
  auto router = std::make_shared<Router>();
  router->on("sum",
             [](std::vector<int> all) { return std::accumulate(all.begin(), all.end(), 0); });
  router->on("sum_named", [](Operands in) { return in.a + in.b; });
  router->on("note", [](json::Value) {});
  return router;
}

std::shared_ptr<Router> specification_router() {
  auto router = std::make_shared<Router>();
  router->on("subtract", {"minuend", "subtrahend"}, [](int a, int b) { return a - b; });
  router->on("sum",
             [](std::vector<int> all) { return std::accumulate(all.begin(), all.end(), 0); });
  router->on("get_data", [] { return json::Array{"hello", 5}; });
  for (const char* name : {"update", "notify_hello", "notify_sum"}) {
    router->on(name, [](json::Value) {});
  }
  return router;
}

struct Example {
  const char* send;
  const char* expect;  // without the messages of errors, which are ours
};

const Example specification[] = {
    {R"({"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1})",
     R"({"jsonrpc": "2.0", "result": 19, "id": 1})"},
    {R"({"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2})",
     R"({"jsonrpc": "2.0", "result": -19, "id": 2})"},
    {R"({"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3})",
     R"({"jsonrpc": "2.0", "result": 19, "id": 3})"},
    {R"({"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4})",
     R"({"jsonrpc": "2.0", "result": 19, "id": 4})"},
    {R"({"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]})", ""},
    {R"({"jsonrpc": "2.0", "method": "foobar"})", ""},
    {R"({"jsonrpc": "2.0", "method": "foobar", "id": "1"})",
     R"({"jsonrpc": "2.0", "error": {"code": -32601}, "id": "1"})"},
    {R"({"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz])",
     R"({"jsonrpc": "2.0", "error": {"code": -32700}, "id": null})"},
    {R"({"jsonrpc": "2.0", "method": 1, "params": "bar"})",
     R"({"jsonrpc": "2.0", "error": {"code": -32600}, "id": null})"},
    {R"([{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},{"jsonrpc": "2.0", "method"])",
     R"({"jsonrpc": "2.0", "error": {"code": -32700}, "id": null})"},
    {"[]", R"({"jsonrpc": "2.0", "error": {"code": -32600}, "id": null})"},
    {"[1]", R"([{"jsonrpc": "2.0", "error": {"code": -32600}, "id": null}])"},
    {"[1,2,3]", R"([{"jsonrpc": "2.0", "error": {"code": -32600}, "id": null},
                    {"jsonrpc": "2.0", "error": {"code": -32600}, "id": null},
                    {"jsonrpc": "2.0", "error": {"code": -32600}, "id": null}])"},
    {R"([{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
         {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
         {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},
         {"foo": "boo"},
         {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
         {"jsonrpc": "2.0", "method": "get_data", "id": "9"}])",
     R"([{"jsonrpc": "2.0", "result": 7, "id": "1"}, {"jsonrpc": "2.0", "result": 19, "id": "2"},
         {"jsonrpc": "2.0", "error": {"code": -32600}, "id": null},
         {"jsonrpc": "2.0", "error": {"code": -32601}, "id": "5"},
         {"jsonrpc": "2.0", "result": ["hello", 5], "id": "9"}])"},
    {R"([{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},
         {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}])",
     ""},
};

/// The answer without what the specification does not prescribe: sentences and data of errors.
std::string bare(const std::string& answer) {
  if (answer.empty()) return answer;
  auto value = json::parse(answer);
  EXPECT_TRUE(value) << answer;
  const auto strip = [](json::Value& one) {
    if (json::Value* error = one.pointer("/error")) {
      EXPECT_FALSE((*error)["message"].get<std::string>().empty());
      error->erase("message");
      error->erase("data");
    }
  };
  if (json::Array* all = value->as_array()) {
    for (json::Value& one : *all) strip(one);
  } else {
    strip(*value);
  }
  return value->dump();
}

TEST(Specification, Examples) {
  Station station(specification_router());
  for (const Example& example : specification) {
    const std::string answer = bare(station.receive(example.send));
    if (*example.expect == '\0') {
      EXPECT_EQ(answer, "") << example.send;
    } else {
      EXPECT_TRUE(same_json(answer, example.expect)) << example.send;
    }
  }
}

/// Every beginning of a text is answered by one message: a parse error, unless it is complete.
void cut_at_every_byte(Station& station, std::string_view text) {
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::string_view cut = text.substr(0, size);
    const std::string answer = station.receive(cut);
    if (json::parse(cut)) {
      EXPECT_LE(station.sent.size(), 1u) << cut;
    } else {
      EXPECT_EQ(error_of(answer), "-32700 null") << cut;
      EXPECT_EQ(station.sent.size(), 1u) << cut;
    }
  }
  EXPECT_EQ(station.receive(R"({"jsonrpc":"2.0","method":"sum","params":[1,1],"id":0})"),
            R"({"jsonrpc":"2.0","id":0,"result":2})");
}

TEST(Specification, ExamplesCutAtEveryByte) {
  Station station(specification_router());
  for (const Example& example : specification) cut_at_every_byte(station, example.send);
}

TEST(Specification, ExamplesWithOneByteChanged) {
  Station station(specification_router());
  for (const Example& example : specification) {
    std::string text = example.send;
    for (std::size_t i = 0; i < text.size(); ++i) {
      for (const char c : {'\0', '"', '{', '}', ']', ',', ':', ' ', '9', '\x80'}) {
        const char old = std::exchange(text[i], c);
        const std::string answer = station.receive(text);
        EXPECT_LE(station.sent.size(), 1u) << text;
        if (!answer.empty()) {
          EXPECT_TRUE(json::parse(answer)) << text;
        }
        text[i] = old;
      }
    }
  }
}

// Own copies of the shapes, for where the file is not at hand.

TEST(Shapes, OwnCases) {
  Station station(shapes_router());
  const auto is = [&](std::string_view send, std::string_view expected) {
    EXPECT_TRUE(same_json(station.receive(send), expected)) << send;
  };
  is(R"({"jsonrpc":"2.0","method":"sum","params":[20,3],"id":11})",
     R"({"jsonrpc":"2.0","result":23,"id":11})");
  is(R"({"id":12,"params":{"b":3,"a":20},"method":"sum_named","jsonrpc":"2.0"})",
     R"({"jsonrpc":"2.0","result":23,"id":12})");
  EXPECT_EQ(station.receive(R"({"jsonrpc":"2.0","method":"note","params":["x"]})"), "");
  EXPECT_EQ(station.receive(R"({"jsonrpc":"2.0","method":"unknown","params":["x"]})"), "");
  EXPECT_EQ(error_of(station.receive(R"({"jsonrpc":"2.0","method":"unknown","id":"i"})")),
            R"(-32601 "i")");
  EXPECT_EQ(error_of(station.receive(R"({"jsonrpc":"2.0","Method":"sum","id":1})")), "-32600 1");
  EXPECT_EQ(error_of(station.receive(R"({"jsonrpc":2.0,"method":"sum","id":1})")), "-32600 1");
  EXPECT_EQ(
      station.receive(R"({"jsonrpc":"2.0","method":"sum","params":[1],"id":90071992547409931})"),
      R"({"jsonrpc":"2.0","id":90071992547409931,"result":1})");
  EXPECT_EQ(
      station.receive(R"({"jsonrpc":"2.0","result":1,"error":{"code":1,"message":"m"},"id":1})"),
      "");
  EXPECT_EQ(
      station.receive(R"([{"jsonrpc":"2.0","method":"note"},{"jsonrpc":"2.0","method":"x"}])"), "");
}

/// One case of jsonrpc2-shapes.json.
void check_shape(const json::Value& shape) {
  Station station(shapes_router());
  Station tightened(shapes_router(), {.rules = {.array_params = false, .null_id = false}});
  const std::string send =
      shape["send_raw"].is_string() ? shape["send_raw"].get<std::string>() : shape["send"].dump();
  SCOPED_TRACE(shape["name"].dump() + ": " + send);
  const std::string answer = station.receive(send);
  int checks = 0;
  if (shape["expect"].is_object() && ++checks) {
    EXPECT_TRUE(same_json(answer, shape["expect"].dump()));
  } else if (shape["expect"].is_string() && ++checks) {
    // Two cases say in words what may happen.
    const std::string words = shape["expect"].get<std::string>();
    if (words == "same id text or -32600") {
      EXPECT_EQ(answer, R"({"jsonrpc":"2.0","id":1.5,"result":2})");
    } else {
      EXPECT_EQ(words, "dropped and logged, no reply");
      EXPECT_EQ(answer, "");
      EXPECT_TRUE(station.logged("an invalid response was dropped"));
    }
  } else if (shape.contains("expect") && ++checks) {
    EXPECT_EQ(answer, "");
  }
  const auto parsed = json::parse(answer.empty() ? "null" : answer);
  ASSERT_TRUE(parsed);
  if (shape.contains("expect_error") && ++checks) {
    EXPECT_EQ((*parsed)["error"]["code"], shape["expect_error"]);
  }
  if (shape.contains("expect_id") && ++checks) {
    EXPECT_TRUE(parsed->contains("id"));
    EXPECT_EQ((*parsed)["id"], shape["expect_id"]);
  }
  if (shape.contains("expect_id_text") && ++checks) {
    EXPECT_NE(answer.find("\"id\":" + shape["expect_id_text"].get<std::string>() + ","),
              answer.npos);
  }
  if (shape.contains("expect_mcp_error") && ++checks) {
    EXPECT_EQ(error_of(tightened.receive(send)), shape["expect_mcp_error"].dump() + " null");
    EXPECT_EQ(answer, R"({"jsonrpc":"2.0","id":null,"result":2})");
  }
  for (const char* list : {"expect_batch_errors", "expect_batch_ids"}) {
    if (!shape.contains(list)) continue;
    ++checks;
    const bool errors = std::string_view(list) == "expect_batch_errors";
    json::Array got;
    for (const json::Value& one : *parsed->as_array()) {
      got.push_back(errors ? one["error"]["code"] : one["id"]);
    }
    EXPECT_EQ(json::Value(got), shape[list]);
  }
  EXPECT_GT(checks, 0) << "a kind of expectation that this test does not know";
  cut_at_every_byte(station, send);
}

TEST(Shapes, EveryCaseOfTheFile) {
  const auto path = test::test_data("jsonrpc2-shapes.json");
  if (!path) GTEST_SKIP() << "GODWIT_TEST_DATA has no jsonrpc2-shapes.json";
  const auto file = json::parse(test::read_file(*path));
  ASSERT_TRUE(file);
  ASSERT_GE((*file)["cases"].size(), 20u);
  for (const json::Value& shape : *(*file)["cases"].as_array()) check_shape(shape);
}

}  // namespace
}  // namespace godwit::inline v0::rpc
