// A Transport in the hands of a test: what goes out is kept, what comes in is said by the test.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/rpc/transport.hpp"

namespace godwit::test {

/// What the test keeps of a transport that it gave away.
struct FakeWire {
  std::vector<std::string> sent{};
  rpc::Receiver* receiver = nullptr;
  int closes = 0;
  bool gone = false;

  void say(std::string_view message) { receiver->on_message(message, 0); }
  std::string last() const { return sent.empty() ? "nothing" : sent.back(); }
};

struct FakeTransport final : rpc::Transport {
  explicit FakeTransport(FakeWire& w) : wire(w) {}
  ~FakeTransport() override { wire.gone = true; }
  std::string& output() override { return buffer; }
  void finish(const rpc::Outbound& message) override {
    wire.sent.push_back(buffer.substr(message.begin));
    buffer.resize(message.begin);
  }
  void flush() override {}
  void start(rpc::Receiver& receiver) override { wire.receiver = &receiver; }
  void when_flushed(Function<void()> done) override { done(); }
  void close() override {
    ++wire.closes;
    if (auto* to = std::exchange(wire.receiver, nullptr)) to->on_close({.message = "closed here"});
  }
  FakeWire& wire;
  std::string buffer;
};

}  // namespace godwit::test
