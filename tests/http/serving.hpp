// An HttpServer as these tests drive it: a handler with an answer of each kind, and clients that
// send bytes.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/http/http_server.hpp"
#include "raw_client.hpp"
#include "wait.hpp"

namespace godwit::inline v0::http {
namespace {

using test::RawClient;
using test::RawResponse;
using test::run_until;

/// What is answered later, and whether its client stayed.
struct Waiting final : Exchange::Owner {
  explicit Waiting(Exchange& e) : exchange(&e) { e.set_owner(this); }
  void on_gone() override {
    ++gone;
    exchange = nullptr;
  }
  Exchange* exchange;
  int gone = 0;
};

/// Answers by the path it is asked for.
struct App final : Handler {
  void on_request(const Request& request, Exchange& exchange) override {
    ++requests;
    seen += std::string(request.target) + " ";
    peers.emplace_back(request.peer);
    const std::string_view path = request.path();
    if (path == "/late") {
      waiting.push_back(std::make_unique<Waiting>(exchange));
    } else if (path == "/stream") {
      exchange.begin(200, "text/event-stream");
      exchange.write("one ");
      exchange.write("");
      exchange.write("two ");
      exchange.end();
    } else if (path == "/open") {
      exchange.begin(200, "text/event-stream");
      waiting.push_back(std::make_unique<Waiting>(exchange));
    } else if (path == "/big") {
      exchange.respond(200, "text/plain", std::string(big, 'b'));
    } else if (path == "/none") {
      exchange.respond(204, {}, {});
    } else if (path == "/throw") {
      throw std::runtime_error("secret");
    } else if (path == "/throw-int") {
      throw 42;
    } else if (path == "/throw-late") {
      exchange.begin(200, "text/plain");
      exchange.write("half");
      throw std::runtime_error("secret");
    } else if (path == "/answer-and-throw") {
      exchange.respond(200, "text/plain", "said");
      throw std::runtime_error("secret");
    } else if (path == "/abort") {
      exchange.abort();
    } else if (path == "/call") {
      call(exchange);
    } else {
      exchange.respond(200, "text/plain",
                       std::string(request.method) + " " + std::string(request.target) + " " +
                           std::string(request.body),
                       {{"X-More", "yes"}});
    }
  }
  void on_head(const Request& request, Decision& decision) override {
    ++heads;
    head_peers.emplace_back(request.peer);
    if (request.path() == "/refused") {
      return decision.refuse(
          {403, {{"Content-Type", "text/plain"}, {"X-Why", "so"}}, "refused here"});
    }
    if (request.path() == "/throw-head") throw std::runtime_error("secret");
    decision.pass();
  }
  std::optional<Response> on_upgrade(const Request& request, Stream& stream,
                                     std::string_view rest) override {
    ++upgrades;
    if (!upgrade) return Handler::on_upgrade(request, stream, rest);
    return upgrade(request, stream);
  }

  int requests = 0, heads = 0, upgrades = 0;
  std::size_t big = 8u << 20;
  std::string seen;
  std::vector<std::string> peers, head_peers;
  std::vector<std::unique_ptr<Waiting>> waiting;
  std::function<std::optional<Response>(const Request&, Stream&)> upgrade;
  std::function<void(Exchange&)> call;
};

struct HttpServing : testing::Test {
  void start(Limits limits = {}) {
    auto made = HttpServer::tcp(loop, {"127.0.0.1", 0}, app,
                                {.limits = limits, .log = Log([this](LogLevel, std::string_view s) {
                                                     log += std::string(s) + "\n";
                                                   })});
    ASSERT_TRUE(made) << made.error().message;
    server.emplace(*std::move(made));
  }
  std::unique_ptr<RawClient> connect(int receive_buffer = 0) {
    if (!server) start();
    return std::make_unique<RawClient>(loop, server->address(), receive_buffer);
  }
  template <class Condition>
  bool until(Condition condition) {
    return run_until(loop, condition);
  }
  /// Lets everything happen that can happen now.
  void settle() {
    for (int i = 0; i < 20; ++i) loop.poll();
  }

  Loop loop;
  App app;
  std::string log;
  std::optional<HttpServer> server;
};

[[maybe_unused]] std::string get(std::string_view target, std::string_view more = "") {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(more) +
         "\r\n";
}
[[maybe_unused]] std::string post(std::string_view target, std::string_view body,
                                  std::string_view more = "") {
  return "POST " + std::string(target) +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(more) + "\r\n" + std::string(body);
}

}  // namespace
}  // namespace godwit::inline v0::http
