// A request of three questions with a side effect between them, each round of it served by another
// process. They share the sealing key and nothing else; the effect happens once.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/json/value.hpp"
#include "godwit/rpc/peer.hpp"
#include "godwit/seal/aes_sealer.hpp"
#include "godwit/server/server.hpp"

namespace godwit {
namespace {

struct Name {
  std::string name{};
};

std::size_t count_effects(const std::string& file) {
  std::ifstream in(file);
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(in), {}, 'x'));
}

/// What a process does that serves one message: all it has is the key.
std::string serve_one(const SealKey& key, const std::string& file, std::string_view message) {
  ServerOptions options{.name = "s", .version = "1"};
  options.sealer = std::make_shared<AesSealer>(std::vector{key});
  Server server(std::move(options));
  server.tool("steps", "", [&](Context& cx) -> Result<std::string> {
    auto first = cx.elicit<Name>("first", "First?");
    if (!first) return first.error();
    auto effect = cx.once("effect", [&] {
      std::ofstream(file, std::ios::app) << 'x';
      return std::string("done for ") + first->value().name;
    });
    if (!effect) return effect.error();
    auto second = cx.elicit<Name>("second", "Second?");
    if (!second) return second.error();
    auto third = cx.elicit<Name>("third", "Third?");
    if (!third) return third.error();
    return *effect + ", " + second->value().name + ", " + third->value().name;
  });
  std::string answer;
  rpc::MessageSink sink([&](std::string_view sent) { answer = sent; });
  rpc::Peer peer(sink, server.router(), server.peer_options());
  peer.receive(message);
  peer.process();
  return answer;
}

/// The same in a child of its own.
std::string in_a_process(const SealKey& key, const std::string& file, const std::string& message) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string answer = serve_one(key, file, message);
    const bool good =
        ::write(ends[1], answer.data(), answer.size()) == static_cast<ssize_t>(answer.size());
    ::_exit(good ? 0 : 1);
  }
  ::close(ends[1]);
  std::string answer;
  char bytes[4096];
  for (ssize_t got; (got = ::read(ends[0], bytes, sizeof bytes)) > 0;) {
    answer.append(bytes, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return answer;
}

std::string request(int id, const json::Value& state, const json::Value& responses) {
  json::Value params = json::Object{{"name", "steps"}, {"arguments", json::Object{}}};
  if (!state.is_null()) params["requestState"] = state;
  if (!responses.is_null()) params["inputResponses"] = responses;
  params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28";
  params["_meta"]["io.modelcontextprotocol/clientCapabilities"]["elicitation"] = json::Object{};
  json::Value message = json::Object{{"jsonrpc", "2.0"}, {"id", id}, {"method", "tools/call"}};
  message["params"] = std::move(params);
  return message.dump();
}

TEST(Processes, EachServesOneRoundAndTheEffectHappensOnce) {
  const std::string file = testing::TempDir() + "/godwit_effects_" + std::to_string(::getpid());
  std::remove(file.c_str());
  const SealKey key = AesSealer::random_key();
  json::Value state;
  json::Value responses;
  std::string text;
  int rounds = 0;
  for (; rounds < 6 && text.empty(); ++rounds) {
    const auto answer = json::parse(in_a_process(key, file, request(rounds, state, responses)));
    ASSERT_TRUE(answer);
    const json::Value& result = (*answer)["result"];
    ASSERT_TRUE(result.is_object()) << answer->dump();
    if (result["resultType"] == "complete") {
      text = result["content"][0]["text"].get<std::string>();
      break;
    }
    state = json::Value(result["requestState"]);
    responses = json::Object{};
    for (const json::Member& question : *result["inputRequests"].as_object()) {
      responses[question.key]["action"] = "accept";
      responses[question.key]["content"]["name"] = "n" + std::to_string(rounds);
    }
  }
  EXPECT_EQ(rounds, 3);
  EXPECT_EQ(text, "done for n0, n1, n2");
  EXPECT_EQ(count_effects(file), 1u);

  // Another key opens nothing.
  const auto foreign =
      json::parse(in_a_process(AesSealer::random_key(), file, request(9, state, responses)));
  EXPECT_EQ((*foreign)["error"]["code"], -32602);
  EXPECT_EQ(count_effects(file), 1u);
  std::remove(file.c_str());
}

}  // namespace
}  // namespace godwit
