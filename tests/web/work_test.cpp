// Twice the input, at most two and a half times the steps: for events that are kept and sent again.
#include "work.hpp"

#include <gtest/gtest.h>

#include <string>

#include "godwit/web/memory_event_store.hpp"

namespace godwit::inline v0 {
namespace {

TEST(WebWork, OfReplay) {
  Limits limits;
  limits.stream_events = 1'000'000;
  limits.stream_bytes = limits.event_store_bytes = 100u << 20;
  const auto make = [](std::size_t size) { return std::string(size, 'x'); };
  expect_linear({
      {"all of a stream", make,
       [&](const std::string& input) {
         MemoryEventStore store(limits);
         for (std::uint64_t i = 1; i <= input.size(); ++i) store.append("a", i, "x");
         std::size_t events = 0;
         EXPECT_TRUE(
             store.replay("a", 0, [&](std::uint64_t, std::string_view) { return ++events > 0; }));
         EXPECT_EQ(events, input.size());
       }},
      {"many streams", make,
       [&](const std::string& input) {
         MemoryEventStore store(limits);
         for (std::size_t i = 0; i < input.size(); ++i) store.append(std::to_string(i), 1, "x");
         for (std::size_t i = 0; i < input.size(); ++i) store.forget(std::to_string(i));
         EXPECT_EQ(store.bytes(), 0u);
       }},
  });
}

}  // namespace
}  // namespace godwit::inline v0
