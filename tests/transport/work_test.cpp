// Twice the input, at most two and a half times the steps: for framed messages, whole and in small
// pieces.
#include "work.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "godwit/transport/framing.hpp"
#include "godwit/transport/websocket_decoder.hpp"
#include "websocket_frames.hpp"

namespace godwit::inline v0 {
namespace {

auto repeated(std::string before, std::string part, std::string after) {
  return [=](std::size_t size) {
    std::string text = before;
    for (std::size_t i = 0; i < size; ++i) text += part;
    return text + after;
  };
}

template <class Decoder, class... Kind>
auto decode(std::size_t piece, Kind... kind) {
  return [=](const std::string& bytes) {
    Limits limits;
    limits.ws_fragments = 1'000'000;
    limits.message_bytes_in = 1u << 20;
    Decoder decoder(kind..., limits);
    for (std::string_view rest = bytes; !rest.empty();) {
      const auto space = decoder.prepare();
      ASSERT_FALSE(space.empty());
      const std::size_t size = std::min({space.size(), rest.size(), piece});
      std::memcpy(space.data(), rest.data(), size);
      decoder.commit(size);
      rest.remove_prefix(size);
      for (auto event = decoder.next(); event != Decoder::Event::none; event = decoder.next()) {
        if constexpr (requires { Decoder::Event::fatal; }) {
          ASSERT_NE(event, Decoder::Event::fatal) << decoder.error().message;
        }
      }
    }
  };
}

TEST(TransportWork, OfLinesAndFrames) {
  for (const std::size_t piece : {1u, 100u, 1u << 30}) {
    const auto lines = decode<FrameDecoder>(piece, Framing::newline);
    const auto frames = decode<FrameDecoder>(piece, Framing::content_length);
    expect_linear({
        {"short lines", repeated("", "{}\n", ""), lines},
        {"one long line", repeated("", "x", "\n"), lines, 100'000},
        {"a line beyond the limit", repeated("", std::string(1'000, 'x'), ""), lines, 1'500},
        {"empty lines", repeated("", "\n", ""), lines},
        {"short frames", repeated("", "Content-Length: 2\r\n\r\n{}", ""), frames},
        {"a long frame", repeated("Content-Length: 1000000\r\n\r\n", "x", ""), frames, 100'000},
    });
  }
}

TEST(TransportWork, OfWebSockets) {
  using test::ws_frame;
  for (const std::size_t piece : {1u, 100u, 1u << 30}) {
    const auto server = decode<WebSocketDecoder>(piece, WebSocketSide::server);
    expect_linear({
        {"short messages", repeated("", ws_frame("{}"), ""), server},
        {"one of many fragments",
         repeated(ws_frame("x", {.final = false}), ws_frame("x", {.opcode = 0, .final = false}),
                  ws_frame("", {.opcode = 0})),
         server},
        {"fragments with pings between",
         repeated(ws_frame("x", {.final = false}),
                  ws_frame("x", {.opcode = 0, .final = false}) + ws_frame("p", {.opcode = 9}),
                  ws_frame("", {.opcode = 0})),
         server},
        {"a long message", [](std::size_t size) { return ws_frame(std::string(size, 'x')); },
         server, 100'000},
    });
  }
}

}  // namespace
}  // namespace godwit::inline v0
