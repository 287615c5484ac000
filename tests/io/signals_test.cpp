#include "godwit/io/signals.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <vector>

#include "wait.hpp"

using godwit::Loop;
using godwit::Signals;
using godwit::test::run_until;

namespace {
void mine(int) {}
}  // namespace

TEST(Signals, AreCallbacksAndTheOldDispositionComesBack) {
  struct sigaction action{};
  action.sa_handler = mine;
  ASSERT_EQ(::sigaction(SIGUSR1, &action, nullptr), 0);
  {
    Loop loop;
    std::vector<int> got;
    auto signals =
        Signals::open(loop, {SIGUSR1, SIGUSR2}, [&](int number) { got.push_back(number); });
    ASSERT_TRUE(signals);
    ::kill(::getpid(), SIGUSR1);
    ASSERT_TRUE(run_until(loop, [&] { return got.size() == 1; }));
    ::kill(::getpid(), SIGUSR2);
    ASSERT_TRUE(run_until(loop, [&] { return got.size() == 2; }));
    EXPECT_EQ(got, (std::vector<int>{SIGUSR1, SIGUSR2}));
  }
  ASSERT_EQ(::sigaction(SIGUSR1, nullptr, &action), 0);
  EXPECT_EQ(action.sa_handler, &mine);
  ASSERT_EQ(::sigaction(SIGUSR2, nullptr, &action), 0);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
}

TEST(Signals, OnesThatCannotBeCaughtAreAnError) {
  Loop loop;
  const auto signals = Signals::open(loop, {SIGKILL}, [](int) {});
  ASSERT_FALSE(signals);
  EXPECT_NE(signals.error().message.find("signal 9"), std::string::npos);
}

TEST(Signals, DestroyedOnesDoNotKeepTheLoop) {
  Loop loop;
  {
    auto signals = Signals::open(loop, {SIGUSR2}, [](int) {});
  }
  loop.run();
}
