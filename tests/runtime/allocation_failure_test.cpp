// Any allocation of a server on a socket, or of a client, may fail: the request or the connection
// that needed it fails, the next one works, and nothing is left behind.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "blocking_client.hpp"
#include "fail_allocations.hpp"
#include "godwit/base/executor.hpp"
#include "godwit/runtime/client.hpp"
#include "godwit/seal/aes_sealer.hpp"
#include "godwit/server/server.hpp"
#include "godwit/transport/rpc_server.hpp"
#include "godwit/web/web_server.hpp"

namespace godwit::inline v0 {
namespace {

using test::BlockingClient;

struct City {
  std::string city{};
};

/// Runs a loop on a thread of its own until it is destroyed.
class Running {
 public:
  Running(Loop& loop, bool own) : loop_(loop) {
    thread_ = std::thread([this, own] {
      test::own_thread = own;
      const Loop::Work work(loop_);
      loop_.run(Log());
    });
  }
  ~Running() {
    loop_.stop();
    thread_.join();
  }
  /// What `look` gives on the loop's thread.
  std::size_t ask(std::function<std::size_t()> look) {
    std::promise<std::size_t> promise;
    loop_.post([&] { promise.set_value(look()); });
    return promise.get_future().get();
  }

 private:
  Loop& loop_;
  std::thread thread_;
};

ServerOptions quiet(Executor* executor = nullptr) {
  ServerOptions options{.name = "city", .version = "1"};
  options.executor = executor;
  options.log = Log([](LogLevel, std::string_view) {});
  options.sealer = std::make_shared<AesSealer>();
  return options;
}

std::string request(int id, std::string_view method, std::string_view params) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + std::string(method) +
         R"(","params":)" + std::string(params) + "}\n";
}

std::string call(int id, std::string_view tool) {
  return request(id, "tools/call",
                 R"({"name":")" + std::string(tool) +
                     R"(","arguments":{"city":"Oslo"},"_meta":{"progressToken":1}})");
}

/// Sends a request and reads up to its answer; false if the connection was closed instead.
bool answered(BlockingClient& client, int id, const std::string& request) {
  client.send(request);
  while (!client.closed()) {
    const std::string line = client.until("\n");
    if (line.find(R"("id":)" + std::to_string(id)) != line.npos) {
      return line.find("\"result\"") != line.npos;
    }
  }
  return false;
}

bool round_over_tcp(const std::string& address) {
  BlockingClient client(address);
  bool good = answered(client, 1,
                       request(1, "initialize",
                               R"({"protocolVersion":"2025-11-25","capabilities":{},)"
                               R"("clientInfo":{"name":"t","version":"1"}})"));
  client.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
  good = answered(client, 2, call(2, "echo")) && good;
  good = answered(client, 3, call(3, "work")) && good;
  good = answered(client, 4, request(4, "tools/list", "{}")) && good;
  return good;
}

TEST(AllocationFailure, OfAConnection) {
  test::own_thread = true;
  ThreadPool pool(1);
  Server server(quiet(&pool));
  server.tool("echo", "", [](City in) { return in.city; });
  server.tool("work", "", blocking([](City in, Context& cx) {
                cx.progress(1, 2);
                return in.city;
              }));
  Loop loop;
  RpcServer connections(loop, server.router(), server.peer_options());
  const auto address = connections.listen_tcp({"127.0.0.1", 0});
  ASSERT_TRUE(address) << address.error().message;
  Running running(loop, false);
  const int failures = test::fail_each_allocation(
      [&] { round_over_tcp(*address); },
      [&] {
        EXPECT_TRUE(round_over_tcp(*address));
        for (int i = 0; i < 5'000 && server.sessions() > 0; ++i) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        EXPECT_EQ(server.sessions(), 0u);
        EXPECT_EQ(running.ask([&] { return connections.connections(); }), 0u);
      });
  EXPECT_GT(failures, 20);
}

struct ClientFails : testing::TestWithParam<Lifecycle> {};

TEST_P(ClientFails, AndTheNextCallWorks) {
  test::own_thread = true;
  Server server(quiet());
  server.tool("echo", "", [](City in) { return in.city; });
  Loop loop;
  auto web = WebServer::listen(loop, server, {"127.0.0.1", 0});
  ASSERT_TRUE(web) << web.error().message;
  const Running running(loop, true);
  const ClientOptions options{.lifecycle = GetParam()};
  auto kept = Client::connect(web->url(), options);
  ASSERT_TRUE(kept) << kept.error().message;
  const int failures = test::fail_each_allocation(
      [&] {
        // With a connection of long ago, and with one that is made now.
        static_cast<void>(kept->call<std::string>("echo", City{"Oslo"}));
        if (auto client = Client::connect(web->url(), options)) {
          static_cast<void>(client->call<std::string>("echo", City{"Oslo"}));
        }
      },
      [&] {
        const auto outcome = kept->call<std::string>("echo", City{"Oslo"});
        EXPECT_TRUE(outcome) << outcome.error().message;
      });
  EXPECT_GT(failures, 20);
}

INSTANTIATE_TEST_SUITE_P(AllocationFailure, ClientFails,
                         testing::Values(Lifecycle::stateful, Lifecycle::stateless));

}  // namespace
}  // namespace godwit::inline v0
