// What the tests of once() with a slow ledger share: a server whose ledger waits for the test.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "mcp_station.hpp"
#include "slow_ledger.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::accept;
using test::code_of;
using test::error_text;
using test::has;
using test::Link;
using test::SlowLedger;
using test::text_of;
using Calls = std::vector<std::string>;

struct Name {
  std::string name{};
};

/// A server whose ledger waits for the test.
struct Shop {
  explicit Shop(std::shared_ptr<SlowLedger> given = std::make_shared<SlowLedger>(),
                Executor* executor = nullptr,
                std::shared_ptr<Sealer> sealer = std::make_shared<test::TableSealer>())
      : ledger(std::move(given)) {
    ServerOptions options = test::server_options();
    options.ledger = ledger;
    options.executor = executor;
    options.sealer = std::move(sealer);
    options.log = Log(
        [this](LogLevel, std::string_view line) {
          const std::lock_guard lock(mutex);
          log += std::string(line) + "\n";
        },
        LogLevel::warning);
    server.emplace(std::move(options));
    server->tool("pay", "", [this](Context& cx) { return pay(cx); });
    server->tool("plain", "", [] { return "plain"; });
    server->tool("ask", "", [this](Context& cx) -> Result<std::string> {
      auto name = cx.elicit<Name>("who", "Who?");
      if (!name) return name.error();
      auto paid = pay(cx);
      if (!paid) return paid;
      return name->value().name + " " + *paid;
    });
    server->tool("late", "", [this](Context&, Reply<std::string> reply) {
      auto paid = pay(reply.context());
      reply(std::move(paid));
    });
    if (executor) {
      server->tool("blocking", "", blocking([this](Context& cx) { return pay(cx); }));
    }
  }

  Result<std::string> pay(Context& cx) {
    ++runs;
    cx.log(LoggingLevel::error, "before");
    cx.progress(1);
    auto id = cx.once("pay", [&] {
      if (inside) inside();
      return "r" + std::to_string(++effects);
    });
    cx.progress(2);
    cx.log(LoggingLevel::error, "after");
    if (!id) return id.error();
    return "paid " + *id;
  }
  Link connect(std::string_view revision) {
    return Link(*server, revision,
                {.capabilities = std::string(test::can_all), .log_level = "info"});
  }
  static std::string call(std::string_view tool) {
    return Link::tool_params(tool, "{}", R"(,"_meta":{"progressToken":"t"})");
  }
  bool logged(std::string_view part) const {
    const std::lock_guard lock(mutex);
    return log.find(part) != log.npos;
  }

  mutable std::mutex mutex;
  std::string log;  // outlives the ledger, whose last operations end with it
  std::shared_ptr<SlowLedger> ledger;
  std::optional<Server> server;
  std::function<void()> inside;
  std::atomic<int> runs = 0, effects = 0;
};

/// What was logged to the client, in order.
[[maybe_unused]] std::vector<std::string> lines(const Link& link) {
  std::vector<std::string> all;
  for (const json::Value& note : link.notes("notifications/message")) {
    all.push_back(note["params"]["data"].get<std::string>());
  }
  return all;
}

}  // namespace
}  // namespace godwit::inline v0
