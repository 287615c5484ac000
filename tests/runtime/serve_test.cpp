// serve() on a thread of its own: a connection is served until it ends, and its handlers finish.
#include "godwit/runtime/serve.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "godwit/base/executor.hpp"
#include "godwit/transport/connection.hpp"
#include "godwit/transport/memory.hpp"

namespace godwit {
namespace {

const json::Value handshake =
    json::Object{{"protocolVersion", "2025-11-25"},
                 {"capabilities", json::Object{}},
                 {"clientInfo", json::Object{{"name", "test"}, {"version", "1"}}}};

/// A server served on its own thread, and this side of the connection.
struct Served {
  explicit Served(Server& server)
      : serving(serve(server, [this](Loop& theirs) {
          auto [far, near] = memory_pair(theirs, loop);
          mine.set_value(std::move(near));
          return Result<std::unique_ptr<rpc::Transport>>(std::move(far));
        })) {}

  Loop loop;
  std::promise<std::unique_ptr<rpc::Transport>> mine;
  Serving serving;
};

TEST(Serve, AnswersOnAThreadOfItsOwn) {
  Server server{{.name = "s", .version = "1"}};
  server.tool("where", "", [here = std::this_thread::get_id()] {
    return std::this_thread::get_id() == here ? "here" : "there";
  });
  Served served(server);
  Connection connection(served.loop, served.mine.get_future().get());
  ASSERT_TRUE(connection.ask("initialize", handshake));
  const auto answer = connection.ask("tools/call", RawJson{R"({"name":"where","arguments":{}})"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ((*answer)["content"][0]["text"], "there");
  EXPECT_EQ(server.sessions(), 1u);
  served.serving.close();
  served.serving.join();
  EXPECT_EQ(server.sessions(), 0u);
}

TEST(Serve, WaitsForHandlersThatAreRunning) {
  ThreadPool pool(1);
  Server server{{.name = "s", .version = "1", .executor = &pool}};
  std::promise<void> started;
  std::promise<void> go;
  std::atomic<bool> finished = false;
  server.tool("slow", "", blocking([&] {
                started.set_value();
                go.get_future().wait();
                finished = true;
                return "x";
              }));
  Served served(server);
  Connection connection(served.loop, served.mine.get_future().get());
  ASSERT_TRUE(connection.ask("initialize", handshake));
  connection.peer().call("tools/call", RawJson{R"({"name":"slow","arguments":{}})"},
                         [](const Result<json::Value>&) {});
  served.loop.poll();
  started.get_future().wait();
  served.serving.close();
  std::thread later([&] { go.set_value(); });
  served.serving.join();
  EXPECT_TRUE(finished);
  later.join();
}

TEST(Serve, SaysWhyThereIsNoConnection) {
  Server server{{.name = "s", .version = "1"}};
  Serving serving = serve(
      server, [](Loop&) -> Result<std::unique_ptr<rpc::Transport>> { return error("no line"); });
  EXPECT_EQ(serving.join().message, "no line");
}

TEST(Serve, RefusesArgumentsItDoesNotKnow) {
  Server server{{.name = "s", .version = "1"}};
  for (const char* wrong : {"--nope", "--tcp", "stdio"}) {
    std::string program = "test";
    std::string option = wrong;
    char* argv[] = {program.data(), option.data(), nullptr};
    EXPECT_EQ(serve(server, 2, argv), 2) << wrong;
  }
  std::string program = "test";
  std::string help = "--help";
  char* argv[] = {program.data(), help.data(), nullptr};
  EXPECT_EQ(serve(server, 2, argv), 0);
}

}  // namespace
}  // namespace godwit
