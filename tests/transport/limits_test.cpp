// What a peer may cost on plain JSON-RPC over HTTP and WebSocket: each limit one below, at it and
// one above, with what happens then. Framing has its own tests for messages that are too long.
#include "godwit/base/limits.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "godwit/base/clock.hpp"
#include "godwit/io/connector.hpp"
#include "godwit/rpc/reply.hpp"
#include "godwit/transport/rpc_server.hpp"
#include "godwit/transport/stream_transport.hpp"
#include "godwit/transport/websocket.hpp"
#include "raw_client.hpp"
#include "raw_end.hpp"
#include "receiver.hpp"
#include "wait.hpp"
#include "websocket_frames.hpp"

namespace godwit {
namespace {

using namespace std::chrono_literals;
using test::RawClient;
using test::RawEnd;
using test::RawResponse;
using test::run_until;
using test::ws_close;
using test::ws_frame;
using test::ws_unmasked;
using testing::HasSubstr;

// --- HTTP

struct Station {
  explicit Station(const Limits& limits) {
    router->on("long", [](std::size_t size) { return std::string(size, 'x'); });
    router->on("later", [this](rpc::Reply<int> reply) { replies.push_back(std::move(reply)); });
    server.emplace(loop, router, rpc::PeerOptions{.limits = limits});
    address = server->listen_http({.host = "127.0.0.1", .port = 0}, {}).value();
  }
  std::unique_ptr<RawClient> connect() { return std::make_unique<RawClient>(loop, address); }
  std::string post(std::string_view body) const {
    return "POST / HTTP/1.1\r\nHost: " + address +
           "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + std::string(body);
  }
  RawResponse ask(std::string_view body) { return connect()->ask(post(body)); }

  std::vector<rpc::Reply<int>> replies;
  std::shared_ptr<rpc::Router> router = std::make_shared<rpc::Router>();
  Loop loop;
  std::optional<RpcServer> server;
  std::string address;
};

const std::string later = R"({"jsonrpc":"2.0","id":1,"method":"later"})";

TEST(RpcHttpLimits, RequestsInFlightInTheProcess) {
  Station station({.process_in_flight = 3});
  std::vector<std::unique_ptr<RawClient>> clients;
  for (std::size_t i = 1; i <= 3; ++i) {
    clients.push_back(station.connect());
    clients.back()->send(station.post(later));
    ASSERT_TRUE(run_until(station.loop, [&] { return station.replies.size() == i; }));
  }
  const RawResponse refused = station.ask(later);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.field("retry-after"), "1");
  EXPECT_THAT(refused.body, HasSubstr("busy"));
  EXPECT_EQ(station.replies.size(), 3u) << "it was run all the same";
  station.replies[0](7);
  EXPECT_EQ(clients[0]->response().status, 200);
  clients[0]->send(station.post(later));
  EXPECT_TRUE(run_until(station.loop, [&] { return station.replies.size() == 4; }));
}

TEST(RpcHttpLimits, RequestsInFlightOfABatch) {
  for (const std::size_t entries : {2u, 3u, 4u}) {
    Station station({.in_flight = 3});
    std::string body;
    for (std::size_t i = 1; i <= entries; ++i) {
      body += (i == 1 ? "[" : ",") + std::string(R"({"jsonrpc":"2.0","id":)") + std::to_string(i) +
              R"(,"method":"later"})";
    }
    auto client = station.connect();
    client->send(station.post(body + "]"));
    const std::size_t runs = std::min<std::size_t>(entries, 3);
    ASSERT_TRUE(run_until(station.loop, [&] { return station.replies.size() == runs; }));
    for (auto& reply : station.replies) reply(7);
    const RawResponse answer = client->response();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body.find("busy") != answer.body.npos, entries > 3) << answer.body;
  }
}

TEST(RpcHttpLimits, EntriesOfABatch) {
  const std::size_t most = Limits{}.batch_entries;
  for (const std::size_t entries : {most - 1, most, most + 1}) {
    Station station({});
    std::string body;
    for (std::size_t i = 1; i <= entries; ++i) {
      body += (i == 1 ? "[" : ",") + std::string(R"({"jsonrpc":"2.0","id":)") + std::to_string(i) +
              R"(,"method":"long","params":[1]})";
    }
    const RawResponse answer = station.ask(body + "]");
    EXPECT_EQ(answer.status, entries > most ? 400 : 200);
    EXPECT_EQ(answer.body.find("-32600") != answer.body.npos, entries > most) << answer.body;
    EXPECT_EQ(answer.body.find("\"result\"") != answer.body.npos, entries <= most);
  }
}

TEST(RpcHttpLimits, BytesOfAnAnswer) {
  const std::size_t frame = std::string_view(R"({"jsonrpc":"2.0","id":1,"result":""})").size();
  Station station({.message_bytes_out = 1000});
  auto client = station.connect();
  for (const std::size_t size : {999u, 1000u, 1001u, 999u}) {  // the connection lives
    const RawResponse answer =
        client->ask(station.post(R"({"jsonrpc":"2.0","id":1,"method":"long","params":[)" +
                                 std::to_string(size - frame) + "]}"));
    EXPECT_EQ(answer.status, 200);
    if (size <= 1000) {
      EXPECT_EQ(answer.body.size(), size);
    } else {
      EXPECT_THAT(answer.body, HasSubstr("-32603"));
      EXPECT_THAT(answer.body, HasSubstr("response too large"));
    }
  }
}

TEST(RpcHttpLimits, ShapeOfJson) {
  const auto items = [](std::size_t n) {
    std::string out = "[0";
    for (std::size_t i = 1; i < n; ++i) out += ",0";
    return out + "]";
  };
  const auto members = [](std::size_t n) {
    std::string out;
    for (std::size_t i = 0; i < n; ++i) {
      out += (i == 0 ? "{\"" : ",\"") + std::to_string(i) + "\":0";
    }
    return out + "}";
  };
  const struct {
    std::size_t Limits::* limit;
    std::function<std::string(std::size_t)> params;  // that need so much
  } cases[] = {
      {&Limits::json_depth,
       [](std::size_t n) { return std::string(n - 1, '[') + std::string(n - 1, ']'); }},
      {&Limits::json_items, items},
      {&Limits::json_members, members},
      {&Limits::json_key_bytes,
       [](std::size_t n) { return R"({")" + std::string(n, 'k') + R"(":0})"; }},
      {&Limits::json_number_chars,
       [](std::size_t n) { return "[0." + std::string(n - 2, '7') + "]"; }},
  };
  for (const auto& one : cases) {
    for (const std::size_t needs : {19u, 20u, 21u}) {
      Limits limits;
      limits.*one.limit = 20;
      Station station(limits);
      const std::string body =
          R"({"jsonrpc":"2.0","id":1,"method":"nothing","params":)" + one.params(needs) + "}";
      const RawResponse answer = station.ask(body);
      EXPECT_EQ(answer.status, needs > 20 ? 400 : 200) << body;
      EXPECT_THAT(answer.body, HasSubstr(needs > 20 ? "-32700" : "-32601")) << body;
    }
  }
}

// --- a stream of lines

TEST(StreamLimits, BytesThatWaitForTheOtherSide) {
  struct Pair {
    explicit Pair(const Limits& limits = {}) {
      int pair[2] = {-1, -1};
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
      far = Descriptor(pair[1]);
      transport = std::make_unique<StreamTransport>(loop, *Stream::open(loop, Descriptor(pair[0])),
                                                    Framing::newline, limits);
      transport->start(seen);
    }
    /// Gives how much of a large message the system did not take.
    std::size_t fill(std::size_t size) {
      test::send(*transport, std::string(size, 'x'));
      return transport->unsent();
    }
    Loop loop;
    Descriptor far;
    test::Recorder seen;
    std::unique_ptr<StreamTransport> transport;
  };
  std::size_t size = 4u << 20;
  size -= Pair().fill(size) % 4;
  const std::size_t waiting = Pair().fill(size);
  ASSERT_EQ(waiting % 4, 0u);
  for (const int more : {-1, 0, 1}) {
    Pair pair({.output_queue_bytes = waiting / 4 + static_cast<std::size_t>(more + 1) - 1});
    ASSERT_EQ(pair.fill(size), waiting);
    test::send(*pair.transport, "one more");
    if (more < 0) {  // it is given up if more than four times the bound waits
      EXPECT_TRUE(run_until(pair.loop, [&] { return pair.seen.closed == 1; }));
      EXPECT_THAT(pair.seen.why, HasSubstr("does not read"));
    } else {
      pair.loop.run_for(30ms);
      EXPECT_EQ(pair.seen.closed, 0);
    }
  }
}

// --- WebSocket

/// A WebSocket whose handshake is done, a clock that is moved by hand, bytes at the other end.
struct Wire {
  explicit Wire(const Limits& limits = {}) {
    int pair[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    raw.emplace(*Stream::open(loop, Descriptor(pair[1])));
    socket = std::make_unique<WebSocketTransport>(
        loop, *Stream::open(loop, Descriptor(pair[0])), WebSocketSide::server, std::string_view(),
        WebSocketOptions{.limits = limits, .clock = &clock});
    socket->start(seen);
  }
  bool until(auto condition) { return run_until(loop, condition); }
  /// Lets everything happen that is due.
  void settle() { loop.run_for(30ms); }

  ManualClock clock;
  Loop loop;
  std::optional<RawEnd> raw;
  test::Recorder seen;
  std::unique_ptr<WebSocketTransport> socket;
};

TEST(WebSocketLimits, PiecesOfAMessage) {
  const std::size_t most = Limits{}.ws_fragments;
  for (const std::size_t pieces : {most - 1, most, most + 1}) {
    Wire wire;
    std::string bytes;
    for (std::size_t i = 1; i <= pieces; ++i) {
      bytes += ws_frame("x", {.opcode = i == 1 ? 1 : 0, .final = i == pieces});
    }
    wire.raw->say(bytes);
    if (pieces <= most) {
      ASSERT_TRUE(wire.until([&] { return wire.seen.messages.size() == 1; }));
      EXPECT_EQ(wire.seen.messages[0].size(), pieces);
      EXPECT_EQ(wire.seen.closed, 0);
    } else {
      ASSERT_TRUE(wire.until([&] { return wire.raw->ended; }));
      EXPECT_EQ(wire.raw->got.substr(2, 2), "\x03\xf0") << "1008";
      EXPECT_TRUE(wire.seen.messages.empty());
    }
  }
}

TEST(WebSocketLimits, ControlFramesInASecond) {
  const auto pongs = [](std::size_t count) {
    std::string bytes;
    for (std::size_t i = 0; i < count; ++i) bytes += ws_frame("", {.opcode = 10});
    return bytes;
  };
  const std::size_t most = Limits{}.ws_control_frames;
  for (const std::size_t count : {most - 1, most, most + 1}) {
    Wire wire;
    wire.raw->say(pongs(count) + ws_frame("message"));
    if (count <= most) {
      ASSERT_TRUE(wire.until([&] { return wire.seen.messages.size() == 1; }));
    } else {
      ASSERT_TRUE(wire.until([&] { return wire.raw->ended; }));
      EXPECT_EQ(wire.raw->got, ws_close(1008, "too many control frames", false));
    }
  }
  // The second runs from the first of them.
  for (const Duration later_by : {Duration(1s) - 1ns, Duration(1s)}) {
    Wire wire;
    wire.raw->say(pongs(most) + ws_frame("message"));
    ASSERT_TRUE(wire.until([&] { return wire.seen.messages.size() == 1; }));
    wire.clock.advance(later_by);
    wire.raw->say(pongs(1) + ws_frame("message"));
    ASSERT_TRUE(wire.until([&] { return wire.raw->ended || wire.seen.messages.size() == 2; }));
    EXPECT_EQ(wire.raw->ended, later_by < 1s);
  }
}

TEST(WebSocketLimits, SilenceBeforeAPingAndAfterIt) {
  Wire wire({.ws_ping_time = 10ms});  // how often it looks; what it sees is the clock's
  const std::string ping = ws_unmasked("", 9);
  wire.clock.advance(10ms - 1ns);
  wire.settle();
  EXPECT_EQ(wire.raw->got, "");
  wire.clock.advance(1ns);
  ASSERT_TRUE(wire.until([&] { return wire.raw->got == ping; }));
  // Any byte begins it anew.
  wire.raw->say(ws_frame("message"));
  ASSERT_TRUE(wire.until([&] { return wire.seen.messages.size() == 1; }));
  wire.clock.advance(10ms - 1ns);
  wire.settle();
  EXPECT_EQ(wire.raw->got, ping);
  wire.clock.advance(1ns);
  ASSERT_TRUE(wire.until([&] { return wire.raw->got == ping + ping; }));
  wire.clock.advance(10ms - 1ns);
  wire.settle();
  EXPECT_EQ(wire.seen.closed, 0);
  EXPECT_EQ(wire.raw->got, ping + ping) << "one is enough";
  wire.clock.advance(1ns);
  ASSERT_TRUE(wire.until([&] { return wire.seen.closed == 1; }));
  EXPECT_THAT(wire.seen.why, HasSubstr("not even to a ping"));
}

TEST(WebSocketLimits, TimeForTheGoodbye) {
  {
    Wire wire({.ws_close_time = 30ms});
    wire.socket->close();
    ASSERT_TRUE(wire.until([&] { return wire.seen.closed == 1; }));
    ASSERT_TRUE(wire.until([&] { return wire.raw->ended; }));
  }
  Wire patient({.ws_close_time = 1h});
  patient.socket->close();
  patient.loop.run_for(100ms);
  EXPECT_EQ(patient.seen.closed, 0);
  patient.raw->say(ws_close(1000));
  ASSERT_TRUE(patient.until([&] { return patient.seen.closed == 1; }));
}

TEST(WebSocketLimits, BytesThatWaitForTheOtherSide) {
  // How much of a large message the system does not take.
  const auto fill = [](Wire& wire, std::size_t size) {
    wire.raw->stream->pause();
    test::send(*wire.socket, std::string(size, 'x'));
    return wire.socket->unsent();
  };
  std::size_t size = 4u << 20;
  {
    Wire wire;
    size -= fill(wire, size) % 4;
  }
  std::size_t waiting = 0;
  {
    Wire wire;
    waiting = fill(wire, size);
    ASSERT_EQ(waiting % 4, 0u);
  }
  for (const int more : {-1, 0, 1}) {
    const std::size_t bound = waiting / 4 + static_cast<std::size_t>(more + 1) - 1;
    Wire wire({.output_queue_bytes = bound});
    ASSERT_EQ(fill(wire, size), waiting);
    test::send(*wire.socket, "one more");
    EXPECT_EQ(wire.socket->unsent() == 0, more < 0) << "it is given up if more than this waits";
    if (more < 0) {
      EXPECT_TRUE(wire.until([&] { return wire.seen.closed == 1; }));
    } else {
      wire.settle();
      EXPECT_EQ(wire.seen.closed, 0);
    }
  }
}

}  // namespace
}  // namespace godwit
