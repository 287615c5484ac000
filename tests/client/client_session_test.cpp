#include "godwit/client/client_session.hpp"

#include <gtest/gtest.h>

#include "rig.hpp"

using namespace std::chrono_literals;
using godwit::ClientCall;
using godwit::ClientOptions;
using godwit::Error;
using godwit::LoggingLevel;
using godwit::Progress;
using godwit::RawJson;
using godwit::RequestOptions;
using godwit::Result;
using godwit::revisions;
using godwit::ToolResult;
using godwit::json::Value;
using godwit::test::Direction;
using godwit::test::everything;
using godwit::test::newest;
using godwit::test::Outcome;
using godwit::test::Rig;
using godwit::test::SchemaBook;

namespace {

struct Weather {
  std::string city{};
};
struct Forecast {
  std::string text{};
  double degrees{};

  bool operator==(const Forecast&) const = default;
};

constexpr std::string_view said = R"({"content":[{"type":"text","text":"hi"}]})";

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

std::vector<std::unique_ptr<Rig>> both(const ClientOptions& options = {}) {
  std::vector<std::unique_ptr<Rig>> rigs;
  rigs.push_back(Rig::stateless(options));
  rigs.push_back(Rig::stateful(options));
  return rigs;
}

}  // namespace

TEST(ClientSession, TheRefereeIsAwake) {
  if (!SchemaBook::shared().knows(newest())) GTEST_SKIP() << "no schemas";
  const auto check = [](std::string_view message, std::string_view request = {}) {
    return SchemaBook::shared()
        .check(newest(), message, Direction::from_client, request)
        .has_value();
  };
  EXPECT_TRUE(check(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"));  // no _meta
  EXPECT_TRUE(check(R"({"jsonrpc":"2.0","id":1,"method":"nonsense","params":{}})"));
  EXPECT_TRUE(check(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"));
  EXPECT_TRUE(check(R"({"jsonrpc":"2.0","id":1})"));
  EXPECT_TRUE(check(R"([])"));
  EXPECT_FALSE(
      check(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})"));
  for (const std::string_view revision : revisions().subspan(1)) {
    SchemaBook& book = SchemaBook::shared();
    EXPECT_FALSE(book.check(revision, R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})",
                            Direction::from_client));
    EXPECT_TRUE(book.check(revision, R"({"jsonrpc":"2.0","id":1,"method":"tools/call"})",
                           Direction::from_client));
    EXPECT_TRUE(book.check(revision, R"({"jsonrpc":"2.0","id":1,"result":{"tools":7}})",
                           Direction::from_server, "tools/list"));
    EXPECT_FALSE(book.check(revision, R"({"jsonrpc":"2.0","id":1,"result":{"tools":[]}})",
                            Direction::from_server, "tools/list"));
  }
}

TEST(ClientSession, CallsAToolInBothEras) {
  for (const auto& rig : both()) {
    Outcome<ToolResult> outcome;
    const ClientCall call =
        rig->session().call_tool("greet", RawJson{R"({"name":"Ada"})"}, outcome.taker());
    EXPECT_NE(call.number, 0u);
    const Value request = rig->next("tools/call");
    EXPECT_EQ(request["params"]["name"].as_string(), "greet");
    EXPECT_EQ(request["params"]["arguments"].dump(), R"({"name":"Ada"})");
    EXPECT_EQ(request["params"].contains("_meta"), rig->session().verdict().stateless);
    EXPECT_FALSE(outcome);
    rig->answer(request, said);
    ASSERT_TRUE(outcome.good()) << outcome.message();
    EXPECT_EQ(joined_text(outcome.value()), "hi");
    EXPECT_FALSE(rig->session().cancel(call));
  }
}

TEST(ClientSession, TypedCalls) {
  for (const auto& rig : both()) {
    Outcome<Forecast> structured;
    rig->session().call<Forecast>("forecast", Weather{.city = "Oslo"}, structured.taker());
    const Value request = rig->next("tools/call");
    EXPECT_EQ(request["params"]["arguments"].dump(), R"({"city":"Oslo"})");
    rig->answer(request, R"({"content":[],"structuredContent":{"text":"sun","degrees":21}})");
    ASSERT_TRUE(structured.good()) << structured.message();
    EXPECT_EQ(structured.value(), (Forecast{"sun", 21}));

    Outcome<Forecast> from_text;
    rig->session().call<Forecast>("forecast", Weather{}, from_text.taker());
    rig->answer(rig->next(), R"({"content":[{"type":"text","text":"{\"text\":\"fog\",)"
                             R"(\"degrees\":2.5}"}]})");
    ASSERT_TRUE(from_text.good()) << from_text.message();
    EXPECT_EQ(from_text.value(), (Forecast{"fog", 2.5}));

    Outcome<std::string> text;
    rig->session().call<std::string>("x", Weather{}, text.taker());
    rig->answer(rig->next(), R"({"content":[{"type":"text","text":"a"},{"type":"image","data":"",)"
                             R"("mimeType":"image/png"},{"type":"text","text":"b"}]})");
    ASSERT_TRUE(text.good()) << text.message();
    EXPECT_EQ(text.value(), "a\nb");

    Outcome<Forecast> failed;
    rig->session().call<Forecast>("x", Weather{}, failed.taker());
    rig->answer(rig->next(),
                R"({"isError":true,"content":[{"type":"text","text":"no such city"}]})");
    EXPECT_TRUE(is_tool_error(failed.error()));
    EXPECT_EQ(failed.message(), "no such city");

    Outcome<Forecast> refused;
    rig->session().call<Forecast>("x", Weather{}, refused.taker());
    rig->refuse(rig->next(), -32602, "unknown tool");
    EXPECT_FALSE(is_tool_error(refused.error()));
    EXPECT_EQ(refused.message(), "unknown tool");

    Outcome<int> scalar;
    rig->session().call<int>("x", Weather{}, scalar.taker());
    rig->answer(rig->next(), R"({"content":[],"structuredContent":7})");
    EXPECT_TRUE(scalar.good() && scalar.value() == 7);

    Outcome<ToolResult> null;
    rig->session().call("x", Weather{}, null.taker());
    rig->answer(rig->next(), R"({"content":[],"structuredContent":null})");
    ASSERT_TRUE(null.good());
    EXPECT_EQ(null.value().structuredContent->text, "null");

    Outcome<ToolResult> list;
    rig->session().call("x", std::vector<int>{1}, list.taker());
    EXPECT_TRUE(contains(list.message(), "must be a JSON object"));
    EXPECT_TRUE(rig->silent());
  }
}

TEST(ClientSession, HostileResultsOfATool) {
  const std::string bad[] = {"{}",
                             R"({"content":7})",
                             R"({"content":[{"type":"smell"}]})",
                             R"({"content":[{"type":"text"}]})",
                             R"({"content":[],"isError":"no"})",
                             R"({"content":[],"_meta":[]})"};
  for (const auto& rig : both()) {
    for (const std::string& result : bad) {
      Outcome<ToolResult> outcome;
      rig->session().call_tool("x", {}, outcome.taker());
      rig->answer(rig->next(), result);
      EXPECT_TRUE(contains(outcome.message(), "not what was expected")) << outcome.message();
    }
    Outcome<ToolResult> array;
    rig->session().call_tool("x", {}, array.taker());
    rig->answer(rig->next(), "[]");
    EXPECT_TRUE(array && !array.good());
    Outcome<ToolResult> arguments;
    rig->session().call_tool("x", RawJson{"{broken"}, arguments.taker());
    EXPECT_TRUE(arguments && !arguments.good());
    EXPECT_TRUE(rig->silent());
  }
}

TEST(ClientSession, UnknownResultTypesAreErrors) {
  const auto rig = Rig::stateless();
  Outcome<ToolResult> odd;
  rig->session().call_tool("x", {}, odd.taker());
  rig->answer(rig->next(), R"({"resultType":"task","content":[]})");
  EXPECT_TRUE(contains(odd.message(), R"("task")")) << odd.message();
  Outcome<ToolResult> none;
  rig->session().call_tool("x", {}, none.taker());
  rig->answer(rig->next(), R"({"content":[]})");
  EXPECT_TRUE(none.good());
  Outcome<ToolResult> number;
  rig->session().call_tool("x", {}, number.taker());
  rig->answer(rig->next(), R"({"resultType":1,"content":[]})");
  EXPECT_TRUE(number && !number.good());
}

TEST(ClientSession, EveryStatelessRequestSaysWhoAsks) {
  const auto rig = Rig::stateless();
  RequestOptions options;
  options.meta = {{"com.example/x", 1},
                  {"io.modelcontextprotocol/protocolVersion", "forged"},
                  {"progressToken", "mine"}};
  options.on_progress = [](const Progress&) {};
  options.log_level = LoggingLevel::debug;
  options.trace = {.traceparent = "00-1-2-01", .tracestate = "a=b", .baggage = "c=d"};
  Outcome<ToolResult> outcome;
  rig->session().call_tool("x", {}, outcome.taker(), options);
  const Value request = rig->next();
  const Value& meta = request["params"]["_meta"];
  EXPECT_EQ(meta["io.modelcontextprotocol/protocolVersion"].as_string(), newest());
  EXPECT_TRUE(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
  EXPECT_EQ(meta["io.modelcontextprotocol/logLevel"].as_string(), "debug");
  EXPECT_EQ(meta["traceparent"].as_string(), "00-1-2-01");
  EXPECT_EQ(meta["tracestate"].as_string(), "a=b");
  EXPECT_EQ(meta["baggage"].as_string(), "c=d");
  EXPECT_EQ(meta["com.example/x"].as_int64(), 1);
  EXPECT_TRUE(meta["progressToken"].is_integer());
  EXPECT_FALSE(request["params"].contains("arguments"));
}

TEST(ClientSession, AStatefulRequestHasOnlyWhatTheCallerAdds) {
  const auto rig = Rig::stateful();
  RequestOptions options;
  options.meta = {{"com.example/x", 1}};
  options.log_level = LoggingLevel::debug;
  options.trace.traceparent = "00-1-2-01";
  Outcome<ToolResult> outcome;
  rig->session().call_tool("x", {}, outcome.taker(), options);
  EXPECT_EQ(rig->next()["params"].dump(), R"({"name":"x","_meta":{"com.example/x":1}})");
}

TEST(ClientSession, WhatTheServerDoesNotDeclareIsNotSent) {
  std::vector<std::unique_ptr<Rig>> rigs;
  rigs.push_back(Rig::stateless({}, "{}"));
  rigs.push_back(Rig::stateful({}, "{}"));
  for (const auto& rig : rigs) {
    godwit::ClientSession& session = rig->session();
    Outcome<std::vector<godwit::Tool>> tools;
    session.list_tools(tools.taker());
    EXPECT_TRUE(contains(tools.message(), "\"tools\"")) << tools.message();
    Outcome<ToolResult> call;
    EXPECT_EQ(session.call_tool("x", {}, call.taker()).number, 0u);
    EXPECT_TRUE(contains(call.message(), "tools/call"));
    Outcome<std::vector<godwit::Resource>> resources;
    session.list_resources(resources.taker());
    EXPECT_TRUE(contains(resources.message(), "resources/list"));
    Outcome<godwit::ReadResult> read;
    session.read_resource("a:b", read.taker());
    EXPECT_TRUE(contains(read.message(), "\"resources\""));
    Outcome<std::vector<godwit::Prompt>> prompts;
    session.list_prompts(prompts.taker());
    EXPECT_TRUE(contains(prompts.message(), "\"prompts\""));
    Outcome<godwit::Completion> completion;
    session.complete(godwit::PromptReference{.name = "x"}, {}, completion.taker());
    EXPECT_TRUE(contains(completion.message(), "\"completions\""));
    Outcome<void> level;
    session.set_log_level(LoggingLevel::info, level.taker());
    EXPECT_TRUE(contains(level.message(), "\"logging\"")) << level.message();
    EXPECT_TRUE(rig->silent());
  }
  // The first revision completes without saying so.
  const auto first = Rig::stateful({}, "{}", std::string(revisions().back()));
  Outcome<godwit::Completion> completion;
  first->session().complete(godwit::PromptReference{.name = "x"}, {}, completion.taker());
  first->answer(first->next("completion/complete"), R"({"completion":{"values":["a"]}})");
  EXPECT_TRUE(completion.good());
}

TEST(ClientSession, ResourcesPromptsAndCompletion) {
  for (const auto& rig : both()) {
    godwit::ClientSession& session = rig->session();
    Outcome<godwit::ReadResult> read;
    session.read_resource("file:///a", read.taker());
    const Value reading = rig->next("resources/read");
    EXPECT_EQ(reading["params"]["uri"].as_string(), "file:///a");
    rig->answer(reading,
                R"({"contents":[{"uri":"file:///a","text":"x"},{"uri":"b","blob":"eA=="}],)"
                R"("ttlMs":0,"cacheScope":"private"})");
    ASSERT_TRUE(read.good()) << read.message();
    EXPECT_EQ(read.value().contents.size(), 2u);

    Outcome<godwit::PromptResult> prompt;
    session.get_prompt("review", {{"code", "x"}}, prompt.taker());
    const Value getting = rig->next("prompts/get");
    EXPECT_EQ(getting["params"]["arguments"].dump(), R"({"code":"x"})");
    rig->answer(getting, R"({"messages":[{"role":"user","content":{"type":"text","text":"x"}}]})");
    ASSERT_TRUE(prompt.good()) << prompt.message();
    EXPECT_EQ(prompt.value().messages.size(), 1u);

    Outcome<godwit::Completion> completion;
    session.complete(godwit::ResourceReference{.uri = "f:{x}"}, {.name = "x", .value = "a"},
                     completion.taker(), {.arguments = {{{"y", "b"}}}});
    const Value completing = rig->next("completion/complete");
    EXPECT_EQ(completing["params"]["context"].dump(), R"({"arguments":{"y":"b"}})");
    rig->answer(completing, R"({"completion":{"values":["ab","ac"],"total":2}})");
    ASSERT_TRUE(completion.good()) << completion.message();
    EXPECT_EQ(completion.value().values.size(), 2u);

    Outcome<void> pong;
    session.ping(pong.taker());
    const Value ping = rig->next();
    EXPECT_EQ(ping["method"].as_string(), session.verdict().stateless ? "server/discover" : "ping");
    rig->answer(ping, "{}");
    EXPECT_TRUE(pong.good());
  }
}

TEST(ClientSession, TheLogLevelIsSetInTheWayOfTheEra) {
  const auto stateful = Rig::stateful();
  Outcome<void> set;
  stateful->session().set_log_level(LoggingLevel::warning, set.taker());
  const Value request = stateful->next("logging/setLevel");
  EXPECT_EQ(request["params"]["level"].as_string(), "warning");
  stateful->answer(request, "{}");
  EXPECT_TRUE(set.good());

  const auto stateless = Rig::stateless();
  Outcome<void> remembered;
  stateless->session().set_log_level(LoggingLevel::error, remembered.taker());
  EXPECT_TRUE(remembered.good());
  EXPECT_TRUE(stateless->silent());
  Outcome<ToolResult> call;
  stateless->session().call_tool("x", {}, call.taker());
  EXPECT_EQ(stateless->next()["params"]["_meta"]["io.modelcontextprotocol/logLevel"].as_string(),
            "error");
}

TEST(ClientSession, MethodsThatOnlyTheProgramKnows) {
  const auto rig = Rig::stateless();
  rig->check_schema = false;
  Outcome<RawJson> raw;
  rig->session().request("acme/do", RawJson{R"({"a":1,"_meta":{"acme/k":2}})"}, raw.taker());
  const Value request = rig->next("acme/do");
  EXPECT_EQ(request["params"]["a"].as_int64(), 1);
  EXPECT_EQ(request["params"]["_meta"]["acme/k"].as_int64(), 2);
  EXPECT_TRUE(request["params"]["_meta"].contains("io.modelcontextprotocol/clientCapabilities"));
  rig->answer(request, R"({"b":[1, 2]})");
  ASSERT_TRUE(raw.good());
  EXPECT_EQ(raw.value().text, R"({"b":[1, 2]})");
  Outcome<RawJson> bad;
  rig->session().request("acme/do", RawJson{"[1]"}, bad.taker());
  EXPECT_TRUE(contains(bad.message(), "must be a JSON object"));
  EXPECT_TRUE(rig->session().notify("acme/tell", RawJson{R"({"a":1})"}));
  EXPECT_EQ(rig->next("acme/tell")["params"].dump(), R"({"a":1})");
  EXPECT_FALSE(rig->session().notify("acme/tell", RawJson{"7"}));
  EXPECT_TRUE(rig->silent());

  const auto old = Rig::stateful();
  old->check_schema = false;
  Outcome<RawJson> plain;
  old->session().request("acme/do", {}, plain.taker());
  EXPECT_FALSE(old->next("acme/do").contains("params"));
}

TEST(ClientSession, ProgressExtendsTheTimeoutUpToTheHardMaximum) {
  for (const auto& rig : both()) {
    std::vector<double> seen;
    RequestOptions options;
    options.timeout = 10s;
    options.max_total = 25s;
    options.on_progress = [&](const Progress& progress) { seen.push_back(progress.progress); };
    Outcome<ToolResult> outcome;
    rig->session().call_tool("slow", {}, outcome.taker(), options);
    const Value request = rig->next();
    const std::string token = request["params"]["_meta"]["progressToken"].dump();
    const auto report = [&](double at) {
      rig->tell("notifications/progress",
                R"({"progressToken":)" + token + R"(,"progress":)" + std::to_string(at) + "}");
    };
    for (int i = 1; i <= 2; ++i) {
      rig->pass(9s);
      report(i);
      EXPECT_FALSE(outcome) << i;
    }
    report(1.5);  // falls back: no sign of life
    EXPECT_EQ(seen, (std::vector<double>{1, 2}));
    rig->tell("notifications/progress", R"({"progressToken":"other","progress":9})");
    rig->tell("notifications/progress", R"({"progressToken":777,"progress":9})");
    rig->pass(6s);  // 24 s
    report(3);
    EXPECT_FALSE(outcome);
    rig->pass(1s);  // 25 s
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(contains(outcome.message(), "no answer")) << outcome.message();
    const Value cancelled = rig->next("notifications/cancelled");
    EXPECT_EQ(cancelled["params"]["requestId"], request["id"]);
    report(4);
    EXPECT_EQ(seen.size(), 3u);
    rig->answer(request, said);  // too late
  }
}

TEST(ClientSession, ATimeoutOrACancellationTellsTheServer) {
  for (const auto& rig : both()) {
    Outcome<ToolResult> timed, cancelled, other;
    rig->session().call_tool("a", {}, timed.taker(), {.timeout = 1s});
    const Value first = rig->next();
    const ClientCall call = rig->session().call_tool("b", {}, cancelled.taker());
    const Value second = rig->next();
    rig->session().call_tool("c", {}, other.taker());
    const Value third = rig->next();
    rig->pass(1s);
    EXPECT_TRUE(contains(timed.message(), "within 1 s"));
    EXPECT_EQ(rig->next("notifications/cancelled")["params"]["requestId"], first["id"]);
    EXPECT_TRUE(rig->session().cancel(call, "changed my mind"));
    EXPECT_TRUE(contains(cancelled.message(), "changed my mind"));
    const Value notice = rig->next("notifications/cancelled");
    EXPECT_EQ(notice["params"]["requestId"], second["id"]);
    EXPECT_TRUE(contains(notice["params"]["reason"].get<std::string>(), "changed my mind"));
    EXPECT_FALSE(rig->session().cancel(call));
    rig->answer(second, said);  // dropped
    rig->answer(third, said);
    EXPECT_TRUE(other.good());
    EXPECT_TRUE(rig->silent());
  }
}

TEST(ClientSession, ADeadPeerFailsEverythingAtOnce) {
  for (const auto& rig : both()) {
    std::vector<Outcome<ToolResult>> outcomes(5);
    for (auto& outcome : outcomes) rig->session().call_tool("x", {}, outcome.taker());
    rig->peer->on_close(godwit::error("program \"s\" exited with 3"));
    for (auto& outcome : outcomes) EXPECT_TRUE(contains(outcome.message(), "exited with 3"));
    Outcome<ToolResult> later;
    rig->session().call_tool("x", {}, later.taker());
    EXPECT_TRUE(contains(later.message(), "exited with 3")) << later.message();
    EXPECT_FALSE(rig->session().ready());
    EXPECT_EQ(rig->session().server_info().name, "mock");
  }
}

TEST(ClientSession, ThePeerMayDieFirst) {
  for (const auto& rig : both()) {
    Outcome<ToolResult> pending, later;
    rig->session().call_tool("x", {}, pending.taker());
    rig->peer.reset();
    EXPECT_TRUE(pending && !pending.good());
    rig->session().call_tool("x", {}, later.taker());
    EXPECT_TRUE(later && !later.good());
  }
}

TEST(ClientSession, DestroyingTheSessionEndsItsCalls) {
  for (const auto& rig : both()) {
    Outcome<ToolResult> pending;
    rig->session().call_tool("x", {}, pending.taker());
    const Value request = rig->next();
    rig->check_schema = false;
    rig->destroy_session();
    EXPECT_TRUE(contains(pending.message(), "destroyed")) << pending.message();
    EXPECT_EQ(rig->next("notifications/cancelled")["params"]["requestId"], request["id"]);
    rig->answer(request, said);
    rig->ask("1", "ping", "{}");
    EXPECT_TRUE(rig->next().contains("error"));
  }
}

TEST(ClientSession, CallbacksMayThrowAndDestroy) {
  for (const auto& rig : both()) {
    rig->session().call_tool("x", {}, [](Result<ToolResult>) { throw std::runtime_error("oops"); });
    rig->answer(rig->next(), said);
    EXPECT_TRUE(rig->logged("oops"));
    rig->check_schema = false;
    rig->session().call_tool("x", {}, [&](Result<ToolResult>) { rig->destroy_session(); });
    rig->answer(rig->next(), said);
  }
}

TEST(ClientSession, Notifications) {
  for (const bool stateless : {true, false}) {
    std::vector<std::string> heard;
    ClientOptions options;
    options.on_log = [&](const godwit::LoggingMessage& message) {
      heard.push_back("log " + message.data.text);
    };
    options.on_tools_changed = [&] { heard.push_back("tools"); };
    options.on_prompts_changed = [&] { heard.push_back("prompts"); };
    options.on_resources_changed = [&] { heard.push_back("resources"); };
    options.on_resource_updated = [&](const std::string& uri) { heard.push_back(uri); };
    options.on_elicitation_complete = [&](const std::string& id) { heard.push_back(id); };
    options.on_notification = [&](const std::string& method, const RawJson& params) {
      heard.push_back(method + params.text);
    };
    const auto rig = stateless ? Rig::stateless(options) : Rig::stateful(options);
    rig->tell("notifications/message", R"({"level":"info","data":{"a":1}})");
    rig->tell("notifications/tools/list_changed", "{}");
    rig->tell("notifications/prompts/list_changed", "{}");
    rig->tell("notifications/resources/list_changed", "{}");
    rig->tell("notifications/resources/updated", R"({"uri":"f:a"})");
    rig->tell("acme/news", R"({"x":1})");
    if (stateless) {  // changes belong to subscriptions there
      EXPECT_EQ(heard, (std::vector<std::string>{R"(log {"a":1})", R"(acme/news{"x":1})"}));
    } else {
      rig->tell("notifications/elicitation/complete", R"({"elicitationId":"e1"})");
      EXPECT_EQ(heard, (std::vector<std::string>{R"(log {"a":1})", "tools", "prompts", "resources",
                                                 "f:a", R"(acme/news{"x":1})", "e1"}));
    }
    rig->tell("notifications/message", R"({"level":"loud","data":1})");
    rig->tell("notifications/message", "{}");
    rig->tell("notifications/progress", R"({"progressToken":{},"progress":1})");
    rig->tell("notifications/resources/updated", R"({"uri":7})");
    rig->tell("notifications/cancelled", R"({"requestId":[]})");
    rig->tell("notifications/cancelled", R"({"requestId":99})");
    EXPECT_TRUE(rig->silent());
    EXPECT_EQ(heard.size(), stateless ? 2u : 7u);
  }
}

TEST(ClientSession, OutputSchemasAreKeptUpToABound) {
  const auto page = [](int number) {
    return R"({"tools":[{"name":"t)" + std::to_string(number) +
           R"(","inputSchema":{"type":"object"},"outputSchema":{"type":"object","description":")" +
           std::string(1'000, 'x') + R"(","required":["n"]}}],"nextCursor":"more"})";
  };
  ClientOptions options;
  options.limits.list_bytes = 5'000;
  const auto rig = Rig::stateful(options);
  for (int i = 0; i < 20; ++i) {
    Outcome<godwit::Page<godwit::Tool>> listed;
    rig->session().list_tools_page(std::nullopt, listed.taker());
    rig->answer(rig->next(), page(i % 10));
    ASSERT_TRUE(listed.good()) << listed.message();
  }
  int checked = 0;
  for (int i = 0; i < 10; ++i) {
    Outcome<ToolResult> outcome;
    rig->session().call_tool("t" + std::to_string(i), {}, outcome.taker());
    rig->answer(rig->next(), R"({"content":[],"structuredContent":{}})");
    if (!outcome.good()) ++checked;
  }
  EXPECT_EQ(checked, 4);
  EXPECT_TRUE(rig->logged("are not checked"));
}

TEST(ClientSession, ResultsAreCheckedAgainstTheOutputSchema) {
  constexpr std::string_view tools =
      R"({"tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object",)"
      R"("properties":{"n":{"type":"integer"}},"required":["n"]}},)"
      R"({"name":"broken","inputSchema":{"type":"object"},"outputSchema":{"type":"object",)"
      R"("required":7}}],"ttlMs":0,"cacheScope":"private"})";
  const auto result = [](std::string_view structured) {
    return R"({"content":[],"structuredContent":)" + std::string(structured) + "}";
  };
  for (const bool check : {true, false}) {
    ClientOptions options;
    options.check_results = check;
    for (const auto& rig : both(options)) {
      const auto call = [&](std::string_view tool, std::string_view answer) {
        Outcome<ToolResult> outcome;
        rig->session().call_tool(tool, {}, outcome.taker());
        rig->answer(rig->next(), answer);
        return outcome.good() ? std::string("good") : outcome.message();
      };
      EXPECT_EQ(call("t", result(R"({"n":"x"})")), "good");  // not listed yet
      Outcome<std::vector<godwit::Tool>> listed;
      rig->session().list_tools(listed.taker());
      rig->answer(rig->next(), tools);
      ASSERT_TRUE(listed.good());
      EXPECT_EQ(call("t", result(R"({"n":1})")), "good");
      EXPECT_EQ(call("t", R"({"content":[],"isError":true})"), "good");
      const std::string wrong = call("t", result(R"({"n":"x"})"));
      const std::string missing = call("t", said);
      if (check) {
        EXPECT_TRUE(contains(wrong, "/n: type")) << wrong;
        EXPECT_TRUE(contains(missing, "without structuredContent")) << missing;
      } else {
        EXPECT_EQ(wrong + missing, "goodgood");
      }
      EXPECT_EQ(call("broken", result("{}")), "good");
      EXPECT_EQ(rig->logged("cannot be used"), check);
    }
  }
}
