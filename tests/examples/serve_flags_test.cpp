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
#include "test_certificates.hpp"
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
  bool says(std::string_view words) {
    return test::run_until(loop_, [&] { return said_.find(words) != said_.npos || status_; }) &&
           said_.find(words) != said_.npos;
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

TEST(ServeFlags, WebSocketsBesideHttp) {
  Program program(words("--http 127.0.0.1:0 --websocket /ws --threads 2"));
  const std::string url = program.url();
  ASSERT_TRUE(program.says("/ws\n")) << program.said();
  const std::string address = url.substr(0, url.rfind("/mcp"));
  for (const std::string& to : {url, "ws" + address.substr(4) + "/ws"}) {
    auto client = Client::connect(to);
    ASSERT_TRUE(client) << to << ": " << client.error().message;
    EXPECT_EQ(client->call<std::string>("echo", Echo{"hello"}).value(), "hello");
  }
  program.send(SIGTERM);
  EXPECT_EQ(program.exit_code(), 0) << program.said();
}

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
                        {"--http 127.0.0.1:0 --trusted-proxy localhost", "127.0.0.1"},
                        {"--ws 127.0.0.1:0 --trusted-proxy 127.0.0.1", "--http"},
                        {"--http 127.0.0.1:0 --tls-cert x", "belong together"},
                        {"--http 127.0.0.1:0 --ws 127.0.0.1:0", "only one place"},
                        {"--tcp 127.0.0.1:0 --tls-cert x --tls-key y", "--tls-cert means nothing"},
                        {"--threads 2", "--threads means nothing without --http"},
                        {"--ws 127.0.0.1:0 --metrics /m", "--metrics means nothing without --http"},
                        {"--ws 127.0.0.1:0 --websocket /x", "--websocket means nothing"},
                        {"--expose", "--expose means nothing"}};
  for (const Case& c : cases) {
    Program program(words(c.arguments));
    EXPECT_EQ(program.exit_code(), 2) << c.arguments;
    EXPECT_THAT(program.said(), HasSubstr(c.sentence));
  }
}

TEST(ServeFlags, NobodyIsExposedByMistake) {
  for (const char* option : {"--http", "--ws", "--tcp"}) {
    Program program(words(std::string(option) + " 0.0.0.0:0"));
    EXPECT_EQ(program.exit_code(), 1);
    EXPECT_THAT(program.said(), HasSubstr("--expose"));
  }
}

TEST(ServeFlags, HelpIsHelpWhateverElseIsSaid) {
  for (const char* arguments : {"--help", "-h", "--http 127.0.0.1:0 --help", "--help --stdio"}) {
    Program program(words(arguments));
    EXPECT_EQ(program.exit_code(), 0) << arguments;
  }
}

/// A certificate that can be exchanged for another one.
struct Certificate {
  void renew() {
    authority = test::TestCertificate::make_authority();
    const auto signed_ = authority->sign({});
    test::write_file(ca, authority->certificate_pem());
    test::write_file(certificate, signed_.certificate_pem());
    test::write_file(key, signed_.key_pem());
  }
  bool trusts(const std::string& url) const {
    ClientOptions options;
    options.tls.ca_file = ca;
    auto client = Client::connect(url, options);
    return client && client->ping();
  }
  test::TemporaryFolder folder;
  std::string ca = folder.file("ca.pem");
  std::string certificate = folder.file("s.pem");
  std::string key = folder.file("s.key");
  std::optional<test::TestCertificate> authority;
};

void expect_certificates_read_again(const std::string& place, const char* scheme) {
  Certificate files;
  files.renew();
  Program program(words(place + " --tls-cert " + files.certificate + " --tls-key " + files.key));
  const std::string url = program.url();
  ASSERT_TRUE(url.starts_with(scheme)) << program.said();
  EXPECT_TRUE(files.trusts(url));
  files.renew();
  EXPECT_FALSE(files.trusts(url));  // the old one is still shown
  program.send(SIGHUP);
  ASSERT_TRUE(program.says("the certificate was read again"));
  EXPECT_TRUE(files.trusts(url));

  test::write_file(files.certificate, "nonsense");
  program.send(SIGHUP);
  ASSERT_TRUE(program.says("the old certificate stays"));
  EXPECT_TRUE(files.trusts(url));
  program.send(SIGTERM);
  EXPECT_EQ(program.exit_code(), 0) << program.said();
}

TEST(ServeFlags, HttpsReadsItsCertificateAgain) {
  expect_certificates_read_again("--http 127.0.0.1:0", "https://127.0.0.1:");
}
TEST(ServeFlags, SecureWebSocketReadsItsCertificateAgain) {
  expect_certificates_read_again("--ws 127.0.0.1:0", "wss://127.0.0.1:");
}

}  // namespace
}  // namespace godwit
