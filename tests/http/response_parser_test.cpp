#include "godwit/http/response_parser.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using godwit::Limits;
using godwit::http::Field;
using godwit::http::ResponseParser;
using Event = ResponseParser::Event;

namespace {

using Events = std::vector<std::string>;

bool over(const Events& events) { return !events.empty() && events.back().find("failed") == 0; }

/// Takes all events out: "200 [Name=value]", "body: …" (pieces that follow each other are one),
/// "end", "failed: …". After the end the next response may follow.
void take(ResponseParser& parser, Events& out, std::string_view method) {
  for (;;) {
    switch (parser.next()) {
      case Event::none:
        return;
      case Event::head: {
        std::string head = std::to_string(parser.status());
        for (const Field& field : parser.fields())
          head += " [" + std::string(field.name) + "=" + std::string(field.value) + "]";
        out.push_back(head);
        break;
      }
      case Event::body:
        EXPECT_FALSE(parser.body().empty());
        if (!out.back().starts_with("body: ")) out.push_back("body: ");
        out.back() += parser.body();
        break;
      case Event::end:
        out.push_back("end");
        if (parser.rest().empty()) return;
        if (out.size() >= 2 && out[out.size() - 2].starts_with("101")) return;
        EXPECT_FALSE(parser.reusable());
        parser.begin(method);
        break;
      case Event::failed:
        out.push_back("failed: " + parser.error().message);
        return;
    }
  }
}

void feed(ResponseParser& parser, std::string_view bytes, Events& out, std::string_view method) {
  while (!bytes.empty() && !over(out)) {
    const auto space = parser.prepare();
    ASSERT_FALSE(space.empty());
    const std::size_t size = std::min(space.size(), bytes.size());
    std::memcpy(space.data(), bytes.data(), size);
    parser.commit(size);
    bytes.remove_prefix(size);
    // A response that follows one that is complete.
    if (!out.empty() && out.back() == "end" && !parser.rest().empty()) parser.begin(method);
    take(parser, out, method);
  }
}

/// All of it in pieces; then the connection ends, if `close` says so.
Events parse(std::string_view bytes, bool close = false, std::string_view method = "GET",
             const Limits& limits = {}, std::size_t piece = SIZE_MAX) {
  ResponseParser parser(limits);
  parser.begin(method);
  Events out;
  while (!bytes.empty() && !over(out)) {
    feed(parser, bytes.substr(0, piece), out, method);
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  if (close) {
    parser.finish();
    if (!over(out)) take(parser, out, method);
  }
  return out;
}

void same_for_every_split(std::string_view bytes, bool close, const Events& expected,
                          std::string_view method = "GET", const Limits& limits = {}) {
  EXPECT_EQ(parse(bytes, close, method, limits), expected) << bytes;
  for (const std::size_t piece : {1u, 2u, 3u, 7u})
    EXPECT_EQ(parse(bytes, close, method, limits, piece), expected) << "pieces of " << piece;
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    ResponseParser parser(limits);
    parser.begin(method);
    Events out;
    feed(parser, bytes.substr(0, cut), out, method);
    feed(parser, bytes.substr(cut), out, method);
    if (close && !over(out)) {
      parser.finish();
      take(parser, out, method);
    }
    EXPECT_EQ(out, expected) << "cut at " << cut;
  }
}

void refused(std::string_view bytes, std::string_view why, const Limits& limits = {},
             std::string_view method = "GET") {
  const Events whole = parse(bytes, false, method, limits);
  ASSERT_FALSE(whole.empty()) << bytes;
  EXPECT_TRUE(over(whole)) << bytes;
  EXPECT_NE(whole.back().find(why), std::string::npos) << whole.back();
  EXPECT_EQ(parse(bytes, false, method, limits, 1), whole) << bytes;
}

std::string ok(std::string_view fields, std::string_view body = "") {
  return "HTTP/1.1 200 OK\r\n" + std::string(fields) + "\r\n" + std::string(body);
}

/// Whether the connection may be used again after this response.
bool reusable(std::string_view bytes, std::string_view method = "GET") {
  ResponseParser parser;
  parser.begin(method);
  Events out;
  EXPECT_FALSE(parser.reusable());
  feed(parser, bytes, out, method);
  EXPECT_EQ(out.back(), "end");
  return parser.reusable();
}

}  // namespace

TEST(ResponseParser, ABodyWithItsLength) {
  same_for_every_split(
      ok("Content-Type: application/json\r\nContent-Length: 2\r\n", "{}"), false,
      {"200 [Content-Type=application/json] [Content-Length=2]", "body: {}", "end"});
  same_for_every_split(ok("Content-Length: 0\r\n"), false, {"200 [Content-Length=0]", "end"});
}

TEST(ResponseParser, ABodyInChunks) {
  same_for_every_split(
      ok("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n6\r\n world\r\n0\r\nX: \xe4\r\n\r\n"),
      false, {"200 [Transfer-Encoding=chunked]", "body: hello world", "end"});
  same_for_every_split(ok("Transfer-Encoding: chunked\r\n", "0\r\n\r\n"), false,
                       {"200 [Transfer-Encoding=chunked]", "end"});
}

TEST(ResponseParser, ABodyUntilTheConnectionEnds) {
  same_for_every_split(ok("", "hello"), true, {"200", "body: hello", "end"});
  same_for_every_split(ok("", ""), true, {"200", "end"});
  same_for_every_split("HTTP/1.0 200 OK\r\n\r\nhello", true, {"200", "body: hello", "end"});
  same_for_every_split("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", false,
                       {"200 [Content-Length=5]", "body: hello", "end"});
}

TEST(ResponseParser, PiecesComeAsTheyAre) {
  ResponseParser parser;
  parser.begin("GET");
  Events out;
  feed(parser, ok("Transfer-Encoding: chunked\r\n"), out, "GET");
  ASSERT_EQ(out.size(), 1u);
  for (const std::string_view event : {"data: 1\n\n", "data: 2\n\n"}) {
    const std::string chunk = "9\r\n" + std::string(event) + "\r\n";
    const auto space = parser.prepare();
    std::memcpy(space.data(), chunk.data(), chunk.size());
    parser.commit(chunk.size());
    ASSERT_EQ(parser.next(), Event::body);
    EXPECT_EQ(parser.body(), event);
    EXPECT_EQ(parser.next(), Event::none);
  }
}

TEST(ResponseParser, EveryTruncationIsAnErrorOnceTheConnectionEnds) {
  const std::string responses[] = {
      ok("Content-Length: 3\r\n", "abc"),
      ok("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\nX: y\r\n\r\n"),
      "HTTP/1.1 100 Continue\r\n\r\n" + ok("Content-Length: 0\r\n"),
  };
  const std::size_t interim = std::strlen("HTTP/1.1 100 Continue\r\n\r\n");
  for (const std::string& bytes : responses) {
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const Events open = parse(bytes.substr(0, size));
      EXPECT_TRUE(open.empty() || (!over(open) && open.back() != "end")) << size;
      const Events out = parse(bytes.substr(0, size), true);
      ASSERT_TRUE(over(out)) << size;
      const bool nothing = size == 0 || (size == interim && &bytes == &responses[2]);
      EXPECT_NE(out.back().find(nothing ? "before there was" : "in the middle"), std::string::npos)
          << out.back();
    }
    EXPECT_EQ(parse(bytes, true).back(), "end");
  }
}

TEST(ResponseParser, SomeResponsesHaveNoBody) {
  const Events head{"200 [Content-Length=5]", "end"};
  same_for_every_split(ok("Content-Length: 5\r\n"), false, head, "HEAD");
  same_for_every_split(ok("Transfer-Encoding: chunked\r\n"), false,
                       {"200 [Transfer-Encoding=chunked]", "end"}, "HEAD");
  same_for_every_split(ok(""), false, {"200", "end"}, "HEAD");
  same_for_every_split("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", false,
                       {"304 [Content-Length=5]", "end"});
  same_for_every_split("HTTP/1.1 204 No Content\r\n\r\n", false, {"204", "end"});
  same_for_every_split("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", false,
                       {"204 [Content-Length=0]", "end"});
  refused("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "has no body");
  refused("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", "has no body");
  refused("HTTP/1.1 101 X\r\nContent-Length: 5\r\n\r\n", "has no body");
  refused("HTTP/1.1 100 X\r\nTransfer-Encoding: chunked\r\n\r\n", "has no body");
  refused(ok("Content-Length: 5\r\n"), "has no body", {}, "CONNECT");
}

TEST(ResponseParser, InterimResponsesAreSkipped) {
  same_for_every_split(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\nConnection: "
      "close\r\n\r\n" +
          ok("Content-Length: 1\r\n", "x"),
      false, {"200 [Content-Length=1]", "body: x", "end"});
  EXPECT_TRUE(
      reusable("HTTP/1.1 100 Continue\r\nConnection: close\r\n\r\n" + ok("Content-Length: 0\r\n")));
}

TEST(ResponseParser, AsManyInterimResponsesAsTheLimit) {
  const std::string interim = "HTTP/1.1 102 Processing\r\n\r\n";
  const std::string three = interim + interim + interim;
  const Limits limits{.http_interim_answers = 3};
  ResponseParser parser(limits);
  for (int i = 0; i < 3; ++i) {  // they are counted for each request
    parser.begin("GET");
    Events out;
    feed(parser, three + ok("Content-Length: 0\r\n"), out, "GET");
    EXPECT_EQ(out, (Events{"200 [Content-Length=0]", "end"}));
  }
  refused(three + interim, "1xx", limits);
}

TEST(ResponseParser, AnotherProtocolBegins) {
  const std::string head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
  ResponseParser parser;
  parser.begin("GET");
  Events out;
  feed(parser, head + "\x81\x05hello", out, "GET");
  EXPECT_EQ(out, (Events{"101 [Upgrade=websocket]", "end"}));
  EXPECT_EQ(parser.rest(), "\x81\x05hello");
  EXPECT_FALSE(parser.reusable());
  EXPECT_EQ(parser.next(), Event::none);

  ResponseParser tunnel;
  tunnel.begin("CONNECT");
  const std::string bytes = ok("") + "tunnel";
  const auto space = tunnel.prepare();
  std::memcpy(space.data(), bytes.data(), bytes.size());
  tunnel.commit(bytes.size());
  EXPECT_EQ(tunnel.next(), Event::head);
  EXPECT_TRUE(tunnel.rest().empty());
  EXPECT_EQ(tunnel.next(), Event::end);
  EXPECT_EQ(tunnel.rest(), "tunnel");
  EXPECT_FALSE(tunnel.reusable());
  // A refusal is an ordinary response.
  same_for_every_split("HTTP/1.1 403 No\r\nContent-Length: 1\r\n\r\nx", false,
                       {"403 [Content-Length=1]", "body: x", "end"}, "CONNECT");
}

TEST(ResponseParser, OneAfterTheOther) {
  same_for_every_split(
      ok("Content-Length: 1\r\n", "a") +
          ok("Transfer-Encoding: chunked\r\n", "1\r\nb\r\n0\r\n\r\n") + "HTTP/1.1 204\r\n\r\n" +
          ok("Content-Length: 1\r\n", "c"),
      false,
      {"200 [Content-Length=1]", "body: a", "end", "200 [Transfer-Encoding=chunked]", "body: b",
       "end", "204", "end", "200 [Content-Length=1]", "body: c", "end"});
}

TEST(ResponseParser, WhetherTheConnectionStays) {
  EXPECT_TRUE(reusable(ok("Content-Length: 1\r\n", "x")));
  EXPECT_TRUE(reusable(ok("Transfer-Encoding: chunked\r\n", "0\r\n\r\n")));
  EXPECT_TRUE(reusable("HTTP/1.1 204\r\n\r\n"));
  EXPECT_TRUE(reusable(ok(""), "HEAD"));
  EXPECT_FALSE(reusable(ok("Content-Length: 0\r\nConnection: x, Close\r\n")));
  EXPECT_FALSE(reusable("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n"));
  ResponseParser parser;
  parser.begin("GET");
  Events out;
  feed(parser, ok("Content-Length: 0\r\n"), out, "GET");
  EXPECT_TRUE(parser.reusable());
  parser.finish();
  EXPECT_EQ(parser.next(), Event::none);
  EXPECT_FALSE(parser.reusable());
}

TEST(ResponseParser, StatusLines) {
  for (const std::string_view good :
       {"HTTP/1.1 200 OK", "HTTP/1.1 200 ", "HTTP/1.1 200", "HTTP/1.0 200 OK", "HTTP/1.1 200  x y ",
        "HTTP/1.1 200 \xe4\tz", "HTTP/1.1 299 Whatever", "HTTP/1.1 599 x", "HTTP/1.1 999 x"}) {
    const Events out =
        parse(std::string(good) + "\r\nContent-Length: 0\r\n\r\n", false, "GET", {}, 1);
    EXPECT_EQ(out.back(), "end") << good;
  }
  for (const std::string_view bad : {"",
                                     "HTTP",
                                     "HTTP/1.1",
                                     "HTTP/1.1 ",
                                     "HTTP/1.1 20",
                                     "HTTP/1.1 2000",
                                     "HTTP/1.1 2x0 OK",
                                     "HTTP/1.1 099 OK",
                                     "HTTP/1.1 000",
                                     "HTTP/1.1  200 OK",
                                     "HTTP/1.1 200\tOK",
                                     "HTTP/1.1 -20 OK",
                                     "HTTP/1.1 200OK",
                                     "HTTP/2.0 200 OK",
                                     "HTTP/1.2 200 OK",
                                     "HTTP/0.9 200 OK",
                                     "http/1.1 200 OK",
                                     "HTTP/11 200 OK",
                                     "ICY 200 OK",
                                     " HTTP/1.1 200 OK",
                                     "HTTP/1.1\t200 OK"}) {
    refused(std::string(bad) + "\r\nContent-Length: 0\r\n\r\n", "the status line is");
  }
  refused("HTTP/1.1 200 O\x01K\r\n\r\n", "0x01");
  refused("HTTP/1.1 200 O\rK\r\n\r\n", "0x0d");
  refused(std::string_view("HTTP/1.1 200 O\0K\r\n\r\n", 20), "0x00");
  refused("HTTP/1.1 200 OK\n\n", "CR LF");
}

TEST(ResponseParser, FieldsThatAreRefused) {
  const std::pair<std::string, std::string> cases[] = {
      {"X : y\r\n", "0x20"},
      {": y\r\n", "no name"},
      {"X\r\n", "no colon"},
      {"X: y\r\n z\r\n", "begins with white space"},
      {"X: y\n", "CR LF"},
      {"X: a\rb\r\n", "0x0d"},
      {"X: a\x7f\r\n", "0x7f"},
      {"Content-Length: 1, 1\r\n", "Content-Length is"},
      {"Content-Length: +1\r\n", "Content-Length is"},
      {"Content-Length:\r\n", "Content-Length is"},
      {"Content-Length: 1\r\nContent-Length: 1\r\n", "twice"},
      {"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", "both"},
      {"Transfer-Encoding: gzip, chunked\r\n", "only \"chunked\""},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "twice"},
      {"Host: a\r\nHost: a\r\n", "twice"},
  };
  for (const auto& [fields, why] : cases) refused(ok(fields), why);
  refused("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.0");
  EXPECT_EQ(parse(ok("X: \xe4\xff ok\r\nContent-Length: 0\r\n")).back(), "end");
}

TEST(ResponseParser, ChunksThatAreRefused) {
  const std::pair<std::string, std::string> cases[] = {
      {"1;a\r\n", "extension"},
      {"-1\r\n", "0x2d"},
      {"1\r\nab", "0x62"},
      {"00000000000000001", "digits"},
      {"1\n", "0x0a"},
      {"0\r\nX : y", "name of a trailer"},
      {"0\r\nX: \x01", "value of a trailer"},
  };
  for (const auto& [body, why] : cases) refused(ok("Transfer-Encoding: chunked\r\n", body), why);
  // The sum of all chunks may be anything, but it has to be a number.
  refused(ok("Transfer-Encoding: chunked\r\n", "1\r\na\r\nffffffffffffffff\r\n"), "limit");
}

TEST(ResponseParser, Limits) {
  struct Case {
    std::size_t Limits::* limit;
    std::string bytes;
    std::size_t size;
    std::string why;
  };
  const Case cases[] = {
      {&Limits::http_line_bytes, "HTTP/1.1 200 " + std::string(20, 'x') + "\r\n", 33,
       "status line"},
      {&Limits::http_line_bytes, ok("X: " + std::string(30, 'y') + "\r\n"), 33, "header line"},
      {&Limits::http_header_bytes, ok("X: y\r\nX: z\r\n"), 12, "the header is"},
      {&Limits::http_headers, ok("X: y\r\nX: z\r\n"), 2, "more header fields"},
      {&Limits::http_trailer_bytes,
       ok("Transfer-Encoding: chunked\r\n", "0\r\nX: y\r\nX: z\r\n\r\n"), 12, "trailers"},
  };
  for (const Case& one : cases) {
    for (const int more : {-1, 0, 1}) {
      Limits limits;
      limits.*one.limit = one.size + static_cast<std::size_t>(more);
      for (const std::size_t piece : {std::size_t{1}, SIZE_MAX}) {
        const Events out = parse(one.bytes, false, "GET", limits, piece);
        EXPECT_EQ(over(out), more < 0) << one.why;
        if (more < 0) {
          EXPECT_NE(out.back().find(one.why), std::string::npos) << out.back();
        }
      }
    }
  }
}

TEST(ResponseParser, ALargeBodyCostsNoMemory) {
  ResponseParser parser;
  parser.begin("GET");
  Events out;
  feed(parser, ok("Content-Length: 100000000\r\n"), out, "GET");
  std::size_t got = 0;
  while (got < 100'000'000) {
    const auto space = parser.prepare();
    ASSERT_LE(space.size(), 64u << 10);
    const std::size_t size = std::min<std::size_t>(space.size(), 100'000'000 - got);
    parser.commit(size);
    ASSERT_EQ(parser.next(), Event::body);
    got += parser.body().size();
  }
  EXPECT_EQ(parser.next(), Event::end);
  EXPECT_TRUE(parser.reusable());
}

TEST(ResponseParser, EndlessHeadsAreRefused) {
  for (const std::string begin :
       {"", "HTTP/1.1 200 ", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nX: "}) {
    ResponseParser parser;
    Events out;
    feed(parser, begin, out, "GET");
    for (int i = 0; i < 100 && !over(out); ++i) feed(parser, std::string(10'000, 'x'), out, "GET");
    EXPECT_TRUE(over(out)) << begin;
  }
}

TEST(ResponseParser, AnErrorStays) {
  ResponseParser parser;
  Events out;
  feed(parser, "nonsense\r\n", out, "GET");
  ASSERT_TRUE(over(out));
  parser.begin("GET");
  EXPECT_FALSE(parser.prepare().empty());
  EXPECT_EQ(parser.next(), Event::failed);
  EXPECT_FALSE(parser.reusable());
}

TEST(ResponseParser, RandomBodiesInRandomPieces) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    std::string bytes;
    Events expected;
    for (auto count = 1 + random() % 4; count > 0; --count) {
      std::string body(random() % (random() % 4 == 0 ? 20'000 : 100), 'x');
      for (char& c : body) c = static_cast<char>(random());
      std::string head;
      if (random() % 2 == 0) {
        head = "Content-Length: " + std::to_string(body.size()) + "\r\n";
        bytes += ok(head, body);
      } else {
        head = "Transfer-Encoding: chunked\r\n";
        bytes += ok(head);
        for (std::size_t at = 0; at < body.size();) {
          const std::string piece = body.substr(at, 1 + random() % 500);
          char digits[32];
          std::snprintf(digits, sizeof digits, "%zx", piece.size());
          bytes += digits + ("\r\n" + piece + "\r\n");
          at += piece.size();
        }
        bytes += "0\r\n\r\n";
      }
      const std::size_t colon = head.find(": ");
      expected.push_back("200 [" + head.substr(0, colon) + "=" +
                         head.substr(colon + 2, head.size() - colon - 4) + "]");
      if (!body.empty()) expected.push_back("body: " + body);
      expected.push_back("end");
    }
    ResponseParser parser;
    parser.begin("POST");
    Events out;
    for (std::string_view left = bytes; !left.empty();) {
      const std::size_t size = std::min<std::size_t>(left.size(), 1 + random() % 3000);
      feed(parser, left.substr(0, size), out, "POST");
      left.remove_prefix(size);
    }
    ASSERT_EQ(out, expected) << "round " << round;
  }
}
