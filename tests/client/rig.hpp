// A ClientSession on a Peer whose server is the test itself: what the client sends is collected and
// checked against the official schema of the revision that is spoken, time is moved by hand.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/client/client_session.hpp"
#include "godwit/mcp/revision.hpp"
#include "mcp_schema.hpp"
#include "rpc_station.hpp"

namespace godwit::test {

/// All that a server can declare.
inline constexpr std::string_view everything =
    R"({"logging":{},"completions":{},"prompts":{"listChanged":true},)"
    R"("resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}})";

inline std::string newest() { return std::string(revisions()[0]); }
/// The newest with a handshake.
inline std::string newest_stateful() { return std::string(revisions()[1]); }

class Rig {
 public:
  explicit Rig(ClientOptions options = {}) : session_(made(std::move(options))) {
    rpc::PeerOptions peer_options = session_->peer_options();
    peer_options.clock = &clock;
    peer_options.wake = [this] { woken_ = true; };
    peer.emplace(sink_, session_->router(), std::move(peer_options));
  }

  /// Started with a server that needs no handshake.
  static std::unique_ptr<Rig> stateless(ClientOptions options = {},
                                        std::string_view capabilities = everything) {
    auto rig = std::make_unique<Rig>(std::move(options));
    rig->start();
    rig->answer(rig->next("server/discover"), discover_result(capabilities));
    EXPECT_TRUE(rig->started && *rig->started);
    EXPECT_EQ(rig->session().revision(), newest());
    return rig;
  }
  /// Started with a handshake.
  static std::unique_ptr<Rig> stateful(ClientOptions options = {},
                                       std::string_view capabilities = everything,
                                       const std::string& revision = newest_stateful()) {
    options.lifecycle = Lifecycle::stateful;
    auto rig = std::make_unique<Rig>(std::move(options));
    rig->start();
    rig->answer(rig->next("initialize"), initialize_result(revision, capabilities));
    rig->next("notifications/initialized");
    EXPECT_TRUE(rig->started && *rig->started);
    EXPECT_EQ(rig->session().revision(), revision);
    return rig;
  }

  static std::string discover_result(std::string_view capabilities = everything,
                                     std::string_view more = "") {
    return R"({"resultType":"complete","supportedVersions":[")" + newest() +
           R"("],"capabilities":)" + std::string(capabilities) +
           R"(,"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":)" +
           R"({"name":"mock","version":"1"}})" + std::string(more) + "}";
  }
  static std::string initialize_result(std::string_view revision,
                                       std::string_view capabilities = everything) {
    return R"({"protocolVersion":")" + std::string(revision) + R"(","capabilities":)" +
           std::string(capabilities) + R"(,"serverInfo":{"name":"mock","version":"1"}})";
  }

  ClientSession& session() { return *session_; }
  void destroy_session() { session_.reset(); }
  void start() {
    session_->start(*peer, [this](Result<void> outcome) {
      EXPECT_FALSE(started) << "two outcomes of start()";
      started = std::move(outcome);
    });
  }

  // What the client sent.

  /// The next message, which must be of this method.
  json::Value next(std::string_view method) {
    json::Value message = next();
    EXPECT_EQ(message["method"].as_string().value_or("none"), method) << message.dump();
    return message;
  }
  json::Value next() {
    if (sent.empty()) {
      ADD_FAILURE() << "the client sent nothing";
      return {};
    }
    auto message = json::parse(sent.front());
    sent.pop_front();
    return *message;
  }
  bool silent() const { return sent.empty(); }

  // What the server does.

  void answer(const json::Value& request, std::string_view result) {
    receive(R"({"jsonrpc":"2.0","id":)" + request["id"].dump() + R"(,"result":)" +
            std::string(result) + "}");
  }
  void refuse(const json::Value& request, int code, std::string_view message,
              std::string_view data = "null") {
    receive(R"({"jsonrpc":"2.0","id":)" + request["id"].dump() + R"(,"error":{"code":)" +
            std::to_string(code) + R"(,"message":)" + json::quote(message) + R"(,"data":)" +
            std::string(data) + "}}");
  }
  void tell(std::string_view method, std::string_view params) {
    receive(R"({"jsonrpc":"2.0","method":")" + std::string(method) + R"(","params":)" +
            std::string(params) + "}");
  }
  void ask(std::string_view id, std::string_view method, std::string_view params) {
    asked_[std::string(id)] = method;
    receive(R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"method":")" + std::string(method) +
            R"(","params":)" + std::string(params) + "}");
  }
  void pass(Duration time) {
    clock.advance(time);
    peer->expire(clock.now());
    settle();
  }
  /// What a host does when it is woken.
  void settle() {
    while (woken_.exchange(false)) peer->process();
  }
  bool logged(std::string_view part) const {
    for (const std::string& line : log) {
      if (line.find(part) != line.npos) return true;
    }
    return false;
  }

  ManualClock clock;
  std::deque<std::string> sent;
  std::vector<std::string> log;
  /// What the sink of the log does beside keeping the line.
  std::function<void()> on_log{};
  std::optional<Result<void>> started;
  /// For tests that send what no schema knows.
  bool check_schema = true;

 private:
  void receive(std::string_view message) {
    peer->receive(message);
    settle();
  }

  std::unique_ptr<ClientSession> made(ClientOptions options) {
    options.log = Log(
        [this](LogLevel, std::string_view line) {
          log.emplace_back(line);
          if (on_log) on_log();
        },
        LogLevel::debug);
    return std::make_unique<ClientSession>(std::move(options));
  }

  void on_sent(std::string_view message) {
    sent.emplace_back(message);
    if (!check_schema) return;
    const auto value = json::parse(message);
    ASSERT_TRUE(value) << message;
    const auto method = (*value)["method"].as_string().value_or("");
    std::string revision;
    if (method == "server/discover") {
      revision = newest();
    } else if (session_ && !session_->revision().empty()) {
      revision = session_->revision();
    } else {
      revision = newest_stateful();
    }
    const auto asked = asked_.find((*value)["id"].dump());
    const auto problem = SchemaBook::shared().check(
        revision, message, Direction::from_client,
        method.empty() && asked != asked_.end() ? asked->second : std::string());
    EXPECT_FALSE(problem) << *problem;
  }

  std::atomic<bool> woken_ = false;
  std::map<std::string, std::string> asked_;
  rpc::MessageSink sink_{[this](std::string_view message) { on_sent(message); }};
  std::unique_ptr<ClientSession> session_;

 public:
  std::optional<rpc::Peer> peer;
};

/// Keeps the outcome of a call, and complains about a second one.
template <class T>
class Outcome {
 public:
  Function<void(Result<T>)> taker() {
    return [box = box_](Result<T> outcome) {
      EXPECT_FALSE(*box) << "two outcomes of one call";
      *box = std::move(outcome);
    };
  }
  explicit operator bool() const { return box_->has_value(); }
  bool good() const { return *box_ && (*box_)->has_value(); }
  decltype(auto) value() { return ***box_; }
  Error error() const {
    if (!*box_) return godwit::error("no outcome yet");
    if (**box_) return godwit::error("it went well");
    return (*box_)->error();
  }
  std::string message() const { return error().message; }

 private:
  std::shared_ptr<std::optional<Result<T>>> box_ = std::make_shared<std::optional<Result<T>>>();
};

}  // namespace godwit::test
