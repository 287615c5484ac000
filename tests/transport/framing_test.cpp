#include "godwit/transport/framing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

using godwit::FrameDecoder;
using godwit::Framing;
using godwit::Limits;
using Event = FrameDecoder::Event;

namespace {

using Events = std::vector<std::string>;

/// Takes all events out and writes them down: "m:text", "unreadable: …", "fatal: …".
void take(FrameDecoder& decoder, Events& out) {
  for (;;) {
    const Event event = decoder.next();
    if (event == Event::none) return;
    if (event == Event::message) {
      EXPECT_GE(decoder.spare(), FrameDecoder::padding);
      out.push_back("m:" + std::string(decoder.message()));
    } else {
      EXPECT_EQ(decoder.error().code, -32600);
      out.push_back((event == Event::fatal ? "fatal: " : "unreadable: ") + decoder.error().message);
      if (event == Event::fatal) return;
    }
  }
}

void feed(FrameDecoder& decoder, std::string_view bytes, Events& out) {
  while (!bytes.empty()) {
    const auto space = decoder.prepare();
    ASSERT_FALSE(space.empty());
    const std::size_t size = std::min(space.size(), bytes.size());
    std::memcpy(space.data(), bytes.data(), size);
    decoder.commit(size);
    bytes.remove_prefix(size);
    take(decoder, out);
    if (!out.empty() && out.back().starts_with("fatal")) return;
  }
}

Events decode(std::string_view bytes, Framing framing, const Limits& limits = {},
              std::size_t piece = SIZE_MAX) {
  FrameDecoder decoder(framing, limits);
  Events out;
  while (!bytes.empty() && (out.empty() || !out.back().starts_with("fatal"))) {
    feed(decoder, bytes.substr(0, piece), out);
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return out;
}

Limits small(std::size_t message, std::size_t discard = 1000) {
  Limits limits;
  limits.message_bytes_in = message;
  limits.discard_bytes = discard;
  return limits;
}

std::string frame(std::string message, Framing framing) {
  godwit::finish_frame(message, 0, framing);
  return message;
}

std::string unreadable(std::size_t limit, const std::string& of = "") {
  return "unreadable: Invalid Request: the message" + of + " is longer than the limit of " +
         std::to_string(limit) + " bytes";
}

/// The same events whole, split in two at every byte, and byte by byte.
void same_for_every_split(const std::string& bytes, Framing framing, const Limits& limits,
                          const Events& expected) {
  EXPECT_EQ(decode(bytes, framing, limits), expected);
  for (std::size_t piece = 1; piece < 8; ++piece)
    EXPECT_EQ(decode(bytes, framing, limits, piece), expected) << "pieces of " << piece;
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    FrameDecoder decoder(framing, limits);
    Events out;
    feed(decoder, std::string_view(bytes).substr(0, cut), out);
    if (out.empty() || !out.back().starts_with("fatal"))
      feed(decoder, std::string_view(bytes).substr(cut), out);
    EXPECT_EQ(out, expected) << "cut at " << cut;
  }
}

// `printf '{…}' | server`: people forget the last newline. A peer that died in the middle of a line
// is another matter.
TEST(Framing, ALastLineMayLackItsNewline) {
  const auto at_end = [](std::string_view bytes) {
    FrameDecoder decoder;
    const std::span<char> space = decoder.prepare();
    std::copy(bytes.begin(), bytes.end(), space.begin());
    decoder.commit(bytes.size());
    decoder.finish();
    std::vector<std::string> messages;
    while (decoder.next() == FrameDecoder::Event::message) {
      messages.emplace_back(decoder.message());
    }
    return messages;
  };
  using Messages = std::vector<std::string>;
  EXPECT_EQ(at_end("{\"a\":1}"), Messages{"{\"a\":1}"});
  EXPECT_EQ(at_end("{}\n[1] \r"), (Messages{"{}", "[1] "}));
  EXPECT_EQ(at_end("{\"a\":"), Messages{});
  EXPECT_EQ(at_end("{}\n{\"a"), Messages{"{}"});
  EXPECT_EQ(at_end(""), Messages{});
}

}  // namespace

TEST(NewlineFraming, EverySplit) {
  same_for_every_split("{\"a\":1}\n[2]\r\n\n  \t\r\n\r\n3\n", Framing::newline, {},
                       {"m:{\"a\":1}", "m:[2]", "m:3"});
}

TEST(NewlineFraming, EveryTruncation) {
  const std::string bytes = "{\"a\":1}\n[2]\r\n";
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    FrameDecoder decoder;
    Events out;
    feed(decoder, std::string_view(bytes).substr(0, size), out);
    EXPECT_EQ(out.size(), (size >= 8 ? 1u : 0u) + (size >= 13 ? 1u : 0u));
    EXPECT_EQ(decoder.partial(), size != 0 && size != 8 && size != 13) << size;
  }
}

TEST(NewlineFraming, OnlyOneCarriageReturnIsStripped) {
  same_for_every_split("a\r\r\nb\rc\n", Framing::newline, {}, {"m:a\r", "m:b\rc"});
}

TEST(NewlineFraming, TheLimitIsExact) {
  for (const char* end : {"\n", "\r\n"}) {
    same_for_every_split("123456789" + std::string(end) + "x\n", Framing::newline, small(10),
                         {"m:123456789", "m:x"});
    same_for_every_split("1234567890" + std::string(end) + "x\n", Framing::newline, small(10),
                         {"m:1234567890", "m:x"});
    same_for_every_split("12345678901" + std::string(end) + "x\n", Framing::newline, small(10),
                         {unreadable(10), "m:x"});
  }
  same_for_every_split("1234567890\rA\nx\n", Framing::newline, small(10), {unreadable(10), "m:x"});
}

TEST(NewlineFraming, OverLongLinesAreSkippedInConstantMemory) {
  FrameDecoder decoder(Framing::newline, small(100, 50u << 20));
  Events out;
  const std::string chunk(100'000, 'x');
  for (int i = 0; i < 400; ++i) feed(decoder, chunk, out);
  EXPECT_EQ(out, Events{unreadable(100)});
  EXPECT_LE(decoder.capacity(), 64u << 10);
  feed(decoder, "\nok\n", out);
  EXPECT_EQ(out.back(), "m:ok");
}

TEST(NewlineFraming, TooMuchDiscardedIsTheEnd) {
  const std::string why =
      "fatal: Invalid Request: a line of more than 30 bytes was sent; the connection is given up";
  same_for_every_split(std::string(30, 'x') + "\ny\n", Framing::newline, small(10, 30),
                       {unreadable(10), "m:y"});
  same_for_every_split(std::string(31, 'x') + "\ny\n", Framing::newline, small(10, 30),
                       {unreadable(10), why});
  // Each line is judged alone.
  same_for_every_split(std::string(30, 'x') + "\n" + std::string(30, 'x') + "\ny\n",
                       Framing::newline, small(10, 30), {unreadable(10), unreadable(10), "m:y"});
  FrameDecoder decoder(Framing::newline, small(10, 30));
  Events out;
  feed(decoder, std::string(40, 'x'), out);
  EXPECT_EQ(decoder.next(), Event::fatal);  // and stays so
  const auto space = decoder.prepare();
  ASSERT_FALSE(space.empty());
  decoder.commit(space.size());
  EXPECT_EQ(decoder.next(), Event::fatal);
}

TEST(FrameDecoder, GivesMemoryBackAfterALargeMessage) {
  for (const Framing framing : {Framing::newline, Framing::content_length}) {
    FrameDecoder decoder(framing);
    EXPECT_LE(decoder.capacity(), 4u << 10);  // what an idle connection costs
    const std::string large(3u << 20, 'x');
    Events out;
    feed(decoder, frame(large, framing) + frame("y", framing), out);
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(out[0].size(), large.size() + 2);
    decoder.prepare();
    EXPECT_LE(decoder.capacity(), 64u << 10);
  }
}

TEST(FrameDecoder, ManySizesSurviveManyPieceSizes) {
  for (const Framing framing : {Framing::newline, Framing::content_length}) {
    std::string bytes;
    Events expected;
    for (std::size_t size = 1; size < 200'000; size = size * 3 + 1) {
      const std::string message(size, static_cast<char>('a' + size % 26));
      bytes += frame(message, framing) + frame("s", framing);
      expected.push_back("m:" + message);
      expected.push_back("m:s");
    }
    for (const std::size_t piece : {13u, 1000u, 4096u, 5000u, 65536u, 1u << 20})
      EXPECT_EQ(decode(bytes, framing, {}, piece), expected);
  }
}

TEST(ContentLengthFraming, EverySplit) {
  same_for_every_split(
      "Content-Length: 7\r\n\r\n{\"a\":1}content-length:3\r\nContent-Type: "
      "application/vscode-jsonrpc; charset=utf-8\r\n\r\n[2]CONTENT-LENGTH:  1 \r\n\r\n\n",
      Framing::content_length, {}, {"m:{\"a\":1}", "m:[2]", "m:\n"});
}

TEST(ContentLengthFraming, EveryTruncationWaits) {
  const std::string bytes = "Content-Length: 2\r\n\r\n{}";
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    FrameDecoder decoder(Framing::content_length);
    Events out;
    feed(decoder, std::string_view(bytes).substr(0, size), out);
    EXPECT_TRUE(out.empty());
    EXPECT_EQ(decoder.partial(), size != 0);
  }
}

TEST(ContentLengthFraming, TheLimitIsExact) {
  const auto with = [](std::size_t size) {
    return frame(std::string(size, 'x'), Framing::content_length) +
           frame("y", Framing::content_length);
  };
  same_for_every_split(with(9), Framing::content_length, small(10), {"m:xxxxxxxxx", "m:y"});
  same_for_every_split(with(10), Framing::content_length, small(10), {"m:xxxxxxxxxx", "m:y"});
  same_for_every_split(with(11), Framing::content_length, small(10),
                       {unreadable(10, " of 11 bytes"), "m:y"});
}

TEST(ContentLengthFraming, BadHeadersAreTheEndWithASentence) {
  const std::pair<std::string, std::string> cases[] = {
      {"{\"jsonrpc\":\"2.0\"}\n", "newline framing"},
      {"[1]\r\n", "newline framing"},
      {"\r\n", "no Content-Length"},
      {"Content-Type: x\r\n\r\n", "no Content-Length"},
      {"Content-Length: 1\n\n1", "CR LF"},
      {"Content-Length: \r\n\r\n", "not a number"},
      {"Content-Length: -1\r\n\r\n", "not a number"},
      {"Content-Length: +1\r\n\r\n", "not a number"},
      {"Content-Length: 0x1\r\n\r\n", "not a number"},
      {"Content-Length: 1 1\r\n\r\n", "not a number"},
      {"Content-Length: 99999999999999999999999\r\n\r\n", "not a number"},
      {"Content-Length: 1\r\nContent-Length: 1\r\n\r\n", "twice"},
      {"Content-Length : 1\r\n\r\n", "Name: value"},
      {" Content-Length: 1\r\n\r\n", "Name: value"},
      {"Content-Length\r\n\r\n", "Name: value"},
      {"Content-Length: 2000\r\n\r\n", "announced"},
      {"X: " + std::string(5000, 'x') + "\r\n", "longer than 4096"},
  };
  for (const auto& [bytes, why] : cases) {
    const Events whole = decode(bytes, Framing::content_length, small(10));
    ASSERT_EQ(whole.size(), 1u) << bytes;
    EXPECT_TRUE(whole[0].starts_with("fatal")) << whole[0];
    EXPECT_NE(whole[0].find(why), std::string::npos) << whole[0];
    EXPECT_EQ(decode(bytes, Framing::content_length, small(10), 1), whole);
  }
}

TEST(ContentLengthFraming, AnAnnouncedSizeCostsNoMemory) {
  FrameDecoder decoder(Framing::content_length);
  Events out;
  feed(decoder, "Content-Length: 4000000\r\n\r\nx", out);
  decoder.prepare();
  EXPECT_LE(decoder.capacity(), 8u << 10);
}

TEST(FinishFrame, BothKinds) {
  std::string out = "before";
  out += "{}";
  godwit::finish_frame(out, 6, Framing::newline);
  EXPECT_EQ(out, "before{}\n");
  out = "before{}";
  godwit::finish_frame(out, 6, Framing::content_length);
  EXPECT_EQ(out, "beforeContent-Length: 2\r\n\r\n{}");
}

// JSON that is passed on as text may be written over several lines.
TEST(FramingEncoder, LineBreaksInsideAMessageDoNotEndIt) {
  std::string out = "first\n{\n  \"a\": 1\n}";
  godwit::finish_frame(out, 6, Framing::newline);
  EXPECT_EQ(out, "first\n{   \"a\": 1 }\n");
}
