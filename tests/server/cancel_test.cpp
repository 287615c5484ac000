#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::code_of;
using test::Link;
using test::text_of;

class Cancel : public testing::TestWithParam<std::string_view> {
 protected:
  Cancel() : server(test::server_options()) {
    server.tool("slow", "",
                [this](Reply<std::string> reply) { replies.push_back(std::move(reply)); });
    server.tool("quick", "", [] { return "quick"; });
  }
  Server server;
  std::vector<Reply<std::string>> replies;
};
INSTANTIATE_TEST_SUITE_P(Revisions, Cancel, testing::ValuesIn(test::all_revisions));

TEST_P(Cancel, StopsTheHandlerAndSendsNothing) {
  Link link(server, GetParam());
  const std::string one = link.request("tools/call", Link::tool_params("slow"));
  const std::string two = link.request("tools/call", Link::tool_params("slow"));
  EXPECT_FALSE(replies[0].cancelled().stop_requested());
  link.forget();
  link.cancel(one);
  EXPECT_TRUE(replies[0].cancelled().stop_requested());
  EXPECT_FALSE(replies[1].cancelled().stop_requested());
  replies[0].context().progress(1);
  replies[0].context().log(LoggingLevel::emergency, "x");
  replies[0]("late");
  link.peer->process();
  EXPECT_TRUE(link.sent.empty());
  replies[1]("two");
  EXPECT_EQ(text_of(link.take_answer(two)), "two");
  EXPECT_EQ(link.peer->in_flight(), 0u);
}

TEST_P(Cancel, UnknownFinishedAndMalformedOnesAreIgnored) {
  Link link(server, GetParam());
  const std::string id = link.request("tools/call", Link::tool_params("slow"));
  replies[0]("done");
  EXPECT_EQ(text_of(link.take_answer(id)), "done");
  link.forget();
  link.cancel(id);
  link.cancel("4711");
  link.cancel(R"("x")");
  for (const char* params : {"{}", R"({"requestId":null})", R"({"requestId":{}})",
                             R"({"requestId":1.5})", R"({"requestId":[1]})"}) {
    link.notify("notifications/cancelled", params);
  }
  link.receive(R"({"jsonrpc":"2.0","method":"notifications/cancelled"})");
  EXPECT_TRUE(link.sent.empty());
  EXPECT_EQ(text_of(link.tool("quick")), "quick");
}

TEST_P(Cancel, AnIdIsANumberOrAText) {
  Link link(server, GetParam());
  link.raw("70", "tools/call", link.dressed(Link::tool_params("slow")));
  link.raw(R"("70")", "tools/call", link.dressed(Link::tool_params("slow")));
  link.cancel(R"("70")");
  EXPECT_FALSE(replies[0].cancelled().stop_requested());
  EXPECT_TRUE(replies[1].cancelled().stop_requested());
  replies[0]("number");
  EXPECT_EQ(text_of(link.take_answer("70")), "number");
}

TEST_P(Cancel, TheEndOfTheConnectionStopsEverything) {
  std::stop_token token;
  {
    Link link(server, GetParam());
    link.request("tools/call", Link::tool_params("slow"));
    token = replies[0].cancelled();
    EXPECT_FALSE(token.stop_requested());
    link.forget();
    link.peer->close();
    EXPECT_TRUE(token.stop_requested());
    replies[0].context().progress(1);
    replies[0]("late");
    EXPECT_TRUE(link.sent.empty());
    link.request("tools/call", Link::tool_params("slow"));  // nobody listens any more
  }
  EXPECT_EQ(server.sessions(), 0u);
  // Answered after the connection is gone altogether.
  {
    Link link(server, GetParam());
    link.request("tools/call", Link::tool_params("slow"));
  }
  replies.back().context().log(LoggingLevel::emergency, "x");
  replies.back()("into nothing");
  replies.clear();
  EXPECT_EQ(server.sessions(), 0u);
}

TEST_P(Cancel, ABlockingHandlerSeesIt) {
  ThreadPool pool(1);
  ServerOptions options = test::server_options();
  options.executor = &pool;
  Server own(std::move(options));
  std::promise<void> started;
  std::promise<bool> stopped;
  own.tool("wait", "", blocking([&](Context& cx) {
             started.set_value();
             std::mutex mutex;
             std::condition_variable_any condition;
             std::unique_lock lock(mutex);
             condition.wait(lock, cx.cancelled(), [] { return false; });
             stopped.set_value(cx.cancelled().stop_requested());
             return "x";
           }));
  own.tool("quick", "", blocking([] { return "quick"; }));
  Link link(own, GetParam());
  const std::string id = link.request("tools/call", Link::tool_params("wait"));
  started.get_future().wait();
  link.cancel(id);
  EXPECT_TRUE(stopped.get_future().get());
  EXPECT_EQ(text_of(link.tool("quick")), "quick");  // the pool is free again
  EXPECT_FALSE(link.has_answer(id));
}

TEST(CancelBatch, TheRestOfABatchIsAnswered) {
  Server server(test::server_options());
  std::vector<Reply<std::string>> replies;
  server.tool("slow", "", [&](Reply<std::string> reply) { replies.push_back(std::move(reply)); });
  Link link(server, "2025-03-26");
  const auto call = [](int id) {
    return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
           R"(,"method":"tools/call","params":{"name":"slow"}})";
  };
  EXPECT_EQ(link.receive("[" + call(81) + "," + call(82) + "]"), "");
  link.cancel("81");
  replies[1]("two");
  EXPECT_EQ(text_of(link.take_answer("82")), "two");
  EXPECT_FALSE(link.has_answer("81"));
  EXPECT_TRUE(link.sent.back().is_array());
}

TEST(CancelConcurrency, ATakenBackCallMakesRoomWhenItsHandlerIsDone) {
  Server server(test::server_options());
  std::vector<Reply<std::string>> replies;
  server.tool("slow", "", [&](Reply<std::string> reply) { replies.push_back(std::move(reply)); },
              {.concurrency = 1});
  Link link(server, test::modern_revision);
  const std::string id = link.request("tools/call", Link::tool_params("slow"));
  link.cancel(id);
  EXPECT_EQ(code_of(link.tool("slow")), -32603);  // it still runs
  replies.clear();
  const std::string next = link.request("tools/call", Link::tool_params("slow"));
  ASSERT_EQ(replies.size(), 1u);
  replies[0]("x");
  EXPECT_EQ(text_of(link.take_answer(next)), "x");
}

}  // namespace
}  // namespace godwit::inline v0
