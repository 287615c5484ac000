#include "godwit/web/blocking_endpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "godwit/base/executor.hpp"
#include "godwit/mcp/revision.hpp"
#include "godwit/server/server.hpp"

namespace godwit::inline v0 {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// A stateless call of a tool, with its bytes.
class Call {
 public:
  Call(const std::string& method, const std::string& name, const std::string& params)
      : version_(revisions().front()), method_(method), name_(name) {
    body_ = R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":{)" + params +
            R"(,"_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":")" +
            version_ + R"(","io.modelcontextprotocol/clientCapabilities":{}}}})";
    fields_ = {{"Host", "localhost"},
               {"Content-Type", "application/json"},
               {"MCP-Protocol-Version", version_},
               {"Mcp-Method", method_}};
    if (!name_.empty()) fields_.push_back({"Mcp-Name", name_});
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  static std::string tool(const std::string& name) {
    return R"("name":")" + name + R"(","arguments":{})";
  }

  http::Request request() const {
    return {.method = "POST", .target = "/mcp", .fields = http::FieldsView(fields_), .body = body_};
  }

 private:
  std::string version_, method_, name_, body_;
  std::vector<http::Field> fields_;
};

class Blocking : public testing::Test {
 protected:
  Blocking() {
    server.tool("now", "", [] { return "now"; });
    server.tool("slow", "", blocking([this](Context& cx) {
                  cx.progress(1);
                  ++running;
                  while (!go && !cx.cancelled().stop_requested()) std::this_thread::yield();
                  cx.progress(2);
                  --running;
                  return "slow";
                }));
    server.tool("quiet", "", blocking([] { return "quiet"; }));
  }

  http::Response handle(const std::string& tool) {
    const Call call("tools/call", tool, Call::tool(tool));
    return endpoint.handle(call.request());
  }

  std::atomic<bool> go = false;
  std::atomic<int> running = 0;
  ThreadPool pool{4};
  Server server{{.name = "s", .version = "1", .executor = &pool}};
  BlockingEndpoint endpoint{server};
};

TEST_F(Blocking, AnswersAtOnce) {
  const http::Response response = handle("now");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.fields.find("Content-Type"), "application/json");
  EXPECT_THAT(response.body, HasSubstr("now"));
}

TEST_F(Blocking, WaitsForHandlersThatAnswerLater) {
  EXPECT_THAT(handle("quiet").body, HasSubstr("quiet"));
}

TEST_F(Blocking, GathersAStream) {
  go = true;
  const http::Response response = handle("slow");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.fields.find("Content-Type"), "text/event-stream");
  EXPECT_THAT(response.body, HasSubstr("notifications/progress"));
  EXPECT_THAT(response.body, HasSubstr("slow"));
}

TEST_F(Blocking, OneThatWaitsHoldsNobodyUp) {
  std::thread other([&] { EXPECT_THAT(handle("slow").body, HasSubstr("slow")); });
  while (running == 0) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(handle("now").status, 200);
  go = true;
  other.join();
}

TEST_F(Blocking, ManyThreadsGetTheirOwnAnswers) {
  go = true;
  std::vector<std::thread> threads;
  for (const char* tool : {"now", "slow", "quiet", "slow", "quiet", "now"}) {
    threads.emplace_back([this, tool] {
      for (int i = 0; i < 50; ++i) EXPECT_THAT(handle(tool).body, HasSubstr(tool));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Blocking, GivesUpInTime) {
  const Call call("tools/call", "slow", Call::tool("slow"));
  EXPECT_EQ(endpoint.handle(call.request(), std::chrono::milliseconds(50)).status, 504);
  while (running > 0) std::this_thread::yield();  // its token stops
}

TEST_F(Blocking, HandsPiecesOnAsTheyCome) {
  const Call call("tools/call", "slow", Call::tool("slow"));
  std::string got;
  int heads = 0;
  const http::Response head = endpoint.handle(
      call.request(),
      [&](const http::Response& response) {
        ++heads;
        return response.status == 200;
      },
      [&](std::string_view piece) {
        got += piece;
        go = true;  // only now does the handler go on
        return true;
      });
  EXPECT_EQ(heads, 1);
  EXPECT_EQ(head.status, 200);
  EXPECT_THAT(got, HasSubstr(R"("progress":1)"));
  EXPECT_THAT(got, HasSubstr("slow"));
}

TEST_F(Blocking, AClientThatIsGoneStopsItsHandler) {
  const Call call("tools/call", "slow", Call::tool("slow"));
  endpoint.handle(
      call.request(), [](const http::Response&) { return true; },
      [](std::string_view) { return false; });
  while (running > 0) std::this_thread::yield();
}

TEST_F(Blocking, AListenEndsWhenItsClientGoes) {
  const Call call("subscriptions/listen", "", R"("notifications":{"toolsListChanged":true})");
  int pieces = 0;
  std::thread change;
  endpoint.handle(
      call.request(), [](const http::Response&) { return true; },
      [&](std::string_view piece) {
        if (++pieces == 1) {
          EXPECT_THAT(std::string(piece), HasSubstr("acknowledged"));
          change = std::thread([this] { server.tool("more", "", [] { return "more"; }); });
          return true;
        }
        EXPECT_THAT(std::string(piece), HasSubstr("list_changed"));
        return false;
      });
  change.join();
  EXPECT_EQ(pieces, 2);
}

}  // namespace
}  // namespace godwit::inline v0
