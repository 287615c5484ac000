// A server that has one of everything, for the fuzzers that talk to one. Each input gets its own:
// nothing of the last input is left in it, so that what a fuzzer has found fails alone, too.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "godwit/base/clock.hpp"
#include "godwit/seal/aes_sealer.hpp"
#include "godwit/server/server.hpp"

namespace fuzzed {

using godwit::Context;
using godwit::Result;

enum class Colour { red, green };
struct Input {
  std::string text{};
  std::optional<int> number{};
  Colour colour = Colour::red;
};
struct Named {
  std::string name{};
};
struct Form {
  std::string name{};
  bool sure{};
};
/// What takes a reader more than one look.
struct Rich {
  std::variant<std::monostate, std::vector<Input>, Input, godwit::RawJson> either{};
  std::map<std::string, godwit::json::Value> map{};
  std::set<std::string> set{};
  std::optional<std::vector<godwit::Content>> contents{};
  godwit::RawJson raw{"null"};
  static constexpr godwit::Field fields[] = {{.name = "either", .has_default = true},
                                             {.name = "map", .has_default = true},
                                             {.name = "set", .has_default = true},
                                             {.name = "raw", .has_default = true}};
};

inline constexpr std::string_view strict_schema =
    R"({"type":"object","properties":{"list":{"type":"array","uniqueItems":true,"contains":)"
    R"({"type":"number"},"items":{"anyOf":[{"type":"string","pattern":"^a+$"},{"type":"number"},)"
    R"({"$ref":"#"}]}}},"patternProperties":{"^k":{"type":"object"}},"additionalProperties":)"
    R"({"oneOf":[{"type":"integer"},{"type":"array"},{"type":"string"}]}})";

class FuzzedServer {
 public:
  FuzzedServer() : server(options()) {
    offer_tools();
    server.resource("a:b", "a", [] { return "text"; });
    server.resource_template("a:{x}/{+y}", "t", [](std::map<std::string, std::string> values) {
      return godwit::Blob{values["x"] + values["y"]};
    });
    server.prompt("p", "", [](Named named) { return named.name; });
    server.complete_prompt("p", "name", [](const godwit::CompletionQuery& query) {
      return godwit::Completion{.values = std::vector<std::string>(200, query.value.substr(0, 8))};
    });
    server.method("own", [](Input in) { return in; });
    server.notification("own/release", [this](godwit::json::View) { let_go(); });
  }

  /// Clients are told that the list of tools has changed.
  void offer_again() {
    server.tool("echo", "", [](Input in) { return in.text; });
  }
  /// Answers the calls of the tool "later".
  void let_go() {
    auto all = std::exchange(waiting_, {});
    for (auto& reply : all) reply(std::string("late"));
  }

  godwit::ManualClock clock;

 private:
  godwit::ServerOptions options() {
    static const auto sealer = std::make_shared<godwit::AesSealer>();  // it takes a while to make
    godwit::ServerOptions options{.name = "fuzzed", .version = "1", .page_size = 2};
    options.sealer = sealer;
    options.clock = &clock;
    options.log = godwit::Log();
    return options;
  }

  void offer_tools() {
    offer_again();
    server.tool("struct", "", [](Input in) { return in; });
    server.tool("rich", "", [](Rich in) { return std::to_string(in.map.size()); });
    server.tool("strict", "", [](godwit::json::Value in) { return std::to_string(in.size()); },
                {.input_schema = {std::string(strict_schema)}});
    server.tool("raw", "", [](godwit::json::Value in) { return in; },
                {.input_schema = {R"({"type":"object","maxProperties":3})"}});
    server.tool("ask", "", ask);
    server.tool("sample", "", [](Context& cx) -> Result<std::string> {
      auto model = cx.sample("model", godwit::ask_model("x", 1));
      if (!model) return model.error();
      return model->model;
    });
    server.tool("roots", "", [](Context& cx) -> Result<std::string> {
      auto roots = cx.roots("roots");
      if (!roots) return roots.error();
      return std::to_string(roots->size());
    });
    server.tool("explicit", "",
                [](Context& cx) -> std::variant<std::string, godwit::InputRequired> {
                  if (cx.answer("roots") && cx.answer("form")) return std::string(cx.state());
                  return godwit::InputRequired{}.roots("roots").form<Form>("form", "?").state("s");
                });
    server.tool("later", "", [this](Input, godwit::Reply<std::string> reply) {
      waiting_.push_back(std::move(reply));
    });
  }

  static Result<std::string> ask(Input in, Context& cx) {
    auto form = cx.elicit<Form>("form", in.text);
    if (!form) return form.error();
    cx.progress(1, 2, "asked");
    auto model = cx.sample("model", godwit::ask_model("x", 1));
    if (!model) return model.error();
    return cx.once("once", [&] { return in.text + model->model; });
  }

  std::vector<godwit::Reply<std::string>> waiting_;

 public:
  godwit::Server server;
};

}  // namespace fuzzed
