// A log sink is code of the program: it may close the connection, or destroy it together with its
// output, wherever the peer has something to say.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "godwit/rpc/peer.hpp"

namespace godwit::inline v0::rpc {
namespace {

/// A peer with an output that lives exactly as long, as on a connection.
struct Line {
  explicit Line(const PeerOptions& options) : peer(output, router(), options) {}

  static std::shared_ptr<const Router> router() {
    auto made = std::make_shared<Router>();
    made->on("lossy", [] { return std::string("\xff"); });
    made->on("throw", []() -> int { throw std::runtime_error("careless"); });
    made->on("good", [] { return 1; });
    made->on("tell much", [](Context& cx) {
      cx.notify("much", std::vector<std::string>{std::string(500, 'x')});
      return 1;
    });
    return made;
  }

  MessageSink output{[](std::string_view) {}};
  Peer peer;
};

enum class End { close, destroy };

/// Does something with a peer whose log sink ends it at the first line. The sanitizers see what is
/// touched after that.
void expect_survives(const std::function<void(Peer&)>& act, std::string_view line_has) {
  for (const End end : {End::close, End::destroy}) {
    std::unique_ptr<Line> line;
    std::string said;
    PeerOptions options;
    options.limits.message_bytes_out = 400;
    options.limits.message_bytes_in = 1'000;
    options.log = Log(
        [&](LogLevel, std::string_view text) {
          if (!said.empty()) return;
          said = text;
          if (end == End::close) {
            line->peer.close();
          } else {
            line.reset();
          }
        },
        LogLevel::debug);
    line = std::make_unique<Line>(options);
    act(line->peer);
    EXPECT_NE(said.find(line_has), std::string::npos) << said;
    if (end == End::close) {
      EXPECT_TRUE(line->peer.closed());
      line->peer.notify("after the end");
    }
  }
}

void expect_survives(std::string_view message, std::string_view line_has) {
  expect_survives([&](Peer& peer) { peer.receive(message); }, line_has);
}

TEST(LogSink, MayEndThePeerOverAMessageThatIsRefused) {
  expect_survives(R"({"jsonrpc":"2.0","id":1})", "a message was refused");
  expect_survives(R"({"jsonrpc":"2.0","id":1,"method":"good","params":{"a":1,"a":2}})",
                  "a message was refused");
  expect_survives(R"([{"jsonrpc":"2.0","id":1},{"jsonrpc":"2.0","id":2}])",
                  "a message was refused");
}

TEST(LogSink, MayEndThePeerOverAMessageThatCannotBeRead) {
  expect_survives("{", "a message was refused");
  expect_survives("[]", "a message was refused");
  expect_survives(std::string(2'000, ' '), "a message was refused");
  expect_survives([](Peer& peer) { peer.on_unreadable(invalid_request("too long")); },
                  "a message was refused");
}

TEST(LogSink, MayEndThePeerOverAResultThatJsonCannotCarry) {
  expect_survives(R"({"jsonrpc":"2.0","id":1,"method":"lossy"})", "JSON cannot carry");
  expect_survives(R"([{"jsonrpc":"2.0","id":1,"method":"lossy"}])", "JSON cannot carry");
}

TEST(LogSink, MayEndThePeerOverAHandlerThatThrew) {
  expect_survives(R"({"jsonrpc":"2.0","id":1,"method":"throw"})", "careless");
  expect_survives(R"([{"jsonrpc":"2.0","id":1,"method":"throw"},{}])", "careless");
  expect_survives(R"({"jsonrpc":"2.0","method":"throw"})", "careless");
}

TEST(LogSink, MayEndThePeerOverANotificationThatIsTooLarge) {
  const std::vector<std::string> params{std::string(500, 'x')};
  expect_survives([&](Peer& peer) { peer.notify("much", params); }, "was not sent");
  expect_survives([&](Peer& peer) { peer.notify("much", params, Route{7}); }, "was not sent");
  expect_survives(R"({"jsonrpc":"2.0","id":1,"method":"tell much"})", "was not sent");
}

TEST(LogSink, MayEndThePeerOverAnInvalidResponse) {
  int outcomes = 0;
  expect_survives(
      [&](Peer& peer) {
        peer.call("m", no_params, [&](Result<json::Value>) { ++outcomes; });
        peer.receive(R"({"jsonrpc":"2.0","id":1,"result":1,"error":{}})");
      },
      "is invalid");
  EXPECT_EQ(outcomes, 2);
  expect_survives(R"({"jsonrpc":"2.0","id":1,"result":1})", "a response was dropped");
}

TEST(LogSink, MayEndThePeerOverAHookThatThrew) {
  for (const End end : {End::close, End::destroy}) {
    std::unique_ptr<Line> line;
    bool said = false;
    PeerOptions options;
    options.garbage = [](std::string_view) { throw std::runtime_error("careless"); };
    options.log = Log([&](LogLevel, std::string_view) {
      if (std::exchange(said, true)) return;
      if (end == End::close) {
        line->peer.close();
      } else {
        line.reset();
      }
    });
    line = std::make_unique<Line>(options);
    line->peer.receive("{");
    EXPECT_TRUE(said);
  }
}

}  // namespace
}  // namespace godwit::inline v0::rpc
