#include "godwit/transport/websocket_decoder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "websocket_frames.hpp"

namespace godwit {
namespace {

using test::ws_close;
using test::ws_frame;
using Event = WebSocketDecoder::Event;

/// What the decoder says about the bytes, given in pieces of this size.
std::vector<std::string> events(std::string_view bytes, std::size_t piece = SIZE_MAX,
                                const Limits& limits = {},
                                WebSocketSide side = WebSocketSide::server) {
  WebSocketDecoder decoder(side, limits);
  std::vector<std::string> out;
  bool over = false;
  while (!bytes.empty() && !over) {
    const auto space = decoder.prepare();
    EXPECT_FALSE(space.empty());
    const std::size_t size = std::min({space.size(), bytes.size(), piece});
    std::memcpy(space.data(), bytes.data(), size);
    decoder.commit(size);
    bytes.remove_prefix(size);
    for (;;) {
      const Event event = decoder.next();
      if (event == Event::none) break;
      const std::string payload(decoder.payload());
      if (event == Event::message) {
        EXPECT_GE(decoder.spare(), WebSocketDecoder::padding);
        out.push_back("text " + payload);
      } else if (event == Event::ping) {
        out.push_back("ping " + payload);
      } else if (event == Event::pong) {
        out.push_back("pong " + payload);
      } else {
        out.push_back((event == Event::close ? "close " : "failed ") +
                      std::to_string(decoder.code()) +
                      (event == Event::close ? " " + payload : ""));
        EXPECT_EQ(decoder.next(), Event::none);
        over = true;
        break;
      }
    }
  }
  if (!over && decoder.partial()) out.push_back("partial");
  return out;
}

using Events = std::vector<std::string>;

TEST(WebSocketDecoder, AnySplitGivesTheSame) {
  const std::string bytes =
      ws_frame("{\"a\":1}") + ws_frame("", {.opcode = 9}) + ws_frame("first, ", {.final = false}) +
      ws_frame("between", {.opcode = 9}) + ws_frame("", {.opcode = 0, .final = false}) +
      ws_frame("second \xe2\x82", {.opcode = 0, .final = false}) +
      ws_frame("between", {.opcode = 10}) + ws_frame("\xac", {.opcode = 0}) + ws_frame("") +
      ws_frame(std::string(126, 'x')) + ws_frame(std::string(70'000, 'y')) +
      ws_close(1001, "see you");
  const Events expected = {"text {\"a\":1}",
                           "ping ",
                           "ping between",
                           "pong between",
                           "text first, second \xe2\x82\xac",
                           "text ",
                           "text " + std::string(126, 'x'),
                           "text " + std::string(70'000, 'y'),
                           "close 1001 see you"};
  for (const std::size_t piece : {1u, 2u, 3u, 5u, 7u, 64u, 127u, 1000u, 4096u, 100'000u}) {
    EXPECT_EQ(events(bytes, piece), expected) << piece;
  }
  const std::string head = bytes.substr(0, 200);
  const Events all = events(head);
  for (std::size_t cut = 1; cut < head.size(); ++cut) {
    Events got = events(head.substr(0, cut));
    if (!got.empty() && got.back() == "partial") got.pop_back();
    ASSERT_LE(got.size(), all.size());
    EXPECT_TRUE(std::equal(got.begin(), got.end(), all.begin())) << cut;
  }
}

TEST(WebSocketDecoder, FramesThatAreRefused) {
  const std::string begun = ws_frame("begun", {.final = false});
  const struct {
    const char* what;
    std::string bytes;
    const char* expected;
  } cases[] = {
      {"not masked", ws_frame("x", {.masked = false}), "failed 1002"},
      {"reserved bit 1", ws_frame("x", {.reserved = 4}), "failed 1002"},
      {"reserved bit 2", ws_frame("x", {.reserved = 2}), "failed 1002"},
      {"reserved bit 3", ws_frame("x", {.reserved = 1}), "failed 1002"},
      {"reserved bit of a ping", ws_frame("x", {.opcode = 9, .reserved = 4}), "failed 1002"},
      {"opcode 3", ws_frame("x", {.opcode = 3}), "failed 1002"},
      {"opcode 7", ws_frame("x", {.opcode = 7}), "failed 1002"},
      {"opcode 11", ws_frame("x", {.opcode = 11}), "failed 1002"},
      {"opcode 15", ws_frame("x", {.opcode = 15}), "failed 1002"},
      {"binary", ws_frame("x", {.opcode = 2}), "failed 1003"},
      {"binary in fragments", ws_frame("x", {.opcode = 2, .final = false}), "failed 1003"},
      {"continues nothing", ws_frame("x", {.opcode = 0}), "failed 1002"},
      {"continues nothing, goes on", ws_frame("x", {.opcode = 0, .final = false}), "failed 1002"},
      {"begins twice", begun + ws_frame("x"), "failed 1002"},
      {"ping in fragments", ws_frame("x", {.opcode = 9, .final = false}), "failed 1002"},
      {"close in fragments", ws_frame("", {.opcode = 8, .final = false}), "failed 1002"},
      {"ping of 126", ws_frame(std::string(126, 'x'), {.opcode = 9}), "failed 1002"},
      {"close of 126", ws_frame(std::string(126, 'x'), {.opcode = 8}), "failed 1002"},
      {"ping with a wide length", ws_frame("x", {.opcode = 9, .wide = 2}), "failed 1002"},
      {"125 in two bytes", ws_frame(std::string(125, 'x'), {.wide = 2}), "failed 1002"},
      {"126 in eight bytes", ws_frame(std::string(126, 'x'), {.wide = 8}), "failed 1002"},
      {"65535 in eight bytes", ws_frame(std::string(65'535, 'x'), {.wide = 8}), "failed 1002"},
      {"negative length", ws_frame("", {.wide = 8, .length = INT64_MIN}), "failed 1002"},
      {"huge length", ws_frame("", {.wide = 8, .length = INT64_MAX}), "failed 1009"},
      {"half a code", ws_frame("x", {.opcode = 8}), "failed 1002"},
      {"bad words", ws_close(1000, "\xff"), "failed 1007"},
      {"words cut off", ws_close(1000, "\xe2\x82"), "failed 1007"},
      {"bad text", ws_frame("ab\xff"), "failed 1007"},
      {"text cut off", ws_frame("ab\xe2\x82"), "failed 1007"},
      {"text cut off in fragments",
       ws_frame("\xe2", {.final = false}) + ws_frame("\x82", {.opcode = 0}), "failed 1007"},
  };
  for (const auto& one : cases) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, SIZE_MAX}) {
      EXPECT_EQ(events(one.bytes, piece), Events{one.expected}) << one.what;
    }
  }
}

TEST(WebSocketDecoder, AMaskIsAnErrorForAClient) {
  const auto client = WebSocketSide::client;
  EXPECT_EQ(events(ws_frame("x"), SIZE_MAX, {}, client), Events{"failed 1002"});
  EXPECT_EQ(events(ws_frame("x", {.masked = false}), SIZE_MAX, {}, client), Events{"text x"});
}

TEST(WebSocketDecoder, CodesOfClosing) {
  EXPECT_EQ(events(ws_frame("", {.opcode = 8})), Events{"close 1005 "});
  for (const int code :
       {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1014, 3000, 3999, 4000, 4999}) {
    EXPECT_EQ(events(ws_close(code)), Events{"close " + std::to_string(code) + " "});
  }
  for (const int code : {0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65'535}) {
    EXPECT_EQ(events(ws_close(code)), Events{"failed 1002"}) << code;
  }
  // What comes after a goodbye is not looked at.
  EXPECT_EQ(events(ws_close(1000) + ws_frame("x") + "garbage"), Events{"close 1000 "});
}

TEST(WebSocketDecoder, Utf8) {
  for (const std::string_view good :
       {"\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
        "0123456\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5 and 16 more of ASCII"}) {
    EXPECT_EQ(events(ws_frame(good)), Events{"text " + std::string(good)});
    EXPECT_EQ(events(ws_frame(good), 1), Events{"text " + std::string(good)});
  }
  for (const std::string_view bad :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x7f", "\xe0\x9f\xbf", "\xed\xa0\x80",
        "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xfe", "\xff",
        "\xe2\x82", "\xf0\x9f\x98",
        "01234567\xff"
        "89abcdef"}) {
    EXPECT_EQ(events(ws_frame(bad)), Events{"failed 1007"});
    EXPECT_EQ(events(ws_frame(bad), 1), Events{"failed 1007"});
  }
}

TEST(WebSocketDecoder, BadTextIsRefusedBeforeItsEnd) {
  const std::string whole = ws_frame("ab\xff" + std::string(1000, 'x'));
  EXPECT_EQ(events(whole.substr(0, 11)), Events{"failed 1007"});
  EXPECT_EQ(events(ws_frame("ab\xed\xa0", {.final = false})), Events{"failed 1007"});
}

TEST(WebSocketDecoder, SizeOfAMessage) {
  for (const std::size_t most : {1u, 10u, 125u, 126u, 5'000u, 65'536u, 300'000u}) {
    const Limits limits{.message_bytes_in = most};
    const std::string fits(most, 'x');
    const std::string less(most - 1, 'x');
    for (const std::size_t piece : {std::size_t{1'000}, SIZE_MAX}) {
      EXPECT_EQ(events(ws_frame(less), piece, limits), Events{"text " + less});
      EXPECT_EQ(events(ws_frame(fits), piece, limits), Events{"text " + fits});
      EXPECT_EQ(events(ws_frame(fits + "x"), piece, limits), Events{"failed 1009"});
      // The head alone decides, before anything is kept.
      EXPECT_EQ(
          events(ws_frame("", {.length = static_cast<std::int64_t>(most) + 1}), piece, limits),
          Events{"failed 1009"});
      const std::string begun = ws_frame(less, {.final = false});
      EXPECT_EQ(events(begun + ws_frame("x", {.opcode = 0}), piece, limits),
                Events{"text " + fits});
      EXPECT_EQ(events(begun + ws_frame("xx", {.opcode = 0}), piece, limits),
                Events{"failed 1009"});
    }
  }
}

TEST(WebSocketDecoder, NumberOfFragments) {
  const Limits limits{};
  const auto fragments = [](std::size_t count, std::string_view payload) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) {
      out += ws_frame(payload, {.opcode = i == 0 ? 1 : 0, .final = i + 1 == count});
    }
    return out;
  };
  for (const std::size_t count : {limits.ws_fragments - 1, limits.ws_fragments}) {
    EXPECT_EQ(events(fragments(count, "x")), Events{"text " + std::string(count, 'x')});
    EXPECT_EQ(events(fragments(count, ""), 5), Events{"text "});
  }
  EXPECT_EQ(events(fragments(limits.ws_fragments + 1, "x")), Events{"failed 1008"});
  EXPECT_EQ(events(fragments(limits.ws_fragments + 1, ""), 5), Events{"failed 1008"});
  // Each message has its own.
  EXPECT_EQ(events(fragments(1000, "") + fragments(1000, "")), (Events{"text ", "text "}));
}

TEST(WebSocketDecoder, MemoryFollowsWhatCame) {
  WebSocketDecoder decoder(WebSocketSide::server);
  const auto feed = [&](std::string_view bytes) {
    std::size_t messages = 0;
    while (!bytes.empty()) {
      const auto space = decoder.prepare();
      const std::size_t size = std::min(space.size(), bytes.size());
      std::memcpy(space.data(), bytes.data(), size);
      decoder.commit(size);
      bytes.remove_prefix(size);
      for (Event event; (event = decoder.next()) != Event::none;)
        messages += event == Event::message;
    }
    return messages;
  };
  EXPECT_EQ(feed(ws_frame("", {.length = 4 << 20})), 0u);
  decoder.prepare();
  EXPECT_LE(decoder.capacity(), 8u << 10);
  EXPECT_EQ(feed(ws_frame(std::string(4u << 20, 'x')).substr(14)), 1u);
  EXPECT_LE(decoder.capacity(), (4u << 20) + (8u << 10));
  // Many small ones, and what the large one took is given back.
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += ws_frame("small");
  EXPECT_EQ(feed(many), 10'000u);
  EXPECT_LE(decoder.capacity(), 64u << 10);
}

TEST(WebSocketDecoder, ReadsWhatIsWritten) {
  for (const std::size_t size : {0u, 1u, 7u, 8u, 125u, 126u, 65'535u, 65'536u, 100'000u}) {
    const std::string text(size, 'x');
    std::string out = "before";
    out += text;
    finish_websocket_frame(out, 6, WebSocketOpcode::text, 0xdeadbeef);
    EXPECT_EQ(out.substr(0, 6), "before");
    EXPECT_EQ(events(std::string_view(out).substr(6)), Events{"text " + text});
    out = text;
    finish_websocket_frame(out, 0, WebSocketOpcode::text);
    EXPECT_EQ(out, ws_frame(text, {.masked = false}));
    EXPECT_EQ(events(out, 1000, {}, WebSocketSide::client), Events{"text " + text});
  }
}

}  // namespace
}  // namespace godwit
