#include "godwit/runtime/client.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <iostream>
#include <stdexcept>
#include <thread>

#include "godwit/json/value.hpp"
#include "godwit/mcp/revision.hpp"
#include "godwit/rpc/router.hpp"
#include "godwit/transport/connection.hpp"
#include "godwit/transport/memory.hpp"
#include "godwit/transport/rpc_server.hpp"
#include "godwit/transport/stdio.hpp"
#include "wait.hpp"

using namespace std::chrono_literals;
using godwit::Client;
using godwit::ClientOptions;
using godwit::ClientSession;
using godwit::Connection;
using godwit::Error;
using godwit::Lifecycle;
using godwit::Listen;
using godwit::Loop;
using godwit::RawJson;
using godwit::Result;
using godwit::revisions;
using godwit::ToolResult;
using godwit::json::Array;
using godwit::json::Object;
using godwit::json::Value;
using godwit::rpc::Router;

namespace {

struct Weather {
  std::string city{};
};
struct Forecast {
  std::string text{};
  double degrees{};
};

// The server of these tests is this program itself, started with GODWIT_FAKE_SERVER.

Value said(std::string text) {
  return Object{{"resultType", "complete"},
                {"content", Array{Object{{"type", "text"}, {"text", std::move(text)}}}}};
}

/// `era` is "stateless" or "stateful".
std::shared_ptr<Router> fake_server(const std::string& era) {
  auto router = std::make_shared<Router>();
  const Value capabilities = Object{{"tools", Object{{"listChanged", true}}},
                                    {"resources", Object{{"subscribe", true}}},
                                    {"prompts", Object{}},
                                    {"completions", Object{}},
                                    {"logging", Object{}}};
  if (era == "stateless") {
    router->on("server/discover", [capabilities](Value) {
      return Value(Object{{"resultType", "complete"},
                          {"supportedVersions", Array{std::string(revisions()[0])}},
                          {"capabilities", capabilities},
                          {"ttlMs", 0},
                          {"cacheScope", "private"}});
    });
  } else {
    router->on("initialize", [capabilities](Value params) {
      return Value(Object{{"protocolVersion", params["protocolVersion"]},
                          {"capabilities", capabilities},
                          {"serverInfo", Object{{"name", "fake"}, {"version", "1"}}},
                          {"instructions", "ask nicely"}});
    });
    router->on("notifications/initialized", [](godwit::rpc::Context&) {});
    router->on("ping", [] { return Value(Object{}); });
    router->on("resources/subscribe", [](godwit::rpc::Context& context, Value params) {
      context.notify("notifications/resources/updated", Object{{"uri", params["uri"]}});
      return Value(Object{});
    });
    router->on("resources/unsubscribe", [](Value) { return Value(Object{}); });
    router->on("logging/setLevel", [](Value) { return Value(Object{}); });
  }
  router->on("notifications/cancelled", [](godwit::rpc::Context&) {});
  router->on("notifications/roots/list_changed", [](godwit::rpc::Context&) {});
  router->on("tools/list", [](Value) {
    return Value(Object{
        {"tools", Array{Object{{"name", "forecast"}, {"inputSchema", Object{{"type", "object"}}}}}},
        {"ttlMs", 0},
        {"cacheScope", "private"}});
  });
  router->on("resources/list", [](Value) { return Value(Object{{"resources", Array{}}}); });
  router->on("resources/templates/list",
             [](Value) { return Value(Object{{"resourceTemplates", Array{}}}); });
  router->on("prompts/list", [](Value) { return Value(Object{{"prompts", Array{}}}); });
  router->on("prompts/get", [](Value) { return Value(Object{{"messages", Array{}}}); });
  router->on("resources/read", [](Value params) {
    return Value(Object{{"contents", Array{Object{{"uri", params["uri"]}, {"text", "content"}}}},
                        {"ttlMs", 0}});
  });
  router->on("completion/complete",
             [](Value) { return Value(Object{{"completion", Object{{"values", Array{"a"}}}}}); });
  router->on("acme/do", [](Value params) { return Value(Object{{"got", params["x"]}}); });
  router->on("tools/call", [](Value params, godwit::rpc::Reply<Value> reply) {
    static std::vector<godwit::rpc::Reply<Value>> never;
    const std::string name = params["name"].get<std::string>();
    if (name == "forecast") {
      return reply(Value(
          Object{{"content", Array{}},
                 {"structuredContent",
                  Object{{"text", "sunny in " + params["arguments"]["city"].get<std::string>()},
                         {"degrees", 21}}}}));
    }
    if (name == "pid") return reply(said(std::to_string(::getpid())));
    if (name == "die") {
      std::cerr << "no more coffee\n";
      std::_Exit(3);
    }
    if (name == "sleep") {
      never.push_back(std::move(reply));
      return;
    }
    reply(Error{.code = -32602, .message = "unknown tool"});
  });
  return router;
}

[[noreturn]] void serve(const std::string& era) {
  Loop loop;
  auto transport = godwit::StdioTransport::open(loop);
  Connection connection(loop, *std::move(transport), fake_server(era));
  connection.on_close([&](const Error&) { loop.stop(); });
  loop.run();
  std::_Exit(0);
}

// Before main(), so that the main() of gtest needs no change.
const bool serving = [] {
  if (const char* era = std::getenv("GODWIT_FAKE_SERVER")) serve(era);
  return true;
}();

std::vector<std::string> server(const std::string& era) {
  return {"/usr/bin/env", "GODWIT_FAKE_SERVER=" + era,
          std::filesystem::read_symlink("/proc/self/exe").string()};
}

ClientOptions quick() {
  ClientOptions options;
  options.probe_timeout = 10s;
  return options;
}

bool no_children() { return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 5000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(2ms);
  }
  return false;
}

}  // namespace

TEST(Client, SpawnsAndCallsInBothEras) {
  ASSERT_TRUE(serving);
  for (const std::string era : {"stateless", "stateful"}) {
    auto client = Client::spawn(server(era));
    ASSERT_TRUE(client) << client.error().message;
    auto day = client->call<Forecast>("forecast", Weather{.city = "Oslo"});
    ASSERT_TRUE(day) << day.error().message;
    EXPECT_EQ(day->text, "sunny in Oslo");
    EXPECT_EQ(client->revision(), revisions()[era == "stateless" ? 0 : 1]);
    EXPECT_EQ(client->list_tools()->size(), 1u);
    EXPECT_EQ(client->list_resources()->size(), 0u);
    EXPECT_EQ(client->list_resource_templates()->size(), 0u);
    EXPECT_EQ(client->list_prompts()->size(), 0u);
    EXPECT_EQ(client->read("f:a")->contents.size(), 1u);
    EXPECT_TRUE(client->prompt("p"));
    EXPECT_EQ(client->complete(godwit::PromptReference{.name = "p"}, {})->values.size(), 1u);
    EXPECT_TRUE(client->ping());
    EXPECT_TRUE(client->set_log_level(godwit::LoggingLevel::error));
    EXPECT_EQ(client->request("acme/do", RawJson{R"({"x":7})"})->text, R"({"got":7})");
    EXPECT_TRUE(client->notify("notifications/cancelled", RawJson{R"({"requestId":99})"}));
    auto unknown = client->call<Forecast>("nope", Weather{});
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().message, "unknown tool");
    if (era == "stateful") {
      EXPECT_EQ(client->server_info().name, "fake");
      EXPECT_EQ(client->instructions(), "ask nicely");
    }
    EXPECT_TRUE(client->server_capabilities().tools);
  }
  EXPECT_TRUE(no_children());
}

TEST(Client, AProgramThatIsNoServer) {
  auto missing = Client::spawn({"/no/such/program"});
  ASSERT_FALSE(missing);
  EXPECT_TRUE(contains(missing.error().message, "/no/such/program"));
  auto dead = Client::spawn({"/bin/sh", "-c", "echo cannot start >&2; exit 4"});
  ASSERT_FALSE(dead);
  EXPECT_TRUE(contains(dead.error().message, "exited with 4")) << dead.error().message;
  EXPECT_TRUE(contains(dead.error().message, "cannot start")) << dead.error().message;
  ClientOptions options;
  options.probe_timeout = 20ms;
  options.start_timeout = 40ms;
  auto mute = Client::spawn({"/bin/sh", "-c", "sleep 60"}, options);
  ASSERT_FALSE(mute);
  EXPECT_TRUE(contains(mute.error().message, "neither")) << mute.error().message;
  EXPECT_FALSE(Client::spawn(std::vector<std::string>{}));
  EXPECT_TRUE(no_children());
}

TEST(Client, AProgramThatEndsAtTheProbeIsStartedAgain) {
  // As some older servers do with what they do not know.
  const std::string picky =
      R"(read -r line; case "$line" in *server/discover*) echo "unknown method" >&2; exit 1;; esac; )"
      R"(echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":")" +
      std::string(revisions()[1]) +
      R"(","capabilities":{},"serverInfo":{"name":"picky","version":"1"}}}'; exec cat >/dev/null)";
  auto client = Client::spawn({"/bin/sh", "-c", picky}, quick());
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_EQ(client->server_info().name, "picky");
  EXPECT_EQ(client->revision(), revisions()[1]);

  auto dead = Client::spawn({"/bin/sh", "-c", "read -r line; exit 5"}, quick());
  ASSERT_FALSE(dead);
  EXPECT_TRUE(contains(dead.error().message, "exited with 5")) << dead.error().message;
  EXPECT_TRUE(contains(dead.error().message, "twice")) << dead.error().message;

  ClientOptions chosen = quick();
  chosen.lifecycle = Lifecycle::stateless;
  auto once = Client::spawn({"/bin/sh", "-c", picky}, chosen);
  ASSERT_FALSE(once);
  EXPECT_FALSE(contains(once.error().message, "twice")) << once.error().message;
}

TEST(Client, QuotesAProgramThatSpeaksNoProtocol) {
  ClientOptions options = quick();
  options.garbage_timeout = 20ms;
  auto chatty = Client::spawn({"/bin/sh", "-c",
                               "echo 'need a token' >&2; echo 'Welcome to the shop'; "
                               "printf 'Choose \\033[1mone\\n'; sleep 60"},
                              options);
  ASSERT_FALSE(chatty);
  const std::string& why = chatty.error().message;
  EXPECT_TRUE(is_timeout(chatty.error())) << why;
  EXPECT_TRUE(contains(why, "Welcome to the shop")) << why;
  EXPECT_TRUE(contains(why, "its stderr says: need a token")) << why;
  EXPECT_FALSE(contains(why, "\x1b")) << why;

  auto brief = Client::spawn({"/bin/sh", "-c", "echo 'wrong version of sh'; exit 1"}, options);
  ASSERT_FALSE(brief);
  EXPECT_TRUE(contains(brief.error().message, "wrong version of sh")) << brief.error().message;
  EXPECT_TRUE(contains(brief.error().message, "exited with 1")) << brief.error().message;
}

TEST(Client, ATransportFactoryThatThrowsIsAnError) {
  using Made = Result<std::unique_ptr<godwit::rpc::Transport>>;
  const auto threw = Client::connect([](Loop&) -> Made { throw std::runtime_error("no line"); });
  ASSERT_FALSE(threw);
  EXPECT_TRUE(contains(threw.error().message, "no line")) << threw.error().message;
  EXPECT_FALSE(Client::connect([](Loop&) -> Made { throw 5; }));
}

TEST(Client, ErrorsSayWhetherTheServerWasReached) {
  auto nobody = Client::connect("unix:///no/such/socket");
  ASSERT_FALSE(nobody);
  EXPECT_TRUE(is_not_executed(nobody.error()) && is_connection_closed(nobody.error()));
  EXPECT_TRUE(contains(godwit::rpc::explain(nobody.error()), "not connected: cannot connect"))
      << godwit::rpc::explain(nobody.error());
  auto refused = Client::connect("http://127.0.0.1:1/mcp");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(is_not_executed(refused.error())) << refused.error().message;
  auto client = Client::spawn(server("stateless"), quick());
  ASSERT_TRUE(client) << client.error().message;
  const auto died = client->call_tool("die");
  ASSERT_FALSE(died);
  EXPECT_TRUE(is_connection_closed(died.error()) && !is_not_executed(died.error()));
  const auto later = client->ping();
  ASSERT_FALSE(later);
  EXPECT_TRUE(is_not_executed(later.error()));
}

TEST(Client, ADeadChildFailsAllCallsWithItsStatus) {
  auto client = Client::spawn(server("stateless"), quick());
  ASSERT_TRUE(client) << client.error().message;
  std::vector<std::future<Result<ToolResult>>> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.push_back(std::async(std::launch::async, [&] { return client->call_tool("sleep"); }));
  }
  std::this_thread::sleep_for(20ms);
  const auto begin = std::chrono::steady_clock::now();
  auto last = client->call_tool("die");
  ASSERT_FALSE(last);
  EXPECT_TRUE(contains(last.error().message, "exited with 3")) << last.error().message;
  EXPECT_TRUE(contains(last.error().message, "no more coffee")) << last.error().message;
  for (auto& one : waiting) {
    const auto outcome = one.get();
    ASSERT_FALSE(outcome);
    EXPECT_TRUE(contains(outcome.error().message, "exited with 3")) << outcome.error().message;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  auto later = client->ping();
  ASSERT_FALSE(later);
  EXPECT_TRUE(contains(later.error().message, "exited with 3")) << later.error().message;
  EXPECT_TRUE(eventually(no_children));
}

TEST(Client, RestartsADeadChildIfItMay) {
  for (const std::string era : {"stateless", "stateful"}) {
    ClientOptions options = quick();
    options.restart = true;
    auto client = Client::spawn(server(era), options);
    ASSERT_TRUE(client) << client.error().message;
    const auto first = client->call<std::string>("pid", Weather{});
    EXPECT_FALSE(client->call_tool("die"));
    const auto second = client->call<std::string>("pid", Weather{});
    ASSERT_TRUE(first && second) << second.error().message;
    EXPECT_NE(*first, *second);
    ::kill(std::stoi(*second), SIGKILL);
    EXPECT_TRUE(eventually([&] {
      const auto third = client->call<std::string>("pid", Weather{});
      return third && *third != *second;
    }));
  }
  EXPECT_TRUE(no_children());
}

TEST(Client, ListensAndTakesItUpAgain) {
  ClientOptions options = quick();
  options.restart = true;
  auto client = Client::spawn(server("stateful"), options);
  ASSERT_TRUE(client) << client.error().message;
  std::atomic<int> updates = 0, agreed = 0, ended = 0;
  godwit::ListenCallbacks callbacks;
  callbacks.acknowledged = [&](const godwit::SubscriptionFilter&) { ++agreed; };
  callbacks.resource_updated = [&](const std::string&) { ++updates; };
  callbacks.ended = [&](Result<void>) { ++ended; };
  auto listen = client->listen({.resourceSubscriptions = {{"f:a"}}}, callbacks);
  ASSERT_TRUE(listen) << listen.error().message;
  EXPECT_EQ(agreed, 1);
  EXPECT_FALSE(client->call_tool("die"));
  EXPECT_TRUE(client->ping());
  EXPECT_TRUE(eventually([&] { return agreed == 2; }));
  EXPECT_EQ(ended, 0);
  listen->end();
  EXPECT_FALSE(client->call_tool("die"));
  EXPECT_TRUE(client->ping());
  EXPECT_EQ(agreed, 2);
  auto refused = client->listen({.promptsListChanged = true}, {});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(contains(refused.error().message, "does not declare")) << refused.error().message;
}

TEST(Client, AListenEndsWithTheServerWithoutRestart) {
  auto client = Client::spawn(server("stateful"), quick());
  ASSERT_TRUE(client) << client.error().message;
  std::promise<Result<void>> ended;
  godwit::ListenCallbacks callbacks;
  callbacks.ended = [&](Result<void> outcome) { ended.set_value(std::move(outcome)); };
  auto listen = client->listen({.toolsListChanged = true}, callbacks);
  ASSERT_TRUE(listen) << listen.error().message;
  EXPECT_FALSE(client->call_tool("die"));
  const auto outcome = ended.get_future().get();
  ASSERT_FALSE(outcome);
  EXPECT_TRUE(contains(outcome.error().message, "exited with 3")) << outcome.error().message;
}

TEST(Client, CallbacksRunOnItsThreadWhereWaitingIsRefused) {
  auto client = Client::spawn(server("stateless"), quick());
  ASSERT_TRUE(client) << client.error().message;
  std::promise<Result<void>> inside;
  client->call_async<Forecast>("forecast", Weather{.city = "Oslo"}, [&](Result<Forecast> day) {
    EXPECT_TRUE(day) << day.error().message;
    inside.set_value(client->ping());
  });
  const auto refused = inside.get_future().get();
  ASSERT_FALSE(refused);
  EXPECT_TRUE(contains(refused.error().message, "own thread")) << refused.error().message;
  EXPECT_TRUE(client->ping());
  std::promise<std::string> name;
  client->with_session([&](Result<ClientSession*> session) {
    ASSERT_TRUE(session);
    name.set_value(std::string((*session)->revision()));
  });
  EXPECT_EQ(name.get_future().get(), revisions()[0]);
}

TEST(Client, ManyThreads) {
  auto client = Client::spawn(server("stateless"), quick());
  ASSERT_TRUE(client) << client.error().message;
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        if (client->call<Forecast>("forecast", Weather{.city = "Rome"})) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 400);
}

TEST(Client, DestroyedWithCallsWaiting) {
  std::promise<Result<ToolResult>> outcome;
  {
    auto client = Client::spawn(server("stateless"), quick());
    ASSERT_TRUE(client) << client.error().message;
    client->call_tool_async(
        "sleep", {}, [&](Result<ToolResult> result) { outcome.set_value(std::move(result)); });
    ASSERT_TRUE(client->ping());
  }
  EXPECT_FALSE(outcome.get_future().get());
  EXPECT_TRUE(no_children());
}

TEST(Client, DestroyedInItsOwnCallback) {
  auto spawned = Client::spawn(server("stateless"), quick());
  ASSERT_TRUE(spawned) << spawned.error().message;
  auto client = std::make_unique<Client>(*std::move(spawned));
  std::promise<void> gone;
  Client& self = *client;
  self.call_async<Forecast>("forecast", Weather{.city = "Oslo"}, [&](Result<Forecast>) {
    client.reset();
    gone.set_value();
  });
  gone.get_future().get();
  EXPECT_TRUE(eventually(no_children));
}

TEST(Client, AChildThatDoesNotListenIsKilled) {
  const char* script = "trap '' TERM; exec \"$0\" \"$@\"";
  auto argv = server("stateless");
  argv.insert(argv.begin(), {"/bin/sh", "-c", script});
  auto client = Client::spawn(argv, quick());
  ASSERT_TRUE(client) << client.error().message;
  const auto pid = client->call<std::string>("pid", Weather{});
  ASSERT_TRUE(pid);
  ::kill(std::stoi(*pid), SIGSTOP);
  const auto begin = std::chrono::steady_clock::now();
  client = godwit::error("gone");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s);
  EXPECT_TRUE(no_children());
}

TEST(Client, Sockets) {
  const godwit::test::TemporaryFolder folder;
  const std::string path = folder.file("server.sock");
  Loop loop;
  godwit::RpcServer rpc_server(loop, fake_server("stateless"));
  const auto address = rpc_server.listen_tcp({.host = "127.0.0.1", .port = 0});
  ASSERT_TRUE(address);
  ASSERT_TRUE(rpc_server.listen_unix(path));
  std::thread thread([&] { loop.run(); });
  for (const std::string& url : {"tcp://" + *address, "unix://" + path}) {
    auto client = Client::connect(url);
    ASSERT_TRUE(client) << client.error().message;
    EXPECT_TRUE(client->call<Forecast>("forecast", Weather{.city = "Oslo"})) << url;
  }
  loop.stop();
  thread.join();
}

TEST(Client, UrlsThatCannotBeUsed) {
  const std::pair<const char*, const char*> cases[] = {{"http:///mcp", "refused"},
                                                       {"https://me:pw@x/mcp", "refused"},
                                                       {"tcp://nowhere", "tcp://nowhere"},
                                                       {"unix://relative", "absolute"},
                                                       {"server", "spawn"},
                                                       {"", "tcp://"}};
  for (const auto& [url, part] : cases) {
    const auto client = Client::connect(url);
    ASSERT_FALSE(client);
    EXPECT_TRUE(contains(client.error().message, part)) << client.error().message;
  }
  const auto nobody = Client::connect("unix:///no/such/socket");
  EXPECT_FALSE(nobody);
  const auto refused = Client::connect("tcp://127.0.0.1:1");
  EXPECT_FALSE(refused);
}

TEST(Client, ATransportOfOnesOwn) {
  Loop loop;
  std::optional<Connection> connection;
  std::thread thread;
  godwit::TransportPair pair;
  auto client = Client::connect([&](Loop& mine) -> Result<std::unique_ptr<godwit::rpc::Transport>> {
    pair = godwit::memory_pair(mine, loop);
    connection.emplace(loop, std::move(pair.second), fake_server("stateful"));
    thread = std::thread([&] {
      const Loop::Work work(loop);
      loop.run();
    });
    return std::move(pair.first);
  });
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_TRUE(client->call<Forecast>("forecast", Weather{.city = "Oslo"}));
  client = godwit::error("gone");
  loop.stop();
  thread.join();
  auto failing = Client::connect(
      [](Loop&) -> Result<std::unique_ptr<godwit::rpc::Transport>> { return godwit::error("no"); });
  ASSERT_FALSE(failing);
  EXPECT_EQ(failing.error().message, "no");
}
