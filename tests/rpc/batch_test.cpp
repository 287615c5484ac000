#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "godwit/rpc/peer.hpp"
#include "rpc_station.hpp"

namespace godwit::inline v0::rpc {
namespace {

using test::error_of;
using test::pump;
using test::same_json;
using test::Station;

std::string request(int id, std::string_view method, std::string_view params = "[]") {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":)" + json::quote(method) +
         ",\"params\":" + std::string(params) + "}";
}

struct Server {
  Server() {
    router->on("plain", {"x"}, [](int x) { return x; });
    router->on("later", {"x"},
               [this](int x, Reply<int> reply) { replies.emplace(x, std::move(reply)); });
    router->on("note", {"x"}, [this](int x) { notes.push_back(x); });
  }
  void answer(Station& station, int x) {
    replies.at(x)(x);
    station.peer->process();
  }
  std::shared_ptr<Router> router = std::make_shared<Router>();
  std::map<int, Reply<int>> replies;
  std::vector<int> notes;
};

/// The ids of the answers in a batch, errors with their code.
std::vector<std::string> parts(const std::string& batch) {
  std::vector<std::string> all;
  const auto value = json::parse(batch);
  EXPECT_TRUE(value && value->is_array()) << batch;
  if (!value || !value->is_array()) return all;
  for (const json::Value& one : *value->as_array()) {
    all.push_back(one.contains("error") ? error_of(one.dump())
                                        : one["id"].dump() + "=" + one["result"].dump());
  }
  return all;
}

using Parts = std::vector<std::string>;

TEST(Batch, IsAnsweredWhenTheLastEntryIs) {
  Server server;
  Station station(server.router);
  EXPECT_EQ(station.receive("[" + request(1, "later", "[10]") + "," + request(2, "plain", "[20]") +
                            R"(,{"jsonrpc":"2.0","method":"note","params":[1]},7,)" +
                            request(3, "later", "[30]") + "," + request(4, "none") + "]"),
            "");
  EXPECT_EQ(server.notes, std::vector<int>{1});
  EXPECT_EQ(station.peer->in_flight(), 2u);
  server.answer(station, 30);
  EXPECT_TRUE(station.sent.empty());
  // Other messages pass it by.
  EXPECT_EQ(station.receive(request(9, "plain", "[9]")), R"({"jsonrpc":"2.0","id":9,"result":9})");
  station.sent.clear();
  server.answer(station, 10);
  ASSERT_EQ(station.sent.size(), 1u);
  EXPECT_EQ(parts(station.sent[0]), (Parts{"2=20", "-32600 null", "-32601 4", "3=30", "1=10"}));
}

TEST(Batch, OfNotificationsIsNotAnswered) {
  Server server;
  Station station(server.router);
  EXPECT_EQ(station.receive(R"([{"jsonrpc":"2.0","method":"note","params":[1]},
                                {"jsonrpc":"2.0","method":"later","params":[2]},
                                {"jsonrpc":"2.0","method":"none"}])"),
            "");
  server.answer(station, 2);
  EXPECT_TRUE(station.sent.empty());
  EXPECT_EQ(station.peer->in_flight(), 0u);
}

TEST(Batch, WithInvalidEntries) {
  Station station;
  EXPECT_EQ(error_of(station.receive("[]")), "-32600 null");
  EXPECT_EQ(parts(station.receive("[[]]")), Parts{"-32600 null"});
  EXPECT_EQ(parts(station.receive("[[[]],null,{}]")),
            (Parts{"-32600 null", "-32600 null", "-32600 null"}));
  EXPECT_EQ(parts(station.receive(R"([{"jsonrpc":"2.0","id":5}])")), Parts{"-32600 5"});
  Station bare(nullptr, {.rules = {.id_on_unreadable = false}});
  EXPECT_EQ(parts(bare.receive("[1]")), Parts{"-32600 none"});
}

TEST(Batch, IsRefusedWhereTheRulesSaySo) {
  Server server;
  Station station(server.router, {.rules = {.batch = false}});
  EXPECT_EQ(error_of(station.receive("[" + request(1, "plain", "[1]") + "]")), "-32600 null");
  int failed = 0;
  Batch batch = station.peer->batch();
  batch.call("m", no_params, [&](Result<json::Value> r) {
    EXPECT_EQ(r.error().message, "batches are not part of this protocol; nothing was sent");
    ++failed;
  });
  station.sent.clear();
  batch.send();
  EXPECT_EQ(failed, 1);
  EXPECT_TRUE(station.sent.empty());
}

TEST(Batch, ThatIsRefusedFailsTheCallsItAnswers) {
  const PeerOptions none{.rules = {.batch = false}};
  const PeerOptions few{.limits = {.batch_entries = 1}};
  for (const PeerOptions& options : {none, few}) {
    std::vector<std::string> outcomes;  // outlives the peer, whose end fails what is pending
    Station station(nullptr, options);
    const auto add = [&](Result<json::Value> r) { outcomes.push_back(r.error().message); };
    station.peer->call("a", no_params, add);
    station.peer->call("b", no_params, add);
    station.peer->call("c", no_params, add);
    station.receive(R"([{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":9,"result":{}},
                        {"jsonrpc":"2.0","method":"x","id":3},{"jsonrpc":"2.0","id":2,"result":7}])");
    ASSERT_EQ(outcomes.size(), 2u);
    EXPECT_TRUE(outcomes[0].find("answered \"a\" in a batch that was refused") != std::string::npos)
        << outcomes[0];
    EXPECT_EQ(station.peer->pending(), 1u);
  }
}

TEST(Batch, ThatIsRefusedMayEndThePeer) {
  Station station(nullptr, {.rules = {.batch = false}});
  int outcomes = 0;
  for (int i = 0; i < 3; ++i) {
    station.peer->call("a", no_params, [&](const Result<json::Value>&) {
      ++outcomes;
      station.peer.reset();
    });
  }
  station.receive(R"([{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}])");
  EXPECT_EQ(outcomes, 3);
  EXPECT_TRUE(station.sent.empty());
}

TEST(Batch, MayHoldTheSameIdTwice) {
  Server server;
  Station station(server.router);
  EXPECT_EQ(parts(station.receive("[" + request(1, "plain", "[1]") + "," +
                                  request(1, "plain", "[2]") + "]")),
            (Parts{"1=1", "1=2"}));
  station.receive("[" + request(1, "later", "[1]") + "," + request(1, "later", "[2]") + "," +
                  request(1, "plain", "[3]") + "]");
  EXPECT_EQ(server.replies.size(), 1u);
  station.sent.clear();
  server.answer(station, 1);
  EXPECT_EQ(parts(station.all_sent()), (Parts{"-32600 null", "-32600 null", "1=1"}));
}

TEST(Batch, GoesOnWithoutACancelledEntry) {
  Server server;
  Station station(server.router);
  station.receive("[" + request(1, "later", "[1]") + "," + request(2, "later", "[2]") + "]");
  EXPECT_TRUE(station.peer->cancel_incoming(Id(1)));
  EXPECT_TRUE(station.sent.empty());
  server.answer(station, 2);
  EXPECT_EQ(parts(station.all_sent()), Parts{"2=2"});

  server.replies.clear();
  station.receive("[" + request(1, "later", "[1]") + "," + request(2, "later", "[2]") + "]");
  station.sent.clear();
  server.answer(station, 1);
  EXPECT_TRUE(station.peer->cancel_incoming(Id(2)));  // the last one that was waited for
  EXPECT_EQ(parts(station.all_sent()), Parts{"1=1"});

  server.replies.clear();
  station.receive("[" + request(1, "later", "[1]") + "]");
  station.sent.clear();
  EXPECT_TRUE(station.peer->cancel_incoming(Id(1)));
  EXPECT_TRUE(station.sent.empty());  // nothing is left to say, not even []
}

TEST(Batch, CountsEachEntryAsInFlight) {
  Server server;
  Station station(server.router, {.limits = {.in_flight = 2}});
  station.receive("[" + request(1, "later", "[1]") + "," + request(2, "later", "[2]") + "," +
                  request(3, "later", "[3]") + "]");
  EXPECT_EQ(server.replies.size(), 2u);
  server.answer(station, 1);
  server.answer(station, 2);
  EXPECT_EQ(parts(station.all_sent()), (Parts{"-32000 3", "1=1", "2=2"}));
}

TEST(Batch, OfResponsesEndsEachCall) {
  Station station;
  std::vector<std::string> outcomes;
  for (int i = 0; i < 3; ++i) {
    station.peer->call("m", no_params, [&, i](Result<json::Value> r) {
      outcomes.push_back(std::to_string(i) + (r ? "=" + r->dump() : " failed"));
    });
  }
  EXPECT_EQ(station.receive(R"([{"jsonrpc":"2.0","id":3,"result":"c"},
                                {"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}},
                                {"jsonrpc":"2.0","id":77,"result":1},
                                {"jsonrpc":"2.0","id":2,"result":1,"error":1}])"),
            "");
  EXPECT_EQ(outcomes, (Parts{"2=\"c\"", "0 failed", "1 failed"}));
}

TEST(Batch, MayMixRequestsAndResponses) {
  Server server;
  Station station(server.router);
  int ended = 0;
  station.peer->call("m", no_params, [&](Result<json::Value>) { ++ended; });
  EXPECT_EQ(parts(station.receive(R"([{"jsonrpc":"2.0","id":1,"result":1},)" +
                                  request(1, "plain", "[5]") + "]")),
            Parts{"1=5"});
  EXPECT_EQ(ended, 1);
}

// The other direction.

TEST(Batch, IsSentInOneMessage) {
  Server server;
  Station client;
  Station there(server.router);
  std::vector<std::string> outcomes;
  const auto add = [&](std::string name) {
    return [&outcomes, name](Result<json::Value> r) {
      outcomes.push_back(name + (r ? "=" + r->dump() : " " + std::to_string(r.error().code)));
    };
  };
  Batch batch = client.peer->batch();
  batch.call("plain", std::tuple(1), add("a"))
      .notify("note", std::tuple(5))
      .call("later", std::tuple(2), add("b"))
      .call("none", no_params, add("c"));
  batch.call<int>("plain", std::tuple(3),
                  [&](Result<int> r) { outcomes.push_back("d=" + std::to_string(*r)); });
  EXPECT_TRUE(client.sent.empty());
  batch.send();
  ASSERT_EQ(client.sent.size(), 1u);
  EXPECT_TRUE(same_json(client.sent[0],
                        R"([{"jsonrpc":"2.0","id":1,"method":"plain","params":[1]},
                            {"jsonrpc":"2.0","method":"note","params":[5]},
                            {"jsonrpc":"2.0","id":2,"method":"later","params":[2]},
                            {"jsonrpc":"2.0","id":3,"method":"none"},
                            {"jsonrpc":"2.0","id":4,"method":"plain","params":[3]}])"));
  EXPECT_EQ(client.peer->pending(), 4u);
  pump(client, there);
  EXPECT_TRUE(outcomes.empty());
  server.answer(there, 2);
  pump(client, there);
  EXPECT_EQ(outcomes, (Parts{"a=1", "c -32601", "d=3", "b=2"}));
  EXPECT_EQ(server.notes, std::vector<int>{5});

  batch.send();  // empty now
  EXPECT_TRUE(client.sent.empty());
  batch.notify("note", std::tuple(6)).send();
  EXPECT_EQ(client.all_sent(), R"([{"jsonrpc":"2.0","method":"note","params":[6]}])");
}

TEST(Batch, ThatIsDroppedFailsItsCalls) {
  Station station;
  std::vector<std::string> outcomes;
  {
    Batch batch = station.peer->batch();
    batch.call("m", no_params,
               [&](Result<json::Value> r) { outcomes.push_back(r.error().message); });
    batch.call("m", no_params, [](Result<json::Value>) { throw 1; });
    const Batch moved = std::move(batch);
    EXPECT_TRUE(outcomes.empty());
  }
  EXPECT_EQ(outcomes, Parts{"the batch was never sent"});
  EXPECT_TRUE(station.sent.empty());
  EXPECT_EQ(station.peer->pending(), 0u);
}

TEST(Batch, HonoursTheLimitsWhenSent) {
  std::vector<Error> errors;
  const auto add = [&](Result<json::Value> r) { errors.push_back(r.error()); };
  const auto send = [&](Station& station, int calls) {
    errors.clear();
    Batch batch = station.peer->batch();
    for (int i = 0; i < calls; ++i) batch.call("m", no_params, add);
    batch.notify("n");
    batch.send();
  };
  Station entries(nullptr, {.limits = {.batch_entries = 3}});
  send(entries, 3);
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_EQ(errors[0].message, "the batch has 4 entries, more than 3, and was not sent");
  EXPECT_TRUE(entries.sent.empty());
  send(entries, 2);
  EXPECT_TRUE(errors.empty());
  EXPECT_EQ(entries.sent.size(), 1u);

  Station pending(nullptr, {.limits = {.pending_calls = 2}});
  send(pending, 3);
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_EQ(errors[0].code, code::busy);
  EXPECT_EQ(errors[0].message, "2 calls are waiting for an answer already; the batch was not sent");
  send(pending, 2);
  EXPECT_TRUE(errors.empty());

  Station bytes(nullptr, {.limits = {.message_bytes_out = 100}});
  send(bytes, 2);
  EXPECT_EQ(errors.size(), 2u);
  EXPECT_TRUE(bytes.sent.empty());

  Station closed;
  closed.peer->close();
  send(closed, 2);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[1].code, code::connection_closed);
  entries.peer->close();
  pending.peer->close();
}

TEST(Batch, CallsTimeOutOneByOne) {
  Station station;
  std::vector<int> ended;
  Batch batch = station.peer->batch();
  batch.call("slow", no_params, [&](Result<json::Value>) { ended.push_back(1); },
             {.timeout = std::chrono::seconds(5)});
  batch.call("slower", no_params, [&](Result<json::Value>) { ended.push_back(2); });
  batch.send();
  station.pass(std::chrono::seconds(5));
  EXPECT_EQ(ended, std::vector<int>{1});
  station.receive(R"([{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","id":2,"result":1}])");
  EXPECT_EQ(ended, (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace godwit::inline v0::rpc
