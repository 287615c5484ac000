#include "godwit/rpc/bridge.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fake_transport.hpp"
#include "godwit/json/document.hpp"
#include "godwit/rpc/id.hpp"
#include "rpc_station.hpp"

namespace godwit::inline v0::rpc {
namespace {

using test::FakeTransport;
using test::FakeWire;

struct Both {
  FakeWire a, b;
  std::vector<std::string> closed;
  Bridge bridge{std::make_unique<FakeTransport>(a), std::make_unique<FakeTransport>(b)};
  Both() {
    bridge.on_close([this](const Error& why) { closed.push_back(why.message); });
  }
};

TEST(Bridge, PassesEveryByteOn) {
  Both both;
  const std::vector<std::string> texts = {
      R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"b":1.0,"a":-0},"extra":[1, 2]})",
      R"({ "id" : 12345678901234567890123, "result" : {} })", "[]", "no JSON at all", ""};
  for (const std::string& text : texts) {
    both.a.say(text);
    EXPECT_EQ(both.b.last(), text);
    both.b.say(text);
    EXPECT_EQ(both.a.last(), text);
  }
  EXPECT_EQ(both.a.sent.size(), texts.size());
}

TEST(Bridge, TakesWhatATransportHasParsed) {
  Both both;
  json::Document document;
  const std::string text = R"({"id": 1,   "result": 1e2})";
  both.a.receiver->on_parsed(*document.parse(text));
  EXPECT_EQ(both.b.last(), text);
}

TEST(Bridge, NoLineBreakEndsAMessageEarly) {
  Both both;
  both.a.say("{\"id\":1,\r\n\"method\":\"x\\n\"}\n");
  EXPECT_EQ(both.b.last(), "{\"id\":1,  \"method\":\"x\\n\"} ");
}

TEST(Bridge, AnswersWhatCannotBePassedOn) {
  Both both;
  both.a.receiver->on_unreadable({.code = -32600, .message = "too long"});
  EXPECT_TRUE(test::same_json(
      both.a.last(),
      R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"too long"}})"));
  EXPECT_TRUE(both.b.sent.empty());
  // The carrier of one side has no answer: the other side asked.
  both.b.receiver->on_failure(Id(7), {.code = 1, .message = "HTTP 503"});
  EXPECT_EQ(test::error_of(both.a.last()), "1 7");
}

TEST(Bridge, OneEndIsTheEndOfBoth) {
  for (const bool first : {true, false}) {
    Both both;
    FakeWire& ends = first ? both.a : both.b;
    FakeWire& other = first ? both.b : both.a;
    std::exchange(ends.receiver, nullptr)->on_close({.message = "gone"});
    EXPECT_EQ(other.closes, 1);
    EXPECT_EQ(both.closed, std::vector<std::string>{"gone"});
    both.bridge.close();
    EXPECT_EQ(ends.closes, 0);
  }
}

TEST(Bridge, CanBeClosed) {
  Both both;
  both.bridge.close();
  EXPECT_EQ(both.closed, std::vector<std::string>{"closed here"});
  EXPECT_EQ(both.a.closes + both.b.closes, 2);
}

TEST(Bridge, DestroyedItTellsNobody) {
  FakeWire a, b;
  int told = 0;
  {
    Bridge bridge(std::make_unique<FakeTransport>(a), std::make_unique<FakeTransport>(b));
    bridge.on_close([&](const Error&) { ++told; });
    Bridge moved = std::move(bridge);
    a.say("x");
    EXPECT_EQ(b.last(), "x");
  }
  EXPECT_TRUE(a.gone && b.gone);
  EXPECT_EQ(told, 0);
}

TEST(Bridge, MayBeDestroyedByWhatItTells) {
  for (const bool by_close : {true, false}) {
    FakeWire a, b;
    std::string told;
    std::optional<Bridge> bridge(std::in_place, std::make_unique<FakeTransport>(a),
                                 std::make_unique<FakeTransport>(b));
    bridge->on_close([&](const Error& why) {
      bridge.reset();
      told = why.message;
    });
    if (by_close) {
      bridge->close();
    } else {
      std::exchange(a.receiver, nullptr)->on_close({.message = "gone"});
    }
    EXPECT_EQ(told, by_close ? "closed here" : "gone");
    EXPECT_TRUE(a.gone && b.gone);
  }
}

}  // namespace
}  // namespace godwit::inline v0::rpc
