// Rounds of one stateless request served by processes that share nothing but a sealing key, with
// the real AesSealer.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "godwit/seal/aes_sealer.hpp"
#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

using test::accept;
using test::code_of;
using test::Link;
using test::text_of;

struct Name {
  std::string name{};
};

/// One process: a server of its own, with a sealer of its own.
struct Process {
  Process(std::vector<SealKey> keys, int& effects) : server(made(std::move(keys))) {
    server.tool("steps", "", [&effects](Context& cx) -> Result<std::string> {
      std::string all;
      for (const char* key : {"a", "b", "c"}) {
        auto answer = cx.elicit<Name>(key, std::string("Name ") + key);
        if (!answer) return answer.error();
        auto done = cx.once(key, [&] { return ++effects; });
        if (!done) return done.error();
        all += answer->value().name + std::to_string(*done);
      }
      return all;
    });
  }
  static ServerOptions made(std::vector<SealKey> keys) {
    ServerOptions options = test::server_options();
    options.sealer = std::make_shared<AesSealer>(std::move(keys));
    return options;
  }
  json::Value call(const std::string& params) {
    Link link(server, test::modern_revision, {.capabilities = std::string(test::can_all)});
    return link.ask("tools/call", params);
  }
  Server server;
};

std::string by_message(std::string_view, const json::Value& params) {
  return accept(R"({"name":")" + params["message"].get<std::string>().substr(5) + R"("})");
}

const std::string first = Link::tool_params("steps");

TEST(SealedReplay, EachRoundInAnotherProcess) {
  const SealKey key = AesSealer::random_key();
  int effects = 0;
  std::string params = first;
  for (int round = 0; round < 3; ++round) {
    const json::Value asked = Process({key}, effects).call(params);
    ASSERT_EQ(asked["result"]["resultType"].as_string(), "input_required") << asked.dump();
    // Nothing of the state can be read.
    EXPECT_EQ(asked["result"]["requestState"].dump().find("chain"), std::string::npos);
    params = Link::with_answers(first, asked["result"], by_message);
  }
  EXPECT_EQ(text_of(Process({key}, effects).call(params)), "a1b2c3");
  EXPECT_EQ(effects, 3);
}

TEST(SealedReplay, KeysMayBeReplacedBetweenTheRounds) {
  const SealKey old_key = AesSealer::random_key(), new_key = AesSealer::random_key();
  int effects = 0;
  const json::Value one = Process({old_key}, effects).call(first);
  const json::Value two = Process({new_key, old_key}, effects)
                              .call(Link::with_answers(first, one["result"], by_message));
  const json::Value three =
      Process({new_key}, effects).call(Link::with_answers(first, two["result"], by_message));
  EXPECT_EQ(
      text_of(
          Process({new_key}, effects).call(Link::with_answers(first, three["result"], by_message))),
      "a1b2c3");
  // Without the old key the first state is nobody's.
  EXPECT_EQ(
      code_of(
          Process({new_key}, effects).call(Link::with_answers(first, one["result"], by_message))),
      -32602);
}

TEST(SealedReplay, NoChangedStateIsBelieved) {
  const SealKey key = AesSealer::random_key();
  int effects = 0;
  Process process({key}, effects);
  Link link(process.server, test::modern_revision, {.capabilities = std::string(test::can_all)});
  const json::Value asked = link.ask("tools/call", first);
  const std::string state = asked["result"]["requestState"].get<std::string>();
  json::Value params = test::parse(Link::with_answers(first, asked["result"], by_message));
  for (std::size_t at = 0; at < state.size(); ++at) {
    std::string changed = state;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    params["requestState"] = changed;
    EXPECT_EQ(code_of(link.ask("tools/call", params.dump())), -32602) << at;
  }
  for (std::size_t length = 0; length < state.size(); length += 7) {
    params["requestState"] = state.substr(0, length);
    EXPECT_EQ(code_of(link.ask("tools/call", params.dump())), -32602) << length;
  }
  EXPECT_EQ(effects, 0);
  params["requestState"] = state;
  EXPECT_EQ(code_of(link.ask("tools/call", params.dump())), 0);
  EXPECT_EQ(effects, 1);
}

}  // namespace
}  // namespace godwit::inline v0
