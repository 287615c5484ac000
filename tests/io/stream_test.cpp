#include "godwit/io/stream.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <optional>
#include <string>

#include "wait.hpp"

using godwit::Descriptor;
using godwit::Loop;
using godwit::Stream;
using godwit::test::run_until;
using Sharing = Stream::Sharing;

namespace {

struct Collect : Stream::Handler {
  explicit Collect(std::size_t size = 4096) : buffer(size, '\0') {}
  std::span<char> on_space() override { return {buffer.data(), buffer.size()}; }
  void on_data(std::size_t size) override {
    text.append(buffer, 0, size);
    ++reads;
    if (on_each) on_each();
  }
  void on_end(const godwit::Result<void>& how) override {
    ended = true;
    if (!how) error = how.error().message;
  }
  void on_writable() override { ++writable; }

  std::string buffer, text, error;
  std::function<void()> on_each;
  int reads = 0, writable = 0;
  bool ended = false;
};

struct Ends {
  Descriptor near, far;
};

enum class Kind { pipe, socket, terminal };

/// near is to be read.
Ends make(Kind kind) {
  int ends[2] = {-1, -1};
  if (kind == Kind::pipe) {
    EXPECT_EQ(::pipe(ends), 0);
  } else if (kind == Kind::socket) {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  } else {
    ends[1] = ::posix_openpt(O_RDWR | O_NOCTTY);
    EXPECT_EQ(::grantpt(ends[1]), 0);
    EXPECT_EQ(::unlockpt(ends[1]), 0);
    ends[0] = ::open(::ptsname(ends[1]), O_RDWR | O_NOCTTY);
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

int flags(const Descriptor& fd) { return ::fcntl(fd.get(), F_GETFL); }
Descriptor copy(const Descriptor& fd) { return Descriptor(::dup(fd.get())); }

class EveryKind : public testing::TestWithParam<std::tuple<Kind, Sharing>> {};

}  // namespace

TEST_P(EveryKind, RestsWithoutSpace) {
  const auto [kind, sharing] = GetParam();
  Ends ends = make(kind);
  Loop loop;
  Collect collect;
  auto stream = Stream::open(loop, std::move(ends.near), sharing);
  ASSERT_TRUE(stream);
  stream->set_handler(collect);
  stream->resume();
  for (int i = 1; i <= 3; ++i) {
    loop.run_for(std::chrono::milliseconds(5));
    ASSERT_TRUE(run_until(loop, [&] { return stream->rest(); }));
    EXPECT_TRUE(stream->rest());
    const std::string before(4096, '#');
    std::string old = std::exchange(collect.buffer, std::string(4096, '\0'));
    old = before;  // a read into it would show
    ASSERT_EQ(::write(ends.far.get(), "hello\n", 6), 6);
    ASSERT_TRUE(
        run_until(loop, [&] { return collect.text.size() == 6u * static_cast<unsigned>(i); }));
    EXPECT_EQ(old, before);
  }

  // A pause or an end while it rests is one as ever.
  loop.run_for(std::chrono::milliseconds(5));
  ASSERT_TRUE(run_until(loop, [&] { return stream->rest(); }));
  stream->pause();
  ASSERT_EQ(::write(ends.far.get(), "a\n", 2), 2);
  loop.run_for(std::chrono::milliseconds(5));
  stream->resume();
  ASSERT_TRUE(run_until(loop, [&] { return collect.text.ends_with("a\n"); }));
  ASSERT_TRUE(run_until(loop, [&] { return stream->rest(); }));
  stream->drain(100);
  ASSERT_TRUE(run_until(loop, [&] { return collect.ended; }));
}

TEST_P(EveryKind, ReadsPausesAndEnds) {
  const auto [kind, sharing] = GetParam();
  Ends ends = make(kind);
  const int before = flags(ends.near);
  Descriptor kept = copy(ends.near);
  Loop loop;
  Collect collect;
  auto stream = Stream::open(loop, std::move(ends.near), sharing);
  ASSERT_TRUE(stream);
  stream->set_handler(collect);
  stream->resume();
  for (int i = 1; i <= 5; ++i) {
    ASSERT_EQ(::write(ends.far.get(), "hello\n", 6), 6);
    ASSERT_TRUE(
        run_until(loop, [&] { return collect.text.size() == 6u * static_cast<unsigned>(i); }));
  }
  if (sharing == Sharing::inherited) {
    EXPECT_EQ(flags(kept), before);
  }

  // At most one read is under way when pausing; nothing comes after that one.
  stream->pause();
  ASSERT_EQ(::write(ends.far.get(), "a\n", 2), 2);
  loop.run_for(std::chrono::milliseconds(5));
  const std::string so_far = collect.text;
  ASSERT_EQ(::write(ends.far.get(), "b\n", 2), 2);
  loop.run_for(std::chrono::milliseconds(5));
  EXPECT_EQ(collect.text, so_far);
  stream->resume();
  ASSERT_TRUE(run_until(loop, [&] { return collect.text.ends_with("a\nb\n"); }));

  if (kind == Kind::terminal) {
    const char eof = 4;
    ASSERT_EQ(::write(ends.far.get(), &eof, 1), 1);
  } else {
    ends.far.reset();
  }
  ASSERT_TRUE(run_until(loop, [&] { return collect.ended; }));
  EXPECT_EQ(collect.error, "");
}

INSTANTIATE_TEST_SUITE_P(Stream, EveryKind,
                         testing::Combine(testing::Values(Kind::pipe, Kind::socket, Kind::terminal),
                                          testing::Values(Sharing::own, Sharing::inherited)));

namespace {

/// Writes a megabyte to a slow reader through the Stream and checks every byte.
void write_a_lot(Descriptor to_write, Descriptor to_read, Sharing sharing) {
  const int before = flags(to_write);
  Descriptor kept = copy(to_write);
  std::string all;
  for (int i = 0; all.size() < (1u << 20); ++i) all += std::to_string(i) + ' ';
  Loop loop;
  Collect collect;
  auto stream = Stream::open(loop, std::move(to_write), sharing);
  ASSERT_TRUE(stream);
  stream->set_handler(collect);
  std::size_t sent = 0;
  std::string got;
  int writable = 0;
  bool blocked = false;
  ::fcntl(to_read.get(), F_SETFL, O_NONBLOCK);
  ASSERT_TRUE(run_until(loop, [&] {
    if (collect.writable > writable) {
      writable = collect.writable;
      blocked = false;
    }
    if (!blocked && sent < all.size()) {
      auto put = stream->write_some(std::string_view(all).substr(sent));
      EXPECT_TRUE(put);
      sent += *put;
      blocked = sent < all.size();
    }
    char buffer[8192];
    const ssize_t size = ::read(to_read.get(), buffer, sizeof buffer);
    if (size > 0) got.append(buffer, static_cast<std::size_t>(size));
    return got.size() == all.size();
  }));
  EXPECT_EQ(got, all);
  EXPECT_GT(writable, 0);
  if (sharing == Sharing::inherited) {
    EXPECT_EQ(flags(kept), before);
  }
}

}  // namespace

TEST(Stream, WritesToSlowReaders) {
  for (const Sharing sharing : {Sharing::own, Sharing::inherited}) {
    Ends pipe = make(Kind::pipe);
    write_a_lot(std::move(pipe.far), std::move(pipe.near), sharing);
    Ends socket = make(Kind::socket);
    write_a_lot(std::move(socket.far), std::move(socket.near), sharing);
  }
}

TEST(Stream, ReadsAndWritesRegularFiles) {
  godwit::test::TemporaryFolder folder;
  const std::string path = folder.file("data");
  std::string all(300'000, 'x');
  Loop loop;
  Collect collect;
  {
    Descriptor fd(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    auto stream = Stream::open(loop, std::move(fd), Sharing::inherited);
    ASSERT_TRUE(stream);
    stream->set_handler(collect);
    EXPECT_EQ(*stream->write_some(all), all.size());
  }
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Descriptor kept = copy(fd);
  const int before = flags(fd);
  auto stream = Stream::open(loop, std::move(fd), Sharing::inherited);
  ASSERT_TRUE(stream);
  stream->set_handler(collect);
  stream->resume();
  loop.run();  // ends by itself at the end of the file
  EXPECT_EQ(collect.text, all);
  EXPECT_TRUE(collect.ended);
  EXPECT_EQ(flags(kept), before);
}

TEST(Stream, DevNullIsEmptyAndTakesEverything) {
  Loop loop;
  Collect collect;
  auto stream = Stream::open(loop, Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC)));
  ASSERT_TRUE(stream);
  stream->set_handler(collect);
  EXPECT_EQ(*stream->write_some("something"), 9u);
  stream->resume();
  loop.run();
  EXPECT_TRUE(collect.ended);
}

TEST(Stream, FailsForWhatHasNoBytes) {
  Loop loop;
  EXPECT_FALSE(Stream::open(loop, Descriptor(::open("/tmp", O_RDONLY | O_CLOEXEC))));
  EXPECT_FALSE(Stream::open(loop, Descriptor(-1)));
}

TEST(Stream, BrokenPipeIsAnErrorAndNoSignal) {
  struct sigaction action{};
  ASSERT_EQ(::sigaction(SIGPIPE, nullptr, &action), 0);
  ASSERT_EQ(action.sa_handler, SIG_DFL);  // it would kill this test
  for (const Kind kind : {Kind::pipe, Kind::socket}) {
    for (const Sharing sharing : {Sharing::own, Sharing::inherited}) {
      Ends ends = make(kind);
      Loop loop;
      Collect collect;
      auto stream = Stream::open(loop, std::move(ends.far), sharing);
      ASSERT_TRUE(stream);
      stream->set_handler(collect);
      ends.near.reset();
      const auto put = stream->write_some("x");
      ASSERT_FALSE(put);
      EXPECT_NE(put.error().message.find("Broken pipe"), std::string::npos) << put.error().message;
    }
  }
  sigset_t pending;
  ::sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST(Stream, DrainReadsWhatIsThereAndEnds) {
  Ends ends = make(Kind::pipe);
  Loop loop;
  Collect collect(10);
  auto stream = Stream::open(loop, std::move(ends.near));
  ASSERT_TRUE(stream);
  stream->set_handler(collect);
  stream->resume();
  loop.poll();  // a read is waiting
  const std::string words(95, 'w');
  ASSERT_EQ(::write(ends.far.get(), words.data(), words.size()), 95);
  stream->drain(1u << 20);
  ASSERT_TRUE(run_until(loop, [&] { return collect.ended; }));  // though the far end is open
  EXPECT_EQ(collect.text, words);
}

TEST(Stream, DrainAfterAReadHasCompletedLosesNothing) {
  Ends ends = make(Kind::pipe);
  Loop loop;
  Collect collect(10);
  auto stream = Stream::open(loop, std::move(ends.near));
  ASSERT_TRUE(stream);
  stream->set_handler(collect);
  ASSERT_EQ(::write(ends.far.get(), "0123456789abcde", 15), 15);
  stream->resume();  // has read the first ten bytes already, but not told
  stream->drain(1u << 20);
  ASSERT_TRUE(run_until(loop, [&] { return collect.ended; }));
  EXPECT_EQ(collect.text, "0123456789abcde");
}

TEST(Stream, DrainIsBounded) {
  Ends ends = make(Kind::pipe);
  Loop loop;
  Collect collect(10);
  auto stream = Stream::open(loop, std::move(ends.near));
  stream->set_handler(collect);
  const std::string words(1000, 'w');
  ASSERT_EQ(::write(ends.far.get(), words.data(), words.size()), 1000);
  stream->drain(100);
  ASSERT_TRUE(run_until(loop, [&] { return collect.ended; }));
  EXPECT_EQ(collect.text.size(), 100u);
}

TEST(Stream, MayBeDestroyedInItsCallback) {
  for (const Sharing sharing : {Sharing::own, Sharing::inherited}) {
    for (const Kind kind : {Kind::pipe, Kind::socket}) {
      Ends ends = make(kind);
      Loop loop;
      Collect collect(2);
      auto opened = Stream::open(loop, std::move(ends.near), sharing);
      std::optional<Stream> stream(std::move(*opened));
      stream->set_handler(collect);
      collect.on_each = [&] { stream.reset(); };
      ASSERT_EQ(::write(ends.far.get(), "abcdef", 6), 6);
      stream->resume();
      loop.run();
      EXPECT_EQ(collect.text, "ab");
    }
  }
}

TEST(Stream, AFloodDoesNotStarveAnother) {
  Ends flood = make(Kind::pipe), quiet = make(Kind::pipe);
  Loop loop;
  Collect a(16), b;
  auto first = Stream::open(loop, std::move(flood.near));
  auto second = Stream::open(loop, std::move(quiet.near));
  first->set_handler(a);
  second->set_handler(b);
  const std::string words(60'000, 'w');
  ASSERT_EQ(::write(flood.far.get(), words.data(), words.size()), 60'000);
  ASSERT_EQ(::write(quiet.far.get(), "x", 1), 1);
  int reads_before = -1;
  b.on_each = [&] { reads_before = a.reads; };
  first->resume();
  second->resume();
  ASSERT_TRUE(run_until(loop, [&] { return reads_before >= 0; }));
  EXPECT_LT(reads_before, 20);
}

TEST(Stream, LeavesNoDescriptorBehind) {
  const std::size_t before = godwit::test::open_descriptors();
  {
    Loop loop;
    for (int i = 0; i < 200; ++i) {
      Ends ends = make(i % 2 ? Kind::pipe : Kind::socket);
      Collect collect;
      auto stream =
          Stream::open(loop, std::move(ends.near), i % 3 ? Sharing::own : Sharing::inherited);
      stream->set_handler(collect);
      stream->resume();
      loop.poll();
    }
    loop.poll();
  }
  EXPECT_EQ(godwit::test::open_descriptors(), before);
}
