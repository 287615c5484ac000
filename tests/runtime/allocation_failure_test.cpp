// Any allocation of a server on a socket, or of a client, may fail: the request or the connection
// that needed it fails, the next one works, and nothing is left behind.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "blocking_client.hpp"
#include "fail_allocations.hpp"
#include "godwit/base/executor.hpp"
#include "godwit/http/http_server.hpp"
#include "godwit/mcp/revision.hpp"
#include "godwit/runtime/client.hpp"
#include "godwit/runtime/serve.hpp"
#include "godwit/seal/aes_sealer.hpp"
#include "godwit/server/server.hpp"
#include "godwit/transport/rpc_server.hpp"
#include "godwit/transport/stream_transport.hpp"
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

struct Confirm {
  bool sure{};
};

/// A tool, a resource, a prompt and a question.
void offer_something(Server& server) {
  server.tool("echo", "", [](City in) { return in.city; });
  server.tool("ask", "", [](Context& cx) -> Result<std::string> {
    auto answer = cx.elicit<Confirm>("confirm", "Sure?");
    if (!answer) return answer.error();
    return answer->accepted() ? "sure" : "not sure";
  });
  server.tool("die", "", []() -> std::string { std::_Exit(3); });
  server.resource("f:a", "a", [] { return "content"; });
  server.prompt("greet", "", [] { return "hello"; });
}

// The program that clients start here is this one, with GODWIT_SERVED_PROGRAM in its environment.
// Before main(), so that the main() of gtest needs no change.
const bool not_served = [] {
  if (!std::getenv("GODWIT_SERVED_PROGRAM")) return true;
  Server server(quiet());
  offer_something(server);
  std::string name = "served";
  char* argv[] = {name.data(), nullptr};
  std::_Exit(serve(server, 1, argv));
}();

std::vector<std::string> served_program() {
  return {"/usr/bin/env", "GODWIT_SERVED_PROGRAM=1",
          std::filesystem::read_symlink("/proc/self/exe").string()};
}

bool no_children() { return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }

/// Whatever fails, it does so at once: nobody waits for an answer that was lost.
template <class T>
void expect_prompt(const Result<T>& outcome) {
  if (outcome) return;
  EXPECT_FALSE(is_timeout(outcome.error())) << outcome.error().message;
}

ClientOptions client_options(Lifecycle lifecycle) {
  ClientOptions options{.lifecycle = lifecycle};
  options.log = Log([](LogLevel, std::string_view) {});
  options.limits.call_timeout = std::chrono::seconds(20);
  options.elicit = [](const ElicitRequest&) -> Result<ElicitResult> {
    return ElicitResult{.action = ElicitAction::accept, .content = json::Object{{"sure", true}}};
  };
  return options;
}

/// Each kind of call that a client has.
void call_everything(Client& client) {
  expect_prompt(client.list_tools());
  expect_prompt(client.list_resources());
  expect_prompt(client.read("f:a"));
  expect_prompt(client.prompt("greet"));
  expect_prompt(client.ping());
  expect_prompt(client.call<std::string>("ask", json::Object{}));
  std::promise<Result<std::string>> outcome;
  client.call_async<std::string>("echo", City{"Oslo"}, [&](Result<std::string> result) {
    outcome.set_value(std::move(result));
  });
  expect_prompt(outcome.get_future().get());
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

TEST_P(ClientFails, InEachKindOfCall) {
  Server server(quiet());
  offer_something(server);
  Loop loop;
  auto web = WebServer::listen(loop, server, {"127.0.0.1", 0});
  ASSERT_TRUE(web) << web.error().message;
  const Running running(loop, true);
  auto client = Client::connect(web->url(), client_options(GetParam()));
  ASSERT_TRUE(client) << client.error().message;
  const int failures = test::fail_each_allocation([&] { call_everything(*client); },
                                                  [&] {
                                                    const auto outcome = client->call<std::string>(
                                                        "ask", json::Object{});
                                                    ASSERT_TRUE(outcome) << outcome.error().message;
                                                    EXPECT_EQ(*outcome, "sure");
                                                  });
  EXPECT_GT(failures, 20);
}

TEST_P(ClientFails, WhileItBeginsToListen) {
  Server server(quiet());
  offer_something(server);
  Loop loop;
  auto web = WebServer::listen(loop, server, {"127.0.0.1", 0});
  ASSERT_TRUE(web) << web.error().message;
  const Running running(loop, true);
  auto client = Client::connect(web->url(), client_options(GetParam()));
  ASSERT_TRUE(client) << client.error().message;
  const auto listen = [&] {
    return client->listen({.toolsListChanged = true, .resourceSubscriptions = {{"f:a"}}}, {});
  };
  const int failures = test::fail_each_allocation([&] { expect_prompt(listen()); },
                                                  [&] {
                                                    const auto again = listen();
                                                    EXPECT_TRUE(again) << again.error().message;
                                                  });
  EXPECT_GT(failures, 5);
}

TEST_P(ClientFails, AndGoesOnListening) {
  test::own_thread = true;
  Server server(quiet());
  offer_something(server);
  Loop loop;
  auto web = WebServer::listen(loop, server, {"127.0.0.1", 0});
  ASSERT_TRUE(web) << web.error().message;
  const Running running(loop, true);
  std::atomic<bool> broken = false;
  ClientOptions options = client_options(GetParam());
  options.log = Log([&](LogLevel, std::string_view line) {
    if (line.starts_with("the connection is closed")) broken = true;
  });
  auto client = Client::connect(web->url(), options);
  ASSERT_TRUE(client) << client.error().message;
  std::promise<void> changed;
  std::atomic<int> changes = 0;
  const auto listen = client->listen({.toolsListChanged = true}, {.tools_changed = [&] {
                                       if (++changes == 1) changed.set_value();
                                     }});
  ASSERT_TRUE(listen) << listen.error().message;
  for (long n = 1; !broken && n < 1'000; ++n) {
    test::until_failure = n;
    expect_prompt(client->call<std::string>("echo", City{"Oslo"}));
    test::until_failure = 0;
  }
  ASSERT_TRUE(broken);
  // Since something may have been missed, as if it had changed.
  EXPECT_EQ(changed.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

INSTANTIATE_TEST_SUITE_P(AllocationFailure, ClientFails,
                         testing::Values(Lifecycle::stateful, Lifecycle::stateless));

/// Answers any request that has the token.
struct Door final : http::Handler {
  void on_request(const http::Request& request, http::Exchange& exchange) override {
    if (request.fields.find("Authorization") != "Bearer new") {
      return exchange.respond(401, "text/plain", "who are you", {{"WWW-Authenticate", "Bearer"}});
    }
    const std::size_t at = request.body.find("\"id\":") + 5;
    const std::string id(request.body.substr(at, request.body.find(',', at) - at));
    exchange.respond(200, "application/json",
                     R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":{"resultType":"complete"}})");
  }
};

/// Needs a login for each request: inside the call, or on a thread of its own.
struct LoginEachTime final : http::RequestAuthorizer {
  explicit LoginEachTime(bool inside_) : inside(inside_) {}
  void authorize(const http::AuthorizerRequest& request,
                 http::AuthorizerReply<http::Fields> reply) override {
    reply(http::Fields{{"Authorization", request.attempt == 0 ? "Bearer old" : "Bearer new"}});
  }
  void on_refused(const http::AuthorizerRequest&, const http::AuthorizerRefusal&,
                  http::AuthorizerReply<http::AfterRefusal> reply) override {
    if (inside) return reply(http::AfterRefusal::send_again);
    threads.emplace_back([reply = std::move(reply)]() mutable {
      test::own_thread = true;
      reply(http::AfterRefusal::send_again);
    });
  }
  bool inside;
  std::vector<std::jthread> threads;
};

TEST(AllocationFailure, OfAClientThatLogsIn) {
  test::own_thread = true;
  Door door;
  Loop loop;
  auto server = http::HttpServer::tcp(loop, {"127.0.0.1", 0}, door, {});
  ASSERT_TRUE(server) << server.error().message;
  const Running running(loop, true);
  for (const bool inside : {true, false}) {
    const auto authorizer = std::make_shared<LoginEachTime>(inside);
    ClientOptions options = client_options(Lifecycle::stateless);
    options.verdict = Verdict{.stateless = true, .revision = std::string(revisions()[0])};
    options.authorizer = authorizer;
    auto client = Client::connect("http://" + server->address() + "/mcp", options);
    ASSERT_TRUE(client) << client.error().message;
    const auto call = [&] { return client->request("x/y"); };
    const int failures = test::fail_each_allocation([&] { expect_prompt(call()); },
                                                    [&] {
                                                      const auto outcome = call();
                                                      EXPECT_TRUE(outcome)
                                                          << outcome.error().message;
                                                    });
    EXPECT_GT(failures, 20);
  }
}

TEST(AllocationFailure, OfAClientThatStartsAProgram) {
  ASSERT_TRUE(not_served);
  const auto round = [] {
    auto client = Client::spawn(served_program(), client_options(Lifecycle::automatic));
    expect_prompt(client);
    if (client) expect_prompt(client->call<std::string>("echo", City{"Oslo"}));
  };
  const int failures =
      test::fail_each_allocation(round, [] { EXPECT_TRUE(no_children()) << "a child is left"; });
  EXPECT_GT(failures, 20);
}

TEST(AllocationFailure, OfAClientThatStartsAProgramAgain) {
  ClientOptions options = client_options(Lifecycle::automatic);
  options.restart = true;
  auto client = Client::spawn(served_program(), options);
  ASSERT_TRUE(client) << client.error().message;
  const auto echo = [&] { return client->call<std::string>("echo", City{"Oslo"}); };
  const int failures = test::fail_each_allocation(
      [&] {
        expect_prompt(client->call_tool("die"));
        expect_prompt(echo());
      },
      [&] {
        // The program that died may not be known to be dead yet.
        auto outcome = echo();
        for (int i = 0; i < 10 && !outcome; ++i) {
          expect_prompt(outcome);
          outcome = echo();
        }
        EXPECT_TRUE(outcome) << outcome.error().message;
      });
  EXPECT_GT(failures, 20);
}

TEST(AllocationFailure, OfAServedTransport) {
  Server server(quiet());
  offer_something(server);
  const auto round = [&] {
    int ends[2] = {};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const Descriptor mine(ends[0]);
    Serving serving = serve(server, [&](Loop& loop) -> Result<std::unique_ptr<rpc::Transport>> {
      auto stream = Stream::open(loop, Descriptor(ends[1]));
      if (!stream) return std::move(stream).error();
      return std::make_unique<StreamTransport>(loop, *std::move(stream));
    });
    serving.close();
    EXPECT_FALSE(serving.join().message.empty());
  };
  const int failures = test::fail_each_allocation(round, [&] { EXPECT_EQ(server.sessions(), 0u); });
  EXPECT_GT(failures, 5);
}

}  // namespace
}  // namespace godwit::inline v0
