// What a call of a client costs over HTTP beside the bytes on the wire: how often text is parsed,
// and how often the arguments are written or copied.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "count_allocations.hpp"
#include "godwit/base/work.hpp"
#include "godwit/runtime/client.hpp"
#include "godwit/seal/aes_sealer.hpp"
#include "godwit/server/server.hpp"
#include "godwit/web/web_server.hpp"

namespace godwit {
namespace {

struct Text {
  std::string text{};
};
struct Size {
  std::size_t size{};
};

/// A server on a thread of its own, which does not count.
class Host {
 public:
  Host() {
    server_.tool("size", "", [](Text in) { return Size{in.text.size()}; });
    std::promise<void> ready;
    thread_ = std::thread([&] {
      const Loop::Work work(loop_);
      web_ = std::make_unique<WebServer>(
          WebServer::listen(loop_, server_, {"127.0.0.1", 0}, {}).value());
      ready.set_value();
      loop_.run();
      web_.reset();
    });
    ready.get_future().wait();
  }
  ~Host() {
    loop_.stop();
    thread_.join();
  }
  const std::string& url() const { return web_->url(); }

 private:
  Server server_{{.name = "host", .version = "1", .sealer = std::make_shared<AesSealer>()}};
  Loop loop_;
  std::unique_ptr<WebServer> web_;
  std::thread thread_;
};

struct Cost {
  std::uint64_t parses = 0;
  std::uint64_t copies = 0;
};

Cost here() { return {detail::base::parses_done(), large_allocations}; }

/// Of the caller's thread and the client's own together.
Cost total(Client& client) {
  std::promise<Cost> there;
  client.with_session([&](Result<ClientSession*>) { there.set_value(here()); });
  const Cost other = there.get_future().get();
  return {here().parses + other.parses, here().copies + other.copies};
}

class ClientCost : public testing::TestWithParam<Lifecycle> {};

TEST_P(ClientCost, OfACallOverHttp) {
  if (!detail::base::counts_work) GTEST_SKIP() << "built without GODWIT_COUNT_WORK";
  Host host;
  ClientOptions options;
  options.lifecycle = GetParam();
  auto client = Client::connect(host.url(), options);
  ASSERT_TRUE(client) << client.error().message;
  ASSERT_TRUE(client->list_tools());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client->call<Size>("size", Text{"warm"}));
  const Text large{std::string(1u << 20, 'x')};
  const Cost before = total(*client);
  large_size = large.text.size();
  const auto answer = client->call<Size>("size", large);
  large_size = SIZE_MAX;
  const Cost after = total(*client);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->size, large.text.size());
  // The answer, and its structured part for the program.
  EXPECT_EQ(after.parses - before.parses, 2u);
  // Made into JSON, into the message, into the request.
  EXPECT_EQ(after.copies - before.copies, 3u);
}

INSTANTIATE_TEST_SUITE_P(Eras, ClientCost,
                         testing::Values(Lifecycle::stateful, Lifecycle::stateless),
                         [](const auto& each) {
                           return each.param == Lifecycle::stateful ? "stateful" : "stateless";
                         });

}  // namespace
}  // namespace godwit
