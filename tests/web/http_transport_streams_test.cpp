// The streams that HttpTransport hears a session on: opened, come back to, given up.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "http_rig.hpp"

namespace godwit::inline v0 {
namespace {

TEST(HttpTransport, HearsTheServerOnAStreamOfItsOwn) {
  std::atomic<int> streams = 0;
  Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
    if (request.method != "GET") {
      if (!request.body_has("\"result\"")) return false;
      peer.respond(202, "", "");
      return true;
    }
    peer.begin_events();
    if (++streams == 1) {
      peer.write(
          "retry: 40\nid: e1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/a\"}\n\n");
      peer.cut();
      return true;
    }
    peer.event(R"({"jsonrpc":"2.0","id":"s","method":"ping"})");
    peer.wait_for_end();
    return true;
  }));
  rig.begin();
  EXPECT_EQ(rig.got(0)["method"], "notifications/a");
  EXPECT_EQ(rig.got(1)["method"], "ping");
  rig.post(R"({"jsonrpc":"2.0","id":"s","result":{}})");
  ASSERT_TRUE(run_until(rig.loop, [&] { return rig.server.seen("POST").size() == 3; }));
  const auto gets = rig.server.seen("GET");
  ASSERT_EQ(gets.size(), 2u);
  EXPECT_FALSE(gets[0].has("last-event-id"));
  EXPECT_EQ(gets[1].field("last-event-id"), "e1");
  EXPECT_GE(gets[1].when - gets[0].when, 40ms);
  EXPECT_EQ(rig.to.messages.size(), 2u);
}

TEST(HttpTransport, ComesBackToAStreamThatBroke) {
  // As a server that polls does it: the first connection says where to resume, and when.
  std::atomic<int> gets = 0;
  std::string id;
  std::chrono::steady_clock::time_point cut;
  Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
    if (request.body_has("tools/call")) {
      id = request.id();
      peer.begin_events();
      peer.write("id: a\nretry: 120\ndata: \n\n");
      cut = std::chrono::steady_clock::now();
      peer.cut();
      return true;
    }
    if (request.method != "GET" || !request.has("last-event-id")) return false;
    peer.begin_events();
    if (++gets == 1) {
      peer.write("id: b\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/p\"}\n\n");
      peer.reset();
      return true;
    }
    const std::string answer = R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":{"done":true}})";
    peer.write("id: c\ndata: " + answer + "\n\n");
    peer.write("id: d\ndata: " + answer + "\n\n");  // a second answer is none
    peer.cut();
    return true;
  }));
  rig.begin();
  rig.call(2, "tools/call", R"({"name":"x"})");
  EXPECT_EQ(rig.got(0)["method"], "notifications/p");
  EXPECT_EQ(rig.got(1)["result"]["done"], true);
  rig.idle(200ms);
  EXPECT_EQ(rig.to.messages.size(), 2u);
  std::vector<SeenRequest> resumed = rig.server.seen("GET");
  std::erase_if(resumed, [](const SeenRequest& each) { return !each.has("last-event-id"); });
  ASSERT_EQ(resumed.size(), 2u);
  EXPECT_EQ(resumed[0].field("last-event-id"), "a");
  EXPECT_EQ(resumed[0].field("mcp-session-id"), "s-1");
  EXPECT_EQ(resumed[1].field("last-event-id"), "b");
  EXPECT_GE(resumed[0].when - cut, 120ms);
  EXPECT_LE(resumed[0].when - cut, 320ms);
}

TEST(HttpTransport, GivesUpComingBack) {
  for (const int status : {400, 503}) {
    Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
      if (request.body_has("tools/call")) {
        peer.begin_events();
        peer.write("id: a\nretry: 1\n\n");
        peer.cut();
        return true;
      }
      if (request.method != "GET" || !request.has("last-event-id")) return false;
      peer.respond(status, "", "");
      return true;
    }));
    rig.begin();
    rig.call(2, "tools/call", R"({"name":"x"})");
    EXPECT_THAT(rig.error(), HasSubstr("is lost"));
    EXPECT_EQ(rig.got()["id"], 2);
    std::vector<SeenRequest> resumed = rig.server.seen("GET");
    std::erase_if(resumed, [](const SeenRequest& each) { return !each.has("last-event-id"); });
    EXPECT_EQ(resumed.size(), status == 400 ? 1u : 5u);
  }
}

TEST(HttpTransport, DoesNotComeBackWithoutAnEventId) {
  Rig rig(stateful([](Peer& peer, const SeenRequest& request) {
    if (!request.body_has("tools/call")) return false;
    peer.begin_events();
    peer.event(R"({"jsonrpc":"2.0","method":"notifications/p"})");
    peer.cut();
    return true;
  }));
  rig.begin();
  rig.call(2, "tools/call", R"({"name":"x"})");
  EXPECT_THAT(rig.error(1), HasSubstr("without an answer"));
}

TEST(HttpTransport, ClosesWhenTheStreamShowsThatTheSessionIsGone) {
  std::atomic<int> streams = 0;
  Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
    if (request.method != "GET") return false;
    if (++streams > 1) {
      peer.respond(404, "", "");
      return true;
    }
    peer.begin_events();
    peer.write("retry: 5\nid: e1\ndata:\n\n");
    peer.cut();
    return true;
  }));
  rig.begin();
  ASSERT_TRUE(run_until(rig.loop, [&] { return rig.to.closed == 1; }));
  EXPECT_THAT(rig.to.why, HasSubstr("ended the session"));
  EXPECT_EQ(streams, 2);
  EXPECT_EQ(rig.server.seen("DELETE").size(), 0u);
}

TEST(HttpTransport, OpensAStreamAgainThatWasCutBeforeItBegan) {
  std::atomic<int> streams = 0;
  Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
    if (request.method != "GET") return false;
    if (++streams == 1) {
      peer.cut();
      return true;
    }
    peer.begin_events();
    peer.event(R"({"jsonrpc":"2.0","method":"notifications/a"})");
    peer.wait_for_end();
    return true;
  }));
  rig.begin();
  EXPECT_EQ(rig.got(0)["method"], "notifications/a");
}

TEST(HttpTransport, OpensAStreamAnewThatCannotBeResumed) {
  std::atomic<int> streams = 0;
  Rig rig(stateful([&](Peer& peer, const SeenRequest& request) {
    if (request.method != "GET") return false;
    if (++streams == 2) {
      peer.respond(400, "", "");
      return true;
    }
    peer.begin_events();
    peer.write("retry: 5\nid: e1\ndata:\n\n");
    if (streams == 1) {
      peer.cut();
    } else {
      peer.event(R"({"jsonrpc":"2.0","method":"notifications/a"})");
      peer.wait_for_end();
    }
    return true;
  }));
  rig.begin();
  EXPECT_EQ(rig.got(0)["method"], "notifications/a");
  const auto gets = rig.server.seen("GET");
  ASSERT_EQ(gets.size(), 3u);
  EXPECT_TRUE(gets[1].has("last-event-id"));
  EXPECT_FALSE(gets[2].has("last-event-id"));
  EXPECT_THAT(rig.lines, testing::Contains(HasSubstr("is lost")));
}

}  // namespace
}  // namespace godwit::inline v0
