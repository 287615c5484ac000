// How long a client of an RpcServer may be silent, and who gives way when there are too many.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "godwit/rpc/reply.hpp"
#include "godwit/transport/rpc_server.hpp"
#include "godwit/transport/socket.hpp"
#include "raw_client.hpp"
#include "wait.hpp"
#include "websocket_frames.hpp"

namespace godwit {
namespace {

using namespace std::chrono_literals;
using test::RawClient;
using test::run_until;
using testing::HasSubstr;

const std::string ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
const std::string later = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"later\"}";

enum class Kind { tcp, websocket };

struct Crowd {
  explicit Crowd(const Limits& limits, Kind which = Kind::tcp) : kind(which) {
    router->on("ping", [] { return "pong"; });
    router->on("later", [this](rpc::Reply<int> reply) { replies.push_back(std::move(reply)); });
    router->on("long", [] { return std::string(8u << 20, 'x'); });
    server.emplace(loop, router, rpc::PeerOptions{.limits = limits, .clock = &clock});
    const Address any{.host = "127.0.0.1", .port = 0};
    address = (kind == Kind::tcp ? server->listen_tcp(any) : server->listen_ws(any)).value();
  }
  std::unique_ptr<RawClient> connect(int receive_buffer = 0) {
    auto client = std::make_unique<RawClient>(loop, address, receive_buffer);
    if (kind == Kind::websocket) {
      client->send("GET / HTTP/1.1\r\nHost: " + address +
                   "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                   "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
      client->wait(
          [&] { return client->in.find("\r\n\r\n") != std::string::npos || client->ended; });
      client->in.clear();
    }
    settle();
    return client;
  }
  void say(RawClient& client, const std::string& message) {
    client.send(kind == Kind::tcp ? message + "\n" : test::ws_frame(message));
  }
  bool works(RawClient& client) {
    client.in.clear();
    say(client, ping);
    return client.wait([&] {
      return client.in.find("pong") != std::string::npos || client.ended;
    }) && !client.ended;
  }
  /// Lets everything happen that can happen now.
  void settle() {
    for (int i = 0; i < 20; ++i) loop.poll();
  }
  bool open(RawClient& client) {
    settle();
    client.take();
    return !client.ended;
  }

  Kind kind;
  ManualClock clock;
  std::vector<rpc::Reply<int>> replies;
  std::shared_ptr<rpc::Router> router = std::make_shared<rpc::Router>();
  Loop loop;
  std::optional<RpcServer> server;
  std::string address;
};

struct RpcServerLimits : testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Over, RpcServerLimits, testing::Values(Kind::tcp, Kind::websocket),
                         [](const auto& each) {
                           return each.param == Kind::tcp ? "tcp" : "websocket";
                         });

/// The bound of a WebSocket listener is that of HTTP: those that are told why they are refused come
/// on top.
std::size_t places(const Crowd& crowd, const Limits& limits) {
  return limits.connections + (crowd.kind == Kind::websocket ? 100 : 0);
}

TEST_P(RpcServerLimits, SilentClientsGiveWay) {
  const Limits limits{.connections = 4};
  Crowd crowd(limits, GetParam());
  auto good = crowd.connect();
  ASSERT_TRUE(crowd.works(*good));
  std::vector<std::unique_ptr<RawClient>> silent;
  for (std::size_t i = 0; i < places(crowd, limits) + 20; ++i) silent.push_back(crowd.connect());
  auto newcomer = crowd.connect();
  EXPECT_TRUE(crowd.works(*newcomer));
  EXPECT_TRUE(crowd.works(*good)) << "it had spoken, the others had not";
  EXPECT_TRUE(silent.front()->wait_end());
  EXPECT_TRUE(crowd.open(*silent.back()));
  EXPECT_LE(crowd.server->connections(), places(crowd, limits));
}

TEST_P(RpcServerLimits, ThenTheOneThatWasQuietForLongest) {
  const Limits limits{.connections = 4};
  Crowd crowd(limits, GetParam());
  std::vector<std::unique_ptr<RawClient>> clients;
  for (std::size_t i = 0; i < places(crowd, limits); ++i) {
    clients.push_back(crowd.connect());
    ASSERT_TRUE(crowd.works(*clients.back()));
  }
  ASSERT_TRUE(crowd.works(*clients[1]));
  crowd.say(*clients[0], later);
  ASSERT_TRUE(run_until(crowd.loop, [&] { return crowd.replies.size() == 1; }));
  ASSERT_TRUE(crowd.works(*clients[2]));
  for (std::size_t i = 3; i < clients.size(); ++i) ASSERT_TRUE(crowd.works(*clients[i]));
  // By now the first one is the quietest but one, and waits for its answer.
  auto one = crowd.connect();
  EXPECT_TRUE(crowd.works(*one));
  EXPECT_TRUE(clients[1]->wait_end());
  auto two = crowd.connect();
  EXPECT_TRUE(crowd.works(*two));
  EXPECT_TRUE(clients[2]->wait_end());
  for (std::size_t i = 3; i < clients.size(); ++i) EXPECT_TRUE(crowd.open(*clients[i])) << i;
  crowd.replies[0](7);
  EXPECT_TRUE(clients[0]->wait([&] { return clients[0]->in.find("7") != std::string::npos; }));
}

// Each may send as much as a message may have; not all of them at the same time.
TEST_P(RpcServerLimits, UnfinishedMessagesTogetherAreBounded) {
  constexpr std::size_t piece = 200u << 10;
  const Limits limits{.process_body_bytes = 1u << 20};
  Crowd crowd(limits, GetParam());
  auto good = crowd.connect();
  ASSERT_TRUE(crowd.works(*good));
  const std::string begun = (crowd.kind == Kind::tcp ? std::string(2 * piece, ' ')
                                                     : test::ws_frame(std::string(2 * piece, ' ')))
                                .substr(0, piece);
  std::vector<std::unique_ptr<RawClient>> hoarders;
  for (int i = 0; i < 12; ++i) {
    hoarders.push_back(crowd.connect());
    hoarders.back()->send(begun);
    crowd.settle();
  }
  EXPECT_TRUE(hoarders.front()->wait_end()) << "it began first";
  EXPECT_THAT(hoarders.front()->in, HasSubstr("unfinished messages"));
  EXPECT_TRUE(crowd.open(*hoarders.back())) << "it began last";
  std::size_t open = 0;
  for (const auto& each : hoarders) open += crowd.open(*each) ? 1u : 0u;
  EXPECT_LE(open, limits.process_body_bytes / piece);
  EXPECT_GE(open, 2u);
  EXPECT_TRUE(crowd.works(*good)) << "it holds nothing";
  // Whoever ends its message is heard.
  std::string whole = ping;
  whole.resize(2 * piece, ' ');
  auto slow = crowd.connect();
  const std::string bytes = crowd.kind == Kind::tcp ? whole + "\n" : test::ws_frame(whole);
  slow->send(bytes.substr(0, piece));
  crowd.settle();
  slow->send(bytes.substr(piece));
  EXPECT_TRUE(slow->wait([&] { return slow->in.find("pong") != std::string::npos; }));
}

TEST(RpcServerBusy, ClientsThatWaitForAnAnswerDoNotGiveWay) {
  Crowd crowd({.connections = 3});
  std::vector<std::unique_ptr<RawClient>> clients;
  for (std::size_t i = 1; i <= 3; ++i) {
    clients.push_back(crowd.connect());
    crowd.say(*clients.back(), later);
    ASSERT_TRUE(run_until(crowd.loop, [&] { return crowd.replies.size() == i; }));
  }
  EXPECT_TRUE(crowd.connect()->wait_end()) << "there is no room for it";
  for (const auto& client : clients) EXPECT_TRUE(crowd.open(*client));
  crowd.replies[1](7);
  auto newcomer = crowd.connect();
  EXPECT_TRUE(crowd.works(*newcomer));
  EXPECT_TRUE(clients[1]->wait_end());
  EXPECT_NE(clients[1]->in.find("7"), std::string::npos);
}

TEST(RpcServerBusy, AFloodOfSilenceDoesNotPushOutANewcomerBeforeItSpeaks) {
  Crowd crowd({.connections = 64});
  std::vector<std::unique_ptr<RawClient>> quiet;
  for (int i = 0; i < 64; ++i) {
    quiet.push_back(crowd.connect());
    ASSERT_TRUE(crowd.works(*quiet.back()));
  }
  auto newcomer = crowd.connect();
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 3; ++i) silent.push_back(crowd.connect());
  EXPECT_TRUE(crowd.works(*newcomer));
  // And the flood takes a sixteenth of the places, not more.
  for (int i = 0; i < 100; ++i) silent.push_back(crowd.connect());
  int left = 0;
  for (const auto& client : quiet) left += crowd.open(*client);
  EXPECT_GE(left, 64 - 64 / 16 - 2);  // one for the newcomer, one that was just let in
}

TEST_P(RpcServerLimits, TimeOfTheFirstMessage) {
  Crowd crowd({.first_message_time = 10ms}, GetParam());  // how often it looks
  auto silent = crowd.connect();
  auto half = crowd.connect();
  half->send(GetParam() == Kind::tcp ? ping.substr(0, 10) : test::ws_frame(ping).substr(0, 10));
  auto good = crowd.connect();
  ASSERT_TRUE(crowd.works(*good));
  crowd.clock.advance(10ms - 1ns);
  crowd.loop.run_for(40ms);
  EXPECT_EQ(crowd.server->connections(), 3u);
  crowd.clock.advance(1ns);
  EXPECT_TRUE(run_until(crowd.loop, [&] { return crowd.server->connections() == 1; }));
  EXPECT_TRUE(silent->wait_end());
  EXPECT_TRUE(half->wait_end());
  crowd.clock.advance(1h);
  crowd.loop.run_for(40ms);
  EXPECT_TRUE(crowd.works(*good)) << "later silence is its right";
}

TEST_P(RpcServerLimits, TimeOfAClientThatTakesNothing) {
  Crowd crowd({.write_stall = 40ms}, GetParam());
  auto client = crowd.connect(4096);
  crowd.say(*client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"long\"}");
  EXPECT_TRUE(run_until(crowd.loop, [&] { return crowd.server->connections() == 0; }));
}

TEST_P(RpcServerLimits, AClientThatReadsSlowlyGetsEverything) {
  Crowd crowd({.write_stall = 100ms}, GetParam());
  auto client = crowd.connect(4096);
  crowd.say(*client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"long\"}");
  std::size_t got = 0;
  char buffer[16 << 10];
  run_until(crowd.loop, [&] {
    for (int i = 0; i < 256; ++i) {
      const ssize_t size = ::recv(client->fd(), buffer, sizeof buffer, 0);
      if (size > 0) got += static_cast<std::size_t>(size);
      crowd.loop.poll();
    }
    return got >= (8u << 20);
  });
  EXPECT_GE(got, 8u << 20);
}

TEST(RpcServerBusy, OutOfDescriptorsASilentClientGivesWay) {
  Crowd crowd({});
  auto silent = crowd.connect();
  ASSERT_TRUE(run_until(crowd.loop, [&] { return crowd.server->connections() == 1; }));
  rlimit old{};
  ::getrlimit(RLIMIT_NOFILE, &old);
  rlimit few = old;
  few.rlim_cur = 64;
  ::setrlimit(RLIMIT_NOFILE, &few);
  std::vector<Descriptor> fill;
  for (;;) {
    Descriptor one(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!one) break;
    fill.push_back(std::move(one));
  }
  fill.pop_back();  // for the client; there is none for the server
  auto newcomer = crowd.connect();
  EXPECT_TRUE(crowd.works(*newcomer));
  EXPECT_TRUE(silent->wait_end());
  fill.clear();
  ::setrlimit(RLIMIT_NOFILE, &old);
}

TEST(RpcServerBusy, MayBeDestroyedWhenASilentClientIsClosed) {
  Loop loop;
  std::optional<RpcServer> server;
  rpc::PeerOptions options{.limits = {.first_message_time = 10ms}};
  options.ended = [&](const Error&) { server.reset(); };
  server.emplace(loop, std::make_shared<rpc::Router>(), options);
  const std::string address = server->listen_tcp({.host = "127.0.0.1", .port = 0}).value();
  RawClient one(loop, address), two(loop, address);
  EXPECT_TRUE(run_until(loop, [&] { return !server; }));
  EXPECT_TRUE(one.wait_end());
  EXPECT_TRUE(two.wait_end());
}

TEST(RpcServerBusy, UnixSocketsHaveTheSameBounds) {
  const test::TemporaryFolder folder;
  Loop loop;
  RpcServer server(loop, std::make_shared<rpc::Router>(),
                   {.limits = {.connections = 2, .first_message_time = 10ms}});
  ASSERT_TRUE(server.listen_unix(folder.file("socket")));
  std::vector<std::unique_ptr<rpc::Transport>> clients;
  for (std::size_t i = 1; i <= 5; ++i) {
    const Connector attempt = connect_unix(
        loop, folder.file("socket"),
        [&](Result<std::unique_ptr<rpc::Transport>> made) { clients.push_back(*std::move(made)); });
    ASSERT_TRUE(run_until(loop, [&] { return clients.size() == i; }));
    EXPECT_LE(server.connections(), 3u);
  }
  EXPECT_TRUE(run_until(loop, [&] { return server.connections() == 0; }));
}

TEST(SocketLimits, ConnectionsOfOneAddress) {
  for (const bool exempt : {false, true}) {
    Loop loop;
    std::vector<std::unique_ptr<rpc::Transport>> accepted;
    auto listener =
        listen_tcp(loop, {.host = "127.0.0.1", .port = 0},
                   [&](std::unique_ptr<rpc::Transport> one, const std::string&) {
                     accepted.push_back(std::move(one));
                   },
                   {.limits = {.connections_per_address = 2}, .loopback_exempt = exempt});
    ASSERT_TRUE(listener);
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 3; ++i) {
      clients.push_back(std::make_unique<RawClient>(loop, listener->address()));
    }
    if (exempt) {
      EXPECT_TRUE(run_until(loop, [&] { return accepted.size() == 3; }));
    } else {
      EXPECT_TRUE(clients[2]->wait_end());
      EXPECT_EQ(accepted.size(), 2u);
    }
  }
}

// Whoever is told that a client gave way may destroy the server.
TEST_P(RpcServerLimits, MakingRoomMayDestroyTheServer) {
  const Limits limits{.connections = 1};
  Crowd crowd(limits, GetParam());
  crowd.server.reset();
  rpc::PeerOptions options{.limits = limits, .clock = &crowd.clock};
  options.ended = [&](const Error&) { crowd.server.reset(); };
  crowd.server.emplace(crowd.loop, crowd.router, std::move(options));
  const Address any{.host = "127.0.0.1", .port = 0};
  crowd.address =
      (GetParam() == Kind::tcp ? crowd.server->listen_tcp(any) : crowd.server->listen_ws(any))
          .value();
  std::vector<std::unique_ptr<RawClient>> clients;
  while (crowd.server && clients.size() < 150) clients.push_back(crowd.connect());
  EXPECT_FALSE(crowd.server);
  EXPECT_TRUE(clients.front()->wait_end());
  EXPECT_TRUE(clients.back()->wait_end());
}

}  // namespace
}  // namespace godwit
