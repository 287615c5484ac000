// Carriers with several ways back: which way each message of a Peer takes.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "godwit/base/executor.hpp"
#include "godwit/rpc/peer.hpp"
#include "rpc_station.hpp"

namespace godwit::inline v0::rpc {
namespace {

using namespace std::chrono_literals;

/// Writes down what goes where: `ROUTE:what text`.
class Ways final : public Output {
 public:
  std::string& output() override { return buffer_; }
  void finish(const Outbound& message) override {
    texts.push_back(buffer_.substr(message.begin));
    buffer_.resize(message.begin);
    const std::string what = !message.is_answer() ? "message"
                             : message.error      ? "error " + std::to_string(message.error->code)
                                                  : "answer";
    log.push_back(std::to_string(message.route) + ":" + what);
    if (then) then();
  }
  void flush() override {}
  void unanswered(Route route) override {
    log.push_back(std::to_string(route) + ":unanswered");
    if (then) then();
  }
  void let_go(Route route) override { log.push_back(std::to_string(route) + ":let_go"); }

  std::vector<std::string> take_log() { return std::exchange(log, {}); }

  std::vector<std::string> log;
  std::vector<std::string> texts;
  std::function<void()> then;

 private:
  std::string buffer_;
};

using Log_ = std::vector<std::string>;

/// Keeps the work until the test runs it.
struct Later final : Executor {
  void execute(Function<void()> work) override { all.push_back(std::move(work)); }
  std::deque<Function<void()>> all;
};

std::string request(int id, std::string_view method) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + std::string(method) +
         R"("})";
}
std::string note(std::string_view method) {
  return R"({"jsonrpc":"2.0","method":")" + std::string(method) + R"("})";
}

struct Routes : testing::Test {
  Routes() {
    router->on("now", [] { return 1; });
    router->on("fail", []() -> Result<int> { return Error{.code = 7, .message = "x"}; });
    router->on("throw", []() -> int { throw std::runtime_error("x"); });
    router->on("big", [] { return std::string(5'000, 'x'); });
    router->on("tell", [](Context& cx) {
      cx.notify("told", std::vector<int>{});
      return 1;
    });
    router->on("late", [this](Reply<int> reply) { late.push_back(std::move(reply)); });
    router->on("call", [this](Context& cx) {
      cx.peer()->call("theirs", no_params, [this](Result<json::Value>) { ++answered; });
      return 1;
    });
    options.clock = &clock;
    options.limits.message_bytes_out = 1'000;
    options.abandoned = [](Peer& p, const Id&, const Error&) { p.notify("given_up"); };
  }
  Peer& make() {
    peer.emplace(ways, router, options);
    return *peer;
  }
  /// As a carrier delivers a message that came this way.
  void receive(Route route, std::string_view message) { peer->receive(message, route); }

  Later executor;
  std::shared_ptr<Router> router = std::make_shared<Router>(&executor);
  ManualClock clock;
  PeerOptions options;
  std::vector<Reply<int>> late;
  int answered = 0;
  Ways ways;
  std::optional<Peer> peer;
};

// Answers.

TEST_F(Routes, AnAnswerGoesTheWayOfItsRequestAndSaysHowItWent) {
  make();
  receive(5, request(1, "now"));
  receive(6, request(1, "fail"));
  receive(7, request(1, "throw"));
  receive(8, request(1, "nobody"));
  receive(9, "{");
  receive(10, "5");
  receive(11, request(1, "big"));
  receive(12, note("now"));
  receive(13, note("nobody"));
  EXPECT_EQ(ways.log, (Log_{"5:answer", "6:error 7", "7:error -32603", "8:error -32601",
                            "9:error -32700", "10:error -32600", "11:error -32603"}));
}

TEST_F(Routes, WhatAHandlerSaysBeforeGoesTheSameWay) {
  make();
  receive(5, request(1, "tell"));
  receive(6, note("tell"));
  receive(7, request(1, "call"));
  EXPECT_EQ(ways.log, (Log_{"5:message", "5:answer", "6:message", "7:message", "7:answer"}));
}

TEST_F(Routes, ALateAnswerFindsItsWay) {
  make();
  for (Route route = 1; route <= 3; ++route) {
    receive(route, request(static_cast<int>(route), "late"));
  }
  EXPECT_TRUE(ways.log.empty());
  late[2](3);
  late[0](Error{.code = 7, .message = "x"});
  peer->process();
  late.erase(late.begin() + 1);  // dropped unanswered
  peer->process();
  EXPECT_EQ(ways.log, (Log_{"3:answer", "1:error 7", "2:error -32603"}));
}

TEST_F(Routes, AnswersOfBlockingHandlersAndWhatTheySayBefore) {
  router->on("work", blocking([](Context& cx) {
               cx.notify("told", std::vector<int>{});
               return 1;
             }));
  make();
  receive(5, request(1, "work"));
  receive(6, request(2, "work"));
  executor.all[1]();
  executor.all[0]();
  peer->process();
  EXPECT_EQ(ways.log, (Log_{"6:message", "6:answer", "5:message", "5:answer"}));
}

TEST_F(Routes, ManyLateAnswersNeverCross) {
  make();
  std::mt19937 random(1);
  std::vector<Route> expected;
  std::vector<std::pair<Route, Reply<int>>> open;
  for (Route route = 1; route <= 500; ++route) {
    receive(route, request(static_cast<int>(route), "late"));
    open.emplace_back(route, std::move(late.back()));
    late.pop_back();
    while (open.size() > random() % 60) {
      const std::size_t at = random() % open.size();
      std::swap(open[at], open.back());
      open.back().second(static_cast<int>(open.back().first));
      expected.push_back(open.back().first);
      open.pop_back();
    }
    if (random() % 4 == 0) peer->process();
  }
  peer->process();
  ASSERT_EQ(ways.log.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::string number = std::to_string(expected[i]);
    EXPECT_EQ(ways.log[i], number + ":answer");
    EXPECT_NE(ways.texts[i].find("\"id\":" + number + ","), std::string::npos) << ways.texts[i];
  }
}

// Batches.

TEST_F(Routes, ABatchIsAnsweredOnceOnItsWay) {
  make();
  receive(5, "[" + request(1, "now") + "," + request(2, "fail") + "," + note("now") + "]");
  EXPECT_EQ(ways.take_log(), (Log_{"5:answer"}));
  receive(6, "[" + request(1, "late") + "," + request(2, "now") + "," + request(3, "late") + "]");
  receive(7, request(4, "now"));
  late[1](3);
  peer->process();
  EXPECT_EQ(ways.take_log(), (Log_{"7:answer"}));
  late[0](1);
  peer->process();
  EXPECT_EQ(ways.take_log(), (Log_{"6:answer"}));
  receive(8, "[]");
  EXPECT_EQ(ways.take_log(), (Log_{"8:error -32600"}));
  receive(9, "[5]");
  EXPECT_EQ(ways.take_log(), (Log_{"9:answer"}));
}

TEST_F(Routes, ABatchThatWantsNoAnswerSaysSo) {
  make();
  receive(5, "[" + note("now") + "," + note("nobody") + "]");
  EXPECT_EQ(ways.take_log(), (Log_{"5:unanswered"}));
  receive(6, R"([{"jsonrpc":"2.0","id":77,"result":1}])");
  EXPECT_EQ(ways.take_log(), (Log_{"6:unanswered"}));
}

TEST_F(Routes, ABatchWhoseRequestsAreTakenBackOneByOne) {
  make();
  receive(5, "[" + request(1, "late") + "," + request(2, "late") + "]");
  EXPECT_TRUE(peer->cancel_incoming(Id(1)));
  EXPECT_TRUE(ways.log.empty()) << "the other is still to come";
  EXPECT_TRUE(peer->cancel_incoming(Id(2)));
  EXPECT_EQ(ways.take_log(), (Log_{"5:unanswered"}));
  receive(6, "[" + request(1, "late") + "," + request(2, "now") + "]");
  EXPECT_TRUE(peer->cancel_incoming(Id(1)));
  EXPECT_EQ(ways.take_log(), (Log_{"6:answer"}));
  receive(7, "[" + request(1, "late") + "," + request(2, "late") + "]");
  EXPECT_TRUE(peer->cancel_incoming(Id(2)));
  late[late.size() - 2](1);
  peer->process();
  EXPECT_EQ(ways.take_log(), (Log_{"7:answer"}));
}

// Taking back.

TEST_F(Routes, ARequestThatIsTakenBackIsUnansweredOnce) {
  make();
  receive(5, request(1, "late"));
  receive(6, request(2, "late"));
  EXPECT_TRUE(peer->cancel_incoming(Id(1)));
  EXPECT_FALSE(peer->cancel_incoming(Id(1)));
  EXPECT_FALSE(peer->cancel_incoming(Id(99)));
  late[0](1);
  peer->process();
  EXPECT_EQ(ways.take_log(), (Log_{"5:unanswered"}));
  late[1](2);
  peer->process();
  EXPECT_EQ(ways.take_log(), (Log_{"6:answer"}));
}

TEST_F(Routes, AnAnswerThatIsOnItsWayIsNotSentAfterTakingBack) {
  make();
  receive(5, request(1, "late"));
  late[0](1);
  EXPECT_TRUE(peer->cancel_incoming(Id(1)));
  peer->process();
  EXPECT_EQ(ways.take_log(), (Log_{"5:unanswered"}));
}

TEST_F(Routes, WhatAHandlerSaidIsNotSentAfterTakingBack) {
  router->on("work", blocking([](Context& cx) {
               cx.notify("told", std::vector<int>{});
               return 1;
             }));
  make();
  receive(5, request(1, "work"));
  executor.all[0]();
  EXPECT_TRUE(peer->cancel_incoming(Id(1)));
  peer->process();
  EXPECT_EQ(ways.take_log(), (Log_{"5:unanswered"})) << "a message after the end of the way";
}

// Own messages.

TEST_F(Routes, WorkThatIsPostedBelongsToNoRequest) {
  make();
  peer->poster()([this] { peer->notify("posted"); });
  peer->process();
  peer->schedule(1s, [this] { peer->notify("timer"); });
  clock.advance(1s);
  peer->expire(clock.now());
  EXPECT_EQ(ways.take_log(), (Log_{"0:message", "0:message"}));
  // Also if it runs at the end of a message that came some way.
  peer->poster()([this] { peer->notify("posted"); });
  receive(5, request(1, "now"));
  EXPECT_EQ(ways.take_log(), (Log_{"5:answer", "0:message"}));
}

TEST_F(Routes, ACallTakesTheWayItIsTold) {
  const auto done = [this](Result<json::Value>) { ++answered; };
  router->on("calls", [&] {
    peer->call("a", no_params, done);
    peer->call("a", no_params, done, {.route = 0});
    peer->notify("n");
  });
  make();
  peer->call("a", no_params, done);
  peer->call("a", no_params, done, {.route = 5});
  peer->notify("n", no_params, 6);
  receive(7, note("calls"));
  EXPECT_EQ(ways.take_log(),
            (Log_{"0:message", "5:message", "6:message", "7:message", "0:message", "7:message"}));
  // Whatever way the answers come.
  for (int id = 1; id <= 4; ++id) {
    receive(static_cast<Route>(90 + id),
            R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"result":1})");
  }
  EXPECT_EQ(answered, 4);
  EXPECT_TRUE(ways.log.empty());
}

TEST_F(Routes, ACallThatIsGivenUpIsTakenBackByTheWayItWent) {
  make();
  const auto done = [this](Result<json::Value>) { ++answered; };
  const CallHandle call = peer->call("a", no_params, done, {.timeout = 1s, .route = 5});
  peer->call("a", no_params, done, {.timeout = 1s, .route = 6});
  ways.log.clear();
  EXPECT_TRUE(peer->cancel(call));
  clock.advance(1s);
  peer->expire(clock.now());
  peer->notify("n");
  EXPECT_EQ(ways.take_log(), (Log_{"5:message", "6:message", "0:message"}));
  EXPECT_EQ(answered, 2);
}

TEST_F(Routes, ACallThatIsNotSentLeavesTheWayAlone) {
  make();
  peer->call("a", std::vector<std::string>{std::string(5'000, 'x')},
             [this](Result<json::Value> outcome) { answered += outcome ? 0 : 1; }, {.route = 5});
  EXPECT_EQ(answered, 1);
  EXPECT_TRUE(ways.log.empty());
  peer->notify("n");
  EXPECT_EQ(ways.take_log(), (Log_{"0:message"}));
}

TEST_F(Routes, LettingGoIsToldToTheCarrier) {
  make();
  peer->let_go(5);
  peer->let_go(0);
  peer->close();
  peer->let_go(6);
  EXPECT_EQ(ways.log, (Log_{"5:let_go", "0:let_go"}));
}

// Messages inside messages.

TEST_F(Routes, AMessageThatComesMeanwhileKeepsItsWay) {
  router->on("outer", [this] {
    for (Route inner : {7u, 8u}) {
      receive(inner, request(static_cast<int>(inner), "now"));
      receive(inner, request(static_cast<int>(inner) + 10, "late"));
    }
    return 1;
  });
  make();
  receive(5, request(1, "outer"));
  EXPECT_EQ(ways.take_log(), (Log_{"5:answer", "7:answer", "8:answer"}));
  late[1](1);
  late[0](1);
  peer->process();
  EXPECT_EQ(ways.take_log(), (Log_{"8:answer", "7:answer"}));
}

TEST_F(Routes, AParsedMessageIsTheSame) {
  make();
  json::Document document;
  const std::string text = request(1, "now");
  peer->receive(*document.parse(text), 5);
  EXPECT_EQ(ways.take_log(), (Log_{"5:answer"}));
  router->on("outer", [this] {
    json::Document own;
    const std::string inner = request(2, "now");
    peer->receive(*own.parse(inner), 6);
    return 1;
  });
  peer.reset();
  make();
  const std::string outer = request(1, "outer");
  peer->receive(*document.parse(outer), 5);
  EXPECT_EQ(ways.take_log(), (Log_{"5:answer", "6:answer"}));
}

// The end.

TEST_F(Routes, NothingIsSaidAfterTheEnd) {
  make();
  receive(5, request(1, "late"));
  receive(6, "[" + request(2, "late") + "]");
  peer->close();
  late[0](1);
  late[1](2);
  peer->process();
  EXPECT_FALSE(peer->cancel_incoming(Id(1)));
  EXPECT_TRUE(ways.log.empty());
}

TEST_F(Routes, APeerMayBeDestroyedWhereverTheProgramIsCalled) {
  const auto destroy = [this] { peer.reset(); };
  router->on("destroy", [&] {
    peer.reset();
    return 1;
  });
  // By a handler.
  make();
  receive(5, request(1, "destroy"));
  EXPECT_FALSE(peer);
  // In a batch.
  make();
  peer->receive("[" + request(1, "destroy") + "," + request(2, "now") + "]");
  EXPECT_FALSE(peer);
  // By posted work and timers.
  make();
  peer->poster()(destroy);
  peer->process();
  EXPECT_FALSE(peer);
  make();
  peer->schedule(1s, destroy);
  clock.advance(1s);
  peer->expire(clock.now());
  EXPECT_FALSE(peer);
  // By the outcome of a call that takes a way of its own.
  make();
  peer->call("a", no_params, [&](Result<json::Value>) { peer.reset(); }, {.route = 9});
  peer->receive(R"({"jsonrpc":"2.0","id":1,"result":1})");
  EXPECT_FALSE(peer);
  make();
  peer->call("a", no_params, [&](Result<json::Value>) { peer.reset(); },
             {.timeout = 1s, .route = 9});
  clock.advance(1s);
  peer->expire(clock.now());
  EXPECT_FALSE(peer);
  make();
  const CallHandle call =
      peer->call("a", no_params, [&](Result<json::Value>) { peer.reset(); }, {.route = 9});
  peer->cancel(call);
  EXPECT_FALSE(peer);
  // By what is told that a call is given up.
  options.abandoned = [&](Peer&, const Id&, const Error&) { peer.reset(); };
  make();
  peer->call("a", no_params, [](Result<json::Value>) {}, {.timeout = 1s, .route = 9});
  clock.advance(1s);
  peer->expire(clock.now());
  EXPECT_FALSE(peer);
}

TEST_F(Routes, APeerMayBeDestroyedByTheStopOfARequest) {
  make();
  receive(5, request(1, "late"));
  const std::stop_callback stop(late[0].cancelled(), [this] { peer.reset(); });
  peer->cancel_incoming(Id(1));
  EXPECT_FALSE(peer);
  EXPECT_TRUE(ways.log.empty());
}

TEST_F(Routes, APeerMayBeClosedByItsCarrier) {
  ways.then = [this] {
    if (peer) peer->close();
  };
  make();
  receive(5, request(1, "now"));
  make();
  receive(5, request(1, "late"));
  late.back()(1);
  peer->process();
  make();
  receive(5, request(1, "late"));
  peer->cancel_incoming(Id(1));
  make();
  peer->call("a", no_params, [this](Result<json::Value>) { ++answered; }, {.route = 9});
  EXPECT_EQ(answered, 1);
  make();
  receive(5, "[" + request(1, "now") + "]");
  EXPECT_TRUE(peer->closed());
}

// Carriers of one way need none of this.

TEST(OneWay, AnOutputWithoutWaysIsEnough) {
  std::vector<std::string> sent;
  MessageSink sink([&](std::string_view text) { sent.emplace_back(text); });
  auto router = std::make_shared<Router>();
  std::vector<Reply<int>> late;
  router->on("now", [] { return 1; });
  router->on("late", [&](Reply<int> reply) { late.push_back(std::move(reply)); });
  Peer peer(sink, router);
  peer.receive(request(1, "now"));
  peer.receive(request(2, "late"));
  peer.receive("[" + note("now") + "]");
  peer.call("a", no_params, [](Result<json::Value>) {}, {.route = 7});
  peer.let_go(7);
  peer.cancel_incoming(Id(2));
  EXPECT_EQ(sent.size(), 2u);
}

}  // namespace
}  // namespace godwit::inline v0::rpc
