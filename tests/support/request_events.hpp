// Feeds a RequestParser in all the ways in which bytes can arrive, and writes down what comes out.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/http/request_parser.hpp"

namespace godwit::test {

using Events = std::vector<std::string>;
using Event = http::RequestParser::Event;
using http::Field;
using http::Request;
using http::RequestParser;

/// "POST /mcp [Host=a][Content-Length=2] {}" and what the parser knows about the connection.
inline std::string written(const RequestParser& parser) {
  const Request& request = parser.request();
  std::string out = std::string(request.method) + " " + std::string(request.target) + " ";
  for (const Field& field : request.fields)
    out += "[" + std::string(field.name) + "=" + std::string(field.value) + "]";
  out += " " + std::string(request.body);
  if (!parser.keep_alive()) out += " (close)";
  if (parser.expects_continue()) out += " (continue)";
  if (parser.wants_upgrade()) out += " (upgrade)";
  return out;
}

inline bool over(const Events& events) {
  return !events.empty() && events.back().find("failed") == 0;
}

/// Takes all events out. Heads are left away, since whether there is one depends on the pieces.
inline void take(RequestParser& parser, Events& out) {
  for (;;) {
    switch (parser.next()) {
      case Event::none:
        return;
      case Event::head:
        EXPECT_TRUE(parser.request().body.empty());
        EXPECT_FALSE(parser.request().method.empty());
        EXPECT_TRUE(parser.partial());
        break;
      case Event::request: {
        const Request& request = parser.request();
        EXPECT_GE(request.spare, RequestParser::padding);
        // All of the padding can be read; the address sanitizer watches.
        unsigned sum = 0;
        for (std::size_t i = 0; i < request.spare && i < RequestParser::padding; ++i)
          sum += static_cast<unsigned char>(request.body.data()[request.body.size() + i]) & 0u;
        EXPECT_EQ(sum, 0u);
        out.push_back(written(parser));
        break;
      }
      case Event::failed:
        EXPECT_EQ(parser.error().code, -32600);
        EXPECT_FALSE(parser.partial());
        EXPECT_FALSE(parser.keep_alive());
        EXPECT_TRUE(parser.rest().empty());
        out.push_back("failed " + std::to_string(parser.status()) + " " + parser.error().message);
        return;
    }
  }
}

inline void feed(RequestParser& parser, std::string_view bytes, Events& out) {
  while (!bytes.empty() && !over(out)) {
    const auto space = parser.prepare();
    ASSERT_FALSE(space.empty());
    const std::size_t size = std::min(space.size(), bytes.size());
    std::memcpy(space.data(), bytes.data(), size);
    parser.commit(size);
    bytes.remove_prefix(size);
    take(parser, out);
  }
}

inline Events parse(std::string_view bytes, const Limits& limits = {},
                    std::size_t piece = SIZE_MAX) {
  RequestParser parser(limits);
  Events out;
  while (!bytes.empty() && !over(out)) {
    feed(parser, bytes.substr(0, piece), out);
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return out;
}

/// The same events whole, split in two at every byte, and byte by byte.
inline void same_for_every_split(std::string_view bytes, const Limits& limits,
                                 const Events& expected) {
  EXPECT_EQ(parse(bytes, limits), expected) << bytes;
  for (const std::size_t piece : {1u, 2u, 3u, 7u})
    EXPECT_EQ(parse(bytes, limits, piece), expected) << "pieces of " << piece;
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    RequestParser parser(limits);
    Events out;
    feed(parser, bytes.substr(0, cut), out);
    feed(parser, bytes.substr(cut), out);
    EXPECT_EQ(out, expected) << "cut at " << cut;
  }
}

/// Refused with this status, whole and in pieces, with the same sentence, which holds `why`.
inline void refused(std::string_view bytes, int status, std::string_view why,
                    const Limits& limits = {}) {
  const Events whole = parse(bytes, limits);
  ASSERT_FALSE(whole.empty()) << bytes;
  EXPECT_TRUE(whole.back().starts_with("failed " + std::to_string(status) + " "))
      << whole.back() << " for: " << bytes;
  EXPECT_NE(whole.back().find(why), std::string::npos) << whole.back();
  EXPECT_EQ(parse(bytes, limits, 1), whole) << bytes;
  EXPECT_EQ(parse(bytes, limits, 5), whole) << bytes;
}

inline std::string with_fields(std::string_view fields, std::string_view body = "") {
  return "POST /mcp HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n" + std::string(body);
}

inline std::string chunked(std::string_view body) {
  return with_fields("Transfer-Encoding: chunked\r\n", body);
}

inline const std::string in_chunks = "POST /mcp [Host=a][Transfer-Encoding=chunked] ";

}  // namespace godwit::test
