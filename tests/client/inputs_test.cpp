// What a server asks: as requests in one era, as rounds of a request in the other.
#include <gtest/gtest.h>

#include <thread>

#include "rig.hpp"

using namespace std::chrono_literals;
using godwit::ClientCall;
using godwit::ClientOptions;
using godwit::ElicitAction;
using godwit::ElicitRequest;
using godwit::ElicitResult;
using godwit::InputReply;
using godwit::RawJson;
using godwit::Result;
using godwit::Root;
using godwit::SamplingRequest;
using godwit::SamplingResult;
using godwit::ToolResult;
using godwit::json::Object;
using godwit::json::Value;
using godwit::test::Outcome;
using godwit::test::Rig;

namespace {

constexpr std::string_view said = R"({"content":[{"type":"text","text":"hi"}]})";
constexpr std::string_view name_form =
    R"({"mode":"form","message":"Name?","requestedSchema":{"type":"object","properties":{)"
    R"("name":{"type":"string"},"age":{"type":"integer","default":30}},"required":["name"]}})";
constexpr std::string_view sampling =
    R"({"messages":[{"role":"user","content":{"type":"text","text":"Q"}}],"maxTokens":10})";

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

/// Answers everything.
ClientOptions helpful() {
  ClientOptions options;
  options.elicit = [](const ElicitRequest& request) -> Result<ElicitResult> {
    if (request.mode == ElicitRequest::Mode::url) return ElicitResult{ElicitAction::accept, {}};
    return ElicitResult{ElicitAction::accept, Object{{"name", "Ada"}}};
  };
  options.sample = [](const SamplingRequest&) -> Result<SamplingResult> {
    return SamplingResult{.content = godwit::text("A"), .model = "m"};
  };
  options.roots = std::vector<Root>{{.uri = "file:///w"}};
  return options;
}

std::string input_required(std::string_view requests, std::string_view state = "") {
  std::string out = R"({"resultType":"input_required")";
  if (!requests.empty()) out += R"(,"inputRequests":)" + std::string(requests);
  if (!state.empty()) out += R"(,"requestState":)" + std::string(state);
  return out + "}";
}

std::string ask_name(std::string_view key = "who") {
  return "{\"" + std::string(key) + R"(":{"method":"elicitation/create","params":)" +
         std::string(name_form) + "}}";
}

}  // namespace

TEST(Inputs, ARoundIsAnsweredAndTheRequestSentAgain) {
  const auto rig = Rig::stateless(helpful());
  Outcome<ToolResult> outcome;
  rig->session().call_tool("greet", RawJson{R"({"a":1})"}, outcome.taker());
  const Value first = rig->next("tools/call");
  rig->answer(first, input_required(R"({"who":{"method":"elicitation/create","params":)" +
                                        std::string(name_form) +
                                        R"(},"where":{"method":"roots/list"},"what":{"method":)"
                                        R"("sampling/createMessage","params":)" +
                                        std::string(sampling) + "}}",
                                    R"("v1.k3J\u00e9\/mac")"));
  EXPECT_FALSE(outcome);
  const std::string raw = rig->sent.empty() ? "" : rig->sent.front();
  const Value second = rig->next("tools/call");
  EXPECT_NE(second["id"], first["id"]);
  EXPECT_EQ(second["params"]["arguments"].dump(), R"({"a":1})");
  EXPECT_TRUE(contains(raw, R"("requestState":"v1.k3J\u00e9\/mac")")) << raw;  // byte for byte
  EXPECT_EQ(second["params"]["inputResponses"]["who"].dump(),
            R"({"action":"accept","content":{"name":"Ada","age":30}})");
  EXPECT_EQ(second["params"]["inputResponses"]["where"].dump(),
            R"({"roots":[{"uri":"file:///w"}]})");
  EXPECT_EQ(second["params"]["inputResponses"]["what"]["model"].as_string(), "m");
  rig->answer(second, said);
  EXPECT_TRUE(outcome.good()) << outcome.message();
  EXPECT_TRUE(rig->silent());
}

TEST(Inputs, NoStateIsEchoedWhereNoneWasSent) {
  const auto rig = Rig::stateless(helpful());
  Outcome<ToolResult> outcome;
  rig->session().call_tool("x", {}, outcome.taker());
  rig->answer(rig->next(), input_required(ask_name("a"), R"("one")"));
  const Value second = rig->next();
  EXPECT_EQ(second["params"]["requestState"].as_string(), "one");
  rig->answer(second, input_required(ask_name("b")));
  const Value third = rig->next();
  EXPECT_FALSE(third["params"].contains("requestState"));
  EXPECT_TRUE(third["params"]["inputResponses"].contains("b"));
  EXPECT_FALSE(third["params"]["inputResponses"].contains("a"));
  rig->answer(third, said);
  EXPECT_TRUE(outcome.good());
}

TEST(Inputs, AllThreeMethodsMayAskAndNoOther) {
  const auto rig = Rig::stateless(helpful());
  Outcome<godwit::PromptResult> prompt;
  rig->session().get_prompt("p", {}, prompt.taker());
  rig->answer(rig->next(), input_required(ask_name()));
  rig->answer(rig->next("prompts/get"), R"({"messages":[]})");
  EXPECT_TRUE(prompt.good()) << prompt.message();
  Outcome<godwit::ReadResult> read;
  rig->session().read_resource("f:a", read.taker());
  rig->answer(rig->next(), input_required(ask_name()));
  rig->answer(rig->next("resources/read"), R"({"contents":[],"ttlMs":1000,"cacheScope":"public"})");
  EXPECT_TRUE(read.good()) << read.message();
  Outcome<godwit::ReadResult> again;  // what was answered for is never kept
  rig->session().read_resource("f:a", again.taker());
  rig->next("resources/read");
  Outcome<std::vector<godwit::Tool>> list;
  rig->session().list_tools(list.taker());
  rig->answer(rig->next(), input_required(ask_name()));
  EXPECT_TRUE(contains(list.message(), "may not")) << list.message();
  EXPECT_TRUE(rig->silent());
}

TEST(Inputs, TenRoundsAndNotOneMore) {
  const auto rig = Rig::stateless(helpful());
  Outcome<ToolResult> outcome;
  rig->session().call_tool("x", {}, outcome.taker());
  int requests = 0;
  while (!rig->silent() && requests < 50) {
    ++requests;
    rig->answer(rig->next(), input_required(ask_name(), '"' + std::to_string(requests) + '"'));
  }
  EXPECT_EQ(requests, 11);
  EXPECT_TRUE(contains(outcome.message(), "10 rounds")) << outcome.message();

  Outcome<ToolResult> fewer;
  rig->session().call_tool("x", {}, fewer.taker());
  for (int i = 0; i < 10; ++i) rig->answer(rig->next(), input_required(ask_name()));
  rig->answer(rig->next(), said);
  EXPECT_TRUE(fewer.good());
}

TEST(Inputs, OnlyAStateIsRetriedAfterAPause) {
  const auto rig = Rig::stateless();
  Outcome<ToolResult> outcome;
  rig->session().call_tool("x", {}, outcome.taker());
  for (int round = 0; round < 3; ++round) {
    rig->answer(rig->next("tools/call"), input_required("", R"("s)" + std::to_string(round) + '"'));
    EXPECT_TRUE(rig->silent());
    rig->pass(1s);
    ASSERT_FALSE(rig->silent());
    EXPECT_FALSE(outcome);
  }
  const Value last = rig->next("tools/call");
  EXPECT_EQ(last["params"]["requestState"].as_string(), "s2");
  EXPECT_FALSE(last["params"].contains("inputResponses"));
  rig->answer(last, said);
  EXPECT_TRUE(outcome.good());

  Outcome<ToolResult> cancelled, dead;
  const ClientCall call = rig->session().call_tool("x", {}, cancelled.taker());
  rig->answer(rig->next(), input_required("", R"("s")"));
  EXPECT_TRUE(rig->session().cancel(call));
  EXPECT_TRUE(cancelled && !cancelled.good());
  rig->pass(1s);
  EXPECT_TRUE(rig->silent());
  rig->session().call_tool("x", {}, dead.taker());
  rig->answer(rig->next(), input_required("", R"("s")"));
  rig->peer->on_close(godwit::error("gone"));
  EXPECT_TRUE(contains(dead.message(), "gone"));
}

TEST(Inputs, ParallelCallsAreNotMixed) {
  ClientOptions options = helpful();
  std::vector<InputReply<ElicitResult>> replies;
  options.elicit = [&](const ElicitRequest&, InputReply<ElicitResult> reply) {
    replies.push_back(std::move(reply));
  };
  const auto rig = Rig::stateless(options);
  Outcome<ToolResult> a, b, c;
  rig->session().call_tool("a", {}, a.taker());
  rig->session().call_tool("b", {}, b.taker());
  const Value first = rig->next(), second = rig->next();
  rig->answer(first, input_required(ask_name("ka"), R"("sa")"));
  rig->answer(second, input_required(ask_name("kb"), R"("sb")"));
  rig->session().call_tool("c", {}, c.taker());
  const Value third = rig->next();
  EXPECT_FALSE(third["params"].contains("requestState"));
  EXPECT_FALSE(third["params"].contains("inputResponses"));
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_TRUE(rig->silent());
  replies[1](ElicitResult{ElicitAction::accept, Object{{"name", "B"}}});
  rig->settle();
  const Value again_b = rig->next();
  EXPECT_EQ(again_b["params"]["name"].as_string(), "b");
  EXPECT_EQ(again_b["params"]["requestState"].as_string(), "sb");
  EXPECT_EQ(again_b["params"]["inputResponses"]["kb"]["content"]["name"].as_string(), "B");
  replies[0](ElicitResult{ElicitAction::decline, {}});
  rig->settle();
  const Value again_a = rig->next();
  EXPECT_EQ(again_a["params"]["requestState"].as_string(), "sa");
  EXPECT_EQ(again_a["params"]["inputResponses"].dump(), R"({"ka":{"action":"decline"}})");
  rig->answer(again_b, said);
  rig->answer(again_a, said);
  rig->answer(third, said);
  EXPECT_TRUE(a.good() && b.good() && c.good());
}

TEST(Inputs, WhatWasNotDeclaredOrCannotBeReadFailsTheCall) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"k":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}})",
       "sampling/createMessage"},
      {R"({"k":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"u"}}})",
       "elicitation.url"},
      {R"({"k":{"method":"elicitation/create","params":{"message":"m"}}})", "requestedSchema"},
      {R"({"k":{"method":"elicitation/create"}})", "expected an object"},
      {R"({"k":{"method":"elicitation/create","params":{"mode":"smell","message":"m"}}})", "mode"},
      {R"({"k":{"method":"roots/list"}})", "roots/list"},
      {R"({"k":{"method":"tools/list"}})", "tools/list"},
      {R"({"k":{"method":"notifications/message"}})", "notifications/message"},
      {R"({"k":7})", "\"k\""},
      {"[]", "cannot be read"},
      {"null", "cannot be read"},
      {R"({"k":{"method":"roots/list"},"k":{"method":"roots/list"}})", "cannot be read"}};
  ClientOptions options;
  int asked = 0;
  options.elicit = [&](const ElicitRequest&) -> Result<ElicitResult> {
    ++asked;
    return ElicitResult{};
  };
  const auto rig = Rig::stateless(options);
  for (const auto& [requests, part] : cases) {
    Outcome<ToolResult> outcome;
    rig->session().call_tool("x", {}, outcome.taker());
    rig->answer(rig->next(), input_required(requests, R"("s")"));
    EXPECT_TRUE(contains(outcome.message(), part)) << requests << ": " << outcome.message();
    EXPECT_TRUE(rig->silent()) << requests;
  }
  for (const char* state : {"7", "null", "{}"}) {
    Outcome<ToolResult> outcome;
    rig->session().call_tool("x", {}, outcome.taker());
    rig->answer(rig->next(), input_required("", state));
    EXPECT_TRUE(contains(outcome.message(), "cannot be read")) << outcome.message();
  }
  Outcome<ToolResult> nothing;
  rig->session().call_tool("x", {}, nothing.taker());
  rig->answer(rig->next(), input_required(""));
  EXPECT_TRUE(contains(nothing.message(), "cannot be read"));
  EXPECT_EQ(asked, 0);  // nobody is bothered with half of a round
}

TEST(Inputs, AnErrorOfTheProgramEndsTheCall) {
  ClientOptions options = helpful();
  options.sample = [](const SamplingRequest&) -> Result<SamplingResult> {
    return godwit::Error{.code = -1, .message = "the user said no"};
  };
  const auto rig = Rig::stateless(options);
  Outcome<ToolResult> outcome;
  rig->session().call_tool("x", {}, outcome.taker());
  rig->answer(rig->next(), input_required(R"({"k":{"method":"sampling/createMessage","params":)" +
                                          std::string(sampling) + "}}"));
  EXPECT_EQ(outcome.message(), "the user said no");
  EXPECT_TRUE(rig->silent());
}

TEST(Inputs, ADroppedOrThrownAnswerEndsTheCall) {
  ClientOptions dropping = helpful();
  dropping.elicit = [](const ElicitRequest&, InputReply<ElicitResult>) {};
  ClientOptions throwing = helpful();
  throwing.elicit = [](const ElicitRequest&) -> Result<ElicitResult> {
    throw std::runtime_error("oops");
  };
  for (const ClientOptions& options : {dropping, throwing}) {
    const auto rig = Rig::stateless(options);
    Outcome<ToolResult> outcome;
    rig->session().call_tool("x", {}, outcome.taker());
    rig->answer(rig->next(), input_required(ask_name()));
    rig->settle();
    EXPECT_TRUE(contains(outcome.message(), "dropped")) << outcome.message();
    const auto old = Rig::stateful(options);
    old->ask("\"s1\"", "elicitation/create", name_form);
    old->settle();
    EXPECT_EQ(old->next()["error"]["code"].as_int64(), -32603);
  }
}

TEST(Inputs, TimeThatPeopleTakeDoesNotCount) {
  ClientOptions options = helpful();
  std::optional<InputReply<ElicitResult>> reply;
  options.elicit = [&](const ElicitRequest&, InputReply<ElicitResult> r) { reply = std::move(r); };
  const auto rig = Rig::stateless(options);
  Outcome<ToolResult> outcome;
  rig->session().call_tool("x", {}, outcome.taker(), {.timeout = 10s, .max_total = 12s});
  rig->pass(9s);
  rig->answer(rig->next(), input_required(ask_name()));
  rig->pass(1h);
  EXPECT_FALSE(outcome);
  EXPECT_FALSE(reply->cancelled().stop_requested());
  (*reply)(ElicitResult{ElicitAction::cancel, {}});
  rig->settle();
  rig->next("tools/call");
  rig->pass(2s);
  EXPECT_FALSE(outcome);
  rig->pass(1s);  // 12 s of the server's own
  EXPECT_TRUE(outcome && !outcome.good());
}

TEST(Inputs, AQuestionEndsWithItsCall) {
  ClientOptions options = helpful();
  std::optional<InputReply<ElicitResult>> reply;
  options.elicit = [&](const ElicitRequest&, InputReply<ElicitResult> r) { reply = std::move(r); };
  const auto rig = Rig::stateless(options);
  Outcome<ToolResult> cancelled, dead;
  const ClientCall call = rig->session().call_tool("x", {}, cancelled.taker());
  rig->answer(rig->next(), input_required(ask_name()));
  const std::stop_token stop = reply->cancelled();
  EXPECT_TRUE(rig->session().cancel(call));
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_TRUE(cancelled && !cancelled.good());
  EXPECT_TRUE(rig->silent());  // nothing is under way that could be cancelled
  (*reply)(ElicitResult{});
  rig->settle();
  EXPECT_TRUE(rig->silent());
  rig->session().call_tool("x", {}, dead.taker());
  rig->answer(rig->next(), input_required(ask_name()));
  rig->peer->on_close(godwit::error("gone"));
  EXPECT_TRUE(contains(dead.message(), "gone"));
  (*reply)(ElicitResult{});
}

TEST(Inputs, RequestsOfTheStatefulEra) {
  ClientOptions options = helpful();
  options.elicit_urls = true;
  const auto rig = Rig::stateful(options);
  rig->ask("\"s1\"", "elicitation/create", name_form);
  const Value form = rig->next();
  EXPECT_EQ(form["id"].as_string(), "s1");
  EXPECT_EQ(form["result"].dump(), R"({"action":"accept","content":{"name":"Ada","age":30}})");
  rig->ask("2", "elicitation/create",
           R"({"mode":"url","message":"m","url":"https://x","elicitationId":"e"})");
  EXPECT_EQ(rig->next()["result"].dump(), R"({"action":"accept"})");
  rig->ask("3", "sampling/createMessage", sampling);
  EXPECT_EQ(rig->next()["result"]["content"]["text"].as_string(), "A");
  rig->ask("4", "roots/list", "{}");
  EXPECT_EQ(rig->next()["result"].dump(), R"({"roots":[{"uri":"file:///w"}]})");
  rig->ask("5", "ping", "{}");
  EXPECT_EQ(rig->next()["result"].dump(), "{}");
  rig->ask("6", "tools/list", "{}");
  EXPECT_EQ(rig->next()["error"]["code"].as_int64(), -32601);
}

TEST(Inputs, UndeclaredModesAreInvalidParams) {
  const auto plain = Rig::stateful();
  plain->ask("1", "elicitation/create", name_form);
  EXPECT_EQ(plain->next()["error"]["code"].as_int64(), -32601);
  plain->ask("2", "sampling/createMessage", sampling);
  EXPECT_EQ(plain->next()["error"]["code"].as_int64(), -32601);
  plain->ask("3", "roots/list", "{}");
  EXPECT_EQ(plain->next()["error"]["code"].as_int64(), -32601);

  const auto forms = Rig::stateful(helpful());
  forms->ask("1", "elicitation/create",
             R"({"mode":"url","message":"m","url":"https://x","elicitationId":"e"})");
  EXPECT_EQ(forms->next()["error"]["code"].as_int64(), -32602);
  forms->ask("2", "sampling/createMessage",
             R"({"messages":[],"maxTokens":1,"tools":[{"name":"t","inputSchema":{}}]})");
  EXPECT_EQ(forms->next()["error"]["code"].as_int64(), -32602);
  forms->ask("3", "sampling/createMessage", R"({"messages":[]})");
  EXPECT_EQ(forms->next()["error"]["code"].as_int64(), -32602);

  ClientOptions options = helpful();
  options.elicit_forms = false;
  options.elicit_urls = true;
  const auto urls = Rig::stateful(options);
  urls->ask("1", "elicitation/create", name_form);
  EXPECT_EQ(urls->next()["error"]["code"].as_int64(), -32602);
}

TEST(Inputs, DefaultsAreFilledInOnlyIfWanted) {
  constexpr std::string_view form =
      R"({"message":"m","requestedSchema":{"type":"object","properties":{"s":{"type":"string",)"
      R"("default":"x"},"n":{"type":"integer","default":3},"b":{"type":"boolean","default":true},)"
      R"("e":{"type":"string","enum":["p","q"],"default":"q"},"m":{"type":"array","items":)"
      R"({"type":"string","enum":["1","2"]},"default":["1"]},"none":{"type":"string"}}}})";
  for (const bool apply : {true, false}) {
    ClientOptions options;
    options.apply_defaults = apply;
    options.elicit = [](const ElicitRequest&) -> Result<ElicitResult> {
      return ElicitResult{ElicitAction::accept, Object{{"n", 7}}};
    };
    const auto rig = Rig::stateful(options);
    rig->ask("1", "elicitation/create", form);
    const Value content = rig->next()["result"]["content"];
    EXPECT_EQ(content, *godwit::json::parse(apply ? R"({"n":7,"s":"x","b":true,"e":"q","m":["1"]})"
                                                  : R"({"n":7})"));
  }
}

TEST(Inputs, AnAnswerThatDoesNotFitIsSentAsCancelled) {
  ClientOptions options;
  options.elicit = [](const ElicitRequest&) -> Result<ElicitResult> {
    return ElicitResult{ElicitAction::accept, Object{{"name", 7}}};
  };
  const auto rig = Rig::stateful(options);
  rig->ask("1", "elicitation/create", name_form);
  EXPECT_EQ(rig->next()["result"].dump(), R"({"action":"cancel"})");
  EXPECT_TRUE(rig->logged("/name: type"));
  const auto stateless = Rig::stateless(options);
  Outcome<ToolResult> outcome;
  stateless->session().call_tool("x", {}, outcome.taker());
  stateless->answer(stateless->next(), input_required(ask_name()));
  EXPECT_EQ(stateless->next()["params"]["inputResponses"]["who"].dump(), R"({"action":"cancel"})");
}

TEST(Inputs, AnswersFromOtherThreadsAndCancellationByTheServer) {
  ClientOptions options;
  std::optional<InputReply<ElicitResult>> reply;
  options.elicit = [&](const ElicitRequest&, InputReply<ElicitResult> r) { reply = std::move(r); };
  const auto rig = Rig::stateful(options);
  rig->ask("1", "elicitation/create", name_form);
  EXPECT_TRUE(rig->silent());
  std::thread([&] { (*reply)(ElicitResult{ElicitAction::decline, {}}); }).join();
  EXPECT_TRUE(rig->silent());
  rig->settle();
  EXPECT_EQ(rig->next()["result"].dump(), R"({"action":"decline"})");
  rig->ask("2", "elicitation/create", name_form);
  const std::stop_token stop = reply->cancelled();
  rig->tell("notifications/cancelled", R"({"requestId":2})");
  EXPECT_TRUE(stop.stop_requested());
  (*reply)(ElicitResult{});
  rig->settle();
  EXPECT_TRUE(rig->silent());
}

TEST(Inputs, StatelessServersMustNotSendRequestsAndGetNoAnswer) {
  const auto rig = Rig::stateless(helpful());
  for (const char* method : {"ping", "roots/list", "elicitation/create", "nonsense"}) {
    rig->ask("1", method, "{}");
    rig->settle();
    EXPECT_TRUE(rig->silent()) << method;
  }
  EXPECT_EQ(rig->peer->in_flight(), 0u);
  EXPECT_TRUE(rig->logged("must not"));
  for (int i = 0; i < 100; ++i) rig->ask("1", "ping", "{}");
  EXPECT_LE(rig->log.size(), 10u);
}

TEST(Inputs, ASinkOfTheLogMayDestroyTheSession) {
  const auto rig = Rig::stateless(helpful());
  rig->on_log = [&] { rig->destroy_session(); };
  rig->ask("1", "ping", "{}");
  rig->settle();
  EXPECT_TRUE(rig->logged("must not"));
  EXPECT_EQ(rig->peer->in_flight(), 0u);
}

TEST(Inputs, Roots) {
  ClientOptions options;
  options.roots.emplace();
  const auto rig = Rig::stateful(options);
  EXPECT_TRUE(rig->session().set_roots({{.uri = "file:///a", .name = "a"}}));
  rig->next("notifications/roots/list_changed");
  rig->ask("1", "roots/list", "{}");
  EXPECT_EQ(rig->next()["result"].dump(), R"({"roots":[{"uri":"file:///a","name":"a"}]})");
  const auto stateless = Rig::stateless(options);
  EXPECT_TRUE(stateless->session().set_roots({{.uri = "file:///a"}}));
  EXPECT_TRUE(stateless->silent());
  const auto none = Rig::stateful();
  EXPECT_FALSE(none->session().set_roots({}));
  ClientOptions function;
  function.list_roots = []() -> Result<std::vector<Root>> { return godwit::error("not now"); };
  const auto failing = Rig::stateful(function);
  failing->ask("1", "roots/list", "{}");
  EXPECT_EQ(failing->next()["error"]["message"].as_string(), "not now");
}

TEST(Inputs, AFunctionMayEndEverything) {
  for (const bool session : {true, false}) {
    std::unique_ptr<Rig> rig;
    int asked = 0;
    ClientOptions options;
    options.elicit = [&](const ElicitRequest&) -> Result<ElicitResult> {
      ++asked;
      if (session) {
        rig->check_schema = false;
        rig->destroy_session();
      } else {
        rig->peer->on_close(godwit::error("gone"));
      }
      return ElicitResult{};
    };
    rig = Rig::stateless(options);
    Outcome<ToolResult> outcome;
    rig->session().call_tool("x", {}, outcome.taker());
    const std::string one =
        R"({"method":"elicitation/create","params":)" + std::string(name_form) + "}";
    rig->answer(rig->next(), input_required(R"({"a":)" + one + R"(,"b":)" + one + "}"));
    EXPECT_TRUE(outcome && !outcome.good());
    EXPECT_EQ(asked, 1);
  }
}
