// A Server's connection as a test drives it: requests are written in the revision that is spoken,
// what the server sends is collected and checked against the official schema of that revision, time
// is moved by hand. Beside it a Sealer that needs no cryptography.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/mcp/revision.hpp"
#include "godwit/mcp/sealer.hpp"
#include "godwit/server/server.hpp"
#include "mcp_schema.hpp"
#include "rpc_station.hpp"

namespace godwit::test {

inline constexpr std::string_view all_revisions[] = {"2024-11-05", "2025-03-26", "2025-06-18",
                                                     "2025-11-25", "2026-07-28"};
inline constexpr std::string_view modern_revision = "2026-07-28";
/// The newest with a handshake.
inline constexpr std::string_view legacy_revision = "2025-11-25";
inline bool is_modern(std::string_view revision) { return revision == modern_revision; }

/// Everything that a client can be asked.
inline constexpr std::string_view can_all =
    R"({"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}})";

/// Somebody verified; nobody if the name is empty.
inline std::shared_ptr<const rpc::Identity> known_as(const std::string& subject) {
  if (subject.empty()) return nullptr;
  return std::make_shared<const rpc::Identity>(
      rpc::Identity{.issuer = "https://issuer.example", .subject = subject});
}

/// Believes what it has handed out itself, with the context it was handed out for.
class TableSealer final : public Sealer {
 public:
  std::string seal(std::string_view plain, std::string_view context) override {
    const std::lock_guard lock(mutex_);
    std::string name = "t1." + std::to_string(table_.size());
    table_[name] = {std::string(plain), std::string(context)};
    return name;
  }
  std::optional<std::string> open(std::string_view sealed, std::string_view context) override {
    const std::lock_guard lock(mutex_);
    const auto at = table_.find(std::string(sealed));
    if (at == table_.end() || at->second.second != context) return std::nullopt;
    return at->second.first;
  }
  /// What was sealed under this name.
  std::string plain(const std::string& sealed) const {
    const std::lock_guard lock(mutex_);
    return table_.at(sealed).first;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::pair<std::string, std::string>> table_;
};

/// Names, a sealer of the test, no log, and whatever the test changes.
inline ServerOptions server_options() {
  ServerOptions options;
  options.name = "test";
  options.version = "1.2.3";
  options.sealer = std::make_shared<TableSealer>();
  options.log = Log();
  return options;
}

inline json::Value parse(std::string_view text) {
  auto value = json::parse(text);
  if (!value) throw std::runtime_error(std::string(text) + ": " + value.error().message);
  return *std::move(value);
}

struct LinkOptions {
  /// What the client says it can do; JSON.
  std::string capabilities = "{}";
  PeerFacts facts{};
  /// In every request of the stateless era, if not empty.
  std::string log_level{};
  std::optional<Limits> limits{};
};

class Link {
 public:
  /// With a revision that has a handshake, the handshake is made.
  explicit Link(const Server& server, std::string_view revision = {}, LinkOptions options = {})
      : options_(std::move(options)), revision_(revision) {
    rpc::PeerOptions peer_options = server.peer_options(options_.facts);
    peer_options.clock = &clock;
    if (options_.limits) peer_options.limits = *options_.limits;
    peer_options.log = Log(
        [this](LogLevel, std::string_view line) {
          const std::lock_guard lock(mutex_);
          log_.emplace_back(line);
        },
        LogLevel::debug);
    peer_options.wake = [this] {
      const std::lock_guard lock(mutex_);
      woken_ = true;
      condition_.notify_all();
    };
    peer.emplace(sink_, server.router(), std::move(peer_options));
    if (!revision_.empty() && !modern()) {
      const json::Value answer = handshake(revision_);
      EXPECT_EQ(answer["result"]["protocolVersion"].as_string(), revision_) << answer.dump();
    }
  }
  ~Link() { peer.reset(); }

  bool modern() const { return is_modern(revision_); }
  const std::string& revision() const { return revision_; }
  /// For tests that make the handshake themselves.
  void set_revision(std::string_view revision) { revision_ = revision; }

  // Sending.

  /// initialize and initialized. Gives the answer to the first.
  json::Value handshake(std::string_view revision) {
    const std::string id = next_id();
    json::Value params = json::Object{{"protocolVersion", std::string(revision)},
                                      {"capabilities", parse(options_.capabilities)},
                                      {"clientInfo", parse(R"({"name":"tester","version":"9"})")}};
    raw(id, "initialize", params);
    json::Value answer = take_answer(id);
    const auto agreed = answer["result"]["protocolVersion"].as_string();
    if (agreed) {
      revision_ = *agreed;
      receive(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
    }
    return answer;
  }

  /// The params with what the revision wants in them. Their own _meta is kept.
  json::Value dressed(std::string_view params) const { return dressed(params, revision_); }
  json::Value dressed(std::string_view params, std::string_view revision) const {
    json::Value all = parse(params.empty() ? "{}" : params);
    if (!is_modern(revision)) return all;
    json::Value meta = all.contains("_meta") ? std::as_const(all)["_meta"] : json::Object{};
    meta["io.modelcontextprotocol/protocolVersion"] = std::string(revision);
    meta["io.modelcontextprotocol/clientCapabilities"] = parse(options_.capabilities);
    meta["io.modelcontextprotocol/clientInfo"] = parse(R"({"name":"tester","version":"9"})");
    if (!options_.log_level.empty()) {
      meta["io.modelcontextprotocol/logLevel"] = options_.log_level;
    }
    all["_meta"] = std::move(meta);
    return all;
  }

  /// Sends a request in the revision of this link; gives its id as JSON.
  std::string request(std::string_view method, std::string_view params = "{}") {
    const std::string id = next_id();
    raw(id, method, dressed(params));
    return id;
  }
  /// The same in the stateless era, whatever the link speaks.
  std::string modern_request(std::string_view method, std::string_view params = "{}") {
    const std::string id = next_id();
    raw(id, method, dressed(params, modern_revision));
    return id;
  }
  /// A request under an id of the test's choice.
  void raw(const std::string& id, std::string_view method, const json::Value& params) {
    receive(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":)" + json::quote(method) +
            (params.is_null() ? std::string() : R"(,"params":)" + params.dump()) + "}");
  }
  /// Sends and waits for the answer.
  json::Value ask(std::string_view method, std::string_view params = "{}") {
    return take_answer(request(method, params));
  }
  json::Value ask_modern(std::string_view method, std::string_view params = "{}") {
    return take_answer(modern_request(method, params));
  }
  static std::string tool_params(std::string_view name, std::string_view arguments = "{}",
                                 std::string_view more = "") {
    return R"({"name":)" + json::quote(name) + R"(,"arguments":)" + std::string(arguments) +
           std::string(more) + "}";
  }
  json::Value tool(std::string_view name, std::string_view arguments = "{}",
                   std::string_view more = "") {
    return ask("tools/call", tool_params(name, arguments, more));
  }
  void notify(std::string_view method, std::string_view params = "{}") {
    receive(R"({"jsonrpc":"2.0","method":)" + json::quote(method) + R"(,"params":)" +
            std::string(params) + "}");
  }
  void cancel(const std::string& id) {
    notify("notifications/cancelled", R"({"requestId":)" + id + "}");
  }
  /// Any text. Gives what the server sent for it, one message per line.
  std::string receive(std::string_view message) {
    remember(message);
    const std::size_t before = sent.size();
    peer->receive(message);
    peer->process();
    std::string all;
    for (std::size_t i = before; i < sent.size(); ++i) {
      all += (all.empty() ? "" : "\n") + sent[i].dump();
    }
    return all;
  }

  // Waiting.

  /// Processes what other threads answered until the condition holds.
  template <class Condition>
  bool wait(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (;;) {
      peer->process();
      if (condition()) return true;
      std::unique_lock lock(mutex_);
      if (!condition_.wait_until(lock, deadline, [&] { return woken_; })) return false;
      woken_ = false;
    }
  }
  bool wait_answer(const std::string& id) {
    return wait([&] { return has_answer(id); });
  }
  bool has_answer(const std::string& id) const { return answers.contains(id); }
  /// The response to this id, waited for.
  json::Value take_answer(const std::string& id) {
    if (!wait_answer(id)) {
      ADD_FAILURE() << "no answer to " << id;
      return {};
    }
    json::Value answer = answers[id];
    answers.erase(id);
    return answer;
  }
  void pass(Duration time) {
    clock.advance(time);
    peer->expire(clock.now());
    peer->process();
  }

  // Questions of the server: requests in the stateful era.

  bool wait_question() {
    return wait([&] { return !questions.empty(); });
  }
  json::Value take_question() {
    if (!wait_question()) {
      ADD_FAILURE() << "the server asked nothing";
      return {};
    }
    json::Value question = questions.front();
    questions.erase(questions.begin());
    return question;
  }
  void reply(const json::Value& question, std::string_view result) {
    receive(R"({"jsonrpc":"2.0","id":)" + question["id"].dump() + R"(,"result":)" +
            std::string(result) + "}");
  }
  void refuse(const json::Value& question, int code, std::string_view message) {
    receive(R"({"jsonrpc":"2.0","id":)" + question["id"].dump() + R"(,"error":{"code":)" +
            std::to_string(code) + R"(,"message":)" + json::quote(message) + "}}");
  }

  /// Answers all questions until the request has its answer, in either era. `answer` gets the
  /// method and params of a question and gives the result as JSON. `rounds` counts how often was
  /// asked.
  using Answerer = std::function<std::string(std::string_view method, const json::Value& params)>;
  json::Value converse(std::string_view method, std::string_view params, const Answerer& answer,
                       int* rounds = nullptr) {
    int asked = 0;
    const struct Tell {
      int* to;
      int& from;
      ~Tell() {
        if (to) *to = from;
      }
    } tell{rounds, asked};
    if (modern()) {
      json::Value now = ask(method, params);
      for (; asked < 50; ++asked) {
        const json::Value& result = std::as_const(now)["result"];
        if (result["resultType"].as_string() != "input_required") return now;
        now = ask(method, with_answers(params, result, answer));
      }
      return now;
    }
    const std::string id = request(method, params);
    for (; asked < 50; ++asked) {
      if (!wait([&] { return has_answer(id) || !questions.empty(); })) break;
      if (has_answer(id)) return take_answer(id);
      for (const json::Value& question : std::exchange(questions, {})) {
        reply(question, answer(*question["method"].as_string(), question["params"]));
      }
    }
    ADD_FAILURE() << "the server asks in circles";
    return {};
  }
  /// The params of the next round.
  static std::string with_answers(std::string_view params, const json::Value& result,
                                  const Answerer& answer) {
    json::Value next = parse(params);
    if (result.contains("inputRequests")) {
      json::Value responses = json::Object{};
      for (const json::Member& one : *result["inputRequests"].as_object()) {
        const json::Value& question = one.value;
        responses[one.key] = parse(answer(*question["method"].as_string(), question["params"]));
      }
      next["inputResponses"] = std::move(responses);
    }
    if (result.contains("requestState")) next["requestState"] = result["requestState"];
    return next.dump();
  }

  // What was sent.

  /// Notifications of this method so far.
  std::vector<json::Value> notes(std::string_view method) const {
    std::vector<json::Value> found;
    for (const json::Value& message : sent) {
      if (message["method"].as_string() == method && !message.contains("id")) {
        found.push_back(message);
      }
    }
    return found;
  }
  void forget() {
    sent.clear();
    answers.clear();
  }
  bool logged(std::string_view part) const {
    const std::lock_guard lock(mutex_);
    for (const std::string& line : log_) {
      if (line.find(part) != line.npos) return true;
    }
    return false;
  }

  ManualClock clock;
  /// Every message, in order.
  std::vector<json::Value> sent;
  /// The same, byte for byte; never forgotten.
  std::vector<std::string> sent_texts;
  /// Responses by id, until taken.
  std::map<std::string, json::Value> answers;
  /// Requests of the server, until taken.
  std::vector<json::Value> questions;
  /// Called once with the next message that the server sends, inside the server's call.
  std::function<void()> on_next;
  /// For tests that look at what no schema knows.
  bool check_schema = true;

 private:
  struct Asked {
    std::string revision;
    std::string method;
  };

  std::string next_id() { return std::to_string(++last_id_); }

  /// Keeps which revision and method an id belongs to.
  void remember(std::string_view message) {
    const auto value = json::parse(message);
    if (!value) return;
    const auto one = [&](const json::Value& request) {
      const auto method = request["method"].as_string();
      if (!method || !request.contains("id")) return;
      const json::Value& version =
          request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
      std::string revision = version.is_null() ? revision_ : std::string(modern_revision);
      if (*method == "initialize" && version.is_null()) {
        revision = request["params"]["protocolVersion"].as_string().value_or("");
      }
      asked_[request["id"].dump()] = {std::move(revision), std::string(*method)};
    };
    if (const json::Array* batch = value->as_array()) {
      for (const json::Value& entry : *batch) one(entry);
    } else {
      one(*value);
    }
  }

  void on_sent(std::string_view text) {
    const auto value = json::parse(text);
    ASSERT_TRUE(value) << text;
    sent.push_back(*value);
    sent_texts.emplace_back(text);
    if (const json::Array* batch = value->as_array()) {
      for (const json::Value& entry : *batch) one_sent(entry);
    } else {
      one_sent(*value);
    }
    if (const auto call = std::exchange(on_next, nullptr)) call();
  }

  void one_sent(const json::Value& message) {
    if (check_schema) check(message);
    if (message.contains("method")) {
      if (message.contains("id")) questions.push_back(message);
      return;
    }
    const std::string id = message.contains("id") ? message["id"].dump() : "none";
    EXPECT_FALSE(answers.contains(id) && id != "none") << "two answers: " << message.dump();
    answers[id] = message;
  }

  void check(const json::Value& message) {
    SchemaBook& book = SchemaBook::shared();
    std::string revision = revision_.empty() ? std::string(modern_revision) : revision_;
    std::string method;
    if (message.contains("method")) {
      const std::string_view name = *message["method"].as_string();
      EXPECT_FALSE(modern() && message.contains("id")) << "a request: " << message.dump();
      if (message["params"]["_meta"].contains("io.modelcontextprotocol/subscriptionId") ||
          name == "notifications/subscriptions/acknowledged") {
        revision = modern_revision;
      }
    } else if (!message.contains("id")) {
      // Before this revision there is no answer without an id.
      revision = revision_.empty() || revision_ < legacy_revision ? std::string(legacy_revision)
                                                                  : revision_;
    } else {
      const auto asked = asked_.find(message["id"].dump());
      EXPECT_NE(asked, asked_.end()) << "an answer to nothing: " << message.dump();
      if (asked == asked_.end()) return;
      revision = asked->second.revision;
      method = asked->second.method;
      if (method == "initialize" && message.contains("result")) {
        revision = message["result"]["protocolVersion"].as_string().value_or("");
      }
      const bool asks = message["result"]["resultType"].as_string() == "input_required";
      EXPECT_TRUE(!asks || method == "tools/call" || method == "prompts/get" ||
                  method == "resources/read" || method.starts_with("acme/"))
          << message.dump();
      if (method.starts_with("acme/")) method.clear();  // the test's own
      if (!is_modern(revision)) {
        for (const char* member : {"resultType", "ttlMs", "cacheScope"}) {
          EXPECT_FALSE(message["result"].contains(member)) << message.dump();
        }
      }
    }
    if (!book.knows(revision)) return;
    const auto problem = book.check(revision, message.dump(), Direction::from_server, method);
    EXPECT_FALSE(problem) << *problem;
  }

  LinkOptions options_;
  std::string revision_;
  std::uint64_t last_id_ = 0;
  std::map<std::string, Asked> asked_;
  mutable std::mutex mutex_;
  std::condition_variable condition_;
  bool woken_ = false;
  std::vector<std::string> log_;
  rpc::MessageSink sink_{[this](std::string_view message) { on_sent(message); }};

 public:
  std::optional<rpc::Peer> peer;
};

/// The first text of a tool result.
inline std::string text_of(const json::Value& answer) {
  const json::Value& text = answer["result"]["content"][0]["text"];
  return text.is_string() ? text.get<std::string>() : answer.dump();
}
/// `CODE` of an error, 0 of a result.
inline int code_of(const json::Value& answer) {
  if (answer.contains("result")) return 0;
  return answer["error"]["code"].is_number() ? answer["error"]["code"].get<int>() : 1;
}
inline std::string error_text(const json::Value& answer) {
  const json::Value& text = answer["error"]["message"];
  return text.is_string() ? text.get<std::string>() : answer.dump();
}
inline bool is_error_result(const json::Value& answer) {
  return answer["result"]["isError"].as_bool().value_or(false);
}
inline testing::AssertionResult has(std::string_view text, std::string_view part) {
  if (text.find(part) != text.npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no \"" << part << "\" in \"" << text << '"';
}
inline testing::AssertionResult equals(const json::Value& actual, std::string_view expected) {
  return same_json(actual.dump(), expected);
}

/// What people answer to forms.
inline std::string accept(std::string_view content) {
  return R"({"action":"accept","content":)" + std::string(content) + "}";
}
inline constexpr std::string_view decline = R"({"action":"decline"})";

}  // namespace godwit::test
