// A plain typed call of a tool makes no heap allocation in the steady state, in either era.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "count_allocations.hpp"
#include "godwit/json/document.hpp"
#include "godwit/rpc/peer.hpp"
#include "godwit/server/middleware.hpp"
#include "godwit/server/server.hpp"
#include "reused_output.hpp"

namespace godwit {
namespace {

struct Echo {
  std::string_view message{};
};
struct Point {
  double x{};
  double y{};
};

Server make_server() {
  Server server{{.name = "counted", .version = "1.0.0"}};
  server.tool("echo", "Gives the message back", [](Echo in) { return in.message; });
  server.tool("mirror", "A struct for a struct", [](Point in) { return Point{in.y, in.x}; });
  server.tool("context", "Looks at its context",
              [](Echo in, Context& cx) { return cx.method() == "tools/call" ? in.message : "no"; });
  for (int i = 0; i < 1000; ++i) {
    server.tool("tool_" + std::to_string(i), "One of many", [](Point) { return "x"; });
  }
  return server;
}

class ServerAllocations : public testing::TestWithParam<bool> {
 protected:
  /// Allocations of 10,000 calls after a few to warm up.
  std::size_t count(std::string_view name, std::string_view arguments) {
    rpc::Peer peer(out_, server_.router(), server_.peer_options());
    peer.receive(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"x",)"
                 R"("capabilities":{},"clientInfo":{"name":"test","version":"1"}}})");
    std::string message = R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")" +
                          std::string(name) + R"(","arguments":)" + std::string(arguments);
    if (GetParam()) {
      message += R"(,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                 R"("io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},)"
                 R"("io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}})";
    }
    message += "}}";
    const std::size_t size = message.size();
    message.append(json::Document::padding, ' ');
    const std::string_view text = std::string_view(message).substr(0, size);
    for (int i = 0; i < 10; ++i) peer.on_message(text, json::Document::padding);
    const std::size_t before = allocations;
    const std::size_t answered = out_.messages;
    for (int i = 0; i < 10'000; ++i) peer.on_message(text, json::Document::padding);
    const std::size_t made = allocations - before;
    EXPECT_EQ(out_.messages - answered, 10'000u);
    out_.keep = true;
    peer.on_message(text, json::Document::padding);
    answer_ = out_.text();
    out_.keep = false;
    return made;
  }

  Server server_ = make_server();
  test::Reused out_;
  std::string answer_;
};

TEST_P(ServerAllocations, TextForText) {
  const std::string long_text(300, 'x');
  EXPECT_EQ(count("echo", R"({"message":")" + long_text + "\"}"), 0u);
  EXPECT_NE(answer_.find(long_text), std::string::npos) << answer_;
}

TEST_P(ServerAllocations, StructForStruct) {
  EXPECT_EQ(count("mirror", R"({"x":1.5,"y":2.5})"), 0u);
  EXPECT_NE(answer_.find(R"("structuredContent":{"x":2.5,"y":1.5})"), std::string::npos) << answer_;
}

TEST_P(ServerAllocations, AContextCostsNothing) {
  EXPECT_EQ(count("context", R"({"message":"hello"})"), 0u);
  EXPECT_NE(answer_.find("\"hello\""), std::string::npos) << answer_;
}

TEST_P(ServerAllocations, AChainOfMiddlewareCostsNothing) {
  struct Span {
    TimePoint begin{};
    std::string_view name{};
  };
  std::size_t seen = 0;
  for (int i = 0; i < 5; ++i) {
    server_.use<Span>(
        {.before = [](rpc::IncomingCall& call, Span& span) -> rpc::Verdict {
           span.name = call.name();
           return {};
         },
         .after = [&](rpc::Outcome& outcome,
                      Span& span) { seen += span.name.size() + outcome.result().size(); }});
  }
  server_.use(authorize([](const CallFacts&) -> Result<void> { return {}; }));
  const std::string long_text(300, 'x');
  EXPECT_EQ(count("echo", R"({"message":")" + long_text + "\"}"), 0u);
  EXPECT_NE(answer_.find(long_text), std::string::npos) << answer_;
  EXPECT_GT(seen, 10'000u * 5 * 300);
}

INSTANTIATE_TEST_SUITE_P(Eras, ServerAllocations, testing::Bool(),
                         [](const auto& param) { return param.param ? "stateless" : "stateful"; });

}  // namespace
}  // namespace godwit
