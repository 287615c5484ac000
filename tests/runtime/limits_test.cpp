// A client takes every answer that a server may give.
#include "godwit/base/limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <thread>

#include "godwit/io/loop.hpp"
#include "godwit/runtime/client.hpp"
#include "godwit/seal/aes_sealer.hpp"
#include "godwit/server/server.hpp"
#include "godwit/web/web_server.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct Wanted {
  std::size_t size{};
};

/// A server over HTTP on a thread of its own.
struct Host {
  Host() {
    server.tool("long", "", [](Wanted in) { return std::string(in.size, 'x'); });
    std::promise<std::string> ready;
    thread = std::thread([&] {
      const Loop::Work work(loop);
      auto web = WebServer::listen(loop, server, {"127.0.0.1", 0});
      ready.set_value(web ? web->url() : "");
      loop.run();
    });
    url = ready.get_future().get();
  }
  ~Host() {
    loop.post([this] { loop.stop(); });
    thread.join();
  }
  Server server{{.name = "long", .version = "1", .sealer = std::make_shared<AesSealer>()}};
  Loop loop;
  std::thread thread;
  std::string url;
};

TEST(ClientLimits, AnswersAsLargeAsAServerMayGive) {
  EXPECT_EQ(ClientOptions{}.limits.message_bytes_in, Limits{}.message_bytes_out);
  Host host;
  ClientOptions options;
  options.limits.call_timeout = 20s;  // what is lost is missed before anybody's patience ends
  for (const Lifecycle lifecycle : {Lifecycle::stateless, Lifecycle::stateful}) {
    options.lifecycle = lifecycle;
    auto client = Client::connect(host.url, options);
    ASSERT_TRUE(client) << client.error().message;
    // Some of it is the frame around the text.
    for (const std::size_t size : {(4u << 20) - 200, 4u << 20, (16u << 20) - 1000}) {
      const auto answer = client->call<std::string>("long", Wanted{size});
      ASSERT_TRUE(answer) << size << ": " << answer.error().message;
    }
    const auto refused = client->call<std::string>("long", Wanted{16u << 20});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("response too large"));
    EXPECT_TRUE(client->call<std::string>("long", Wanted{1}));
  }
}

TEST(ClientLimits, AnAnswerThatIsTooLargeForTheClientIsAnErrorAtOnce) {
  Host host;
  ClientOptions options;
  options.limits.message_bytes_in = 10'000;
  for (const Lifecycle lifecycle : {Lifecycle::stateless, Lifecycle::stateful}) {
    options.lifecycle = lifecycle;
    auto client = Client::connect(host.url, options);
    ASSERT_TRUE(client) << client.error().message;
    EXPECT_TRUE(client->call<std::string>("long", Wanted{9'000}));
    const auto refused = client->call<std::string>("long", Wanted{11'000});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("more than 10000 bytes"));
    EXPECT_TRUE(client->call<std::string>("long", Wanted{1}));
  }
}

}  // namespace
}  // namespace godwit::inline v0
