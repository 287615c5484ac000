// serve() with its arguments, as a program of its own: where it listens, what it refuses, how it
// ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "godwit/io/loop.hpp"
#include "godwit/io/process.hpp"
#include "godwit/runtime/client.hpp"
#include "test_paths.hpp"
#include "wait.hpp"

namespace godwit {
namespace {

using testing::HasSubstr;

/// The everything server with these arguments.
class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments) {
    ProcessOptions options;
    options.argv.emplace_back(GODWIT_BIN_DIR "/everything");
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.on_stderr = [this](std::string_view line) { said_.append(line).append("\n"); };
    process_.emplace(*Process::spawn(loop_, std::move(options)));
    process_->on_exit([this](ExitStatus how) { status_ = how; });
  }

  /// The address it says it listens on.
  std::string url() {
    constexpr std::string_view prefix = "listening on ";
    EXPECT_TRUE(
        test::run_until(loop_, [&] { return said_.find(prefix) != said_.npos || status_; }));
    const std::size_t at = said_.find(prefix);
    if (at == said_.npos) return {};
    const std::size_t begin = at + prefix.size();
    return said_.substr(begin, said_.find('\n', begin) - begin);
  }
  void send(int signal) { ::kill(process_->pid(), signal); }
  int exit_code() {
    EXPECT_TRUE(test::run_until(loop_, [&] { return status_.has_value(); }));
    return status_ ? status_->code : -1;
  }
  const std::string& said() const { return said_; }

 private:
  Loop loop_;
  std::string said_;
  std::optional<ExitStatus> status_;
  std::optional<Process> process_;
};

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

struct Echo {
  std::string message{};
};

void expect_served_and_ended(const char* arguments, const char* scheme) {
  Program program(words(arguments));
  const std::string url = program.url();
  ASSERT_TRUE(url.starts_with(scheme)) << program.said();
  for (const Lifecycle lifecycle : {Lifecycle::stateful, Lifecycle::stateless}) {
    ClientOptions options;
    options.lifecycle = lifecycle;
    auto client = Client::connect(url, options);
    ASSERT_TRUE(client) << client.error().message;
    const auto said = client->call<std::string>("echo", Echo{"hello"});
    ASSERT_TRUE(said) << said.error().message;
    EXPECT_EQ(*said, "hello");
  }
  program.send(SIGTERM);
  EXPECT_EQ(program.exit_code(), 0) << program.said();
}

TEST(ServeFlags, Http) { expect_served_and_ended("--http 127.0.0.1:0", "http://127.0.0.1:"); }
TEST(ServeFlags, HttpOnThreads) {
  expect_served_and_ended("--http 127.0.0.1:0 --threads 3 --path /deep/mcp", "http://127.0.0.1:");
}
TEST(ServeFlags, WebSocket) { expect_served_and_ended("--ws 127.0.0.1:0", "ws://127.0.0.1:"); }

TEST(ServeFlags, WhatMakesNoSenseIsRefusedWithASentence) {
  struct Case {
    const char* arguments;
    const char* sentence;
  };
  const Case cases[] = {{"--htp x", "unknown option --htp"},
                        {"--http", "--http needs a value"},
                        {"--http 127.0.0.1:0 --threads 0", "from 1 to 256"},
                        {"--http 127.0.0.1:0 --era stone", "stateful or stateless"},
                        {"--http 127.0.0.1:0 --path mcp", "begins with a slash"},
                        {"--http 127.0.0.1:0 --allow-origin *", "name each origin"},
                        {"--http 127.0.0.1:0 --tls-cert x", "belong together"}};
  for (const Case& c : cases) {
    Program program(words(c.arguments));
    EXPECT_EQ(program.exit_code(), 2) << c.arguments;
    EXPECT_THAT(program.said(), HasSubstr(c.sentence));
  }
}

TEST(ServeFlags, NobodyIsExposedByMistake) {
  for (const char* option : {"--http", "--ws"}) {
    Program program(words(std::string(option) + " 0.0.0.0:0"));
    EXPECT_EQ(program.exit_code(), 1);
    EXPECT_THAT(program.said(), HasSubstr("--expose"));
  }
}

}  // namespace
}  // namespace godwit
