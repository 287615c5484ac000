// Each line is a message to a server that has one of everything. Whatever comes, every message that
// leaves is one line of JSON, each request is answered at most once, and no answer has a code that
// belongs to this process.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "godwit/json/value.hpp"
#include "godwit/rpc/peer.hpp"
#include "godwit/seal/aes_sealer.hpp"
#include "godwit/server/server.hpp"

namespace {

using godwit::json::Value;

void check(bool good) {
  if (!good) std::abort();
}

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

godwit::Server& server() {
  static godwit::Server* const one = [] {
    godwit::ServerOptions options{.name = "fuzzed", .version = "1", .page_size = 2};
    options.sealer = std::make_shared<godwit::AesSealer>();
    options.log = godwit::Log();
    auto* made = new godwit::Server(std::move(options));
    made->tool("echo", "", [](Input in) { return in.text; });
    made->tool("struct", "", [](Input in) { return in; });
    made->tool("raw", "", [](godwit::json::Value in) { return in; },
               {.input_schema = {R"({"type":"object","maxProperties":3})"}});
    made->tool("ask", "", [](Input in, godwit::Context& cx) -> godwit::Result<std::string> {
      auto form = cx.elicit<Form>("form", in.text);
      if (!form) return form.error();
      auto model = cx.sample("model", godwit::ask_model("x", 1));
      if (!model) return model.error();
      return cx.once("once", [&] { return in.text + model->model; });
    });
    made->tool("explicit", "",
               [](godwit::Context& cx) -> std::variant<std::string, godwit::InputRequired> {
                 if (cx.answer("roots")) return std::string(cx.state());
                 return godwit::InputRequired{}.roots("roots").state("s");
               });
    made->resource("a:b", "a", [] { return "text"; });
    made->resource_template("a:{x}/{+y}", "t", [](std::map<std::string, std::string> values) {
      return godwit::Blob{values["x"] + values["y"]};
    });
    made->prompt("p", "", [](Named named) { return named.name; });
    made->complete_prompt("p", "name", [](const godwit::CompletionQuery& query) {
      return godwit::Completion{.values = std::vector<std::string>(200, query.value)};
    });
    made->method("own", [](Input in) { return in; });
    made->notification("own/note", [](godwit::json::View) {});
    return made;
  }();
  return *one;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  std::size_t answers = 0;
  godwit::rpc::MessageSink sink([&](std::string_view message) {
    check(message.find('\n') == std::string_view::npos);
    const auto value = godwit::json::parse(message);
    check(value.has_value());
    const Value& batch = *value;
    const auto one = [&](const Value& answer) {
      check(answer["jsonrpc"] == "2.0");
      if (answer.contains("method")) return;
      ++answers;
      check(answer.contains("result") != answer.contains("error"));
      if (const auto code = answer["error"]["code"].as_int64()) {
        check(*code != -32000 && *code != -32001 && *code >= -32768);
      }
    };
    if (const auto* list = batch.as_array()) {
      for (const Value& answer : *list) one(answer);
    } else {
      one(batch);
    }
  });
  godwit::rpc::Peer peer(sink, server().router(), server().peer_options());
  std::size_t lines = 0;
  while (!input.empty() && lines < 64) {
    const std::size_t end = input.find('\n');
    const std::string_view line = input.substr(0, end);
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
    if (line.empty()) continue;
    ++lines;
    peer.receive(line);
    peer.process();
  }
  peer.close();
  check(answers <= lines * 100);  // a batch has at most 100
  return 0;
}
