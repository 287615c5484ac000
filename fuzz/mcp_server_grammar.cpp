// A server that has one of everything, and a hostile client that knows the protocol: handshakes of
// every revision, calls that ask back, rounds with a state, subscriptions, batches, and something
// wrong with a field here and there. Every request is answered exactly once, and what the server
// does is linear in what it was sent.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "answers.hpp"
#include "fuzzed_server.hpp"
#include "godwit/rpc/peer.hpp"
#include "grammar.hpp"

namespace {

using fuzzed::FuzzedServer;
using godwit::json::Value;
using grammar::anything;
using grammar::Choices;
using grammar::Fields;
using grammar::quoted;

/// The client: what it says next, by the choices and by what it has been told.
class Client {
 public:
  explicit Client(Choices& choices) : choices_(choices), stateless_(choices.below(2) == 1) {}

  struct Message {
    std::string text;
    bool intact = true;
  };

  Message next() {
    if (!stateless_ && !begun_) {
      begun_ = true;
      if (!choices_.once_in(16)) return request("initialize", introduction());
    }
    if (choices_.once_in(24)) stateless_ = !stateless_;
    switch (choices_.below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return questions_.empty() ? any_request() : answer();
      case 4:
      case 5:
        return round_.method.empty() ? any_request() : another_round();
      case 6:
        return any_notification();
      case 7:
        return batch();
      case 8: {
        const bool hit = choices_.below(2) == 1;
        const Message message = any_request();
        return hit ? Message{grammar::damaged(choices_, message.text), false} : message;
      }
      default:
        return any_request();
    }
  }

  /// What the server said.
  void hear(const Value& message) {
    // Whatever is sent, nothing fails inside of the server; it may only be busy.
    const Value& error = message["error"];
    if (error["code"] == Value(-32603) &&
        error["message"].as_string().value_or("").find("busy") == std::string::npos) {
      grammar::check(false, "an internal error", message.dump());
    }
    if (message.contains("method") && message.contains("id")) {
      questions_.push_back(
          {message["id"].dump(), std::string(message["method"].as_string().value_or(""))});
    } else if (message["result"]["resultType"] == "input_required") {
      round_.answers.clear();
      round_.state = message["result"]["requestState"].dump();
      const Value& asked = message["result"]["inputRequests"];
      if (const auto* all = asked.as_object()) {
        for (const auto& [key, question] : *all) {
          round_.answers.emplace_back(key, question["method"].as_string().value_or(""));
        }
      }
      round_.method = last_method_;
      round_.params = last_params_;
    }
  }

 private:
  struct Question {
    std::string id;
    std::string method;
  };
  struct Round {
    std::string method{};
    std::vector<std::pair<std::string, std::string>> params{};
    std::string state{};
    std::vector<std::pair<std::string, std::string>> answers{};
  };
  using Params = std::vector<std::pair<std::string, std::string>>;

  std::string id() {
    if (choices_.once_in(24)) return anything(choices_);
    if (choices_.once_in(16)) return std::to_string(choices_.below(4));  // one that was used
    ++number_;
    return choices_.below(3) == 2 ? quoted("r" + std::to_string(number_))
                                  : std::to_string(number_ + 3);
  }

  std::string capabilities() {
    return Fields(choices_)
        .add("elicitation", choices_.of({"{}", R"({"form":{},"url":{}})"}))
        .add("sampling", choices_.of({"{}", R"({"tools":{},"context":{}})"}))
        .add("roots", "{}")
        .may("experimental", choices_.below(4) == 3 ? anything(choices_) : "{}")
        .may("extensions", R"({"a.example/b":{}})")
        .text();
  }
  std::string who() {
    return Fields(choices_)
        .add("name", choices_.once_in(16) ? grammar::odd_text(choices_) : quoted("c"))
        .add_text("version", "1")
        .may("title", quoted("t"))
        .may("icons", R"([{"src":"https://a.example/i.png","sizes":["1x1"]}])")
        .text();
  }
  Params introduction() {
    return {{"protocolVersion", grammar::revision(choices_)},
            {"capabilities", capabilities()},
            {"clientInfo", who()}};
  }

  std::string meta() {
    Fields out(choices_);
    if (stateless_) {
      out.add("io.modelcontextprotocol/protocolVersion",
              choices_.once_in(32) ? grammar::revision(choices_) : quoted("2026-07-28"));
      out.add("io.modelcontextprotocol/clientCapabilities", capabilities());
      out.may("io.modelcontextprotocol/clientInfo", who());
      out.may("io.modelcontextprotocol/logLevel", quoted("debug"));
    }
    out.may("progressToken", choices_.of({"1", R"("p")", "1.5"}));
    return out.text();
  }

  /// With the ids that make it a request, or without.
  Message message(std::string_view method, const Params& params, bool with_id) {
    Fields fields(choices_);
    for (const auto& [name, value] : params) fields.add(name, value);
    if (stateless_ || choices_.below(4) == 3) fields.add("_meta", meta());
    Fields envelope(choices_);
    envelope.add_text("jsonrpc", "2.0");
    if (with_id) envelope.add("id", id());
    envelope.add_text("method", method);
    const bool bare = params.empty() && choices_.below(2) == 1 && !stateless_;
    if (!bare) envelope.add("params", fields.text());
    return {envelope.text(), !envelope.spoilt()};
  }
  Message request(std::string_view method, Params params) {
    Message out = message(method, params, true);
    last_method_ = method;
    last_params_ = std::move(params);
    return out;
  }

  std::string arguments() {
    Fields out(choices_);
    out.add("text", choices_.once_in(8) ? grammar::odd_text(choices_) : quoted("t"));
    out.add_text("colour", choices_.of({"red", "green", "blue"}));
    out.may("number", choices_.below(4) == 3 ? grammar::odd_number(choices_) : "1");
    if (choices_.below(4) != 3) return out.text();
    out.keep("either", choices_.below(2) ? grammar::repeated(choices_, R"({"text":"a"})")
                                         : anything(choices_));
    out.keep("contents", grammar::repeated(choices_, grammar::content(choices_)));
    out.keep("raw", anything(choices_));
    out.keep("map", grammar::crowd(choices_, "1"));
    out.keep("set", grammar::repeated(choices_, quoted("s")));
    out.keep("list", choices_.below(2) ? grammar::repeated(choices_, R"({"list":["aaaaaaaaaaa"]})")
                                       : anything(choices_));
    return out.text();
  }

  std::string uri() {
    if (choices_.once_in(12)) return grammar::odd_text(choices_);
    return quoted(choices_.of({"a:b", "a:1/2/3", "a:%zz/", "b:c", "file:///etc/passwd"}));
  }

  Message any_request() {
    switch (choices_.below(18)) {
      case 0:
      case 1:
      case 2:
        return request("tools/call",
                       {{"name", quoted(choices_.of({"ask", "explicit", "sample", "roots"}))},
                        {"arguments", arguments()}});
      case 3:
      case 4:
      case 5:
        return request("tools/call", {{"name", quoted(choices_.of({"echo", "struct", "rich",
                                                                   "strict", "later", "nothing"}))},
                                      {"arguments", arguments()}});
      case 6:
        return request(choices_.of({"tools/list", "prompts/list", "resources/list",
                                    "resources/templates/list"}),
                       choices_.below(2) ? Params{{"cursor", quoted("dG9vbHM6Mg==")}} : Params{});
      case 7:
        return request("resources/read", {{"uri", uri()}});
      case 8:
        return request(choices_.of({"resources/subscribe", "resources/unsubscribe"}),
                       {{"uri", uri()}});
      case 9:
        return request(
            "prompts/get",
            {{"name", quoted("p")}, {"arguments", Fields(choices_).add_text("name", "x").text()}});
      case 10:
        return request(
            "completion/complete",
            {{"ref", Fields(choices_)
                         .add_text("type", choices_.of({"ref/prompt", "ref/resource"}))
                         .add_text("name", "p")
                         .may("uri", uri())
                         .text()},
             {"argument", Fields(choices_).add_text("name", "name").add_text("value", "v").text()},
             {"context", R"({"arguments":{"a":"b"}})"}});
      case 11:
        return request("logging/setLevel",
                       {{"level", quoted(choices_.of({"debug", "emergency", "loud"}))}});
      case 12:
        return request("server/discover", {});
      case 13:
        return request(
            "subscriptions/listen",
            {{"notifications", Fields(choices_)
                                   .may("toolsListChanged", "true")
                                   .may("promptsListChanged", "false")
                                   .may("resourceSubscriptions", grammar::repeated(choices_, uri()))
                                   .text()}});
      case 14:
        return request("initialize", introduction());
      case 15:
        return request(choices_.of({"own", "ping", "tasks/get", "rpc.x", ""}),
                       {{"text", quoted("t")}});
      default:
        return request("ping", {});
    }
  }

  Message any_notification() {
    switch (choices_.below(6)) {
      case 0:
      case 1:
        return message("notifications/cancelled",
                       {{"requestId", choices_.below(2) ? std::to_string(number_ + 3)
                                                        : quoted("r" + std::to_string(number_))},
                        {"reason", quoted("r")}},
                       false);
      case 2:
        return message("notifications/initialized", {}, false);
      case 3:
        return message("own/release", {}, false);
      case 4:
        return message("notifications/progress", {{"progressToken", "1"}, {"progress", "1"}},
                       false);
      default:
        return message("notifications/roots/list_changed", {}, false);
    }
  }

  /// To a question of the server, which may stay open and be answered again.
  Message answer() {
    const std::size_t at = choices_.below(questions_.size());
    const Question question = questions_[at];
    if (!choices_.once_in(12))
      questions_.erase(questions_.begin() + static_cast<std::ptrdiff_t>(at));
    Fields out(choices_);
    out.add_text("jsonrpc", "2.0").add("id", question.id);
    const std::size_t how = choices_.below(8);
    if (how != 7) out.add("result", grammar::answer_to(choices_, question.method));
    if (how >= 6) out.add("error", grammar::error(choices_));
    return {out.text(), !out.spoilt()};
  }

  /// The request again, with what the server wanted to know.
  Message another_round() {
    Fields answers(choices_);
    for (const auto& [key, method] : round_.answers) {
      answers.add(key, grammar::answer_to(choices_, method));
    }
    Params params = round_.params;
    std::string state = round_.state;
    if (choices_.once_in(12)) state = grammar::damaged(choices_, state);
    params.emplace_back("inputResponses", answers.text());
    params.emplace_back("requestState", state);
    const std::string method = round_.method;
    const Params original = round_.params;
    Message out = request(method, std::move(params));
    last_params_ = original;
    return out;
  }

  Message batch() {
    std::string out = "[";
    const std::size_t count = choices_.below(5);
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out += ',';
      out += choices_.below(4) == 3 ? any_notification().text : any_request().text;
    }
    if (choices_.once_in(16)) {  // more of them than are taken
      for (int i = 0; i < 101; ++i) {
        out += out.size() > 1 ? "," : "";
        out += R"({"jsonrpc":"2.0","id":"b)" + std::to_string(i) + R"(","method":"ping"})";
      }
    }
    return {out + "]", false};
  }

  Choices& choices_;
  bool stateless_;
  bool begun_ = false;
  std::size_t number_ = 0;
  std::vector<Question> questions_;
  Round round_;
  std::string last_method_;
  Params last_params_;
};

/// What the server may do of its own will between two messages.
void meanwhile(Choices& choices, FuzzedServer& fuzzed, godwit::rpc::Peer& peer) {
  switch (choices.below(12)) {
    case 8:
      fuzzed.server.resource_updated("a:b");
      break;
    case 9:
      if (choices.once_in(16)) fuzzed.offer_again();  // which takes long
      break;
    case 10:
      fuzzed.let_go();
      break;
    case 11:
      fuzzed.clock.advance(std::chrono::seconds(1 + 97 * choices.below(8)));
      peer.expire(fuzzed.clock.now());
      break;
    default:
      break;
  }
  peer.process();
}

constexpr std::size_t most_messages = 64;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices({reinterpret_cast<const char*>(data), size});
  grammar::Answers answers;
  grammar::Effort effort;
  Client client(choices);
  FuzzedServer fuzzed;
  godwit::rpc::MessageSink sink([&](std::string_view message) { effort.send(message); });
  godwit::rpc::Peer peer(sink, fuzzed.server.router(), fuzzed.server.peer_options());
  const auto hear = [&](const std::vector<std::string>& messages) {
    for (const std::string& message : messages) client.hear(answers.received(message));
  };
  for (std::size_t i = 0; i < most_messages && !choices.empty(); ++i) {
    const auto [text, intact] = client.next();
    answers.sent(text, intact);
    hear(effort.of(text.size(), [&] {
      peer.receive(text);
      meanwhile(choices, fuzzed, peer);
    }));
  }
  hear(effort.of(0, [&] {
    peer.end_of_input({.message = "the client is gone"});
    fuzzed.let_go();
    // A handler that asks in circles is stopped by the number of rounds it may have.
    for (unsigned i = 0; i < 4 * godwit::ServerOptions{}.ask_rounds; ++i) peer.process();
  }));
  answers.finish();
  effort.finish();
  peer.close();
  return 0;
}
