// What runs on a Loop may be destroyed inside any of its callbacks; the Loop itself may not.
#include "destroyed_inside.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <csignal>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/io/connector.hpp"
#include "godwit/io/listener.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/process.hpp"
#include "godwit/io/signals.hpp"
#include "godwit/io/stream.hpp"
#include "godwit/io/timer.hpp"
#include "godwit/io/wakeup.hpp"
#include "wait.hpp"

namespace godwit {
namespace {

using test::DestroyedInside;
using test::Doomed;
using test::run_until;
using test::settle;

void timer() {
  Loop loop;
  Doomed<Timer> timer;
  timer.make(loop).start(Duration(0), timer.destroyer());
  ASSERT_TRUE(run_until(loop, [&] { return timer.destroyed() == 1; }));
}

void wakeup() {
  Loop loop;
  Doomed<Wakeup> wakeup;
  wakeup.make(loop, wakeup.destroyer()).signal();
  settle(loop);
  EXPECT_EQ(wakeup.destroyed(), 1);
}

/// A Stream and its handler in one, destroyed inside one of the four calls.
struct Reader final : Stream::Handler {
  enum class Call { on_space, on_data, on_end, on_writable };

  Reader(Loop& loop, Descriptor fd, Stream::Sharing sharing, Call where, Doomed<Reader>& owner)
      : stream(std::move(*Stream::open(loop, std::move(fd), sharing))), in(where), self(owner) {
    stream.set_handler(*this);
  }
  std::span<char> on_space() override {
    static char space[16];
    if (in == Call::on_space) self.destroy();
    return space;
  }
  void on_data(std::size_t) override {
    if (in == Call::on_data) self.destroy();
  }
  void on_end(const Result<void>&) override {
    if (in == Call::on_end) self.destroy();
  }
  void on_writable() override {
    if (in == Call::on_writable) self.destroy();
  }

  Stream stream;
  const Call in;
  Doomed<Reader>& self;
};

template <Reader::Call call>
void stream() {
  for (const auto sharing : {Stream::Sharing::own, Stream::Sharing::inherited}) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    Descriptor far(ends[1]);
    Loop loop;
    Doomed<Reader> reader;
    reader.make(loop, Descriptor(ends[0]), sharing, call, reader);
    if (call == Reader::Call::on_writable) {
      const std::string much(4u << 20, 'x');
      ASSERT_LT(*reader->stream.write_some(much), much.size());
    } else {
      reader->stream.resume();
      [[maybe_unused]] const auto put = ::send(far.get(), "abc", 3, MSG_NOSIGNAL);
      if (call == Reader::Call::on_end) far.reset();
    }
    char sink[4096];
    ASSERT_TRUE(run_until(loop, [&] {
      if (far) [[maybe_unused]]
        const auto got = ::recv(far.get(), sink, sizeof sink, 0);
      return reader.destroyed() == 1;
    }));
    settle(loop);
  }
}

/// A Listener with room for one connection, and three that come.
struct Crowd {
  void run(Listener::OnAccept accept, ListenerOptions options) {
    options.loopback_exempt = false;
    auto made = Listener::tcp(loop, {}, std::move(accept), std::move(options));
    ASSERT_TRUE(made) << made.error().message;
    listener.make(*std::move(made));
    const auto address = *Address::parse(listener->address());
    for (int i = 0; i < 3; ++i) clients.emplace_back(loop).tcp(address, [](Result<Stream>) {});
    EXPECT_TRUE(run_until(loop, [this] { return listener.destroyed() == 1; }));
    settle(loop);
  }
  Listener::OnAccept keep() {
    return [this](Stream stream) { accepted.push_back(std::move(stream)); };
  }

  Loop loop;
  Doomed<Listener> listener;
  std::vector<Stream> accepted;
  std::list<Connector> clients;
};

void listener_accept() {
  Crowd crowd;
  crowd.run(crowd.listener.destroyer(), {});
}
void listener_make_room() {
  Crowd crowd;
  crowd.run(crowd.keep(), {.connections = 1, .make_room = [destroy = crowd.listener.destroyer()] {
                             destroy();
                             return true;
                           }});
}
void listener_refused() {
  Crowd crowd;
  crowd.run(crowd.keep(), {.per_address = 1, .on_refused = crowd.listener.destroyer()});
}
void listener_log() {
  Crowd crowd;
  crowd.run(crowd.keep(), {.per_address = 1, .log = Log(crowd.listener.destroyer())});
}

void connector() {
  for (const bool nobody : {false, true}) {
    Loop loop;
    auto listener = Listener::tcp(loop, {}, [](Stream) {});
    ASSERT_TRUE(listener);
    const auto address = *Address::parse(listener->address());
    std::optional<Listener> listens(*std::move(listener));
    if (nobody) listens.reset();
    Doomed<Connector> connector;
    connector.make(loop).tcp(address, connector.destroyer());
    ASSERT_TRUE(run_until(loop, [&] { return connector.destroyed() == 1; }));
    settle(loop);
  }
}

void process_exit() {
  Loop loop;
  Doomed<Process> process;
  process.make(std::move(*Process::spawn(loop, {.argv = {"true"}})));
  process->on_exit(process.destroyer());
  ASSERT_TRUE(run_until(loop, [&] { return process.destroyed() == 1; }));
  settle(loop);
}
void process_stderr() {
  Loop loop;
  Doomed<Process> process;
  process.make(std::move(*Process::spawn(
      loop, {.argv = {"ls", "/nowhere-1", "/nowhere-2"}, .on_stderr = process.destroyer()})));
  ASSERT_TRUE(run_until(loop, [&] { return process.destroyed() == 1; }));
  settle(loop);
}

void signals() {
  Loop loop;
  Doomed<Signals> signals;
  signals.make(std::move(*Signals::open(loop, {SIGUSR1}, signals.destroyer())));
  ::raise(SIGUSR1);
  ASSERT_TRUE(run_until(loop, [&] { return signals.destroyed() == 1; }));
  settle(loop);
}

constexpr DestroyedInside rows[] = {
    {"Timer", "done", timer},
    {"Wakeup", "work", wakeup},
    {"Stream", "on_space", stream<Reader::Call::on_space>},
    {"Stream", "on_data", stream<Reader::Call::on_data>},
    {"Stream", "on_end", stream<Reader::Call::on_end>},
    {"Stream", "on_writable", stream<Reader::Call::on_writable>},
    {"Listener", "on_accept", listener_accept},
    {"Listener", "make_room", listener_make_room},
    {"Listener", "on_refused", listener_refused},
    {"Listener", "log", listener_log},
    {"Connector", "done", connector},
    {"Process", "on_exit", process_exit},
    {"Process", "on_stderr", process_stderr},
    {"Signals", "on_signal", signals},
};

struct Destroyed : testing::TestWithParam<DestroyedInside> {};
TEST_P(Destroyed, Inside) { GetParam().run(); }
INSTANTIATE_TEST_SUITE_P(Io, Destroyed, testing::ValuesIn(rows), test::name_of);

// What cannot work says so.

TEST(DestroyedDeathTest, ALoopInsideItsCallback) {
  const auto destroy = [] {
    auto loop = std::make_unique<Loop>();
    Loop& raw = *loop;
    raw.post([&] { loop.reset(); });
    raw.run();
  };
  EXPECT_DEATH(destroy(), "a Loop was destroyed inside one of its own callbacks");
}

}  // namespace
}  // namespace godwit
