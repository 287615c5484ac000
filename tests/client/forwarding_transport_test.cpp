#include "godwit/client/forwarding_transport.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "fake_transport.hpp"
#include "godwit/rpc/error_code.hpp"
#include "godwit/rpc/id.hpp"
#include "receiver.hpp"
#include "rpc_station.hpp"

namespace godwit::inline v0 {
namespace {

using test::FakeTransport;
using test::FakeWire;
using test::same_json;

struct Gateway {
  FakeWire wire;
  test::Recorder peer;
  std::vector<std::string> log;
  std::optional<ForwardingTransport> transport;

  explicit Gateway(Limits limits = {}) {
    transport.emplace(
        std::make_unique<FakeTransport>(wire),
        ForwardOptions{.limits = limits, .log = Log([this](LogLevel, std::string_view line) {
                                           log.emplace_back(line);
                                         })});
    transport->start(peer);
  }

  /// One client in front of it.
  struct Front {
    std::vector<std::string> responses, notifications;
    ForwardCallbacks callbacks() {
      return {
          .on_notification = [this](std::string_view text) { notifications.emplace_back(text); },
          .on_response = [this](std::string_view text) { responses.emplace_back(text); }};
    }
  };
};

TEST(ForwardingTransport, ChangesTheIdAndNothingElse) {
  Gateway gateway;
  Gateway::Front front;
  const auto sent = gateway.transport->forward(
      R"({"new":[1.0, -0],  "id":7 ,"jsonrpc":"2.0","method":"x/unknown","params":{"b":1e2,"a":"ä"}})",
      front.callbacks());
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(
      gateway.wire.last(),
      R"({"new":[1.0, -0],  "id":"forwarded-1" ,"jsonrpc":"2.0","method":"x/unknown","params":{"b":1e2,"a":"ä"}})");
  gateway.wire.say(R"({"jsonrpc":"2.0", "id":"forwarded-1","result":{"z":1.50},"more":null})");
  ASSERT_EQ(front.responses.size(), 1u);
  EXPECT_EQ(front.responses[0], R"({"jsonrpc":"2.0", "id":7,"result":{"z":1.50},"more":null})");
  EXPECT_EQ(gateway.transport->forwarded(), 0u);
  EXPECT_TRUE(gateway.peer.messages.empty());
}

TEST(ForwardingTransport, TwoClientsMayUseTheSameIdsAndTokens) {
  Gateway gateway;
  Gateway::Front one, two;
  const std::string request =
      R"({"jsonrpc":"2.0","id":"a","method":"m","params":{"_meta":{"progressToken":"t","k":1}}})";
  ASSERT_TRUE(gateway.transport->forward(request, one.callbacks()));
  ASSERT_TRUE(gateway.transport->forward(request, two.callbacks()));
  EXPECT_EQ(
      gateway.wire.last(),
      R"({"jsonrpc":"2.0","id":"forwarded-2","method":"m","params":{"_meta":{"progressToken":"forwarded-2","k":1}}})");
  gateway.wire.say(
      R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"forwarded-2","progress":1}})");
  gateway.wire.say(
      R"({"jsonrpc":"2.0","id":"forwarded-2","error":{"code":1,"message":"m","x":2}})");
  gateway.wire.say(R"({"jsonrpc":"2.0","id":"forwarded-1","result":{}})");
  EXPECT_EQ(
      two.notifications,
      std::vector<std::string>{
          R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}})"});
  EXPECT_EQ(two.responses,
            std::vector<std::string>{
                R"({"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"m","x":2}})"});
  EXPECT_TRUE(one.notifications.empty());
  EXPECT_EQ(one.responses, std::vector<std::string>{R"({"jsonrpc":"2.0","id":"a","result":{}})"});
}

TEST(ForwardingTransport, ATokenMayStandBeforeTheId) {
  Gateway gateway;
  Gateway::Front front;
  ASSERT_TRUE(gateway.transport->forward(
      R"({"params":{"_meta":{"progressToken":5}},"method":"m","id":18446744073709551616})",
      front.callbacks()));
  EXPECT_EQ(
      gateway.wire.last(),
      R"({"params":{"_meta":{"progressToken":"forwarded-1"}},"method":"m","id":"forwarded-1"})");
  gateway.wire.say(R"({"id":"forwarded-1","result":1})");
  EXPECT_EQ(front.responses[0], R"({"id":18446744073709551616,"result":1})") << "every digit of it";
}

TEST(ForwardingTransport, ASubscriptionTalksToItsClient) {
  Gateway gateway;
  Gateway::Front front;
  ASSERT_TRUE(
      gateway.transport->forward(R"({"id":3,"method":"subscriptions/listen"})", front.callbacks()));
  gateway.wire.say(
      R"({"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"forwarded-1"}}})");
  gateway.wire.say(R"({"method":"notifications/cancelled","params":{"requestId":"forwarded-1"}})");
  ASSERT_EQ(front.notifications.size(), 2u);
  EXPECT_EQ(
      front.notifications[0],
      R"({"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":3}}})");
  EXPECT_EQ(front.notifications[1],
            R"({"method":"notifications/cancelled","params":{"requestId":3}})");
}

TEST(ForwardingTransport, ThePeerGoesOnAsBefore) {
  Gateway gateway;
  Gateway::Front front;
  rpc::PeerOptions options;
  options.log = Log();
  rpc::Peer peer(*gateway.transport, nullptr, std::move(options));
  gateway.transport->start(peer);
  std::vector<std::string> own;
  const auto call = [&] {
    peer.call<json::Value>("own", rpc::no_params,
                           [&](const Result<json::Value>& r) { own.push_back(r->dump()); });
  };
  call();
  ASSERT_TRUE(gateway.transport->forward(R"({"id":1,"method":"theirs"})", front.callbacks()));
  call();
  gateway.wire.say(R"({"jsonrpc":"2.0","id":1,"result":"first"})");
  gateway.wire.say(
      R"([{"jsonrpc":"2.0","id":"forwarded-1","result":0},{"jsonrpc":"2.0","id":2,"result":"second"}])");
  EXPECT_EQ(own, (std::vector<std::string>{"\"first\"", "\"second\""}));
  EXPECT_EQ(front.responses, std::vector<std::string>{R"({"jsonrpc":"2.0","id":1,"result":0})"});
  gateway.wire.say(R"({"jsonrpc":"2.0","id":9,"method":"of the server"})");
  EXPECT_EQ(test::error_of(gateway.wire.last()), "-32601 9");
  peer.close();
}

TEST(ForwardingTransport, WhatIsNotForAForwardedRequestIsForThePeer) {
  Gateway gateway;
  Gateway::Front front;
  ASSERT_TRUE(gateway.transport->forward(R"({"id":1,"method":"m"})", front.callbacks()));
  const std::vector<std::string> others = {
      R"({"jsonrpc":"2.0","id":1,"result":{}})",
      R"({"jsonrpc":"2.0","id":"forwarded-","result":{}})",
      R"({"jsonrpc":"2.0","id":"forwarded-1x","result":{}})",
      R"({"jsonrpc":"2.0","id":"forwarded-1","method":"a request of the server"})",
      R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}})",
      R"({"jsonrpc":"2.0","method":"notifications/message","params":{"data":"forwarded-1"}})",
      R"([{"jsonrpc":"2.0","method":"n"}])",
      "no JSON"};
  for (const std::string& text : others) gateway.wire.say(text);
  EXPECT_EQ(gateway.peer.messages, others);
  EXPECT_TRUE(front.responses.empty());
}

TEST(ForwardingTransport, ACancellationHasTheRightId) {
  Gateway gateway;
  Gateway::Front front;
  const auto one = gateway.transport->forward(R"({"id":1,"method":"m"})", front.callbacks());
  const auto two = gateway.transport->forward(R"({"id":1,"method":"m"})", front.callbacks());
  EXPECT_TRUE(gateway.transport->cancel(
      *one, R"({"method":"notifications/cancelled","params":{"reason":"x","requestId":1,"y":2}})"));
  EXPECT_EQ(
      gateway.wire.last(),
      R"({"method":"notifications/cancelled","params":{"reason":"x","requestId":"forwarded-1","y":2}})");
  EXPECT_TRUE(gateway.transport->cancel(*two));
  EXPECT_TRUE(same_json(
      gateway.wire.last(),
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"forwarded-2"}})"));
  EXPECT_FALSE(gateway.transport->cancel(*two));
  gateway.wire.say(R"({"jsonrpc":"2.0","id":"forwarded-1","result":{}})");
  gateway.wire.say(
      R"({"method":"notifications/progress","params":{"progressToken":"forwarded-2"}})");
  EXPECT_TRUE(front.responses.empty() && front.notifications.empty());
  EXPECT_TRUE(gateway.peer.messages.empty()) << "what comes late is for nobody";
}

TEST(ForwardingTransport, ANotificationGoesAsItIs) {
  Gateway gateway;
  const std::string text = R"({"method":"notifications/x", "params":{"progressToken":1}})";
  EXPECT_TRUE(gateway.transport->notify(text));
  EXPECT_EQ(gateway.wire.last(), text);
  EXPECT_FALSE(gateway.transport->notify(R"({"id":1,"method":"m"})"));
  EXPECT_FALSE(gateway.transport->notify("[]"));
  EXPECT_EQ(gateway.wire.sent.size(), 1u);
}

TEST(ForwardingTransport, RefusesWhatIsNoRequest) {
  Gateway gateway;
  for (const char* text :
       {"", "{", "[]", "1", R"({"method":"m"})", R"({"id":1})", R"({"id":null,"method":"m"})",
        R"({"id":{},"method":"m"})", R"({"id":1,"method":2})", R"({"id":1,"id":2,"method":"m"})",
        R"({"id":1,"method":"m","params":{"_meta":{"progressToken":1,"progressToken":2}}})",
        R"({"id":1,"method":"m","params":{"_meta":{},"_meta":{"progressToken":2}}})",
        R"([{"id":1,"method":"m"}])"}) {
    EXPECT_FALSE(gateway.transport->forward(text, {})) << text;
  }
  EXPECT_TRUE(gateway.wire.sent.empty());
}

TEST(ForwardingTransport, IsBounded) {
  Gateway gateway({.message_bytes_out = 30, .pending_calls = 2});
  const std::string request = R"({"id":1,"method":"m"})";
  EXPECT_TRUE(gateway.transport->forward(request, {}));
  EXPECT_TRUE(gateway.transport->forward(request + std::string(30 - request.size(), ' '), {}));
  const auto third = gateway.transport->forward(request, {});
  ASSERT_FALSE(third);
  EXPECT_TRUE(is_busy(third.error()));
  gateway.wire.say(R"({"id":"forwarded-1","result":1})");
  EXPECT_FALSE(gateway.transport->forward(request + std::string(31 - request.size(), ' '), {}));
  EXPECT_TRUE(gateway.transport->forward(request, {}));
}

TEST(ForwardingTransport, ARequestThatCannotBeBroughtIsAnswered) {
  Gateway gateway;
  Gateway::Front front;
  ASSERT_TRUE(gateway.transport->forward(R"({"id":"q","method":"m"})", front.callbacks()));
  gateway.wire.receiver->on_failure(rpc::Id("forwarded-1"), {.code = 5, .message = "HTTP 503"});
  ASSERT_EQ(front.responses.size(), 1u);
  EXPECT_EQ(test::error_of(front.responses[0]), "5 \"q\"");
  gateway.wire.receiver->on_failure(rpc::Id(1), {.code = 5, .message = "of the peer"});
  EXPECT_EQ(gateway.peer.failures.size(), 1u);
}

TEST(ForwardingTransport, TheEndAnswersAllOfThem) {
  Gateway gateway;
  Gateway::Front front;
  ASSERT_TRUE(gateway.transport->forward(R"({"id":1,"method":"m"})", front.callbacks()));
  ASSERT_TRUE(gateway.transport->forward(R"({"id":2,"method":"m"})", front.callbacks()));
  gateway.transport->close();
  EXPECT_EQ(front.responses.size(), 2u);
  EXPECT_EQ(gateway.peer.closed, 1);
  const auto late = gateway.transport->forward(R"({"id":3,"method":"m"})", front.callbacks());
  ASSERT_FALSE(late);
  EXPECT_TRUE(is_connection_closed(late.error()) ||
              late.error().code == rpc::code::connection_closed);
}

TEST(ForwardingTransport, CallbacksMayDoAnything) {
  Gateway gateway;
  int told = 0;
  ASSERT_TRUE(
      gateway.transport->forward(R"({"id":1,"method":"m"})", {.on_response = [&](std::string_view) {
                                   ++told;
                                   throw std::runtime_error("x");
                                 }}));
  gateway.wire.say(R"({"id":"forwarded-1","result":1})");
  EXPECT_EQ(told, 1);
  ASSERT_EQ(gateway.log.size(), 1u);
  // One ends its own request, then another one everything.
  std::optional<std::uint64_t> number;
  const auto sent = gateway.transport->forward(
      R"({"id":1,"method":"m","params":{"_meta":{"progressToken":1}}})",
      {.on_notification =
           [&](std::string_view) { EXPECT_TRUE(gateway.transport->cancel(*number)); },
       .on_response = [&](std::string_view) { ADD_FAILURE(); }});
  number = *sent;
  gateway.wire.say(R"({"method":"p","params":{"progressToken":"forwarded-2"}})");
  ASSERT_TRUE(gateway.transport->forward(
      R"({"id":1,"method":"m"})",
      {.on_response = [&](std::string_view) { gateway.transport.reset(); }}));
  gateway.wire.say(R"([{"id":"forwarded-3","result":1},{"method":"for nobody"}])");
  EXPECT_TRUE(gateway.wire.gone);
  EXPECT_TRUE(gateway.peer.messages.empty());
}

TEST(ForwardingTransport, DestroyedItTellsNobody) {
  Gateway gateway;
  Gateway::Front front;
  ASSERT_TRUE(gateway.transport->forward(R"({"id":1,"method":"m"})", front.callbacks()));
  gateway.transport.reset();
  EXPECT_TRUE(front.responses.empty());
  EXPECT_TRUE(gateway.wire.gone);
}

}  // namespace
}  // namespace godwit::inline v0
