// What a client of an Endpoint may cost: each limit one below, at it and one above, with the answer
// that is given then.
#include "godwit/base/limits.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "godwit/mcp/memory_event_store.hpp"
#include "godwit/web/web_server.hpp"
#include "raw_client.hpp"
#include "site.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view with_token = R"(,"_meta":{"progressToken":1})";
constexpr std::string_view plain = "2025-06-18";  // what is answered later stays one answer

SiteOptions options_with(const std::function<void(Limits&)>& change) {
  SiteOptions options;
  change(options.server.limits);
  return options;
}

bool refused(const FakeExchange& exchange, int status) {
  EXPECT_EQ(exchange.status, status) << exchange.body;
  EXPECT_NE(exchange.field("Retry-After"), "") << exchange.body;
  EXPECT_EQ(exchange.answer()["error"]["code"].dump(), "-32603") << exchange.body;
  EXPECT_NE(exchange.body.find("busy"), std::string::npos) << exchange.body;
  return exchange.status == status;
}

// Messages.

TEST(WebLimits, BytesOfAMessageIn) {
  const std::string modern = Site::modern_body("7", "tools/call", R"({"name":"t","arguments":{}})");
  const std::string legacy = Site::legacy_body("7", "ping");
  for (const int more : {-1, 0, 1}) {
    Site site(options_with([](Limits& limits) { limits.message_bytes_in = 1000; }));
    site.server.tool("t", "", [](json::Value) { return "t"; });
    const std::string session = site.connect();
    const auto pad = [&](const std::string& body) {
      return body + std::string(static_cast<std::size_t>(1000 + more) - body.size(), ' ');
    };
    const int status = more > 0 ? 413 : 200;
    EXPECT_EQ(site.send(Site::modern_tool("7", "t").body(pad(modern))).status, status) << more;
    EXPECT_EQ(site.send(Site::in(session, pad(legacy))).status, status) << more;
  }
}

TEST(WebLimits, BytesOfAMessageOut) {
  const auto text = [](FakeExchange& exchange) { return exchange.answer().dump(); };
  std::size_t modern = 0, legacy = 0;  // of the answer that is looked at
  const auto serve = [&](std::size_t most, bool is_modern) {
    Site site(options_with([&](Limits& limits) { limits.message_bytes_out = most; }));
    site.server.tool("t", "", [] { return std::string(5000, 'x'); });
    site.server.tool("small", "", [] { return "small"; });
    const std::string session = site.connect();
    const auto ask = [&](std::string_view tool) -> FakeExchange& {
      if (is_modern) return site.send(Site::modern_tool("7", tool));
      return site.send(Site::in(session, Site::tool_body("7", tool)));
    };
    FakeExchange& x = ask("t");
    EXPECT_EQ(x.status, 200);
    const std::string said = text(x);
    (is_modern ? modern : legacy) = x.body.size();
    // Whatever came of it, the next one is answered.
    EXPECT_EQ(test::text_of(ask("small").answer()), "small");
    if (x.answer().contains("result")) return std::string("result");
    EXPECT_EQ(x.answer()["error"]["code"].dump(), "-32603");
    EXPECT_NE(said.find("response too large"), said.npos) << said;
    return std::string("too large");
  };
  for (const bool is_modern : {true, false}) {
    EXPECT_EQ(serve(Limits{}.message_bytes_out, is_modern), "result");
    const std::size_t size = is_modern ? modern : legacy;
    EXPECT_EQ(serve(size + 1, is_modern), "result");
    EXPECT_EQ(serve(size, is_modern), "result");
    EXPECT_EQ(serve(size - 1, is_modern), "too large");
  }
}

TEST(WebLimits, ShapeOfJson) {
  const auto repeat = [](std::size_t times, const std::string& what) {
    std::string out;
    for (std::size_t i = 0; i < times; ++i) out += (i == 0 ? "" : ",") + what;
    return out;
  };
  const auto members = [](std::size_t times) {
    std::string out;
    for (std::size_t i = 0; i < times; ++i) {
      out += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
    }
    return "{" + out + "}";
  };
  const struct {
    std::size_t Limits::* limit;
    std::size_t most;
    std::function<std::string(std::size_t)> value;  // that needs so much
  } cases[] = {
      // Message, params and arguments are three levels around the value.
      {&Limits::json_depth, 10,
       [](std::size_t n) { return std::string(n - 3, '[') + std::string(n - 3, ']'); }},
      {&Limits::json_members, 20, members},
      {&Limits::json_items, 20, [&](std::size_t n) { return "[" + repeat(n, "0") + "]"; }},
      {&Limits::json_key_bytes, 60,
       [](std::size_t n) { return R"({")" + std::string(n, 'k') + R"(":0})"; }},
      {&Limits::json_number_chars, 30,
       [](std::size_t n) { return "0." + std::string(n - 2, '7'); }},
  };
  for (const auto& one : cases) {
    Site site(options_with([&](Limits& limits) { limits.*one.limit = one.most; }));
    site.server.tool("t", "", [](json::Value) { return "t"; });
    const std::string session = site.connect();
    for (const std::size_t needs : {one.most - 1, one.most, one.most + 1}) {
      const std::string arguments = R"({"v":)" + one.value(needs) + "}";
      const std::string body = Site::tool_body("7", "t", arguments);
      const std::string modern_body =
          body.substr(0, body.rfind("}}")) +
          R"(,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
          R"("io.modelcontextprotocol/clientCapabilities":{}}}})";
      FakeExchange& legacy = site.send(Site::in(session, body));
      FakeExchange& modern = site.send(Site::modern_tool("7", "t").body(modern_body));
      const char* expected = needs > one.most ? "400 -32700 none" : "200 result 7";
      EXPECT_EQ(outcome(legacy), expected) << needs << ": " << legacy.body << body;
      EXPECT_EQ(outcome(modern), expected) << needs << ": " << modern.body << modern_body;
    }
  }
}

TEST(WebLimits, EntriesOfABatch) {
  Site site;
  const std::string session = site.connect("2025-03-26");  // the one revision that has batches
  const std::size_t most = Limits{}.batch_entries;
  for (const std::size_t entries : {most - 1, most, most + 1}) {
    std::string body = "[";
    for (std::size_t i = 1; i <= entries; ++i) {
      body += (i > 1 ? "," : "") + Site::legacy_body(std::to_string(i), "ping");
    }
    FakeExchange& x = site.send(Site::in(session, body + "]"));
    if (entries <= most) {
      EXPECT_EQ(x.status, 200);
      const json::Value answer = x.answer();
      ASSERT_TRUE(answer.is_array()) << x.body.substr(0, 200);
      EXPECT_EQ(answer.get<std::vector<json::Value>>().size(), entries);
    } else {
      EXPECT_EQ(outcome(x), "400 -32600 none") << "the whole of it";
    }
  }
}

// Requests.

TEST(WebLimits, RequestsInFlightOfASession) {
  Site site(options_with([](Limits& limits) { limits.in_flight = 3; }));
  Parked parked;
  site.server.tool("wait", "", parked.handler());
  const std::string session = site.connect(plain);
  const auto wait = [&](int id) -> FakeExchange& {
    return site.send(Site::in(session, Site::tool_body(std::to_string(id), "wait")));
  };
  EXPECT_TRUE(wait(1).waiting());
  EXPECT_TRUE(wait(2).waiting());
  EXPECT_TRUE(wait(3).waiting());
  EXPECT_TRUE(refused(wait(4), 429));
  EXPECT_EQ(parked.replies.size(), 3u) << "it was run all the same";
  parked.replies[1]("done");
  site.process();
  EXPECT_TRUE(wait(4).waiting());
  EXPECT_TRUE(refused(wait(5), 429));
}

TEST(WebLimits, EntriesOfABatchAreRequestsInFlight) {
  Site site(options_with([](Limits& limits) { limits.in_flight = 3; }));
  Parked parked;
  site.server.tool("wait", "", parked.handler());
  const std::string session = site.connect("2025-03-26");
  std::string body;
  for (int i = 1; i <= 4; ++i) {
    body += (i == 1 ? "[" : ",") + Site::tool_body(std::to_string(i), "wait");
  }
  FakeExchange& x = site.send(Site::in(session, body + "]"));
  EXPECT_EQ(parked.replies.size(), 3u);
  for (auto& reply : parked.replies) reply("done");
  site.process();
  std::size_t busy = 0;
  for (std::size_t at = x.body.find("busy"); at != x.body.npos; at = x.body.find("busy", at + 1)) {
    ++busy;
  }
  EXPECT_EQ(busy, 1u) << x.body;
}

TEST(WebLimits, RequestsInFlightInTheProcess) {
  Site site(options_with([](Limits& limits) { limits.process_in_flight = 4; }));
  Parked parked;
  site.server.tool("wait", "", parked.handler());
  // Of any kind, and streams are among them.
  const std::string one = site.connect(plain), two = site.connect();
  EXPECT_TRUE(site.send(Site::get(one)).waiting());
  EXPECT_TRUE(site.send(Site::modern_tool("1", "wait")).waiting());
  EXPECT_TRUE(site.send(Site::in(one, Site::tool_body("1", "wait"))).waiting());
  EXPECT_TRUE(site.send(Site::in(two, Site::tool_body("1", "wait"))).waiting());
  EXPECT_TRUE(refused(site.send(Site::modern_tool("2", "wait")), 503));
  EXPECT_TRUE(refused(site.send(Site::in(one, Site::tool_body("2", "wait"))), 503));
  EXPECT_TRUE(refused(site.send(Site::post(Site::initialize_body(plain))), 503));
  EXPECT_EQ(parked.replies.size(), 3u);
  parked.replies[0]("done");
  site.process();
  EXPECT_TRUE(site.send(Site::in(two, Site::tool_body("2", "wait"))).waiting());
  EXPECT_TRUE(refused(site.send(Site::modern_tool("2", "wait")), 503));
}

// Sessions.

TEST(WebLimits, SessionsOfEveryKind) {
  SiteOptions options = options_with([](Limits& limits) { limits.sessions = 3; });
  options.endpoint.sse_path = "/sse";
  Site site(std::move(options));
  const auto open_old = [&]() -> FakeExchange& {
    return site.send(FakeRequest("GET", "/sse").with("Host", "localhost"));
  };
  const std::string first = site.connect();
  site.send(Site::get(first));  // so that it is not idle
  FakeExchange& old = open_old();
  EXPECT_TRUE(old.streaming());
  EXPECT_TRUE(open_old().streaming());
  FakeExchange& x = site.send(Site::post(Site::initialize_body(plain)));
  EXPECT_TRUE(refused(x, 503)) << "those of the old transport are sessions, too";
  EXPECT_EQ(x.field("Mcp-Session-Id"), "");
  EXPECT_EQ(open_old().status, 503);
  old.go();
  site.process();
  EXPECT_NE(site.connect(), "");
  EXPECT_TRUE(open_old().streaming()) << "an idle one gives way";
  EXPECT_EQ(open_old().status, 503);
  site.send(Site::remove(first));
  EXPECT_TRUE(open_old().streaming());
}

TEST(WebLimits, TimeASessionMayStandIdle) {
  Site site;
  const std::string session = site.connect();
  site.pass(Limits{}.session_idle - 1ns);
  EXPECT_EQ(site.web().sessions(), 1u);
  site.pass(1ns);
  EXPECT_EQ(site.web().sessions(), 0u);
  EXPECT_EQ(site.send(Site::in(session, Site::legacy_body("1", "ping"))).status, 404);

  // Whatever a client does begins it anew.
  const std::string used = site.connect();
  FakeExchange* stream = nullptr;
  const std::function<void()> uses[] = {
      [&] { site.send(Site::in(used, Site::legacy_body("1", "ping"))); },
      [&] { site.send(Site::in(used, Site::legacy_body("", "notifications/x"))); },
      [&] { stream = &site.send(Site::get(used)); },
      [&] { stream->go(); },
      [&] { site.send(Site::get(used, "nothing.1")); },
  };
  for (const auto& use : uses) {
    site.pass(Limits{}.session_idle - 1ns);
    ASSERT_EQ(site.web().sessions(), 1u);
    use();
  }
  site.pass(Limits{}.session_idle - 1ns);
  EXPECT_EQ(site.web().sessions(), 1u);
  site.pass(1ns);
  EXPECT_EQ(site.web().sessions(), 0u);
}

// Streams.

struct Steps : testing::Test {
  void start(SiteOptions options = {}) {
    site.emplace(std::move(options));
    site->server.tool("steps", "", [](Context& cx) {
      for (int i = 1; i <= 2; ++i) cx.progress(i);
      return "done";
    });
    session = site->connect();
  }
  /// Makes a stream of three events that is over; gives the id of its first.
  std::string run(int id = 1) {
    FakeExchange& x = site->send(
        Site::in(session, Site::tool_body(std::to_string(id), "steps", "{}", with_token)));
    EXPECT_TRUE(x.ended());
    EXPECT_GE(x.events().size(), 3u);
    const std::string id_of_last = *x.events().back().id;
    return id_of_last.substr(0, id_of_last.rfind('.') + 1) + "1";
  }
  int resume(const std::string& id) { return site->send(Site::get(session, id)).status; }

  std::optional<Site> site;
  std::string session;
};

TEST_F(Steps, StreamsThatCanBeComeBackTo) {
  for (const int more : {-1, 0, 1}) {
    start();
    std::vector<std::string> streams;
    const int most = static_cast<int>(Limits{}.session_streams);
    for (int i = 1; i <= most + more; ++i) streams.push_back(run(i));
    EXPECT_EQ(resume(streams[0]), more > 0 ? 400 : 200) << more;
    EXPECT_EQ(resume(streams[1]), 200) << more;
    EXPECT_EQ(resume(streams.back()), 200) << more;
  }
}

TEST_F(Steps, TimeAStreamCanBeComeBackTo) {
  start();
  const std::string stream = run();
  site->pass(Limits{}.stream_time - 1ns);
  EXPECT_EQ(resume(stream), 200);
  site->pass(1ns);
  EXPECT_EQ(resume(stream), 400);
}

TEST_F(Steps, EventsAndBytesThatAreKeptOfAStream) {
  auto probe = std::make_shared<MemoryEventStore>();
  SiteOptions options;
  options.endpoint.events = probe;
  start(std::move(options));
  run();
  const std::size_t size = probe->bytes();
  for (const std::size_t most : {size - 1, size, size + 1}) {
    start(options_with([&](Limits& limits) { limits.stream_bytes = most; }));
    const std::string first = run();
    const std::string before = first.substr(0, first.size() - 1) + "0";
    EXPECT_EQ(resume(before), most < size ? 400 : 200) << "its oldest event goes first";
    EXPECT_EQ(resume(first), 200) << "and nothing else";
  }
  for (const std::size_t most : {2u, 3u, 4u}) {
    start(options_with([&](Limits& limits) { limits.stream_events = most; }));
    const std::string first = run();
    EXPECT_EQ(resume(first.substr(0, first.size() - 1) + "0"), most < 3 ? 400 : 200);
    EXPECT_EQ(resume(first), 200);
  }
}

TEST_F(Steps, BytesThatAreKeptInAll) {
  auto probe = std::make_shared<MemoryEventStore>();
  SiteOptions options;
  options.endpoint.events = probe;
  start(std::move(options));
  run(1);
  run(2);
  const std::size_t size = probe->bytes();
  for (const std::size_t most : {size - 1, size, size + 1}) {
    start(options_with([&](Limits& limits) { limits.event_store_bytes = most; }));
    const std::string first = run(1);
    const std::string second = run(2);
    const auto whole = [](const std::string& id) { return id.substr(0, id.size() - 1) + "0"; };
    EXPECT_EQ(resume(whole(first)), most < size ? 400 : 200) << "the quietest stream goes first";
    EXPECT_EQ(resume(whole(second)), 200);
  }
}

TEST(WebLimits, SilenceOnAStream) {
  const Duration most = Limits{}.sse_keep_alive;
  for (const std::string_view revision : {plain, test::legacy_revision}) {
    Site site;
    Parked parked;
    site.server.tool("wait", "", parked.handler());
    const std::string session = site.connect(revision);
    FakeExchange& stream = site.send(Site::get(session));
    FakeExchange& call =
        site.send(Site::in(session, Site::tool_body("1", "wait", "{}", with_token)));
    parked.replies[0].context().progress(1);
    site.process();
    const std::size_t quiet = stream.pieces.size(), busy = call.pieces.size();
    site.pass(most - 1ns);
    EXPECT_EQ(stream.pieces.size(), quiet) << revision;
    // One that spoke meanwhile is not silent; the other is not spared by it.
    parked.replies[0].context().progress(2);
    site.process();
    EXPECT_EQ(call.pieces.size(), busy + 1);
    site.pass(1ns);
    ASSERT_EQ(stream.pieces.size(), quiet + 1) << revision;
    EXPECT_EQ(stream.pieces.back(), ":\n\n");
    EXPECT_EQ(call.pieces.size(), busy + 1);
    site.pass(most - 2ns);
    EXPECT_EQ(call.pieces.size(), busy + 1);
    site.pass(1ns);
    EXPECT_EQ(call.pieces.size(), busy + 2) << revision;
    EXPECT_EQ(stream.pieces.size(), quiet + 1);
    site.pass(1ns);
    EXPECT_EQ(stream.pieces.size(), quiet + 2) << revision;
  }
}

TEST(WebLimits, BytesThatWaitForAClient) {
  // Each event is written if no more than four times the bound waits before it.
  for (const int more : {-1, 0, 1}) {
    for (const bool modern : {true, false}) {
      Site site(options_with([](Limits& limits) { limits.output_queue_bytes = 1000; }));
      Parked parked;
      site.server.tool("wait", "", parked.handler());
      FakeExchange& x =
          modern
              ? site.send(Site::modern_tool("7", "wait", "{}", with_token))
              : site.send(Site::in(site.connect(), Site::tool_body("7", "wait", "{}", with_token)));
      x.stuck = true;
      const auto say = [&](double step, std::size_t size) {
        parked.replies[0].context().progress(step, {}, std::string(size, 'x'));
        site.process();
      };
      say(1, 0);
      const std::size_t before = x.body.size();
      say(2, 0);
      const std::size_t event = x.body.size() - before;  // without its text
      say(3, static_cast<std::size_t>(4000 + more) - x.body.size() - event - 13);
      // 13 is `,"message":""` which an empty text does not have.
      const std::size_t waits = x.body.size();
      EXPECT_TRUE(x.streaming());
      say(4, 0);
      EXPECT_EQ(x.aborted(), waits > 4000) << waits << (modern ? " modern" : " legacy");
      EXPECT_EQ(waits, static_cast<std::size_t>(4000 + more));
    }
  }
}

// With sockets.

TEST(WebLimits, AnAnswerAsLargeAsAllowedArrivesHoweverItTravels) {
  Loop loop;
  Parked parked;
  Server server{test::server_options()};
  server.tool("wait", "", parked.handler());
  auto web = WebServer::listen(loop, server, {"127.0.0.1", 0}, {.endpoint = {.sse_path = "/sse"}});
  ASSERT_TRUE(web);
  const auto post = [&](std::string_view session, std::string_view body) {
    return "POST /mcp HTTP/1.1\r\nHost: " + web->address() +
           "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" +
           (session.empty() ? "" : "Mcp-Session-Id: " + std::string(session) + "\r\n") +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
  };
  for (const std::string_view revision : {plain, test::legacy_revision}) {
    // It reads all the time, but the system takes little at once.
    test::RawClient client(loop, web->address(), 4096);
    const std::string session =
        client.ask(post("", Site::initialize_body(revision))).field("mcp-session-id");
    for (const int more : {-1, 0, 1}) {
      const std::size_t calls = parked.replies.size();
      client.send(post(session, Site::tool_body("1", "wait")));
      ASSERT_TRUE(test::run_until(loop, [&] { return parked.replies.size() > calls; }));
      const std::size_t frame =
          std::string_view(
              R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":""}]}})")
              .size();
      const std::string text(
          Limits{}.message_bytes_out - frame + static_cast<std::size_t>(more + 1) - 1, 'x');
      parked.replies.back()(text);
      const test::RawResponse answer = client.response();
      EXPECT_EQ(answer.status, 200);
      if (more > 0) {
        EXPECT_NE(answer.body.find("response too large"), std::string::npos);
      } else {
        EXPECT_NE(answer.body.find(text), std::string::npos)
            << revision << ": " << answer.body.size() << " of " << text.size();
      }
      ASSERT_FALSE(client.ended) << "the connection goes on";
    }
  }
}

}  // namespace
}  // namespace godwit::inline v0
