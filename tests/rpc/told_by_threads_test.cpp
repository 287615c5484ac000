// Handlers on other threads that tell more than the peer's thread has taken.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "godwit/base/executor.hpp"
#include "godwit/rpc/peer.hpp"
#include "rpc_station.hpp"

namespace godwit::inline v0::rpc {
namespace {

using test::Station;
using namespace std::chrono_literals;

constexpr std::size_t message_bytes = 1000;
constexpr int messages = 2000;
constexpr std::size_t most = 50 * message_bytes;
/// A handler waits as long as the test takes, however slow the machine is.
constexpr Limits patient{.output_queue_bytes = most, .output_wait = std::chrono::hours(1)};

constexpr std::string_view request = R"({"jsonrpc":"2.0","id":1,"method":"tell"})";

/// A handler that tells `messages` times, and how often it has.
struct Teller {
  std::atomic<int> told = 0;
  std::optional<ThreadPool> pool{std::in_place, 1};
  std::shared_ptr<Router> router = std::make_shared<Router>(&*pool);

  Teller() {
    router->on("tell", blocking([this](Context& context) {
                 const std::string text(message_bytes, 'x');
                 for (int i = 0; i < messages; ++i) {
                   context.notify("told", text);
                   ++told;
                 }
                 return true;
               }));
  }
  ~Teller() { pool.reset(); }  // the handler is the router's

  /// Gives the handler time until it stands still, or has told all.
  void let_it_tell() {
    while (told == 0) std::this_thread::yield();
    int quiet = 0;
    for (int last = told; last < messages && quiet < 200; ++quiet) {
      std::this_thread::yield();
      if (last != told) quiet = 0;
      last = told;
    }
  }
};

TEST(ToldByThreads, AHandlerIsNotFasterThanItsPeer) {
  Teller teller;
  Station station(teller.router, {.limits = patient});
  station.receive(request);
  std::size_t longest = 0;
  const auto done = [&] {
    return !station.sent.empty() && station.sent.back().find("\"id\"") != std::string::npos;
  };
  while (!done()) {
    teller.let_it_tell();
    const std::size_t before = station.sent.size();
    station.peer->process();
    longest = std::max(longest, station.sent.size() - before);
  }
  EXPECT_EQ(station.sent.size(), messages + 1u);  // nothing is lost
  EXPECT_LE(longest * message_bytes, most + 2 * message_bytes);
  EXPECT_GE(longest, 10u);  // and it need not wait after each one
}

TEST(ToldByThreads, AHandlerThatWaitsGoesOnWhenThePeerIsDestroyed) {
  Teller teller;
  Station station(teller.router, {.limits = patient});
  station.receive(request);
  teller.let_it_tell();
  EXPECT_LT(teller.told, messages);
  station.peer.reset();
}  // the pool waits for the handler

TEST(ToldByThreads, AHandlerDoesNotWaitForeverForAThreadThatWaitsForIt) {
  Teller teller;
  Station station(teller.router, {.limits = {.output_queue_bytes = most, .output_wait = 1ms}});
  station.receive(request);
  while (teller.told == 0) std::this_thread::yield();
  teller.pool.reset();  // waits for the handler, and nobody calls process()
  EXPECT_EQ(teller.told, messages);
  station.peer->process();
  EXPECT_EQ(station.sent.size(), messages + 1u);
}

}  // namespace
}  // namespace godwit::inline v0::rpc
