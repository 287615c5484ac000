// A session, which goes with its peer, may be destroyed inside any handler and hook of the Server;
// so may the Server, after what serves it.
#include "destroyed_inside.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mcp_station.hpp"

namespace godwit {
namespace {

using test::DestroyedInside;
using test::Doomed;

enum class Era { stateless, stateful };

struct Name {
  std::string name{};
};

/// A Server and one connection to it.
struct House {
  explicit House(ServerOptions options) : server(std::move(options)) {}
  Server server;
  rpc::MessageSink sink{[this](std::string_view message) { sent.emplace_back(message); }};
  std::vector<std::string> sent;
  std::optional<rpc::Peer> peer;  // goes before the others
};

struct Scene {
  explicit Scene(Era which, bool whole) : era(which), all(whole) {
    ServerOptions options = test::server_options();
    options.clock = &clock;
    options.log = Log([this](auto&&...) {
      if (in_log) std::exchange(in_log, nullptr)();
    });
    house.make(std::move(options));
    house->server.tool("late", "",
                       [this](Reply<std::string> reply) { replies.push_back(std::move(reply)); });
  }
  /// What a row puts into its handler: the peer, or all of it.
  void destroy() {
    ++destroyed;
    all ? house.destroy() : house->peer.reset();
  }
  Server& server() { return house->server; }

  /// Sends a request, with another one under way.
  void ask(std::string_view method, std::string_view params) {
    rpc::PeerOptions options = server().peer_options();
    options.clock = &clock;
    house->peer.emplace(house->sink, server().router(), std::move(options));
    if (era == Era::stateful) {
      send("initialize", R"({"protocolVersion":")" + std::string(test::legacy_revision) +
                             R"(","capabilities":)" + std::string(test::can_all) +
                             R"(,"clientInfo":{"name":"t","version":"1"}})");
      house->peer->receive(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
    }
    send("tools/call", R"({"name":"late","arguments":{}})");
    send(method, params);
    if (destroyed == 0) house->peer->process();
  }
  void send(std::string_view method, std::string_view params) {
    json::Value full = test::parse(params);
    if (era == Era::stateless) {
      json::Value meta = json::Object{};
      meta["io.modelcontextprotocol/protocolVersion"] = std::string(test::modern_revision);
      meta["io.modelcontextprotocol/clientCapabilities"] = test::parse(test::can_all);
      full["_meta"] = std::move(meta);
    }
    house->peer->receive(R"({"jsonrpc":"2.0","id":)" + std::to_string(++last) + R"(,"method":)" +
                         json::quote(method) + R"(,"params":)" + full.dump() + "}");
  }

  const Era era;
  const bool all;
  int destroyed = 0;
  int last = 0;
  ManualClock clock;
  std::function<void()> in_log;
  std::vector<Reply<std::string>> replies;
  Doomed<House> house;
};

/// A row in both eras, with and without the Server: `prepare` fills the server, `act` calls it.
template <auto prepare, auto act>
void play() {
  for (const Era era : {Era::stateless, Era::stateful}) {
    for (const bool whole : {false, true}) {
      Scene scene(era, whole);
      prepare(scene);
      act(scene);
      EXPECT_EQ(scene.destroyed, 1);
      for (auto& reply : scene.replies) reply("nobody waits for it");
    }
  }
}

/// Once, where a handler may be run again.
auto once(Scene& scene) {
  return [&scene, here = std::make_shared<int>(1)] {
    if (scene.destroyed == 0) scene.destroy();
    EXPECT_EQ(*here, 1);
  };
}

constexpr auto call_tool = [](Scene& scene) {
  scene.ask("tools/call", R"({"name":"x","arguments":{}})");
};

constexpr auto with_tool = [](Scene& scene) {
  scene.server().tool("x", "", [destroy = once(scene)] {
    destroy();
    return "x";
  });
};
constexpr auto with_context = [](Scene& scene) {
  scene.server().tool("x", "", [destroy = once(scene)](Context& cx) -> Result<std::string> {
    destroy();
    cx.progress(1, 2);
    auto name = cx.elicit<Name>("who", "Who?");
    if (!name) return name.error();
    return "x";
  });
};
constexpr auto with_late_tool = [](Scene& scene) {
  scene.server().tool("x", "", [destroy = once(scene)](Reply<std::string> reply) {
    destroy();
    reply("x");
  });
};
constexpr auto with_once = [](Scene& scene) {
  scene.server().tool("x", "", [destroy = once(scene)](Context& cx) -> Result<std::string> {
    auto done = cx.once("effect", [&] {
      destroy();
      return std::string("done");
    });
    if (!done) return done.error();
    return "x";
  });
};
constexpr auto with_prompt = [](Scene& scene) {
  scene.server().prompt("x", "", [destroy = once(scene)] {
    destroy();
    return "x";
  });
};
constexpr auto with_resource = [](Scene& scene) {
  scene.server().resource("x:1", "x", [destroy = once(scene)] {
    destroy();
    return "x";
  });
};
constexpr auto with_completion = [](Scene& scene) {
  scene.server().prompt("x", "", [](Name in) { return in.name; });
  scene.server().complete_prompt("x", "name", [destroy = once(scene)](const CompletionQuery&) {
    destroy();
    return Completion{};
  });
};
constexpr auto with_method = [](Scene& scene) {
  scene.server().method("acme/x", [destroy = once(scene)] {
    destroy();
    return Name{};
  });
};
constexpr auto with_provider = [](Scene& scene) {
  scene.server().tools(
      [destroy = once(scene)](const PageQuery&, Context&) -> Result<ToolPage> {
        destroy();
        return ToolPage{};
      },
      [destroy = once(scene)](const ToolCall&, Context&) -> Result<ToolResult> {
        destroy();
        return ToolResult{};
      });
};
constexpr auto with_policy = [](Scene& scene) {
  scene.server().tool("x", "", [] { return "x"; });
  scene.server().restrict(
      {.decide = [destroy = once(scene)](const AccessQuestion& ask) -> Result<void> {
        if (ask.name == "x") destroy();
        return {};
      }});
};
constexpr auto with_middleware = [](Scene& scene) {
  scene.server().tool("x", "", [] { return "x"; });
  scene.server().use({.after = [destroy = once(scene)](rpc::Outcome& outcome) {
    if (outcome.name() == "x") destroy();
  }});
};
constexpr auto with_log = [](Scene& scene) {
  scene.server().tool("x", "", [&scene]() -> std::string {
    scene.in_log = once(scene);
    throw 1;
  });
};
constexpr auto with_stop = [](Scene&) {};

constexpr auto get_prompt = [](Scene& scene) { scene.ask("prompts/get", R"({"name":"x"})"); };
constexpr auto read = [](Scene& scene) { scene.ask("resources/read", R"({"uri":"x:1"})"); };
constexpr auto complete = [](Scene& scene) {
  scene.ask("completion/complete", R"({"ref":{"type":"ref/prompt","name":"x"},)"
                                   R"("argument":{"name":"name","value":""}})");
};
constexpr auto call_method = [](Scene& scene) { scene.ask("acme/x", "{}"); };
constexpr auto list_tools = [](Scene& scene) { scene.ask("tools/list", "{}"); };
constexpr auto cancel = [](Scene& scene) {
  scene.ask("tools/call", R"({"name":"late","arguments":{}})");
  const std::stop_callback stop(scene.replies.at(1).cancelled(), once(scene));
  scene.house->peer->receive(
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" +
      std::to_string(scene.last) + "}}");
};

constexpr DestroyedInside rows[] = {
    {"session", "tool", play<with_tool, call_tool>},
    {"session", "tool with a context", play<with_context, call_tool>},
    {"session", "tool that replies later", play<with_late_tool, call_tool>},
    {"session", "once", play<with_once, call_tool>},
    {"session", "prompt", play<with_prompt, get_prompt>},
    {"session", "resource", play<with_resource, read>},
    {"session", "completion", play<with_completion, complete>},
    {"session", "method", play<with_method, call_method>},
    {"session", "list of a provider", play<with_provider, list_tools>},
    {"session", "call of a provider", play<with_provider, call_tool>},
    {"session", "access policy", play<with_policy, call_tool>},
    {"session", "access policy for a list", play<with_policy, list_tools>},
    {"session", "middleware", play<with_middleware, call_tool>},
    {"session", "log", play<with_log, call_tool>},
    {"session", "stop of a request", play<with_stop, cancel>},
};

struct Destroyed : testing::TestWithParam<DestroyedInside> {};
TEST_P(Destroyed, Inside) { GetParam().run(); }
INSTANTIATE_TEST_SUITE_P(Server, Destroyed, testing::ValuesIn(rows), test::name_of);

}  // namespace
}  // namespace godwit
