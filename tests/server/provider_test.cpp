// Providers: tools, prompts and resources computed for each caller, page by page, in every
// revision.
#include "godwit/server/provider.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "godwit/rpc/error_code.hpp"
#include "mcp_station.hpp"

namespace godwit {
namespace {

using test::accept;
using test::code_of;
using test::known_as;
using test::Link;
using test::text_of;

/// Runs everything on one other thread.
class OneThread final : public Executor {
 public:
  void execute(Function<void()> work) override {
    std::jthread([work = std::move(work)]() mutable { work(); });
  }
};

std::string names(const json::Value& answer, std::string_view member = "tools",
                  std::string_view name = "name") {
  std::string all;
  const json::Array* entries = answer["result"][member].as_array();
  if (!entries) return answer.dump();
  for (const json::Value& entry : *entries) all += entry[name].get<std::string>() + " ";
  return all;
}

std::string who(Context& cx) { return cx.identity() ? cx.identity()->subject : "nobody"; }

class Providers : public testing::TestWithParam<std::string_view> {
 protected:
  Providers() {
    ServerOptions options = test::server_options();
    options.executor = &executor;
    options.cache = {.ttl = std::chrono::seconds(5), .scope = CacheScope::public_};
    server.emplace(std::move(options));
  }
  Link link(const std::string& caller = "ada", std::string capabilities = "{}") {
    return Link(*server, GetParam(),
                {.capabilities = std::move(capabilities), .facts = {.identity = known_as(caller)}});
  }
  /// Tools of the caller: NAME_1 to NAME_COUNT, `per_page` on each page.
  static Result<ToolPage> list(const PageQuery& query, Context& cx, int count, int per_page) {
    int from = 1;
    if (query.cursor) {
      if (query.cursor->find_first_not_of("0123456789") != std::string::npos) {
        return not_found(*query.cursor);
      }
      from = std::stoi(*query.cursor);
    }
    ToolPage page;
    for (int i = from; i <= count && i < from + per_page; ++i) {
      page.tools.push_back({.name = who(cx) + "_" + std::to_string(i)});
    }
    if (from + per_page <= count) page.next = std::to_string(from + per_page);
    return page;
  }
  static Result<std::string> call(const ToolCall& call, Context& cx) {
    if (!call.name.starts_with(who(cx) + "_")) return not_found(call.name);
    return call.name + call.arguments.text;
  }

  OneThread executor;
  std::optional<Server> server;
};

TEST_P(Providers, ListForTheCallerAfterWhatIsGivenByName) {
  server->tool("given", "", [] { return "given"; });
  server->tool("ada_2", "", [] { return "mine"; });
  server->tools([](PageQuery query, Context& cx) { return list(query, cx, 3, 10); }, call);
  Link ada = link();
  Link bob = link("bob");
  const json::Value answer = ada.ask("tools/list");
  EXPECT_EQ(names(answer), "given ada_2 ada_1 ada_3 ");  // the name that was given wins
  EXPECT_EQ(names(bob.ask("tools/list")), "given ada_2 bob_1 bob_2 bob_3 ");
  EXPECT_FALSE(answer["result"].contains("nextCursor"));
  if (ada.modern()) {
    EXPECT_EQ(answer["result"]["cacheScope"].as_string(), "private");
    EXPECT_EQ(answer["result"]["ttlMs"].as_int64(), 5000);
  }
  EXPECT_EQ(text_of(ada.tool("ada_1", R"({"a":[1]})")), R"(ada_1{"a":[1]})");
  EXPECT_EQ(text_of(ada.ask("tools/call", R"({"name":"ada_1"})")), "ada_1{}");
  EXPECT_EQ(text_of(ada.tool("ada_2")), "mine");
  EXPECT_EQ(text_of(ada.tool("given")), "given");
  const json::Value unknown = bob.tool("ada_1");
  EXPECT_EQ(code_of(unknown), -32602);
  EXPECT_THAT(*unknown["error"]["message"].as_string(),
              testing::HasSubstr("Unknown tool: \"ada_1\""));
}

TEST_P(Providers, PagesAreTheProvidersAndCursorsTheCallers) {
  server->tool("given", "", [] { return "given"; });
  server->tools([](PageQuery query, Context& cx) { return list(query, cx, 5, 2); }, call);
  server->tools(blocking([](PageQuery query, Context& cx) { return list(query, cx, 1, 1); }), call);
  Link ada = link();
  Link bob = link("bob");
  std::vector<std::string> pages;
  std::string params = "{}";
  for (int i = 0; i < 10; ++i) {
    const json::Value answer = ada.ask("tools/list", params);
    pages.push_back(names(answer));
    if (!answer["result"].contains("nextCursor")) break;
    params = R"({"cursor":)" + answer["result"]["nextCursor"].dump() + "}";
    EXPECT_EQ(code_of(bob.ask("tools/list", params)), -32602);
    EXPECT_EQ(code_of(ada.ask("prompts/list", params)), -32601);
  }
  EXPECT_THAT(pages, testing::ElementsAre("given ada_1 ada_2 ", "ada_3 ada_4 ", "ada_5 ada_1 "));
}

TEST_P(Providers, HostileCursorsAreRefused) {
  server->tools([](PageQuery query, Context& cx) { return list(query, cx, 5, 2); }, call);
  Link one = link("");
  for (const char* text : {R"(["tools","",2,"3"])", R"(["tools","",1,"x"])", R"(["tools","",1,3])",
                           R"(["tools","",18446744073709551615,"3"])", R"(["tools","",1])",
                           R"(["prompts","",1,"3"])", R"(["tools","",0,"1"])"}) {
    const json::Value answer =
        one.ask("tools/list", R"({"cursor":)" + json::quote(base64(text)) + "}");
    EXPECT_EQ(code_of(answer), -32602) << text << answer.dump();
    EXPECT_THAT(*answer["error"]["message"].as_string(),
                testing::HasSubstr("/cursor: not one of this list"));
  }
}

TEST_P(Providers, AskOneAfterTheOtherWhoeverAnswersLater) {
  std::vector<Reply<std::string>> replies;
  server->tools([](Context&) { return ToolPage{}; },
                [](ToolCallView in) -> Result<std::string> {
                  if (in.name == "one") return "plain " + std::string(in.arguments.source());
                  return not_found(in.name);
                });
  server->tools([] { return ToolPage{}; }, blocking([](ToolCall in) -> Result<std::string> {
                  if (in.name == "two") return "blocking " + in.arguments.text;
                  return not_found(in.name);
                }));
  server->tools([] { return ToolPage{}; },
                [](ToolCall in, Reply<std::string> reply) {
                  if (in.name == "three") return reply("later " + in.arguments.text);
                  reply(not_found(in.name));
                });
  server->tools([] { return ToolPage{}; }, blocking([](ToolCall in) -> Result<std::string> {
                  if (in.name == "four") return "last " + in.arguments.text;
                  return not_found(in.name);
                }));
  Link one = link();
  EXPECT_EQ(text_of(one.tool("one", R"({"n":1})")), R"(plain {"n":1})");
  EXPECT_EQ(text_of(one.tool("two", R"({"n":2})")), R"(blocking {"n":2})");
  EXPECT_EQ(text_of(one.tool("three", R"({"n":3})")), R"(later {"n":3})");
  EXPECT_EQ(text_of(one.tool("four", R"({"n":4})")), R"(last {"n":4})");
  const json::Value unknown = one.tool("five");
  EXPECT_EQ(code_of(unknown), -32602);
  EXPECT_THAT(*unknown["error"]["message"].as_string(),
              testing::HasSubstr("Unknown tool: \"five\""));
  EXPECT_EQ(one.peer->in_flight(), 0u);
}

TEST_P(Providers, MayAskTheCaller) {
  struct Name {
    std::string name{};
  };
  server->tools([] { return ToolPage{}; },
                [](ToolCall in) -> Result<std::string> { return not_found(in.name); });
  std::atomic<int> runs = 0;
  const auto asks = [&](ToolCall in, Context& cx) -> Result<std::string> {
    ++runs;
    auto answer = cx.elicit<Name>("who", "Who?");
    if (!answer) return answer.error();
    return in.name + " " + answer->value().name + " " + in.arguments.text;
  };
  if (GetParam() < "2025-06-18") return;  // there is no such question
  server->tools([] { return ToolPage{}; }, blocking(asks));
  Link one = link("ada", std::string(test::can_all));
  const json::Value answer = one.converse(
      "tools/call", R"({"name":"greet","arguments":{"x":1}})",
      [](std::string_view, const json::Value&) { return accept(R"({"name":"Eve"})"); });
  EXPECT_EQ(text_of(answer), R"(greet Eve {"x":1})");
  EXPECT_EQ(runs, 2);
}

TEST_P(Providers, ArgumentsAreHeldAgainstTheSchemaOfTheProvider) {
  std::atomic<int> asked = 0;
  server->tools([] { return ToolPage{}; }, [](ToolCall in) { return in.arguments.text; },
                {.input_schema = [&](std::string_view name, const rpc::Facts& facts) {
                  ++asked;
                  EXPECT_EQ(facts.identity->subject, "ada");
                  if (name == "free") return RawJson{};
                  if (name == "broken") return RawJson{R"({"type":5})"};
                  if (name == "no_json") return RawJson{"{"};
                  if (name == "throws") throw std::runtime_error("secret");
                  return RawJson{R"({"type":"object","properties":{")" + std::string(name) +
                                 R"(":{"type":"integer"}},"required":[")" + std::string(name) +
                                 R"("]})"};
                }});
  Link one = link();
  EXPECT_EQ(text_of(one.tool("free", R"({"x":"y"})")), R"({"x":"y"})");
  for (int i = 0; i < 600; ++i) {  // more than are kept
    const std::string name = "n" + std::to_string(i % 300);
    EXPECT_EQ(code_of(one.tool(name, R"({")" + name + R"(":1})")), 0);
  }
  EXPECT_EQ(asked, 601);
  const json::Value bad = one.tool("n1", R"({"n1":"x"})");
  if (GetParam() >= "2025-11-25") {
    EXPECT_TRUE(bad["result"]["isError"].as_bool().value_or(false)) << bad.dump();
    EXPECT_THAT(text_of(bad), testing::HasSubstr("The arguments of \"n1\" do not fit: /n1"));
  } else {
    EXPECT_EQ(code_of(bad), -32602);
  }
  for (const char* name : {"broken", "no_json", "throws"}) {
    const json::Value answer = one.tool(name);
    EXPECT_EQ(code_of(answer), -32603) << answer.dump();
    EXPECT_EQ(answer.dump().find("secret"), std::string::npos);
  }
}

TEST_P(Providers, OfPromptsAndResources) {
  server->prompts([](PageQuery) { return PromptPage{.prompts = {{.name = "p1"}, {.name = "p2"}}}; },
                  [](PromptCall in, Context& cx) -> Result<std::string> {
                    if (!in.name.starts_with("p")) return not_found(in.name);
                    return in.name + in.arguments.text + who(cx);
                  });
  server->resources(blocking([](PageQuery query) -> Result<ResourcePage> {
                      if (query.cursor)
                        return ResourcePage{.resources = {{.uri = "db:2", .name = "two"}}};
                      return ResourcePage{.resources = {{.uri = "db:1", .name = "one"}},
                                          .next = ""};
                    }),
                    [](ResourceRead in) -> Result<std::string> {
                      if (!in.uri.starts_with("db:")) return not_found(in.uri);
                      return "row " + in.uri.substr(3);
                    });
  Link one = link();
  EXPECT_EQ(names(one.ask("prompts/list"), "prompts"), "p1 p2 ");
  const json::Value prompt = one.ask("prompts/get", R"({"name":"p1","arguments":{"a":"b"}})");
  EXPECT_EQ(prompt["result"]["messages"][0]["content"]["text"].as_string(), R"(p1{"a":"b"}ada)");
  EXPECT_EQ(code_of(one.ask("prompts/get", R"({"name":"q"})")), -32602);
  const json::Value first = one.ask("resources/list");
  EXPECT_EQ(names(first, "resources", "uri"), "db:1 ");
  const json::Value second =
      one.ask("resources/list", R"({"cursor":)" + first["result"]["nextCursor"].dump() + "}");
  EXPECT_EQ(names(second, "resources", "uri"), "db:2 ");
  const json::Value read = one.ask("resources/read", R"({"uri":"db:7"})");
  EXPECT_EQ(read["result"]["contents"][0]["text"].as_string(), "row 7");
  EXPECT_EQ(read["result"]["contents"][0]["uri"].as_string(), "db:7");
  if (one.modern()) {
    EXPECT_EQ(read["result"]["cacheScope"].as_string(), "private");
  }
  EXPECT_EQ(code_of(one.ask("resources/read", R"({"uri":"x:7"})")), one.modern() ? -32602 : -32002);
}

TEST_P(Providers, ThatFailFailTheirListsAndNothingElse) {
  std::atomic<int> how = 0;
  server->tool("given", "", [] { return "given"; });
  server->prompt("given", "", [] { return "given"; });
  server->tools(
      [&](PageQuery) -> Result<ToolPage> {
        if (how == 0) throw std::runtime_error("secret");
        if (how == 1) return rpc::application_error(17, "the database is away");
        if (how == 2) return tool_error("no");
        ToolPage page;
        page.tools.push_back({.name = "", .inputSchema = {R"({"type":"object"})"}});
        page.tools.push_back({.name = "bad", .inputSchema = {R"({"type":)"}});
        page.tools.push_back({.name = "bad2", .inputSchema = {"[]"}});
        page.tools.push_back({.name = "good"});
        return page;
      },
      [](ToolCall in) -> Result<std::string> {
        if (in.name == "throws") throw std::runtime_error("secret");
        return tool_error("broken");
      });
  Link one = link();
  json::Value answer = one.ask("tools/list");
  EXPECT_EQ(code_of(answer), -32603);
  EXPECT_EQ(answer.dump().find("secret"), std::string::npos);
  how = 1;
  answer = one.ask("tools/list");
  EXPECT_EQ(code_of(answer), 17);
  EXPECT_EQ(answer["error"]["message"].as_string(), "the database is away");
  how = 2;
  EXPECT_EQ(code_of(one.ask("tools/list")), -32603);
  how = 3;
  EXPECT_EQ(names(one.ask("tools/list")), "given good ");
  EXPECT_EQ(names(one.ask("prompts/list"), "prompts"), "given ");
  EXPECT_EQ(text_of(one.tool("given")), "given");
  EXPECT_EQ(text_of(one.tool("other")), "broken");
  EXPECT_EQ(code_of(one.tool("throws")), -32603);
}

TEST_P(Providers, ThatAreSlowHoldUpTheirListsAndNothingElse) {
  std::optional<Reply<ToolPage>> page;
  server->tool("given", "", [] { return "given"; });
  server->tools([&](PageQuery, Reply<ToolPage> reply) { page.emplace(std::move(reply)); }, call,
                {.timeout = std::chrono::seconds(3)});
  Link one = link();
  const std::string waiting = one.request("tools/list");
  EXPECT_EQ(text_of(one.tool("given")), "given");
  EXPECT_FALSE(one.has_answer(waiting));
  (*page)(ToolPage{.tools = {{.name = "late"}}});
  EXPECT_EQ(names(one.take_answer(waiting)), "given late ");
  const std::string dropped = one.request("tools/list");
  page.reset();
  EXPECT_EQ(code_of(one.take_answer(dropped)), -32603);
  const std::string timed_out = one.request("tools/list");
  one.pass(std::chrono::seconds(4));
  EXPECT_EQ(code_of(one.take_answer(timed_out)), -32603);
  const std::string cancelled = one.request("tools/list");
  one.cancel(cancelled);
  (*page)(ToolPage{});
  one.peer->process();
  EXPECT_FALSE(one.has_answer(cancelled));
  const std::string closed = one.request("tools/list");
  one.peer->close();
  (*page)(ToolPage{});
}

TEST_P(Providers, StandBehindThePolicies) {
  server->restrict({.decide = [](const AccessQuestion& ask) -> Result<void> {
    if (ask.name == "ada_2") return rpc::application_error(1, "no");
    return {};
  }});
  server->tools([](PageQuery query, Context& cx) { return list(query, cx, 3, 10); }, call);
  Link one = link();
  EXPECT_EQ(names(one.ask("tools/list")), "ada_1 ada_3 ");
  EXPECT_EQ(code_of(one.tool("ada_2")), -32602);
  EXPECT_EQ(code_of(one.tool("ada_3")), 0);
  server->resources([] { return ResourcePage{}; }, [](ResourceRead in) { return in.uri; });
  if (!one.modern()) {  // of what a provider has, anything may be there
    Link again = link();
    EXPECT_EQ(code_of(again.ask("resources/subscribe", R"({"uri":"db:1"})")), 0);
    EXPECT_EQ(code_of(again.ask("resources/subscribe", R"({"uri":"ada_2"})")), -32002);
  }
}

TEST_P(Providers, ChangesAreToldToThoseConcerned) {
  server->tools([](PageQuery query, Context& cx) { return list(query, cx, 3, 10); }, call);
  Link ada = link();
  Link bob = link("bob");
  Link nobody = link("");
  const std::vector<Link*> all = {&ada, &bob, &nobody};
  std::vector<std::string> listens;
  for (Link* one : all) {
    if (one->modern()) {
      one->request("subscriptions/listen", R"({"notifications":{"toolsListChanged":true}})");
    }
  }
  const auto told = [&] {
    std::string counts;
    for (Link* one : all) {
      one->peer->process();
      counts += std::to_string(one->notes("notifications/tools/list_changed").size()) + " ";
    }
    return counts;
  };
  server->list_changed(OfferKind::tool, *known_as("bob"));
  EXPECT_EQ(told(), "0 1 0 ");
  server->list_changed(OfferKind::tool);
  EXPECT_EQ(told(), "1 2 1 ");
  server->list_changed(OfferKind::prompt);
  EXPECT_EQ(told(), "1 2 1 ");
}

TEST_P(Providers, MayGoInsideTheCall) {
  server->tools([](PageQuery, Context&) { return ToolPage{}; },
                [this](ToolCall in) -> Result<std::string> {
                  server.reset();  // connections keep what they need
                  return not_found(in.name);
                });
  server->tools([] { return ToolPage{}; }, [](ToolCall in) { return in.name; });
  Link one = link();
  EXPECT_EQ(text_of(one.tool("x")), "x");
}

TEST(Provider, NeedsAnExecutorIfItBlocks) {
  Server server(test::server_options());
  EXPECT_THROW(server.tools(blocking([] { return ToolPage{}; }), [](ToolCall) { return "x"; }),
               std::invalid_argument);
  EXPECT_THROW(server.tools([] { return ToolPage{}; }, blocking([](ToolCall) { return "x"; })),
               std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Revisions, Providers, testing::ValuesIn(test::all_revisions),
                         [](const auto& param) {
                           std::string name(param.param);
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace godwit
