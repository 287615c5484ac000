// Conversations that are passed on to a real server over HTTP: whole ones by a Bridge, single
// requests of others on the connection of a Client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "godwit/client/forwarding_transport.hpp"
#include "godwit/mcp/revision.hpp"
#include "godwit/rpc/bridge.hpp"
#include "godwit/runtime/client.hpp"
#include "godwit/seal/aes_sealer.hpp"
#include "godwit/server/server.hpp"
#include "godwit/transport/connection.hpp"
#include "godwit/transport/memory.hpp"
#include "godwit/web/http_transport.hpp"
#include "godwit/web/web_server.hpp"
#include "wait.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct City {
  std::string city{};
};

struct Host {
  Host() : server({.name = "host", .version = "1", .sealer = std::make_shared<AesSealer>()}) {
    server.tool("steps", "", [](City in, Context& cx) {
      cx.progress(1, 2);
      return in.city;
    });
    web.emplace(*WebServer::listen(loop, server, {"127.0.0.1", 0}));
    url = web->url();
    thread = std::thread([this] {
      const Loop::Work work(loop);
      loop.run(Log());
    });
  }
  ~Host() {
    loop.stop();
    thread.join();
  }
  HttpTransportOptions options() const {
    HttpTransportOptions options{.url = http::Url::parse(url).value()};
    options.proxy_from_environment = false;
    return options;
  }

  Loop loop;
  Server server;
  std::optional<WebServer> web;
  std::string url;
  std::thread thread;
};

struct Forwarding : testing::TestWithParam<Lifecycle> {};

TEST_P(Forwarding, OfARequestOnTheConnectionOfAClient) {
  Host host;
  ForwardingTransport* forwarding = nullptr;
  auto client = Client::connect(
      [&](Loop& loop) -> Result<std::unique_ptr<rpc::Transport>> {
        auto made =
            std::make_unique<ForwardingTransport>(HttpTransport::make(loop, host.options()));
        forwarding = made.get();
        return std::unique_ptr<rpc::Transport>(std::move(made));
      },
      {.lifecycle = GetParam()});
  ASSERT_TRUE(client) << client.error().message;
  const std::string facts = GetParam() == Lifecycle::stateful
                                ? ""
                                : R"(,"io.modelcontextprotocol/protocolVersion":")" +
                                      std::string(revisions()[0]) +
                                      R"(","io.modelcontextprotocol/clientCapabilities":{})";
  const std::string request =
      R"({"jsonrpc":"2.0","id":"theirs","method":"tools/call","params":{"name":"steps",)"
      R"("arguments":{"city":"Oslo"},"_meta":{"progressToken":"tok")" +
      facts + "}}}";
  std::promise<std::string> response;
  std::string progress;
  client->with_session([&](const Result<ClientSession*>&) {
    const auto sent = forwarding->forward(
        request,
        {.on_notification = [&](std::string_view text) { progress = text; },
         .on_response = [&](std::string_view text) { response.set_value(std::string(text)); }});
    EXPECT_TRUE(sent) << sent.error().message;
  });
  const std::string answer = response.get_future().get();
  EXPECT_THAT(answer, HasSubstr(R"("id":"theirs")"));
  EXPECT_THAT(answer, HasSubstr("Oslo"));
  EXPECT_THAT(progress, HasSubstr(R"("progressToken":"tok")"));
  // The client's own calls go on beside it.
  const auto own = client->call<std::string>("steps", City{"Bergen"});
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ(*own, "Bergen");
}

TEST_P(Forwarding, OfAWholeConversation) {
  Host host;
  Loop loop;
  auto [near, far] = memory_pair(loop);
  rpc::Bridge bridge(std::move(far), HttpTransport::make(loop, host.options()));
  bool closed = false;
  bridge.on_close([&](const Error&) { closed = true; });
  ClientSession session({.lifecycle = GetParam()});
  Connection connection(loop, std::move(near), session.router(), session.peer_options());
  std::optional<Result<void>> started;
  session.start(connection.peer(), [&](Result<void> outcome) { started = std::move(outcome); });
  ASSERT_TRUE(test::run_until(loop, [&] { return started.has_value(); }));
  ASSERT_TRUE(*started) << started->error().message;
  std::optional<Result<ToolResult>> got;
  int progress = 0;
  session.call_tool("steps", RawJson{R"({"city":"Oslo"})"},
                    [&](Result<ToolResult> outcome) { got = std::move(outcome); },
                    {.on_progress = [&](const Progress&) { ++progress; }});
  ASSERT_TRUE(test::run_until(loop, [&] { return got.has_value(); }));
  ASSERT_TRUE(*got) << got->error().message;
  EXPECT_EQ(progress, 1);
  connection.close();
  EXPECT_TRUE(test::run_until(loop, [&] { return closed; }));
}

INSTANTIATE_TEST_SUITE_P(BothEras, Forwarding,
                         testing::Values(Lifecycle::stateful, Lifecycle::stateless),
                         [](const auto& each) {
                           return each.param == Lifecycle::stateful ? "Stateful" : "Stateless";
                         });

}  // namespace
}  // namespace godwit::inline v0
