// The programs of docs/jsonrpc.md: what stands there is copied from here, and here it is checked.
#include <gtest/gtest.h>

#include <deque>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "godwit/base/executor.hpp"
#include "godwit/rpc/message.hpp"
#include "godwit/rpc/peer.hpp"
#include "rpc_station.hpp"

namespace json = godwit::json;
namespace rpc = godwit::rpc;
using godwit::Result;

namespace {

struct Weather {
  std::string city{};
  std::optional<int> days{};
};
struct Forecast {
  std::string text{};
  double degrees{};
};

double fetch_degrees(const std::string& city) { return city == "Oslo" ? 4.5 : 21; }

std::shared_ptr<rpc::Router> weather_router(godwit::ThreadPool& pool,
                                            std::vector<rpc::Reply<Forecast>>& waiting) {
  auto router = std::make_shared<rpc::Router>(&pool);

  router->on("subtract", {"minuend", "subtrahend"}, [](int a, int b) { return a - b; });

  router->on("forecast", [](Weather in) -> Result<Forecast> {
    if (in.city.empty()) return rpc::invalid_params("the city has no name");
    return Forecast{.text = "sunny in " + in.city, .degrees = 21};
  });

  router->on("measure", rpc::blocking([](Weather in, rpc::Context& cx) -> Result<Forecast> {
               if (cx.cancelled().stop_requested()) return rpc::internal_error("stopped");
               cx.notify("progress", json::Object{{"done", 0.5}});
               return Forecast{.text = "measured", .degrees = fetch_degrees(in.city)};
             }));

  router->on("when_it_rains",
             [&](Weather, rpc::Reply<Forecast> reply) { waiting.push_back(std::move(reply)); });

  router->use({.before = [](rpc::IncomingCall& call) -> rpc::Verdict {
                 if (call.method() != "secret") return {};
                 return rpc::server_error(rpc::ServerErrorCode(-32010), "not for you");
               },
               .after =
                   [](rpc::Outcome& outcome) {
                     std::clog << outcome.method() << (outcome.error() ? " failed" : " went well")
                               << " after " << outcome.took().count() << " ns\n";
                   }});
  return router;
}

/// Somebody's event loop.
struct Host {
  std::deque<std::string> outbox;
  std::vector<std::string> lines;
};

TEST(Guide, ServerAndClient) {
  godwit::ThreadPool pool(1);
  std::vector<rpc::Reply<Forecast>> waiting;
  const std::ostringstream silence;
  std::streambuf* const old = std::clog.rdbuf(silence.rdbuf());
  std::atomic<bool> woken = false;
  Host host;
  std::vector<std::string> lines;
  {
    auto router = weather_router(pool, waiting);
    godwit::test::Station server(router, {.wake = [&] {
                                   woken = true;
                                   woken.notify_all();
                                 }});
    godwit::test::Station here;
    rpc::Peer& peer = *here.peer;

    peer.call<Forecast>("forecast", Weather{.city = "Oslo"}, [&](Result<Forecast> day) {
      if (!day) {
        lines.push_back(rpc::explain(day.error()));
        return;
      }
      lines.push_back(day->text);
    });
    peer.call("subtract", std::tuple(42, 23),
              [&](Result<json::Value> difference) { lines.push_back(difference->dump()); });

    rpc::CallHandle slow = peer.call<Forecast>(
        "measure", Weather{.city = "Oslo"},
        [&](Result<Forecast> day) { lines.push_back(rpc::explain(day.error())); },
        {.timeout = std::chrono::seconds(5)});
    peer.extend(slow, std::chrono::minutes(1));
    peer.cancel(slow, "the user left");

    peer.call<Forecast>("forecast", Weather{},
                        [&](Result<Forecast> day) { lines.push_back(rpc::explain(day.error())); });
    peer.call("nope", rpc::no_params,
              [&](Result<json::Value> outcome) { lines.push_back(rpc::explain(outcome.error())); });

    rpc::Batch batch = peer.batch();
    batch.call<int>("subtract", std::tuple(5, 3),
                    [&](Result<int> two) { lines.push_back(std::to_string(*two)); });
    batch.notify("subtract", std::tuple(1, 1));
    batch.send();

    pump(here, server);
    woken.wait(false);  // the blocking handler is done
    pump(here, server);
  }
  std::clog.rdbuf(old);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0], "cancelled: \"measure\" was cancelled: the user left");
  EXPECT_EQ(lines[1], "sunny in Oslo");
  EXPECT_EQ(lines[2], "19");
  EXPECT_EQ(lines[3], "client error: Invalid params (-32602): the city has no name");
  EXPECT_EQ(lines[4], "client error: Method not found (-32601): there is no method \"nope\"");
  EXPECT_EQ(lines[5], "2");
}

TEST(Guide, AForeignLoop) {
  Host host;
  auto router = std::make_shared<rpc::Router>();
  router->on("ping", [] { return "pong"; });

  // Messages go out through a function …
  rpc::MessageSink sink([&](std::string_view message) { host.outbox.emplace_back(message); });
  rpc::Peer peer(sink, router, {.wake = [] { /* post peer.process() to the loop */ }});

  // … come in whole, without their framing …
  peer.receive(R"({"jsonrpc":"2.0","id":1,"method":"ping"})");

  // … and time passes when the loop says so.
  const auto next = peer.next_deadline();
  if (next && *next <= godwit::steady_clock().now()) peer.expire(godwit::steady_clock().now());

  peer.process();  // what handlers on other threads have answered
  EXPECT_EQ(host.outbox.at(0), R"({"jsonrpc":"2.0","id":1,"result":"pong"})");
}

TEST(Guide, MessagesByHand) {
  std::vector<std::string> seen;
  auto parsed = rpc::parse_message(R"({"jsonrpc":"2.0","id":7,"method":"ping","trace":"abc"})");
  if (!parsed) {
    std::cerr << rpc::explain(parsed.error()) << "\n";
  } else if (auto* request = std::get_if<rpc::Request>(parsed->single())) {
    seen.push_back(request->method + " " + request->id.text() + " " +
                   request->extra["trace"].dump());
    seen.push_back(rpc::serialize(rpc::make_response(request->id, "pong")));
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"ping 7 \"abc\"",
                                            R"({"jsonrpc":"2.0","id":7,"result":"pong"})"}));
}

TEST(Guide, Rules) {
  // A protocol that wants named parameters, no null ids and no batches.
  constexpr rpc::Rules rules{.array_params = false, .null_id = false, .batch = false};
  EXPECT_FALSE(rpc::parse_message("[]", rules));
}

}  // namespace
