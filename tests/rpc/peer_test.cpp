#include "godwit/rpc/peer.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "rpc_station.hpp"

namespace godwit::inline v0::rpc {
namespace {

using namespace std::chrono_literals;
using test::error_of;
using test::message_of;
using test::pump;
using test::same_json;
using test::Station;

/// A request that asks for a method without parameters.
std::string request(int id, std::string_view method) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":)" + json::quote(method) +
         "}";
}

/// Remembers the outcomes of calls: the result as text, or `CODE SENTENCE`.
struct Outcomes {
  // Shared with the callbacks, the last of which run when the peer is destroyed.
  std::shared_ptr<std::vector<std::string>> kept = std::make_shared<std::vector<std::string>>();
  std::vector<std::string>& all = *kept;
  Function<void(Result<json::Value>)> add() {
    return [to = kept](Result<json::Value> outcome) {
      to->push_back(outcome ? outcome->dump()
                            : std::to_string(outcome.error().code) + " " + outcome.error().message);
    };
  }
};

TEST(Peer, CallsAndIsCalled) {
  auto server_methods = std::make_shared<Router>();
  server_methods->on("subtract", {"minuend", "subtrahend"}, [](int a, int b) { return a - b; });
  auto client_methods = std::make_shared<Router>();
  client_methods->on("name", [] { return "client"; });
  Station client(client_methods);
  Station server(server_methods);

  Outcomes outcomes;
  client.peer->call("subtract", std::tuple(42, 23), outcomes.add());
  EXPECT_TRUE(same_json(client.sent.at(0),
                        R"({"jsonrpc":"2.0","id":1,"method":"subtract","params":[42,23]})"));
  server.peer->call("name", no_params, outcomes.add());
  EXPECT_TRUE(same_json(server.sent.at(0), R"({"jsonrpc":"2.0","id":1,"method":"name"})"));
  EXPECT_EQ(client.peer->pending(), 1u);
  EXPECT_TRUE(outcomes.all.empty());
  pump(client, server);
  EXPECT_EQ(outcomes.all, (std::vector<std::string>{"19", "\"client\""}));
  EXPECT_EQ(client.peer->pending(), 0u);
}

TEST(Peer, DecodesTheResult) {
  struct Point {
    int x{};
    int y{};
  };
  auto router = std::make_shared<Router>();
  router->on("point", [] { return Point{.x = 1, .y = 2}; });
  router->on("text", [] { return "no point"; });
  router->on("nothing", [] {});
  Station client;
  Station server(router);
  int good = 0;
  client.peer->call<Point>("point", no_params, [&](Result<Point> p) {
    ASSERT_TRUE(p);
    EXPECT_EQ(p->y, 2);
    ++good;
  });
  client.peer->call<Point>("text", no_params, [&](Result<Point> p) {
    ASSERT_FALSE(p);
    EXPECT_EQ(p.error().code, code::internal_error);
    EXPECT_EQ(explain(p.error()),
              "Internal error (-32603): the result is not what was expected: "
              R"(expected an object, got "no point")");
    ++good;
  });
  client.peer->call<void>("nothing", no_params, [&](Result<void> r) { good += r ? 1 : 0; });
  client.peer->call<void>("none", no_params, [&](Result<void> r) {
    EXPECT_EQ(r.error().code, code::method_not_found);
    ++good;
  });
  pump(client, server);
  EXPECT_EQ(good, 4);
}

TEST(Peer, PassesTheErrorsOfTheOtherSideOn) {
  Station client;
  std::vector<Error> errors;
  const auto add = [&](Result<json::Value> r) { errors.push_back(r.error()); };
  client.peer->call("a", no_params, add);
  client.peer->call("b", no_params, add);
  client.peer->receive(
      R"({"jsonrpc":"2.0","id":1,"error":{"code":1001,"message":"no bird","data":{"a":[1]},"x":1}})");
  client.peer->receive(
      R"({"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Invalid params"}})");
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0], (Error{.code = 1001, .message = "no bird", .data = R"({"a":[1]})"}));
  EXPECT_EQ(classify(errors[0].code), ErrorKind::internal_error);
  EXPECT_EQ(explain(errors[0]), "application error (1001): no bird");
  EXPECT_EQ(explain(errors[1]), "client error: Invalid params (-32602)");
}

TEST(Peer, FailsACallWhoseResponseIsInvalid) {
  const char* const responses[] = {
      R"({"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"m"}})",
      R"({"jsonrpc":"2.0","id":1,"error":"no"})",
      R"({"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"m"}})",
      R"({"jsonrpc":"2.0","id":1,"error":{"code":1}})",
      R"({"jsonrpc":"1.0","id":1,"result":1})",
      R"({"id":1,"result":1})",
      R"({"jsonrpc":"2.0","id":1,"result":1,"result":2})",
      R"({"jsonrpc":"2.0","id":1,"result":1,"x":2,"x":3})",
  };
  for (const char* response : responses) {
    Station client;
    Outcomes outcomes;
    client.peer->call("m", no_params, outcomes.add());
    EXPECT_EQ(client.receive(response), "") << response;
    ASSERT_EQ(outcomes.all.size(), 1u) << response;
    EXPECT_TRUE(outcomes.all[0].starts_with(
        "-32603 Internal error: the other side sent an invalid response to \"m\": "))
        << outcomes.all[0];
    EXPECT_TRUE(client.logged("the response to \"m\" is invalid")) << response;
    EXPECT_EQ(client.peer->pending(), 0u);
  }
}

TEST(Peer, KeepsTheErrorThatStandsBesideANullResult) {
  Station client;
  std::vector<Error> errors;
  const auto add = [&](Result<json::Value> r) { errors.push_back(r.error()); };
  for (int i = 0; i < 3; ++i) client.peer->call("m", no_params, add);
  client.peer->receive(
      R"({"jsonrpc":"2.0","id":1,"result":null,"error":{"code":7,"message":"no bird","data":[1]}})");
  client.peer->receive(
      R"({"jsonrpc":"2.0","id":2,"result":{},"error":{"code":7,"message":"no bird"}})");
  client.peer->receive(R"({"jsonrpc":"1.0","id":3,"error":{"code":7,"message":"no bird"}})");
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_EQ(errors[0], (Error{.code = 7, .message = "no bird", .data = "[1]"}));
  for (const Error& error : {errors[1], errors[2]}) {
    EXPECT_EQ(error.code, code::internal_error);
    EXPECT_NE(error.message.find("invalid response to \"m\""), std::string::npos);
    EXPECT_NE(error.message.find("\"no bird\""), std::string::npos);
  }
  EXPECT_TRUE(client.logged("is invalid: a response must not have both"));
}

TEST(Peer, DropsResponsesThatNobodyWaitsFor) {
  Station client;
  Outcomes outcomes;
  client.peer->call("m", no_params, outcomes.add());
  for (const char* id : {"2", "0", "-1", "\"1\"", "1.0", "1e0", "18446744073709551617", "null"}) {
    EXPECT_EQ(client.receive(std::string(R"({"jsonrpc":"2.0","result":7,"id":)") + id + "}"), "");
    EXPECT_EQ(outcomes.all.size(), 0u) << id;
  }
  EXPECT_TRUE(client.logged(R"(no call is waiting for the id "1")"));
  client.clock.advance(1min);  // the log takes lines again
  EXPECT_EQ(client.receive(R"({"jsonrpc":"2.0","result":7,"id":1,"id":1})"), "");
  EXPECT_EQ(client.receive(R"({"jsonrpc":"2.0","result":7,"id":{}})"), "");
  EXPECT_EQ(client.receive(R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}})"),
            "");
  EXPECT_TRUE(client.logged("the other side could not read a message of ours"));
  EXPECT_EQ(outcomes.all.size(), 0u);
  client.peer->receive(R"({"jsonrpc":"2.0","result":7,"id":1})");
  EXPECT_EQ(outcomes.all, std::vector<std::string>{"7"});
  client.peer->receive(R"({"jsonrpc":"2.0","result":8,"id":1})");
  EXPECT_EQ(outcomes.all.size(), 1u);
}

TEST(Peer, DoesNotFloodTheLog) {
  Station client;
  for (int i = 0; i < 10'000; ++i) client.receive(R"({"jsonrpc":"2.0","result":7,"id":99})");
  for (int i = 0; i < 10'000; ++i) client.receive("{");
  EXPECT_LE(client.log().size(), 20u);
  client.clock.advance(1min);
  client.receive("{");
  EXPECT_TRUE(client.logged("were left out"));
}

TEST(Peer, ManyPeersDoNotFloodTheLogEither) {
  std::vector<std::string> lines;
  ManualClock clock;
  auto router = std::make_shared<Router>();
  router->on("throw", []() -> int { throw std::runtime_error("a bug"); });
  const PeerOptions options{
      .log = Log([&](LogLevel, std::string_view line) { lines.emplace_back(line); }),
      .clock = &clock};
  MessageSink nowhere([](std::string_view) {});
  for (int i = 0; i < 1000; ++i) {  // a client that connects again for each line
    Peer peer(nowhere, router, options);
    peer.receive("{" + std::string(5000, 'x'));
    peer.receive(R"({"jsonrpc":"2.0","result":7,"id":")" + std::string(5000, 'x') + R"("})");
  }
  EXPECT_EQ(lines.size(), 10u);
  std::size_t bytes = 0;
  for (const std::string& line : lines) bytes += line.size();
  EXPECT_LE(bytes, 10u * 512u);
  Peer peer(nowhere, router, options);
  peer.receive(R"({"jsonrpc":"2.0","id":1,"method":"throw"})");
  ASSERT_EQ(lines.size(), 11u) << "bad input pushed a bug out of the log";
  EXPECT_NE(lines.back().find("a bug"), std::string::npos);
  clock.advance(1min);
  peer.receive("{");
  ASSERT_EQ(lines.size(), 13u);
  EXPECT_NE(lines[11].find("1990 similar lines were left out"), std::string::npos) << lines[11];
}

TEST(Peer, WithTightRulesStillReadsNullIds) {
  Station client(nullptr, {.rules = {.null_id = false, .id_on_unreadable = false}});
  EXPECT_EQ(client.receive(R"({"jsonrpc":"2.0","id":null,"result":{}})"), "");
  EXPECT_EQ(client.receive(R"({"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}})"), "");
  EXPECT_EQ(client.receive(R"({"jsonrpc":"2.0","error":{"code":1,"message":"m"}})"), "");
}

TEST(Peer, NamesItsCallsByUuid) {
  Station client(nullptr, {.ids = IdStyle::uuid});
  Station server;
  std::set<std::string> ids;
  Outcomes outcomes;
  for (int i = 0; i < 100; ++i) {
    const CallHandle call = client.peer->call("m", no_params, outcomes.add());
    const std::string id(client.peer->id_of(call)->string().value());
    EXPECT_EQ(id.size(), 36u);
    EXPECT_EQ(id[14], '4') << id;
    EXPECT_NE(std::string("89ab").find(id[19]), std::string::npos) << id;
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 100u);
  EXPECT_EQ(client.receive(R"({"jsonrpc":"2.0","result":7,"id":1})"), "");  // private number
  EXPECT_EQ(client.peer->pending(), 100u);
  for (int twice = 0; twice < 2; ++twice) {  // the second one finds nobody
    client.peer->receive(R"({"jsonrpc":"2.0","result":7,"id":")" + *ids.begin() + "\"}");
    EXPECT_EQ(client.peer->pending(), 99u);
  }
  EXPECT_EQ(outcomes.all, std::vector<std::string>{"7"});
}

TEST(Peer, NotifiesAndIsNotified) {
  std::string seen;
  auto router = std::make_shared<Router>();
  router->on("say", {"text"}, [&](std::string text, Context& cx) {
    seen += text + (cx.is_notification() ? "!" : "?");
  });
  Station a;
  Station b(router);
  struct Say {
    std::string text{};
  };
  a.peer->notify("say", Say{.text = "hello"});
  a.peer->notify("nobody");
  a.peer->notify("say", std::vector<int>{1});  // wrong params: nothing comes back, but it is logged
  EXPECT_TRUE(
      same_json(a.sent.at(0), R"({"jsonrpc":"2.0","method":"say","params":{"text":"hello"}})"));
  for (const std::string& message : a.sent) EXPECT_EQ(b.receive(message), "");
  EXPECT_EQ(seen, "hello!");
  EXPECT_TRUE(b.logged("the notification \"say\" failed"));
}

TEST(Peer, KeepsMessagesThatComeWhileOneIsHandled) {
  auto router = std::make_shared<Router>();
  Peer* self = nullptr;
  std::vector<std::string> order;
  router->on("outer", [&] {
    order.push_back("outer begins");
    self->receive(request(2, "inner"));
    self->receive("{");
    order.push_back("outer ends");
    return 1;
  });
  router->on("inner", [&] {
    order.push_back("inner");
    return 2;
  });
  Station station(router);
  self = &*station.peer;
  const std::string answers = station.receive(request(1, "outer"));
  EXPECT_EQ(order, (std::vector<std::string>{"outer begins", "outer ends", "inner"}));
  ASSERT_EQ(station.sent.size(), 3u) << answers;
  EXPECT_EQ(station.sent[0], R"({"jsonrpc":"2.0","id":1,"result":1})");
  EXPECT_EQ(station.sent[1], R"({"jsonrpc":"2.0","id":2,"result":2})");
  EXPECT_EQ(error_of(station.sent[2]), "-32700 null");
}

TEST(Peer, MayCallBackFromAHandler) {
  auto server_methods = std::make_shared<Router>();
  server_methods->on("greet", [](Context& cx, Reply<std::string> reply) {
    cx.peer()->call<std::string>("name", no_params,
                                 [reply = std::move(reply)](Result<std::string> name) mutable {
                                   if (!name) return reply(name.error());
                                   reply("hello " + *name);
                                 });
  });
  auto client_methods = std::make_shared<Router>();
  client_methods->on("name", [] { return "godwit"; });
  Station client(client_methods);
  Station server(server_methods);
  Outcomes outcomes;
  client.peer->call("greet", no_params, outcomes.add());
  pump(client, server);
  EXPECT_EQ(outcomes.all, std::vector<std::string>{"\"hello godwit\""});
}

TEST(Peer, RefusesAnIdThatIsInUse) {
  std::map<int, Reply<int>> waiting;
  auto router = std::make_shared<Router>();
  router->on("later", [&](Reply<int> reply) {
    waiting.emplace(static_cast<int>(waiting.size()), std::move(reply));
  });
  router->on("now", [] { return 0; });
  Station server(router);
  EXPECT_EQ(server.receive(request(5, "later")), "");
  for (const char* method : {"later", "now"}) {
    // Not under the id 5, or the caller would take it for the answer to the first.
    const std::string answer = server.receive(request(5, method));
    EXPECT_EQ(error_of(answer), "-32600 null");
    EXPECT_NE(message_of(answer).find("the id 5 is in use"), std::string::npos);
  }
  EXPECT_EQ(server.peer->in_flight(), 1u);
  EXPECT_EQ(waiting.size(), 1u);
  EXPECT_EQ(server.receive(R"({"jsonrpc":"2.0","id":"5","method":"now"})"),
            R"({"jsonrpc":"2.0","id":"5","result":0})");  // another id
  server.sent.clear();
  waiting.at(0)(42);
  server.peer->process();
  EXPECT_EQ(server.all_sent(), R"({"jsonrpc":"2.0","id":5,"result":42})");
  EXPECT_EQ(server.receive(request(5, "now")), R"({"jsonrpc":"2.0","id":5,"result":0})");
}

TEST(Peer, ObjectResultIsKeptInBothDirections) {
  auto router = std::make_shared<Router>();
  router->on("number", [] { return 5; });
  router->on("object", [] { return json::Value(json::Object{{"a", 1}}); });
  router->on("raw", [] { return json::RawJson{" {\"a\":1}"}; });
  router->on("later", [](Reply<int> reply) { reply(5); });
  Station server(router, {.rules = {.object_result = true}});
  EXPECT_EQ(error_of(server.receive(request(1, "number"))), "-32603 1");
  EXPECT_EQ(error_of(server.receive(request(1, "later"))), "-32603 1");
  EXPECT_TRUE(server.logged("must be an object in this protocol"));
  EXPECT_EQ(server.receive(request(1, "object")), R"({"jsonrpc":"2.0","id":1,"result":{"a":1}})");
  EXPECT_TRUE(
      same_json(server.receive(request(1, "raw")), R"({"jsonrpc":"2.0","id":1,"result":{"a":1}})"));
  const auto logged = server.log().size();
  EXPECT_EQ(server.receive(R"({"jsonrpc":"2.0","method":"number"})"), "");
  EXPECT_EQ(server.log().size(), logged);  // a notification's result is nobody's business

  Outcomes outcomes;
  server.peer->call("m", no_params, outcomes.add());
  server.peer->receive(R"({"jsonrpc":"2.0","id":1,"result":5})");
  ASSERT_EQ(outcomes.all.size(), 1u);
  EXPECT_NE(outcomes.all[0].find("\"result\" must be an object"), std::string::npos);
}

}  // namespace
}  // namespace godwit::inline v0::rpc
