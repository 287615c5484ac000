// What can happen while a stateful client is being asked: it refuses, it takes its request back, it
// goes away, it takes its time. And what a replay keeps to itself, in both eras.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::accept;
using test::code_of;
using test::equals;
using test::has;
using test::is_error_result;
using test::Link;
using test::text_of;

struct Name {
  std::string name{};
};

struct Fixture {
  explicit Fixture(ServerOptions options = test::server_options()) : server(std::move(options)) {
    server.tool("ask", "", [this](Context& cx) -> Result<std::string> {
      ++runs;
      auto answer = cx.elicit<Name>("who", "Who?");
      if (!answer) return answer.error();
      return "hi " + (answer->accepted() ? answer->value().name : std::string("nobody"));
    });
    server.prompt("ask", "", [](Context& cx) -> Result<std::string> {
      auto answer = cx.elicit<Name>("who", "Who?");
      if (!answer) return answer.error();
      return "hi";
    });
    server.tool("both", "", [this](Context& cx) -> Result<std::string> {
      ++runs;
      auto all = cx.ask_all(ask_form<Name>("a", "A?"), ask_form<Name>("b", "B?"));
      if (!all) return all.error();
      return std::get<0>(*all).value().name + std::get<1>(*all).value().name;
    });
  }
  Link connect(std::string_view revision = test::legacy_revision) {
    return Link(server, revision, {.capabilities = std::string(test::can_all)});
  }
  Server server;
  int runs = 0;
};

TEST(AskStateful, AnswersAreBoundedAsTheStateIs) {
  ServerOptions options = test::server_options();
  options.state_bytes = 1'000;
  Fixture f(std::move(options));
  Link link = f.connect();
  const auto both = [&](std::size_t bytes) {
    const std::string answer = accept(R"({"name":")" + std::string(bytes, 'n') + R"("})");
    return link.converse("tools/call", Link::tool_params("both"),
                         [&](std::string_view, const json::Value&) { return answer; });
  };
  EXPECT_EQ(text_of(both(400)), std::string(800, 'n'));
  const json::Value refused = both(600);
  EXPECT_TRUE(is_error_result(refused)) << refused.dump();
  EXPECT_TRUE(has(text_of(refused), "the answers have more than 1000 bytes together"));
}

TEST(AskStateful, ALateRequestRunsAgainWithAllOfItsParams) {
  Fixture f;
  f.server.tool("greet", "", [](Name in, Context& cx) -> Result<std::string> {
    auto answer = cx.elicit<Name>("who", "Who?");
    if (!answer) return answer.error();
    cx.progress(1, 2);
    return in.name + " " + answer->value().name;
  });
  f.server.resource_template("x:{name}", "t", [](Name in, Context& cx) -> Result<std::string> {
    auto answer = cx.elicit<Name>("who", "Who?");
    if (!answer) return answer.error();
    return in.name + " " + answer->value().name;
  });
  Link link = f.connect();
  const auto ada = [](std::string_view, const json::Value&) { return accept(R"({"name":"Ada"})"); };
  EXPECT_EQ(text_of(link.converse("tools/call",
                                  Link::tool_params("greet", R"({"name":"hello"})",
                                                    R"(,"_meta":{"progressToken":"p"})"),
                                  ada)),
            "hello Ada");
  ASSERT_EQ(link.notes("notifications/progress").size(), 1u);
  EXPECT_EQ(link.notes("notifications/progress")[0]["params"]["progressToken"], "p");
  const json::Value read = link.converse("resources/read", R"({"uri":"x:bye"})", ada);
  EXPECT_EQ(read["result"]["contents"][0]["text"], "bye Ada") << read.dump();
  EXPECT_EQ(read["result"]["contents"][0]["uri"], "x:bye");
}

TEST(AskStateful, QuestionsAreWorkedOffWhileOthersAreServed) {
  Fixture f;
  Link link = f.connect();
  const std::string one = link.request("tools/call", Link::tool_params("ask"));
  const std::string two = link.request("tools/call", Link::tool_params("ask"));
  EXPECT_TRUE(equals(link.ask("ping")["result"], "{}"));
  const json::Value first = link.take_question(), second = link.take_question();
  EXPECT_NE(first["id"], second["id"]);
  link.reply(second, accept(R"({"name":"Bob"})"));
  EXPECT_EQ(text_of(link.take_answer(two)), "hi Bob");
  EXPECT_FALSE(link.has_answer(one));
  link.reply(first, accept(R"({"name":"Ada"})"));
  EXPECT_EQ(text_of(link.take_answer(one)), "hi Ada");
}

TEST(AskStateful, SeveralAtOnceAreAnsweredInAnyOrder) {
  Fixture f;
  Link link = f.connect();
  const std::string id = link.request("tools/call", Link::tool_params("both"));
  const json::Value a = link.take_question(), b = link.take_question();
  link.reply(b, accept(R"({"name":"y"})"));
  EXPECT_FALSE(link.has_answer(id));
  link.reply(a, accept(R"({"name":"x"})"));
  EXPECT_EQ(text_of(link.take_answer(id)), "xy");
  EXPECT_EQ(f.runs, 2);
}

TEST(AskStateful, AClientThatFailsToAnswerFailsTheTool) {
  Fixture f;
  Link link = f.connect();
  const std::string id = link.request("tools/call", Link::tool_params("ask"));
  link.refuse(link.take_question(), -1, "User rejected it");
  const json::Value answer = link.take_answer(id);
  EXPECT_TRUE(is_error_result(answer));
  EXPECT_TRUE(has(text_of(answer), "User rejected it"));
  EXPECT_EQ(f.runs, 2);
  EXPECT_TRUE(link.questions.empty());
}

TEST(AskStateful, AnAnswerThatIsNoObjectNeverSucceeds) {
  Fixture f;
  Link link = f.connect();
  for (const char* wrong : {"5", "null", "[]", R"("accept")", "true"}) {
    const std::string id = link.request("tools/call", Link::tool_params("ask"));
    link.reply(link.take_question(), wrong);
    ASSERT_TRUE(link.wait([&] { return link.has_answer(id) || !link.questions.empty(); })) << wrong;
    if (link.has_answer(id)) {
      EXPECT_TRUE(is_error_result(link.take_answer(id))) << wrong;
    } else {
      link.reply(link.take_question(), accept(R"({"name":"Ada"})"));
      EXPECT_EQ(text_of(link.take_answer(id)), "hi Ada") << wrong;
    }
  }
}

TEST(AskStateful, WhenTheClientTakesItsRequestBackSoDoesTheServer) {
  Fixture f;
  Link link = f.connect();
  const std::string id = link.request("tools/call", Link::tool_params("both"));
  const json::Value a = link.take_question(), b = link.take_question();
  link.forget();
  link.cancel(id);
  EXPECT_EQ(link.peer->pending(), 0u);
  EXPECT_EQ(link.peer->in_flight(), 0u);
  // The client has two dialogs open that nobody waits for.
  const auto told = link.notes("notifications/cancelled");
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0]["params"]["requestId"], a["id"]);
  EXPECT_EQ(told[1]["params"]["requestId"], b["id"]);
}

TEST(AskStateful, AnswersToATakenBackRequestAreDropped) {
  Fixture f;
  Link link = f.connect();
  const std::string id = link.request("tools/call", Link::tool_params("ask"));
  const json::Value question = link.take_question();
  link.cancel(id);
  link.reply(question, accept(R"({"name":"Ada"})"));
  EXPECT_FALSE(link.has_answer(id));
  EXPECT_EQ(f.runs, 1);
  // Between the answer and the next run.
  const std::string other = link.request("tools/call", Link::tool_params("ask"));
  const json::Value late = link.take_question();
  link.peer->receive(R"({"jsonrpc":"2.0","id":)" + late["id"].dump() + R"(,"result":)" +
                     accept(R"({"name":"x"})") + "}");
  link.cancel(other);
  EXPECT_EQ(link.peer->in_flight(), 0u);
}

TEST(AskStateful, TheConnectionGoesAway) {
  Fixture f;
  {
    Link link = f.connect();
    link.request("tools/call", Link::tool_params("ask"));
    link.take_question();
    link.forget();
    link.peer->close();
    link.peer->process();
    EXPECT_TRUE(link.sent.empty());
  }
  {
    Link link = f.connect();
    link.request("tools/call", Link::tool_params("both"));
    link.take_question();
  }
  {
    Link link = f.connect();
    const std::string id = link.request("tools/call", Link::tool_params("ask"));
    link.take_question();
    link.peer->end_of_input(Error{.code = rpc::code::connection_closed, .message = "eof"});
    link.peer->process();
    EXPECT_EQ(link.peer->in_flight(), 0u) << "a request waits for a client that is gone";
    // It may still read: it is told why, and not of a mistake of ours.
    const json::Value answer = link.take_answer(id);
    EXPECT_TRUE(is_error_result(answer)) << answer.dump();
    EXPECT_EQ(text_of(answer), "the connection ended before the client answered");
  }
  {
    Link link = f.connect();
    const std::string id = link.request("prompts/get", R"({"name":"ask"})");
    link.take_question();
    link.peer->end_of_input(Error{.code = rpc::code::connection_closed, .message = "eof"});
    link.peer->process();
    const json::Value answer = link.take_answer(id);
    EXPECT_EQ(code_of(answer), -32602) << answer.dump();
    EXPECT_FALSE(link.logged("dropped"));
  }
  EXPECT_EQ(f.server.sessions(), 0u);
}

TEST(AskStateful, APersonThatTakesTooLong) {
  ServerOptions options = test::server_options();
  options.ask_timeout = 60s;
  Fixture f(std::move(options));
  Link link = f.connect();
  const std::string id = link.request("tools/call", Link::tool_params("ask"));
  const json::Value question = link.take_question();
  link.pass(59s);
  EXPECT_FALSE(link.has_answer(id));
  link.pass(2s);
  const json::Value answer = link.take_answer(id);
  EXPECT_TRUE(is_error_result(answer)) << answer.dump();
  const auto told = link.notes("notifications/cancelled");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0]["params"]["requestId"], question["id"]);
}

TEST(AskStateful, WaitingForAnAnswerIsNotTheHandlersTime) {
  Server server(test::server_options());
  std::optional<Reply<std::string>> kept;
  server.tool("slow", "", [&](Reply<std::string> reply) { kept.emplace(std::move(reply)); },
              {.timeout = 10s});
  Link link(server, test::legacy_revision, {.capabilities = std::string(test::can_all)});
  const auto ask = [&] {
    auto answer = kept->context().elicit<Name>("who", "Who?");
    Reply<std::string> reply = std::move(*kept);
    kept.reset();
    if (!answer) return reply(answer.error());
    reply(answer->value().name);
  };
  // 6 s of work, five minutes of waiting, 3 s of work: in time.
  std::string id = link.request("tools/call", Link::tool_params("slow"));
  link.pass(6s);
  ask();
  json::Value question = link.take_question();
  link.pass(300s);
  EXPECT_FALSE(link.has_answer(id));
  link.reply(question, accept(R"({"name":"Ada"})"));
  ASSERT_TRUE(kept);
  link.pass(3s);
  ask();
  EXPECT_EQ(text_of(link.take_answer(id)), "Ada");
  // 6 s and 5 s: too long together.
  id = link.request("tools/call", Link::tool_params("slow"));
  link.pass(6s);
  ask();
  question = link.take_question();
  link.pass(300s);
  link.reply(question, accept(R"({"name":"Ada"})"));
  ASSERT_TRUE(kept);
  link.pass(5s);
  EXPECT_TRUE(is_error_result(link.take_answer(id)));
  kept.reset();
}

TEST(AskStateful, OlderRevisionsAskInTheirOwnWords) {
  Fixture f;
  f.server.tool("sample", "", [](Context& cx) -> Result<std::string> {
    auto answer = cx.sample("s", ask_model("x", 5));
    if (!answer) return answer.error();
    return std::get<TextContent>(answer->content).text;
  });
  f.server.tool("roots", "", [](Context& cx) -> Result<std::string> {
    auto answer = cx.roots("r");
    if (!answer) return answer.error();
    return answer->at(0).uri;
  });
  f.server.tool("url", "", [](Context& cx) -> Result<std::string> {
    auto answer = cx.elicit_url("u", "x", "https://x.y");
    if (!answer) return answer.error();
    return "opened";
  });
  for (const std::string_view revision : {"2024-11-05", "2025-03-26", "2025-06-18"}) {
    Link link = f.connect(revision);
    std::string id = link.request("tools/call", Link::tool_params("sample"));
    link.reply(link.take_question(),
               R"({"role":"assistant","content":{"type":"text","text":"t"},"model":"m"})");
    EXPECT_EQ(text_of(link.take_answer(id)), "t");
    id = link.request("tools/call", Link::tool_params("roots"));
    link.reply(link.take_question(), R"({"roots":[{"uri":"file:///w"}]})");
    EXPECT_EQ(text_of(link.take_answer(id)), "file:///w");
    EXPECT_TRUE(is_error_result(link.tool("url")));  // not before 2025-11-25
    id = link.request("tools/call", Link::tool_params("ask"));
    if (revision < "2025-06-18") {
      EXPECT_TRUE(is_error_result(link.take_answer(id)));
      continue;
    }
    const json::Value question = link.take_question();
    EXPECT_FALSE(question["params"].contains("mode")) << question.dump();
    link.reply(question, accept(R"({"name":"Ada"})"));
    EXPECT_EQ(text_of(link.take_answer(id)), "hi Ada");
  }
}

class ReplayTells : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Eras, ReplayTells, testing::Values("2025-11-25", "2026-07-28"));

TEST_P(ReplayTells, OnlyWhatIsNew) {
  Server server(test::server_options());
  server.tool("steps", "", [](Context& cx) -> Result<std::string> {
    cx.progress(1, 4);
    cx.log(LoggingLevel::error, "one");
    auto a = cx.elicit<Name>("a", "A?");
    if (!a) return a.error();
    cx.progress(2, 4);
    cx.log(LoggingLevel::error, "two");
    auto b = cx.elicit<Name>("b", "B?");
    if (!b) return b.error();
    cx.progress(3, 4);
    cx.log(LoggingLevel::error, "three");
    return "done";
  });
  Link link(server, GetParam(), {.capabilities = std::string(test::can_all), .log_level = "debug"});
  const json::Value answer = link.converse(
      "tools/call", Link::tool_params("steps", "{}", R"(,"_meta":{"progressToken":"p"})"),
      [](std::string_view, const json::Value&) { return accept(R"({"name":"x"})"); });
  EXPECT_EQ(text_of(answer), "done");
  std::string told;
  for (const json::Value& note : link.notes("notifications/progress")) {
    told += std::to_string(note["params"]["progress"].get<int>());
  }
  for (const json::Value& note : link.notes("notifications/message")) {
    told += " " + note["params"]["data"].get<std::string>();
  }
  EXPECT_EQ(told, "123 one two three");
}

TEST(AskStateless, AnAnswerNobodyAskedForDoesNotSilenceTheHandler) {
  Server server(test::server_options());
  server.tool("plain", "", [](Context& cx) {
    cx.progress(1);
    return "done";
  });
  Link link(server, test::modern_revision, {.capabilities = std::string(test::can_all)});
  link.tool("plain", "{}",
            R"(,"_meta":{"progressToken":"p"},"inputResponses":{"unknown":{"action":"accept"}})");
  EXPECT_EQ(link.notes("notifications/progress").size(), 1u);
}

}  // namespace
}  // namespace godwit::inline v0
