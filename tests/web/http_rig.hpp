// An HttpTransport as these tests drive it: against a server that follows a script.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/json/value.hpp"
#include "godwit/web/http_transport.hpp"
#include "receiver.hpp"
#include "script_server.hpp"
#include "wait.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using json::Value;
using test::Recorder;
using test::run_until;
using test::ScriptServer;
using test::SeenRequest;
using testing::HasSubstr;
using Peer = ScriptServer::Peer;
using Milliseconds = std::chrono::milliseconds;

constexpr std::string_view modern = "2026-07-28";
constexpr std::string_view legacy = "2025-11-25";

/// A transport against a script.
struct Rig {
  Loop loop;
  ScriptServer server;
  Recorder to;
  std::vector<std::string> lines;  // of the log
  std::unique_ptr<HttpTransport> transport;

  explicit Rig(ScriptServer::Script script, std::function<void(HttpTransportOptions&)> change = {})
      : server(std::move(script)) {
    HttpTransportOptions options;
    options.url = http::Url::parse(server.url()).value();
    options.proxy_from_environment = false;
    options.log = Log([this](LogLevel, std::string_view line) { lines.emplace_back(line); });
    if (change) change(options);
    transport = HttpTransport::make(loop, std::move(options));
    transport->start(to);
  }

  void post(std::string_view message, const rpc::MessageFields& fields = {}) {
    test::send(*transport, message, fields);
  }
  /// A request of the stateless era.
  void ask(int id, std::string_view method, std::string_view params = "",
           const rpc::MessageFields& fields = {}) {
    post(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + std::string(method) +
             R"(","params":{)" + std::string(params) + (params.empty() ? "" : ",") +
             R"("_meta":{"io.modelcontextprotocol/protocolVersion":")" + std::string(modern) +
             R"(","io.modelcontextprotocol/clientCapabilities":{}}}})",
         fields);
  }
  /// One of the stateful era.
  void call(int id, std::string_view method, std::string_view params = "{}") {
    post(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + std::string(method) +
         R"(","params":)" + std::string(params) + "}");
  }
  bool wait(std::size_t messages) {
    return run_until(loop, [&] { return to.messages.size() >= messages; });
  }
  /// The nth message, read.
  Value got(std::size_t n = 0) {
    if (!wait(n + 1)) {
      ADD_FAILURE() << "no message " << n;
      return {};
    }
    return godwit::json::parse(to.messages[n]).value();
  }
  std::string error(std::size_t n = 0) {
    Value message = got(n);
    return message.contains("error") ? message["error"]["message"].get<std::string>() : "no error";
  }
  /// The handshake, with everything that follows it.
  void begin() {
    call(1, "initialize", R"({"protocolVersion":")" + std::string(legacy) + "\"}");
    ASSERT_TRUE(wait(1));
    post(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
    to.messages.clear();
  }
  void idle(Milliseconds time = 30ms) { loop.run_for(time); }
};

[[maybe_unused]] std::string result(const SeenRequest& request, std::string_view body = "{}") {
  return R"({"jsonrpc":"2.0","id":)" + request.id() + R"(,"result":)" + std::string(body) + "}";
}

/// Answers the requests of one connection with a function.
[[maybe_unused]] ScriptServer::Script each(std::function<void(Peer&, const SeenRequest&)> answer) {
  return [answer = std::move(answer)](Peer& peer) {
    while (const auto request = peer.read()) answer(peer, *request);
  };
}

/// A stateful server with a session, and a function for what follows the handshake.
[[maybe_unused]] ScriptServer::Script stateful(
    std::function<bool(Peer&, const SeenRequest&)> answer) {
  return each([answer = std::move(answer)](Peer& peer, const SeenRequest& request) {
    if (request.body_has("\"initialize\"")) {
      peer.json(result(request, R"({"protocolVersion":")" + std::string(legacy) + "\"}"),
                "Mcp-Session-Id: s-1\r\n");
    } else if (request.body_has("notifications/")) {
      peer.respond(202, "", "");
    } else if (!answer(peer, request)) {
      if (request.method == "GET") {
        peer.respond(405, "", "");
      } else if (request.method == "DELETE") {
        peer.respond(204, "", "");
      } else {
        peer.json(result(request));
      }
    }
  });
}

/// For stateful(): what follows the handshake is as usual.
[[maybe_unused]] bool nothing(Peer&, const SeenRequest&) { return false; }

}  // namespace
}  // namespace godwit::inline v0
