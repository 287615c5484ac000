#include "godwit/transport/command.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>

#include "receiver.hpp"
#include "wait.hpp"

using namespace std::chrono_literals;
using godwit::CommandTransport;
using godwit::Framing;
using godwit::Loop;
using godwit::ProcessOptions;
using godwit::test::Recorder;
using godwit::test::run_until;
using godwit::test::send;

namespace {

struct Session {
  explicit Session(ProcessOptions options, Framing framing = Framing::newline) {
    auto spawned = CommandTransport::spawn(loop, std::move(options), framing);
    EXPECT_TRUE(spawned);
    transport = std::move(*spawned);
    transport->start(receiver);
  }
  explicit Session(const std::string& script)
      : Session(ProcessOptions{.argv = {"/bin/sh", "-c", script}}) {}

  bool closed(std::chrono::milliseconds most = 10s) {
    return run_until(loop, [&] { return receiver.closed > 0; }, most);
  }
  bool says(const std::string& part) { return receiver.why.find(part) != std::string::npos; }

  Loop loop;
  Recorder receiver;
  std::unique_ptr<CommandTransport> transport;
};

bool no_children() { return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }

}  // namespace

TEST(Command, SpeaksAndStopsPolitely) {
  for (const Framing framing : {Framing::newline, Framing::content_length}) {
    Session session(ProcessOptions{.argv = {"cat"}}, framing);
    for (int i = 0; i < 1000; ++i) send(*session.transport, std::to_string(i));
    ASSERT_TRUE(run_until(session.loop, [&] { return session.receiver.messages.size() == 1000; }));
    EXPECT_EQ(session.receiver.messages[999], "999");
    session.transport->close();
    EXPECT_EQ(session.receiver.closed, 0);
    ASSERT_TRUE(session.closed());
    EXPECT_EQ(session.receiver.why,
              "program \"cat\" exited with 0 (the connection was closed here)");
    EXPECT_TRUE(no_children());
    session.transport.reset();
    session.loop.run();  // nothing is left
  }
}

TEST(Command, SaysHowTheChildDied) {
  const std::pair<const char*, const char*> cases[] = {
      {"exit 0", "program \"/bin/sh\" exited with 0"},
      {"exit 1", "exited with 1"},
      {"kill -SEGV $$", "killed by signal 11 (SIGSEGV)"},
      {"echo cannot open the database >&2; exit 7",
       "exited with 7; the end of its stderr: cannot open the database"},
      {"read line; printf '{\"half'; exit 2", "exited with 2"},
      {"printf 'a\\033[31mb\\n' >&2; exit 1", "a?[31mb"}};
  for (const auto& [script, text] : cases) {
    Session session(script);
    send(*session.transport, "hello");
    ASSERT_TRUE(session.closed()) << script;
    EXPECT_TRUE(session.says(text)) << session.receiver.why;
    EXPECT_EQ(session.receiver.closed, 1);
    EXPECT_TRUE(session.receiver.messages.empty());
  }
  EXPECT_TRUE(no_children());
}

TEST(Command, LastWordsAreDelivered) {
  Session session("for i in 1 2 3; do echo $i; done; exit 1");
  ASSERT_TRUE(session.closed());
  EXPECT_EQ(session.receiver.messages, (std::vector<std::string>{"1", "2", "3"}));
}

TEST(Command, LastWordsAreDeliveredThoughTheChildDiedBeforeStart) {
  Loop loop;
  auto transport = CommandTransport::spawn(loop, {.argv = {"/bin/sh", "-c", "echo x; exit 1"}});
  ASSERT_TRUE(transport);
  ASSERT_TRUE(run_until(loop, [&] { return (*transport)->process().status().has_value(); }));
  loop.run_for(5ms);
  Recorder receiver;
  (*transport)->start(receiver);
  ASSERT_TRUE(run_until(loop, [&] { return receiver.closed > 0; }));
  EXPECT_EQ(receiver.messages, std::vector<std::string>{"x"});
}

TEST(Command, WritingToADeadChildLosesNoneOfItsAnswers) {
  Session session("read line; echo answer; exit 3");
  send(*session.transport, "question");
  ASSERT_TRUE(run_until(session.loop, [&] {
    send(*session.transport, "more");
    return session.receiver.closed > 0;
  }));
  EXPECT_EQ(session.receiver.messages, std::vector<std::string>{"answer"});
  EXPECT_TRUE(session.says("exited with 3")) << session.receiver.why;
}

TEST(Command, AChildThatOnlyClosesItsOutputIsStopped) {
  ProcessOptions options{.argv = {"/bin/sh", "-c", "exec >&-; sleep 60"}};
  options.close_grace = 50ms;
  Session session(std::move(options));
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(session.closed());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  EXPECT_TRUE(session.receiver.why.find("closed its output") != std::string::npos ||
              session.says("SIGTERM"))
      << session.receiver.why;
  ASSERT_TRUE(
      run_until(session.loop, [&] { return session.transport->process().status().has_value(); }));
}

TEST(Command, AChildThatNeverReadsIsNotWaitedForForEver) {
  ProcessOptions options{.argv = {"sleep", "60"}};
  options.close_grace = 20ms;
  Loop loop;
  godwit::Limits limits;
  limits.eof_grace = 50ms;
  auto transport = CommandTransport::spawn(loop, std::move(options), Framing::newline, limits);
  Recorder receiver;
  (*transport)->start(receiver);
  send(**transport, std::string(1'000'000, 'x'));
  (*transport)->close();
  ASSERT_TRUE(run_until(loop, [&] { return receiver.closed > 0; }));
  EXPECT_NE(receiver.why.find("SIGTERM"), std::string::npos) << receiver.why;
}

TEST(Command, AGrandchildThatHoldsThePipeDoesNotHideTheDeath) {
  Session session("setsid sleep 5 & echo bye; exit 9");
  ASSERT_TRUE(session.closed(4s));
  EXPECT_TRUE(session.says("exited with 9"));
  EXPECT_EQ(session.receiver.messages, std::vector<std::string>{"bye"});
}

TEST(Command, AFloodOfStderrDoesNotStopTheAnswers) {
  Session session("head -c 20000000 /dev/zero >&2 & while read line; do echo \"$line\"; done");
  for (int i = 0; i < 200; ++i) send(*session.transport, std::to_string(i));
  ASSERT_TRUE(run_until(session.loop, [&] { return session.receiver.messages.size() == 200; }));
}

TEST(Command, DestroyedInOnClose) {
  Session session("exit 1");
  session.receiver.then = [&] { session.transport.reset(); };
  ASSERT_TRUE(session.closed());
  session.loop.run();
  EXPECT_TRUE(no_children());
}

TEST(Command, WhatCannotBeStartedIsNamed) {
  Loop loop;
  const auto transport = CommandTransport::spawn(loop, {.argv = {"godwit-no-such-program"}});
  ASSERT_FALSE(transport);
  EXPECT_NE(transport.error().message.find("godwit-no-such-program"), std::string::npos);
}
