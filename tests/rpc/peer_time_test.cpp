// The ends of calls other than answers: timeouts, cancellation, the end of the connection.
#include <gtest/gtest.h>

#include <stop_token>
#include <string>
#include <vector>

#include "godwit/rpc/peer.hpp"
#include "rpc_station.hpp"

namespace godwit::inline v0::rpc {
namespace {

using namespace std::chrono_literals;
using test::error_of;
using test::Station;

std::string request(int id, std::string_view method) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":)" + json::quote(method) +
         "}";
}

struct Client : Station {
  using Station::Station;
  ~Client() { peer->close(); }  // its callbacks write to `outcomes`
  CallHandle call(std::string_view method, const CallOptions& options = {}) {
    return peer->call(
        method, no_params, [this](Result<json::Value> r) { outcomes.push_back(std::move(r)); },
        options);
  }
  std::vector<Result<json::Value>> outcomes;
};

TEST(PeerTime, ACallEndsAfterSixtySeconds) {
  Client client;
  EXPECT_FALSE(client.peer->next_deadline());
  client.call("slow");
  EXPECT_EQ(client.peer->next_deadline(), client.clock.now() + 60s);
  client.pass(60s - 1ns);
  EXPECT_TRUE(client.outcomes.empty());
  client.pass(1ns);
  ASSERT_EQ(client.outcomes.size(), 1u);
  EXPECT_EQ(client.outcomes[0].error(), (Error{.code = code::request_timeout,
                                               .message = R"(no answer to "slow" within 60 s)"}));
  EXPECT_EQ(client.peer->pending(), 0u);
  EXPECT_FALSE(client.peer->next_deadline());
  // The answer that comes after all is dropped, and said so.
  EXPECT_EQ(client.receive(R"({"jsonrpc":"2.0","id":1,"result":1})"), "");
  EXPECT_EQ(client.outcomes.size(), 1u);
  EXPECT_TRUE(client.logged("no call is waiting for the id 1"));
}

TEST(PeerTime, EachCallMayHaveItsOwnTime) {
  Client client(nullptr, {.limits = {.call_timeout = 10s}});
  client.call("default");
  client.call("short", {.timeout = 1500ms});
  client.call("never", {.timeout = Duration::max()});
  client.call("none", {.timeout = 0s});
  EXPECT_EQ(client.peer->next_deadline(), client.clock.now());
  client.pass(0s);
  ASSERT_EQ(client.outcomes.size(), 1u);
  client.pass(1500ms);
  ASSERT_EQ(client.outcomes.size(), 2u);
  EXPECT_EQ(client.outcomes[1].error().message, R"(no answer to "short" within 1500 ms)");
  client.pass(1000h);
  ASSERT_EQ(client.outcomes.size(), 3u);
  EXPECT_EQ(client.outcomes[2].error().message, R"(no answer to "default" within 10 s)");
  EXPECT_EQ(client.peer->pending(), 1u);
  client.peer->receive(R"({"jsonrpc":"2.0","id":3,"result":1})");
  EXPECT_TRUE(client.outcomes.at(3));
}

TEST(PeerTime, ACallMayGetMoreTime) {
  Client client;
  const CallHandle call = client.call("slow");
  client.pass(59s);
  EXPECT_TRUE(client.peer->extend(call, 30s));
  client.pass(29s);
  EXPECT_TRUE(client.outcomes.empty());
  EXPECT_TRUE(client.peer->extend(call, Duration::max()));
  client.pass(1000h);
  EXPECT_TRUE(client.outcomes.empty());
  EXPECT_TRUE(client.peer->extend(call, 1s));
  client.pass(1s);
  ASSERT_EQ(client.outcomes.size(), 1u);
  EXPECT_FALSE(client.peer->extend(call, 1s));
}

TEST(PeerTime, TellsTheHostWhenTheNextDeadlineMoves) {
  int moved = 0;
  Client client(nullptr, {.deadline_moved = [&] { ++moved; }});
  client.call("a");
  EXPECT_EQ(moved, 1);
  client.call("later", {.timeout = 61s});
  EXPECT_EQ(moved, 1);
  client.call("sooner", {.timeout = 1s});
  EXPECT_EQ(moved, 2);
}

TEST(PeerTime, ARetryWithoutAnyTimeDoesNotHang) {
  int tries = 0;  // outlives the client, whose end is an outcome, too
  Client client;
  std::function<void(Result<json::Value>)> retry = [&](Result<json::Value>) {
    if (++tries < 1000) client.peer->call("m", no_params, retry, {.timeout = 0s});
  };
  client.peer->call("m", no_params, retry, {.timeout = 0s});
  client.pass(0s);
  EXPECT_EQ(tries, 1);
  client.pass(0s);
  EXPECT_EQ(tries, 2);
  tries = 1000;
}

TEST(PeerTime, ACallMayBeTakenBack) {
  std::vector<std::string> told;
  Client client(nullptr, {.abandoned = [&](Peer&, const Id& id, const Error& reason) {
                  told.push_back(id.text() + " " + std::to_string(reason.code));
                }});
  const CallHandle first = client.call("first");
  client.call("second", {.timeout = 5s});
  client.call("third");
  EXPECT_EQ(client.peer->id_of(first), Id(1));
  EXPECT_TRUE(client.peer->cancel(first, "not needed"));
  ASSERT_EQ(client.outcomes.size(), 1u);
  EXPECT_EQ(client.outcomes[0].error(),
            (Error{.code = code::cancelled, .message = R"("first" was cancelled: not needed)"}));
  EXPECT_FALSE(client.peer->cancel(first));
  EXPECT_FALSE(client.peer->id_of(first));
  EXPECT_FALSE(client.peer->cancel(CallHandle{}));
  client.pass(5s);
  EXPECT_EQ(told, (std::vector<std::string>{"1 -32002", "2 -32001"}));
  client.peer->receive(R"({"jsonrpc":"2.0","id":3,"result":1})");
  client.peer->close();
  EXPECT_EQ(told.size(), 2u);  // answered, closed: there is nobody to tell
  EXPECT_EQ(client.outcomes.size(), 3u);
}

TEST(PeerTime, CloseEndsEveryCallAtOnce) {
  Client client;
  for (int i = 0; i < 100; ++i) client.call("m" + std::to_string(i));
  client.peer->on_close(Error{.code = -32603, .message = "broken pipe", .data = "7"});
  ASSERT_EQ(client.outcomes.size(), 100u);
  EXPECT_EQ(client.outcomes[0].error(),
            (Error{.code = code::connection_closed,
                   .message = R"(no answer to "m0": the connection is closed (broken pipe))",
                   .data = "7"}));
  EXPECT_TRUE(client.peer->closed());
  EXPECT_EQ(client.peer->pending(), 0u);
  EXPECT_FALSE(client.peer->next_deadline());

  // Nothing follows: no second outcome, no message in or out.
  client.sent.clear();
  client.peer->close();
  client.pass(1h);
  EXPECT_EQ(client.receive(R"({"jsonrpc":"2.0","id":1,"result":1})"), "");
  EXPECT_EQ(client.receive("{"), "");
  client.peer->on_unreadable(Error{});
  client.peer->notify("m");
  EXPECT_EQ(client.outcomes.size(), 100u);
  EXPECT_EQ(client.call("late"), CallHandle{});
  ASSERT_EQ(client.outcomes.size(), 101u);
  EXPECT_EQ(client.outcomes[100].error(),
            (Error{.code = code::connection_closed,
                   .message = R"(the connection is closed; "late" was not sent)"}));
  EXPECT_TRUE(client.sent.empty());
}

TEST(PeerTime, DestructionEndsEveryCall) {
  int ended = 0;
  {
    Station client;
    client.peer->call("m", no_params, [&](Result<json::Value> r) {
      EXPECT_EQ(r.error().code, code::connection_closed);
      ++ended;
    });
  }
  EXPECT_EQ(ended, 1);
}

TEST(PeerTime, CallsMadeWhileClosingFailToo) {
  Client client;
  int inner = 0;
  client.peer->call("outer", no_params, [&](Result<json::Value>) {
    client.peer->call("inner", no_params, [&](Result<json::Value> r) {
      EXPECT_EQ(r.error().code, code::connection_closed);
      ++inner;
    });
  });
  client.peer->close();
  EXPECT_EQ(inner, 1);
}

TEST(PeerTime, TheEndOfInputLeavesTheOutputOpen) {
  std::vector<Reply<int>> replies;
  std::vector<std::stop_token> tokens;
  auto router = std::make_shared<Router>();
  router->on("later", [&](Reply<int> reply) {
    tokens.push_back(reply.cancelled());
    replies.push_back(std::move(reply));
  });
  Client peer(router);
  peer.call("never answered");
  peer.receive(request(1, "later"));
  peer.peer->end_of_input(Error{.message = "end of file"});
  ASSERT_EQ(peer.outcomes.size(), 1u);
  EXPECT_EQ(peer.outcomes[0].error().code, code::connection_closed);
  EXPECT_TRUE(tokens.at(0).stop_requested());
  EXPECT_EQ(peer.call("m"), CallHandle{});
  replies.at(0)(7);
  peer.peer->process();
  EXPECT_EQ(peer.sent.back(), R"({"jsonrpc":"2.0","id":1,"result":7})");
}

TEST(PeerTime, TheOtherSideMayTakeItsRequestBack) {
  std::vector<Reply<int>> replies;
  auto router = std::make_shared<Router>();
  router->on("later", [&](Reply<int> reply) { replies.push_back(std::move(reply)); });
  Station server(router);
  server.receive(request(1, "later"));
  server.receive(request(2, "later"));
  const std::stop_token token = replies.at(0).cancelled();
  EXPECT_FALSE(server.peer->cancel_incoming(Id("1")));
  EXPECT_FALSE(token.stop_requested());
  EXPECT_TRUE(server.peer->cancel_incoming(Id(1)));
  EXPECT_TRUE(token.stop_requested());
  EXPECT_FALSE(replies.at(1).cancelled().stop_requested());
  EXPECT_FALSE(server.peer->cancel_incoming(Id(1)));
  EXPECT_EQ(server.peer->in_flight(), 1u);
  replies.at(0)(5);
  server.peer->process();
  EXPECT_TRUE(server.sent.empty());
  // The id is free again, and an answer to the old request does not reach the new one.
  server.receive(request(1, "later"));
  EXPECT_EQ(server.peer->in_flight(), 2u);
  EXPECT_TRUE(server.sent.empty());
  replies.at(2)(6);
  server.peer->process();
  EXPECT_EQ(server.all_sent(), R"({"jsonrpc":"2.0","id":1,"result":6})");
}

TEST(PeerTime, AnAnswerInTheMailboxIsNotSentAfterCancellation) {
  std::vector<Reply<int>> replies;
  auto router = std::make_shared<Router>();
  router->on("later", [&](Reply<int> reply) { replies.push_back(std::move(reply)); });
  Station server(router);
  server.receive(request(1, "later"));
  replies.at(0)(1);  // waits for process()
  EXPECT_TRUE(server.peer->cancel_incoming(Id(1)));
  server.receive(request(1, "later"));
  server.peer->process();
  EXPECT_TRUE(server.sent.empty());
  EXPECT_EQ(server.peer->in_flight(), 1u);
}

TEST(PeerTime, CloseStopsHandlers) {
  std::vector<Reply<int>> replies;
  auto router = std::make_shared<Router>();
  router->on("later", [&](Reply<int> reply) { replies.push_back(std::move(reply)); });
  Station server(router);
  server.receive(request(1, "later"));
  server.receive(R"({"jsonrpc":"2.0","method":"later"})");
  EXPECT_EQ(server.peer->in_flight(), 2u);
  server.peer->close();
  EXPECT_EQ(server.peer->in_flight(), 0u);
  for (Reply<int>& reply : replies) {
    EXPECT_TRUE(reply.cancelled().stop_requested());
    reply(1);
  }
  server.peer->process();
  EXPECT_TRUE(server.sent.empty());
}

}  // namespace
}  // namespace godwit::inline v0::rpc
