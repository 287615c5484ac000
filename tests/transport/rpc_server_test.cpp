#include "godwit/transport/rpc_server.hpp"

#include <gtest/gtest.h>

#include <list>
#include <string>
#include <vector>

#include "godwit/transport/connection.hpp"
#include "godwit/transport/memory.hpp"
#include "godwit/transport/socket.hpp"
#include "wait.hpp"

namespace godwit {
namespace {

std::shared_ptr<rpc::Router> doubler() {
  auto router = std::make_shared<rpc::Router>();
  router->on("double", {"n"}, [](int n) { return 2 * n; });
  return router;
}

std::unique_ptr<rpc::Transport> dial(Loop& loop, const std::string& address) {
  std::unique_ptr<rpc::Transport> transport;
  bool done = false;
  const Connector attempt =
      connect_tcp(loop, *Address::parse(address), [&](Result<std::unique_ptr<rpc::Transport>> t) {
        done = true;
        if (t) transport = *std::move(t);
      });
  EXPECT_TRUE(test::run_until(loop, [&] { return done; }));
  return transport;
}

TEST(RpcServer, ServesManyConnectionsFromOneRouter) {
  Loop loop;
  RpcServer server(loop, doubler());
  const auto address = server.listen_tcp({.host = "127.0.0.1", .port = 0});
  ASSERT_TRUE(address) << address.error().message;
  std::list<Connection> clients;
  for (int i = 0; i < 20; ++i) {
    auto transport = dial(loop, *address);
    ASSERT_TRUE(transport);
    clients.emplace_back(loop, std::move(transport));
  }
  int n = 0;
  for (Connection& client : clients) {
    ++n;
    EXPECT_EQ(*client.ask<int>("double", std::vector{n}), 2 * n);
  }
  EXPECT_EQ(server.connections(), 20u);
  clients.clear();
  EXPECT_TRUE(test::run_until(loop, [&] { return server.connections() == 0; }));
}

TEST(RpcServer, CloseEndsEveryConnectionInOrder) {
  Loop loop;
  RpcServer server(loop, doubler());
  auto [near_end, far_end] = memory_pair(loop);
  server.serve(std::move(far_end));
  Connection client(loop, std::move(near_end));
  EXPECT_EQ(*client.ask<int>("double", std::vector{4}), 8);
  bool client_closed = false;
  bool server_closed = false;
  client.on_close([&](const Error&) { client_closed = true; });
  server.on_closed([&] { server_closed = true; });
  server.close();
  EXPECT_TRUE(test::run_until(loop, [&] { return client_closed && server_closed; }));
  EXPECT_EQ(server.connections(), 0u);
}

TEST(RpcServer, CloseWithoutConnectionsIsToldToo) {
  Loop loop;
  RpcServer server(loop, doubler());
  bool closed = false;
  server.on_closed([&] { closed = true; });
  server.close();
  EXPECT_TRUE(test::run_until(loop, [&] { return closed; }));
}

TEST(RpcServer, AnAddressThatCannotBeHadIsASentence) {
  Loop loop;
  RpcServer first(loop, doubler());
  RpcServer second(loop, doubler());
  const auto address = first.listen_tcp({.host = "127.0.0.1", .port = 0});
  ASSERT_TRUE(address);
  const auto taken = second.listen_tcp(*Address::parse(*address));
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().message.find(*address), std::string::npos) << taken.error().message;
}

TEST(RpcServer, DescriptorsAreBackToBaseAfterManyConnections) {
  Loop loop;
  RpcServer server(loop, doubler());
  const auto address = server.listen_tcp({.host = "127.0.0.1", .port = 0});
  ASSERT_TRUE(address);
  {
    Connection warm_up(loop, dial(loop, *address));
  }
  ASSERT_TRUE(test::run_until(loop, [&] { return server.connections() == 0; }));
  const std::size_t before = test::open_descriptors();
  for (int i = 0; i < 200; ++i) {
    Connection client(loop, dial(loop, *address));
    if (i % 2 == 0) {
      EXPECT_EQ(*client.ask<int>("double", std::vector{i}), 2 * i);
    }
  }
  ASSERT_TRUE(test::run_until(loop, [&] { return server.connections() == 0; }));
  EXPECT_EQ(test::open_descriptors(), before);
}

}  // namespace
}  // namespace godwit
