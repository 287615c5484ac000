// A ClientSession may be destroyed inside any of its callbacks, also together with its peer; so may
// a ForwardingTransport.
#include "destroyed_inside.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fake_transport.hpp"
#include "godwit/client/forwarding_transport.hpp"
#include "rig.hpp"

namespace godwit {
namespace {

using test::DestroyedInside;
using test::Doomed;
using test::Rig;

constexpr std::string_view said = R"({"content":[{"type":"text","text":"hi"}]})";
constexpr std::string_view form =
    R"({"mode":"form","message":"Name?","requestedSchema":{"type":"object","properties":{)"
    R"("name":{"type":"string"}}}})";
constexpr std::string_view sampling =
    R"({"messages":[{"role":"user","content":{"type":"text","text":"Q"}}],"maxTokens":10})";

enum class Era { stateless, stateful };

/// A session with other calls under way, and the callback that destroys it.
struct Scene {
  using Destroy = std::function<void()>;
  using Prepare = std::function<void(ClientOptions&, const Destroy&)>;
  using Act = std::function<void(Rig&, const Destroy&)>;

  /// Once the session alone, and once with its peer.
  static void play(Era era, const Prepare& prepare, const Act& act) {
    for (const bool with_peer : {false, true}) {
      std::unique_ptr<Rig> rig;
      int destroyed = 0;
      const Destroy destroy = [&, here = std::make_shared<int>(1)] {
        rig->destroy_session();
        if (with_peer) rig->peer.reset();
        ++destroyed;
        EXPECT_EQ(*here, 1);
      };
      ClientOptions options;
      if (prepare) prepare(options, destroy);
      rig = era == Era::stateless ? Rig::stateless(options) : Rig::stateful(options);
      rig->check_schema = false;
      int ended = 0;
      rig->session().call_tool("other", {}, [&](Result<ToolResult>) { ++ended; });
      rig->sent.clear();
      act(*rig, destroy);
      EXPECT_EQ(destroyed, 1);
      EXPECT_EQ(ended, 1);
    }
  }
};

template <Era era>
void outcome() {
  Scene::play(era, nullptr, [](Rig& rig, const Scene::Destroy& destroy) {
    rig.session().call_tool("x", {}, [destroy](Result<ToolResult>) { destroy(); });
    rig.answer(rig.next(), said);
  });
}
template <Era era>
void outcome_by_timeout() {
  Scene::play(era, nullptr, [](Rig& rig, const Scene::Destroy& destroy) {
    rig.session().call_tool("x", {}, [destroy](Result<ToolResult>) { destroy(); },
                            {.timeout = std::chrono::seconds(1)});
    rig.clock.advance(std::chrono::seconds(2));
    rig.peer->expire(rig.clock.now());
  });
}
template <Era era>
void outcome_by_the_end() {
  Scene::play(era, nullptr, [](Rig& rig, const Scene::Destroy& destroy) {
    rig.session().call_tool("x", {}, [destroy](Result<ToolResult>) { destroy(); });
    rig.peer->on_close(error("gone"));
  });
}
template <Era era>
void progress() {
  Scene::play(era, nullptr, [](Rig& rig, const Scene::Destroy& destroy) {
    rig.session().call_tool("x", {}, [](Result<ToolResult>) {},
                            {.on_progress = [destroy](const Progress&) { destroy(); }});
    const json::Value request = rig.next();
    rig.tell("notifications/progress", R"({"progressToken":)" +
                                           request["params"]["_meta"]["progressToken"].dump() +
                                           R"(,"progress":1})");
  });
}
template <Era era>
void list() {
  Scene::play(era, nullptr, [](Rig& rig, const Scene::Destroy& destroy) {
    rig.session().list_tools([destroy](Result<std::vector<Tool>>) { destroy(); });
    rig.answer(rig.next(), R"({"tools":[],"nextCursor":"more"})");
    rig.answer(rig.next(), R"({"tools":[]})");
  });
}
void start() {
  for (const bool with_peer : {false, true}) {
    Rig rig;
    rig.check_schema = false;
    int destroyed = 0;
    rig.session().start(*rig.peer, [&, here = std::make_shared<int>(1)](Result<void>) {
      rig.destroy_session();
      if (with_peer) rig.peer.reset();
      EXPECT_EQ(*here, 1);
      ++destroyed;
    });
    rig.answer(rig.next("server/discover"), Rig::discover_result());
    EXPECT_EQ(destroyed, 1);
  }
}

template <auto member>
void told(const char* method, const char* params, Era era) {
  Scene::play(
      era,
      [](ClientOptions& options, const Scene::Destroy& destroy) {
        options.*member = [destroy](auto&&...) { destroy(); };
      },
      [&](Rig& rig, const Scene::Destroy&) { rig.tell(method, params); });
}
void on_log() {
  told<&ClientOptions::on_log>("notifications/message", R"({"level":"info","data":1})",
                               Era::stateful);
}
void on_tools_changed() {
  told<&ClientOptions::on_tools_changed>("notifications/tools/list_changed", "{}", Era::stateful);
}
void on_prompts_changed() {
  told<&ClientOptions::on_prompts_changed>("notifications/prompts/list_changed", "{}",
                                           Era::stateful);
}
void on_resources_changed() {
  told<&ClientOptions::on_resources_changed>("notifications/resources/list_changed", "{}",
                                             Era::stateful);
}
void on_resource_updated() {
  told<&ClientOptions::on_resource_updated>("notifications/resources/updated", R"({"uri":"f:a"})",
                                            Era::stateful);
}
void on_elicitation_complete() {
  told<&ClientOptions::on_elicitation_complete>("notifications/elicitation/complete",
                                                R"({"elicitationId":"e1"})", Era::stateful);
}
void on_notification() { told<&ClientOptions::on_notification>("acme/news", "{}", Era::stateless); }

/// A question of the server: a request of its own, or what a call needs before its answer.
template <Era era>
void asked(std::string_view method, std::string_view params, const Scene::Prepare& prepare) {
  Scene::play(era, prepare, [&](Rig& rig, const Scene::Destroy&) {
    if (era == Era::stateful) return rig.ask("\"s1\"", method, params);
    rig.session().call_tool("x", {}, [](Result<ToolResult>) {});
    rig.answer(rig.next(), R"({"resultType":"input_required","inputRequests":{"k":{"method":")" +
                               std::string(method) + R"(","params":)" + std::string(params) +
                               "}}}");
  });
}
template <Era era>
void elicit() {
  asked<era>("elicitation/create", form, [](ClientOptions& options, const Scene::Destroy& destroy) {
    options.elicit = [destroy](const ElicitRequest&) -> Result<ElicitResult> {
      destroy();
      return ElicitResult{ElicitAction::decline, {}};
    };
  });
}
template <Era era>
void elicit_later() {
  asked<era>("elicitation/create", form, [](ClientOptions& options, const Scene::Destroy& destroy) {
    options.elicit = [destroy](const ElicitRequest&, InputReply<ElicitResult> reply) {
      destroy();
      reply(ElicitResult{ElicitAction::decline, {}});
    };
  });
}
template <Era era>
void sample() {
  asked<era>("sampling/createMessage", sampling,
             [](ClientOptions& options, const Scene::Destroy& destroy) {
               options.sample = [destroy](const SamplingRequest&) -> Result<SamplingResult> {
                 destroy();
                 return SamplingResult{.content = text("A"), .model = "m"};
               };
             });
}
template <Era era>
void list_roots() {
  asked<era>("roots/list", "{}", [](ClientOptions& options, const Scene::Destroy& destroy) {
    options.list_roots = [destroy]() -> Result<std::vector<Root>> {
      destroy();
      return std::vector<Root>{};
    };
  });
}

/// A subscription, until the callback that a row is about.
template <auto member>
void listen() {
  // Outlives the session, as a handle of the program may.
  Listen handle;
  Scene::play(Era::stateless, nullptr, [&](Rig& rig, const Scene::Destroy& destroy) {
    ListenCallbacks callbacks;
    callbacks.*member = [destroy](auto&&...) { destroy(); };
    handle = rig.session().listen({.toolsListChanged = true}, std::move(callbacks));
    const json::Value request = rig.next("subscriptions/listen");
    const std::string tag =
        R"({"_meta":{"io.modelcontextprotocol/subscriptionId":)" + request["id"].dump() + "}";
    rig.tell("notifications/subscriptions/acknowledged",
             tag + R"(,"notifications":{"toolsListChanged":true}})");
    if (rig.peer) rig.tell("notifications/tools/list_changed", tag + "}");
    if (rig.peer) rig.answer(request, R"({"resultType":"complete"})");
  });
}

void log_sink() {
  Scene::play(Era::stateless, nullptr, [](Rig& rig, const Scene::Destroy& destroy) {
    rig.session().call_tool("x", {}, [](Result<ToolResult>) { throw 1; });
    const json::Value request = rig.next();
    rig.on_log = [destroy, first = true]() mutable {
      if (std::exchange(first, false)) destroy();
    };
    rig.answer(request, said);
  });
}

// --- the transport that forwards

enum class Forward { notification, response, closed, message };

template <Forward in>
void forwarding() {
  test::FakeWire wire;
  Doomed<ForwardingTransport> transport;
  struct Peer final : rpc::Receiver {
    void on_message(std::string_view, std::size_t) override { called(); }
    void on_parsed(json::View) override { called(); }
    void on_unreadable(const Error&) override {}
    void on_close(const Error&) override {}
    void called() {
      if (in == Forward::message) transport->destroy();
    }
    Doomed<ForwardingTransport>* transport = nullptr;
  } peer;
  peer.transport = &transport;
  transport.make(std::make_unique<test::FakeTransport>(wire)).start(peer);
  const std::string request = R"({"id":1,"method":"m","params":{"_meta":{"progressToken":1}}})";
  ForwardCallbacks callbacks;
  if (in == Forward::notification) callbacks.on_notification = transport.destroyer();
  if (in == Forward::response || in == Forward::closed) {
    callbacks.on_response = transport.destroyer();
  }
  ASSERT_TRUE(transport->forward(request, std::move(callbacks)));
  ASSERT_TRUE(transport->forward(request, {}));
  if (in == Forward::closed) {
    wire.receiver->on_close({.message = "gone"});
  } else {
    wire.say(
        in == Forward::notification ? R"({"method":"p","params":{"progressToken":"forwarded-1"}})"
        : in == Forward::response   ? R"([{"id":"forwarded-1","result":1},{"method":"for nobody"}])"
                                    : R"({"method":"for nobody"})");
  }
  EXPECT_EQ(transport.destroyed(), 1);
}

constexpr DestroyedInside rows[] = {
    {"ForwardingTransport", "on_notification", forwarding<Forward::notification>},
    {"ForwardingTransport", "on_response", forwarding<Forward::response>},
    {"ForwardingTransport", "on_response at the end", forwarding<Forward::closed>},
    {"ForwardingTransport", "message", forwarding<Forward::message>},
    {"ClientSession stateless", "outcome", outcome<Era::stateless>},
    {"ClientSession stateful", "outcome", outcome<Era::stateful>},
    {"ClientSession stateless", "outcome by timeout", outcome_by_timeout<Era::stateless>},
    {"ClientSession stateful", "outcome by timeout", outcome_by_timeout<Era::stateful>},
    {"ClientSession stateless", "outcome by the end", outcome_by_the_end<Era::stateless>},
    {"ClientSession stateful", "outcome by the end", outcome_by_the_end<Era::stateful>},
    {"ClientSession stateless", "on_progress", progress<Era::stateless>},
    {"ClientSession stateful", "on_progress", progress<Era::stateful>},
    {"ClientSession stateless", "list", list<Era::stateless>},
    {"ClientSession stateful", "list", list<Era::stateful>},
    {"ClientSession stateless", "start", start},
    {"ClientSession stateful", "on_log", on_log},
    {"ClientSession stateful", "on_tools_changed", on_tools_changed},
    {"ClientSession stateful", "on_prompts_changed", on_prompts_changed},
    {"ClientSession stateful", "on_resources_changed", on_resources_changed},
    {"ClientSession stateful", "on_resource_updated", on_resource_updated},
    {"ClientSession stateful", "on_elicitation_complete", on_elicitation_complete},
    {"ClientSession stateless", "on_notification", on_notification},
    {"ClientSession stateless", "elicit", elicit<Era::stateless>},
    {"ClientSession stateful", "elicit", elicit<Era::stateful>},
    {"ClientSession stateless", "elicit later", elicit_later<Era::stateless>},
    {"ClientSession stateful", "elicit later", elicit_later<Era::stateful>},
    {"ClientSession stateless", "sample", sample<Era::stateless>},
    {"ClientSession stateful", "sample", sample<Era::stateful>},
    {"ClientSession stateless", "list_roots", list_roots<Era::stateless>},
    {"ClientSession stateful", "list_roots", list_roots<Era::stateful>},
    {"ClientSession stateless", "listen acknowledged", listen<&ListenCallbacks::acknowledged>},
    {"ClientSession stateless", "listen tools_changed", listen<&ListenCallbacks::tools_changed>},
    {"ClientSession stateless", "listen ended", listen<&ListenCallbacks::ended>},
    {"ClientSession stateless", "log", log_sink},
};

struct Destroyed : testing::TestWithParam<DestroyedInside> {};
TEST_P(Destroyed, Inside) { GetParam().run(); }
INSTANTIATE_TEST_SUITE_P(Client, Destroyed, testing::ValuesIn(rows), test::name_of);

}  // namespace
}  // namespace godwit
