// A Receiver that writes down what it is told.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "godwit/rpc/transport.hpp"

namespace godwit::test {

struct Recorder : rpc::Receiver {
  void on_message(std::string_view message, std::size_t spare) override {
    messages.emplace_back(message);
    least_spare = std::min(least_spare, spare);
    if (on_each) on_each(message);
  }
  void on_failure(const rpc::Id& id, const Error& error) override {
    failures.push_back(error);
    Receiver::on_failure(id, error);
  }
  void on_unreadable(const Error& error) override { unreadable.push_back(error.message); }
  void on_close(const Error& reason) override {
    ++closed;
    why = reason.message;
    if (then) then();
  }

  std::vector<std::string> messages, unreadable;
  std::vector<Error> failures;  // that no peer sent; each is among the messages, too
  std::function<void(std::string_view)> on_each;
  std::function<void()> then;
  std::size_t least_spare = SIZE_MAX;
  int closed = 0;
  std::string why;
};

/// As bytes, of which nothing is told.
inline void send(rpc::Transport& transport, std::string_view message,
                 const rpc::MessageFields& fields = {}) {
  const std::size_t begin = transport.output().size();
  transport.output() += message;
  transport.finish({.begin = begin, .fields = &fields});
}

}  // namespace godwit::test
