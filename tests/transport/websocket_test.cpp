#include "godwit/transport/websocket.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "godwit/transport/connection.hpp"
#include "raw_end.hpp"
#include "receiver.hpp"
#include "wait.hpp"
#include "websocket_frames.hpp"

using namespace std::chrono_literals;
using godwit::Descriptor;
using godwit::Limits;
using godwit::Loop;
using godwit::Stream;
using godwit::WebSocketOptions;
using godwit::WebSocketSide;
using godwit::WebSocketTransport;
using godwit::test::RawEnd;
using godwit::test::Recorder;
using godwit::test::run_until;
using godwit::test::send;
using godwit::test::ws_close;
using godwit::test::ws_frame;
using godwit::test::ws_unmasked;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

struct Ends {
  Stream near, far;
};
Ends ends(Loop& loop) {
  int pair[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
  return {*Stream::open(loop, Descriptor(pair[0])), *Stream::open(loop, Descriptor(pair[1]))};
}

/// A WebSocket whose handshake is done, and bytes at its other end.
struct Wire {
  explicit Wire(const Limits& limits = {}, WebSocketSide side = WebSocketSide::server,
                std::string_view rest = {})
      : socket(std::make_unique<WebSocketTransport>(loop, std::move(both.near), side, rest,
                                                    WebSocketOptions{.limits = limits})) {}

  void start() { socket->start(seen); }
  bool until(auto condition) { return run_until(loop, condition); }

  Loop loop;
  Ends both = ends(loop);
  RawEnd raw{std::move(both.far)};
  Recorder seen;
  std::unique_ptr<WebSocketTransport> socket;
};

// --- messages

TEST(WebSocket, Messages) {
  Wire wire;
  wire.start();
  wire.raw.say(ws_frame("{\"one\":1}") + ws_frame("{\"tw", {.final = false}) +
               ws_frame("o\":2}", {.opcode = 0}));
  ASSERT_TRUE(wire.until([&] { return wire.seen.messages.size() == 2; }));
  EXPECT_EQ(wire.seen.messages[0], "{\"one\":1}");
  EXPECT_EQ(wire.seen.messages[1], "{\"two\":2}");
  EXPECT_GE(wire.seen.least_spare, 64u);
  send(*wire.socket, "{\"three\":3}");
  send(*wire.socket, std::string(70'000, 'x'));
  const std::string expected = ws_unmasked("{\"three\":3}") + ws_unmasked(std::string(70'000, 'x'));
  ASSERT_TRUE(wire.until([&] { return wire.raw.got.size() >= expected.size(); }));
  EXPECT_EQ(wire.raw.got, expected);
}

TEST(WebSocket, EveryByteAlone) {
  Wire wire;
  wire.start();
  const std::string bytes = ws_frame("{\"a\":\"\xe2\x82\xac\"}") + ws_frame("hi", {.opcode = 9}) +
                            ws_frame("{\"b\"", {.final = false}) + ws_frame("", {.opcode = 9}) +
                            ws_frame(":1}", {.opcode = 0}) + ws_frame(std::string(300, 'c'));
  for (const char byte : bytes) {
    wire.raw.say({&byte, 1});
    wire.loop.poll();
  }
  ASSERT_TRUE(wire.until([&] { return wire.seen.messages.size() == 3; }));
  EXPECT_EQ(wire.seen.messages[1], "{\"b\":1}");
  ASSERT_TRUE(wire.until([&] { return wire.raw.got.size() >= 6; }));
  EXPECT_EQ(wire.raw.got, ws_unmasked("hi", 10) + ws_unmasked("", 10));
}

TEST(WebSocket, WhatCameBehindTheHandshake) {
  Wire wire({}, WebSocketSide::server, ws_frame("early") + ws_frame("bird").substr(0, 8));
  wire.start();
  EXPECT_TRUE(wire.seen.messages.empty());  // not inside the call
  ASSERT_TRUE(wire.until([&] { return wire.seen.messages.size() == 1; }));
  wire.raw.say(ws_frame("bird").substr(8));
  ASSERT_TRUE(wire.until([&] { return wire.seen.messages.size() == 2; }));
  EXPECT_EQ(wire.seen.messages[1], "bird");
}

TEST(WebSocket, AClientMasksWithSomethingElseEachTime) {
  Wire wire({.ws_close_time = 30ms}, WebSocketSide::client);
  wire.start();
  for (int i = 0; i < 8; ++i) send(*wire.socket, "same");
  ASSERT_TRUE(wire.until([&] { return wire.raw.got.size() == 8 * 10; }));
  std::vector<std::string> masks;
  for (std::size_t i = 0; i < 8; ++i) {
    const std::string frame = wire.raw.got.substr(i * 10, 10);
    EXPECT_EQ(frame.substr(0, 2), "\x81\x84");
    masks.push_back(frame.substr(2, 4));
    std::string text = frame.substr(6);
    for (std::size_t k = 0; k < 4; ++k) text[k] = static_cast<char>(text[k] ^ masks.back()[k]);
    EXPECT_EQ(text, "same");
  }
  std::ranges::sort(masks);
  EXPECT_GT(std::unique(masks.begin(), masks.end()) - masks.begin(), 6);
  wire.raw.say(ws_frame("masked"));
  ASSERT_TRUE(wire.until([&] { return wire.seen.closed == 1; }));
  EXPECT_THAT(wire.seen.why, HasSubstr("must not mask"));
}

TEST(WebSocket, AnswersOfABurstLeaveTogether) {
  Wire wire;
  wire.seen.on_each = [&](std::string_view message) {
    send(*wire.socket, "re: " + std::string(message));
  };
  wire.start();
  std::string bytes;
  std::string expected;
  for (int i = 0; i < 50; ++i) {
    bytes += ws_frame(std::to_string(i));
    expected += ws_unmasked("re: " + std::to_string(i));
  }
  wire.raw.say(bytes);
  ASSERT_TRUE(wire.until([&] { return wire.raw.got.size() >= expected.size(); }));
  EXPECT_EQ(wire.raw.got, expected);
}

// --- control frames

TEST(WebSocket, PingsAreAnsweredWithWhatTheyCarry) {
  Wire wire;
  wire.start();
  std::string expected;
  for (int i = 0; i < 10; ++i) {
    wire.raw.say(ws_frame("ping " + std::to_string(i), {.opcode = 9}));
    expected += ws_unmasked("ping " + std::to_string(i), 10);
  }
  wire.raw.say(ws_frame("nobody asked", {.opcode = 10}));
  ASSERT_TRUE(wire.until([&] { return wire.raw.got.size() >= expected.size(); }));
  EXPECT_EQ(wire.raw.got, expected);
  EXPECT_EQ(wire.seen.closed, 0);
}

TEST(WebSocket, AsManyControlFramesAsAllowed) {
  const Limits limits{};
  std::string allowed;
  for (std::size_t i = 0; i < limits.ws_control_frames; ++i)
    allowed += ws_frame("", {.opcode = 10});
  {
    Wire wire;
    wire.start();
    wire.raw.say(allowed + ws_frame("fine"));
    ASSERT_TRUE(wire.until([&] { return wire.seen.messages.size() == 1; }));
    EXPECT_EQ(wire.seen.closed, 0);
  }
  Wire wire;
  wire.start();
  wire.raw.say(allowed + ws_frame("", {.opcode = 10}) + ws_frame("not read"));
  ASSERT_TRUE(wire.until([&] { return wire.raw.ended; }));
  EXPECT_EQ(wire.raw.got, ws_close(1008, "too many control frames", false));
  wire.raw.stream.reset();
  ASSERT_TRUE(wire.until([&] { return wire.seen.closed == 1; }));
  EXPECT_THAT(wire.seen.why, HasSubstr("more than 50 control frames"));
  EXPECT_TRUE(wire.seen.messages.empty());
}

TEST(WebSocket, SilenceIsBrokenByAPing) {
  Wire wire({.ws_ping_time = 50ms});
  wire.start();
  for (std::size_t i = 1; i <= 3; ++i) {  // answered, it goes on
    ASSERT_TRUE(wire.until([&] { return wire.raw.got.size() == 2 * i; }));
    EXPECT_EQ(wire.raw.got.substr(2 * (i - 1)), ws_unmasked("", 9));
    wire.raw.say(ws_frame("", {.opcode = 10}));
    wire.loop.run_for(5ms);
  }
  ASSERT_TRUE(wire.until([&] { return wire.seen.closed == 1; }));  // not answered
  EXPECT_THAT(wire.seen.why, HasSubstr("not even to a ping"));
  ASSERT_TRUE(wire.until([&] { return wire.raw.ended; }));
}

// --- what is refused

TEST(WebSocket, BrokenRulesAreToldInTheClosingFrame) {
  const struct {
    std::string bytes;
    int code;
    const char* words;
  } cases[] = {
      {ws_frame("x", {.masked = false}), 1002, "a client must mask its frames"},
      {ws_frame("x", {.opcode = 2}), 1003, "messages are text here, not binary data"},
      {ws_frame("\xff"), 1007, "the message is not valid UTF-8"},
      {ws_frame("", {.length = 1001}), 1009, "the message is larger than 1000 bytes"},
  };
  for (const auto& one : cases) {
    Wire wire({.message_bytes_in = 1000});
    wire.seen.on_each = [&](std::string_view) { send(*wire.socket, "answered"); };
    wire.start();
    wire.raw.say(ws_frame("before") + one.bytes + ws_frame("after"));
    ASSERT_TRUE(wire.until([&] { return wire.raw.ended; }));
    EXPECT_EQ(wire.raw.got, ws_unmasked("answered") + ws_close(one.code, one.words, false));
    EXPECT_EQ(wire.seen.messages.size(), 1u);
    // The other side has its time to read that; then the connection is over.
    wire.raw.say(ws_close(one.code));
    EXPECT_EQ(wire.seen.closed, 0);
    wire.raw.stream.reset();
    ASSERT_TRUE(wire.until([&] { return wire.seen.closed == 1; }));
    EXPECT_THAT(wire.seen.why, HasSubstr(one.words));
    EXPECT_THAT(wire.seen.why, HasSubstr(std::to_string(one.code)));
  }
}

TEST(WebSocket, OneWhoSendsOnAfterBreakingTheRules) {
  Wire wire({.ws_close_time = 100ms});
  wire.start();
  wire.raw.say("\xff\xff garbage");
  ASSERT_TRUE(wire.until([&] {
    wire.raw.say(std::string(10'000, 'x'));
    return wire.seen.closed == 1;
  }));
  EXPECT_THAT(wire.seen.why, HasSubstr("broke the WebSocket protocol"));
}

TEST(WebSocket, AClientClosesWhenTheServerSendsTextThatIsNoJson) {
  for (const char* const text : {"hello", "{\"jsonrpc\":\"2.0\",", "", "\xEF\xBB\xBF{}"}) {
    Loop loop;
    Ends both = ends(loop);
    RawEnd raw{std::move(both.far)};
    godwit::Connection client(loop, std::make_unique<WebSocketTransport>(loop, std::move(both.near),
                                                                         WebSocketSide::client));
    std::vector<std::string> outcomes;
    const auto add = [&](godwit::Result<godwit::json::Value> r) {
      outcomes.push_back(r ? "an answer" : r.error().message);
    };
    client.peer().call("a", godwit::rpc::no_params, add);
    client.peer().call("b", godwit::rpc::no_params, add);
    raw.say(ws_unmasked(text) + ws_unmasked(R"({"jsonrpc":"2.0","id":1,"result":{}})"));
    ASSERT_TRUE(run_until(loop, [&] { return raw.ended; })) << text;
    // The last frame: masked, its first bytes are the code.
    ASSERT_GT(raw.got.size(), 27u);
    const std::string close = raw.got.substr(raw.got.size() - 27);
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(close[i]); };
    EXPECT_EQ(byte(0), 0x88);
    EXPECT_EQ(byte(1), 0x80 + 21);
    EXPECT_EQ((byte(6) ^ byte(2)) * 256 + (byte(7) ^ byte(3)), 1007);
    raw.stream.reset();
    ASSERT_TRUE(run_until(loop, [&] { return outcomes.size() == 2; })) << text;
    for (const std::string& outcome : outcomes) EXPECT_THAT(outcome, HasSubstr("no JSON"));
  }
}

TEST(WebSocket, AServerAnswersTextThatIsNoJson) {
  Loop loop;
  Ends both = ends(loop);
  RawEnd raw{std::move(both.far)};
  godwit::Connection server(loop, std::make_unique<WebSocketTransport>(loop, std::move(both.near),
                                                                       WebSocketSide::server));
  raw.say(ws_frame("hello"));
  ASSERT_TRUE(run_until(loop, [&] { return raw.got.find("-32700") != raw.got.npos; }));
  EXPECT_FALSE(server.closed());
}

TEST(WebSocket, MessagesUpToTheLimit) {
  const Limits limits{.message_bytes_in = 100'000};
  Wire wire(limits);
  wire.start();
  wire.raw.say(ws_frame(std::string(99'999, 'x')) + ws_frame(std::string(100'000, 'x')));
  ASSERT_TRUE(wire.until([&] { return wire.seen.messages.size() == 2; }));
  wire.raw.say(ws_frame(std::string(100'001, 'x')));
  ASSERT_TRUE(wire.until([&] { return wire.raw.ended; }));
  EXPECT_EQ(wire.raw.got, ws_close(1009, "the message is larger than 100000 bytes", false));
}

// --- the end

TEST(WebSocket, TheOtherSideSaysGoodbye) {
  Wire wire;
  wire.seen.on_each = [&](std::string_view) { send(*wire.socket, "answer"); };
  wire.start();
  wire.raw.say(ws_frame("question") + ws_close(1001, "enough"));
  ASSERT_TRUE(wire.until([&] { return wire.seen.closed == 1; }));
  EXPECT_EQ(wire.seen.why, "the other side closed the connection (1001: enough)");
  send(*wire.socket, "too late");
  ASSERT_TRUE(wire.until([&] { return wire.raw.ended; }));
  EXPECT_EQ(wire.raw.got, ws_unmasked("answer") + ws_close(1001, {}, false));
}

TEST(WebSocket, AGoodbyeWithoutACode) {
  Wire wire;
  wire.start();
  wire.raw.say(ws_frame("", {.opcode = 8}));
  ASSERT_TRUE(wire.until([&] { return wire.seen.closed == 1 && wire.raw.ended; }));
  EXPECT_EQ(wire.seen.why, "the other side closed the connection");
  EXPECT_EQ(wire.raw.got, ws_unmasked("", 8));
}

TEST(WebSocket, CloseWaitsForTheGoodbye) {
  Wire wire;
  wire.start();
  send(*wire.socket, "last");
  wire.socket->close();
  wire.socket->close();
  send(*wire.socket, "too late");
  wire.loop.run_for(20ms);
  EXPECT_EQ(wire.raw.got, ws_unmasked("last") + ws_close(1000, {}, false));
  EXPECT_EQ(wire.seen.closed, 0);
  wire.raw.say(ws_frame("on its way") + ws_close(1000));
  ASSERT_TRUE(wire.until([&] { return wire.seen.closed == 1; }));
  EXPECT_EQ(wire.seen.why, "the connection was closed here");
  EXPECT_TRUE(wire.seen.messages.empty());
  ASSERT_TRUE(wire.until([&] { return wire.raw.ended; }));
}

TEST(WebSocket, CloseDoesNotWaitForever) {
  Wire wire({.ws_close_time = 30ms});
  wire.start();
  wire.socket->close();
  ASSERT_TRUE(wire.until([&] { return wire.seen.closed == 1; }));
  ASSERT_TRUE(wire.until([&] { return wire.raw.ended; }));
}

TEST(WebSocket, CloseOfOneWhoReadsNothing) {
  Wire wire({.ws_close_time = 30ms});
  wire.raw.stream->pause();
  wire.start();
  send(*wire.socket, std::string(4u << 20, 'x'));
  EXPECT_GT(wire.socket->unsent(), 0u);
  wire.socket->close();
  ASSERT_TRUE(wire.until([&] { return wire.seen.closed == 1; }));
}

TEST(WebSocket, AClientLetsTheServerEndTheConnection) {
  Wire wire({}, WebSocketSide::client);
  wire.start();
  wire.raw.say(ws_close(1000, "bye", false));
  ASSERT_TRUE(wire.until([&] { return wire.raw.got.size() == 8; }));
  wire.loop.run_for(20ms);
  EXPECT_EQ(wire.seen.closed, 0);
  EXPECT_FALSE(wire.raw.ended);
  wire.raw.stream.reset();
  ASSERT_TRUE(wire.until([&] { return wire.seen.closed == 1; }));
  EXPECT_EQ(wire.seen.why, "the other side closed the connection (1000: bye)");
}

TEST(WebSocket, AnEndWithoutAGoodbye) {
  {
    Wire wire;
    wire.start();
    wire.raw.say(ws_frame("whole"));
    wire.raw.stream.reset();
    ASSERT_TRUE(wire.until([&] { return wire.seen.closed == 1; }));
    EXPECT_EQ(wire.seen.messages.size(), 1u);
    EXPECT_EQ(wire.seen.why, "the other side closed the connection without a goodbye");
  }
  const std::string whole = ws_frame("{\"cut\":true}");
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    Wire wire;
    wire.start();
    wire.raw.say(whole.substr(0, cut));
    wire.raw.stream.reset();
    ASSERT_TRUE(wire.until([&] { return wire.seen.closed == 1; }));
    EXPECT_EQ(wire.seen.why, "the other side closed the connection inside a message");
    EXPECT_TRUE(wire.seen.messages.empty());
  }
}

TEST(WebSocket, OneWhoOnlyStoppedSendingGetsItsAnswers) {
  Wire wire;
  wire.start();
  wire.raw.say(ws_frame("question"));
  wire.raw.stream->shutdown_write();
  ASSERT_TRUE(wire.until([&] { return wire.seen.closed == 1; }));
  send(*wire.socket, "late answer");
  wire.socket->close();
  ASSERT_TRUE(wire.until([&] { return wire.raw.ended; }));
  EXPECT_EQ(wire.raw.got, ws_unmasked("late answer") + ws_close(1000, {}, false));
  EXPECT_EQ(wire.seen.closed, 1);
}

TEST(WebSocket, CloseBeforeItWasStarted) {
  Wire wire;
  wire.socket->close();
  ASSERT_TRUE(wire.until([&] { return wire.raw.got.size() == 4; }));
  wire.raw.say(ws_close(1000));
  ASSERT_TRUE(wire.until([&] { return wire.raw.ended; }));
}

TEST(WebSocket, DestroyedInItsCallbacks) {
  {
    Wire wire;
    wire.seen.on_each = [&](std::string_view) { wire.socket.reset(); };
    wire.start();
    wire.raw.say(ws_frame("one") + ws_frame("two"));
    ASSERT_TRUE(wire.until([&] { return wire.raw.ended; }));
    EXPECT_EQ(wire.seen.messages.size(), 1u);
    EXPECT_EQ(wire.seen.closed, 0);
  }
  {
    Wire wire;
    wire.seen.then = [&] { wire.socket.reset(); };
    wire.start();
    wire.raw.say(ws_close(1000));
    ASSERT_TRUE(wire.until([&] { return wire.raw.ended; }));
    EXPECT_EQ(wire.seen.closed, 1);
  }
  {
    Wire wire;
    wire.start();
    send(*wire.socket, "x");
    bool flushed = false;
    wire.socket->when_flushed([&] {
      flushed = true;
      wire.socket.reset();
    });
    EXPECT_FALSE(flushed);
    ASSERT_TRUE(wire.until([&] { return wire.raw.ended; }));
    EXPECT_TRUE(flushed);
    EXPECT_EQ(wire.seen.closed, 0);
  }
  {
    Wire wire;  // with the goodbye under way
    wire.start();
    wire.socket->close();
    wire.socket.reset();
    ASSERT_TRUE(wire.until([&] { return wire.raw.ended; }));
    EXPECT_EQ(wire.seen.closed, 0);
  }
}

TEST(WebSocket, ClosedInsideAMessage) {
  Wire wire;
  wire.seen.on_each = [&](std::string_view) {
    send(*wire.socket, "answer");
    wire.socket->close();
  };
  wire.start();
  wire.raw.say(ws_frame("one") + ws_frame("two"));
  ASSERT_TRUE(wire.until([&] { return wire.raw.got.size() >= 12; }));
  EXPECT_EQ(wire.raw.got, ws_unmasked("answer") + ws_close(1000, {}, false));
  wire.raw.say(ws_close(1000));
  ASSERT_TRUE(wire.until([&] { return wire.seen.closed == 1; }));
  EXPECT_EQ(wire.seen.messages.size(), 1u);
}

// --- one who does not read

TEST(WebSocket, OneWhoDoesNotReadIsNotRead) {
  Wire wire({.output_queue_bytes = 100'000});
  wire.raw.stream->pause();
  const std::string answer(50'000, 'a');
  wire.seen.on_each = [&](std::string_view) { send(*wire.socket, answer); };
  wire.start();
  std::string questions;
  for (int i = 0; i < 100; ++i) questions += ws_frame("q");
  wire.raw.say(questions);
  wire.loop.run_for(50ms);
  const std::size_t answered = wire.seen.messages.size();
  EXPECT_LT(answered, 20u);
  EXPECT_LT(wire.socket->unsent(), 250'000u);
  EXPECT_EQ(wire.seen.closed, 0);
  wire.raw.stream->resume();  // and once it reads, all of them are answered
  const std::size_t all = 100 * ws_unmasked(answer).size();
  ASSERT_TRUE(wire.until([&] { return wire.raw.got.size() == all; }));
  EXPECT_EQ(wire.seen.messages.size(), 100u);
}

TEST(WebSocket, TooMuchForOneWhoDoesNotRead) {
  Wire wire({.output_queue_bytes = 10'000});
  wire.raw.stream->pause();
  wire.start();
  for (int i = 0; i < 200; ++i) send(*wire.socket, std::string(10'000, 'x'));
  ASSERT_TRUE(wire.until([&] { return wire.seen.closed == 1; }));
  EXPECT_THAT(wire.seen.why, StartsWith("the other side does not read"));
  send(*wire.socket, "x");
  EXPECT_EQ(wire.socket->unsent(), 0u);
}

TEST(WebSocket, GoneWhileAnswersWait) {
  Wire wire;
  wire.raw.stream->pause();
  wire.start();
  for (int i = 0; i < 50; ++i) send(*wire.socket, std::string(100'000, 'x'));
  wire.raw.stream.reset();
  ASSERT_TRUE(wire.until([&] { return wire.seen.closed == 1; }));
}

TEST(WebSocket, GoneAfterItsEndWhileItIsHeldBack) {
  Wire wire({.output_queue_bytes = 300'000});
  wire.raw.stream->pause();
  wire.start();
  wire.loop.run_for(1ms);  // a read is under way
  for (int i = 0; i < 10; ++i) send(*wire.socket, std::string(100'000, 'x'));
  EXPECT_GT(wire.socket->unsent(), 300'000u);
  wire.raw.stream->shutdown_write();
  wire.loop.run_for(10ms);  // the end of its input is seen, but it is held back
  EXPECT_EQ(wire.seen.closed, 0);
  wire.raw.stream.reset();
  ASSERT_TRUE(wire.until([&] { return wire.seen.closed == 1; }));
}

}  // namespace
