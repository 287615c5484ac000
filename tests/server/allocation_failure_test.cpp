// Any allocation of a server may fail: the request that needed it fails, the next one works, and
// nothing is left behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fail_allocations.hpp"
#include "mcp_station.hpp"
#include "slow_ledger.hpp"

namespace godwit::inline v0 {
namespace {

using test::fail_each_allocation;
using test::may_fail;

/// A connection whose other end is the test: what arrives there never fails.
class Line {
 public:
  explicit Line(const Server& server)
      : peer(output_, server.router(), with_log(server.peer_options())) {}

  bool receive(std::string_view message) {
    return may_fail([&] {
      peer.receive(message);
      peer.process();
    });
  }
  /// Without a failure.
  std::string answer_to(std::string_view message) {
    test::until_failure = 0;
    sent.clear();
    receive(message);
    return sent.empty() ? std::string() : sent.back();
  }
  bool has_sent(std::string_view part) const {
    return std::ranges::any_of(sent,
                               [&](const std::string& one) { return one.find(part) != one.npos; });
  }

  std::vector<std::string> sent;

 private:
  static rpc::PeerOptions with_log(rpc::PeerOptions options) {
    options.log = Log([](LogLevel, std::string_view) {});
    return options;
  }
  rpc::MessageSink output_{[this](std::string_view message) {
    const bool before = std::exchange(test::own_thread, true);
    sent.emplace_back(message);
    test::own_thread = before;
  }};

 public:
  rpc::Peer peer;
};

constexpr std::string_view initialize =
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",)"
    R"("capabilities":{"elicitation":{},"experimental":{"a name that is long enough":{}}},)"
    R"("clientInfo":{"name":"a client with a name of some length","version":"1"}}})";
constexpr std::string_view initialized =
    R"({"jsonrpc":"2.0","method":"notifications/initialized"})";
constexpr std::string_view deploy =
    R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"deploy","arguments":{}}})";
constexpr std::string_view pay =
    R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"pay","arguments":{}}})";
constexpr std::string_view take_back =
    R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}})";
constexpr std::string_view subscribe = R"({"jsonrpc":"2.0","id":3,"method":"resources/subscribe",)"
                                       R"("params":{"uri":"x:a-resource-with-a-long-name"}})";
constexpr std::string_view listen =
    R"({"jsonrpc":"2.0","id":4,"method":"subscriptions/listen","params":{"notifications":)"
    R"({"resourceSubscriptions":["x:a-resource-with-a-long-name"]},"_meta":)"
    R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
    R"("io.modelcontextprotocol/clientCapabilities":{},)"
    R"("io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}}})";

struct Sure {
  bool sure{};
};

class ServerAllocationFailure : public testing::Test {
 protected:
  ServerAllocationFailure() : server(test::server_options()) {
    server.resource("x:a-resource-with-a-long-name", "one", [] { return "x"; });
    server.tool("deploy", "", [](Context& cx) -> Result<std::string> {
      auto answer = cx.elicit<Sure>("sure", "Are you as sure as one can be?");
      if (!answer) return answer.error();
      return "deployed";
    });
  }
  /// Each allocation of `round` fails in turn; no session is left after any of them.
  void expect_survives(const std::function<void()>& round) {
    EXPECT_GT(fail_each_allocation(round, [&] { EXPECT_EQ(server.session_bytes(), 0u); }), 0);
  }
  void make_known(Line& line) {
    line.peer.receive(initialize);
    line.peer.receive(initialized);
    line.sent.clear();
  }

  Server server;
  const Error gone = rpc::connection_closed("the other side closed the connection");
};

TEST_F(ServerAllocationFailure, OfAHandshake) {
  std::size_t bytes = 0;
  expect_survives([&] {
    Line line(server);
    line.receive(initialize);
    if (!line.has_sent("\"result\"")) {
      EXPECT_NE(line.answer_to(initialize).find("\"result\""), std::string::npos);
    }
    if (bytes == 0) bytes = server.session_bytes();
    EXPECT_EQ(server.session_bytes(), bytes);
  });
}

TEST_F(ServerAllocationFailure, OfASubscription) {
  std::size_t bytes = 0;
  expect_survives([&] {
    Line line(server);
    make_known(line);
    line.receive(subscribe);
    if (!line.has_sent("\"result\"")) {
      EXPECT_NE(line.answer_to(subscribe).find("\"result\""), std::string::npos);
    }
    if (bytes == 0) bytes = server.session_bytes();
    EXPECT_EQ(server.session_bytes(), bytes);
  });
}

TEST_F(ServerAllocationFailure, OfAListen) {
  expect_survives([&] {
    Line line(server);
    const bool received = line.receive(listen);
    const bool failed = !received || line.has_sent("\"error\"");
    if (failed) {
      EXPECT_EQ(server.session_bytes(), 0u) << "it is not listened to any more";
    }
    if (may_fail([&] { line.peer.end_of_input(gone); })) {
      may_fail([&] { line.peer.process(); });
    }
  });
}

TEST_F(ServerAllocationFailure, OfAQuestionWhoseRequestIsTakenBack) {
  expect_survives([&] {
    Line line(server);
    make_known(line);
    if (!line.receive(deploy)) return;
    if (line.receive(take_back)) {
      EXPECT_EQ(line.peer.pending(), 0u);
      EXPECT_EQ(line.peer.in_flight(), 0u);
    }
  });
}

TEST_F(ServerAllocationFailure, OfAQuestionAtTheEndOfInput) {
  expect_survives([&] {
    Line line(server);
    make_known(line);
    if (!line.receive(deploy)) return;
    if (may_fail([&] { line.peer.end_of_input(gone); })) {
      EXPECT_EQ(line.peer.pending(), 0u);
      may_fail([&] { line.peer.process(); });
    }
  });
}

TEST_F(ServerAllocationFailure, OfAnEffect) {
  for (const bool slow : {false, true}) {
    int done = 0;
    EXPECT_GT(fail_each_allocation(
                  [&] {
                    const auto ledger = std::make_shared<test::SlowLedger>();
                    if (!slow) ledger->quick = {"claim", "complete", "release"};
                    ServerOptions options = test::server_options();
                    options.ledger = ledger;
                    Server shop(std::move(options));
                    done = 0;
                    shop.tool("pay", "", [&](Context& cx) -> Result<std::string> {
                      auto paid = cx.once("a payment with a long name", [&] {
                        ++done;
                        return std::string("a receipt that is longer than a short string");
                      });
                      if (!paid) return paid.error();
                      return *paid;
                    });
                    Line line(shop);
                    make_known(line);
                    line.receive(pay);
                    for (int i = 0; i < 3; ++i) {
                      may_fail([&] {
                        ledger->step();
                        line.peer.process();
                        line.peer.process();
                      });
                    }
                    test::until_failure = 0;
                    // What waits for nobody ends when its time is over.
                    line.peer.expire(steady_clock().now() + std::chrono::minutes(1));
                    line.peer.process();
                    line.peer.process();
                    EXPECT_EQ(line.peer.in_flight(), 0u);
                    EXPECT_LE(done, 1);
                    EXPECT_LE(line.sent.size(), 1u);
                    while (ledger->step()) {
                    }
                  },
                  [] {}),
              0);
    EXPECT_EQ(done, 1);
  }
}

TEST_F(ServerAllocationFailure, OfAChangeThatIsTold) {
  expect_survives([&] {
    Line line(server), other(server);
    make_known(line);
    make_known(other);
    line.receive(subscribe);
    other.receive(subscribe);
    for (int i = 0; i < 2; ++i) {
      may_fail([&] {
        server.resource_updated("x:a-resource-with-a-long-name");
        line.peer.process();
        other.peer.process();
      });
    }
    test::until_failure = 0;
    line.sent.clear();
    server.resource_updated("x:a-resource-with-a-long-name");
    line.peer.process();
    EXPECT_LE(line.sent.size(), 1u);
  });
}

}  // namespace
}  // namespace godwit::inline v0
