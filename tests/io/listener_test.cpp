#include "godwit/io/listener.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

#include "godwit/io/connector.hpp"
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

struct Collect : Stream::Handler {
  std::span<char> on_space() override { return buffer; }
  void on_data(std::size_t size) override { text.append(buffer, size); }
  void on_end(const godwit::Result<void>&) override { ended = true; }
  void on_writable() override {}
  char buffer[256];
  std::string text;
  bool ended = false;
};

double cpu_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

}  // namespace

TEST(Listener, PicksAPortAndAccepts) {
  for (const char* host : {"127.0.0.1", "::1", "localhost"}) {
    Loop loop;
    std::vector<Stream> accepted;
    auto listener = Listener::tcp(loop, {.host = host, .port = 0},
                                  [&](Stream stream) { accepted.push_back(std::move(stream)); });
    if (!listener && std::string(host) == "::1") continue;  // a machine without IPv6
    ASSERT_TRUE(listener);
    auto address = Address::parse(listener->address());
    ASSERT_TRUE(address);
    EXPECT_NE(address->port, 0);
    address->host = host;
    Connector connector(loop);
    std::optional<Stream> mine;
    connector.tcp(*address, [&](godwit::Result<Stream> stream) {
      ASSERT_TRUE(stream) << stream.error().message;
      mine.emplace(std::move(*stream));
    });
    ASSERT_TRUE(run_until(loop, [&] { return mine && accepted.size() == 1; }));
    EXPECT_EQ(mine->peer(), listener->address());
    EXPECT_EQ(listener->connections(), 1u);
    Collect collect;
    accepted[0].set_handler(collect);
    accepted[0].resume();
    ASSERT_EQ(*mine->write_some("hello"), 5u);
    ASSERT_TRUE(run_until(loop, [&] { return collect.text == "hello"; }));
    accepted.clear();
    EXPECT_EQ(listener->connections(), 0u);
  }
}

TEST(Listener, APortInUseIsNamed) {
  Loop loop;
  auto first = Listener::tcp(loop, {}, [](Stream) {});
  ASSERT_TRUE(first);
  const auto second = Listener::tcp(loop, *Address::parse(first->address()), [](Stream) {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message,
            "cannot listen on " + first->address() + ": Address already in use");
}

TEST(Listener, OneConnectionTooManyIsClosed) {
  Loop loop;
  std::vector<Stream> accepted;
  std::vector<std::string> log;
  auto listener = Listener::tcp(
      loop, {}, [&](Stream stream) { accepted.push_back(std::move(stream)); },
      {.connections = 2, .log = godwit::Log([&](godwit::LogLevel, std::string_view line) {
                           log.emplace_back(line);
                         })});
  std::vector<Stream> mine;
  std::vector<Connector> connectors;
  for (int i = 0; i < 3; ++i) {
    connectors.emplace_back(loop);
    connectors.back().tcp(*Address::parse(listener->address()), [&](godwit::Result<Stream> stream) {
      ASSERT_TRUE(stream);
      mine.push_back(std::move(*stream));
    });
    ASSERT_TRUE(run_until(loop, [&] { return mine.size() == static_cast<std::size_t>(i + 1); }));
  }
  Collect collect;
  mine[2].set_handler(collect);
  mine[2].resume();
  ASSERT_TRUE(run_until(loop, [&] { return collect.ended; }));
  EXPECT_EQ(accepted.size(), 2u);
  ASSERT_EQ(log.size(), 1u);
  EXPECT_NE(log[0].find("refused"), std::string::npos);
}

TEST(Listener, ASinkOfTheLogMayDestroyIt) {
  Loop loop;
  std::vector<Stream> accepted;
  std::optional<Listener> listener;
  int refused = 0;
  auto made = Listener::tcp(
      loop, {}, [&](Stream stream) { accepted.push_back(std::move(stream)); },
      {.per_address = 1,
       .loopback_exempt = false,
       .on_refused = [&](Stream) { ++refused; },
       .log = godwit::Log([&](godwit::LogLevel, std::string_view) { listener.reset(); })});
  ASSERT_TRUE(made);
  listener.emplace(std::move(*made));
  const auto address = *Address::parse(listener->address());
  Connector first(loop), second(loop);
  std::vector<Stream> mine;
  for (Connector* each : {&first, &second}) {
    each->tcp(address, [&](godwit::Result<Stream> stream) { mine.push_back(std::move(*stream)); });
  }
  ASSERT_TRUE(run_until(loop, [&] { return mine.size() == 2 && !listener; }));
  EXPECT_EQ(accepted.size(), 1u);
  EXPECT_EQ(refused, 0);
}

TEST(Listener, OneAddressGetsItsShareOnly) {
  for (const bool exempt : {false, true}) {
    Loop loop;
    std::vector<Stream> accepted;
    std::vector<std::string> log;
    auto listener =
        Listener::tcp(loop, {}, [&](Stream stream) { accepted.push_back(std::move(stream)); },
                      {.per_address = 2,
                       .loopback_exempt = exempt,
                       .log = godwit::Log([&](godwit::LogLevel, std::string_view line) {
                         log.emplace_back(line);
                       })});
    std::vector<Descriptor> mine;
    const auto connect = [&](const char* from) {
      const auto address = *Address::parse(listener->address());
      sockaddr_in here{}, there{};
      here.sin_family = there.sin_family = AF_INET;
      ::inet_pton(AF_INET, from, &here.sin_addr);
      ::inet_pton(AF_INET, address.host.c_str(), &there.sin_addr);
      there.sin_port = htons(address.port);
      Descriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      ASSERT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&here), sizeof here), 0);
      ASSERT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&there), sizeof there), 0);
      mine.push_back(std::move(fd));
    };
    const auto closed = [&](std::size_t which) {
      char byte = 0;
      return ::recv(mine[which].get(), &byte, 1, MSG_DONTWAIT) == 0;
    };
    for (int i = 0; i < 3; ++i) connect("127.0.0.1");
    connect("127.0.0.2");
    ASSERT_TRUE(run_until(loop, [&] { return accepted.size() == (exempt ? 4u : 3u); }));
    EXPECT_EQ(closed(2), !exempt);
    EXPECT_FALSE(closed(3));
    EXPECT_EQ(listener->connections(), accepted.size());
    if (exempt) continue;
    ASSERT_EQ(log.size(), 1u);
    EXPECT_NE(log[0].find("127.0.0.1"), std::string::npos);
    // One that ends makes room for the next.
    accepted.erase(accepted.begin());
    connect("127.0.0.1");
    ASSERT_TRUE(run_until(loop, [&] { return accepted.size() == 3; }));
  }
}

TEST(Listener, SeveralShareAPort) {
  constexpr std::size_t count = 40;
  Loop first_loop, second_loop;
  std::vector<Stream> first, second;
  const godwit::ListenerOptions shared{.share_port = true};
  auto one = Listener::tcp(
      first_loop, {}, [&](Stream stream) { first.push_back(std::move(stream)); }, shared);
  ASSERT_TRUE(one) << one.error().message;
  const auto address = *Address::parse(one->address());
  auto two = Listener::tcp(
      second_loop, address, [&](Stream stream) { second.push_back(std::move(stream)); }, shared);
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_EQ(one->address(), two->address());
  EXPECT_FALSE(Listener::tcp(first_loop, address, [](Stream) {}));  // has not said so

  Loop loop;
  std::vector<Stream> mine;
  std::vector<Connector> connectors;
  // The system chooses by the client's port: that all of so many go to one is next to impossible.
  for (std::size_t i = 0; i < count; ++i) {
    connectors.emplace_back(loop);
    connectors.back().tcp(address, [&](godwit::Result<Stream> stream) {
      ASSERT_TRUE(stream);
      mine.push_back(std::move(*stream));
    });
  }
  ASSERT_TRUE(run_until(loop, [&] {
    first_loop.poll();
    second_loop.poll();
    return mine.size() == count && first.size() + second.size() == count;
  }));
  EXPECT_FALSE(first.empty());
  EXPECT_FALSE(second.empty());
}

TEST(Listener, SmallMessagesAreNotHeldBack) {
  Loop loop;
  std::optional<Stream> accepted, mine;
  auto listener =
      Listener::tcp(loop, {}, [&](Stream stream) { accepted.emplace(std::move(stream)); });
  Connector connector(loop);
  connector.tcp(*Address::parse(listener->address()),
                [&](godwit::Result<Stream> stream) { mine.emplace(std::move(*stream)); });
  ASSERT_TRUE(run_until(loop, [&] { return mine && accepted; }));
  int found = 0;
  for (int fd = 0; fd < 256; ++fd) {
    int no_delay = 0;
    socklen_t size = sizeof no_delay;
    sockaddr_storage peer{};
    socklen_t peer_size = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0 ||
        ::getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, &size) != 0)
      continue;
    ++found;
    EXPECT_EQ(no_delay, 1);
  }
  EXPECT_EQ(found, 2);
}

TEST(Listener, OutOfDescriptorsItWaitsWithoutSpinning) {
  Loop loop;
  std::vector<Stream> accepted;
  auto listener =
      Listener::tcp(loop, {}, [&](Stream stream) { accepted.push_back(std::move(stream)); });
  ASSERT_TRUE(listener);
  // A client that is connected, but for whose acceptance no descriptor is left.
  Connector connector(loop);
  std::optional<Stream> mine;
  rlimit old{};
  ::getrlimit(RLIMIT_NOFILE, &old);
  // One for the client; none for the listener.
  std::vector<Descriptor> fill;
  rlimit few = old;
  few.rlim_cur = 64;
  ::setrlimit(RLIMIT_NOFILE, &few);
  for (;;) {
    Descriptor one(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!one) break;
    fill.push_back(std::move(one));
  }
  fill.pop_back();
  connector.tcp(*Address::parse(listener->address()), [&](godwit::Result<Stream> stream) {
    if (stream) mine.emplace(std::move(*stream));
  });
  EXPECT_TRUE(run_until(loop, [&] { return mine.has_value(); }));
  const double before = cpu_seconds();
  const Loop::Work work(loop);
  loop.run_for(200ms);
  EXPECT_LT(cpu_seconds() - before, 0.05);
  EXPECT_TRUE(accepted.empty());
  fill.clear();
  EXPECT_TRUE(run_until(loop, [&] { return accepted.size() == 1; }, 1s));
  ::setrlimit(RLIMIT_NOFILE, &old);
}

TEST(Listener, UnixSocketsArePrivateAndCleanedUp) {
  godwit::test::TemporaryFolder folder;
  const std::string path = folder.file("socket");
  Loop loop;
  int accepted = 0;
  {
    auto listener = Listener::unix_socket(loop, path, [&](Stream) { ++accepted; });
    ASSERT_TRUE(listener) << listener.error().message;
    EXPECT_EQ(listener->address(), path);
    struct stat about{};
    ASSERT_EQ(::lstat(path.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600u);
    Connector connector(loop);
    bool connected = false;
    connector.unix_socket(path,
                          [&](godwit::Result<Stream> stream) { connected = stream.has_value(); });
    ASSERT_TRUE(run_until(loop, [&] { return connected && accepted == 1; }));
    const auto second = Listener::unix_socket(loop, path, [](Stream) {});
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().message.find("in use"), std::string::npos);
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST(Listener, OnlyADeadSocketIsReplaced) {
  godwit::test::TemporaryFolder folder;
  Loop loop;
  const std::string dead = folder.file("dead");
  {
    const Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, dead.c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  EXPECT_TRUE(Listener::unix_socket(loop, dead, [](Stream) {}));

  const std::string file = folder.file("file");
  std::ofstream(file) << "precious";
  const auto listener = Listener::unix_socket(loop, file, [](Stream) {});
  ASSERT_FALSE(listener);
  EXPECT_NE(listener.error().message.find("no socket"), std::string::npos);
  EXPECT_EQ(::access(file.c_str(), F_OK), 0);
  EXPECT_FALSE(Listener::unix_socket(loop, std::string(200, 'x'), [](Stream) {}));
  EXPECT_FALSE(Listener::unix_socket(loop, "", [](Stream) {}));
}

TEST(Listener, ManyConnectionsLeaveNothingBehind) {
  Loop loop;
  std::size_t accepted = 0;
  auto listener = Listener::tcp(loop, {}, [&](Stream) { ++accepted; });
  loop.poll();
  const std::size_t before = godwit::test::open_descriptors();
  const auto address = *Address::parse(listener->address());
  for (std::size_t i = 0; i < 500; ++i) {
    Connector connector(loop);
    bool done = false;
    connector.tcp(address, [&](godwit::Result<Stream> stream) {
      EXPECT_TRUE(stream);
      done = true;
    });
    if (i % 5 == 0) continue;  // given up at once
    ASSERT_TRUE(run_until(loop, [&] { return done; }));
  }
  ASSERT_TRUE(run_until(loop, [&] { return accepted >= 400 && listener->connections() == 0; }));
  EXPECT_EQ(godwit::test::open_descriptors(), before);
}

TEST(Listener, MayBeDestroyedInItsCallback) {
  Loop loop;
  std::optional<Listener> listener;
  listener.emplace(std::move(*Listener::tcp(loop, {}, [&](Stream) { listener.reset(); })));
  Connector connector(loop);
  connector.tcp(*Address::parse(listener->address()), [](godwit::Result<Stream>) {});
  ASSERT_TRUE(run_until(loop, [&] { return !listener.has_value(); }));
}

TEST(Listener, ACallbackThatThrowsDoesNotMakeItDeaf) {
  Loop loop;
  int called = 0;
  auto listener = Listener::tcp(loop, {.host = "127.0.0.1", .port = 0}, [&](Stream) {
    if (++called == 1) throw std::runtime_error("no");
  });
  ASSERT_TRUE(listener);
  const auto address = Address::parse(listener->address());
  Connector connector(loop);
  std::vector<Stream> mine;
  const auto connect = [&] {
    connector.tcp(*address, [&](godwit::Result<Stream> stream) {
      if (stream) mine.push_back(std::move(*stream));
    });
  };
  connect();
  EXPECT_THROW(run_until(loop, [&] { return called == 1 && mine.size() == 1; }),
               std::runtime_error);
  connect();
  EXPECT_TRUE(run_until(loop, [&] { return called == 2; }));
}
