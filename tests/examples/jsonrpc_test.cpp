// The calculator example, run as a person would: as processes that talk over each transport.
#include <gtest/gtest.h>

#include <godwit/godwit.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "child.hpp"
#include "test_data.hpp"
#include "test_paths.hpp"
#include "wait.hpp"

namespace godwit {
namespace {

const std::string bin = GODWIT_BIN_DIR;

using test::Child;

const std::string expected =
    "subtract by position: 19\n"
    "subtract by name: 19\n"
    "sum: 7\n"
    "get_data: [\"hello\",5]\n"
    "no such method: client error: Method not found (-32601): there is no method \"foobar\"\n"
    "wrong parameter: client error: Invalid params (-32602): /0: expected a number, got "
    "\"forty-two\"\n"
    "unexpected result: Internal error (-32603): the result is not what was "
    "expected: expected a string, got 3\n"
    "batch, first: 7\n"
    "batch, second: 19\n";

TEST(JsonrpcExample, ClientDrivesTheServerItStarts) {
  Loop loop;
  Child client(loop, {bin + "/jsonrpc_client", "--", bin + "/jsonrpc_server", "--stdio"});
  EXPECT_EQ(client.rest(), expected);
}

TEST(JsonrpcExample, OverStdioWithContentLength) {
  Loop loop;
  Child client(loop, {bin + "/jsonrpc_client", "--framing", "content-length", "--",
                      bin + "/jsonrpc_server", "--stdio", "--framing", "content-length"});
  EXPECT_EQ(client.rest(), expected);
}

TEST(JsonrpcExample, OverTcp) {
  Loop loop;
  Child server(loop, {bin + "/jsonrpc_server", "--tcp", "127.0.0.1:0"});
  const std::string line = server.line();
  ASSERT_TRUE(line.starts_with("listening on 127.0.0.1:")) << line;
  const std::string address = line.substr(std::string_view("listening on ").size());
  for (int i = 0; i < 3; ++i) {
    Child client(loop, {bin + "/jsonrpc_client", "--tcp", address});
    EXPECT_EQ(client.rest(), expected);
  }
  server.stop();
}

TEST(JsonrpcExample, OverHttpAndWebSocket) {
  Loop loop;
  for (const std::string scheme : {"http", "ws"}) {
    Child server(loop, {bin + "/jsonrpc_server", "--" + scheme, "127.0.0.1:0"});
    const std::string line = server.line();
    ASSERT_TRUE(line.starts_with("listening on 127.0.0.1:")) << line;
    const std::string url =
        scheme + "://" + line.substr(std::string_view("listening on ").size()) + "/";
    for (int i = 0; i < 3; ++i) {
      Child client(loop, {bin + "/jsonrpc_client", "--" + scheme, url});
      EXPECT_EQ(client.rest(), expected);
    }
    server.stop();
  }
}

TEST(JsonrpcExample, OverAUnixSocket) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/calculator";
  Loop loop;
  Child server(loop, {bin + "/jsonrpc_server", "--unix", path, "--framing", "content-length"});
  ASSERT_EQ(server.line(), "listening on " + path);
  Child client(loop, {bin + "/jsonrpc_client", "--framing", "content-length", "--unix", path});
  EXPECT_EQ(client.rest(), expected);
  server.stop();
}

TEST(JsonrpcExample, HelloClient) {
  Loop loop;
  Child client(loop, {bin + "/hello_rpc_client"});
  EXPECT_EQ(client.rest(), "42 - 23 = 19\n");
}

TEST(JsonrpcExample, WrongOptionsGetTheUsage) {
  Loop loop;
  std::optional<ExitStatus> status;
  auto server = Process::spawn(loop, {.argv = {bin + "/jsonrpc_server", "--framing", "smoke"}});
  server->on_exit([&](ExitStatus how) { status = how; });
  ASSERT_TRUE(test::run_until(loop, [&] { return status.has_value(); }));
  EXPECT_EQ(status->code, 2);
  EXPECT_NE(server->stderr_tail().find("usage: jsonrpc_server"), std::string::npos);
}

// Every shape of a message, sent to the server as one stream of lines; then the input ends.
TEST(JsonrpcExample, AnswersEveryShape) {
  const auto file = test::test_data("jsonrpc2-shapes.json");
  if (!file) GTEST_SKIP() << "jsonrpc2-shapes.json is not there; set GODWIT_TEST_DATA";
  const auto shapes = json::parse(test::read_file(*file));
  ASSERT_TRUE(shapes);
  Loop loop;
  for (const json::Value& shape : *(*shapes)["cases"].as_array()) {
    SCOPED_TRACE(shape["name"].get<std::string>());
    Child server(loop, {bin + "/jsonrpc_server", "--stdio"});
    const std::string text =
        shape.contains("send_raw") ? shape["send_raw"].get<std::string>() : shape["send"].dump();
    server.write(text + "\n");
    server.close_input();
    const std::string answer = server.rest();
    if (shape.contains("expect") && shape["expect"].is_null()) {
      EXPECT_EQ(answer, "");
    } else if (shape["expect"].is_object()) {
      EXPECT_EQ(*json::parse(answer), shape["expect"]);
    } else if (shape.contains("expect_error")) {
      const auto message = json::parse(answer);
      ASSERT_TRUE(message) << answer;
      EXPECT_EQ((*message)["error"]["code"], shape["expect_error"]);
      if (shape.contains("expect_id")) {
        EXPECT_EQ((*message)["id"], shape["expect_id"]);
      }
    } else if (shape.contains("expect_id_text")) {
      EXPECT_NE(answer.find("\"id\":" + shape["expect_id_text"].get<std::string>() + ","),
                std::string::npos);
    } else if (shape.contains("expect_batch_errors")) {
      const auto message = json::parse(answer);
      ASSERT_TRUE(message && message->size() == shape["expect_batch_errors"].size()) << answer;
      for (std::size_t i = 0; i < message->size(); ++i) {
        EXPECT_EQ((*message)[i]["error"]["code"], shape["expect_batch_errors"][i]);
      }
    } else if (shape.contains("expect_batch_ids")) {
      const auto message = json::parse(answer);
      ASSERT_TRUE(message) << answer;
      json::Array ids;
      for (const json::Value& entry : *message->as_array()) ids.push_back(entry["id"]);
      EXPECT_EQ(json::Value(ids), shape["expect_batch_ids"]);
    } else if (shape["expect"] == "dropped and logged, no reply") {
      EXPECT_EQ(answer, "");
    } else if (shape["expect"] == "same id text or -32600") {
      EXPECT_NE(answer.find("\"id\":1.5,"), std::string::npos) << answer;
    } else {
      EXPECT_TRUE(shape.contains("expect_mcp_error")) << "a shape this test does not know";
      EXPECT_EQ((*json::parse(answer))["result"], 2);  // plain JSON-RPC answers a null id
    }
  }
}

}  // namespace
}  // namespace godwit
