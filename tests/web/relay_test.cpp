// Sessions that are served through connections of other threads: what arrives there is carried over
// to the thread of the session, and its answer back.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "godwit/base/executor.hpp"
#include "godwit/web/web_server.hpp"
#include "raw_client.hpp"
#include "site.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::RawClient;
using test::RawResponse;
using test::run_until;

constexpr std::string_view priming = "2025-11-25";  // what is answered later becomes a stream
constexpr std::string_view plain = "2025-06-18";    // it stays one answer
constexpr std::string_view with_token = R"(,"_meta":{"progressToken":1})";

struct Said {
  std::string text{};
};

/// Calls that wait for the test, whatever thread they came on.
class Waiting {
 public:
  auto handler() {
    return [this](Said in, Reply<std::string> reply) {
      const std::lock_guard lock(mutex_);
      replies_.insert_or_assign(in.text, std::move(reply));
    };
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return replies_.size();
  }
  bool has(const std::string& text) const {
    const std::lock_guard lock(mutex_);
    return replies_.contains(text);
  }
  Reply<std::string>& at(const std::string& text) {
    const std::lock_guard lock(mutex_);
    return replies_.at(text);
  }
  void answer(const std::string& text) { at(text)(text); }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Reply<std::string>> replies_;
};

/// A connection, and the thread that serves it: the first digits of its own session say so.
struct Client {
  std::unique_ptr<RawClient> raw;
  std::string session;
  std::string thread() const { return session.substr(0, 2); }
};

struct Relayed : testing::Test {
  explicit Relayed(const Limits& limits = {}) : pool(2), server(with(limits)) {
    server.tool("echo", "", [](Said in) { return in.text; });
    server.tool("wait", "", waiting.handler());
    server.tool("work", "", blocking([](Said in, Context& cx) {
                  for (int i = 1; i <= 3; ++i) cx.progress(i, {}, in.text);
                  return in.text;
                }));
    server.tool("who", "", blocking([](Said in, Context& cx) {
                  return in.text + (cx.identity() ? cx.identity()->subject : "nobody") + "|" +
                         std::string(cx.header("X-Caller").value_or("none"));
                }));
    auto made = WebServer::listen(loop, server, {"127.0.0.1", 0},
                                  {.endpoint = {.admission = http::make_admission(believe),
                                                .metrics_path = "/metrics",
                                                .metrics = metrics},
                                   .threads = 3});
    EXPECT_TRUE(made) << made.error().message;
    web.emplace(*std::move(made));
    host = web->address();
  }
  static void believe(const http::Request& request, http::Decision& decision) {
    decision.admit(
        {.identity = test::known_as(std::string(request.fields.find("X-Caller").value_or("")))});
  }
  /// The same request as somebody in particular.
  static std::string as(const std::string& caller, std::string request) {
    return request.insert(request.find("\r\n") + 2, "X-Caller: " + caller + "\r\n");
  }
  ServerOptions with(const Limits& limits) {
    ServerOptions options = test::server_options();
    options.limits = limits;
    options.executor = &pool;
    return options;
  }

  std::string post(std::string_view session, std::string_view body) const {
    return "POST /mcp HTTP/1.1\r\nHost: " + host +
           "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" +
           (session.empty() ? "" : "Mcp-Session-Id: " + std::string(session) + "\r\n") +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
  }
  std::string call(std::string_view session, int id, std::string_view tool, std::string_view text,
                   std::string_view more = "") const {
    return post(session,
                Site::tool_body(std::to_string(id), tool,
                                R"({"text":")" + std::string(text) + "\"}", std::string(more)));
  }
  std::string bare(std::string_view method, std::string_view session,
                   std::string_view last_event_id = {}) const {
    return std::string(method) + " /mcp HTTP/1.1\r\nHost: " + host +
           "\r\nAccept: text/event-stream\r\nMcp-Session-Id: " + std::string(session) + "\r\n" +
           (last_event_id.empty() ? "" : "Last-Event-ID: " + std::string(last_event_id) + "\r\n") +
           "\r\n";
  }

  Client connect(std::string_view revision = priming, int receive_buffer = 0) {
    Client client{std::make_unique<RawClient>(loop, host, receive_buffer), {}};
    const RawResponse answer = client.raw->ask(post("", Site::initialize_body(revision)));
    EXPECT_EQ(answer.status, 200) << answer.body;
    client.session = answer.field("mcp-session-id");
    EXPECT_EQ(
        client.raw->ask(post(client.session, Site::legacy_body("", "notifications/initialized")))
            .status,
        202);
    return client;
  }
  /// One that another thread serves; the system chooses, so it may take a few.
  Client connect_elsewhere(const std::vector<std::string>& than,
                           std::string_view revision = priming, int receive_buffer = 0) {
    for (int tries = 0; tries < 200; ++tries) {
      Client client = connect(revision, receive_buffer);
      if (std::ranges::find(than, client.thread()) == than.end()) return client;
    }
    ADD_FAILURE() << "the system gives every connection to one thread";
    return connect(revision);
  }
  /// A session of the loop's own thread, or of another one.
  Client connect_at(bool first, std::string_view revision = priming) {
    if (!first) return connect_elsewhere({"00"}, revision);
    return connect_elsewhere({"01", "02"}, revision);
  }

  std::string number(const std::string& name) const {
    const std::string text = metrics->text();
    const std::size_t at = text.find("\ngodwit_" + name + " ");
    EXPECT_NE(at, text.npos) << text;
    const std::size_t begin = at + name.size() + 9;
    return text.substr(begin, text.find('\n', begin) - begin);
  }
  bool nothing_is_open() {
    return run_until(loop, [&] { return number("open_exchanges") == "0"; });
  }

  ThreadPool pool;
  Loop loop;
  Waiting waiting;
  std::shared_ptr<Metrics> metrics = std::make_shared<Metrics>();
  Server server;
  std::optional<WebServer> web;
  std::string host;
};

/// The id of the last event in these bytes.
std::string last_id(const std::string& bytes) {
  const std::size_t at = bytes.rfind("\nid: ");
  const std::size_t begin = at == bytes.npos ? bytes.find("id: ") + 4 : at + 5;
  return bytes.substr(begin, bytes.find('\n', begin) - begin);
}
std::size_t count(std::string_view text, std::string_view what) {
  std::size_t times = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++times;
  return times;
}

// Answers.

TEST_F(Relayed, WhoCallsIsKnownOnTheThreadOfTheSession) {
  RawClient ada(loop, host);
  const std::string session =
      ada.ask(as("ada", post("", Site::initialize_body(plain)))).field("mcp-session-id");
  ASSERT_FALSE(session.empty());
  for (int i = 0; i < 3; ++i) {  // by each of the threads, its own among them
    const Client other = connect_elsewhere(i == 0 ? std::vector<std::string>{session.substr(0, 2)}
                                                  : std::vector<std::string>{});
    const RawResponse hers = other.raw->ask(as("ada", call(session, 7, "who", "is ")));
    EXPECT_NE(hers.body.find("is ada|ada"), std::string::npos) << hers.body;
    EXPECT_EQ(other.raw->ask(as("bob", call(session, 7, "who", "is "))).status, 404);
    EXPECT_EQ(other.raw->ask(call(session, 7, "who", "is ")).status, 404);
  }
}

TEST_F(Relayed, AnAnswerAtOnceAndOneThatComesLater) {
  for (const std::string_view revision : {plain, priming}) {
    for (const bool first : {true, false}) {
      Client owner = connect_at(first, revision);
      Client other = connect_elsewhere({owner.thread()}, revision);
      const RawResponse now = other.raw->ask(call(owner.session, 1, "echo", "at once"));
      EXPECT_EQ(now.status, 200);
      EXPECT_NE(now.body.find("at once"), std::string::npos) << now.body;
      const std::string secret = "later " + std::string(revision) + (first ? " 1" : " 2");
      other.raw->send(call(owner.session, 2, "wait", secret));
      ASSERT_TRUE(run_until(loop, [&] { return waiting.has(secret); }));
      waiting.answer(secret);
      const RawResponse late = other.raw->response();
      EXPECT_EQ(late.status, 200);
      EXPECT_NE(late.body.find(secret), std::string::npos) << late.body;
      // The connection is none the worse for it.
      EXPECT_EQ(other.raw->ask(call(other.session, 2, "echo", "own")).status, 200);
    }
  }
}

TEST_F(Relayed, ProgressArrivesBeforeTheAnswer) {
  Client owner = connect();
  Client other = connect_elsewhere({owner.thread()});
  const RawResponse answer = other.raw->ask(call(owner.session, 1, "work", "steps", with_token));
  EXPECT_EQ(answer.field("content-type"), "text/event-stream");
  EXPECT_EQ(count(answer.body, "notifications/progress"), 3u) << answer.body;
  EXPECT_GT(answer.body.find("\"result\""), answer.body.rfind("notifications/progress"));
}

TEST_F(Relayed, ABodyAsLargeAsAllowed) {
  Client owner = connect();
  Client other = connect_elsewhere({owner.thread()});
  const std::string empty = Site::tool_body("1", "echo", R"({"text":""})");
  std::string large(Limits{}.message_bytes_in - empty.size(), 'x');
  for (std::size_t i = 0; i < large.size(); i += 997) large[i] = static_cast<char>('a' + i % 26);
  const RawResponse answer = other.raw->ask(call(owner.session, 1, "echo", large));
  EXPECT_EQ(answer.status, 200);
  const auto parsed = json::parse(answer.body);
  ASSERT_TRUE(parsed) << answer.body.substr(0, 200);
  EXPECT_TRUE(test::text_of(*parsed) == large) << "it was changed on the way";
  other.raw->send_some(call(owner.session, 1, "echo", large + "x"));  // its head is enough
  EXPECT_EQ(other.raw->response().status, 413);
}

// Going away.

TEST_F(Relayed, AClientThatGoesAwayLeavesTheSessionWell) {
  for (const bool first : {true, false}) {
    for (const bool abruptly : {true, false}) {
      Client owner = connect_at(first, plain);
      Client other = connect_elsewhere({owner.thread()}, plain);
      const std::string secret = std::string(first ? "1" : "2") + (abruptly ? "r" : "c");
      other.raw->send(call(owner.session, 1, "wait", secret));
      ASSERT_TRUE(run_until(loop, [&] { return waiting.has(secret); }));
      abruptly ? other.raw->reset() : other.raw->close();
      EXPECT_TRUE(nothing_is_open()) << "its end was not carried over";
      waiting.answer(secret);
      const RawResponse answer = owner.raw->ask(call(owner.session, 2, "echo", "still here"));
      EXPECT_NE(answer.body.find("still here"), std::string::npos) << answer.body;
      EXPECT_EQ(answer.body.find(secret), std::string::npos) << answer.body;
    }
  }
}

TEST_F(Relayed, AClientThatGoesAwayWhileItsRequestIsCarriedOver) {
  Client owner = connect(plain);
  std::vector<std::string> kinds = {"echo", "wait", "work"};
  for (int i = 0; i < 60; ++i) {
    Client other = connect_elsewhere({owner.thread()}, plain);
    // Nobody waits for anything: the end is as likely to be seen before the answer as after it.
    other.raw->send_some(call(owner.session, 100 + i, kinds[static_cast<std::size_t>(i) % 3],
                              "gone " + std::to_string(i)));
    i % 2 == 0 ? other.raw->reset() : other.raw->close();
  }
  EXPECT_EQ(owner.raw->ask(call(owner.session, 1, "echo", "still here")).status, 200);
  EXPECT_TRUE(nothing_is_open());
}

TEST_F(Relayed, ASessionThatEndsTakesItsRequestsWithIt) {
  for (const std::string_view revision : {plain, priming}) {
    for (const bool first : {true, false}) {
      Client owner = connect_at(first, revision);
      Client other = connect_elsewhere({owner.thread()}, revision);
      Client third = connect_elsewhere({owner.thread(), other.thread()}, revision);
      const std::string secret = std::string(revision) + (first ? " 1" : " 2");
      other.raw->send(call(owner.session, 1, "wait", secret));
      ASSERT_TRUE(run_until(loop, [&] { return waiting.has(secret); }));
      const std::stop_token stop = waiting.at(secret).cancelled();
      EXPECT_EQ(third.raw->ask(bare("DELETE", owner.session)).status, 204);
      const RawResponse ended = other.raw->response();
      EXPECT_EQ(ended.status, revision == plain ? 404 : 200);
      EXPECT_EQ(ended.body.find("\"result\""), std::string::npos) << ended.body;
      EXPECT_TRUE(stop.stop_requested());
      waiting.answer(secret);  // for nobody
      EXPECT_EQ(other.raw->ask(call(owner.session, 2, "echo", "x")).status, 404);
      EXPECT_EQ(owner.raw->ask(call(owner.session, 2, "echo", "x")).status, 404);
      EXPECT_EQ(other.raw->ask(call(other.session, 2, "echo", "x")).status, 200);
    }
  }
  EXPECT_TRUE(nothing_is_open());
}

// Streams.

TEST_F(Relayed, AStreamCanBeComeBackToThroughYetAnotherConnection) {
  for (const bool first : {true, false}) {
    Client owner = connect_at(first);
    Client other = connect_elsewhere({owner.thread()});
    Client third = connect_elsewhere({owner.thread(), other.thread()});
    other.raw->send(bare("GET", owner.session));
    ASSERT_TRUE(other.raw->wait([&] { return other.raw->in.find("id: ") != std::string::npos; }));
    EXPECT_EQ(third.raw->ask(bare("GET", owner.session)).status, 409) << "there can be only one";
    server.tool(first ? "new_1" : "new_2", "", [] { return ""; });
    ASSERT_TRUE(other.raw->wait(
        [&] { return other.raw->in.find("tools/list_changed") != std::string::npos; }));
    const std::string last = last_id(other.raw->in);
    const std::size_t dot = last.rfind('.');
    ASSERT_NE(dot, last.npos) << last;
    const int seen = std::stoi(last.substr(dot + 1));
    other.raw->reset();
    server.tool(first ? "newer_1" : "newer_2", "", [] { return ""; });
    third.raw->send(bare("GET", owner.session, last));
    const std::string next = "id: " + last.substr(0, dot + 1) + std::to_string(seen + 1) + "\n";
    EXPECT_TRUE(third.raw->wait([&] { return third.raw->in.find(next) != std::string::npos; }))
        << third.raw->in;
    EXPECT_EQ(count(third.raw->in, next), 1u);
    EXPECT_EQ(count(third.raw->in, "id: " + last + "\n"), 0u) << "it had that one";
    third.raw->close();
  }
  EXPECT_TRUE(nothing_is_open());
}

TEST_F(Relayed, AnAnswerCanBeComeBackForThroughYetAnotherConnection) {
  for (const bool first : {true, false}) {
    Client owner = connect_at(first);
    Client other = connect_elsewhere({owner.thread()});
    Client third = connect_elsewhere({owner.thread(), other.thread()});
    const std::string secret = first ? "secret 1" : "secret 2";
    other.raw->send(call(owner.session, 1, "wait", secret, with_token));
    ASSERT_TRUE(run_until(loop, [&] { return waiting.has(secret); }));
    waiting.at(secret).context().progress(1, {}, "half of " + secret);
    ASSERT_TRUE(
        other.raw->wait([&] { return other.raw->in.find("half of") != std::string::npos; }));
    const std::string last = last_id(other.raw->in);
    other.raw->close();
    waiting.answer(secret);
    const RawResponse rest = third.raw->ask(bare("GET", owner.session, last));
    EXPECT_EQ(rest.status, 200);
    EXPECT_EQ(count(rest.body, "half of"), 0u) << "it had that one";
    EXPECT_EQ(count(rest.body, secret), 1u) << rest.body;
    EXPECT_EQ(count(rest.body, "\"result\""), 1u) << rest.body;
    // Another session cannot have it, wherever it asks.
    EXPECT_EQ(third.raw->ask(bare("GET", third.session, last)).status, 400);
    EXPECT_EQ(owner.raw->ask(bare("GET", third.session, last)).status, 400);
  }
}

TEST_F(Relayed, WhatIsSentAgainComesInWholeThroughASlowConnection) {
  for (const bool same : {true, false}) {
    Client owner = connect();
    const std::string secret = same ? "much 1" : "much 2";
    owner.raw->send(call(owner.session, 1, "wait", secret, with_token));
    ASSERT_TRUE(run_until(loop, [&] { return waiting.has(secret); }));
    ASSERT_TRUE(owner.raw->wait([&] { return owner.raw->in.find("id: ") != std::string::npos; }));
    const std::string primed = last_id(owner.raw->in);
    owner.raw->reset();
    for (int i = 1; i <= 4; ++i) {
      waiting.at(secret).context().progress(i, {}, std::string(1u << 20, 'x'));
    }
    waiting.answer(secret);
    std::optional<Client> other;
    do {
      other.emplace(connect(priming, 4096));
    } while ((other->thread() == owner.thread()) != same);
    other->raw->send(bare("GET", owner.session, primed));
    const RawResponse rest = other->raw->response();
    EXPECT_EQ(rest.status, 200);
    EXPECT_EQ(count(rest.body, "\"progress\":"), 4u);
    EXPECT_EQ(count(rest.body, secret), 1u);
    EXPECT_GT(rest.body.size(), 4u << 20);
  }
  EXPECT_TRUE(nothing_is_open());
}

TEST_F(Relayed, WhatAClientHasReadDoesNotCountAgainstIt) {
  Client owner = connect();
  // The system takes little at once, so that the rest has to wait.
  Client other = connect_elsewhere({owner.thread()}, priming, 4096);
  other.raw->send(call(owner.session, 1, "wait", "large", with_token));
  ASSERT_TRUE(run_until(loop, [&] { return waiting.has("large"); }));
  // Each piece is read before the next one comes; together they are far more than may wait.
  const std::string piece(3u << 20, 'x');
  for (int i = 1; i <= 4; ++i) {
    waiting.at("large").context().progress(i, {}, piece + "end " + std::to_string(i));
    ASSERT_TRUE(other.raw->wait([&] {
      return other.raw->ended ||
             other.raw->in.find("end " + std::to_string(i)) != std::string::npos;
    }));
    ASSERT_FALSE(other.raw->ended) << "broken off at piece " << i;
  }
  waiting.answer("large");
  const RawResponse answer = other.raw->response();
  EXPECT_NE(answer.body.find("\"result\""), std::string::npos) << "the answer is missing";
}

// The end.

TEST_F(Relayed, DrainWaitsForEveryRequestThatWasAccepted) {
  std::vector<Client> clients;
  std::vector<std::string> secrets;
  for (int i = 0; i < 12; ++i) {
    Client owner = connect(i % 2 == 0 ? plain : priming);
    Client other = connect_elsewhere({owner.thread()});
    secrets.push_back("drained " + std::to_string(i));
    other.raw->send(call(owner.session, 1, "wait", secrets.back()));
    clients.push_back(std::move(other));
    owner.raw->close();
  }
  ASSERT_TRUE(run_until(loop, [&] { return waiting.size() == secrets.size(); }));
  bool done = false;
  web->drain([&] { done = true; }, 60s);
  ASSERT_TRUE(run_until(loop, [&] { return waiting.at(secrets[0]).cancelled().stop_requested(); }));
  EXPECT_FALSE(done);
  for (std::size_t i = 0; i < secrets.size(); ++i) {
    waiting.answer(secrets[i]);
    const RawResponse answer = clients[i].raw->response();
    EXPECT_EQ(answer.status, 200);
    EXPECT_NE(answer.body.find(secrets[i]), std::string::npos) << answer.body;
  }
  for (const Client& client : clients) client.raw->close();
  EXPECT_TRUE(run_until(loop, [&] { return done; }));
}

TEST_F(Relayed, WhatIsSentWhileTheServerDrainsIsAnsweredToo) {
  std::vector<Client> clients;
  for (int i = 0; i < 12; ++i) clients.push_back(connect(plain));
  for (std::size_t i = 0; i < clients.size(); ++i) {
    clients[i].raw->send(
        call(clients[(i + 1) % clients.size()].session, 1, "echo", "last " + std::to_string(i)));
  }
  bool done = false;
  web->drain([&] { done = true; }, 60s);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    // Done, or refused in so many words: never left without an answer.
    const RawResponse answer = clients[i].raw->response();
    if (answer.status == 200) {
      EXPECT_NE(answer.body.find("last " + std::to_string(i)), std::string::npos);
    } else {
      EXPECT_EQ(answer.status, 503) << answer.body;
      EXPECT_NE(answer.field("retry-after"), "");
    }
  }
  for (const Client& client : clients) client.raw->close();
  EXPECT_TRUE(run_until(loop, [&] { return done; }));
}

TEST_F(Relayed, AServerMayBeDestroyedWhileRequestsAreCarriedOver) {
  Client owner = connect_at(true, plain);
  Client other = connect_at(false, plain);
  Client witness = connect_elsewhere({"00", other.thread() == "01" ? "02" : "01"}, plain);
  other.raw->send_some(call(owner.session, 1, "echo", "too late"));
  // The loop of the session stands still. Two answers of the thread that carries it over, asked for
  // after it, say that it has done so.
  for (int i = 1; i <= 2; ++i) {
    const std::size_t before = witness.raw->in.size();
    witness.raw->send_some(call(witness.session, i, "echo", "witness"));
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (witness.raw->in.size() == before && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
      witness.raw->take();
    }
  }
  ASSERT_EQ(count(witness.raw->in, "HTTP/1.1 200"), 2u);
  web.reset();
  for (int i = 0; i < 20; ++i) loop.poll();
  other.raw->take();
  EXPECT_EQ(other.raw->in, "");
  EXPECT_TRUE(other.raw->wait_end());
}

TEST_F(Relayed, AServerMayBeDestroyedInTheMiddleOfEverything) {
  std::vector<Client> clients;
  for (int i = 0; i < 16; ++i) clients.push_back(connect(i % 2 == 0 ? plain : priming));
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const std::string& session = clients[(i + 5) % clients.size()].session;
    RawClient& raw = *clients[i].raw;
    switch (i % 4) {
      case 0:
        raw.send_some(call(session, 1, "echo", "x"));
        break;
      case 1:
        raw.send_some(call(session, 1, "wait", "w" + std::to_string(i)));
        break;
      case 2:
        raw.send_some(bare("GET", session));
        break;
      default:
        raw.send_some(call(session, 1, "work", "x", with_token));
        break;
    }
  }
  web.reset();
  for (int i = 0; i < 20; ++i) loop.poll();
  for (const Client& client : clients) EXPECT_TRUE(client.raw->wait_end());
}

// Limits: they are of the process, not of each thread.

struct RelayedFew : Relayed {
  RelayedFew() : Relayed({.sessions = 30, .process_in_flight = 4}) {}
};

TEST_F(RelayedFew, RequestsInFlightOfAllThreads) {
  std::vector<Client> clients;
  for (int i = 0; i < 4; ++i) {
    Client client = i == 0 ? connect(plain) : connect_elsewhere({clients.back().thread()}, plain);
    const std::string secret = "in flight " + std::to_string(i);
    client.raw->send(
        call(clients.empty() ? client.session : clients.back().session, 10 + i, "wait", secret));
    ASSERT_TRUE(run_until(loop, [&] { return waiting.has(secret); }));
    clients.push_back(std::move(client));
  }
  // No thread has room left, wherever the session is.
  for (int i = 0; i < 12; ++i) {
    RawClient late(loop, host);
    const RawResponse answer =
        late.ask(call(clients[static_cast<std::size_t>(i) % 4].session, 2, "wait", "too many"));
    EXPECT_EQ(answer.status, 503) << answer.body;
    EXPECT_EQ(answer.field("retry-after"), "1");
  }
  EXPECT_FALSE(waiting.has("too many"));
  waiting.answer("in flight 0");
  EXPECT_EQ(clients[0].raw->response().status, 200);
  ASSERT_TRUE(run_until(loop, [&] { return number("open_exchanges") == "3"; }));
  clients[0].raw->send(call(clients[0].session, 3, "wait", "room again"));
  EXPECT_TRUE(run_until(loop, [&] { return waiting.has("room again"); }));
}

TEST_F(RelayedFew, SessionsOfAllThreadsGiveWayToNewOnes) {
  std::vector<Client> clients;
  for (int i = 0; i < 30; ++i) clients.push_back(connect(plain));
  for (int i = 0; i < 30; ++i) {
    clients.push_back(connect(plain));
    // One too many for each thread, and one that is just ending.
    EXPECT_LE(server.sessions(), 36u);
  }
  EXPECT_TRUE(run_until(loop, [&] { return server.sessions() <= 33; })) << server.sessions();
  EXPECT_EQ(clients.back().raw->ask(call(clients.back().session, 2, "echo", "new")).status, 200);
}

struct RelayedOne : Relayed {
  RelayedOne() : Relayed({.sessions = 1}) {}
};

TEST_F(RelayedOne, ASessionOfAnotherThreadGivesWay) {
  // Whichever thread has the session that is in the way.
  for (int i = 0; i < 3; ++i) {
    const Client first = connect(plain);
    const Client second = connect_elsewhere({first.thread()}, plain);
    // Not asked for meanwhile: a session that is in use does not give way.
    EXPECT_TRUE(run_until(loop, [&] { return number("sessions") == "1"; }));
    RawClient other(loop, host);
    EXPECT_EQ(other.ask(call(first.session, 2, "echo", "old")).status, 404);
    EXPECT_EQ(other.ask(call(second.session, 2, "echo", "new")).status, 200);
  }
}

// Many.

struct RelayedRoom : Relayed {
  static constexpr std::size_t most = 6;
  RelayedRoom()
      : Relayed({.sessions = most, .session_bytes = 20'000, .process_session_bytes = 100'000}) {}

  /// A connection that this thread serves, without a session of its own.
  std::unique_ptr<RawClient> connection_at(const std::string& thread) {
    for (int tries = 0; tries < 500; ++tries) {
      Client client = connect();
      EXPECT_EQ(client.raw->ask(bare("DELETE", client.session)).status, 204);
      if (client.thread() == thread) return std::move(client.raw);
    }
    ADD_FAILURE() << "the system gives this thread no connection";
    return connect().raw;
  }
  /// The id of a new session; empty if it was refused.
  std::string begin(RawClient& by, const std::string& description = "") {
    return by
        .ask(post("", Site::legacy_body("0", "initialize",
                                        R"({"protocolVersion":"2025-11-25","capabilities":{},
                                            "clientInfo":{"name":"a","version":"1",
                                            "description":")" +
                                            description + R"("}})")))
        .field("mcp-session-id");
  }
};

TEST_F(RelayedRoom, SessionsOfAnotherThreadThatKeepMuchGiveWay) {
  const auto hoarder = connection_at("01");
  const auto newcomer = connection_at("02");
  const std::string description(18'000, 'x');
  for (std::size_t i = 1; i < most; ++i) EXPECT_NE(begin(*hoarder, description), "");
  const std::size_t before = server.session_bytes();
  EXPECT_GT(before, 87'500u) << "this is no test of the bound";
  EXPECT_NE(begin(*newcomer), "");
  EXPECT_TRUE(run_until(loop, [&] { return server.session_bytes() < before - 10'000; }));
}

// A thread that makes room late does not make more than is needed by then.
TEST_F(RelayedRoom, ThoseWhoAreRefusedEndNoSessions) {
  std::promise<void> held, released;
  server.tool("hold", "", [&](Said) {
    held.set_value();
    released.get_future().wait();
    return "";
  });
  const auto owner = connection_at("01");
  std::vector<std::unique_ptr<RawClient>> newcomers;
  for (int i = 0; i < 4; ++i) newcomers.push_back(connection_at("02"));
  std::vector<std::string> sessions;
  for (std::size_t i = 0; i < most; ++i) sessions.push_back(begin(*owner));
  owner->send(call(sessions[0], 1, "hold", ""));
  ASSERT_EQ(held.get_future().wait_for(10s), std::future_status::ready);
  // One for each thread is let in before there is room; they are busy, so that they stay.
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string session = begin(*newcomers[i]);
    EXPECT_NE(session, "");
    newcomers[i]->send(call(session, 1, "wait", std::to_string(i)));
    EXPECT_TRUE(run_until(loop, [&] { return waiting.has(std::to_string(i)); }));
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(begin(*newcomers[3]), "");
  released.set_value();
  EXPECT_EQ(owner->response().status, 200);
  EXPECT_TRUE(run_until(loop, [&] { return number("sessions") == std::to_string(most); }));
  std::size_t alive = 0;
  for (const std::string& session : sessions) {
    if (owner->ask(call(session, 2, "echo", "")).status == 200) ++alive;
  }
  EXPECT_EQ(alive, most - 3);
}

TEST_F(Relayed, NothingCrossesAmongManySessionsAndConnections) {
  constexpr unsigned seed = 20251125;
  std::mt19937 random(seed);
  struct Session {
    std::string id;
    std::string secret;
    int last = 0;  // the same numbers in each, so that a mix-up is not saved by them
  };
  struct Line {
    std::unique_ptr<RawClient> raw;
    std::string expected;  // empty: nothing is asked
  };
  std::vector<Session> sessions;
  std::vector<Line> lines;
  for (int i = 0; i < 12; ++i) {
    Client client = connect(i % 3 == 0 ? plain : priming);
    sessions.push_back({client.session, "secret-" + std::to_string(100 + i) + "-"});
    lines.push_back({std::move(client.raw), ""});
  }
  for (int i = 0; i < 12; ++i) lines.push_back({std::make_unique<RawClient>(loop, host), ""});
  int answered = 0;
  const auto check = [&](Line& line) {
    const RawResponse answer = line.raw->response();
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_GE(count(answer.body, line.expected), 1u) << answer.body;
    EXPECT_EQ(count(answer.body, "secret-"), count(answer.body, line.expected))
        << line.expected << " got " << answer.body << " (seed " << seed << ")";
    line.expected.clear();
    ++answered;
  };
  for (int step = 0; step < 1'500 && !HasFailure(); ++step) {
    Line& line = lines[random() % lines.size()];
    if (!line.expected.empty()) {
      if (random() % 8 != 0) {
        check(line);
        continue;
      }
      random() % 2 == 0 ? line.raw->reset() : line.raw->close();  // without waiting
      line = {std::make_unique<RawClient>(loop, host), ""};
    }
    Session& session = sessions[random() % sessions.size()];
    const int id = ++session.last;
    line.expected = session.secret + std::to_string(id) + "!";
    line.raw->send(call(session.id, id, random() % 2 == 0 ? "echo" : "work", line.expected,
                        random() % 2 == 0 ? with_token : ""));
  }
  for (Line& line : lines) {
    if (!line.expected.empty()) check(line);
  }
  EXPECT_GT(answered, 400);
  EXPECT_TRUE(nothing_is_open());
}

}  // namespace
}  // namespace godwit::inline v0
