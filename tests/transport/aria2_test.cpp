// A JSON-RPC service that is not ours: aria2, over WebSocket and over HTTP.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "godwit/io/listener.hpp"
#include "godwit/io/process.hpp"
#include "godwit/transport/connection.hpp"
#include "godwit/transport/rpc_http.hpp"
#include "godwit/transport/websocket.hpp"
#include "wait.hpp"

namespace godwit {
namespace {

using namespace std::chrono_literals;

bool installed() {
  const char* const path = std::getenv("PATH");
  std::string folders = path ? path : "/usr/bin";
  for (std::size_t at = 0; at <= folders.size();) {
    const std::size_t colon = std::min(folders.find(':', at), folders.size());
    if (::access((folders.substr(at, colon - at) + "/aria2c").c_str(), X_OK) == 0) return true;
    at = colon + 1;
  }
  return false;
}

class Aria2 : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!installed()) {
      GTEST_SKIP() << "aria2c is not there (Debian: aria2): nobody to talk to";
    }
    for (int attempt = 0; attempt < 3 && !client_; ++attempt) start();
    ASSERT_TRUE(client_) << "aria2c did not come up";
  }

  void TearDown() override {
    client_.reset();
    if (!process_) return;
    if (!status_) ::kill(process_->pid(), SIGKILL);
    EXPECT_TRUE(test::run_until(loop_, [&] { return status_.has_value(); }));
  }

  void start() {
    std::string address;
    {  // a port that was free a moment ago
      auto listener = Listener::tcp(loop_, {.host = "127.0.0.1", .port = 0}, [](Stream) {});
      address = listener->address();
    }
    const std::string port = address.substr(address.rfind(':') + 1);
    status_.reset();
    process_.emplace(*Process::spawn(
        loop_, {.argv = {"aria2c", "--no-conf", "--quiet", "--enable-rpc", "--rpc-secret=secret",
                         "--rpc-listen-port=" + port, "--dir=" + folder_.path()}}));
    process_->on_exit([this](ExitStatus how) { status_ = how; });
    url_ = *http::Url::parse(std::string(GetParam()) + "://127.0.0.1:" + port + "/jsonrpc");
    static_cast<void>(test::run_until(loop_, [&] { return status_ || try_connect(); }, 5s));
  }

  bool try_connect() {
    if (url_.scheme == "http") {
      client_.emplace(loop_, connect_http(loop_, url_));
      if (client_->ask<json::Value>("system.listMethods")) return true;
      client_.reset();
      return false;
    }
    std::optional<Result<std::unique_ptr<rpc::Transport>>> outcome;
    const auto attempt = connect_websocket(
        loop_, url_, [&](Result<std::unique_ptr<rpc::Transport>> got) { outcome = std::move(got); },
        {.websocket = {.protocols = {}}});
    static_cast<void>(test::run_until(loop_, [&] { return outcome.has_value(); }));
    if (!outcome || !*outcome) return false;
    client_.emplace(loop_, **std::move(outcome));
    return true;
  }

  Loop loop_;
  test::TemporaryFolder folder_;
  std::optional<Process> process_;
  std::optional<ExitStatus> status_;
  http::Url url_;
  std::optional<Connection> client_;
};

struct Version {
  std::string version{};
  std::vector<std::string> enabledFeatures{};
};

const std::tuple token{"token:secret"};

TEST_P(Aria2, Calls) {
  const auto version = client_->ask<Version>("aria2.getVersion", token);
  ASSERT_TRUE(version) << version.error().message;
  EXPECT_FALSE(version->version.empty());
  const auto methods = client_->ask<std::vector<std::string>>("system.listMethods");
  ASSERT_TRUE(methods) << methods.error().message;
  EXPECT_THAT(*methods, testing::Contains("aria2.addUri"));
}

struct One {
  std::string methodName{};
  std::vector<std::string> params{};
};

TEST_P(Aria2, Multicall) {
  const std::vector<One> calls = {{"aria2.getVersion", {"token:secret"}},
                                  {"system.listNotifications", {}}};
  const auto answers = client_->ask<json::Value>("system.multicall", std::tuple{calls});
  ASSERT_TRUE(answers) << answers.error().message;
  ASSERT_EQ(answers->size(), 2u);
  EXPECT_TRUE((*answers)[0][0].contains("version")) << answers->dump();
}

TEST_P(Aria2, ABatch) {
  std::vector<std::string> got;
  client_->peer()
      .batch()
      .call<Version>(
          "aria2.getVersion", token,
          [&](Result<Version> one) { got.push_back(one ? "version" : one.error().message); })
      .call<json::Value>("aria2.nothing", token,
                         [&](Result<json::Value> one) { got.push_back(one ? "?" : "error"); })
      .call<json::Value>("aria2.getGlobalStat", token,
                         [&](Result<json::Value> one) {
                           got.push_back(one && one->contains("numActive") ? "stat" : "?");
                         })
      .send();
  ASSERT_TRUE(test::run_until(loop_, [&] { return got.size() == 3; }));
  EXPECT_THAT(got, testing::UnorderedElementsAre("version", "error", "stat"));
}

TEST_P(Aria2, Errors) {
  const auto unknown = client_->ask<json::Value>("aria2.nothing", token);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, testing::HasSubstr("aria2.nothing"));
  const auto stranger = client_->ask<json::Value>("aria2.getVersion", std::tuple{"token:wrong"});
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().code, 1);
  EXPECT_EQ(stranger.error().message, "Unauthorized");
  // And it still talks to us.
  EXPECT_TRUE(client_->ask<Version>("aria2.getVersion", token));
}

TEST_P(Aria2, GoesWhenToldTo) {
  EXPECT_EQ(client_->ask<std::string>("aria2.forceShutdown", token).value_or("?"), "OK");
  ASSERT_TRUE(test::run_until(loop_, [&] { return status_.has_value(); }));
  EXPECT_TRUE(status_->success()) << status_->text();
  EXPECT_FALSE(client_->ask<Version>("aria2.getVersion", token));
}

INSTANTIATE_TEST_SUITE_P(Over, Aria2, testing::Values("ws", "http"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace godwit
