// An http::Exchange that writes down what it is told, and an http::Request that owns its bytes:
// HTTP without a socket.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/http/exchange.hpp"
#include "godwit/http/fields.hpp"
#include "godwit/http/request.hpp"
#include "godwit/json/value.hpp"

namespace godwit::test {

/// One event of a stream as it stood on the wire.
struct WireEvent {
  std::vector<std::string> data;  // each line
  std::optional<std::string> id;
  std::optional<std::string> retry;
  bool operator==(const WireEvent&) const = default;
};

/// Whoever uses it after the answer is complete, or after the client went away, fails the test.
class FakeExchange final : public http::Exchange {
 public:
  enum class State { open, streaming, answered, ended, aborted, gone };

  void respond(int code, std::string_view content_type, std::string_view text,
               const http::Fields& more) override {
    if (!expect(State::open, "respond")) return;
    state = State::answered;
    status = code;
    type = content_type;
    body = text;
    fields = more;
  }
  void begin(int code, std::string_view content_type, const http::Fields& more) override {
    if (!expect(State::open, "begin")) return;
    if (fails_to_begin) throw std::bad_alloc();
    state = State::streaming;
    status = code;
    type = content_type;
    fields = more;
  }
  void write(std::string_view piece) override {
    if (!expect(State::streaming, "write")) return;
    pieces.emplace_back(piece);
    body += piece;
  }
  void end() override {
    if (expect(State::streaming, "end")) state = State::ended;
  }
  void abort() override {
    if (state != State::open && state != State::streaming) expect(State::streaming, "abort");
    state = State::aborted;
  }
  std::size_t unsent() const noexcept override { return stuck ? body.size() - taken : 0; }
  void set_owner(Owner* who) noexcept override { owner = who; }

  /// The client goes away.
  void go() {
    ASSERT_TRUE(waiting()) << "nobody waits for this one";
    ASSERT_NE(owner, nullptr) << "an exchange that is not answered has no owner";
    state = State::gone;
    std::exchange(owner, nullptr)->on_gone();
  }

  /// The client takes what there is, if it is stuck.
  void take() {
    taken = body.size();
    if (waiting() && owner) owner->on_drained();
  }

  bool waiting() const { return state == State::open || state == State::streaming; }
  bool streaming() const { return state == State::streaming; }
  bool ended() const { return state == State::ended; }
  bool aborted() const { return state == State::aborted; }

  /// The events of a stream, without comments.
  std::vector<WireEvent> events() const {
    std::vector<WireEvent> found;
    std::string_view rest = body;
    while (!rest.empty()) {
      const std::size_t end = rest.find("\n\n");
      EXPECT_NE(end, rest.npos) << "a stream ends in the middle of an event: " << body;
      if (end == rest.npos) break;
      std::string_view block = rest.substr(0, end);
      rest.remove_prefix(end + 2);
      WireEvent event;
      bool only_comment = true;
      while (!block.empty()) {
        const std::string_view line = block.substr(0, block.find('\n'));
        block.remove_prefix(std::min(block.size(), line.size() + 1));
        if (line.starts_with(':')) continue;
        only_comment = false;
        if (line.starts_with("data: ")) {
          event.data.emplace_back(line.substr(6));
        } else if (line.starts_with("id: ")) {
          event.id = std::string(line.substr(4));
        } else if (line.starts_with("retry: ")) {
          event.retry = std::string(line.substr(7));
        } else {
          ADD_FAILURE() << "a line that is none of a stream here: " << line;
        }
      }
      if (!only_comment) found.push_back(std::move(event));
    }
    return found;
  }
  /// The messages of a stream: events with data, each of one line, parsed.
  std::vector<json::Value> messages() const {
    std::vector<json::Value> found;
    for (const WireEvent& event : events()) {
      EXPECT_EQ(event.data.size(), 1u) << body;
      if (event.data.empty() || event.data[0].empty()) continue;
      const auto value = json::parse(event.data[0]);
      EXPECT_TRUE(value) << event.data[0];
      if (value) found.push_back(*value);
    }
    return found;
  }
  /// The answer: the body, or the last message of the stream.
  json::Value answer() const {
    if (type == "text/event-stream") {
      const auto all = messages();
      return all.empty() ? json::Value() : all.back();
    }
    const auto value = json::parse(body);
    return value ? *value : json::Value();
  }
  std::string field(std::string_view name) const {
    return std::string(fields.find(name).value_or(""));
  }

  State state = State::open;
  int status = 0;
  std::string type;
  http::Fields fields;
  std::string body;
  std::vector<std::string> pieces;
  Owner* owner = nullptr;
  /// There is no memory for begin().
  bool fails_to_begin = false;
  /// The client reads nothing.
  bool stuck = false;
  std::size_t taken = 0;

 private:
  bool expect(State wanted, const char* what) {
    if (state == wanted) return true;
    ADD_FAILURE() << what << "() on an exchange in state " << static_cast<int>(state) << ": "
                  << body;
    return false;
  }
};

/// Owns what a Request looks at. The bytes behind the body are none of it.
class FakeRequest {
 public:
  FakeRequest() = default;
  FakeRequest(std::string method, std::string target)
      : method_(std::move(method)), target_(std::move(target)) {}

  FakeRequest& with(std::string name, std::string value) {
    fields_.emplace_back(std::move(name), std::move(value));
    return *this;
  }
  /// Replaces all of this name.
  FakeRequest& set(std::string_view name, std::string value) {
    without(name);
    return with(std::string(name), std::move(value));
  }
  FakeRequest& without(std::string_view name) {
    std::erase_if(fields_, [&](const auto& one) { return http::same_name(one.first, name); });
    return *this;
  }
  FakeRequest& body(std::string_view text) {
    body_ = std::string(text) + std::string(spare, '}');
    return *this;
  }
  /// Who sends it, as the socket knows it.
  FakeRequest& peer(std::string address) {
    peer_ = std::move(address);
    return *this;
  }
  FakeRequest& secure(bool on = true) {
    secure_ = on;
    return *this;
  }

  /// Views into this object.
  const http::Request& get() {
    views_.clear();
    for (const auto& [name, value] : fields_) views_.push_back({name, value});
    const std::size_t size = body_.size() < spare ? 0 : body_.size() - spare;
    request_ = http::Request{.method = method_,
                             .target = target_,
                             .fields = http::FieldsView(views_),
                             .body = std::string_view(body_).substr(0, size),
                             .spare = body_.empty() ? 0 : spare,
                             .peer = peer_,
                             .secure = secure_};
    return request_;
  }

 private:
  static constexpr std::size_t spare = 64;
  std::string method_ = "POST";
  std::string target_ = "/mcp";
  std::vector<std::pair<std::string, std::string>> fields_;
  std::string body_;
  std::string peer_ = "127.0.0.1:4711";
  bool secure_ = false;
  std::vector<http::Field> views_;
  http::Request request_;
};

}  // namespace godwit::test
