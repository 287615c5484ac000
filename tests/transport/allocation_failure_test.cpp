// Any allocation of a Connection may fail: what is asked has an outcome, or the exception goes to
// the one who asked.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fail_allocations.hpp"
#include "godwit/transport/connection.hpp"
#include "godwit/transport/memory.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;

struct Text {
  std::string text{};
};

TEST(ConnectionAllocationFailure, OfAQuestion) {
  auto router = std::make_shared<rpc::Router>();
  router->on("shout", [](Text in) { return in.text + ", said louder than it was said before"; });
  rpc::PeerOptions options;
  options.log = Log([](LogLevel, std::string_view) {});
  for (const std::string_view method : {"shout", "a method that is not there"}) {
    const auto round = [&] {
      Loop loop;
      auto [near_end, far_end] = memory_pair(loop);
      const Connection server(loop, std::move(far_end), router, options);
      Connection client(loop, std::move(near_end), nullptr, options);
      std::optional<Result<std::string>> outcome;
      const bool returned = test::may_fail([&] {
        outcome = client.ask<std::string>(method, Text{.text = "a text of some length"},
                                          {.timeout = 10s});
      });
      EXPECT_EQ(returned, outcome.has_value());
    };
    EXPECT_GT(test::fail_each_allocation(round, [] {}), 3);
  }
}

}  // namespace
}  // namespace godwit::inline v0
