// An Output that takes the messages and forgets them, keeping its buffer, as a transport does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "godwit/rpc/transport.hpp"

namespace godwit::test {

/// Writes into the same buffer over and over, as a transport does.
class Reused final : public rpc::Output {
 public:
  std::string& output() override { return buffer_; }
  void finish(const rpc::Outbound& message) override {
    last = message.begin;
    size = buffer_.size() - message.begin;
    ++messages;
    if (!keep) buffer_.clear();
  }
  void flush() override {}
  std::string_view text() const { return std::string_view(buffer_).substr(last, size); }

  bool keep = false;
  std::size_t last = 0;
  std::size_t size = 0;
  std::size_t messages = 0;

 private:
  std::string buffer_;
};

}  // namespace godwit::test
