#include "godwit/client/listen.hpp"

#include <gtest/gtest.h>

#include "rig.hpp"

using namespace std::chrono_literals;
using godwit::Listen;
using godwit::ListenCallbacks;
using godwit::Result;
using godwit::SubscriptionFilter;
using godwit::json::Value;
using godwit::test::everything;
using godwit::test::Rig;

namespace {

/// Writes down what it hears.
struct Ear {
  ListenCallbacks callbacks() {
    ListenCallbacks out;
    out.acknowledged = [this](const SubscriptionFilter& filter) {
      heard.push_back("ack " + godwit::json::encode(filter));
    };
    out.tools_changed = [this] { heard.push_back("tools"); };
    out.prompts_changed = [this] { heard.push_back("prompts"); };
    out.resources_changed = [this] { heard.push_back("resources"); };
    out.resource_updated = [this](const std::string& uri) { heard.push_back(uri); };
    out.ended = [this](Result<void> outcome) {
      heard.push_back(outcome ? "end" : "lost " + outcome.error().message);
    };
    return out;
  }
  std::vector<std::string> take() { return std::exchange(heard, {}); }
  std::vector<std::string> heard;
};

using Heard = std::vector<std::string>;

std::string tagged(const std::string& id, std::string_view more = "") {
  return R"({"_meta":{"io.modelcontextprotocol/subscriptionId":)" + id + "}" + std::string(more) +
         "}";
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

SubscriptionFilter tools() { return {.toolsListChanged = true}; }

}  // namespace

TEST(Listen, AStatelessSubscription) {
  int global = 0;
  godwit::ClientOptions options;
  options.on_tools_changed = [&] { ++global; };
  const auto rig = Rig::stateless(options);
  Ear ear;
  Listen listen = rig->session().listen(
      {.toolsListChanged = true, .resourceSubscriptions = {{"f:a"}}}, ear.callbacks());
  const Value request = rig->next("subscriptions/listen");
  EXPECT_EQ(request["params"]["notifications"].dump(),
            R"({"toolsListChanged":true,"resourceSubscriptions":["f:a"]})");
  const std::string id = request["id"].dump();
  rig->tell("notifications/tools/list_changed", tagged(id));  // before it is acknowledged
  EXPECT_EQ(ear.take(), Heard{});
  rig->tell(
      "notifications/subscriptions/acknowledged",
      tagged(id, R"(,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["f:a"]})"));
  EXPECT_EQ(ear.take(), Heard{R"(ack {"toolsListChanged":true,"resourceSubscriptions":["f:a"]})"});
  rig->tell("notifications/tools/list_changed", tagged(id));
  rig->tell("notifications/tools/list_changed", tagged('"' + id + '"'));  // another id
  rig->tell("notifications/tools/list_changed", tagged("999"));
  rig->tell("notifications/tools/list_changed", "{}");
  rig->tell("notifications/prompts/list_changed", tagged(id));  // not asked for
  rig->tell("notifications/resources/updated", tagged(id, R"(,"uri":"f:a/part")"));
  rig->tell("notifications/resources/updated", tagged(id, R"(,"uri":"f:b")"));
  EXPECT_EQ(ear.take(), (Heard{"tools", "f:a/part"}));
  EXPECT_EQ(global, 1);
  rig->pass(24h);  // it has no end of its own
  EXPECT_TRUE(rig->silent());
  listen.end();
  EXPECT_EQ(rig->next("notifications/cancelled")["params"]["requestId"], request["id"]);
  rig->tell("notifications/tools/list_changed", tagged(id));
  EXPECT_EQ(ear.take(), Heard{});
}

TEST(Listen, SeveralSubscriptionsAreToldApart) {
  const auto rig = Rig::stateless();
  Ear a, b;
  Listen first = rig->session().listen(tools(), a.callbacks());
  Listen second = rig->session().listen(tools(), b.callbacks());
  const std::string id_a = rig->next()["id"].dump();
  const std::string id_b = rig->next()["id"].dump();
  for (const std::string& id : {id_a, id_b}) {
    rig->tell("notifications/subscriptions/acknowledged",
              tagged(id, R"(,"notifications":{"toolsListChanged":true})"));
  }
  rig->tell("notifications/tools/list_changed", tagged(id_b));
  EXPECT_EQ(a.take().size(), 1u);
  EXPECT_EQ(b.take().size(), 2u);
}

TEST(Listen, TheServerMayEndIt) {
  for (const bool by_cancelling : {true, false}) {
    const auto rig = Rig::stateless();
    Ear ear;
    Listen listen = rig->session().listen(tools(), ear.callbacks());
    const Value request = rig->next();
    const std::string id = request["id"].dump();
    rig->tell("notifications/subscriptions/acknowledged",
              tagged(id, R"(,"notifications":{"toolsListChanged":true})"));
    ear.take();
    if (by_cancelling) rig->tell("notifications/cancelled", R"({"requestId":)" + id + "}");
    rig->answer(request, tagged(id, R"(,"resultType":"complete")"));
    rig->tell("notifications/cancelled", R"({"requestId":)" + id + "}");
    EXPECT_EQ(ear.take(), Heard{"end"});
    EXPECT_TRUE(rig->silent());
    listen.end();
    EXPECT_TRUE(rig->silent());
  }
}

TEST(Listen, ItMayBeRefusedOrNeverAcknowledged) {
  const auto rig = Rig::stateless();
  Ear refused, ignored, dead;
  Listen a = rig->session().listen(tools(), refused.callbacks());
  rig->refuse(rig->next(), -32601, "no");
  EXPECT_EQ(refused.take(), Heard{"lost no"});
  Listen b = rig->session().listen(tools(), ignored.callbacks());
  const Value request = rig->next();
  rig->pass(60s);
  const Heard heard = ignored.take();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_TRUE(contains(heard[0], "acknowledge"));
  EXPECT_EQ(rig->next("notifications/cancelled")["params"]["requestId"], request["id"]);
  Listen c = rig->session().listen(tools(), dead.callbacks());
  rig->peer->on_close(godwit::error("gone"));
  const Heard last = dead.take();
  ASSERT_EQ(last.size(), 1u);
  EXPECT_TRUE(contains(last[0], "gone"));
}

TEST(Listen, WhatNobodyAnnouncesIsNotAskedFor) {
  std::vector<std::unique_ptr<Rig>> rigs;
  rigs.push_back(Rig::stateless({}, R"({"tools":{},"resources":{"listChanged":true}})"));
  rigs.push_back(Rig::stateful({}, R"({"tools":{},"resources":{"listChanged":true}})"));
  for (const auto& rig : rigs) {
    Ear ear;
    Listen a = rig->session().listen(tools(), ear.callbacks());
    Listen b = rig->session().listen({.resourceSubscriptions = {{"f:a"}}}, ear.callbacks());
    Listen c = rig->session().listen({}, ear.callbacks());
    const Heard heard = ear.take();
    ASSERT_EQ(heard.size(), 3u);
    EXPECT_TRUE(contains(heard[0], "does not declare")) << heard[0];
    EXPECT_TRUE(contains(heard[2], "names nothing")) << heard[2];
    EXPECT_TRUE(rig->silent());
  }
}

TEST(Listen, TheStatefulEraSubscribesToResourcesAndSievesTheRest) {
  const auto rig = Rig::stateful();
  Ear ear, other;
  Listen listen = rig->session().listen(
      {.toolsListChanged = true, .resourceSubscriptions = {{"f:a", "f:b"}}}, ear.callbacks());
  const Value a = rig->next("resources/subscribe");
  const Value b = rig->next("resources/subscribe");
  EXPECT_EQ(a["params"].dump(), R"({"uri":"f:a"})");
  rig->answer(a, "{}");
  EXPECT_EQ(ear.take(), Heard{});
  rig->refuse(b, -32002, "no such thing");
  EXPECT_EQ(ear.take(), Heard{R"(ack {"toolsListChanged":true,"resourceSubscriptions":["f:a"]})"});
  Listen second = rig->session().listen({.resourceSubscriptions = {{"f:a"}}}, other.callbacks());
  EXPECT_EQ(other.take().size(), 1u);  // known to the server already
  EXPECT_TRUE(rig->silent());
  rig->tell("notifications/tools/list_changed", "{}");
  rig->tell("notifications/prompts/list_changed", "{}");
  rig->tell("notifications/resources/updated", R"({"uri":"f:a"})");
  rig->tell("notifications/resources/updated", R"({"uri":"f:c"})");
  EXPECT_EQ(ear.take(), (Heard{"tools", "f:a"}));
  EXPECT_EQ(other.take(), Heard{"f:a"});
  listen.end();
  EXPECT_TRUE(rig->silent());  // somebody else still wants it
  second.end();
  EXPECT_EQ(rig->next("resources/unsubscribe")["params"].dump(), R"({"uri":"f:a"})");
}

TEST(Listen, AllSubscriptionsRefused) {
  const auto rig = Rig::stateful();
  Ear ear;
  Listen listen = rig->session().listen({.resourceSubscriptions = {{"f:b"}}}, ear.callbacks());
  rig->refuse(rig->next(), -32002, "no such thing");
  const Heard heard = ear.take();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_TRUE(contains(heard[0], "none of the subscriptions")) << heard[0];
}

TEST(Listen, NothingIsSubscribedForListsAlone) {
  const auto rig = Rig::stateful();
  Ear ear;
  Listen listen = rig->session().listen(
      {.toolsListChanged = true, .promptsListChanged = true, .resourcesListChanged = true},
      ear.callbacks());
  EXPECT_TRUE(rig->silent());
  rig->tell("notifications/prompts/list_changed", "{}");
  rig->tell("notifications/resources/list_changed", "{}");
  EXPECT_EQ(ear.take().size(), 3u);
  rig->peer->on_close(godwit::error("gone"));
  EXPECT_TRUE(contains(ear.take().at(0), "gone"));
}

TEST(Listen, HandlesMayOutliveTheSession) {
  const auto rig = Rig::stateless();
  Ear ear;
  Listen listen = rig->session().listen(tools(), ear.callbacks());
  rig->next();
  rig->check_schema = false;
  rig->destroy_session();
  EXPECT_EQ(ear.take(), Heard{});
  rig->next("notifications/cancelled");
  Listen moved = std::move(listen);
  moved.end();
  EXPECT_TRUE(rig->silent());
}

TEST(Listen, ACallbackMayEndIt) {
  const auto rig = Rig::stateless();
  Listen listen;
  ListenCallbacks callbacks;
  callbacks.tools_changed = [&] { listen.end(); };
  listen = rig->session().listen(tools(), std::move(callbacks));
  const std::string id = rig->next()["id"].dump();
  rig->tell("notifications/subscriptions/acknowledged",
            tagged(id, R"(,"notifications":{"toolsListChanged":true})"));
  rig->tell("notifications/tools/list_changed", tagged(id));
  rig->next("notifications/cancelled");
}
