#include "godwit/transport/stream_transport.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "receiver.hpp"
#include "wait.hpp"

using namespace std::chrono_literals;
using godwit::Descriptor;
using godwit::Framing;
using godwit::Limits;
using godwit::Loop;
using godwit::Stream;
using godwit::StreamTransport;
using godwit::test::Recorder;
using godwit::test::run_until;
using godwit::test::send;

namespace {

/// A transport on one end of a socket pair; the test holds the other end, non-blocking.
struct Wire {
  explicit Wire(Framing framing = Framing::newline, const Limits& limits = {}) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    far = Descriptor(ends[1]);
    ::fcntl(far.get(), F_SETFL, O_NONBLOCK);
    auto stream = Stream::open(loop, Descriptor(ends[0]));
    transport = std::make_unique<StreamTransport>(loop, std::move(*stream), framing, limits);
    transport->start(receiver);
  }
  void put(std::string_view bytes) {
    ASSERT_EQ(::write(far.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  /// What has arrived at the far end; counts the pieces it came in.
  bool got(const std::string& expected) {
    return run_until(loop, [&] {
      pull();
      return text == expected;
    });
  }
  void pull() {
    char buffer[65536];
    for (;;) {
      const ssize_t size = ::read(far.get(), buffer, sizeof buffer);
      if (size > 0) text.append(buffer, static_cast<std::size_t>(size));
      if (size == 0) ended = true;
      if (size <= 0) return;
    }
  }
  bool closed() {
    return run_until(loop, [&] { return receiver.closed > 0; });
  }

  Loop loop;
  Descriptor far;
  Recorder receiver;
  std::unique_ptr<StreamTransport> transport;
  std::string text;
  bool ended = false;
};

Limits tiny_queue(std::size_t bytes) {
  Limits limits;
  limits.output_queue_bytes = bytes;
  limits.eof_grace = 50ms;
  return limits;
}

}  // namespace

TEST(StreamTransport, BothFramingsBothWays) {
  for (const Framing framing : {Framing::newline, Framing::content_length}) {
    Wire wire(framing);
    std::string bytes = "{\"a\":1}";
    godwit::finish_frame(bytes, 0, framing);
    for (const char c : bytes) {  // a byte at a time
      wire.put({&c, 1});
      wire.loop.poll();
    }
    ASSERT_TRUE(run_until(wire.loop, [&] { return wire.receiver.messages.size() == 1; }));
    EXPECT_EQ(wire.receiver.messages[0], "{\"a\":1}");
    EXPECT_GE(wire.receiver.least_spare, 64u);
    send(*wire.transport, "{\"b\":2}");
    std::string expected = "{\"b\":2}";
    godwit::finish_frame(expected, 0, framing);
    EXPECT_TRUE(wire.got(expected));
  }
}

TEST(StreamTransport, OneWritePerBurst) {
  int ends[2], back[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(back, O_CLOEXEC | O_DIRECT), 0);  // a packet pipe: each write is read by itself
  Loop loop;
  Descriptor far(ends[1]), answers(back[0]);
  Recorder receiver;
  StreamTransport transport(loop, *Stream::open(loop, Descriptor(ends[0])),
                            *Stream::open(loop, Descriptor(back[1])));
  receiver.on_each = [&](std::string_view message) { send(transport, message); };
  transport.start(receiver);
  ASSERT_EQ(::write(far.get(), "1\n2\n3\n", 6), 6);
  ASSERT_TRUE(run_until(loop, [&] { return receiver.messages.size() == 3; }));
  char buffer[64];
  ASSERT_EQ(::read(answers.get(), buffer, sizeof buffer), 6);
  EXPECT_EQ(std::string(buffer, 6), "1\n2\n3\n");
}

TEST(StreamTransport, FlushWritesInsideABurstAndKeepsWhatIsBeingWritten) {
  Wire wire;
  wire.receiver.on_each = [&](std::string_view) {
    send(*wire.transport, "first");
    const std::size_t begin = wire.transport->output().size();
    wire.transport->output() += "sec";
    wire.transport->flush();
    wire.pull();
    EXPECT_EQ(wire.text, "first\n");  // not a byte of the unfinished one
    wire.transport->output() += "ond";
    wire.transport->finish({.begin = begin});
  };
  wire.put("x\n");
  EXPECT_TRUE(wire.got("first\nsecond\n"));
}

TEST(StreamTransport, UnreadableLinesAreToldAndTheConnectionLives) {
  Limits limits;
  limits.message_bytes_in = 10;
  Wire wire(Framing::newline, limits);
  wire.put("0123456789abc\nok\n");
  ASSERT_TRUE(run_until(wire.loop, [&] { return wire.receiver.messages.size() == 1; }));
  EXPECT_EQ(wire.receiver.unreadable.size(), 1u);
  EXPECT_EQ(wire.receiver.closed, 0);
}

TEST(StreamTransport, ABrokenHeaderIsToldAndThenTheEnd) {
  Wire wire(Framing::content_length);
  wire.put("{\"a\":1}\n");
  ASSERT_TRUE(wire.closed());
  EXPECT_EQ(wire.receiver.unreadable.size(), 1u);
  EXPECT_NE(wire.receiver.why.find("newline framing"), std::string::npos);
}

TEST(StreamTransport, EndOfInputComesAfterEveryMessageAndLateAnswersStillGoOut) {
  Wire wire;
  wire.put("1\n2\n3");
  ::shutdown(wire.far.get(), SHUT_WR);
  ASSERT_TRUE(wire.closed());
  EXPECT_EQ(wire.receiver.messages, (std::vector<std::string>{"1", "2"}));
  EXPECT_NE(wire.receiver.why.find("inside a message"), std::string::npos);
  send(*wire.transport, "late");
  EXPECT_TRUE(wire.got("late\n"));
  bool flushed = false;
  wire.transport->when_flushed([&] { flushed = true; });
  EXPECT_FALSE(flushed);
  ASSERT_TRUE(run_until(wire.loop, [&] { return flushed; }));
  wire.transport->close();
  ASSERT_TRUE(run_until(wire.loop, [&] {
    wire.pull();
    return wire.ended;
  }));
  EXPECT_EQ(wire.receiver.closed, 1);
}

TEST(StreamTransport, CloseFlushesAndTellsOnce) {
  Wire wire;
  send(*wire.transport, "bye");
  wire.transport->close();
  wire.transport->close();
  EXPECT_EQ(wire.receiver.closed, 0);  // not inside the call
  wire.loop.run();                     // and nothing keeps the loop afterwards
  EXPECT_EQ(wire.receiver.closed, 1);
  wire.pull();
  EXPECT_EQ(wire.text, "bye\n");
  EXPECT_TRUE(wire.ended);
  send(*wire.transport, "into the void");
  EXPECT_EQ(wire.transport->output(), "");
}

TEST(StreamTransport, ASlowPeerSlowsItselfDown) {
  Wire wire(Framing::newline, tiny_queue(1000));
  const std::string large(100'000, 'x');
  wire.receiver.on_each = [&](std::string_view) { send(*wire.transport, large); };
  std::string requests;
  for (int i = 0; i < 50; ++i) requests += "r\n";
  wire.put(requests);
  wire.loop.run_for(20ms);
  const std::size_t served = wire.receiver.messages.size();
  EXPECT_LT(served, 10u);  // as much as the socket takes, and one more
  EXPECT_EQ(wire.receiver.closed, 0);
  ASSERT_TRUE(run_until(wire.loop, [&] {
    wire.pull();
    return wire.text.size() == 50 * 100'001u;
  }));
  EXPECT_EQ(wire.receiver.messages.size(), 50u);
  EXPECT_EQ(wire.transport->unsent(), 0u);
}

TEST(StreamTransport, EndOfInputWhileHeldBackLosesNothing) {
  Wire wire(Framing::newline, tiny_queue(1000));
  const std::string large(100'000, 'x');
  wire.receiver.on_each = [&](std::string_view) { send(*wire.transport, large); };
  std::string requests;
  for (int i = 0; i < 50; ++i) requests += "r\n";
  wire.put(requests);
  ::shutdown(wire.far.get(), SHUT_WR);
  ASSERT_TRUE(run_until(wire.loop, [&] {
    wire.pull();
    return wire.receiver.closed > 0;
  }));
  wire.pull();
  EXPECT_EQ(wire.text.size(), 50 * 100'001u);
}

TEST(StreamTransport, APeerThatNeverReadsIsClosed) {
  Wire wire(Framing::newline, tiny_queue(10'000));
  const std::string one(1000, 'x');
  for (int i = 0; i < 1000 && wire.transport->unsent() < 60'000; ++i) send(*wire.transport, one);
  EXPECT_LE(wire.transport->unsent(), 45'000u);
  ASSERT_TRUE(wire.closed());
  EXPECT_NE(wire.receiver.why.find("does not read"), std::string::npos);
}

TEST(StreamTransport, OneLargeMessageIsNoReasonToClose) {
  Wire wire(Framing::newline, tiny_queue(1000));
  const std::string large(5'000'000, 'x');
  send(*wire.transport, large);
  EXPECT_TRUE(wire.got(large + "\n"));
  EXPECT_EQ(wire.receiver.closed, 0);
  EXPECT_LT(wire.transport->output().capacity(), 1u << 20);  // the memory is given back
}

TEST(StreamTransport, AtTheEndAPeerThatStandsStillIsNotWaitedForLong) {
  Wire wire(Framing::newline, tiny_queue(1u << 20));
  send(*wire.transport, std::string(3'000'000, 'x'));
  wire.transport->close();
  ASSERT_TRUE(wire.closed());
}

TEST(StreamTransport, AVanishedPeerIsNoticedWhenWriting) {
  Wire wire;
  wire.put("last words\n");
  wire.far.reset();
  send(*wire.transport, "x");
  send(*wire.transport, "y");
  ASSERT_TRUE(wire.closed());
  EXPECT_EQ(wire.receiver.messages, std::vector<std::string>{"last words"});
  EXPECT_EQ(wire.receiver.closed, 1);
}

TEST(StreamTransport, APeerThatVanishesAfterItsEndIsNoticed) {
  Wire wire(Framing::newline, tiny_queue(300'000));
  wire.loop.run_for(1ms);  // a read is under way
  for (int i = 0; i < 10; ++i) send(*wire.transport, std::string(100'000, 'x'));
  EXPECT_GT(wire.transport->unsent(), 300'000u);
  ::shutdown(wire.far.get(), SHUT_WR);
  wire.loop.run_for(10ms);  // the end of its input is seen, but it is held back
  wire.far.reset();
  EXPECT_TRUE(wire.closed());
}

TEST(StreamTransport, MayBeDestroyedInItsCallbacks) {
  {
    Wire wire;
    wire.receiver.on_each = [&](std::string_view) { wire.transport.reset(); };
    wire.put("1\n2\n");
    wire.loop.run();
    EXPECT_EQ(wire.receiver.messages.size(), 1u);
    EXPECT_EQ(wire.receiver.closed, 0);
  }
  Wire wire;
  wire.receiver.then = [&] { wire.transport.reset(); };
  wire.far.reset();
  wire.loop.run();
  EXPECT_EQ(wire.receiver.closed, 1);
}

TEST(StreamTransport, CloseInsideACallbackDropsTheRest) {
  Wire wire;
  wire.receiver.on_each = [&](std::string_view) {
    send(*wire.transport, "answer");
    wire.transport->close();
  };
  wire.put("1\n2\n3\n");
  ASSERT_TRUE(wire.closed());
  EXPECT_EQ(wire.receiver.messages.size(), 1u);
  wire.pull();
  EXPECT_EQ(wire.text, "answer\n");
}

TEST(StreamTransport, MayBeDestroyedWhenWritingFails) {
  for (const bool inside_a_burst : {false, true}) {
    Wire wire;
    wire.transport->on_write_failure([&](const godwit::Error&) { wire.transport.reset(); });
    const std::string much(1u << 20, 'x');
    if (inside_a_burst) {
      wire.receiver.on_each = [&](std::string_view) { send(*wire.transport, much); };
      wire.put("{}\n{}\n");
      ::shutdown(wire.far.get(), SHUT_RD);
    } else {
      wire.far = Descriptor();
      send(*wire.transport, much);
    }
    EXPECT_TRUE(run_until(wire.loop, [&] { return wire.transport == nullptr; })) << inside_a_burst;
  }
}
