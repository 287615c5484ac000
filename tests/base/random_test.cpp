#include "godwit/base/random.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace {

TEST(Random, HexHasTwoDigitsForEachByte) {
  for (const std::size_t bytes : {0u, 1u, 3u, 4u, 5u, 16u, 33u}) {
    const std::string text = godwit::random_hex(bytes);
    EXPECT_EQ(text.size(), 2 * bytes);
    EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), text.npos) << text;
  }
}

TEST(Random, AllDigitsOccurAtAllPlaces) {
  std::vector<std::set<char>> seen(32);
  for (int i = 0; i < 1000; ++i) {
    const std::string text = godwit::random_hex();
    for (std::size_t at = 0; at < text.size(); ++at) seen[at].insert(text[at]);
  }
  for (const std::set<char>& digits : seen) EXPECT_EQ(digits.size(), 16u);
}

TEST(Random, NothingComesTwiceOnAnyThread) {
  std::mutex mutex;
  std::set<std::string> all;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 1000; ++j) {
        std::string text = godwit::random_hex();
        const std::lock_guard lock(mutex);
        all.insert(std::move(text));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(all.size(), 4000u);
}

}  // namespace
