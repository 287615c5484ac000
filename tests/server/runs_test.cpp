// A call whose handler waits for an answer of a stateful client moves to another server: it is
// saved, everything that served it goes, and the answer comes to a server that has never seen the
// request.
#include "server/runs.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "godwit/mcp/memory_ledger.hpp"
#include "mcp_station.hpp"
#include "server/session.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::accept;
using test::code_of;
using test::error_text;
using test::has;
using test::is_error_result;
using test::Link;
using test::text_of;

struct Name {
  std::string name{};
};

/// Servers of one program, which share a ledger.
struct Program {
  explicit Program(Executor* given = nullptr) : executor(given) {}

  std::unique_ptr<Server> make() {
    ServerOptions options = test::server_options();
    options.ledger = ledger;
    options.executor = executor;
    auto server = std::make_unique<Server>(std::move(options));
    server->tool("greet", "", [this](Name in, Context& cx) { return greet(in, cx); });
    server->tool("timed", "", [this](Name in, Context& cx) { return greet(in, cx); },
                 {.timeout = 2s});
    server->resource_template("x:{name}", "t",
                              [this](Name in, Context& cx) { return greet(in, cx); });
    if (executor) {
      server->tool("blocking", "",
                   blocking([this](Name in, Context& cx) { return greet(in, cx); }));
    }
    server->tool("both", "", [this](Context& cx) -> Result<std::string> {
      ++runs;
      auto all = cx.ask_all(ask_form<Name>("a", "A?"), ask_form<Name>("b", "B?"));
      if (!all) return all.error();
      return std::get<0>(*all).value().name + std::get<1>(*all).value().name;
    });
    server->tool("explicit", "",
                 [](Context& cx) -> Result<std::variant<std::string, InputRequired>> {
                   if (cx.state().empty()) {
                     return InputRequired().state("my state").form<Name>("who", "Who?");
                   }
                   return std::string(cx.state()) + (*cx.answer("who"))["content"]["name"].dump();
                 });
    return server;
  }

  Result<std::string> greet(const Name& in, Context& cx) {
    ++runs;
    cx.progress(0.5);
    auto number = cx.once("number", [&] { return ++effects; });
    if (!number) return number.error();
    auto answer = cx.elicit<Name>("who", "Who?");
    if (!answer) return answer.error();
    cx.progress(0.4);  // it rises, always
    cx.progress(1);
    const std::string subject = cx.identity() ? cx.identity()->subject : "nobody";
    return in.name + " " + answer->value().name + " " + std::to_string(*number) + " " + subject;
  }

  Executor* executor = nullptr;
  std::shared_ptr<Ledger> ledger = std::make_shared<MemoryLedger>();
  std::atomic<int> runs = 0, effects = 0;
};

detail::server::Session& session_of(Link& link) {
  return static_cast<detail::server::Session&>(Service::session_of(*link.peer));
}

std::string save(Link& link) {
  std::string text;
  json::Writer writer(text);
  session_of(link).save_runs(writer);
  return text;
}

Result<void> restore(Link& link, const std::string& saved) {
  json::Document document;
  link.check_schema = false;  // which does not know what was asked elsewhere
  return session_of(link).restore_runs(*document.parse(saved));
}

struct Connection : Link {
  explicit Connection(const Server& server, const std::string& name = {})
      : Link(server, test::legacy_revision,
             {.capabilities = std::string(test::can_all),
              .facts = {.identity = test::known_as(name)}}) {}
};

/// A request that waits on a server which is gone.
struct Moved {
  Moved(Program& program, std::string_view method, std::string_view params,
        const std::string& name = {}) {
    const auto server = program.make();
    Connection link(*server, name);
    id = link.request(method, params);
    question = link.take_question();
    saved = save(link);
  }
  std::string id, saved;
  json::Value question;
};

std::string greet_params(std::string_view tool) {
  return Link::tool_params(tool, R"({"name":"hello"})", R"(,"_meta":{"progressToken":"p"})");
}

TEST(Runs, AnAnswerReachesTheHandlerOnAnotherServer) {
  Program program;
  const Moved moved(program, "tools/call", greet_params("greet"), "ada");
  EXPECT_EQ(program.runs, 1);
  EXPECT_EQ(program.effects, 1);
  const auto server = program.make();
  Connection link(*server);
  ASSERT_TRUE(restore(link, moved.saved)) << moved.saved;
  EXPECT_EQ(program.runs, 1) << "it waits";
  EXPECT_TRUE(link.questions.empty()) << "the person is not asked again";
  EXPECT_EQ(link.peer->in_flight(), 1u);
  EXPECT_EQ(link.peer->pending(), 1u);
  link.reply(moved.question, accept(R"({"name":"Ada"})"));
  EXPECT_EQ(text_of(link.take_answer(moved.id)), "hello Ada 1 ada");
  EXPECT_EQ(program.runs, 2);
  EXPECT_EQ(program.effects, 1) << "what was done there is not done again";
  const auto progress = link.notes("notifications/progress");
  ASSERT_EQ(progress.size(), 1u) << "0.5 was told there";
  EXPECT_EQ(progress[0]["params"]["progress"], 1);
  EXPECT_EQ(link.peer->in_flight(), 0u);
  EXPECT_EQ(link.peer->pending(), 0u);
}

TEST(Runs, ItMayMoveMoreThanOnce) {
  Program program;
  Moved moved(program, "resources/read", R"({"uri":"x:hello"})");
  for (int i = 0; i < 3; ++i) {
    const auto server = program.make();
    Connection link(*server);
    ASSERT_TRUE(restore(link, moved.saved));
    moved.saved = save(link);
  }
  const auto server = program.make();
  Connection link(*server);
  ASSERT_TRUE(restore(link, moved.saved));
  link.reply(moved.question, accept(R"({"name":"Ada"})"));
  const json::Value answer = link.take_answer(moved.id);
  EXPECT_EQ(answer["result"]["contents"][0]["text"], "hello Ada 1 nobody") << answer.dump();
  EXPECT_EQ(program.runs, 2);
}

TEST(Runs, ABlockingHandlerMovesToo) {
  ThreadPool pool(1);
  Program program(&pool);
  const Moved moved(program, "tools/call", greet_params("blocking"));
  const auto server = program.make();
  Connection link(*server);
  ASSERT_TRUE(restore(link, moved.saved));
  link.reply(moved.question, accept(R"({"name":"Ada"})"));
  EXPECT_EQ(text_of(link.take_answer(moved.id)), "hello Ada 1 nobody");
}

TEST(Runs, OfTwoQuestionsOneMayHaveItsAnswerAlready) {
  Program program;
  std::string id, saved;
  json::Value second;
  {
    const auto server = program.make();
    Connection link(*server);
    id = link.request("tools/call", Link::tool_params("both"));
    const json::Value first = link.take_question();
    second = link.take_question();
    const std::uint64_t before = session_of(link).runs().changes();
    link.reply(first, accept(R"({"name":"x"})"));
    EXPECT_GT(session_of(link).runs().changes(), before);
    saved = save(link);
  }
  const auto server = program.make();
  Connection link(*server);
  ASSERT_TRUE(restore(link, saved));
  EXPECT_EQ(link.peer->pending(), 1u);
  link.reply(second, accept(R"({"name":"y"})"));
  EXPECT_EQ(text_of(link.take_answer(id)), "xy");
  EXPECT_EQ(program.runs, 2);
}

TEST(Runs, AHandlerWithItsOwnStateFindsIt) {
  Program program;
  const Moved moved(program, "tools/call", Link::tool_params("explicit"));
  const auto server = program.make();
  Connection link(*server);
  ASSERT_TRUE(restore(link, moved.saved));
  link.reply(moved.question, accept(R"({"name":5})"));
  const json::Value again = link.take_question();  // it did not fit
  EXPECT_NE(again["id"], moved.question["id"]);
  link.reply(again, accept(R"({"name":"Ada"})"));
  EXPECT_EQ(text_of(link.take_answer(moved.id)), R"(my state"Ada")");
}

TEST(Runs, NewQuestionsHaveNewIds) {
  Program program;
  const Moved moved(program, "tools/call", greet_params("greet"));
  const auto server = program.make();
  Connection link(*server);
  ASSERT_TRUE(restore(link, moved.saved));
  link.raw("100", "tools/call", test::parse(greet_params("greet")));
  EXPECT_NE(link.take_question()["id"], moved.question["id"]);
  // Also where nothing waits any more.
  const auto other = program.make();
  Connection last(*other);
  json::Value value = test::parse(moved.saved);
  value["waiting"] = json::Array{};
  ASSERT_TRUE(restore(last, value.dump()));
  last.request("tools/call", greet_params("greet"));
  EXPECT_NE(last.take_question()["id"], moved.question["id"]);
}

TEST(Runs, ARefusalAndATimeoutReachTheHandler) {
  Program program;
  const Moved moved(program, "tools/call", greet_params("greet"));
  for (const bool refused : {true, false}) {
    const auto server = program.make();
    Connection link(*server);
    ASSERT_TRUE(restore(link, moved.saved));
    if (refused) {
      link.refuse(moved.question, -1, "User rejected it");
    } else {
      link.pass(10min);
      EXPECT_EQ(link.notes("notifications/cancelled").size(), 1u);
    }
    const json::Value answer = link.take_answer(moved.id);
    EXPECT_TRUE(is_error_result(answer)) << answer.dump();
    EXPECT_TRUE(has(text_of(answer), refused ? "User rejected it" : "no answer"));
  }
}

TEST(Runs, ItCanBeTakenBackThere) {
  Program program;
  const Moved moved(program, "tools/call", greet_params("greet"));
  const auto server = program.make();
  Connection link(*server);
  ASSERT_TRUE(restore(link, moved.saved));
  link.forget();
  link.cancel(moved.id);
  EXPECT_EQ(link.peer->in_flight(), 0u);
  EXPECT_EQ(link.peer->pending(), 0u);
  EXPECT_EQ(link.notes("notifications/cancelled").size(), 1u);
  EXPECT_FALSE(link.has_answer(moved.id));
  EXPECT_EQ(program.runs, 1);
  EXPECT_EQ(test::parse(save(link))["waiting"].as_array()->size(), 0u);
}

TEST(Runs, TheTimeOfTheHandlerGoesWithIt) {
  Program program;
  std::string id, saved;
  json::Value question;
  {
    const auto server = program.make();
    server->tool("timed", "", [](Name, Reply<std::string> reply) {
      auto answer = reply.context().elicit<Name>("who", "Who?");
      reply(answer.error());
    });
    Connection link(*server);
    id = link.request("tools/call", greet_params("timed"));
    question = link.take_question();
    saved = save(link);
  }
  json::Value value = test::parse(saved);
  value["waiting"][0]["used_ms"] = 1'500;
  // On the new server the handler takes a second more.
  const auto server = program.make();
  std::optional<Reply<std::string>> waiting;
  server->tool("timed", "", [&](Name, Reply<std::string> reply) { waiting = std::move(reply); },
               {.timeout = 2s});
  Connection link(*server);
  ASSERT_TRUE(restore(link, value.dump()));
  link.pass(1min);  // a person thinks
  link.reply(question, accept(R"({"name":"Ada"})"));
  ASSERT_TRUE(waiting);
  EXPECT_FALSE(link.has_answer(id));
  link.pass(500ms);
  EXPECT_TRUE(has(text_of(link.take_answer(id)), "longer than 2000 ms"));
}

TEST(Runs, WhatIsNotOfferedThereIsAnsweredAtOnce) {
  Program program;
  const Moved moved(program, "tools/call", greet_params("greet"));
  const auto server = program.make();
  server->remove_tool("greet");
  Connection link(*server);
  ASSERT_TRUE(restore(link, moved.saved));
  const json::Value answer = link.take_answer(moved.id);
  EXPECT_EQ(code_of(answer), -32602) << answer.dump();
  link.reply(moved.question, accept(R"({"name":"Ada"})"));  // nobody waits for it
  EXPECT_EQ(link.peer->pending(), 0u);
  // The id is free again, and nothing of the old call sticks to it.
  server->tool("greet", "", [&](Name in, Context& cx) { return program.greet(in, cx); });
  link.raw(moved.id, "tools/call", test::parse(greet_params("greet")));
  EXPECT_EQ(link.take_question()["params"]["message"], "Who?");
}

TEST(Runs, GarbageIsRefusedAndNothingHasChanged) {
  Program program;
  const Moved moved(program, "tools/call", greet_params("greet"));
  const auto server = program.make();
  Connection link(*server);
  std::vector<std::string> wrong = {"5", "{}", R"({"calls":1})", R"({"calls":-1,"waiting":[]})",
                                    R"({"calls":1,"waiting":[{}]})"};
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"id", "null"},
           {"id", "{}"},
           {"asks", "{}"},
           {"asks", "5"},
           {"questions", R"([{"key":"other","id":1,"method":"elicitation/create"}])"}}) {
    json::Value one = test::parse(moved.saved);
    one["waiting"][0][key] = test::parse(value);
    wrong.push_back(one.dump());
  }
  for (const std::string& text : wrong) EXPECT_FALSE(restore(link, text)) << text;
  EXPECT_EQ(link.peer->in_flight(), 0u);
  EXPECT_EQ(link.peer->pending(), 0u);
  link.forget();
  EXPECT_EQ(program.runs, 1);
  // Ids that cannot be: the call fails, and nothing else.
  for (const char* id : {"0", "-1"}) {
    json::Value one = test::parse(moved.saved);
    one["waiting"][0]["questions"][0]["id"] = test::parse(id);
    Connection other(*server);
    ASSERT_TRUE(restore(other, one.dump()));
    EXPECT_TRUE(is_error_result(other.take_answer(moved.id))) << id;
  }
}

TEST(Runs, ASessionCanGoWhileItIsRestored) {
  Program program;
  const Moved moved(program, "tools/call", greet_params("greet"));
  const auto server = program.make();
  server->remove_tool("greet");
  Connection link(*server);
  json::Value two = test::parse(moved.saved);
  two["waiting"].as_array()->push_back(two["waiting"][0]);
  two["waiting"][1]["id"] = "other";
  link.on_next = [&] { link.peer->close(); };  // with the first answer
  EXPECT_TRUE(restore(link, two.dump()));
  EXPECT_TRUE(link.peer->closed());
}

TEST(Runs, MiddlewareMayHoldItThere) {
  Program program;
  const Moved moved(program, "tools/call", greet_params("greet"));
  const auto server = program.make();
  std::optional<rpc::Decision> held;
  server->use(rpc::Middleware{.before = [&](rpc::IncomingCall& call) -> rpc::Verdict {
    if (call.name() == "greet") held = call.decide_later();
    return {};
  }});
  Connection link(*server);
  ASSERT_TRUE(restore(link, moved.saved));
  ASSERT_TRUE(held);
  (*held)({});
  link.peer->process();
  EXPECT_EQ(program.runs, 1);
  link.reply(moved.question, accept(R"({"name":"Ada"})"));
  EXPECT_EQ(text_of(link.take_answer(moved.id)), "hello Ada 1 nobody");
}

/// Writes down which way each message takes.
class Ways final : public rpc::Output {
 public:
  std::string& output() override { return buffer_; }
  void finish(const rpc::Outbound& message) override {
    const std::string kind = message.is_answer() ? "answer " + std::string(message.answers)
                                                 : std::string(message.method);
    log.push_back(std::to_string(message.route) + ": " + kind);
    last = buffer_.substr(message.begin);
    buffer_.resize(message.begin);
  }
  void flush() override {}
  std::vector<std::string> log;
  std::string last;

 private:
  std::string buffer_;
};

TEST(Runs, TheAnswerTakesTheWayOfTheRequest) {
  Program program;
  const auto begin = [](rpc::Peer& peer) {
    peer.receive(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":)"
                 R"("2025-11-25","capabilities":{"elicitation":{}},)"
                 R"("clientInfo":{"name":"c","version":"1"}}})");
    peer.receive(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  };
  std::string saved;
  json::Value question;
  {
    const auto server = program.make();
    Ways ways;
    rpc::Peer peer(ways, server->router(), server->peer_options());
    begin(peer);
    peer.receive(R"({"jsonrpc":"2.0","id":"r","method":"tools/call","params":)" +
                     greet_params("greet") + "}",
                 5);
    peer.process();
    EXPECT_EQ(ways.log.back(), "5: elicitation/create");
    question = test::parse(ways.last);
    json::Writer writer(saved);
    static_cast<detail::server::Session&>(Service::session_of(peer)).save_runs(writer);
  }
  const auto server = program.make();
  Ways ways;
  rpc::Peer peer(ways, server->router(), server->peer_options());
  begin(peer);
  json::Document document;
  ASSERT_TRUE(static_cast<detail::server::Session&>(Service::session_of(peer))
                  .restore_runs(*document.parse(saved)));
  peer.receive(R"({"jsonrpc":"2.0","id":)" + question["id"].dump() + R"(,"result":)" +
                   accept(R"({"name":"Ada"})") + "}",
               9);
  peer.process();
  peer.process();
  EXPECT_EQ(ways.log, (std::vector<std::string>{"0: answer 1", "5: notifications/progress",
                                                R"(5: answer "r")"}));
  EXPECT_TRUE(has(ways.last, "hello Ada 1 nobody"));
}

}  // namespace
}  // namespace godwit::inline v0
