// A Peer and a Bridge may be destroyed inside any of their callbacks. Only `wake` and
// `deadline_moved` are not among these: they tell the host to call the peer, and do nothing else.
#include "destroyed_inside.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fake_transport.hpp"
#include "godwit/base/clock.hpp"
#include "godwit/rpc/bridge.hpp"
#include "godwit/rpc/peer.hpp"
#include "godwit/rpc/router.hpp"

namespace godwit::inline v0::rpc {
namespace {

using namespace std::chrono_literals;
using test::DestroyedInside;
using test::Doomed;

std::string request(int id, std::string_view method) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + std::string(method) +
         R"("})";
}
std::string answer(int id) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"result":1})";
}

/// A peer with a call and a request under way when it is destroyed.
struct Hall {
  Hall() {
    options.clock = &clock;
    options.log = Log();
    router->on("plain", [] { return 1; });
    router->on("late", [this](Reply<int> reply) { replies.push_back(std::move(reply)); });
  }
  /// In every way that messages come.
  void receive(std::string_view method) {
    for (const bool batch : {false, true}) {
      open();
      const std::string one = request(1, method);
      peer->receive(batch ? "[" + request(7, "plain") + "," + one + "," + request(8, "plain") + "]"
                          : one);
      if (!replies.empty() && peer.destroyed() == 0) {
        replies.front()(1);
        peer->process();
      }
      expect_destroyed();
    }
  }
  void open() {
    before = peer.destroyed();
    replies.clear();
    peer.make(sink, router, options);
    peer->call("other", no_params, [](Result<json::Value>) {});
  }
  void expect_destroyed() {
    EXPECT_EQ(peer.destroyed(), before + 1);
    before = peer.destroyed();
  }

  ManualClock clock;
  PeerOptions options;
  std::shared_ptr<Router> router = std::make_shared<Router>();
  std::vector<Reply<int>> replies;
  MessageSink sink{[](std::string_view) {}};
  Doomed<Peer> peer;
  int before = 0;
};

void handler() {
  Hall hall;
  hall.router->on("destroy", [&] {
    hall.peer.destroy();
    return std::string(1000, 'x');
  });
  hall.receive("destroy");
}
void handler_that_throws() {
  Hall hall;
  hall.router->on("destroy", [&]() -> int {
    hall.peer.destroy();
    throw 1;
  });
  hall.receive("destroy");
}
void late_handler() {
  Hall hall;
  hall.router->on("destroy", [&](Reply<int> reply) {
    hall.peer.destroy();
    reply(1);
  });
  hall.receive("destroy");
}
void notification() {
  Hall hall;
  hall.router->on("destroy", [&] { hall.peer.destroy(); });
  hall.open();
  hall.peer->receive(R"({"jsonrpc":"2.0","method":"destroy"})");
  hall.expect_destroyed();
}
void before() {
  for (const char* method : {"plain", "late"}) {
    Hall hall;
    hall.router->use({.before = [&](IncomingCall&) -> Verdict {
      if (hall.peer.destroyed() == hall.before) hall.peer.destroy();
      return {};
    }});
    hall.open();
    hall.peer->receive(request(1, method));
    hall.expect_destroyed();
  }
}
void after() {
  for (const char* method : {"plain", "late"}) {
    Hall hall;
    hall.router->use({.after = [&](Outcome&) {
      if (hall.peer.destroyed() == hall.before) hall.peer.destroy();
    }});
    hall.receive(method);
  }
}
void stop() {
  for (const int how : {0, 1, 2}) {
    Hall hall;
    hall.open();
    hall.peer->receive(request(1, "late"));
    hall.peer->receive(request(2, "late"));
    const std::stop_callback on_stop(hall.replies.at(0).cancelled(), hall.peer.destroyer());
    if (how == 0) hall.peer->cancel_incoming(Id(1));
    if (how == 1) hall.peer->end_of_input({.message = "the end"});
    if (how == 2) hall.peer->close();
    hall.expect_destroyed();
  }
}
/// The outcome of a call, in each way that it can come.
void outcome() {
  using How = std::function<void(Hall&, CallHandle)>;
  const How ways[] = {
      [](Hall& hall, CallHandle) { hall.peer->receive("[" + answer(2) + "," + answer(1) + "]"); },
      [](Hall& hall, CallHandle) { hall.peer->receive(answer(2)); },
      [](Hall& hall, CallHandle) { hall.peer->on_failure(Id(2), {.message = "carrier"}); },
      [](Hall& hall, CallHandle call) { hall.peer->cancel(call); },
      [](Hall& hall, CallHandle) {
        hall.clock.advance(1h);
        hall.peer->expire(hall.clock.now());
      },
      [](Hall& hall, CallHandle) { hall.peer->end_of_input({.message = "the end"}); },
      [](Hall& hall, CallHandle) { hall.peer->on_close({.message = "the end"}); },
  };
  for (const How& how : ways) {
    Hall hall;
    hall.open();
    const CallHandle call = hall.peer->call("mine", no_params, hall.peer.destroyer());
    how(hall, call);
    hall.expect_destroyed();
  }
}
void outcome_inside_the_call() {
  Hall hall;
  hall.options.limits.pending_calls = 1;
  hall.open();
  hall.peer->call("one too many", no_params, hall.peer.destroyer());
  hall.expect_destroyed();
}
void outcome_of_a_batch() {
  Hall hall;
  hall.open();
  Batch batch = hall.peer->batch();
  batch.call("a", no_params, hall.peer.destroyer());
  batch.call("b", no_params, [](Result<json::Value>) {});
  batch.send();
  hall.peer->receive("[" + answer(2) + "," + answer(3) + "]");
  hall.expect_destroyed();
}
void posted() {
  Hall hall;
  hall.open();
  hall.peer->poster()(hall.peer.destroyer());
  hall.peer->poster()([] {});
  hall.peer->process();
  hall.expect_destroyed();
}
void scheduled() {
  Hall hall;
  hall.open();
  hall.peer->schedule(1s, hall.peer.destroyer());
  hall.clock.advance(1h);
  hall.peer->expire(hall.clock.now());
  hall.expect_destroyed();
}
void abandoned() {
  Hall hall;
  hall.options.abandoned = hall.peer.destroyer();
  hall.open();
  hall.clock.advance(1h);
  hall.peer->expire(hall.clock.now());
  hall.expect_destroyed();
}
void held() {
  Hall hall;
  hall.options.held = hall.peer.destroyer();
  hall.open();
  hall.peer->on_held(Id(1), true);
  hall.expect_destroyed();
}
void ended() {
  Hall hall;
  hall.options.ended = hall.peer.destroyer();
  hall.open();
  hall.peer->on_close({.message = "the end"});
  hall.expect_destroyed();
}
void garbage() {
  Hall hall;
  hall.options.garbage = hall.peer.destroyer();
  for (const bool too_long : {false, true}) {
    hall.open();
    too_long ? hall.peer->on_unreadable({.message = "too long"}) : hall.peer->receive("{nonsense");
    hall.expect_destroyed();
  }
}
void tap() {
  for (const bool incoming : {false, true}) {
    Hall hall;
    bool now = false;
    hall.options.tap = [&](const TappedMessage& message) {
      if (now && message.incoming == incoming) hall.peer.destroy();
    };
    hall.open();
    now = true;
    hall.peer->receive(request(1, "plain"));
    hall.expect_destroyed();
  }
}
void log() {
  Hall hall;
  hall.router->on("throw", []() -> int { throw 1; });
  hall.options.log = Log(hall.peer.destroyer());
  hall.open();
  hall.peer->receive(request(1, "throw"));
  hall.expect_destroyed();
}

// --- the bridge

void bridge() {
  test::FakeWire near, far;
  Doomed<Bridge> bridge;
  bridge.make(std::make_unique<test::FakeTransport>(near),
              std::make_unique<test::FakeTransport>(far));
  bridge->on_close(bridge.destroyer());
  near.receiver->on_close({.message = "gone"});
  EXPECT_EQ(bridge.destroyed(), 1);
  EXPECT_TRUE(near.gone && far.gone);
}

constexpr DestroyedInside rows[] = {
    {"Peer", "handler", handler},
    {"Peer", "handler that throws", handler_that_throws},
    {"Peer", "handler that replies later", late_handler},
    {"Peer", "handler of a notification", notification},
    {"Peer", "middleware before", before},
    {"Peer", "middleware after", after},
    {"Peer", "stop of a request", stop},
    {"Peer", "outcome of a call", outcome},
    {"Peer", "outcome inside the call", outcome_inside_the_call},
    {"Peer", "outcome of a batch", outcome_of_a_batch},
    {"Peer", "posted work", posted},
    {"Peer", "timer", scheduled},
    {"Peer", "abandoned", abandoned},
    {"Peer", "held", held},
    {"Peer", "ended", ended},
    {"Peer", "garbage", garbage},
    {"Peer", "tap", tap},
    {"Peer", "log", log},
    {"Bridge", "on_close", bridge},
};

struct Destroyed : testing::TestWithParam<DestroyedInside> {};
TEST_P(Destroyed, Inside) { GetParam().run(); }
INSTANTIATE_TEST_SUITE_P(Rpc, Destroyed, testing::ValuesIn(rows), test::name_of);

}  // namespace
}  // namespace godwit::inline v0::rpc
