#include "godwit/http/sse_decoder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using godwit::Limits;
using godwit::http::SseDecoder;
using godwit::http::SseEvent;
using Event = SseDecoder::Event;

namespace {

using Events = std::vector<std::string>;

/// "type|data|id|retry", with "-" for what the event does not have, and the last id so far.
void take(SseDecoder& decoder, Events& out) {
  for (;;) {
    switch (decoder.next()) {
      case Event::none:
        return;
      case Event::event: {
        const SseEvent& event = decoder.event();
        std::string text = std::string(event.event) + "|" + std::string(event.data);
        text += "|" + (event.id ? std::string(*event.id) : "-");
        text += "|" + (event.retry ? std::to_string(*event.retry) : "-");
        out.push_back(text + "|" + decoder.last_id());
        break;
      }
      case Event::failed:
        out.push_back("failed");
        EXPECT_FALSE(decoder.error().message.empty());
        return;
    }
  }
}

Events decode(std::string_view bytes, const Limits& limits = {}, std::size_t piece = SIZE_MAX) {
  SseDecoder decoder(limits);
  Events out;
  while (!bytes.empty() && (out.empty() || out.back() != "failed")) {
    decoder.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    take(decoder, out);
  }
  return out;
}

void same_for_every_split(std::string_view bytes, const Events& expected,
                          const Limits& limits = {}) {
  EXPECT_EQ(decode(bytes, limits), expected) << bytes;
  for (const std::size_t piece : {1u, 2u, 3u})
    EXPECT_EQ(decode(bytes, limits, piece), expected) << "pieces of " << piece << ": " << bytes;
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    SseDecoder decoder(limits);
    Events out;
    decoder.feed(bytes.substr(0, cut));
    decoder.feed("");
    take(decoder, out);
    if (out.empty() || out.back() != "failed") {
      decoder.feed(bytes.substr(cut));
      take(decoder, out);
    }
    EXPECT_EQ(out, expected) << "cut at " << cut;
  }
}

}  // namespace

// The examples of the HTML standard, 9.2.6.
TEST(SseDecoder, ExamplesOfTheStandard) {
  same_for_every_split("data: YHOO\ndata: +2\ndata: 10\n\n", {"|YHOO\n+2\n10|-|-|"});
  same_for_every_split(
      ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third "
      "event\n\n",
      {"|first event|1|-|1", "|second event||-|", "| third event|-|-|"});
  same_for_every_split("data\n\ndata\ndata\n\ndata:", {"||-|-|", "|\n|-|-|"});
  same_for_every_split("data:test\n\ndata: test\n\n", {"|test|-|-|", "|test|-|-|"});
  same_for_every_split("event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n",
                       {"add|73857293|-|-|", "remove|2153|-|-|"});
}

TEST(SseDecoder, EveryLineEnd) {
  const Events expected{"|a\nb|-|-|", "|c|-|-|"};
  for (const std::string end : {"\n", "\r", "\r\n"}) {
    same_for_every_split(
        "data: a" + end + "data: b" + end + end + "data: c" + end + end + end + end, expected);
  }
  same_for_every_split("data: a\r\ndata: b\n\r\ndata: c\r\r", expected);
  same_for_every_split("data: a\rdata: b\r\r\ndata: c\n\n", expected);
  same_for_every_split("data: a\n\rdata: b\n\r", {"|a|-|-|", "|b|-|-|"});
}

TEST(SseDecoder, AByteOrderMarkAtTheStartIsSkippedOnce) {
  same_for_every_split(
      "\xEF\xBB\xBF"
      "data: a\n\n",
      {"|a|-|-|"});
  same_for_every_split(
      "\xEF\xBB\xBF\xEF\xBB\xBF"
      "data: a\n\n",
      {});
  same_for_every_split(
      "\xEF\xBB"
      "data: a\n\ndata: b\n\n",
      {"|b|-|-|"});
  same_for_every_split(
      "data: a\n\n\xEF\xBB\xBF"
      "data: b\n\n",
      {"|a|-|-|"});
  same_for_every_split("\xEF\xBB\xBF\n\ndata: a\n\n", {"|a|-|-|"});
}

TEST(SseDecoder, FieldsAndComments) {
  same_for_every_split(":comment\n: data: x\n:\n\n", {});
  same_for_every_split("data: a: b\ndata:  c\ndata :d\nDATA: e\nunknown: f\nunknown\n\n",
                       {"|a: b\n c|-|-|"});
  same_for_every_split("event: a\nevent: b\ndata: x\nid: 1\nid: 2\n\ndata: y\n\n",
                       {"b|x|2|-|2", "|y|-|-|2"});
  same_for_every_split("event\ndata: x\n\n", {"|x|-|-|"});
  // Neither data nor anything to remember.
  same_for_every_split("event: a\n\ndata: x\n\n", {"|x|-|-|"});
}

TEST(SseDecoder, IdsCountWhenTheEventIsComplete) {
  SseDecoder decoder;
  decoder.feed("id: 1\ndata: a\n\nid: 2\ndata: b\n");
  EXPECT_EQ(decoder.next(), Event::event);
  EXPECT_EQ(decoder.last_id(), "1");
  EXPECT_EQ(decoder.next(), Event::none);
  EXPECT_EQ(decoder.last_id(), "1");
  decoder.feed("\n");
  EXPECT_EQ(decoder.next(), Event::event);
  EXPECT_EQ(decoder.last_id(), "2");
  const std::string nul("id: 3\0\ndata: c\n\n", 16);
  decoder.feed(nul);
  EXPECT_EQ(decoder.next(), Event::event);
  EXPECT_FALSE(decoder.event().id);
  EXPECT_EQ(decoder.last_id(), "2");
  decoder.feed("id\ndata\n\n");
  EXPECT_EQ(decoder.next(), Event::event);
  EXPECT_EQ(decoder.event().id, "");
  EXPECT_EQ(decoder.last_id(), "");
}

TEST(SseDecoder, EventsWithoutDataThatSayWhereToResume) {
  same_for_every_split("id: 7\n\n", {"||7|-|7"});
  same_for_every_split("retry: 10\n\n", {"||-|10|"});
  same_for_every_split("id: 7\nevent: x\ndata\n\n", {"x||7|-|7"});
}

TEST(SseDecoder, RetryIsDigitsOnly) {
  for (const std::string bad :
       {"", "-1", "+1", "1.5", "1s", "0x1", "1 ", "  1", "18446744073709551616"})
    same_for_every_split("retry: " + bad + "\n\n", {});
  same_for_every_split("retry:5\n\n", {"||-|5|"});
  same_for_every_split("retry: 0018446744073709551615\n\n", {"||-|18446744073709551615|"});
  same_for_every_split("retry: 5\nretry: x\n\n", {"||-|5|"});
}

TEST(SseDecoder, WhatIsNotCompleteIsNoEvent) {
  const std::string bytes = "event: e\nid: 1\nretry: 2\ndata: x\n\n";
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_TRUE(decode(bytes.substr(0, size)).empty());
  EXPECT_EQ(decode(bytes), Events{"e|x|1|2|1"});
}

TEST(SseDecoder, LimitOfALine) {
  Limits limits;
  limits.sse_event_bytes = 20;
  const auto line = [](std::size_t size) { return "data: " + std::string(size - 6, 'x') + "\n\n"; };
  same_for_every_split(line(19), {"|" + std::string(13, 'x') + "|-|-|"}, limits);
  same_for_every_split(line(20), {"|" + std::string(14, 'x') + "|-|-|"}, limits);
  same_for_every_split("data: a\n\n" + line(21), {"|a|-|-|", "failed"}, limits);
  same_for_every_split(":" + std::string(19, 'x') + "\n\n", {}, limits);
  same_for_every_split(":" + std::string(20, 'x') + "\n\n", {"failed"}, limits);
}

TEST(SseDecoder, LimitOfAnEvent) {
  Limits limits;
  // "abcd\n" is kept, and a line of 10 bytes comes.
  const std::string bytes = "data: abcd\ndata: efgh\n\n";
  for (const std::size_t most : {15u, 16u}) {
    limits.sse_event_bytes = most;
    same_for_every_split(bytes, {"|abcd\nefgh|-|-|"}, limits);
  }
  limits.sse_event_bytes = 14;
  same_for_every_split(bytes, {"failed"}, limits);
  // Each event is judged alone, and comments are not kept.
  limits.sse_event_bytes = 16;
  std::string many;
  for (int i = 0; i < 20; ++i) many += ":\n: x\n" + bytes;
  EXPECT_EQ(decode(many, limits).size(), 20u);
  // Empty lines of data cost a byte each.
  std::string empty;
  for (int i = 0; i < 20; ++i) empty += "data\n";
  EXPECT_EQ(decode(empty, limits), Events{"failed"});
}

TEST(SseDecoder, AnErrorStays) {
  Limits limits;
  limits.sse_event_bytes = 10;
  SseDecoder decoder(limits);
  decoder.feed("id: 5\n\nid: 6\ndata: " + std::string(10, 'x'));
  EXPECT_EQ(decoder.next(), Event::event);
  EXPECT_EQ(decoder.next(), Event::failed);
  decoder.feed("\n\ndata: x\n\n");
  EXPECT_EQ(decoder.next(), Event::failed);
  EXPECT_EQ(decoder.last_id(), "5");
  EXPECT_NE(decoder.error().message.find("10 bytes"), std::string::npos);
}

TEST(SseDecoder, LargeEvents) {
  const std::string large(5u << 20, 'x');
  const std::string bytes = "data: " + large + "\nid: 1\n\ndata: y\n\n";
  for (const std::size_t piece : {std::size_t{1000}, std::size_t{65536}, SIZE_MAX})
    EXPECT_EQ(decode(bytes, {}, piece), (Events{"|" + large + "|1|-|1", "|y|-|-|1"}));
}

// Quadratic in any of these ways, a run would take minutes.
TEST(SseDecoder, TimeIsLinear) {
  const auto seconds = [](const std::string& unit, std::size_t size, std::size_t piece) {
    std::string bytes;
    while (bytes.size() < size) bytes += unit;
    const auto begin = std::chrono::steady_clock::now();
    decode(bytes, {}, piece);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  for (const std::string unit : {"\r", "\n", "data\r", "x", ":\r\n"}) {
    EXPECT_LT(seconds(unit, 1u << 20, SIZE_MAX), 5.0) << unit;
    EXPECT_LT(seconds(unit, 256u << 10, 1), 5.0) << unit;
  }
}

// What is written is read back, cut in any way; line breaks become LF.
TEST(SseDecoder, RandomEventsInRandomPieces) {
  std::mt19937 random(3);
  const auto text = [&](std::size_t most, std::string_view from) {
    std::string out;
    for (std::size_t size = random() % (most + 1); size > 0; --size)
      out += from[random() % from.size()];
    return out;
  };
  for (int round = 0; round < 500; ++round) {
    std::string bytes;
    Events expected;
    std::string last;
    for (auto count = 1 + random() % 6; count > 0; --count) {
      const std::string type = text(5, "ab :");
      const std::string data = text(random() % 10 ? 20 : 5000, "ab \n\r:{}");
      const std::string id = text(5, "12 :");
      SseEvent event{.event = type, .data = data};
      if (random() % 2) event.id = id;
      if (random() % 2) event.retry = random();
      write_event(bytes, event);
      if (random() % 2) godwit::http::write_comment(bytes);
      if (event.id) last = id;
      std::string seen;
      for (std::size_t i = 0; i < data.size(); ++i) {
        if (data[i] == '\n' && i > 0 && data[i - 1] == '\r') continue;
        seen += data[i] == '\r' ? '\n' : data[i];
      }
      expected.push_back(type + "|" + seen + "|" + (event.id ? id : "-") + "|" +
                         (event.retry ? std::to_string(*event.retry) : "-") + "|" + last);
    }
    SseDecoder decoder;
    Events out;
    for (std::string_view left = bytes; !left.empty();) {
      const std::size_t size = std::min<std::size_t>(left.size(), 1 + random() % 50);
      decoder.feed(left.substr(0, size));
      left.remove_prefix(size);
      take(decoder, out);
    }
    ASSERT_EQ(out, expected) << "round " << round;
  }
}

TEST(SseDecoder, CountsWhatBringsNothing) {
  const std::pair<std::string, std::uint64_t> cases[] = {
      {": comment\n", 10},
      {"\n\n\n", 3},
      {"x: y\n\n", 6},
      {"id: 1\n\n", 7},
      {"data:\n\n", 7},
      {"event: e\n\n", 10},
      {"data: x\n\n", 0},
      {"event: e\nid: 1\nretry: 5\ndata: x\n\n", 0},
      {"data: x\n: c\nid: 1\n\n", 4},
  };
  for (const auto& [bytes, idle] : cases) {
    SseDecoder decoder;
    Events out;
    for (const char& c : bytes + bytes) {
      decoder.feed(std::string_view(&c, 1));
      take(decoder, out);
    }
    EXPECT_EQ(decoder.idle_bytes(), 2 * idle) << bytes;
  }
}
