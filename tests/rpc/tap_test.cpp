#include "godwit/rpc/tap.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "godwit/rpc/peer.hpp"

namespace godwit::inline v0::rpc {
namespace {

constexpr std::string_view names[] = {"unknown",      "request", "notification",
                                      "cancellation", "batch",   "answer"};

struct Tapped : testing::Test {
  Tapped() {
    router->on("add", [](int a, int b) { return a + b; });
    router->on("fail", []() -> Result<int> { return error("no"); });
    router->on("later", [this](Reply<int> reply) { replies.push_back(std::move(reply)); });
    options.log = Log();
    options.abandoned = [](Peer& on, const Id& id, const Error&) {
      on.notify_cancelled(id, "cancelled", std::vector<Id>{id});
    };
    options.tap = [this](const TappedMessage& message) {
      std::string line(message.incoming ? "<- " : "-> ");
      line += names[static_cast<std::size_t>(message.kind)];
      for (const std::string_view part : {message.method, message.id}) {
        if (!part.empty()) line += " " + std::string(part);
      }
      if (message.failed) line += " failed";
      if (message.route != 0) line += " by " + std::to_string(message.route);
      seen.push_back(line);
      texts.emplace_back(message.text);
      if (then) then();
    };
  }
  Peer& make() {
    peer.emplace(sink, router, options);
    return *peer;
  }

  std::vector<std::string> sent;
  MessageSink sink{[this](std::string_view text) { sent.emplace_back(text); }};
  std::shared_ptr<Router> router = std::make_shared<Router>();
  PeerOptions options;
  std::vector<Reply<int>> replies;
  std::vector<std::string> seen, texts;
  std::function<void()> then;
  std::optional<Peer> peer;
};

using Lines = std::vector<std::string>;

TEST_F(Tapped, SeesWhatIsAskedAndAnswered) {
  make();
  const std::string request = R"({"jsonrpc":"2.0","id":"a","method":"add","params":[1,2]})";
  peer->receive(request, 7);
  peer->receive(R"({"jsonrpc":"2.0","id":2,"method":"fail"})");
  peer->receive(R"({"jsonrpc":"2.0","id":3,"method":"later"})");
  replies.at(0)(5);
  peer->process();
  peer->receive(R"({"jsonrpc":"2.0","method":"add","params":[1,2]})");
  EXPECT_EQ(seen, (Lines{"<- request add \"a\" by 7", "-> answer \"a\" by 7", "<- request fail 2",
                         "-> answer 2 failed", "<- request later 3", "-> answer 3",
                         "<- notification add"}));
  EXPECT_EQ(texts[0], request);
  EXPECT_EQ(texts[1], R"({"jsonrpc":"2.0","id":"a","result":3})");
}

TEST_F(Tapped, SeesWhatThisSideAsks) {
  make();
  peer->call("theirs", no_params, [](Result<json::Value>) {});
  peer->notify("told", std::vector<int>{1});
  peer->receive(R"({"jsonrpc":"2.0","id":1,"result":1})");
  const CallHandle call = peer->call("theirs", no_params, [](Result<json::Value>) {});
  peer->cancel(call);
  peer->receive(R"({"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"late"}})");
  EXPECT_EQ(seen,
            (Lines{"-> request theirs 1", "-> notification told", "<- answer 1",
                   "-> request theirs 2", "-> cancellation cancelled", "<- answer 2 failed"}));
  EXPECT_EQ(texts[1], sent[1]);
}

TEST_F(Tapped, SeesBatchesAndWhatIsNoMessage) {
  make();
  peer->receive(R"([{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}])");
  peer->receive("{");
  peer->receive("5");
  Batch batch = peer->batch();
  batch.call("theirs", no_params, [](Result<json::Value>) {}).notify("told");
  batch.send();
  EXPECT_EQ(seen, (Lines{"<- batch", "-> answer", "<- unknown", "-> answer null failed",
                         "<- unknown", "-> answer null failed", "-> batch"}));
  EXPECT_EQ(texts[2], "{");
}

TEST_F(Tapped, SeesWhatAHandlerSaysOnTheWay) {
  router->on("talks", [](Context& cx) {
    cx.notify("so/far", std::vector<int>{});
    return 1;
  });
  make();
  peer->receive(R"({"jsonrpc":"2.0","id":1,"method":"talks"})");
  EXPECT_EQ(seen, (Lines{"<- request talks 1", "-> notification so/far", "-> answer 1"}));
}

TEST_F(Tapped, MayThrow) {
  then = [] { throw std::runtime_error("no"); };
  make();
  peer->receive(R"({"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]})");
  EXPECT_EQ(sent.size(), 1u);
}

TEST_F(Tapped, MayEndThePeerWhereverItIsCalled) {
  for (const bool destroy : {true, false}) {
    for (std::size_t at = 1; at <= 4; ++at) {
      seen.clear();
      sent.clear();
      then = [&] {
        if (seen.size() != at) return;
        if (destroy) {
          peer.reset();
        } else {
          peer->close();
        }
      };
      make();
      bool told = false;
      peer->call("theirs", no_params, [&](Result<json::Value>) { told = true; });
      if (peer) peer->notify("told");
      if (peer) peer->receive(R"({"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]})");
      EXPECT_EQ(seen.size(), at);
      EXPECT_EQ(sent.size(), at == 4 ? 2u : std::min<std::size_t>(at - 1, 2));
      EXPECT_TRUE(told);
      peer.reset();
    }
  }
}

}  // namespace
}  // namespace godwit::inline v0::rpc
