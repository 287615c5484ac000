// A plain call over HTTP makes few heap allocations in the server, in either era.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "blocking_client.hpp"
#include "count_allocations.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/web/web_server.hpp"
#include "site.hpp"
#include "wait.hpp"

namespace godwit::inline v0 {
namespace {

struct Echo {
  std::string_view message{};
};

constexpr std::size_t warm_up = 50;
constexpr std::size_t calls = 1'000;

/// Serves on the thread of the test. The handler notes how many allocations there were.
class WebAllocations : public testing::TestWithParam<bool> {
 protected:
  explicit WebAllocations(std::shared_ptr<http::Admission> admission = nullptr) {
    server_.tool("echo", "", [this](Echo in) {
      if (called_ < seen_.size()) seen_[called_++] = allocations;
      return in.message;
    });
    web_ = std::make_unique<WebServer>(
        WebServer::listen(loop_, server_, {"127.0.0.1", 0}, {.endpoint = {.admission = admission}})
            .value());
  }

  std::string post(std::string_view body, std::string_view more) const {
    return "POST /mcp HTTP/1.1\r\nHost: " + web_->address() +
           "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" +
           std::string(more) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           std::string(body);
  }

  /// Allocations of the server's thread for each call, as a client on another thread makes them.
  double per_call(bool stateless) {
    bool done = false;
    std::thread client([&] {
      test::BlockingClient socket(web_->address());
      std::string request;
      const std::string arguments = R"({"message":")" + std::string(300, 'x') + "\"}";
      if (stateless) {
        request =
            post(Site::modern_body("1", "tools/call", test::Link::tool_params("echo", arguments)),
                 "MCP-Protocol-Version: " + std::string(test::modern_revision) +
                     "\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n");
      } else {
        socket.send(post(Site::initialize_body(test::legacy_revision), ""));
        const std::string session =
            "Mcp-Session-Id: " + socket.response().field("Mcp-Session-Id") + "\r\n";
        socket.send(post(Site::legacy_body("", "notifications/initialized"), session));
        EXPECT_EQ(socket.response().status, 202);
        request = post(Site::tool_body("1", "echo", arguments), session);
      }
      for (std::size_t i = 0; i < seen_.size(); ++i) {
        socket.send(request);
        const auto answer = socket.response();
        EXPECT_EQ(answer.status, 200);
        EXPECT_NE(answer.body.find("xxx"), answer.body.npos) << answer.body;
        if (testing::Test::HasFailure()) break;
      }
      loop_.post([&] { done = true; });
    });
    EXPECT_TRUE(test::run_until(loop_, [&] { return done; }, std::chrono::seconds(60)));
    client.join();
    EXPECT_EQ(called_, seen_.size());
    return static_cast<double>(seen_.back() - seen_[warm_up - 1]) / calls;
  }

  Loop loop_;
  std::size_t called_ = 0;
  std::array<std::size_t, warm_up + calls> seen_{};
  Server server_{test::server_options()};
  std::unique_ptr<WebServer> web_;
};

TEST_P(WebAllocations, OfAPlainCall) { EXPECT_LE(per_call(GetParam()), 3.05); }

/// Whoever is known already costs nothing.
class WebAllocationsOfTheAdmitted : public WebAllocations {
 protected:
  WebAllocationsOfTheAdmitted()
      : WebAllocations(http::make_admission(
            [known = test::known_as("ada")](const http::Request&, http::Decision& decision) {
              decision.admit({.identity = known});
            })) {}
};

TEST_P(WebAllocationsOfTheAdmitted, OfAPlainCall) { EXPECT_LE(per_call(GetParam()), 3.05); }

constexpr auto era_name = [](const auto& param) { return param.param ? "stateless" : "stateful"; };
INSTANTIATE_TEST_SUITE_P(Eras, WebAllocations, testing::Bool(), era_name);
INSTANTIATE_TEST_SUITE_P(Eras, WebAllocationsOfTheAdmitted, testing::Bool(), era_name);

}  // namespace
}  // namespace godwit::inline v0
