// Each limit just below, at and just above its value.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "godwit/json/document.hpp"
#include "godwit/rpc/peer.hpp"
#include "rpc_station.hpp"

namespace godwit::inline v0::rpc {
namespace {

using test::error_of;
using test::message_of;
using test::Station;

std::string request(int id, std::string_view method, std::string_view params = "[]") {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":)" + json::quote(method) +
         ",\"params\":" + std::string(params) + "}";
}

TEST(PeerLimits, MessageBytesIn) {
  auto router = std::make_shared<Router>();
  router->on("one", [] { return 1; });
  const std::string text = request(1, "one");
  Station room(router, {.limits = {.message_bytes_in = text.size() + 1}});
  EXPECT_EQ(room.receive(text), R"({"jsonrpc":"2.0","id":1,"result":1})");
  Station exact(router, {.limits = {.message_bytes_in = text.size()}});
  EXPECT_EQ(exact.receive(text), R"({"jsonrpc":"2.0","id":1,"result":1})");
  Station tight(router, {.limits = {.message_bytes_in = text.size() - 1}});
  EXPECT_EQ(error_of(tight.receive(text)), "-32600 null");
  EXPECT_EQ(message_of(tight.receive(text)),
            "Invalid request: the message has " + std::to_string(text.size()) +
                " bytes, more than " + std::to_string(text.size() - 1));
  EXPECT_EQ(error_of(tight.receive("[]")), "-32600 null");  // it lives on
}

/// Bytes of the heap.
std::size_t memory_in_use() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// What a peer keeps after the densest message of this size: nearly each byte becomes a word on the
/// tape of the parser.
std::size_t kept_after(std::size_t size) {
  Station station;
  const std::size_t before = memory_in_use();
  {
    std::string message = R"({"jsonrpc":"2.0","method":"m","params":[0)";
    while (message.size() + 4 <= size) message += ",0";
    station.peer->receive(message + "]}");
  }
  return memory_in_use() - before;
}

TEST(PeerLimits, AMessageOfAnySizeLeavesLittleBehind) {
  std::size_t most = 0;
  for (std::size_t size = 100; size <= 1u << 20; size += size / 8) {
    most = std::max(most, kept_after(size));
  }
  EXPECT_LE(most, 256u << 10);
}

TEST(PeerLimits, ALargeMessageLeavesLittleBehind) {
  const auto router = std::make_shared<Router>();
  router->on("size", [](const std::vector<int>& all) { return all.size(); });
  std::string numbers = "[1";
  for (int i = 1; i < 500'000; ++i) numbers += ",1";
  const std::string text = request(1, "size", numbers + "]");
  std::vector<std::unique_ptr<Station>> stations;
  const std::size_t before = memory_in_use();
  for (int i = 0; i < 10; ++i) {
    stations.push_back(std::make_unique<Station>(router));
    EXPECT_EQ(stations.back()->receive(text), R"({"jsonrpc":"2.0","id":1,"result":500000})");
  }
  EXPECT_LT(memory_in_use() - before, 10 * text.size());
}

TEST(PeerLimits, MessageBytesOutOfResults) {
  auto router = std::make_shared<Router>();
  router->on("plain", [](std::string text) { return text; });
  router->on("later", [](std::string text, Reply<std::string> reply) { reply(text); });
  router->on("error", [](std::string text) -> Result<int> { return Error{.message = text}; });
  auto watched = std::make_shared<Router>();
  watched->on("plain", [](std::string text) { return text; });
  watched->use({.after = [](Outcome&) {}});
  const std::string text(1000, 'x');
  const std::string params = R"([")" + text + R"("])";
  const std::string result = R"({"jsonrpc":"2.0","id":1,"result":")" + text + "\"}";
  const std::string error =
      R"({"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":")" + text + "\"}}";
  for (const auto& [methods, method, answer] :
       {std::tuple(router, "plain", result), std::tuple(router, "later", result),
        std::tuple(router, "error", error), std::tuple(watched, "plain", result)}) {
    for (const int less : {-1, 0, 1}) {
      const std::size_t limit = answer.size() - static_cast<std::size_t>(less);
      Station station(methods, {.limits = {.message_bytes_out = limit}});
      const std::string got = station.receive(request(1, method, params));
      ASSERT_EQ(station.sent.size(), 1u);
      if (less <= 0) {
        EXPECT_EQ(got, answer) << method;
      } else {
        EXPECT_EQ(error_of(got), "-32603 1") << method;
        EXPECT_EQ(message_of(got), "Internal error: response too large (more than " +
                                       std::to_string(limit) + " bytes)");
      }
      EXPECT_EQ(station.receive(request(2, "plain", R"(["y"])")),
                R"({"jsonrpc":"2.0","id":2,"result":"y"})");
    }
  }
}

TEST(PeerLimits, ABatchIsOneMessageOut) {
  auto router = std::make_shared<Router>();
  router->on("plain", [](std::string text) { return text; });
  router->on("later", [](std::string text, Reply<std::string> reply) { reply(text); });
  const std::string params = R"([")" + std::string(500, 'x') + R"("])";
  for (const char* method : {"plain", "later"}) {
    std::string batch = "[";
    for (int i = 0; i < 10; ++i) batch += request(i, method, params) + (i < 9 ? "," : "]");
    Station station(router, {.limits = {.message_bytes_out = 3000}});
    const std::string answer = station.receive(batch);
    ASSERT_EQ(station.sent.size(), 1u);
    EXPECT_LE(answer.size(), 3000u + 10 * 200);  // the errors themselves are small
    const auto value = json::parse(answer);
    ASSERT_TRUE(value);
    ASSERT_EQ(value->size(), 10u);  // every request has its answer
    EXPECT_TRUE((*value)[0].contains("result"));
    EXPECT_TRUE((*value)[9].contains("error"));
  }
}

TEST(PeerLimits, MessageBytesOutOfCalls) {
  std::vector<Error> errors;
  const auto add = [&](Result<json::Value> r) { errors.push_back(r.error()); };
  const std::vector<std::string> params{std::string(100, 'x')};
  Station probe;
  probe.peer->notify("m", params);
  const std::size_t size = probe.sent.at(0).size();

  Station room(nullptr, {.limits = {.message_bytes_out = size + 7}});  // + "id":1,
  EXPECT_NE(room.peer->call("m", params, add), CallHandle{});
  EXPECT_EQ(room.sent.size(), 1u);
  Station tight(nullptr, {.limits = {.message_bytes_out = size + 6}});
  EXPECT_EQ(tight.peer->call("m", params, add), CallHandle{});
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].message, "Internal error: \"m\" has " + std::to_string(size + 7) +
                                   " bytes, more than " + std::to_string(size + 6) +
                                   ", and was not sent");
  tight.peer->notify("m", params);
  EXPECT_EQ(tight.sent.size(), 1u);

  Station tighter(nullptr, {.limits = {.message_bytes_out = size - 1}});
  tighter.peer->notify("m", params);
  EXPECT_TRUE(tighter.sent.empty());
  EXPECT_TRUE(tighter.logged("was not sent"));
  room.peer->close();
}

TEST(PeerLimits, MessageBytesOutOfNotificationsFromHandlers) {
  auto router = std::make_shared<Router>();
  router->on("chatty", [](int size, Context& cx) {
    cx.notify("say", std::vector<std::string>{std::string(static_cast<std::size_t>(size), 'x')});
    return size;
  });
  Station station(router, {.limits = {.message_bytes_out = 200}});
  station.receive(request(1, "chatty", "[50]"));
  EXPECT_EQ(station.sent.size(), 2u);
  EXPECT_EQ(station.receive(request(1, "chatty", "[500]")),
            R"({"jsonrpc":"2.0","id":1,"result":500})");
  EXPECT_TRUE(station.logged("was not sent"));
}

TEST(PeerLimits, InFlight) {
  std::vector<Reply<int>> replies;
  auto router = std::make_shared<Router>();
  router->on("later", [&](Reply<int> reply) { replies.push_back(std::move(reply)); });
  router->on("plain", [] { return 1; });
  Station station(router, {.limits = {.in_flight = 3}});
  for (int id = 1; id <= 3; ++id) EXPECT_EQ(station.receive(request(id, "later")), "");
  EXPECT_EQ(station.peer->in_flight(), 3u);
  const std::string answer = station.receive(request(4, "later"));
  EXPECT_EQ(error_of(answer), "-32000 4");
  EXPECT_EQ(message_of(answer), "busy: 3 requests are in flight already; try again later");
  EXPECT_EQ(replies.size(), 3u);
  // A notification counts, too, but is not answered; a plain handler takes no slot.
  EXPECT_EQ(station.receive(R"({"jsonrpc":"2.0","method":"later"})"), "");
  EXPECT_EQ(replies.size(), 3u);
  EXPECT_EQ(station.receive(request(5, "plain")), R"({"jsonrpc":"2.0","id":5,"result":1})");
  // The slot is free again.
  replies.at(0)(1);
  station.peer->process();
  EXPECT_EQ(station.receive(request(4, "later")), "");
  EXPECT_EQ(station.peer->in_flight(), 3u);
}

TEST(PeerLimits, InFlightBytes) {
  std::vector<Reply<int>> replies;
  auto router = std::make_shared<Router>();
  router->on("later", [&](std::string, Reply<int> reply) { replies.push_back(std::move(reply)); });
  Station station(router, {.limits = {.in_flight_bytes = 100}});
  const auto with_bytes = [](std::size_t bytes) {
    return R"([")" + std::string(bytes - 4, 'x') + R"("])";
  };
  EXPECT_EQ(station.receive(request(1, "later", with_bytes(200))), "") << "it is the only one";
  EXPECT_EQ(error_of(station.receive(request(2, "later", with_bytes(4)))), "-32000 2");
  replies.at(0)(1);
  station.peer->process();
  EXPECT_EQ(station.receive(request(1, "later", with_bytes(60))), "");
  EXPECT_EQ(station.receive(request(2, "later", with_bytes(40))), "");
  const std::string answer = station.receive(request(3, "later", with_bytes(4)));
  EXPECT_EQ(error_of(answer), "-32000 3");
  EXPECT_EQ(message_of(answer),
            "busy: requests with 100 bytes of params are in flight already; try again later");
  // Each way out of the table gives the bytes back.
  EXPECT_TRUE(station.peer->cancel_incoming(Id(1)));
  EXPECT_EQ(station.receive(request(3, "later", with_bytes(60))), "");
  replies.clear();
  station.peer->process();
  EXPECT_EQ(station.receive(request(1, "later", with_bytes(60))), "");
  EXPECT_EQ(station.receive(request(2, "later", with_bytes(40))), "");
}

TEST(PeerLimits, InFlightBytesAreAlsoThoseOfHeaderFields) {
  std::vector<Reply<int>> replies;
  auto router = std::make_shared<Router>();
  router->on("later", [&](Reply<int> reply) { replies.push_back(std::move(reply)); });
  Station station(router, {.limits = {.in_flight_bytes = 100}});
  const std::string value(54, 'x');
  const std::vector<HeaderField> fields = {{"Name", value}, {"Cookie", value}};  // 58 are kept
  const auto send = [&](int id) {
    station.sent.clear();
    json::Document document;
    const std::string text = request(id, "later");
    station.peer->receive(*document.parse(text), Facts{.fields = HeaderFields(fields)});
    return station.all_sent();
  };
  EXPECT_EQ(send(1), "");
  EXPECT_EQ(error_of(send(2)), "-32000 2");
  replies.clear();
  station.peer->process();
  EXPECT_EQ(send(3), "");
}

TEST(PeerLimits, InFlightBytesOfAllPeersTogether) {
  std::vector<Reply<int>> replies;
  auto router = std::make_shared<Router>();
  router->on("later", [&](std::string, Reply<int> reply) { replies.push_back(std::move(reply)); });
  const auto count = std::make_shared<std::atomic<std::size_t>>(0);
  PeerOptions options{.limits = {.process_in_flight_bytes = 100}};
  options.in_flight_bytes = count;
  const std::string params = R"([")" + std::string(46, 'x') + R"("])";  // 50 bytes
  std::optional<Station> one(std::in_place, router, options);
  Station two(router, options);
  EXPECT_EQ(one->receive(request(1, "later", params)), "");
  EXPECT_EQ(two.receive(request(1, "later", params)), "");
  EXPECT_EQ(count->load(), 100u);
  const std::string answer = two.receive(request(2, "later", params));
  EXPECT_EQ(error_of(answer), "-32000 2");
  EXPECT_EQ(message_of(answer),
            "busy: requests with 100 bytes of params, of all clients together, are in flight "
            "already; try again later");
  // The bytes are there as long as anybody has the request, also after its connection.
  one.reset();
  EXPECT_EQ(count->load(), 100u);
  replies.clear();
  two.peer->process();
  EXPECT_EQ(count->load(), 0u);
  EXPECT_EQ(two.receive(request(2, "later", R"([")" + std::string(200, 'x') + R"("])")), "")
      << "it is the only one";
}

TEST(PeerLimits, PendingCalls) {
  int failed = 0;
  const auto add = [&](Result<json::Value> r) { failed += r ? 0 : 1; };
  Station station(nullptr, {.limits = {.pending_calls = 2}});
  const CallHandle first = station.peer->call("a", no_params, add);
  EXPECT_NE(station.peer->call("b", no_params, add), CallHandle{});
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(station.peer->call("c", no_params,
                               [&](Result<json::Value> r) {
                                 EXPECT_EQ(r.error().code, code::busy);
                                 EXPECT_EQ(r.error().message,
                                           "2 calls are waiting for an answer already; \"c\" was "
                                           "not sent");
                                 ++failed;
                               }),
            CallHandle{});
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(station.sent.size(), 2u);
  station.peer->notify("n");  // waits for nothing
  EXPECT_EQ(station.sent.size(), 3u);
  station.peer->cancel(first);
  EXPECT_NE(station.peer->call("c", no_params, add), CallHandle{});
  station.peer->close();
}

TEST(PeerLimits, BatchEntries) {
  auto router = std::make_shared<Router>();
  router->on("one", [] { return 1; });
  for (const int entries : {2, 3, 4}) {
    Station station(router, {.limits = {.batch_entries = 3}});
    std::string batch = "[";
    for (int i = 0; i < entries; ++i) batch += request(i, "one") + (i + 1 < entries ? "," : "]");
    const std::string answer = station.receive(batch);
    if (entries <= 3) {
      EXPECT_EQ(json::parse(answer)->size(), static_cast<std::size_t>(entries));
    } else {
      EXPECT_EQ(error_of(answer), "-32600 null");
      EXPECT_EQ(message_of(answer), "Invalid request: a batch of 4 entries, more than 3");
    }
  }
}

TEST(PeerLimits, DepthOfTheJson) {
  auto router = std::make_shared<Router>();
  router->on("any", [](json::Value) { return 1; });
  Station station(router, {.limits = {.json_depth = 4}});
  EXPECT_EQ(error_of(station.receive(request(1, "any", "[[[]]]"))),
            R"({"jsonrpc":"2.0","id":1,"result":1})");
  EXPECT_EQ(error_of(station.receive(request(1, "any", "[[[[]]]]"))), "-32700 null");
}

}  // namespace
}  // namespace godwit::inline v0::rpc
