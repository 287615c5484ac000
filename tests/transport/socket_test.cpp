#include "godwit/transport/socket.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "receiver.hpp"
#include "wait.hpp"

using godwit::Address;
using godwit::Framing;
using godwit::Loop;
using godwit::SocketOptions;
using godwit::test::Recorder;
using godwit::test::run_until;
using godwit::test::send;

namespace {

using Transport = std::unique_ptr<godwit::rpc::Transport>;

/// Answers every message with itself; forgets connections that end.
struct EchoServer {
  struct Peer {
    Transport transport;
    Recorder receiver;
  };

  auto handler() {
    return [this](Transport transport, const std::string& who) {
      peers.push_back(std::make_unique<Peer>());
      Peer* peer = peers.back().get();
      peer->transport = std::move(transport);
      peer->receiver.on_each = [peer](std::string_view text) { send(*peer->transport, text); };
      peer->receiver.then = [this, peer] {
        std::erase_if(peers, [&](auto& one) { return one.get() == peer; });
      };
      peer->transport->start(peer->receiver);
      last = who;
    };
  }
  std::vector<std::unique_ptr<Peer>> peers;
  std::string last;
};

}  // namespace

TEST(SocketTransport, EchoOverTcpAndUnix) {
  godwit::test::TemporaryFolder folder;
  for (const Framing framing : {Framing::newline, Framing::content_length}) {
    for (const bool tcp : {true, false}) {
      Loop loop;
      EchoServer server;
      const SocketOptions options{.framing = framing};
      auto listener = tcp ? godwit::listen_tcp(loop, {}, server.handler(), options)
                          : godwit::listen_unix(loop, folder.file("s"), server.handler(), options);
      ASSERT_TRUE(listener);
      Transport client;
      const auto done = [&](godwit::Result<Transport> got) {
        ASSERT_TRUE(got) << got.error().message;
        client = std::move(*got);
      };
      auto connector =
          tcp ? godwit::connect_tcp(loop, *Address::parse(listener->address()), done, options)
              : godwit::connect_unix(loop, listener->address(), done, options);
      ASSERT_TRUE(run_until(loop, [&] { return client != nullptr; }));
      Recorder receiver;
      client->start(receiver);
      for (int i = 0; i < 2000; ++i) send(*client, "message " + std::to_string(i));
      ASSERT_TRUE(run_until(loop, [&] { return receiver.messages.size() == 2000; }));
      EXPECT_EQ(receiver.messages[1999], "message 1999");
      EXPECT_TRUE(tcp ? server.last.starts_with("127.0.0.1:") : server.last == "unix");
      client->close();
      ASSERT_TRUE(run_until(loop, [&] { return receiver.closed == 1 && server.peers.empty(); }));
      EXPECT_EQ(listener->connections(), 0u);
    }
  }
}

TEST(SocketTransport, FailureToConnectIsToldOnce) {
  Loop loop;
  int told = 0;
  auto connector =
      godwit::connect_unix(loop, "/no/such/socket", [&](godwit::Result<Transport> got) {
        EXPECT_FALSE(got);
        ++told;
      });
  loop.run();
  EXPECT_EQ(told, 1);
}

TEST(SocketTransport, ConnectionsComeAndGoWithoutLeaks) {
  Loop loop;
  EchoServer server;
  auto listener = godwit::listen_tcp(loop, {}, server.handler());
  const Address address = *Address::parse(listener->address());
  loop.poll();
  const std::size_t before = godwit::test::open_descriptors();
  for (int i = 0; i < 300; ++i) {
    Transport client;
    Recorder receiver;
    auto connector = godwit::connect_tcp(
        loop, address, [&](godwit::Result<Transport> got) { client = std::move(*got); });
    ASSERT_TRUE(run_until(loop, [&] { return client != nullptr; }));
    client->start(receiver);
    send(*client, "x");
    if (i % 2) {  // every other one is dropped in the middle
      ASSERT_TRUE(run_until(loop, [&] { return receiver.messages.size() == 1; }));
    }
  }
  ASSERT_TRUE(run_until(loop, [&] { return server.peers.empty(); }));
  EXPECT_EQ(godwit::test::open_descriptors(), before);
}
