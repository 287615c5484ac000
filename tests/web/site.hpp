// A Server behind an Endpoint as these tests drive it: requests of both eras are put together,
// exchanges are kept, time is moved by hand.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fake_exchange.hpp"
#include "godwit/web/endpoint.hpp"
#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

using test::FakeExchange;
using test::FakeRequest;

/// Runs the work at once, where it was asked for.
class InlineExecutor final : public Executor {
 public:
  void execute(Function<void()> work) override { work(); }
};

/// Keeps the work until the test runs it.
class LaterExecutor final : public Executor {
 public:
  void execute(Function<void()> work) override { waiting.push_back(std::move(work)); }
  void run() {
    while (!waiting.empty()) {
      Function<void()> work = std::move(waiting.front());
      waiting.pop_front();
      work();
    }
  }
  std::deque<Function<void()>> waiting;
};

struct SiteOptions {
  ServerOptions server = test::server_options();
  EndpointOptions endpoint{};
};

class Site {
 public:
  explicit Site(SiteOptions options = {}) : Site(std::move(options), 0) {}
  ~Site() { endpoint.reset(); }

  /// The endpoint is made with the first request, so that the test can fill the server before.
  Endpoint& web() {
    if (!endpoint) endpoint.emplace(server, options_);
    return *endpoint;
  }

  FakeExchange& send(FakeRequest request) {
    exchanges.push_back(std::make_unique<FakeExchange>());
    FakeExchange& exchange = *exchanges.back();
    web().on_request(request.get(), exchange);
    EXPECT_TRUE(!exchange.waiting() || exchange.owner) << "nobody will answer";
    return exchange;
  }
  void process() { web().process(); }
  void pass(Duration time) {
    clock.advance(time);
    web().expire(clock.now());
  }

  // Stateless.

  static std::string modern_body(std::string_view id, std::string_view method,
                                 std::string_view params = "{}",
                                 std::string_view capabilities = "{}") {
    json::Value all = test::parse(params);
    json::Value meta = all.contains("_meta") ? std::as_const(all)["_meta"] : json::Object{};
    meta["io.modelcontextprotocol/protocolVersion"] = std::string(test::modern_revision);
    meta["io.modelcontextprotocol/clientCapabilities"] = test::parse(capabilities);
    all["_meta"] = std::move(meta);
    return R"({"jsonrpc":"2.0",)" + (id.empty() ? "" : R"("id":)" + std::string(id) + ",") +
           R"("method":)" + json::quote(method) + R"(,"params":)" + all.dump() + "}";
  }
  static FakeRequest post(std::string_view body) {
    FakeRequest request("POST", "/mcp");
    request.with("Host", "localhost")
        .with("Content-Type", "application/json")
        .with("Accept", "application/json, text/event-stream")
        .body(body);
    return request;
  }
  /// With every field that it needs.
  static FakeRequest modern(std::string_view id, std::string_view method,
                            std::string_view params = "{}", std::string_view capabilities = "{}") {
    FakeRequest request = post(modern_body(id, method, params, capabilities));
    request.with("MCP-Protocol-Version", std::string(test::modern_revision))
        .with("Mcp-Method", std::string(method));
    const json::Value all = test::parse(params);
    const char* named = method == "resources/read" ? "uri" : "name";
    if ((method == "tools/call" || method == "prompts/get" || method == "resources/read") &&
        all[named].is_string()) {
      request.with("Mcp-Name", all[named].get<std::string>());
    }
    return request;
  }
  static FakeRequest modern_tool(std::string_view id, std::string_view name,
                                 std::string_view arguments = "{}", std::string_view more = "",
                                 std::string_view capabilities = "{}") {
    return modern(id, "tools/call", test::Link::tool_params(name, arguments, more), capabilities);
  }

  // Stateful.

  static std::string legacy_body(std::string_view id, std::string_view method,
                                 std::string_view params = "{}") {
    return R"({"jsonrpc":"2.0",)" + (id.empty() ? "" : R"("id":)" + std::string(id) + ",") +
           R"("method":)" + json::quote(method) + R"(,"params":)" + std::string(params) + "}";
  }
  static std::string initialize_body(std::string_view revision,
                                     std::string_view capabilities = test::can_all) {
    return legacy_body("0", "initialize",
                       R"({"protocolVersion":")" + std::string(revision) + R"(","capabilities":)" +
                           std::string(capabilities) +
                           R"(,"clientInfo":{"name":"tester","version":"9"}})");
  }
  /// Makes the handshake; gives the id of the session.
  std::string connect(std::string_view revision = test::legacy_revision,
                      std::string_view capabilities = test::can_all) {
    FakeExchange& answer = send(post(initialize_body(revision, capabilities)));
    EXPECT_EQ(answer.status, 200) << answer.body;
    const std::string session = answer.field("Mcp-Session-Id");
    FakeExchange& noted = send(in(session, legacy_body("", "notifications/initialized")));
    EXPECT_EQ(noted.status, 202) << noted.body;
    return session;
  }
  static FakeRequest in(std::string_view session, std::string_view body) {
    return post(body).with("Mcp-Session-Id", std::string(session));
  }
  static std::string tool_body(std::string_view id, std::string_view name,
                               std::string_view arguments = "{}", std::string_view more = "") {
    return legacy_body(id, "tools/call", test::Link::tool_params(name, arguments, more));
  }
  static FakeRequest get(std::string_view session, std::string_view last_event_id = {}) {
    FakeRequest request("GET", "/mcp");
    request.with("Host", "localhost")
        .with("Accept", "text/event-stream")
        .with("Mcp-Session-Id", std::string(session));
    if (!last_event_id.empty()) request.with("Last-Event-ID", std::string(last_event_id));
    return request;
  }
  static FakeRequest remove(std::string_view session) {
    return FakeRequest("DELETE", "/mcp")
        .with("Host", "localhost")
        .with("Mcp-Session-Id", std::string(session));
  }

  ManualClock clock;
  std::vector<std::string> log;
  int woken = 0;
  int moved = 0;
  Server server;
  std::deque<std::unique_ptr<FakeExchange>> exchanges;
  std::optional<Endpoint> endpoint;

 private:
  Site(SiteOptions options, int) : server(prepare(options)) {
    options_ = std::move(options.endpoint);
    options_.wake = [this] { ++woken; };
    options_.deadline_moved = [this] { ++moved; };
  }
  ServerOptions prepare(SiteOptions& options) {
    options.server.clock = &clock;
    options.server.log =
        Log([this](LogLevel, std::string_view line) { log.emplace_back(line); }, LogLevel::debug);
    return std::move(options.server);
  }
  EndpointOptions options_;
};

/// `STATUS CODE ID` of an error, `STATUS result ID` of a result, `STATUS` without a body.
[[maybe_unused]] std::string outcome(const FakeExchange& exchange) {
  std::string text = exchange.waiting() ? "waiting" : std::to_string(exchange.status);
  if (exchange.body.empty()) return text;
  const json::Value answer = exchange.answer();
  const std::string id = answer.contains("id") ? answer["id"].dump() : "none";
  if (answer.contains("result")) return text + " result " + id;
  if (answer.contains("error")) return text + " " + answer["error"]["code"].dump() + " " + id;
  return text + " " + exchange.body;
}

// What tools take here.
struct City {
  std::string city{};
};
struct Name {
  std::string name{};
};
const std::string oslo = R"({"city":"Oslo"})";

/// A tool that is answered by the test: calls wait here.
struct Parked {
  std::vector<Reply<std::string>> replies;
  auto handler() {
    return [this](Reply<std::string> reply) { replies.push_back(std::move(reply)); };
  }
};

}  // namespace
}  // namespace godwit::inline v0
