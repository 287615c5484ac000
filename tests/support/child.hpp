// A program run by a test: what it says is gathered, and it must end well.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/io/loop.hpp"
#include "godwit/io/process.hpp"
#include "godwit/io/stream.hpp"
#include "wait.hpp"

namespace godwit::test {

/// A child whose output is gathered.
class Child : private Stream::Handler {
 public:
  Child(Loop& loop, std::vector<std::string> argv)
      : loop_(loop), process_(*Process::spawn(loop, {.argv = std::move(argv)})) {
    input_.emplace(process_.take_input());
    input_->set_handler(*this);
    output_.emplace(process_.take_output());
    output_->set_handler(*this);
    output_->resume();
    process_.on_exit([this](ExitStatus how) { status_ = how; });
  }

  void write(std::string_view bytes) { ASSERT_EQ(*input_->write_some(bytes), bytes.size()); }
  void close_input() { input_.reset(); }

  /// The whole output once the process has ended by itself.
  std::string rest() {
    EXPECT_TRUE(test::run_until(loop_, [&] { return ended_ && status_; }));
    EXPECT_TRUE(status_ && status_->success()) << (status_ ? status_->text() : "still running");
    return text_;
  }
  std::string line() {
    EXPECT_TRUE(test::run_until(loop_, [&] { return text_.find('\n') != std::string::npos; }));
    return text_.substr(0, text_.find('\n'));
  }
  void stop() {
    ::kill(process_.pid(), SIGTERM);
    rest();
  }

 private:
  std::span<char> on_space() override { return space_; }
  void on_data(std::size_t size) override { text_.append(space_, size); }
  void on_end(const Result<void>&) override { ended_ = true; }
  void on_writable() override {}

  Loop& loop_;
  Process process_;
  std::optional<Stream> input_;
  std::optional<Stream> output_;
  std::optional<ExitStatus> status_;
  std::string text_;
  bool ended_ = false;
  char space_[4096];
};

}  // namespace godwit::test
