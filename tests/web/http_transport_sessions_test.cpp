// HttpTransport with servers that give a session, and with those of the transport before.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "http_rig.hpp"

namespace godwit::inline v0 {
namespace {

TEST(HttpTransport, CarriesTheSession) {
  Rig rig(stateful(nothing));
  rig.begin();
  rig.call(2, "tools/list");
  ASSERT_TRUE(rig.wait(1));
  rig.transport->close();
  rig.loop.run();  // nothing keeps it
  EXPECT_EQ(rig.to.closed, 1);
  const auto seen = rig.server.seen();
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_FALSE(seen[0].has("mcp-session-id"));
  EXPECT_FALSE(seen[0].has("mcp-protocol-version"));
  std::vector<std::string> methods;
  for (std::size_t i = 1; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].field("mcp-session-id"), "s-1");
    EXPECT_EQ(seen[i].field("mcp-protocol-version"), legacy);
    EXPECT_FALSE(seen[i].has("mcp-method"));
    methods.push_back(seen[i].method);
  }
  EXPECT_TRUE(seen[1].body_has("notifications/initialized"));
  EXPECT_EQ(methods.back(), "DELETE");
  EXPECT_EQ(rig.server.seen("GET").size(), 1u);
  EXPECT_EQ(rig.server.seen("GET")[0].field("accept"), "text/event-stream");
  for (const std::string& line : rig.lines) ADD_FAILURE() << line;  // a 405 is no complaint
}

TEST(HttpTransport, LetsNoRequestOvertakeTheHandshake) {
  std::atomic<bool> taken = false;
  std::atomic<bool> early = false;
  Rig rig([&](Peer& peer) {
    while (const auto request = peer.read()) {
      if (request->body_has("notifications/initialized")) {
        std::this_thread::sleep_for(20ms);
        taken = true;
        peer.respond(202, "", "");
      } else if (request->method == "GET") {
        peer.respond(405, "", "");
      } else {
        if (!request->body_has("\"initialize\"") && !taken) early = true;
        peer.json(result(*request, R"({"protocolVersion":"2025-06-18"})"));
      }
    }
  });
  rig.begin();
  rig.call(2, "tools/list");
  ASSERT_TRUE(rig.wait(1));
  EXPECT_FALSE(early);
}

TEST(HttpTransport, ClosesWhenTheSessionIsGone) {
  std::atomic<bool> gone = false;
  Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
    if (!gone || request.method == "GET") return false;
    peer.respond(404, "application/json",
                 R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"no such session"}})");
    return true;
  }));
  rig.begin();
  rig.call(2, "tools/list");
  ASSERT_TRUE(rig.wait(1));
  gone = true;
  rig.call(3, "tools/call", R"({"name":"x"})");
  rig.call(4, "tools/call", R"({"name":"y"})");
  ASSERT_TRUE(run_until(rig.loop, [&] { return rig.to.closed == 1; }));
  ASSERT_EQ(rig.to.messages.size(), 3u);
  ASSERT_EQ(rig.to.failures.size(), 2u);
  for (const Error& error : rig.to.failures) EXPECT_TRUE(HttpTransport::is_session_ended(error));
  EXPECT_THAT(rig.to.why, HasSubstr("ended the session"));
  EXPECT_EQ(rig.server.seen("DELETE").size(), 0u);
}

TEST(HttpTransport, ClosesIfTheEndOfTheHandshakeIsLost) {
  Rig rig(each([](Peer& peer, const SeenRequest& request) {
    if (request.body_has("notifications/")) return peer.cut();
    peer.json(result(request, R"({"protocolVersion":")" + std::string(legacy) + "\"}"),
              "Mcp-Session-Id: s-1\r\n");
  }));
  rig.begin();
  ASSERT_TRUE(run_until(rig.loop, [&] { return rig.to.closed == 1; }));
  EXPECT_THAT(rig.to.why, HasSubstr("notifications/initialized"));
}

TEST(HttpTransport, CancelsByANotification) {
  std::atomic<int> ended = 0;
  Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
    if (!request.body_has("tools/call")) return false;
    peer.begin_events();
    peer.wait_for_end();
    ++ended;
    peer.cut();
    return true;
  }));
  rig.begin();
  rig.call(2, "tools/call", R"({"name":"x"})");
  ASSERT_TRUE(run_until(rig.loop, [&] { return rig.server.seen("POST").size() == 3; }));
  rig.post(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}})");
  ASSERT_TRUE(
      run_until(rig.loop, [&] { return ended == 1 && rig.server.seen("POST").size() == 4; }));
  EXPECT_TRUE(rig.server.seen("POST")[3].body_has("notifications/cancelled"));
  EXPECT_TRUE(rig.to.messages.empty());
}

TEST(HttpTransport, ClosesInTimeWhateverTheServerDoes) {
  Rig rig(stateful([](Peer& peer, const SeenRequest& request) {
            if (request.method == "POST" && !request.body_has("tools/call")) return false;
            if (request.method == "GET") peer.begin_events();
            peer.wait_for_end();  // says nothing to DELETE
            peer.cut();
            return true;
          }),
          [](HttpTransportOptions& options) { options.limits.eof_grace = 50ms; });
  rig.begin();
  rig.call(2, "tools/call", R"({"name":"x"})");
  ASSERT_TRUE(run_until(rig.loop, [&] { return rig.server.seen("GET").size() == 1; }));
  rig.transport->close();
  rig.transport->close();
  bool flushed = false;
  rig.transport->when_flushed([&] { flushed = true; });
  const auto before = std::chrono::steady_clock::now();
  ASSERT_TRUE(run_until(rig.loop, [&] { return rig.to.closed == 1 && flushed; }));
  EXPECT_LT(std::chrono::steady_clock::now() - before, 5s);
  rig.call(3, "tools/list");
  rig.idle();
  EXPECT_EQ(rig.to.closed, 1);
  EXPECT_TRUE(rig.to.messages.empty());
}

TEST(HttpTransport, SendsWhatWasSaidBeforeTheEnd) {
  Rig rig(stateful(nothing));
  rig.begin();
  rig.post(R"({"jsonrpc":"2.0","method":"notifications/last"})");
  rig.transport->close();
  ASSERT_TRUE(run_until(rig.loop, [&] { return rig.to.closed == 1; }));
  const auto seen = rig.server.seen();
  EXPECT_EQ(seen.back().method, "DELETE");
  EXPECT_TRUE(std::ranges::any_of(
      seen, [](const SeenRequest& each) { return each.body_has("notifications/last"); }));
}

TEST(HttpTransport, LeavesNothingBehind) {
  Loop other;
  ScriptServer quiet(stateful(nothing));
  const std::size_t before = godwit::test::open_descriptors();
  {
    Rig rig(stateful([](Peer& peer, const SeenRequest& request) {
      if (request.method != "GET") return false;
      peer.begin_events();
      peer.wait_for_end();
      peer.cut();
      return true;
    }));
    rig.begin();
    rig.call(2, "tools/list");
    ASSERT_TRUE(rig.wait(1));
    rig.transport.reset();  // without close(): nothing is waited for
    rig.loop.run();         // and nothing is left to do
  }
  EXPECT_LE(godwit::test::open_descriptors(), before);
}

// The transport before Streamable HTTP.

/// A server of 2024: a stream, and an address for messages.
struct OldServer {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> events;
  std::string endpoint = "/messages?session=1";
  bool over = false;

  void push(std::string event) {
    const std::lock_guard lock(mutex);
    events.push_back(std::move(event));
    changed.notify_all();
  }
  void end() {
    const std::lock_guard lock(mutex);
    over = true;
    changed.notify_all();
  }
  ScriptServer::Script script() {
    return [this](Peer& peer) {
      while (const auto request = peer.read()) {
        if (request->method == "GET") {
          peer.begin_events();
          peer.write("event: endpoint\ndata: " + endpoint + "\n\n");
          std::unique_lock lock(mutex);
          while (!over) {
            changed.wait(lock, [&] { return over || !events.empty(); });
            for (const std::string& event : std::exchange(events, {})) {
              peer.write("event: message\n");
              peer.event(event);
            }
          }
          peer.cut();
        } else if (request->target != "/messages?session=1") {
          peer.respond(405, "text/plain", "Method Not Allowed");
        } else {
          peer.respond(202, "text/plain", "Accepted");
          if (request->body_has("\"id\"")) {
            push(result(*request, R"({"protocolVersion":"2024-11-05"})"));
          }
        }
      }
    };
  }
};

TEST(HttpTransport, FallsBackToTheOlderTransport) {
  OldServer old;
  Rig rig(old.script());
  rig.call(1, "initialize", R"({"protocolVersion":"2025-11-25"})");
  EXPECT_EQ(rig.got()["result"]["protocolVersion"], "2024-11-05");
  rig.post(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  rig.call(2, "tools/list");
  EXPECT_EQ(rig.got(1)["id"], 2);
  const auto posts = rig.server.seen("POST");
  ASSERT_EQ(posts.size(), 4u);
  EXPECT_EQ(posts[0].target, "/mcp");
  EXPECT_EQ(posts[1].target, "/messages?session=1");
  EXPECT_FALSE(posts[2].has("mcp-protocol-version"));
  EXPECT_EQ(rig.server.seen("GET").size(), 1u);
  EXPECT_EQ(rig.to.closed, 0);
  old.end();
  ASSERT_TRUE(run_until(rig.loop, [&] { return rig.to.closed == 1; }));
  EXPECT_THAT(rig.to.why, HasSubstr("ended the event stream"));
}

TEST(HttpTransport, PostsNowhereElse) {
  OldServer old;
  old.endpoint = "http://evil.example/steal";
  Rig rig(old.script());
  rig.call(1, "initialize", R"({"protocolVersion":"2025-11-25"})");
  EXPECT_THAT(rig.error(), HasSubstr("405"));
  EXPECT_EQ(rig.server.seen("POST").size(), 1u);
  old.end();
}

TEST(HttpTransport, WaitsForAnEndpointOnlySoLong) {
  Rig rig(each([](Peer& peer, const SeenRequest& request) {
            if (request.method == "POST") {
              peer.respond(404, "", "");
              return;
            }
            peer.begin_events();
            peer.wait_for_end();
            peer.cut();
          }),
          [](HttpTransportOptions& options) { options.endpoint_timeout = 30ms; });
  rig.call(1, "initialize", R"({"protocolVersion":"2025-11-25"})");
  EXPECT_THAT(rig.error(), HasSubstr("HTTP 404"));
  EXPECT_EQ(rig.to.closed, 0);
}

}  // namespace
}  // namespace godwit::inline v0
