// Twice the input, at most two and a half times the steps: for HTTP messages and event streams,
// whole and in small pieces.
#include "work.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "godwit/http/request_parser.hpp"
#include "godwit/http/sse_decoder.hpp"

namespace godwit::inline v0::http {
namespace {

auto repeated(std::string_view before, std::string_view part, std::string_view after) {
  return [=](std::size_t size) {
    std::string text(before);
    for (std::size_t i = 0; i < size; ++i) text += part;
    return text + std::string(after);
  };
}

auto stream(std::size_t piece) {
  return [piece](const std::string& bytes) {
    Limits limits;
    limits.sse_event_bytes = 100u << 20;
    SseDecoder decoder(limits);
    for (std::string_view rest = bytes; !rest.empty();) {
      decoder.feed(rest.substr(0, piece));
      rest.remove_prefix(std::min(piece, rest.size()));
      while (decoder.next() == SseDecoder::Event::event) {
      }
    }
  };
}

auto request(std::size_t piece) {
  return [piece](const std::string& bytes) {
    Limits limits;
    limits.http_headers = 1'000'000;
    limits.http_header_bytes = limits.http_line_bytes = 100u << 20;
    RequestParser parser(limits);
    std::size_t requests = 0;
    for (std::string_view rest = bytes; !rest.empty();) {
      const auto space = parser.prepare();
      ASSERT_FALSE(space.empty());
      const std::size_t size = std::min({space.size(), rest.size(), piece});
      std::memcpy(space.data(), rest.data(), size);
      parser.commit(size);
      rest.remove_prefix(size);
      for (auto event = parser.next(); event != RequestParser::Event::none; event = parser.next()) {
        if (event == RequestParser::Event::head) continue;
        ASSERT_EQ(event, RequestParser::Event::request);
        (void)parser.request().fields.find("Accept");
        (void)parser.request().fields.lists("Accept", "text/event-stream");
        ++requests;
      }
    }
    EXPECT_GE(requests, 1u);
  };
}

/// Up to 64 KiB the buffer of a parser grows with what is read at once, beyond that with the
/// message: only there twice the input is twice as much to copy.
constexpr std::size_t beyond_the_first_buffer = 100'000;

TEST(HttpWork, OfEventStreams) {
  for (const std::size_t piece : {1u, 100u, 1u << 30}) {
    expect_linear({
        {"events", repeated("", "id: 1\ndata: x\n\n", ""), stream(piece)},
        {"one long line", repeated("data: ", "x", "\n\n"), stream(piece)},
        {"one line that never ends", repeated("data: ", "x", ""), stream(piece)},
        {"many lines of one event", repeated("", "data: x\n", "\n"), stream(piece)},
        {"lines that end with CR", repeated("", "data: x\r", "\r"), stream(piece)},
        {"comments", repeated("", ":\n", ""), stream(piece)},
        {"empty lines", repeated("", "\r\n", ""), stream(piece)},
    });
  }
}

TEST(HttpWork, OfRequests) {
  for (const std::size_t piece : {1u, 100u, 1u << 30}) {
    expect_linear({
        {"fields", repeated("GET / HTTP/1.1\r\nHost: a\r\n", "Accept-Language: b\r\n", "\r\n"),
         request(piece)},
        {"a long field", repeated("GET / HTTP/1.1\r\nHost: a\r\nAccept: ", "a, ", "b\r\n\r\n"),
         request(piece)},
        {"a long target", repeated("GET /", "a", " HTTP/1.1\r\nHost: a\r\n\r\n"), request(piece),
         beyond_the_first_buffer},
        {"tiny chunks",
         repeated("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n",
                  "0\r\n\r\n"),
         request(piece), beyond_the_first_buffer},
        {"one after the other", repeated("", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", ""),
         request(piece)},
    });
  }
}

}  // namespace
}  // namespace godwit::inline v0::http
