// What the tests of replay share: processes that serve one request together, and a handler of three
// steps.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

using test::accept;
using test::Link;

struct Name {
  std::string name{};
};
struct Place {
  std::string city{};
  std::optional<int> zip{};
  std::optional<std::map<std::string, int>> more{};
};

/// One process of several: its own Server that shares what it is given.
struct Process {
  explicit Process(std::shared_ptr<Sealer> sealer, std::shared_ptr<Ledger> ledger = nullptr,
                   Executor* executor = nullptr) {
    ServerOptions options = test::server_options();
    options.sealer = std::move(sealer);
    options.ledger = std::move(ledger);
    options.executor = executor;
    options.unix_time = [this] { return now.load(); };
    server.emplace(std::move(options));
  }
  std::atomic<std::int64_t> now = 1'000'000;
  std::optional<Server> server;
};

[[maybe_unused]] Link connect(const Process& process, std::string principal = {}) {
  return Link(*process.server, test::modern_revision,
              {.capabilities = std::string(test::can_all),
               .facts = {.identity = test::known_as(principal)}});
}

/// Three questions with an effect after each.
auto three_steps(std::atomic<int>& effects) {
  return [&effects](Place, Context& cx) -> Result<std::string> {
    std::string all;
    for (const char* key : {"a", "b", "c"}) {
      auto answer = cx.elicit<Name>(key, std::string("Name ") + key);
      if (!answer) return answer.error();
      auto done = cx.once(key, [&] { return ++effects; });
      if (!done) return done.error();
      all += answer->value().name + std::to_string(*done);
    }
    return all;
  };
}

/// Answers a question "Name a" with "a".
[[maybe_unused]] std::string by_message(std::string_view, const json::Value& params) {
  return accept(R"({"name":")" + params["message"].get<std::string>().substr(5) + R"("})");
}

const std::string oslo = R"({"city":"Oslo"})";

/// Runs to the point where the state after `rounds` answers is known. Gives the params to send
/// next.
[[maybe_unused]] std::string params_after(Link& link, int rounds, std::string_view tool = "steps") {
  std::string params = Link::tool_params(tool, oslo);
  const std::string first = params;
  for (int i = 0; i < rounds; ++i) {
    const json::Value answer = link.ask("tools/call", params);
    EXPECT_EQ(answer["result"]["resultType"].as_string(), "input_required") << answer.dump();
    params = Link::with_answers(first, answer["result"], by_message);
  }
  return params;
}

}  // namespace
}  // namespace godwit::inline v0
