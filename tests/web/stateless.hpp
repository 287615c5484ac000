// A Site whose clients' every request stands alone (2026-07-28), and what it offers them.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "site.hpp"

namespace godwit::inline v0 {
namespace {

struct Stateless : testing::Test {
  Stateless() : Stateless(SiteOptions{}) {}
  explicit Stateless(SiteOptions options) : site(std::move(options)) { offer(site.server); }

  void offer(Server& server) {
    server.tool("echo", "", [this](City in) {
      ++runs;
      return in.city;
    });
    server.tool("steps", "", [](Context& cx) {
      cx.progress(1, 2, "half");
      cx.progress(2, 2, "done\r\nall");
      return "two steps";
    });
    server.tool("wait", "", parked.handler());
    server.tool("samples", "", [](Context& cx) -> Result<std::string> {
      auto answer = cx.sample("s", {.messages = {}, .maxTokens = 1});
      if (!answer) return answer.error();
      return "sampled";
    });
    server.tool("fails", "", []() -> Result<std::string> { return rpc::internal_error("x"); });
    server.tool("throws", "", []() -> std::string { throw std::runtime_error("secret"); });
    server.tool("asks", "", [](City, Context& cx) -> Result<std::string> {
      auto name = cx.elicit<Name>("who", "Who?");
      if (!name) return name.error();
      auto more = cx.elicit<Name>("more", "And " + name->value().name + "?");
      if (!more) return more.error();
      return name->value().name + "+" + more->value().name;
    });
    server.prompt("p", "", [] { return "p"; });
    server.resource("x:1", "x", [] { return "x"; });
    server.notification("acme/note", [this](json::Value) { ++noted; });
    server.notification("acme/late", [this](json::Value, Reply<void> reply) {
      ++noted;
      late_notes.push_back(std::move(reply));
    });
  }
  FakeExchange& listen(std::string_view id = "21") {
    return site.send(
        site.modern(id, "subscriptions/listen", R"({"notifications":{"toolsListChanged":true}})"));
  }

  int runs = 0, noted = 0;
  Parked parked;
  std::vector<Reply<void>> late_notes;
  Site site;
};

}  // namespace
}  // namespace godwit::inline v0
