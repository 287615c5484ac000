#include "godwit/io/output_buffer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

using godwit::Descriptor;
using godwit::Loop;
using godwit::OutputBuffer;
using godwit::Stream;

namespace {

struct Nobody final : Stream::Handler {
  std::span<char> on_space() override { return space; }
  void on_data(std::size_t) override {}
  void on_end(const godwit::Result<void>&) override {}
  void on_writable() override {}
  char space[16] = {};
};

/// A stream whose far end the test holds, non-blocking.
struct Wire {
  Wire() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    far = Descriptor(ends[1]);
    ::fcntl(far.get(), F_SETFL, O_NONBLOCK);
    stream.emplace(*Stream::open(loop, Descriptor(ends[0])));
    stream->set_handler(nobody);
  }
  std::string pull() {
    std::string text;
    char piece[65536];
    for (;;) {
      const ssize_t size = ::read(far.get(), piece, sizeof piece);
      if (size <= 0) return text;
      text.append(piece, static_cast<std::size_t>(size));
    }
  }
  void add(std::string_view message) {
    buffer.text() += message;
    buffer.finish_message();
  }

  Loop loop;
  Nobody nobody;
  Descriptor far;
  std::optional<Stream> stream;
  OutputBuffer buffer;
};

TEST(OutputBuffer, WritesCompleteMessagesOnly) {
  Wire wire;
  wire.add("one");
  wire.buffer.text() += "tw";
  EXPECT_TRUE(wire.buffer.composing());
  EXPECT_EQ(wire.buffer.unsent(), 3u);
  ASSERT_TRUE(wire.buffer.write(*wire.stream));
  EXPECT_EQ(wire.pull(), "one");
  EXPECT_EQ(wire.buffer.unsent(), 0u);

  // The writer of "two" counts from the start: nothing may have moved.
  EXPECT_EQ(wire.buffer.text(), "onetw");
  EXPECT_EQ(wire.buffer.ready(), 3u);
  wire.add("o");
  ASSERT_TRUE(wire.buffer.write(*wire.stream));
  EXPECT_EQ(wire.pull(), "two");
  EXPECT_EQ(wire.buffer.text(), "");
}

TEST(OutputBuffer, WithNothingToWriteItWritesNothing) {
  Wire wire;
  ASSERT_TRUE(wire.buffer.write(*wire.stream));
  wire.buffer.text() += "begun";
  ASSERT_TRUE(wire.buffer.write(*wire.stream));
  EXPECT_EQ(wire.pull(), "");
}

TEST(OutputBuffer, GoesOnWhereASlowReaderStopped) {
  Wire wire;
  std::string all;
  for (int i = 0; i < 400; ++i) {
    const std::string message(10'000 + static_cast<std::size_t>(i),
                              static_cast<char>('a' + i % 26));
    all += message;
    wire.add(message);
  }
  std::string got;
  while (wire.buffer.unsent() > 0) {
    const std::size_t before = wire.buffer.unsent();
    ASSERT_TRUE(wire.buffer.write(*wire.stream));
    ASSERT_LT(wire.buffer.unsent(), before);
    got += wire.pull();
  }
  EXPECT_TRUE(got == all);
}

/// Adds messages that nobody reads until so many bytes are waiting.
std::string fill(Wire& wire, std::size_t bytes, std::size_t message_bytes) {
  std::string all;
  for (int i = 0; wire.buffer.unsent() < bytes; ++i) {
    const std::string message(message_bytes, static_cast<char>('a' + i % 26));
    all += message;
    wire.add(message);
    EXPECT_TRUE(wire.buffer.write(*wire.stream));
  }
  return all;
}

TEST(OutputBuffer, KeepsWhatASlowReaderLetsWaitInPieces) {
  Wire wire;
  const std::size_t most = OutputBuffer::piece_bytes + 10'000;
  const std::string all = fill(wire, 4u << 20, 10'000);
  EXPECT_LE(wire.buffer.text().size(), most);
  EXPECT_LE(wire.buffer.text().capacity(), 2 * most);
  std::string got;
  while (wire.buffer.unsent() > 0) {
    got += wire.pull();
    ASSERT_TRUE(wire.buffer.write(*wire.stream));
    EXPECT_LE(wire.buffer.text().size(), most);
  }
  got += wire.pull();
  EXPECT_TRUE(got == all);
  EXPECT_TRUE(wire.buffer.text().empty());
}

TEST(OutputBuffer, AMessageThatIsBeingWrittenStaysInOnePiece) {
  Wire wire;
  std::string all = fill(wire, 1u << 20, 10'000);
  const std::size_t begin = wire.buffer.text().size();
  EXPECT_EQ(begin, wire.buffer.ready());
  for (std::size_t i = 0; i < 200; ++i) {
    wire.buffer.text() += std::string(1000, 'z');
    ASSERT_TRUE(wire.buffer.write(*wire.stream));
    all += wire.pull();
    ASSERT_TRUE(wire.buffer.text().substr(begin) == std::string((i + 1) * 1000, 'z'));
  }
  wire.buffer.finish_message();
  std::size_t zs = 0;
  while (wire.buffer.unsent() > 0) {
    ASSERT_TRUE(wire.buffer.write(*wire.stream));
    for (const char c : wire.pull()) zs += c == 'z';
  }
  EXPECT_GE(zs, 200'000u);
}

TEST(OutputBuffer, TakesBackWhatIsNotComplete) {
  Wire wire;
  wire.add("one");
  wire.buffer.text() += "tw";
  wire.buffer.undo_message();
  EXPECT_FALSE(wire.buffer.composing());
  wire.add("three");
  ASSERT_TRUE(wire.buffer.write(*wire.stream));
  EXPECT_EQ(wire.pull(), "onethree");
}

TEST(OutputBuffer, DropsWhatWaitsInPieces) {
  Wire wire;
  fill(wire, 1u << 20, 10'000);
  wire.buffer.drop();
  EXPECT_EQ(wire.buffer.unsent(), 0u);
  wire.pull();
  wire.add("next");
  ASSERT_TRUE(wire.buffer.write(*wire.stream));
  EXPECT_EQ(wire.pull(), "next");
}

TEST(OutputBuffer, KeepsNoLargeMemoryWhenItIsEmpty) {
  Wire wire;
  wire.add(std::string(8u << 20, 'x'));
  while (wire.buffer.unsent() > 0) {
    ASSERT_TRUE(wire.buffer.write(*wire.stream));
    wire.pull();
  }
  EXPECT_LE(wire.buffer.text().capacity(), 256u << 10);
}

TEST(OutputBuffer, ForgetsWhatIsDroppedButNotWhatIsBeingWritten) {
  Wire wire;
  wire.add("one");
  wire.buffer.text() += "two";
  wire.buffer.drop();
  EXPECT_EQ(wire.buffer.unsent(), 0u);
  wire.buffer.finish_message();
  ASSERT_TRUE(wire.buffer.write(*wire.stream));
  EXPECT_EQ(wire.pull(), "two");
}

TEST(OutputBuffer, SaysWhyNothingCanBeWritten) {
  Wire wire;
  wire.far = Descriptor();
  wire.add("one");
  const auto put = wire.buffer.write(*wire.stream);
  ASSERT_FALSE(put);
  EXPECT_FALSE(put.error().message.empty());
}

}  // namespace
