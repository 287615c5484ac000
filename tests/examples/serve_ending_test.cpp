// How a program that calls serve() ends: what its exit code says, and when it may be stopped.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "godwit/io/descriptor.hpp"
#include "test_paths.hpp"

namespace godwit {
namespace {

using testing::HasSubstr;

struct Pipe {
  Pipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    out = Descriptor(ends[0]);
    in = Descriptor(ends[1]);
  }
  Descriptor out, in;
};

/// The everything server on these descriptors.
class Program {
 public:
  Program(std::vector<std::string> arguments, int input, int output, int errors) {
    arguments.insert(arguments.begin(), GODWIT_BIN_DIR "/everything");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    int to = 0;
    for (const int from : {input, output, errors}) {
      ::posix_spawn_file_actions_adddup2(&actions, from, to++);
    }
    EXPECT_EQ(::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ), 0);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  ~Program() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  void send(int signal) const { ::kill(pid_, signal); }
  /// As waitpid() tells it.
  int status() {
    int status = -1;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
  }

 private:
  pid_t pid_ = -1;
};

/// Everything until the end of the input, or until it contains the words.
std::string read(int fd, std::string_view words = "") {
  std::string text;
  char buffer[4096];
  while (words.empty() || text.find(words) == text.npos) {
    pollfd ready{fd, POLLIN, 0};
    if (::poll(&ready, 1, 10'000) != 1) break;
    const ssize_t size = ::read(fd, buffer, sizeof buffer);
    if (size <= 0) break;
    text.append(buffer, static_cast<std::size_t>(size));
  }
  return text;
}

TEST(ServeEnding, AFullDiskIsAFailure) {
  Pipe input, errors;
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  Program program({}, input.out.get(), full.get(), errors.in.get());
  errors.in.reset();
  const std::string_view ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
  ASSERT_EQ(::write(input.in.get(), ping.data(), ping.size()), static_cast<ssize_t>(ping.size()));
  input.in.reset();
  const std::string said = read(errors.out.get());
  const int status = program.status();
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_THAT(said, HasSubstr("stdout"));
  EXPECT_THAT(said, HasSubstr("No space left"));
}

TEST(ServeEnding, AClientThatLeavesIsNone) {
  Pipe input, output, errors;
  Program program({}, input.out.get(), output.in.get(), errors.in.get());
  errors.in.reset();
  output.in.reset();
  input.in.reset();
  EXPECT_EQ(read(errors.out.get()), "");
  EXPECT_EQ(program.status(), 0);
}

/// Stopped in the middle of the line that says where it listens, it has to end in order, too.
void expect_stoppable_when_it_says_so(const char* place) {
  constexpr std::string_view words = "listening on ";
  Pipe input, output, errors;
  // There is room for these words only.
  const int size = ::fcntl(errors.in.get(), F_SETPIPE_SZ, 4096);
  ASSERT_GT(size, 0);
  const std::string fill(static_cast<std::size_t>(size) - words.size(), '.');
  ASSERT_EQ(::write(errors.in.get(), fill.data(), fill.size()), static_cast<ssize_t>(fill.size()));
  Program program({place, "127.0.0.1:0"}, input.out.get(), output.in.get(), errors.in.get());
  errors.in.reset();
  int waiting = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (waiting < size && std::chrono::steady_clock::now() < deadline) {
    ASSERT_EQ(::ioctl(errors.out.get(), FIONREAD, &waiting), 0);
  }
  ASSERT_EQ(waiting, size);
  program.send(SIGTERM);
  const std::string said = read(errors.out.get());
  EXPECT_THAT(said, HasSubstr(words));
  EXPECT_EQ(program.status(), 0) << "killed before it could stop";
}

TEST(ServeEnding, ATcpServerCanBeStoppedWhenItSaysSo) { expect_stoppable_when_it_says_so("--tcp"); }
TEST(ServeEnding, AWebSocketServerCanBeStoppedWhenItSaysSo) {
  expect_stoppable_when_it_says_so("--ws");
}
TEST(ServeEnding, AnHttpServerCanBeStoppedWhenItSaysSo) {
  expect_stoppable_when_it_says_so("--http");
}

}  // namespace
}  // namespace godwit
