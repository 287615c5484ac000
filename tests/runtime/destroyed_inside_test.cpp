// A Client may be destroyed inside any of its callbacks, which run on a thread of its own; and a
// Server, with what serves it, inside its handlers. A Serving may not: it waits for its thread.
#include "destroyed_inside.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "godwit/io/stream.hpp"
#include "godwit/runtime/client.hpp"
#include "godwit/runtime/serve.hpp"
#include "godwit/server/server.hpp"
#include "godwit/transport/connection.hpp"
#include "godwit/transport/memory.hpp"
#include "godwit/transport/stream_transport.hpp"

namespace godwit {
namespace {

using test::DestroyedInside;
using test::Doomed;

struct Name {
  std::string name{};
};

using Opened = Result<std::unique_ptr<rpc::Transport>>;

Opened open(Loop& loop, Descriptor fd) {
  auto stream = Stream::open(loop, std::move(fd));
  if (!stream) return std::move(stream).error();
  return std::make_unique<StreamTransport>(loop, *std::move(stream));
}

// --- the client

/// A Client whose server is in this process, on another thread.
struct Talk {
  using Destroy = std::function<void()>;

  explicit Talk(const std::function<void(ClientOptions&, const Destroy&)>& prepare = {}) {
    server.tool("steps", "", [](Context& cx) {
      cx.progress(1, 2);
      return "done";
    });
    server.tool("asks", "", [](Context& cx) -> Result<std::string> {
      auto name = cx.elicit<Name>("who", "Who?");
      if (!name) return name.error();
      return "hello";
    });
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    near = Descriptor(ends[0]);
    far = Descriptor(ends[1]);
    serving.emplace(serve(server, [this](Loop& loop) { return open(loop, std::move(far)); }));
    destroy = [this, here = std::make_shared<int>(1)] {
      doomed.destroy();
      EXPECT_EQ(*here, 1);
      over.set_value();
    };
    ClientOptions options;
    options.log = Log();
    if (prepare) prepare(options, destroy);
    auto made =
        Client::connect([this](Loop& loop) { return open(loop, std::move(near)); }, options);
    EXPECT_TRUE(made) << made.error().message;
    doomed.make(*std::move(made));
  }
  void expect_destroyed() {
    over.get_future().get();
    EXPECT_EQ(doomed.destroyed(), 1);
    serving->join();  // the connection has ended
  }
  Server server{{.name = "test", .version = "1"}};
  Descriptor near, far;
  std::optional<Serving> serving;
  std::promise<void> over;
  Destroy destroy;
  Doomed<Client> doomed;
};

void client_outcome() {
  Talk talk;
  Client& client = *talk.doomed;
  client.call_tool_async("steps", {}, [&](Result<ToolResult>) { talk.destroy(); });
  talk.expect_destroyed();
}
void client_progress() {
  Talk talk;
  talk.doomed->call_tool_async("steps", {}, [](Result<ToolResult>) {},
                               {.on_progress = [&](const Progress&) { talk.destroy(); }});
  talk.expect_destroyed();
}
void client_session() {
  Talk talk;
  talk.doomed->with_session([&](Result<ClientSession*>) { talk.destroy(); });
  talk.expect_destroyed();
}
void client_elicit() {
  Talk talk([](ClientOptions& options, const Talk::Destroy& destroy) {
    options.elicit = [&destroy](const ElicitRequest&) -> Result<ElicitResult> {
      destroy();
      return ElicitResult{ElicitAction::decline, {}};
    };
  });
  talk.doomed->call_tool_async("asks", {}, [](Result<ToolResult>) {});
  talk.expect_destroyed();
}
void client_listen() {
  Talk talk;
  Result<Listen> listen =
      talk.doomed->listen({.toolsListChanged = true}, {.tools_changed = [&] { talk.destroy(); }});
  ASSERT_TRUE(listen) << listen.error().message;
  talk.server.tool("new", "", [] { return ""; });
  talk.expect_destroyed();
}

// --- the server

/// With its connection, on a loop of the program.
void server_handler() {
  struct House {
    House(Loop& loop, std::unique_ptr<rpc::Transport> transport, Doomed<House>& self) {
      server.tool("destroy", "", [&self] {
        self.destroy();
        return "destroyed";
      });
      connection.emplace(loop, std::move(transport), server.router(), server.peer_options());
    }
    Server server{{.name = "test", .version = "1", .log = Log()}};
    std::optional<Connection> connection;
  };
  Loop loop;
  auto [near, far] = memory_pair(loop);
  Doomed<House> house;
  house.make(loop, std::move(near), house);
  ClientSession session;
  Connection client(loop, std::move(far), session.router(), session.peer_options());
  session.start(client.peer(), [&](Result<void>) {
    session.call_tool("destroy", {}, [](Result<ToolResult>) {});
    session.call_tool("destroy", {}, [](Result<ToolResult>) {});
  });
  for (int i = 0; i < 1000 && house.destroyed() == 0; ++i) loop.poll();
  test::settle(loop);
  EXPECT_EQ(house.destroyed(), 1);
}

constexpr DestroyedInside rows[] = {
    {"Client", "outcome", client_outcome},
    {"Client", "on_progress", client_progress},
    {"Client", "with_session", client_session},
    {"Client", "elicit", client_elicit},
    {"Client", "listen tools_changed", client_listen},
    {"Server with its connection", "handler", server_handler},
};

struct Destroyed : testing::TestWithParam<DestroyedInside> {};
TEST_P(Destroyed, Inside) { GetParam().run(); }
INSTANTIATE_TEST_SUITE_P(Runtime, Destroyed, testing::ValuesIn(rows), test::name_of);

// What cannot work says so.

TEST(DestroyedDeathTest, AServingOnItsOwnThread) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto destroy = [] {
    Talk talk;
    talk.server.tool("destroy", "", [&] {
      talk.serving.reset();
      return "";
    });
    static_cast<void>(talk.doomed->call_tool("destroy"));
  };
  EXPECT_DEATH(destroy(), "a Serving was destroyed, or asked to join\\(\\), on its own thread");
}

}  // namespace
}  // namespace godwit
