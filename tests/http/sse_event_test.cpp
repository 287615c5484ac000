#include "godwit/http/sse_event.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>

using godwit::http::SseEvent;

namespace {

std::string written(const SseEvent& event) {
  std::string out;
  godwit::http::write_event(out, event);
  return out;
}

}  // namespace

TEST(SseEvent, Lines) {
  EXPECT_EQ(written({.data = "{}"}), "data: {}\n\n");
  EXPECT_EQ(written({.event = "message", .data = "x", .id = "7", .retry = 3000}),
            "event: message\nid: 7\nretry: 3000\ndata: x\n\n");
  // An empty line of data, so that browsers see the event and its id, too.
  EXPECT_EQ(written({.id = "7"}), "id: 7\ndata: \n\n");
  EXPECT_EQ(written({.id = ""}), "id: \ndata: \n\n");
  EXPECT_EQ(written({}), "data: \n\n");
  EXPECT_EQ(written({.data = " x"}), "data:  x\n\n");
  std::string out = "before";
  godwit::http::write_event(out, {.data = "x"});
  EXPECT_EQ(out, "beforedata: x\n\n");
}

TEST(SseEvent, EveryKindOfLineBreak) {
  EXPECT_EQ(written({.data = "a\nb"}), "data: a\ndata: b\n\n");
  EXPECT_EQ(written({.data = "a\rb"}), "data: a\ndata: b\n\n");
  EXPECT_EQ(written({.data = "a\r\nb"}), "data: a\ndata: b\n\n");
  EXPECT_EQ(written({.data = "a\n\rb"}), "data: a\ndata: \ndata: b\n\n");
  EXPECT_EQ(written({.data = "a\r\n"}), "data: a\ndata: \n\n");
  EXPECT_EQ(written({.data = "\n"}), "data: \ndata: \n\n");
  EXPECT_EQ(written({.data = "a\r"}), "data: a\ndata: \n\n");
}

TEST(SseEvent, InPartsItIsTheSame) {
  for (const std::string_view data : {"", "x", "a\nb", "a\r\nb", "a\r", "\n", "\r\n\r\n", "a\n\rb",
                                      "a longer line\nand another\n"}) {
    const SseEvent event{.event = "message", .data = data, .id = "7", .retry = 3000};
    for (std::size_t most = 0; most < 40; ++most) {
      godwit::http::SsePart part;
      std::string all;
      int parts = 0;
      for (bool complete = false; !complete && parts < 1'000; ++parts) {
        std::string out;
        complete = godwit::http::write_event_part(out, event, part, most);
        if (parts > 0) {
          EXPECT_LE(out.size(), most + 8) << most;
        }
        all += out;
        if (most == 0) most = 1;  // which must not stand still
      }
      EXPECT_EQ(all, written(event)) << most;
    }
  }
}

TEST(SseEvent, WhatWouldBreakTheStreamApartThrows) {
  for (const std::string_view bad :
       {std::string_view("a\nb"), std::string_view("a\r"), std::string_view("\0", 1)}) {
    std::string out = "before";
    EXPECT_THROW(godwit::http::write_event(out, {.data = "x", .id = bad}), std::invalid_argument);
    EXPECT_THROW(godwit::http::write_event(out, {.event = bad, .data = "x"}),
                 std::invalid_argument);
    EXPECT_EQ(out, "before");
  }
}

TEST(SseEvent, AComment) {
  std::string out = "before";
  godwit::http::write_comment(out);
  EXPECT_EQ(out, "before:\n\n");
}
