#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::code_of;
using test::equals;
using test::is_error_result;
using test::Link;
using test::text_of;

struct Weather {
  std::string city{};
};

/// Runs work when told, and keeps it for a while afterwards, as an executor may.
struct LazyExecutor : Executor {
  void execute(Function<void()> work) override { works.push_back(std::move(work)); }
  void run_all() {
    for (; next < works.size(); ++next) works[next]();
  }
  std::vector<Function<void()>> works;
  std::size_t next = 0;
};

TEST(ToolsLate, AnAnswerMakesRoomAtOnce) {
  LazyExecutor executor;
  ServerOptions options = test::server_options();
  options.executor = &executor;
  Server server(std::move(options));
  server.tool("slow", "", blocking([] { return "x"; }), {.concurrency = 1});
  {
    Link link(server, test::modern_revision);
    for (int i = 0; i < 3; ++i) {
      const std::string id = link.request("tools/call", Link::tool_params("slow"));
      executor.run_all();
      EXPECT_EQ(text_of(link.take_answer(id)), "x") << i;
    }
  }
  executor.works.clear();
}

TEST(ToolsLate, BlockingOnesRunElsewhereAndDoNotHoldUpOthers) {
  ThreadPool pool(2);
  ServerOptions options = test::server_options();
  options.executor = &pool;
  Server server(std::move(options));
  std::promise<void> go;
  server.tool("slow", "", blocking([&](Weather in) {
                go.get_future().wait();
                return in.city;
              }));
  server.tool("quick", "", [] { return "quick"; });
  Link link(server, test::legacy_revision);
  const std::string slow =
      link.request("tools/call", Link::tool_params("slow", R"({"city":"Oslo"})"));
  EXPECT_EQ(text_of(link.tool("quick")), "quick");
  EXPECT_TRUE(equals(link.ask("ping")["result"], "{}"));
  EXPECT_FALSE(link.has_answer(slow));
  go.set_value();
  EXPECT_EQ(text_of(link.take_answer(slow)), "Oslo");
}

TEST(ToolsLate, WhatTakesTooLongIsAnsweredAndTold) {
  for (const std::string_view revision : test::all_revisions) {
    Server server(test::server_options());
    std::optional<Reply<std::string>> kept;
    server.tool("slow", "", [&](Reply<std::string> reply) { kept.emplace(std::move(reply)); },
                {.timeout = 5s});
    Link link(server, revision);
    const std::string id = link.request("tools/call", Link::tool_params("slow"));
    link.pass(4900ms);
    EXPECT_FALSE(link.has_answer(id));
    EXPECT_FALSE(kept->cancelled().stop_requested());
    link.pass(200ms);
    EXPECT_TRUE(is_error_result(link.take_answer(id)));
    EXPECT_TRUE(kept->cancelled().stop_requested());
    (*kept)("too late");
    link.peer->process();
    EXPECT_FALSE(link.has_answer(id));
    kept.reset();
    // In time: nothing comes later.
    const std::string good = link.request("tools/call", Link::tool_params("slow"));
    (*kept)("in time");
    EXPECT_EQ(text_of(link.take_answer(good)), "in time");
    link.pass(10s);
    EXPECT_FALSE(link.has_answer(good));
  }
}

TEST(ToolsLate, ABlockingOneThatTakesTooLong) {
  ThreadPool pool(1);
  ServerOptions options = test::server_options();
  options.executor = &pool;
  Server server(std::move(options));
  std::promise<bool> stopped;
  server.tool("slow", "", blocking([&](Context& cx) {
                std::mutex mutex;
                std::condition_variable_any condition;
                std::unique_lock lock(mutex);
                const std::stop_token token = cx.cancelled();
                condition.wait(lock, token, [] { return false; });
                stopped.set_value(token.stop_requested());
                return "late";
              }),
              {.timeout = 1s});
  Link link(server, test::modern_revision);
  const std::string id = link.request("tools/call", Link::tool_params("slow"));
  link.pass(1s);
  EXPECT_TRUE(is_error_result(link.take_answer(id)));
  EXPECT_TRUE(stopped.get_future().get());
}

TEST(ToolsLate, DroppedRepliesAnswerByThemselves) {
  Server server(test::server_options());
  server.tool("drop", "", [](Reply<std::string>) {});
  server.tool("throw", "", [](Reply<std::string>) -> void { throw std::runtime_error("secret"); });
  server.tool("twice", "", [](Reply<std::string> reply) {
    reply("first");
    reply("second");
  });
  Link link(server, test::modern_revision);
  EXPECT_EQ(code_of(link.tool("drop")), -32603);
  const json::Value threw = link.tool("throw");
  EXPECT_EQ(code_of(threw), -32603);
  EXPECT_EQ(threw.dump().find("secret"), std::string::npos);
  EXPECT_EQ(text_of(link.tool("twice")), "first");
}

}  // namespace
}  // namespace godwit::inline v0
