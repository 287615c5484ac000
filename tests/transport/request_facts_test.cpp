// What handlers know about whoever calls, over each transport.
#include "godwit/transport/request_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "godwit/transport/connection.hpp"
#include "godwit/transport/memory.hpp"
#include "godwit/transport/rpc_server.hpp"
#include "godwit/transport/socket.hpp"
#include "raw_client.hpp"
#include "wait.hpp"
#include "websocket_frames.hpp"

namespace godwit {
namespace {

using test::RawClient;
using testing::HasSubstr;

const std::string who = R"({"jsonrpc":"2.0","id":1,"method":"who"})";

struct Known : testing::Test {
  Known() {
    router->on("who", [](rpc::Context& cx) {
      const rpc::Facts& facts = cx.facts();
      return (facts.identity ? facts.identity->subject : "nobody") + "|" + std::string(facts.peer) +
             "|to " + std::string(facts.local) + "|" +
             std::string(facts.fields.find("X-Test").value_or("none")) + "|" +
             std::string(facts.fields.find("Authorization").value_or("none"));
    });
    options.identity = std::make_shared<const rpc::Identity>(rpc::Identity{.subject = "ada"});
    server.emplace(loop, router, options);
  }
  std::string answer(RawClient& client) {
    EXPECT_TRUE(client.wait([&] { return client.in.find("|none") != std::string::npos; }))
        << client.in;
    return client.in;
  }

  Loop loop;
  std::shared_ptr<rpc::Router> router = std::make_shared<rpc::Router>();
  rpc::PeerOptions options;
  std::optional<RpcServer> server;
  const Address any{.host = "127.0.0.1", .port = 0};
};

TEST_F(Known, OverTcp) {
  const std::string address = server->listen_tcp(any).value();
  RawClient client(loop, address);
  client.send(who + "\n");
  EXPECT_THAT(answer(client), HasSubstr("ada|127.0.0.1:"));
  EXPECT_THAT(client.in, HasSubstr("|to " + address + "|none|none"));
}

TEST_F(Known, OverHttp) {
  const std::string address = server->listen_http(any).value();
  RawClient client(loop, address);
  client.send("POST / HTTP/1.1\r\nHost: " + address +
              "\r\nContent-Type: application/json\r\nX-Test: hello\r\nAuthorization: secret\r\n"
              "Content-Length: " +
              std::to_string(who.size()) + "\r\n\r\n" + who);
  // Who sent a request over HTTP is not a matter of the connection.
  EXPECT_THAT(answer(client), HasSubstr("nobody|127.0.0.1:"));
  EXPECT_THAT(client.in, HasSubstr("|to " + address + "|hello|none"));
}

TEST_F(Known, OverWebSocketWithTheFieldsOfTheHandshake) {
  const std::string address = server->listen_ws(any).value();
  RawClient client(loop, address);
  client.send("GET / HTTP/1.1\r\nHost: " + address +
              "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
              "X-Test: hello\r\nAuthorization: secret\r\n"
              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" +
              test::ws_frame(who));
  EXPECT_THAT(answer(client), HasSubstr("ada|127.0.0.1:"));
  EXPECT_THAT(client.in, HasSubstr("|to " + address + "|hello|none"));
}

TEST_F(Known, OverAUnixSocketWithTheProcess) {
  router->on("process", [](rpc::Context& cx) {
    const auto process = cx.facts().process.value_or(PeerProcess{});
    return process.process == ::getpid() && process.user == ::getuid() &&
           process.group == ::getgid();
  });
  const std::string path = testing::TempDir() + "facts-" + std::to_string(::getpid()) + ".sock";
  ASSERT_TRUE(server->listen_unix(path));
  std::unique_ptr<rpc::Transport> transport;
  const Connector attempt =
      connect_unix(loop, path, [&](Result<std::unique_ptr<rpc::Transport>> made) {
        if (made) transport = *std::move(made);
      });
  ASSERT_TRUE(test::run_until(loop, [&] { return transport != nullptr; }));
  Connection client(loop, std::move(transport));
  EXPECT_EQ(client.ask<std::string>("who", rpc::no_params).value(),
            "ada|unix|to " + path + "|none|none");
  EXPECT_EQ(client.ask<bool>("process", rpc::no_params).value(), true);
}

TEST_F(Known, InMemoryThereIsNoAddress) {
  auto [near_end, far_end] = memory_pair(loop);
  server->serve(std::move(far_end));
  Connection client(loop, std::move(near_end));
  EXPECT_EQ(client.ask<std::string>("who", rpc::no_params).value(), "ada||to |none|none");
}

}  // namespace
}  // namespace godwit
