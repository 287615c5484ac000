// A client that asks for everything, and a hostile server that knows the protocol: it answers what
// was asked, in either era, with something wrong here and there; it asks back, tells things that
// nobody wanted to know, and lies about what it can do. Every call has exactly one outcome, every
// question of the server is answered exactly once, and what the client does is linear in what it
// was sent.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answers.hpp"
#include "godwit/client/client_session.hpp"
#include "godwit/rpc/peer.hpp"
#include "grammar.hpp"

namespace {

using godwit::ClientSession;
using godwit::Result;
using godwit::json::Value;
using grammar::anything;
using grammar::Choices;
using grammar::Fields;
using grammar::quoted;

/// What the client was asked for, and what became of it.
struct Tally {
  std::size_t made = 0;
  std::size_t done = 0;
};

struct Out {
  std::string text{};
  std::optional<double> degrees{};
};

/// The program that uses the client.
class Program {
 public:
  Program(ClientSession& session, Tally& tally) : session_(session), tally_(tally) {}

  void ask_for_everything() {
    for (std::size_t what = 0; what < 10; ++what) call(what);
  }

  void act(Choices& choices) {
    if (!session_.ready()) return;
    const std::size_t what = choices.below(16);
    if (what < 12) return call(what);
    if (what == 12) listening_.reset();
    if (what == 13) session_.cancel(last_);
    if (what == 14) (void)session_.set_roots({{.uri = "file:///a"}});
    if (what == 15) session_.forget_answers({.toolsListChanged = true});
  }

  void stop_listening() { listening_.reset(); }

 private:
  void call(std::size_t what) {
    const auto count = [&tally = tally_](const auto&) { ++tally.done; };
    ++tally_.made;
    switch (what) {
      case 0:
        last_ = session_.list_tools(count);
        break;
      case 1:
        last_ = session_.call_tool("a", {"{}"}, count, {.on_progress = [](const auto&) {}});
        break;
      case 2:
        last_ = session_.call<Out>("b", godwit::json::Object{{"x", 1}}, count);
        break;
      case 3:
        last_ = session_.list_resources(count);
        break;
      case 4:
        last_ = session_.list_resource_templates(count);
        break;
      case 5:
        last_ = session_.read_resource("a:b", count);
        break;
      case 6:
        last_ = session_.list_prompts(count);
        break;
      case 7:
        last_ = session_.get_prompt("p", {{"x", "y"}}, count);
        break;
      case 8:
        last_ = session_.complete(godwit::PromptReference{.name = "p"}, {.name = "x", .value = "y"},
                                  count);
        break;
      case 9:
        last_ = session_.ping(count);
        listening_ = session_.listen(
            {.toolsListChanged = true, .resourceSubscriptions = std::vector<std::string>{"a:b"}},
            {});
        break;
      case 10:
        last_ = session_.set_log_level(godwit::LoggingLevel::debug, count);
        break;
      default:
        last_ = session_.discover(count);
    }
  }

  ClientSession& session_;
  Tally& tally_;
  godwit::ClientCall last_{};
  std::optional<godwit::Listen> listening_;
};

godwit::ClientOptions options(Choices& choices) {
  godwit::ClientOptions out;
  out.lifecycle = static_cast<godwit::Lifecycle>(choices.below(3));
  out.elicit = [](const godwit::ElicitRequest&) -> Result<godwit::ElicitResult> {
    return godwit::ElicitResult{.action = godwit::ElicitAction::accept,
                                .content = godwit::json::Object{{"name", "n"}}};
  };
  out.elicit_urls = true;
  out.sample = [](const godwit::SamplingRequest&) -> Result<godwit::SamplingResult> {
    return godwit::SamplingResult{.content = godwit::text("t"), .model = "m"};
  };
  out.sample_tools = choices.below(2) == 0;
  out.roots.emplace();
  out.on_log = [](const godwit::LoggingMessage&) {};
  out.on_notification = [](const std::string&, const godwit::RawJson&) {};
  return out;
}

/// The server: what it says next, by the choices and by what it was asked.
class Server {
 public:
  explicit Server(Choices& choices) : choices_(choices) {}

  struct Message {
    std::string text;
    bool intact = true;
  };

  Message next() {
    switch (choices_.below(16)) {
      case 0:
      case 1:
        return question();
      case 2:
      case 3:
        return notification();
      case 4:
        return batch();
      case 5: {
        const bool hit = choices_.below(2) == 1;
        const Message message = answer();
        return hit ? Message{grammar::damaged(choices_, message.text), false} : message;
      }
      default:
        return answer();
    }
  }

  void hear(const Value& message) {
    if (!message.contains("method") || !message.contains("id")) return;
    asked_.push_back({message["id"].dump(), std::string(message["method"].as_string().value_or("")),
                      message["params"]["_meta"]["progressToken"].dump()});
  }

 private:
  struct Asked {
    std::string id;
    std::string method;
    std::string token;
  };

  Message notify(std::string_view method, const std::string& params) {
    Fields out(choices_);
    out.add_text("jsonrpc", "2.0").add_text("method", method).add("params", params);
    return {out.text(), !out.spoilt()};
  }

  /// To something that was asked; if nothing was, to something that was not.
  Message answer() {
    Asked asked{"1", "tools/list", "null"};
    if (!asked_.empty()) {
      const std::size_t at = choices_.once_in(4) ? choices_.below(asked_.size()) : 0;
      asked = asked_[at];
      if (!choices_.once_in(12)) asked_.erase(asked_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    Fields out(choices_);
    out.add_text("jsonrpc", "2.0").add("id", asked.id);
    const std::size_t how = choices_.below(12);
    if (how < 11) out.add("result", result(asked.method));
    if (how >= 10) out.add("error", grammar::error(choices_));
    return {out.text(), !out.spoilt()};
  }

  Message question() {
    Fields out(choices_);
    const std::string_view method =
        choices_.of({"ping", "sampling/createMessage", "sampling/createMessage",
                     "elicitation/create", "roots/list", "tools/call"});
    out.add_text("jsonrpc", "2.0").add("id", id()).add_text("method", method);
    if (choices_.below(4) != 3 || method != "ping") out.add("params", question_params(method));
    return {out.text(), !out.spoilt()};
  }
  std::string id() {
    if (choices_.once_in(16)) return anything(choices_);
    if (choices_.once_in(12)) return std::to_string(choices_.below(4));
    ++number_;
    return choices_.below(3) == 2 ? quoted("s" + std::to_string(number_))
                                  : std::to_string(number_ + 3);
  }

  std::string question_params(std::string_view method) {
    if (method == "elicitation/create") return elicitation();
    if (method == "sampling/createMessage") return sampling();
    return Fields(choices_).may("_meta", R"({"progressToken":1})").text();
  }
  std::string elicitation() {
    Fields out(choices_);
    const bool url = choices_.below(3) == 2;
    out.add_text("mode", url ? "url" : "form").add_text("message", "?");
    if (url)
      return out.add("url", grammar::odd_text(choices_)).add("elicitationId", "\"e\"").text();
    const std::string one(
        choices_.of({R"({"type":"string","default":"d"})", R"({"type":"boolean","default":1})",
                     R"({"type":"string","oneOf":[{"const":"r","title":"R"}]})",
                     R"({"type":"array","items":{"type":"string","enum":["a"]},"default":["a"]})",
                     R"({"type":"integer","minimum":1e400})",
                     R"({"type":"string","enum":[],"enumNames":[1]})"}));
    Fields properties(choices_);
    properties.add("name", one).may("more", one);
    if (choices_.once_in(8)) properties.keep("any", grammar::crowd(choices_, one));
    out.add("requestedSchema", Fields(choices_)
                                   .add_text("type", "object")
                                   .add("properties", properties.text())
                                   .may("required", R"(["name"])")
                                   .text());
    return out.text();
  }
  std::string sampling() {
    const std::string message = Fields(choices_)
                                    .add("role", grammar::role(choices_))
                                    .add("content", grammar::contents(choices_))
                                    .text();
    return Fields(choices_)
        .add("messages", grammar::repeated(choices_, message))
        .add("maxTokens", choices_.once_in(8) ? grammar::odd_number(choices_) : "1")
        .may("tools", grammar::repeated(choices_, tool()))
        .may("toolChoice", R"({"mode":"auto"})")
        .may("modelPreferences", R"({"hints":[{"name":"h"}],"costPriority":0.5})")
        .text();
  }

  Message notification() {
    switch (choices_.below(9)) {
      case 0:
        return notify("notifications/progress",
                      Fields(choices_)
                          .add("progressToken", asked_.empty() ? "1" : asked_.back().token)
                          .add("progress", choices_.of({"1", "2", "0", "-1"}))
                          .may("total", "3")
                          .may("message", quoted("m"))
                          .text());
      case 1:
        return notify("notifications/message", Fields(choices_)
                                                   .add_text("level", choices_.of({"info", "loud"}))
                                                   .add("data", anything(choices_))
                                                   .may("logger", quoted("l"))
                                                   .text());
      case 2:
        return notify(
            choices_.of({"notifications/tools/list_changed", "notifications/prompts/list_changed",
                         "notifications/resources/list_changed"}),
            subscription().text());
      case 3:
        return notify("notifications/resources/updated",
                      subscription().add_text("uri", "a:b").text());
      case 4:
        return notify("notifications/subscriptions/acknowledged",
                      subscription()
                          .add("notifications", R"({"toolsListChanged":true,)"
                                                R"("resourceSubscriptions":["a:b"]})")
                          .text());
      case 5:
        return notify(
            "notifications/cancelled",
            Fields(choices_)
                .add("requestId", choices_.below(2) || asked_.empty() ? std::to_string(number_ + 3)
                                                                      : asked_.back().id)
                .text());
      case 6:
        return notify("notifications/elicitation/complete",
                      Fields(choices_).add_text("elicitationId", "e").text());
      case 7:
        return notify("notifications/tasks/status", anything(choices_));
      default:
        return notify(choices_.of({"own/note", "", "rpc.x"}), anything(choices_));
    }
  }
  /// The _meta that says which listen a message belongs to.
  Fields subscription() {
    std::string id = "1";
    for (const Asked& asked : asked_) {
      if (asked.method == "subscriptions/listen") id = asked.id;
    }
    Fields out(choices_);
    out.may("_meta", Fields(choices_).add("io.modelcontextprotocol/subscriptionId", id).text());
    return out;
  }

  Message batch() {
    std::string out = "[";
    const std::size_t count = choices_.below(4);
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out += ',';
      out += choices_.below(3) == 0 ? answer().text : notification().text;
    }
    return {out + "]", false};
  }

  // Results.

  std::string capabilities() {
    return Fields(choices_)
        .add("tools", R"({"listChanged":true})")
        .add("resources", R"({"subscribe":true,"listChanged":true})")
        .add("prompts", "{}")
        .add("completions", "{}")
        .may("logging", "{}")
        .may("experimental", anything(choices_))
        .text();
  }
  std::string tool() {
    const std::string schema(choices_.of(
        {R"({"type":"object"})", R"({"type":"object","properties":{"x":{"x-mcp-header":"X"}}})",
         R"({"type":"object","$ref":"#/$defs/a","$defs":{"a":{"$ref":"#"}}})", R"({"type":7})",
         R"({"type":"object","properties":{"text":{"pattern":"(a+)+$"}},"required":["text"]})"}));
    return Fields(choices_)
        .add_text("name", choices_.of({"a", "b", "a b", ""}))
        .add("inputSchema", choices_.once_in(8) ? anything(choices_) : schema)
        .may("outputSchema", choices_.once_in(8) ? anything(choices_) : schema)
        .may("annotations", R"({"readOnlyHint":true,"title":"t"})")
        .may("icons", R"([{"src":"data:,"}])")
        .text();
  }
  /// A page; `cursor` of the next one is sometimes the same for ever.
  std::string page(std::string_view name, const std::string& entry) {
    return finish(Fields(choices_)
                      .add(name, grammar::repeated(choices_, entry))
                      .may("nextCursor", choices_.below(3) == 2 ? anything(choices_) : "\"c\""));
  }
  /// What every result of the newer era has.
  std::string finish(Fields fields) {
    fields.may("resultType", quoted(choices_.of({"complete", "input_required", "task"})));
    fields.may("ttlMs", choices_.of({"0", "60000", "-1", "1e300"}));
    fields.may("cacheScope", quoted(choices_.of({"public", "private", "x"})));
    fields.may("_meta", R"({"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}})");
    return fields.text();
  }

  std::string input_required() {
    Fields requests(choices_);
    for (const std::string_view method :
         {"elicitation/create", "sampling/createMessage", "roots/list"}) {
      if (choices_.below(2) == 0) continue;
      Fields question(choices_);
      question.add_text("method", method).may("params", question_params(method));
      requests.add(method.substr(0, 3), question.text());
    }
    return Fields(choices_)
        .add_text("resultType", "input_required")
        .may("inputRequests", requests.text())
        .may("requestState", choices_.below(4) == 3 ? grammar::odd_text(choices_) : "\"s\"")
        .text();
  }

  std::string result(std::string_view method) {
    if (choices_.once_in(24)) return anything(choices_);
    if (method == "initialize") {
      return Fields(choices_)
          .add("protocolVersion", grammar::revision(choices_))
          .add("capabilities", capabilities())
          .add("serverInfo", R"({"name":"s","version":"1"})")
          .may("instructions", quoted("i"))
          .text();
    }
    if (method == "server/discover") {
      return finish(Fields(choices_)
                        .add("supportedVersions",
                             choices_.of({R"(["2026-07-28"])", R"(["2026-07-28","2025-11-25"])",
                                          R"(["2025-11-25"])", R"(["x"])"}))
                        .add("capabilities", capabilities()));
    }
    if (method == "tools/list") return page("tools", tool());
    if (method == "resources/list") {
      return page("resources",
                  Fields(choices_).add_text("uri", "a:b").add_text("name", "n").text());
    }
    if (method == "resources/templates/list") {
      return page("resourceTemplates",
                  Fields(choices_).add_text("uriTemplate", "a:{b}").add_text("name", "n").text());
    }
    if (method == "prompts/list") {
      return page(
          "prompts",
          Fields(choices_).add_text("name", "p").may("arguments", R"([{"name":"x"}])").text());
    }
    if (method == "completion/complete") {
      return finish(Fields(choices_).add(
          "completion",
          Fields(choices_).add("values", grammar::repeated(choices_, "\"v\"")).text()));
    }
    const bool rounds =
        method == "tools/call" || method == "resources/read" || method == "prompts/get";
    if (rounds && choices_.below(3) == 2) return input_required();
    if (method == "tools/call") {
      return finish(
          Fields(choices_)
              .add("content", grammar::repeated(choices_, grammar::content(choices_)))
              .may("structuredContent", choices_.below(2) ? anything(choices_) : R"({"text":"t"})")
              .may("isError", "true"));
    }
    if (method == "resources/read") {
      return finish(Fields(choices_).add(
          "contents",
          grammar::repeated(choices_, Fields(choices_)
                                          .add_text("uri", "a:b")
                                          .add_text(choices_.of({"text", "blob"}), "AAAA")
                                          .text())));
    }
    if (method == "prompts/get") {
      return finish(Fields(choices_).add(
          "messages", grammar::repeated(choices_, Fields(choices_)
                                                      .add("role", grammar::role(choices_))
                                                      .add("content", grammar::content(choices_))
                                                      .text())));
    }
    return finish(Fields(choices_));
  }

  Choices& choices_;
  std::size_t number_ = 0;
  std::deque<Asked> asked_;
};

constexpr std::size_t most_messages = 64;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices({reinterpret_cast<const char*>(data), size});
  grammar::Answers answers;
  grammar::Effort effort;
  Server server(choices);
  godwit::ManualClock clock;
  godwit::rpc::MessageSink sink([&](std::string_view message) { effort.send(message); });
  const auto hear = [&](const std::vector<std::string>& messages) {
    for (const std::string& message : messages) server.hear(answers.received(message));
  };
  Tally tally;
  std::size_t started = 0;
  {
    ClientSession session(options(choices));
    godwit::rpc::PeerOptions peer_options = session.peer_options();
    peer_options.clock = &clock;
    godwit::rpc::Peer peer(sink, session.router(), std::move(peer_options));
    Program program(session, tally);
    hear(effort.of(0, [&] {
      session.start(peer, [&](Result<void> ready) {
        ++started;
        if (ready) program.ask_for_everything();
      });
    }));
    for (std::size_t i = 0; i < most_messages && !choices.empty(); ++i) {
      const auto [text, intact] = server.next();
      // In the newer era servers must not ask, and are not even told so.
      answers.sent(text, intact && !session.verdict().stateless);
      hear(effort.of(text.size(), [&] {
        peer.receive(text);
        peer.process();
        if (choices.once_in(8)) program.act(choices);
        if (choices.once_in(16)) {
          clock.advance(std::chrono::seconds(1 + 31 * choices.below(8)));
          peer.expire(clock.now());
        }
      }));
    }
    hear(effort.of(0, [&] {
      peer.end_of_input({.message = "the server is gone"});
      peer.process();
    }));
    answers.finish();
    effort.finish();
    program.stop_listening();
    peer.close();
    grammar::check(started == 1, "the start has one outcome");
  }
  grammar::check(tally.done == tally.made, "each call has one outcome");
  return 0;
}
