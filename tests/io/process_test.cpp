#include "godwit/io/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "wait.hpp"

using namespace std::chrono_literals;
using godwit::ExitStatus;
using godwit::Loop;
using godwit::Process;
using godwit::ProcessOptions;
using godwit::Stream;
using godwit::test::run_until;

namespace {

struct Collect : Stream::Handler {
  std::span<char> on_space() override { return buffer; }
  void on_data(std::size_t size) override { text.append(buffer, size); }
  void on_end(const godwit::Result<void>&) override { ended = true; }
  void on_writable() override {}

  char buffer[65536];
  std::string text;
  bool ended = false;
};

/// A child whose output is collected, and how it ended.
struct Child {
  Child(Loop& on, ProcessOptions options) : loop(on) {
    auto spawned = Process::spawn(loop, std::move(options));
    EXPECT_TRUE(spawned) << (spawned ? "" : spawned.error().message);
    process.emplace(std::move(*spawned));
    output.emplace(process->take_output());
    output->set_handler(collect);
    output->resume();
    process->on_exit([this](ExitStatus how) { status = how; });
  }
  bool finish() {
    if (!run_until(loop, [&] { return status.has_value(); }, 20s)) return false;
    output->drain(1u << 20);
    return run_until(loop, [&] { return collect.ended; });
  }

  Loop& loop;
  Collect collect;
  std::optional<Process> process;
  std::optional<Stream> output;
  std::optional<ExitStatus> status;
};

ProcessOptions shell(const std::string& script) { return {.argv = {"/bin/sh", "-c", script}}; }

bool alive(int pid) {
  if (::kill(pid, 0) != 0) return false;
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(stat, line);
  return line.find(") Z") == std::string::npos;  // an orphan of init's is as good as gone
}

bool dies(int pid) {
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (alive(pid)) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::usleep(1000);
  }
  return true;
}

bool no_children() { return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }

}  // namespace

TEST(Process, SpeaksThroughPipes) {
  Loop loop;
  Child child(loop, {.argv = {"cat"}});
  Collect ignored;
  {
    Stream input = child.process->take_input();
    input.set_handler(ignored);
    ASSERT_EQ(*input.write_some("hello"), 5u);
    ASSERT_TRUE(run_until(loop, [&] { return child.collect.text == "hello"; }));
  }
  ASSERT_TRUE(child.finish());
  EXPECT_TRUE(child.status->success());
  EXPECT_TRUE(no_children());
}

TEST(Process, SaysHowItEnded) {
  const std::pair<const char*, const char*> cases[] = {
      {"exit 0", "exited with 0"},
      {"exit 3", "exited with 3"},
      {"kill -SEGV $$", "killed by signal 11 (SIGSEGV)"},
      {"kill -KILL $$", "killed by signal 9 (SIGKILL)"}};
  for (const auto& [script, text] : cases) {
    Loop loop;
    Child child(loop, shell(script));
    ASSERT_TRUE(child.finish());
    EXPECT_EQ(child.status->text(), text);
  }
}

TEST(Process, WhatCannotBeStartedIsNamed) {
  Loop loop;
  const std::size_t before = godwit::test::open_descriptors();
  const auto fails = [&](ProcessOptions options, const std::string& why) {
    const auto process = Process::spawn(loop, std::move(options));
    ASSERT_FALSE(process) << why;
    EXPECT_NE(process.error().message.find(why), std::string::npos) << process.error().message;
  };
  fails({.argv = {"godwit-no-such-program"}},
        "\"godwit-no-such-program\" cannot be started: No such");
  fails({.argv = {"/no/such/program"}}, "\"/no/such/program\" cannot be started: No such");
  fails({.argv = {"/tmp"}}, "\"/tmp\" cannot be started: Permission denied");
  fails({.argv = {"true"}, .directory = "/no/such"}, "directory \"/no/such\"");
  fails({.argv = {}}, "no program");
  fails({.argv = {""}}, "no program");
  fails({.argv = {"true", std::string("a\0b", 3)}}, "zero byte");
  fails({.argv = {"true"}, .environment = {{"A=B", "c"}}}, "hold '='");
  EXPECT_TRUE(no_children());
  EXPECT_EQ(godwit::test::open_descriptors(), before);
}

TEST(Process, ArgumentsArriveExactly) {
  Loop loop;
  const std::vector<std::string> hostile = {"$(touch /tmp/x)", "`id`", "; rm -rf /", "a b", "",
                                            "\"'\\",           "*",    "${HOME}",    "\n",  "--",
                                            "\xff\xfe",        "~"};
  std::vector<std::string> argv = {"printf", "[%s]"};
  argv.insert(argv.end(), hostile.begin(), hostile.end());
  argv.front() = "/usr/bin/printf";
  std::string expected;
  for (const std::string& one : hostile) expected += "[" + one + "]";
  Child child(loop, {.argv = argv});
  ASSERT_TRUE(child.finish());
  EXPECT_EQ(child.collect.text, expected);
}

TEST(Process, EnvironmentIsAnAllowList) {
  ::setenv("GODWIT_TEST_SECRET", "secret", 1);
  ::setenv("GODWIT_TEST_GIVEN", "handed on", 1);
  ::setenv("LD_GODWIT", "x", 1);
  ::setenv("LC_GODWIT", "kept", 1);
  Loop loop;
  Child child(loop, {.argv = {"/usr/bin/env"},
                     .environment = {{"MINE", "a=b c"}, {"HOME", "/elsewhere"}},
                     .inherit = {"GODWIT_TEST_GIVEN"}});
  ASSERT_TRUE(child.finish());
  const std::string text = "\n" + child.collect.text;
  EXPECT_EQ(text.find("SECRET"), std::string::npos);
  EXPECT_EQ(text.find("LD_GODWIT"), std::string::npos);
  EXPECT_NE(text.find("\nLC_GODWIT=kept\n"), std::string::npos);
  EXPECT_NE(text.find("\nGODWIT_TEST_GIVEN=handed on\n"), std::string::npos);
  EXPECT_NE(text.find("\nMINE=a=b c\n"), std::string::npos);
  EXPECT_NE(text.find("\nHOME=/elsewhere\n"), std::string::npos);
  EXPECT_EQ(text.find("HOME="), text.rfind("HOME="));
  EXPECT_NE(text.find("\nPATH="), std::string::npos);
}

TEST(Process, StartsCleanInItsDirectory) {
  // An open descriptor without close-on-exec, a blocked signal and an ignored one stay here.
  const int leaked = ::open("/dev/null", O_RDONLY);
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &set, &old);
  ::signal(SIGHUP, SIG_IGN);
  {
    Loop loop;
    ProcessOptions options =
        shell("pwd; ls /proc/$$/fd | tr '\\n' ' '; exec grep -E 'Sig(Blk|Ign)' /proc/self/status");
    options.directory = "/usr";
    Child child(loop, std::move(options));
    ASSERT_TRUE(child.finish());
    EXPECT_TRUE(child.collect.text.starts_with("/usr\n0 1 2 ")) << child.collect.text;
    EXPECT_NE(child.collect.text.find("SigBlk:\t0000000000000000"), std::string::npos);
    EXPECT_NE(child.collect.text.find("SigIgn:\t0000000000000000"), std::string::npos);
  }
  ::signal(SIGHUP, SIG_DFL);
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  ::close(leaked);
}

TEST(Process, KeepsTheEndOfAFloodOfStderr) {
  Loop loop;
  ProcessOptions options = shell("head -c 67108864 /dev/zero >&2; echo the end >&2; echo out");
  options.stderr_tail = 1000;
  Child child(loop, std::move(options));
  ASSERT_TRUE(child.finish());
  EXPECT_EQ(child.collect.text, "out\n");
  EXPECT_EQ(child.process->stderr_tail().size(), 1000u);
  EXPECT_TRUE(child.process->stderr_tail().ends_with("the end\n"));
}

TEST(Process, GivesStderrByTheLine) {
  Loop loop;
  std::vector<std::string> lines;
  ProcessOptions options = shell(
      "printf 'a\\r\\n\\nb\\n' >&2; head -c 5000 /dev/zero | tr '\\0' x >&2; printf '\\nlast' >&2");
  options.on_stderr = [&](std::string_view line) { lines.emplace_back(line); };
  Child child(loop, std::move(options));
  ASSERT_TRUE(child.finish());
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0], "a");
  EXPECT_EQ(lines[1], "");
  EXPECT_EQ(lines[2], "b");
  EXPECT_EQ(lines[3].size(), 4096u);
  EXPECT_EQ(lines[4].size(), 5000u - 4096u);
  EXPECT_EQ(lines[5], "last");
}

TEST(Process, DeathIsSeenThoughAGrandchildHoldsThePipes) {
  for (const char* how : {"", "setsid "}) {
    Loop loop;
    const auto begin = std::chrono::steady_clock::now();
    Child child(loop, shell(std::string(how) + "sleep 60 & echo $!; echo err >&2; exit 4"));
    ASSERT_TRUE(child.finish());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
    EXPECT_EQ(child.status->text(), "exited with 4");
    EXPECT_EQ(child.process->stderr_tail(), "err\n");
    const int grandchild = std::atoi(child.collect.text.c_str());
    ASSERT_GT(grandchild, 1);
    if (*how == '\0') {
      EXPECT_TRUE(dies(grandchild));  // the group goes with its leader
    } else {
      ::kill(grandchild, SIGKILL);  // left the group by its own wish
    }
  }
}

TEST(Process, StopIsPoliteFirst) {
  Loop loop;
  Child child(loop, {.argv = {"cat"}});
  child.process->stop();  // closes stdin
  ASSERT_TRUE(child.finish());
  EXPECT_EQ(child.status->text(), "exited with 0");
}

TEST(Process, StopTerminatesWhatDoesNotReadItsInput) {
  Loop loop;
  ProcessOptions options{.argv = {"sleep", "60"}};
  options.close_grace = 10ms;
  Child child(loop, std::move(options));
  child.process->stop();
  ASSERT_TRUE(child.finish());
  EXPECT_EQ(child.status->text(), "killed by signal 15 (SIGTERM)");
}

TEST(Process, StopKillsWhatIgnoresSigterm) {
  Loop loop;
  ProcessOptions options = shell("trap '' TERM; echo ready; while :; do sleep 0.01; done");
  options.close_grace = 10ms;
  options.term_grace = 50ms;
  Child child(loop, std::move(options));
  ASSERT_TRUE(run_until(loop, [&] { return child.collect.text == "ready\n"; }));
  child.process->stop();
  ASSERT_TRUE(child.finish());
  EXPECT_EQ(child.status->text(), "killed by signal 9 (SIGKILL)");
}

TEST(Process, DestroyingItKillsTheGroup) {
  Loop loop;
  int grandchild = 0, pid = 0;
  {
    Child child(loop, shell("trap '' TERM; sleep 60 & echo $!; wait"));
    ASSERT_TRUE(run_until(loop, [&] { return child.collect.text.ends_with("\n"); }));
    grandchild = std::atoi(child.collect.text.c_str());
    pid = child.process->pid();
  }
  EXPECT_TRUE(dies(grandchild));
  EXPECT_FALSE(alive(pid));
  EXPECT_TRUE(no_children());
}

TEST(Process, MayBeDestroyedInItsCallbacks) {
  Loop loop;
  std::optional<Process> process;
  bool called = false;
  process.emplace(std::move(*Process::spawn(loop, shell("echo x >&2; exit 1"))));
  process->on_exit([&](ExitStatus) {
    called = true;
    process.reset();
  });
  ASSERT_TRUE(run_until(loop, [&] { return called; }));

  ProcessOptions options = shell("echo x >&2; echo y >&2; sleep 60");
  int lines = 0;
  options.on_stderr = [&](std::string_view) {
    ++lines;
    process.reset();
  };
  process.emplace(std::move(*Process::spawn(loop, std::move(options))));
  ASSERT_TRUE(run_until(loop, [&] { return lines > 0; }));
  loop.run_for(1ms);
  EXPECT_TRUE(no_children());
}

TEST(Process, ExitIsToldToWhoAsksLate) {
  Loop loop;
  auto process = Process::spawn(loop, shell("exit 5"));
  ASSERT_TRUE(process);
  ASSERT_TRUE(run_until(loop, [&] { return process->status().has_value(); }));
  loop.run_for(5ms);
  std::optional<ExitStatus> got;
  process->on_exit([&](ExitStatus how) { got = how; });
  ASSERT_TRUE(run_until(loop, [&] { return got.has_value(); }));
  EXPECT_EQ(got->code, 5);
}

TEST(Process, ManyLeaveNothingBehind) {
  Loop loop;
  {
    Child warm(loop, {.argv = {"true"}});
    ASSERT_TRUE(warm.finish());
  }
  const std::size_t before = godwit::test::open_descriptors();
  for (int i = 0; i < 200; ++i) {
    auto process = Process::spawn(
        loop, i % 2 ? ProcessOptions{.argv = {"true"}} : ProcessOptions{.argv = {"cat"}});
    ASSERT_TRUE(process);
    if (i % 3 == 0) loop.poll();
  }
  loop.poll();
  EXPECT_TRUE(no_children());
  EXPECT_EQ(godwit::test::open_descriptors(), before);
}

TEST(Process, LimitsOfTheSystemAreAnErrorWithItsName) {
  Loop loop;
  rlimit old{};
  ::getrlimit(RLIMIT_NOFILE, &old);
  rlimit few = old;
  few.rlim_cur = godwit::test::open_descriptors() + 2;
  ::setrlimit(RLIMIT_NOFILE, &few);
  const auto process = Process::spawn(loop, {.argv = {"true"}});
  ::setrlimit(RLIMIT_NOFILE, &old);
  ASSERT_FALSE(process);
  EXPECT_NE(process.error().message.find("Too many open files"), std::string::npos);
  EXPECT_TRUE(no_children());
}

TEST(Process, DiesWithItsParent) {
  int report[2];
  ASSERT_EQ(::pipe2(report, O_CLOEXEC), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    Loop loop;
    // Reads no input, so that only the parent's death can end it.
    auto process = Process::spawn(loop, {.argv = {"sleep", "60"}});
    const int pid = process->pid();
    if (::write(report[1], &pid, sizeof pid) != sizeof pid) ::_exit(1);
    for (;;) ::pause();
  }
  int child = 0;
  ASSERT_EQ(::read(report[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  ::close(report[0]);
  ::close(report[1]);
  EXPECT_TRUE(alive(child));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(dies(child));
}
