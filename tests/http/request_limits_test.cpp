// What a request may cost: every limit is exact, and holds while the bytes come in.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "godwit/http/request_parser.hpp"
#include "request_events.hpp"

using godwit::Limits;
using godwit::http::RequestParser;
using namespace godwit::test;

TEST(RequestLimits, OfTheRequestLine) {
  Limits limits;
  limits.http_line_bytes = 30;
  const auto line = [](std::size_t size) {
    return "GET /" + std::string(size - 14, 'x') + " HTTP/1.1";
  };
  const std::string rest = "\r\nHost: a\r\n\r\n";
  for (const std::size_t size : {29u, 30u}) EXPECT_FALSE(over(parse(line(size) + rest, limits, 1)));
  same_for_every_split(line(31) + rest, limits,
                       {"failed 414 the request line is longer than the limit of 30 bytes"});
  // Long and wrong: the same answer, however it comes.
  refused(std::string(31, 'x'), 414, "30 bytes", limits);
  refused(std::string(30, 'x') + "\r\r\n", 414, "30 bytes", limits);
  refused(std::string(31, 'x') + "\n", 414, "30 bytes", limits);
}

TEST(RequestLimits, OfAHeaderLine) {
  Limits limits;
  limits.http_line_bytes = 30;
  const auto request = [](std::size_t size) {
    return with_fields("X: " + std::string(size - 3, 'y') + "\r\n");
  };
  for (const std::size_t size : {29u, 30u}) EXPECT_FALSE(over(parse(request(size), limits, 1)));
  same_for_every_split(request(31), limits,
                       {"failed 431 a header line is longer than the limit of 30 bytes"});
}

TEST(RequestLimits, OfAllHeaderLines) {
  const std::string request = with_fields("X: y\r\nX: " + std::string(20, 'z') + "\r\n");
  const std::size_t size = std::strlen("Host: a\r\nX: y\r\nX: \r\n") + 20;
  Limits limits;
  for (const std::size_t most : {size, size + 1}) {
    limits.http_header_bytes = most;
    EXPECT_FALSE(over(parse(request, limits, 1)));
    EXPECT_FALSE(over(parse(request, limits)));
  }
  limits.http_header_bytes = size - 1;
  same_for_every_split(
      request, limits,
      {"failed 431 the header is longer than the limit of " + std::to_string(size - 1) + " bytes"});
}

TEST(RequestLimits, OfTheNumberOfFields) {
  Limits limits;
  limits.http_headers = 3;
  EXPECT_FALSE(over(parse(with_fields("A: b\r\n"), limits, 1)));
  EXPECT_FALSE(over(parse(with_fields("A: b\r\nC: d\r\n"), limits, 1)));
  same_for_every_split(with_fields("A: b\r\nC: d\r\nE: f\r\n"), limits,
                       {"failed 431 there are more header fields than the limit of 3"});
}

TEST(RequestLimits, OfTheBody) {
  Limits limits;
  limits.message_bytes_in = 10;
  const auto counted = [](std::size_t size) {
    return with_fields("Content-Length: " + std::to_string(size) + "\r\n", std::string(size, 'x'));
  };
  EXPECT_FALSE(over(parse(counted(9), limits, 1)));
  EXPECT_FALSE(over(parse(counted(10), limits, 1)));
  same_for_every_split(counted(11), limits,
                       {"failed 413 the body of 11 bytes is longer than the limit of 10 bytes"});
  // At once, before any of it comes.
  refused(with_fields("Content-Length: 11\r\n"), 413, "11 bytes", limits);

  EXPECT_FALSE(over(parse(chunked("5\r\n12345\r\n4\r\n1234\r\n0\r\n\r\n"), limits, 1)));
  EXPECT_FALSE(over(parse(chunked("5\r\n12345\r\n5\r\n12345\r\n0\r\n\r\n"), limits, 1)));
  EXPECT_FALSE(over(parse(chunked("a\r\n1234567890\r\n0\r\n\r\n"), limits, 1)));
  same_for_every_split(chunked("5\r\n12345\r\n6\r\n123456\r\n0\r\n\r\n"), limits,
                       {"failed 413 the body is longer than the limit of 10 bytes"});
  refused(chunked("b\r\n"), 413, "10 bytes", limits);
}

TEST(RequestLimits, OfTheTrailers) {
  Limits limits;
  const std::string request = chunked("0\r\nX: y\r\nZ: abc\r\n\r\n");
  const std::size_t size = std::strlen("X: y\r\nZ: abc\r\n");
  for (const std::size_t most : {size, size + 1}) {
    limits.http_trailer_bytes = most;
    same_for_every_split(request, limits, {in_chunks});
  }
  limits.http_trailer_bytes = size - 1;
  same_for_every_split(request, limits,
                       {"failed 400 the trailers of the body are longer than the limit of 13 "
                        "bytes"});
}

TEST(RequestLimits, EndlessLinesCostNoMemory) {
  const std::string before[] = {
      "",          "GET /",          "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX: ",
      chunked(""), chunked("0\r\n"), chunked("0\r\nX: "),
  };
  for (const std::string& begin : before) {
    RequestParser parser;
    Events out;
    feed(parser, begin, out);
    const std::string more(10'000, 'x');
    std::size_t most = 0;
    for (int i = 0; i < 1000 && !over(out); ++i) {
      feed(parser, more, out);
      most = std::max(most, parser.capacity());
    }
    EXPECT_TRUE(over(out)) << begin;
    EXPECT_LE(most, 80u << 10) << begin;
  }
  // Many short lines are no way around it.
  RequestParser parser;
  Events out;
  feed(parser, "GET / HTTP/1.1\r\n", out);
  for (int i = 0; i < 100'000 && !over(out); ++i) feed(parser, "X:\r\n", out);
  EXPECT_TRUE(over(out));
  EXPECT_LE(parser.capacity(), 16u << 10);
}

TEST(RequestLimits, SmallChunksCostNoMoreThanTheBody) {
  Limits limits;
  RequestParser parser(limits);
  Events out;
  feed(parser, chunked(""), out);
  for (int i = 0; i < 20'000; ++i) feed(parser, "0000000000000001\r\nx\r\n", out);
  EXPECT_LE(parser.capacity(), 64u << 10);
  feed(parser, "0\r\n\r\n", out);
  EXPECT_EQ(out, Events{in_chunks + std::string(20'000, 'x')});
}

TEST(RequestLimits, AnAnnouncedSizeCostsNoMemory) {
  for (const std::string& request :
       {with_fields("Content-Length: 4000000\r\n", "x"), chunked("3d0900\r\nx")}) {
    RequestParser parser;
    Events out;
    feed(parser, request, out);
    parser.prepare();
    EXPECT_LE(parser.capacity(), 8u << 10);
  }
}

TEST(RequestLimits, GivesMemoryBack) {
  RequestParser parser;
  EXPECT_EQ(parser.capacity(), 0u);
  parser.prepare();
  EXPECT_LE(parser.capacity(), 5u << 10);
  Events out;
  const std::string large(3u << 20, 'x');
  feed(parser, with_fields("Content-Length: " + std::to_string(large.size()) + "\r\n", large), out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_FALSE(over(out));
  EXPECT_LE(parser.capacity(), 9u << 20);
  parser.prepare();
  EXPECT_LE(parser.capacity(), 66u << 10);
  EXPECT_FALSE(parser.partial());
  parser.release();
  EXPECT_EQ(parser.capacity(), 0u);
  feed(parser, with_fields(""), out);
  EXPECT_EQ(out.back(), "POST /mcp [Host=a] ");
}
