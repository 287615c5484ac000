// What the tests of asking share: a server, and a handler that asks first.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

using test::Link;

struct Deploy {
  std::string env{};
};
struct Confirm {
  bool sure{};
};
struct Name {
  std::string name{};
};

constexpr std::string_view asking_revisions[] = {"2025-11-25", "2026-07-28"};

class Ask : public testing::TestWithParam<std::string_view> {
 protected:
  Ask() : server(test::server_options()) {}
  bool modern() const { return test::is_modern(GetParam()); }
  Link connect(std::string_view capabilities = test::can_all) {
    return Link(server, GetParam(), {.capabilities = std::string(capabilities)});
  }
  /// Answers every form with this.
  static Link::Answerer always(std::string_view answer) {
    return [answer](std::string_view, const json::Value&) { return std::string(answer); };
  }
  json::Value converse(Link& link, std::string_view tool, std::string_view answer,
                       int* rounds = nullptr) {
    return link.converse("tools/call", Link::tool_params(tool, R"({"env":"prod"})"), always(answer),
                         rounds);
  }

  Server server;
  int runs = 0, effects = 0;
};

/// The handler of the README.
[[maybe_unused]] auto deploy(int& runs, int& effects) {
  return [&runs, &effects](Deploy in, Context& cx) -> Result<std::string> {
    ++runs;
    auto answer = cx.elicit<Confirm>("confirm", "Deploy to " + in.env + "?");
    if (!answer) return answer.error();
    if (answer->declined()) return "declined";
    if (answer->cancelled()) return "cancelled";
    if (!answer->value().sure) return "not sure";
    auto id = cx.once("release", [&] { return "r" + std::to_string(++effects); });
    if (!id) return id.error();
    return "deployed " + *id;
  };
}

}  // namespace
}  // namespace godwit::inline v0
