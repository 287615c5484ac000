// What must be true of every peer, whatever it is sent: each message that leaves is one line of
// JSON-RPC, each request is answered exactly once unless it was taken back, and nobody is answered
// who did not ask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/base/limits.hpp"
#include "godwit/base/work.hpp"
#include "godwit/json/document.hpp"
#include "godwit/json/value.hpp"
#include "godwit/json/view.hpp"

namespace grammar {

inline void check(bool good, std::string_view why, std::string_view what = {}) {
  if (good) return;
  std::fprintf(stderr, "%.*s: %.*s\n", static_cast<int>(why.size()), why.data(),
               static_cast<int>(what.size()), what.data());
  std::abort();
}

/// With GODWIT_FUZZ_TRACE in the environment an input is told as the conversation that it makes.
inline void trace(std::string_view arrow, std::string_view message) {
  static const bool wanted = std::getenv("GODWIT_FUZZ_TRACE") != nullptr;
  if (!wanted) return;
  std::fprintf(stderr, "%.*s %.*s\n", static_cast<int>(arrow.size()), arrow.data(),
               static_cast<int>(message.size()), message.data());
}

/// Fails if the peer does more than is linear in what passes through it. What it sends is collected
/// meanwhile, so that only its own steps are counted and not those of whoever checks it.
class Effort {
 public:
  /// Runs what makes the peer work, and gives what it sent.
  template <class Run>
  std::vector<std::string> of(std::size_t bytes, Run&& run) {
    const std::uint64_t before = godwit::detail::base::work_done();
    run();
    steps_ += godwit::detail::base::work_done() - before;
    bytes_ += bytes;
    ++messages_;
    for (const std::string& message : sent_) bytes_ += message.size();
    return std::exchange(sent_, {});
  }
  void send(std::string_view message) { sent_.emplace_back(message); }

  void finish() const {
    check(steps_ <= steps_per_byte * bytes_ + steps_per_message * messages_,
          "more work than is linear in the input",
          std::to_string(steps_) + " steps for " + std::to_string(bytes_) + " bytes in " +
              std::to_string(messages_) + " messages");
  }

 private:
  /// Reading takes about five steps a byte: the parse, perhaps a second one that says what is
  /// wrong, duplicates, the struct, slices of the source. Walking a message again for each of its
  /// elements takes ninety and more. What a message costs beside its bytes is the same for all of
  /// them.
  static constexpr std::uint64_t steps_per_byte = 16;
  static constexpr std::uint64_t steps_per_message = 2'000;

  std::vector<std::string> sent_;
  std::uint64_t steps_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t messages_ = 0;
};

class Answers {
 public:
  /// A message on its way to the peer. `intact` says that nothing is wrong with its envelope, as
  /// far as its maker knows.
  void sent(std::string_view message, bool intact) {
    trace("->", message);
    const auto text = document_.parse(message, godwit::json::ParseOptions::from({}));
    if (!text) return;  // answered without an id, or not at all
    if (!text->is_array()) return note(*text, intact);
    for (const auto entry : text->items()) note(entry, false);
  }

  /// A message that the peer has sent. Gives what it is, or null if it is a batch.
  godwit::json::Value received(std::string_view message) {
    trace("<-", message);
    check(message.find('\n') == std::string_view::npos, "a message of several lines", message);
    auto value = godwit::json::parse(message);
    check(value.has_value(), "no JSON", message);
    if (const auto* list = value->as_array()) {
      check(!list->empty(), "an empty batch", message);
      for (const auto& entry : *list) one(entry, message);
      return {};
    }
    one(*value, message);
    return *std::move(value);
  }

  /// Once nothing more can be answered.
  void finish() const {
    for (const auto& [id, request] : requests_) {
      check(request.taken_back || request.answered >= request.required, "never answered", id);
    }
  }

 private:
  struct Request {
    std::size_t asked = 0;
    std::size_t required = 0;
    std::size_t answered = 0;
    bool taken_back = false;
  };

  /// 1 and 1.0 are the same id.
  static std::string name(const godwit::json::Value& id) {
    const auto whole = id.as_int64();
    return whole ? std::to_string(*whole) : id.dump();
  }

  static bool usual(godwit::json::View id) {
    return id.is_string() || (id.as_int64() && !id.is_real());
  }

  void note(godwit::json::View message, bool intact) {
    bool request = false;
    bool version = false;
    for (const auto member : message.members()) {
      // A listen lasts as long as the connection.
      request =
          request || (member.key == "method" && member.value.as_string() != "subscriptions/listen");
      version = version || (member.key == "jsonrpc" && member.value.as_string() == "2.0");
      if (member.key == "params") take_back(member.value);
    }
    for (const auto member : message.members()) {
      if (member.key != "id") continue;
      Request& entry = requests_[name(godwit::json::Value(member.value))];
      // An id that is in use is refused, and not under that id.
      const bool unused = entry.asked == entry.answered;
      if (intact && request && version && unused && usual(member.value)) ++entry.required;
      ++entry.asked;  // even what is no request may be told so under its id
    }
  }

  /// Any message that names a request may have taken it back: which do, others test.
  void take_back(godwit::json::View params) {
    for (const auto member : params.members()) {
      if (member.key != "requestId") continue;
      const auto found = requests_.find(name(godwit::json::Value(member.value)));
      if (found != requests_.end()) found->second.taken_back = true;
    }
  }

  void one(const godwit::json::Value& message, std::string_view text) {
    check(message.is_object() && message["jsonrpc"] == "2.0", "no JSON-RPC", text);
    if (message.contains("method")) {
      check(message["method"].is_string(), "a method that is no text", text);
      check(!message.contains("result") && !message.contains("error"), "two things at once", text);
      return;
    }
    check(message.contains("result") != message.contains("error"), "no answer", text);
    if (message.contains("error")) {
      check(message["error"]["code"].as_int64().has_value(), "an error without a code", text);
      check(message["error"]["message"].is_string(), "an error without a sentence", text);
    }
    if (message["id"].is_null()) return check(message.contains("error"), "whose?", text);
    Request& request = requests_[name(message["id"])];
    check(++request.answered <= request.asked, "answered more often than asked", text);
  }

  godwit::json::Document document_;
  std::map<std::string, Request> requests_;
};

}  // namespace grammar
