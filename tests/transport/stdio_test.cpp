// The program runs itself as the server: `stdio_test --echo` answers every message with itself, and
// prints to stdout on the way, which must not reach the wire.
#include "godwit/transport/stdio.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "receiver.hpp"
#include "wait.hpp"

using godwit::Descriptor;
using godwit::Loop;
using godwit::StdioTransport;
using godwit::test::Recorder;
using godwit::test::send;
using godwit::test::TemporaryFolder;

namespace {

std::string target(const char* link) {
  char name[256] = {};
  return std::string(
      name, static_cast<std::size_t>(std::max<ssize_t>(0, ::readlink(link, name, sizeof name))));
}

int serve() {
  const std::string wire =
      "-e '" + target("/proc/self/fd/0") + "' -e '" + target("/proc/self/fd/1") + "'";
  {
    Loop loop;
    auto transport = StdioTransport::open(loop);
    if (!transport) return 2;
    Recorder receiver;
    receiver.on_each = [&](std::string_view message) {
      std::printf("stray printf\n");
      if (message == "second") {
        const bool refused = !StdioTransport::open(loop);
        return send(**transport, refused ? "refused" : "taken twice");
      }
      if (message == "read stdin") {
        return send(**transport, std::getchar() == EOF ? "empty" : "not empty");
      }
      if (message == "child") {
        // A child of a handler must get nothing of the protocol.
        const std::string script =
            "echo from a child; cat; ! ls -l /proc/self/fd | grep -F " + wire;
        const int code = std::system(script.c_str());
        return send(**transport, code == 0 ? "done" : "failed");
      }
      send(**transport, message);
    };
    (*transport)->start(receiver);
    loop.run();
    if (receiver.closed != 1) return 3;
    std::cout << "stray cout";  // still buffered when stdout comes back
  }
  std::printf("after\n");  // stdout is back
  return 0;
}

struct Server {
  Server(Descriptor input, Descriptor output) {
    int errors[2];
    EXPECT_EQ(::pipe2(errors, O_CLOEXEC), 0);
    error = Descriptor(errors[0]);
    const Descriptor theirs(errors[1]);
    pid = ::fork();
    if (pid == 0) {
      ::dup2(input.get(), 0);
      ::dup2(output.get(), 1);
      ::dup2(theirs.get(), 2);
      ::execl("/proc/self/exe", "stdio_test", "--echo", nullptr);
      ::_exit(126);
    }
  }
  ~Server() {
    if (pid > 0) ::kill(pid, SIGKILL), ::waitpid(pid, nullptr, 0);
  }
  /// Waits for the end; the exit code, and what it wrote to stderr.
  int wait(std::string& stderr_text) {
    char buffer[4096];
    for (ssize_t size = 0; (size = ::read(error.get(), buffer, sizeof buffer)) > 0;)
      stderr_text.append(buffer, static_cast<std::size_t>(size));
    int status = 0;
    ::waitpid(std::exchange(pid, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  pid_t pid = -1;
  Descriptor error;
};

std::string read_all(int fd) {
  std::string all;
  char buffer[4096];
  for (ssize_t size = 0; (size = ::read(fd, buffer, sizeof buffer)) > 0;)
    all.append(buffer, static_cast<std::size_t>(size));
  return all;
}

std::string read_until(int fd, const std::string& end) {
  std::string all;
  char c = 0;
  pollfd one{fd, POLLIN, 0};
  while (!all.ends_with(end) && ::poll(&one, 1, 10'000) > 0 && ::read(fd, &c, 1) == 1) all += c;
  return all;
}

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
  }
  Descriptor read, write;
};

void put(int fd, std::string_view text) {
  ASSERT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

Descriptor copy(const Descriptor& fd) { return Descriptor(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)); }

}  // namespace

TEST(Stdio, PipesAndStrayOutput) {
  Pipe in, out;
  Descriptor theirs_in = copy(in.read), theirs_out = copy(out.write);
  const int in_flags = ::fcntl(theirs_in.get(), F_GETFL);
  const int out_flags = ::fcntl(theirs_out.get(), F_GETFL);
  Server server(std::move(in.read), std::move(out.write));
  put(in.write.get(), "one\n");
  EXPECT_EQ(read_until(out.read.get(), "one\n"), "one\n");
  // While the server runs, the open files that we share with it are as they were.
  EXPECT_EQ(::fcntl(theirs_in.get(), F_GETFL), in_flags);
  EXPECT_EQ(::fcntl(theirs_out.get(), F_GETFL), out_flags);
  put(in.write.get(), "second\nread stdin\n");
  EXPECT_EQ(read_until(out.read.get(), "empty\n"), "refused\nempty\n");
  put(in.write.get(), "child\n");
  EXPECT_EQ(read_until(out.read.get(), "\n"), "done\n");
  in.write.reset();
  theirs_in.reset();
  theirs_out.reset();
  std::string text;
  EXPECT_EQ(server.wait(text), 0);
  EXPECT_EQ(read_all(out.read.get()), "after\n");
  EXPECT_NE(text.find("stray printf\n"), std::string::npos);
  EXPECT_NE(text.find("stray cout"), std::string::npos);
  EXPECT_NE(text.find("from a child\n"), std::string::npos);
}

TEST(Stdio, RegularFiles) {
  TemporaryFolder folder;
  std::string input, expected;
  for (int i = 0; i < 20'000; ++i) input += "message " + std::to_string(i) + "\n";
  expected = input + "after\n";
  std::ofstream(folder.file("in")) << input << "half a line";
  Server server(
      Descriptor(::open(folder.file("in").c_str(), O_RDONLY | O_CLOEXEC)),
      Descriptor(::open(folder.file("out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)));
  std::string text;
  EXPECT_EQ(server.wait(text), 0);
  std::stringstream got;
  got << std::ifstream(folder.file("out")).rdbuf();
  EXPECT_EQ(got.str(), expected);
}

TEST(Stdio, Sockets) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  Descriptor near(ends[0]), far(ends[1]);
  Descriptor kept = copy(far);
  const int flags = ::fcntl(far.get(), F_GETFL);
  Descriptor also_far = copy(far);
  Server server(std::move(also_far), std::move(far));  // one socket for both, as inetd does
  for (int i = 0; i < 10; ++i) {
    put(near.get(), "ping\n");
    EXPECT_EQ(read_until(near.get(), "\n"), "ping\n");
  }
  EXPECT_EQ(::fcntl(kept.get(), F_GETFL), flags);
  kept.reset();
  ::shutdown(near.get(), SHUT_WR);
  std::string text;
  EXPECT_EQ(server.wait(text), 0);
  EXPECT_EQ(read_all(near.get()), "after\n");
}

TEST(Stdio, Terminals) {
  Descriptor master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_EQ(::grantpt(master.get()), 0);
  ASSERT_EQ(::unlockpt(master.get()), 0);
  Descriptor terminal(::open(::ptsname(master.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  const int flags = ::fcntl(terminal.get(), F_GETFL);
  Server server(copy(terminal), copy(terminal));
  put(master.get(), "typed\n");
  // The terminal echoes what is typed, then the answer comes.
  EXPECT_EQ(read_until(master.get(), "typed\r\ntyped\r\n"), "typed\r\ntyped\r\n");
  EXPECT_EQ(::fcntl(terminal.get(), F_GETFL), flags);
  put(master.get(), "\x04");
  std::string text;
  EXPECT_EQ(server.wait(text), 0);
}

TEST(Stdio, NothingToRead) {
  Pipe out;
  Server server(Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)), std::move(out.write));
  std::string text;
  EXPECT_EQ(server.wait(text), 0);
  EXPECT_EQ(read_all(out.read.get()), "after\n");
}

TEST(Stdio, AllOutputBeforeTheEndThoughTheReaderIsSlow) {
  Pipe in, out;
  Server server(std::move(in.read), std::move(out.write));
  // Far more than the pipes hold, so that answers queue up in the server.
  std::string line(10'000, 'x');
  line.push_back('\n');
  std::string expected;
  const pid_t writer = ::fork();
  if (writer == 0) {
    for (int i = 0; i < 300; ++i)
      if (::write(in.write.get(), line.data(), line.size()) < 0) ::_exit(1);
    ::_exit(0);
  }
  in.write.reset();
  for (int i = 0; i < 300; ++i) expected += line;
  ::usleep(20'000);  // let it fill up; correctness does not depend on it
  EXPECT_EQ(read_all(out.read.get()), expected + "after\n");
  std::string text;
  EXPECT_EQ(server.wait(text), 0);
  ::waitpid(writer, nullptr, 0);
}

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--echo") == 0) return serve();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
