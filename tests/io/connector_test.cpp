#include "godwit/io/connector.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <vector>

#include "godwit/io/listener.hpp"
#include "wait.hpp"

using namespace std::chrono_literals;
using godwit::Address;
using godwit::Connector;
using godwit::Descriptor;
using godwit::Listener;
using godwit::Loop;
using godwit::Stream;
using godwit::test::run_until;

namespace {

std::string failure(Loop& loop, const Address& address, godwit::Duration timeout = 10s) {
  Connector connector(loop);
  std::optional<std::string> why;
  connector.tcp(
      address, [&](godwit::Result<Stream> stream) { why = stream ? "" : stream.error().message; },
      timeout);
  EXPECT_FALSE(why.has_value());  // never inside the call
  EXPECT_TRUE(run_until(loop, [&] { return why.has_value(); }, 30s));
  return why.value_or("");
}

}  // namespace

TEST(Connector, RefusedIsNamed) {
  Loop loop;
  Address free;
  {
    auto listener = Listener::tcp(loop, {}, [](Stream) {});
    free = *Address::parse(listener->address());
  }
  EXPECT_EQ(failure(loop, free), "cannot connect to " + free.text() + ": Connection refused");
}

TEST(Connector, UnknownHostIsNamed) {
  Loop loop;
  const std::string why = failure(loop, {.host = "no-such-host.invalid", .port = 1}, 20s);
  EXPECT_NE(why.find("no-such-host.invalid"), std::string::npos) << why;
}

TEST(Connector, TimeIsLimited) {
  // A listener whose queue is full leaves further connections without an answer.
  const Descriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(fd.get(), 0), 0);
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const Address target{.host = "127.0.0.1", .port = ntohs(address.sin_port)};
  Loop loop;
  std::vector<Connector> fill;
  std::vector<Stream> open;
  for (int i = 0; i < 4; ++i) {
    fill.emplace_back(loop);
    fill.back().tcp(target, [&](godwit::Result<Stream> stream) {
      if (stream) open.push_back(std::move(*stream));
    });
  }
  loop.run_for(20ms);
  const std::string why = failure(loop, target, 30ms);
  EXPECT_NE(why.find("no answer in time"), std::string::npos) << why;
}

TEST(Connector, DestroyedOnesNeverCall) {
  Loop loop;
  auto listener = Listener::tcp(loop, {}, [](Stream) {});
  for (const char* host : {"127.0.0.1", "localhost"}) {
    Address address = *Address::parse(listener->address());
    address.host = host;
    for (int i = 0; i < 20; ++i) {
      bool given_up = false;
      {
        Connector connector(loop);
        connector.tcp(address, [&](godwit::Result<Stream>) { EXPECT_FALSE(given_up); });
        if (i % 2) loop.poll();
      }
      given_up = true;
      loop.poll();
    }
  }
  loop.run_for(20ms);
}

TEST(Connector, NoSuchUnixSocket) {
  Loop loop;
  Connector connector(loop);
  std::string why;
  connector.unix_socket("/no/such/socket",
                        [&](godwit::Result<Stream> stream) { why = stream.error().message; });
  loop.run();
  EXPECT_EQ(why, "cannot connect to \"/no/such/socket\": No such file or directory");
}
