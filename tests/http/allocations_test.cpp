// Requests, responses and events are read without a heap allocation in the steady state.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "count_allocations.hpp"
#include "godwit/http/request_parser.hpp"
#include "godwit/http/response_parser.hpp"
#include "godwit/http/sse_decoder.hpp"

using godwit::http::RequestParser;
using godwit::http::ResponseParser;
using godwit::http::SseDecoder;

namespace {

/// Allocations of 1,000 rounds after a few to warm up.
template <class Round>
std::size_t count(Round round) {
  for (int i = 0; i < 10; ++i) round();
  const std::size_t before = allocations;
  for (int i = 0; i < 1000; ++i) round();
  return allocations - before;
}

template <class Parser>
void put(Parser& parser, std::string_view bytes) {
  std::memcpy(parser.prepare().data(), bytes.data(), bytes.size());
  parser.commit(bytes.size());
}

const std::string fields =
    "Host: localhost:8080\r\nAccept: application/json, text/event-stream\r\nConnection: "
    "keep-alive\r\nMcp-Session-Id: 0123456789abcdef\r\n";

}  // namespace

TEST(HttpAllocations, NoneForARequest) {
  for (const std::string end :
       {"Content-Length: 2\r\n\r\n{}", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"}) {
    const std::string bytes = "POST /mcp HTTP/1.1\r\n" + fields + end;
    RequestParser parser;
    EXPECT_EQ(count([&] {
                put(parser, std::string_view(bytes).substr(0, 50));
                ASSERT_EQ(parser.next(), RequestParser::Event::none);
                put(parser, std::string_view(bytes).substr(50));
                ASSERT_EQ(parser.next(), RequestParser::Event::request);
                ASSERT_EQ(parser.request().body, "{}");
              }),
              0u);
  }
}

TEST(HttpAllocations, NoneForAResponse) {
  const std::string bytes =
      "HTTP/1.1 200 OK\r\n" + fields + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
  ResponseParser parser;
  EXPECT_EQ(count([&] {
              parser.begin("POST");
              put(parser, bytes);
              ASSERT_EQ(parser.next(), ResponseParser::Event::head);
              ASSERT_EQ(parser.next(), ResponseParser::Event::body);
              ASSERT_EQ(parser.next(), ResponseParser::Event::end);
            }),
            0u);
}

TEST(HttpAllocations, NoneForAnEvent) {
  const std::string bytes =
      "event: message\nid: an id that is longer than a string holds by itself\ndata: " +
      std::string(500, 'x') + "\n\n";
  SseDecoder decoder;
  EXPECT_EQ(count([&] {
              decoder.feed(bytes);
              ASSERT_EQ(decoder.next(), SseDecoder::Event::event);
            }),
            0u);
}
