// A Site whose clients begin with a handshake (2025-03-26 to 2025-11-25), and what it offers them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "site.hpp"

namespace godwit::inline v0 {
namespace {

constexpr std::string_view http_revisions[] = {"2025-03-26", "2025-06-18", "2025-11-25"};
const std::string with_token = R"(,"_meta":{"progressToken":1})";

/// A handler that asks who is there.
constexpr auto ask_name = [](Context& cx) -> Result<std::string> {
  auto name = cx.elicit<Name>("who", "Who?");
  if (!name) return name.error();
  return "hello " + name->value().name;
};

struct Stateful : testing::Test {
  Stateful() : Stateful(SiteOptions{}) {}
  explicit Stateful(SiteOptions options) : site(std::move(options)) {
    site.server.tool("echo", "", [this](City in) {
      ++runs;
      return in.city;
    });
    site.server.tool("steps", "", [](Context& cx) {
      cx.progress(1, 2);
      return "two steps";
    });
    site.server.tool("wait", "", parked.handler());
    site.server.tool("asks", "", ask_name);
    site.server.tool("samples", "", [](Context& cx) -> Result<std::string> {
      auto answer = cx.sample("s", {.messages = {}, .maxTokens = 1});
      if (!answer) return answer.error();
      return "the model " + answer->model;
    });
    site.server.resource("x:1", "x", [] { return "x"; });
  }
  FakeExchange& call(std::string_view session, std::string_view id, std::string_view tool,
                     std::string_view arguments = "{}", std::string_view more = "") {
    return site.send(Site::in(session, Site::tool_body(id, tool, arguments, more)));
  }
  /// The server says something that belongs to no request.
  void change() {
    site.server.tool("n" + std::to_string(++changes), "", [] { return ""; });
    site.process();
  }
  /// Answers a question of the server.
  FakeExchange& reply(std::string_view session, const json::Value& question,
                      std::string_view result) {
    return site.send(Site::in(session, R"({"jsonrpc":"2.0","id":)" + question["id"].dump() +
                                           R"(,"result":)" + std::string(result) + "}"));
  }

  int runs = 0, changes = 0;
  Parked parked;
  Site site;
};

}  // namespace
}  // namespace godwit::inline v0
