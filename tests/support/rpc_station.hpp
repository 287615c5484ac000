// A Peer for tests: what it sends is collected, time is moved by hand, its log is kept. Two of them
// joined by a pump are a connection without bytes in between.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/base/clock.hpp"
#include "godwit/base/log.hpp"
#include "godwit/json/value.hpp"
#include "godwit/rpc/peer.hpp"
#include "godwit/rpc/router.hpp"
#include "godwit/rpc/transport.hpp"

namespace godwit::test {

/// Equal as JSON. Texts that are not JSON are never equal.
inline testing::AssertionResult same_json(std::string_view actual, std::string_view expected) {
  const auto a = json::parse(actual);
  const auto b = json::parse(expected);
  if (a && b && *a == *b) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "got      " << actual << "\nexpected " << expected;
}

/// `CODE ID` of an error response, e.g. `-32601 "x"`; the text itself if it is something else.
inline std::string error_of(std::string_view answer) {
  const auto value = json::parse(answer);
  if (!value || !(*value)["error"]["code"].is_number()) return std::string(answer);
  const json::Object& members = *value->as_object();
  return (*value)["error"]["code"].dump() + " " +
         (members.contains("id") ? (*value)["id"].dump() : std::string("none"));
}

/// The sentence of an error response.
inline std::string message_of(std::string_view answer) {
  const auto value = json::parse(answer);
  if (!value || !(*value)["error"]["message"].is_string()) return std::string(answer);
  return (*value)["error"]["message"].get<std::string>();
}

class Station {
 public:
  explicit Station(std::shared_ptr<const rpc::Router> router = nullptr,
                   rpc::PeerOptions options = {}) {
    options.clock = &clock;
    options.log = Log(
        [this](LogLevel, std::string_view line) {
          const std::lock_guard lock(mutex_);
          log_.emplace_back(line);
        },
        LogLevel::debug);
    peer.emplace(sink_, std::move(router), std::move(options));
  }

  /// Hands the peer a message and gives what it sent for it; several messages one per line.
  std::string receive(std::string_view message) {
    sent.clear();
    peer->receive(message);
    return all_sent();
  }
  std::string all_sent() const {
    std::string all;
    for (const std::string& one : sent) all += (all.empty() ? "" : "\n") + one;
    return all;
  }
  std::vector<std::string> log() const {
    const std::lock_guard lock(mutex_);
    return log_;
  }
  bool logged(std::string_view part) const {
    for (const std::string& line : log()) {
      if (line.find(part) != line.npos) return true;
    }
    return false;
  }
  /// Lets time pass, and the calls whose time is up fail.
  void pass(Duration time) {
    clock.advance(time);
    peer->expire(clock.now());
  }

  ManualClock clock;
  std::vector<std::string> sent;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> log_;
  rpc::MessageSink sink_{[this](std::string_view message) { sent.emplace_back(message); }};

 public:
  std::optional<rpc::Peer> peer;
};

/// Carries messages between the two until there are none left.
inline void pump(Station& a, Station& b) {
  while (!a.sent.empty() || !b.sent.empty()) {
    for (const std::string& message : std::exchange(a.sent, {})) b.peer->receive(message);
    for (const std::string& message : std::exchange(b.sent, {})) a.peer->receive(message);
    a.peer->process();
    b.peer->process();
  }
}

}  // namespace godwit::test
