// Policies: one function decides what lists show and what may be called, in every revision.
#include "godwit/server/access_policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "godwit/rpc/error_code.hpp"
#include "mcp_station.hpp"

namespace godwit {
namespace {

using test::code_of;
using test::known_as;
using test::Link;

std::string names(const json::Value& answer, std::string_view member, std::string_view name) {
  std::string all;
  const json::Array* entries = answer["result"][member].as_array();
  if (!entries) return answer.dump();
  for (const json::Value& entry : *entries) all += entry[name].get<std::string>() + " ";
  return all;
}

/// Everything is for all, but what begins with the name of somebody, which is for that one.
Result<void> own_things(const AccessQuestion& ask) {
  for (const std::string_view owner : {"ada", "bob"}) {
    const std::string_view name = ask.uri.empty() ? ask.name : ask.uri;
    if (!name.starts_with(owner)) continue;
    if (ask.identity() && ask.identity()->subject == owner) return {};
    return rpc::application_error(403, "this is for " + std::string(owner));
  }
  return {};
}

class Policies : public testing::TestWithParam<std::string_view> {
 protected:
  void make(bool hide = true, std::size_t page_size = 0) {
    ServerOptions options = test::server_options();
    options.page_size = page_size;
    options.cache = {.ttl = std::chrono::seconds(5), .scope = CacheScope::public_};
    server.emplace(std::move(options));
    for (const std::string name : {"all", "ada_1", "bob_1", "ada_2", "bob_2", "last"}) {
      server->tool(name, "", [] { return "x"; });
      server->prompt(name, "", [](std::map<std::string, std::string>) { return "x"; },
                     {.arguments = {{.name = "a"}}});
      server->complete_prompt(name, "a", [](const CompletionQuery&) { return Completion{}; });
      server->resource(name + ":x", name, [] { return "x"; });
      server->resource_template(name + ".t:{v}", name,
                                [](std::map<std::string, std::string>) { return "x"; });
    }
    server->restrict({.decide = own_things, .hide = hide});
  }
  Link link(const std::string& who) {
    return Link(*server, GetParam(), {.facts = {.identity = known_as(who)}});
  }
  std::optional<Server> server;
};

TEST_P(Policies, DecideWhatListsShow) {
  make();
  for (const auto& [who, expected] : std::vector<std::pair<std::string, std::string>>{
           {"", "all last "}, {"ada", "all ada_1 ada_2 last "}, {"bob", "all bob_1 bob_2 last "}}) {
    Link one = link(who);
    EXPECT_EQ(names(one.ask("tools/list"), "tools", "name"), expected);
    EXPECT_EQ(names(one.ask("prompts/list"), "prompts", "name"), expected);
    EXPECT_EQ(names(one.ask("resources/list"), "resources", "name"), expected);
    EXPECT_EQ(names(one.ask("resources/templates/list"), "resourceTemplates", "name"), expected);
    const json::Value result = one.ask("tools/list")["result"];
    if (one.modern()) {
      EXPECT_EQ(result["cacheScope"].as_string(), "private");
      EXPECT_EQ(result["ttlMs"].as_int64(), 5000);
    }
  }
}

TEST_P(Policies, WhatIsNotShownIsAnsweredLikeWhatIsNotThere) {
  make();
  Link one = link("ada");
  const auto same = [&](std::string_view method, std::string hidden, std::string missing) {
    json::Value a = one.ask(method, hidden);
    json::Value b = one.ask(method, missing);
    ASSERT_TRUE(a.contains("error")) << a.dump();
    std::string left = a["error"].dump();
    for (std::size_t at; (at = left.find("bob")) != left.npos;) left.replace(at, 3, "eve");
    EXPECT_EQ(left, b["error"].dump()) << method;
  };
  same("tools/call", R"({"name":"bob_1"})", R"({"name":"eve_1"})");
  same("prompts/get", R"({"name":"bob_1"})", R"({"name":"eve_1"})");
  same("resources/read", R"({"uri":"bob_1:x"})", R"({"uri":"eve_1:x"})");
  same("resources/read", R"({"uri":"bob_1.t:x"})", R"({"uri":"eve_1.t:x"})");
  for (const char* ref : {R"({"type":"ref/prompt","name":"bob_1"})",
                          R"({"type":"ref/resource","uri":"bob_1.t:{v}"})"}) {
    const std::string hidden =
        R"({"ref":)" + std::string(ref) + R"(,"argument":{"name":"a","value":""}})";
    std::string missing = hidden;
    missing.replace(missing.find("bob"), 3, "eve");
    same("completion/complete", hidden, missing);
  }
  if (!one.modern()) {
    same("resources/subscribe", R"({"uri":"bob_1:x"})", R"({"uri":"eve_1:x"})");
    EXPECT_EQ(code_of(one.ask("resources/subscribe", R"({"uri":"ada_1:x"})")), 0);
  }
  EXPECT_EQ(code_of(one.tool("ada_1")), 0);
  EXPECT_EQ(code_of(one.tool("all")), 0);
  EXPECT_EQ(code_of(one.ask("resources/read", R"({"uri":"ada_1.t:x"})")), 0);
}

TEST_P(Policies, MaySayWhy) {
  make(false);
  Link one = link("ada");
  for (const auto& [method, params] : std::vector<std::pair<std::string, std::string>>{
           {"tools/call", R"({"name":"bob_1"})"},
           {"prompts/get", R"({"name":"bob_1"})"},
           {"resources/read", R"({"uri":"bob_1:x"})"},
           {"resources/read", R"({"uri":"bob_1.t:x"})"}}) {
    const json::Value answer = one.ask(method, params);
    EXPECT_EQ(code_of(answer), 403) << answer.dump();
    EXPECT_EQ(answer["error"]["message"].as_string(), "this is for bob");
  }
  EXPECT_EQ(names(one.ask("tools/list"), "tools", "name"), "all ada_1 ada_2 last ");
}

TEST_P(Policies, PagesAndTheirCursorsBelongToOneCaller) {
  make(true, 2);
  Link ada = link("ada");
  Link bob = link("bob");
  Link nobody = link("");
  const json::Value first = ada.ask("tools/list");
  EXPECT_EQ(names(first, "tools", "name"), "all ada_1 ");
  const std::string cursor = R"({"cursor":)" + first["result"]["nextCursor"].dump() + "}";
  const json::Value second = ada.ask("tools/list", cursor);
  EXPECT_EQ(names(second, "tools", "name"), "ada_2 last ");
  EXPECT_FALSE(second["result"].contains("nextCursor"));
  for (Link* other : {&bob, &nobody}) {
    const json::Value answer = other->ask("tools/list", cursor);
    EXPECT_EQ(code_of(answer), -32602);
    EXPECT_THAT(*answer["error"]["message"].as_string(),
                testing::HasSubstr("/cursor: not one of this list"));
  }
  EXPECT_EQ(code_of(ada.ask("prompts/list", cursor)), -32602);
  EXPECT_FALSE(nobody.ask("tools/list")["result"].contains("nextCursor"));
}

TEST_P(Policies, HostileCursorsAreRefused) {
  make(true, 2);
  Link one = link("");
  for (const char* text :
       {"", "[]", "5", R"(["tools","",0])", R"(["tools","",0,"1"])", R"(["tools","",0,"-2"])",
        R"(["tools","",0,"4"])", R"(["tools","",1,"2"])", R"(["tools","",-1,"2"])",
        R"(["tools","x",0,"2"])", R"(["tools","",0,"99999999999999999999"])", R"(["tools","",0,2])",
        R"(["tools","",0,"2",1])", "tools:2"}) {
    const json::Value answer =
        one.ask("tools/list", R"({"cursor":)" + json::quote(base64(text)) + "}");
    EXPECT_EQ(code_of(answer), -32602) << text;
  }
  EXPECT_EQ(code_of(one.ask("tools/list", R"({"cursor":"?"})")), -32602);
}

TEST_P(Policies, AllOfSeveralMustAllow) {
  make();
  std::atomic<bool> on = false;
  server->restrict({.decide = [&](const AccessQuestion& ask) -> Result<void> {
    if (on && ask.name == "all") return rpc::application_error(1, "no");
    return {};
  }});
  Link one = link("ada");
  EXPECT_EQ(names(one.ask("tools/list"), "tools", "name"), "all ada_1 ada_2 last ");
  on = true;
  EXPECT_EQ(names(one.ask("tools/list"), "tools", "name"), "ada_1 ada_2 last ");
  EXPECT_EQ(code_of(one.tool("all")), -32602);
}

TEST_P(Policies, SeeTheMetaOfWhatIsOffered) {
  Server tagged(test::server_options());
  tagged.tool("a", "", [] { return "x"; }, {.meta = json::Object{{"x/scope", "write"}}});
  tagged.tool("b", "", [] { return "x"; });
  tagged.restrict({.decide = [](const AccessQuestion& ask) -> Result<void> {
    const json::Value* scope = ask.meta ? ask.meta->find("x/scope") : nullptr;
    if (!scope) return {};
    if (ask.identity() && ask.identity()->may(*scope->as_string())) return {};
    return rpc::application_error(1, "no");
  }});
  auto writer = std::make_shared<rpc::Identity>(rpc::Identity{.subject = "w", .scopes = {"write"}});
  Link may(tagged, GetParam(), {.facts = {.identity = writer}});
  Link may_not(tagged, GetParam(), {.facts = {.identity = known_as("r")}});
  EXPECT_EQ(names(may.ask("tools/list"), "tools", "name"), "a b ");
  EXPECT_EQ(names(may_not.ask("tools/list"), "tools", "name"), "b ");
}

TEST_P(Policies, ThatThrowFailTheRequestAndNothingElse) {
  make();
  std::atomic<bool> bad = true;
  server->restrict({.decide = [&](const AccessQuestion&) -> Result<void> {
    if (bad) throw std::runtime_error("secret");
    return {};
  }});
  Link one = link("ada");
  for (const char* method : {"tools/list", "prompts/list"}) {
    const json::Value answer = one.ask(method);
    EXPECT_EQ(code_of(answer), -32603);
    EXPECT_EQ(answer.dump().find("secret"), std::string::npos);
  }
  EXPECT_EQ(code_of(one.tool("all")), -32603);
  bad = false;
  EXPECT_EQ(code_of(one.tool("all")), 0);
}

TEST(Policy, WithoutAFunctionIsRefused) {
  Server server(test::server_options());
  EXPECT_THROW(server.restrict({}), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Revisions, Policies, testing::ValuesIn(test::all_revisions),
                         [](const auto& param) {
                           std::string name(param.param);
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace godwit
