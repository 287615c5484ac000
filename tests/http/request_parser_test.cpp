#include "godwit/http/request_parser.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "request_events.hpp"

using godwit::Limits;
using godwit::http::RequestParser;
using namespace godwit::test;

TEST(RequestParser, AnOrdinaryRequest) {
  const std::string body = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
  same_for_every_split(
      "POST /mcp?x=1 HTTP/1.1\r\nHost: example.com:8080\r\nAccept:application/json, "
      "text/event-stream\r\nX-Empty:\r\nX-Spaces: \t a \t b  \t\r\ncontent-LENGTH: " +
          std::to_string(body.size()) + "\r\n\r\n" + body,
      {},
      {"POST /mcp?x=1 [Host=example.com:8080][Accept=application/json, text/event-stream]"
       "[X-Empty=][X-Spaces=a \t b][content-LENGTH=40] " +
       body});
  RequestParser parser;
  const std::string bytes = "GET /a/b?c=d?e HTTP/1.1\r\nHost: a\r\n\r\n";
  std::memcpy(parser.prepare().data(), bytes.data(), bytes.size());
  parser.commit(bytes.size());
  ASSERT_EQ(parser.next(), Event::request);
  EXPECT_EQ(parser.request().path(), "/a/b");
  EXPECT_EQ(parser.request().query(), "c=d?e");
  EXPECT_TRUE(parser.request().peer.empty());
}

TEST(RequestParser, OneAfterTheOther) {
  same_for_every_split(
      "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
      "\r\nPOST /b HTTP/1.1\r\nHost: b\r\nContent-Length: 3\r\n\r\nabc"
      "\r\nPUT /c HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: ChunkeD\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
      "DELETE /d HTTP/1.1\r\nHost: d\r\nContent-Length: 0\r\n\r\n"
      "OPTIONS * HTTP/1.1\r\nHost: e\r\nConnection: Close\r\n\r\n",
      {},
      {"GET / [Host=a] ", "POST /b [Host=b][Content-Length=3] abc",
       "PUT /c [Host=c][Transfer-Encoding=ChunkeD] abc", "DELETE /d [Host=d][Content-Length=0] ",
       "OPTIONS * [Host=e][Connection=Close]  (close)"});
}

TEST(RequestParser, ManyAtOnceInPiecesOfManySizes) {
  std::string bytes;
  Events expected;
  for (std::size_t size = 0; size < 300'000; size = size * 3 + 1) {
    const std::string body(size, static_cast<char>('a' + size % 26));
    const std::string fields = "Content-Length: " + std::to_string(size) + "\r\n";
    bytes += with_fields(fields, body);
    expected.push_back("POST /mcp [Host=a][Content-Length=" + std::to_string(size) + "] " + body);
    bytes += with_fields("Transfer-Encoding: chunked\r\n");
    for (std::size_t at = 0; at < body.size(); at += 1000) {
      const std::string piece = body.substr(at, 1000);
      char digits[8];
      std::snprintf(digits, sizeof digits, "%zx", piece.size());
      bytes += digits + ("\r\n" + piece + "\r\n");
    }
    bytes += "0\r\n\r\n";
    expected.push_back(in_chunks + body);
  }
  for (const std::size_t piece : {13u, 1000u, 4096u, 5000u, 65536u, 1u << 20})
    EXPECT_EQ(parse(bytes, {}, piece), expected) << piece;
}

TEST(RequestParser, EveryTruncationWaits) {
  const std::string requests[] = {
      with_fields("Content-Length: 3\r\n", "abc"),
      chunked("2\r\nab\r\n1\r\nc\r\n0\r\nX: y\r\n\r\n"),
  };
  for (const std::string& bytes : requests) {
    const std::size_t head = bytes.find("\r\n\r\n") + 4;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      RequestParser parser;
      const auto space = parser.prepare();
      std::memcpy(space.data(), bytes.data(), size);
      parser.commit(size);
      EXPECT_EQ(parser.next(), size < head ? Event::none : Event::head) << size;
      EXPECT_EQ(parser.next(), Event::none);
      EXPECT_EQ(parser.partial(), size != 0) << size;
      parser.release();  // does nothing in the middle of a request
      Events out;
      feed(parser, std::string_view(bytes).substr(size), out);
      EXPECT_EQ(out.size(), 1u);
      EXPECT_FALSE(parser.partial());
    }
  }
}

TEST(RequestParser, TheHeadComesFirstWhenTheBodyIsLate) {
  RequestParser parser;
  const std::string head = "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n";
  auto space = parser.prepare();
  std::memcpy(space.data(), head.data(), head.size());
  parser.commit(head.size());
  ASSERT_EQ(parser.next(), Event::head);
  EXPECT_EQ(written(parser), "POST /mcp [Host=a][Content-Length=100000] ");
  EXPECT_EQ(parser.next(), Event::none);
  Events out;
  feed(parser, std::string(99'999, 'x'), out);
  EXPECT_TRUE(out.empty());
  // The buffer has moved several times by now; the head moved along.
  feed(parser, "y", out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0], "POST /mcp [Host=a][Content-Length=100000] " + std::string(99'999, 'x') + "y");
}

TEST(RequestParser, OneEmptyLineBeforeARequestIsSkipped) {
  same_for_every_split("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", {}, {"GET / [Host=a] "});
  refused("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "more than one empty line");
  refused("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "0x0a");
  refused("\r\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "0x0a");
  refused("\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "method");
  RequestParser parser;
  Events out;
  feed(parser, "GET / HTTP/1.1\r\nHost: a\r\n\r\n\r\n", out);
  EXPECT_FALSE(parser.partial());  // the stray line is no request that has begun
}

TEST(RequestParser, RequestLinesThatAreRefused) {
  const auto line = [](std::string_view text) { return std::string(text) + "\r\nHost: a\r\n\r\n"; };
  for (const std::string_view bad : {"GET",
                                     "GET ",
                                     "GET /",
                                     "GET / ",
                                     "GET  / HTTP/1.1",
                                     "GET /  HTTP/1.1",
                                     "GET / HTTP/1.1 ",
                                     "GET\t/ HTTP/1.1",
                                     "GET /\tHTTP/1.1",
                                     "GET / x HTTP/1.1",
                                     "G(T / HTTP/1.1",
                                     "GET: / HTTP/1.1",
                                     "GET / http/1.1",
                                     "GET / HTTP/1",
                                     "GET / HTTP/11",
                                     "GET / HTTP/1.10",
                                     "GET / HTTP/1.x",
                                     "GET / HTTP/01.1",
                                     "GET / HTTP 1.1",
                                     "GET / HTTPS/1.1",
                                     "GET / ICE/1.0",
                                     "GET http://a/ HTTP/1.1",
                                     "CONNECT a:443 HTTP/1.1",
                                     "GET * HTTP/1.1",
                                     "OPTIONS ** HTTP/1.1",
                                     "OPTIONS *? HTTP/1.1",
                                     "GET a HTTP/1.1",
                                     "GET ?a HTTP/1.1",
                                     "GET /#a HTTP/1.1",
                                     "GET /\x7f HTTP/1.1",
                                     "GET /\x80 HTTP/1.1",
                                     "GET /\xc3\xa4 HTTP/1.1",
                                     "GET /\x01 HTTP/1.1",
                                     "GET /a\rb HTTP/1.1",
                                     "GET / HTTP/1.1\r",
                                     "HTTP/1.1 200 OK"}) {
    refused(line(bad), 400, "");
  }
  refused(line(std::string_view("GET /\0 HTTP/1.1", 15)), 400, "0x00 at offset 5");
  refused("GET / HTTP/1.1\nHost: a\n\n", 400, "CR LF");
  refused("GET / HTTP/1.1\r\nHost: a\n\r\n", 400, "CR LF");
  refused("GET / HTTP/1.1\r\nHost: a\r\n\n", 400, "CR LF");
  refused(line("GET / HTTP/2.0"), 505, "HTTP/2.0");
  refused(line("GET / HTTP/1.2"), 505, "HTTP/1.2");
  refused(line("GET / HTTP/0.9"), 505, "HTTP/0.9");
  refused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "HTTP/1.1 is");
}

TEST(RequestParser, WhatIsNoHttpIsRefusedAtItsFirstByte) {
  refused(std::string_view("\x16\x03\x01\x02\x00\x01", 6), 400, "TLS");
  refused("{\"jsonrpc\"", 400, "0x7b");
  refused(" GET", 400, "0x20");
  refused(std::string_view("\0", 1), 400, "0x00");
}

TEST(RequestParser, MethodsAreTokensKnownOrNot) {
  for (const std::string_view method : {"GET", "get", "M-SEARCH", "QUERY", "!#$%&'*+-.^_`|~0aZ"}) {
    same_for_every_split(std::string(method) + " / HTTP/1.1\r\nHost: a\r\n\r\n", {},
                         {std::string(method) + " / [Host=a] "});
  }
}

TEST(RequestParser, HostsAreCheckedAndThereIsOne) {
  const auto host = [](std::string_view value, std::string_view version = "1.1") {
    return "GET / HTTP/" + std::string(version) + "\r\nHost: " + std::string(value) + "\r\n\r\n";
  };
  for (const std::string_view good :
       {"a", "A.example", "a_b-c.example.", "127.0.0.1", "127.0.0.1:1", "a:65535", "[::1]",
        "[::1]:8080", "[fe80::1:ABcd]", "[::ffff:1.2.3.4]:80", " a\t"}) {
    EXPECT_EQ(parse(host(good)).size(), 1u) << good;
    EXPECT_FALSE(over(parse(host(good)))) << good;
  }
  for (const std::string_view bad :
       {"",     "a,b",  "a, b",    "a b",      "u@a",    "u:p@a", "a:",          "a:b",
        "a:-1", "a:+1", "a:65536", "a:000080", "a:1:2",  ":80",   "::1",         "[::1",
        "::1]", "[]",   "[:]",     "[::1]x",   "[::1]:", "[::g]", "[::1%25e]",   "http://a",
        "a/",   "a?",   "a#",      "a%41",     "a\\b",   "[a]",   "0.0.0.0=5000"}) {
    refused(host(bad), 400, "Host is");
    refused(host(bad, "1.0"), 400, "Host is");
  }
  refused(host(std::string(256, 'a')), 400, "Host is");
  EXPECT_FALSE(over(parse(host(std::string(255, 'a')))));
  refused("GET / HTTP/1.1\r\n\r\n", 400, "Host is missing");
  refused("GET / HTTP/1.0\r\n\r\n", 400, "Host is missing");
  refused("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400, "Host is given twice");
  refused("GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nhOST: b\r\n\r\n", 400, "Host is given twice");
}

TEST(RequestParser, HeaderLinesThatAreRefused) {
  const std::pair<std::string, std::string> cases[] = {
      {"X : y\r\n", "0x20"},
      {"X\t: y\r\n", "0x09"},
      {": y\r\n", "no name"},
      {"X\r\n", "no colon"},
      {" X: y\r\n", "begins with white space"},
      {"X: y\r\n z\r\n", "begins with white space"},
      {"X: y\r\n\tz\r\n", "begins with white space"},
      {"X: y\r\n \r\n", "begins with white space"},
      {"X Y: z\r\n", "0x20"},
      {"X(: z\r\n", "0x28"},
      {"X\x80: z\r\n", "0x80"},
      {"X\rY: z\r\n", "0x0d"},
      {"X: y\rz\r\n", "0x0d"},
      {"X: y\r\r\n", "0x0d"},
      {"X: y\n", "CR LF"},
      {"X: \x0b\r\n", "0x0b"},
      {"X: a\x7f\r\n", "0x7f"},
      {"X: a\x80g\r\n", "0x80"},
      {"X: \xff\r\n", "0xff"},
      {"X: a long value with \x1f in it\r\n", "0x1f"},
      {"X: a long value with \xc3\xa4 in it\r\n", "0xc3"},
      {"X: the last byte of it is bad\x01\r\n", "0x01"},
      {std::string("X: a\0b\r\n", 8), "0x00"},
      {std::string("\0: b\r\n", 6), "0x00"},
  };
  for (const auto& [fields, why] : cases) refused(with_fields(fields), 400, why);
}

TEST(RequestParser, EveryByteInAValue) {
  for (int c = 0; c < 256; ++c) {
    for (const std::string around : {"", "0123456789"}) {
      const std::string value = "a" + around + static_cast<char>(c) + around + "b";
      const bool good = c == '\t' || (c >= 0x20 && c < 0x7f);
      EXPECT_EQ(over(parse(with_fields("X: " + value + "\r\n"))), !good) << c;
    }
  }
}

TEST(RequestParser, LengthsThatAreRefused) {
  for (const std::string_view bad :
       {"", "+1", "-1", "0x1", "1 1", "1,1", "1, 1", "1.0", "1e1", "a", "1a", "1;", "\"1\"", "1_0",
        "00000000000000000001", "18446744073709551616", "99999999999999999999999"}) {
    refused(with_fields("Content-Length: " + std::string(bad) + "\r\n", "x"), 400,
            "Content-Length is");
  }
  refused(with_fields("Content-Length: 1\r\nContent-Length: 1\r\n", "x"), 400, "twice");
  refused(with_fields("Content-Length: 0\r\ncontent-length: 1\r\n", "x"), 400, "twice");
  EXPECT_EQ(parse(with_fields("Content-Length: 0000000000000000001\r\n", "x")).size(), 1u);
  refused(with_fields("Content-Length: 9999999999999999999\r\n"), 413, "9999999999999999999 bytes");
}

TEST(RequestParser, CodingsThatAreRefused) {
  const auto coded = [](std::string_view value) {
    return with_fields("Transfer-Encoding: " + std::string(value) + "\r\n", "0\r\n\r\n");
  };
  for (const std::string_view bad :
       {"gzip", "gzip, chunked", "chunked, gzip", "chunked, chunked", "xchunked", "chunkedx",
        "chunked;a=b", "identity", "chunked,", ",chunked", "\"chunked\"", "chunke", ""}) {
    refused(coded(bad), 501, "Transfer-Encoding is");
  }
  refused(coded("\x0b"
                "chunked"),
          400, "0x0b");
  refused(coded("chunked\r\nTransfer-Encoding: chunked"), 400, "twice");
  refused(coded("chunked\r\ntransfer-encoding: gzip"), 400, "twice");
  refused(coded("chunked\r\nContent-Length: 5"), 400, "both");
  refused(coded("gzip\r\nContent-Length: 5"), 400, "both");
  refused(with_fields("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400,
          "both");
  refused("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
          "HTTP/1.0");
}

TEST(RequestParser, Chunks) {
  same_for_every_split(chunked("0\r\n\r\n"), {}, {in_chunks});
  same_for_every_split(chunked("000\r\n\r\n"), {}, {in_chunks});
  same_for_every_split(chunked("1\r\na\r\n00002\r\nbc\r\nA\r\n0123456789\r\n0\r\n\r\n"), {},
                       {in_chunks + "abc0123456789"});
  same_for_every_split(chunked("1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n"), {},
                       {in_chunks + "abcdefghijklmnopqrstuvwxyz"});
  same_for_every_split(chunked("0000000000000002\r\n\r\n\r\n0\r\n\r\n"), {}, {in_chunks + "\r\n"});
  // Trailers are checked and dropped, whatever they are called.
  same_for_every_split(
      chunked("1\r\na\r\n0\r\nX: y\r\nHost: b\r\nContent-Length: 7\r\nEmpty:\r\n\r\n") +
          with_fields(""),
      {}, {in_chunks + "a", "POST /mcp [Host=a] "});
}

TEST(RequestParser, ChunksThatAreRefused) {
  const std::pair<std::string, std::string> cases[] = {
      {"\r\n", "0x0d"},
      {"\n", "0x0a"},
      {"-1\r\n", "0x2d"},
      {"+1\r\n", "0x2b"},
      {"0x1\r\n", "0x78"},
      {" 1\r\n", "0x20"},
      {"1 \r\n", "0x20"},
      {"1\t\r\n", "0x09"},
      {"1_0\r\n", "0x5f"},
      {"g\r\n", "0x67"},
      {"1;a=b\r\n", "extension"},
      {"1;\r\n", "extension"},
      {";a\r\n", "0x3b"},
      {"1\n", "0x0a"},
      {"1\rx", "CR LF"},
      {"00000000000000001\r\n", "16 digits"},
      {"1\r\nab\r\n", "0x62"},
      {"1\r\na\n", "0x0a"},
      {"1\r\na\rb", "0x62"},
      {"1\r\na0\r\n\r\n", "0x30"},
      {"0\r\nX\r\n", "name of a trailer"},
      {"0\r\n: y\r\n", "name of a trailer"},
      {"0\r\nX : y\r\n", "name of a trailer"},
      {"0\r\n X: y\r\n", "name of a trailer"},
      {"0\r\nX: y\r\n z\r\n", "name of a trailer"},
      {"0\r\nX: \x01\r\n", "value of a trailer"},
      {"0\r\nX: \x80\r\n", "value of a trailer"},
      {"0\r\nX: y\n", "value of a trailer"},
      {"0\r\nX: y\rz", "trailer does not end"},
      {"0\r\n\rx", "end of the chunked body"},
      {"0\r\n\n", "name of a trailer"},
  };
  for (const auto& [body, why] : cases) refused(chunked(body), 400, why);
  refused(chunked("ffffffffffffffff\r\n"), 413, "limit");
  refused(chunked("1\r\na\r\nffffffffffffffff\r\n"), 413, "limit");
}

TEST(RequestParser, Expectations) {
  const Events one = parse(with_fields("Expect: 100-Continue\r\nContent-Length: 1\r\n", "x"));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_TRUE(one[0].ends_with("(continue)"));
  EXPECT_FALSE(parse(with_fields("Expect: 100-continue\r\n"))[0].ends_with("(continue)"));
  EXPECT_FALSE(parse("POST / HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: "
                     "1\r\n\r\nx")[0]
                   .ends_with("(continue)"));
  refused(with_fields("Expect: 200-ok\r\n"), 417, "200-ok");
  refused(with_fields("Expect:\r\n"), 417, "Expect is");
  refused(with_fields("Expect: 100-continue, x\r\n"), 417, "Expect is");
  refused(with_fields("Expect: 100-continue\r\nExpect: x\r\n"), 400, "twice");
}

TEST(RequestParser, WhetherTheConnectionStays) {
  const auto kept = [](std::string_view version, std::string_view fields) {
    const Events out = parse("GET / HTTP/" + std::string(version) + "\r\nHost: a\r\n" +
                             std::string(fields) + "\r\n");
    EXPECT_EQ(out.size(), 1u);
    EXPECT_FALSE(over(out));
    return out.back().find("(close)") == std::string::npos;
  };
  EXPECT_TRUE(kept("1.1", ""));
  EXPECT_TRUE(kept("1.1", "Connection: keep-alive\r\n"));
  EXPECT_FALSE(kept("1.1", "Connection: close\r\n"));
  EXPECT_FALSE(kept("1.1", "connection: x , CLOSE\r\n"));
  EXPECT_FALSE(kept("1.1", "Connection: keep-alive\r\nConnection: close\r\n"));
  EXPECT_TRUE(kept("1.1", "Connection: closed\r\nX: close\r\n"));
  EXPECT_FALSE(kept("1.0", ""));
  EXPECT_TRUE(kept("1.0", "Connection: Keep-Alive\r\n"));
  EXPECT_FALSE(kept("1.0", "Connection: keep-alive, close\r\n"));
}

TEST(RequestParser, UpgradesLeaveTheRestAlone) {
  RequestParser parser;
  const std::string bytes =
      "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: "
      "websocket\r\n\r\n\x81\x05hello";
  const auto space = parser.prepare();
  std::memcpy(space.data(), bytes.data(), bytes.size());
  parser.commit(bytes.size());
  ASSERT_EQ(parser.next(), Event::request);
  EXPECT_TRUE(parser.wants_upgrade());
  EXPECT_EQ(parser.rest(), "\x81\x05hello");
  EXPECT_TRUE(parser.partial());

  const auto wants = [](std::string_view request) {
    return parse(request).back().ends_with("(upgrade)");
  };
  EXPECT_FALSE(wants(with_fields("Upgrade: websocket\r\n")));
  EXPECT_FALSE(wants(with_fields("Connection: upgrade\r\n")));
  EXPECT_FALSE(wants(with_fields("Connection: upgrade\r\nUpgrade:\r\n")));
  EXPECT_TRUE(wants(with_fields("Connection: upgrade\r\nUpgrade: h2c\r\n")));
  EXPECT_FALSE(
      wants("GET / HTTP/1.0\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"));
  // What one request said is forgotten with the next.
  const Events two =
      parse(with_fields("Connection: upgrade, close\r\nUpgrade: x\r\n") + with_fields(""));
  EXPECT_EQ(two.back(), "POST /mcp [Host=a] ");
}

TEST(RequestParser, WhatIsKnownAboutTheConnectionOutlivesTheViews) {
  RequestParser parser;
  Events out;
  const std::string bytes = with_fields("Connection: close\r\n");
  const auto space = parser.prepare();
  std::memcpy(space.data(), bytes.data(), bytes.size());
  parser.commit(bytes.size());
  ASSERT_EQ(parser.next(), Event::request);
  parser.prepare();
  EXPECT_TRUE(parser.request().method.empty());
  EXPECT_FALSE(parser.keep_alive());
}

TEST(RequestParser, AfterAnErrorNothingIsRead) {
  RequestParser parser;
  Events out;
  feed(parser, "GET / HTTP/3.0\r\nHost: a\r\n\r\n" + with_fields(""), out);
  ASSERT_EQ(out.size(), 1u);
  const std::string bytes = with_fields("");
  for (int i = 0; i < 3; ++i) {
    const auto space = parser.prepare();
    ASSERT_GE(space.size(), bytes.size());
    std::memcpy(space.data(), bytes.data(), bytes.size());
    parser.commit(bytes.size());
    EXPECT_EQ(parser.next(), Event::failed);
    EXPECT_EQ(parser.status(), 505);
  }
}

TEST(RequestParser, CanBeMoved) {
  RequestParser parser;
  Events out;
  const std::string bytes = with_fields("Content-Length: 5\r\n", "hello");
  feed(parser, bytes.substr(0, 40), out);
  RequestParser other = std::move(parser);
  feed(other, bytes.substr(40), out);
  EXPECT_EQ(out, Events{"POST /mcp [Host=a][Content-Length=5] hello"});
}

// Requests of all shapes, cut in all ways, come out as they went in.
TEST(RequestParser, RandomRequestsInRandomPieces) {
  std::mt19937 random(7);
  const auto up_to = [&](unsigned most) { return static_cast<unsigned>(random() % (most + 1)); };
  const auto text = [&](std::size_t size, std::string_view from) {
    std::string out;
    while (out.size() < size) out += from[random() % from.size()];
    return out;
  };
  for (int round = 0; round < 300; ++round) {
    std::string bytes;
    Events expected;
    for (unsigned count = 1 + up_to(4); count > 0; --count) {
      std::string wire = text(1 + up_to(6), "GETPOS-x");
      const std::string target = "/" + text(up_to(40), "abc/?&=%20.");
      std::string want = wire + " " + target + " ";
      wire += " " + target + " HTTP/1.1\r\n";
      const auto field = [&](const std::string& name, const std::string& value) {
        wire += name + ":" + text(up_to(2), " \t") + value + text(up_to(2), " \t") + "\r\n";
        want += "[" + name + "=" + value + "]";
      };
      field("Host", "h" + text(up_to(10), "abc.-9"));
      for (unsigned fields = up_to(12); fields > 0; --fields)
        field("X" + text(up_to(20), "abc-XYZ"), text(up_to(60), "abcXYZ;,=\"()/"));
      const std::string body = text(random() % 4 == 0 ? up_to(20'000) : up_to(200), "{}\r\n\":ab0");
      if (random() % 2 == 0) {
        field("Content-Length", std::to_string(body.size()));
        wire += "\r\n" + body;
      } else {
        field("Transfer-Encoding", "chunked");
        wire += "\r\n";
        for (std::size_t at = 0; at < body.size();) {
          const std::string piece = body.substr(at, 1 + up_to(300));
          char digits[32];
          std::snprintf(digits, sizeof digits, random() % 2 ? "%zx" : "%06zX", piece.size());
          wire += digits + ("\r\n" + piece + "\r\n");
          at += piece.size();
        }
        wire += random() % 2 ? "0\r\n\r\n" : "0\r\nTrailer: x\r\n\r\n";
      }
      bytes += wire;
      expected.push_back(want + " " + body);
    }
    RequestParser parser;
    Events out;
    for (std::string_view left = bytes; !left.empty();) {
      const std::size_t size = std::min<std::size_t>(left.size(), 1 + up_to(2000));
      feed(parser, left.substr(0, size), out);
      left.remove_prefix(size);
    }
    ASSERT_EQ(out, expected) << "round " << round;
    ASSERT_FALSE(parser.partial());
  }
}
