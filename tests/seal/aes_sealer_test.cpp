#include "godwit/seal/aes_sealer.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace godwit::inline v0 {
namespace {

constexpr std::string_view printable =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

SealKey key_of(std::uint8_t fill) {
  SealKey key;
  key.bytes.fill(fill);
  return key;
}

TEST(AesSealer, OpensWhatItSealed) {
  AesSealer sealer;
  for (const std::size_t size : {0u, 1u, 2u, 3u, 15u, 16u, 17u, 1000u, 256u << 10}) {
    std::string plain;
    for (std::size_t i = 0; i < size; ++i) plain += static_cast<char>(i * 7);
    const std::string sealed = sealer.seal(plain, "context");
    EXPECT_TRUE(sealed.starts_with("g1."));
    EXPECT_EQ(sealed.find_first_not_of(printable, 3), std::string::npos);
    EXPECT_EQ(sealed.size(), 3 + ((size + 56) * 4 + 2) / 3);
    EXPECT_EQ(sealer.open(sealed, "context"), plain);
  }
  EXPECT_EQ(sealer.open(sealer.seal("", ""), ""), "");
}

TEST(AesSealer, TheContextCounts) {
  AesSealer sealer;
  const std::string sealed = sealer.seal("text", "alice");
  EXPECT_EQ(sealer.open(sealed, "alice"), "text");
  EXPECT_FALSE(sealer.open(sealed, "bob"));
  EXPECT_FALSE(sealer.open(sealed, "alice "));
  EXPECT_FALSE(sealer.open(sealed, ""));
  EXPECT_FALSE(sealer.open(sealer.seal("text", ""), "alice"));
}

TEST(AesSealer, RefusesEveryChangedBit) {
  AesSealer sealer;
  // All three lengths of the last base64 group.
  for (const char* plain : {"", "a", "ab", "abc"}) {
    const std::string sealed = sealer.seal(plain, "c");
    for (std::size_t i = 0; i < sealed.size(); ++i) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string changed = sealed;
        changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
        EXPECT_FALSE(sealer.open(changed, "c")) << i << " " << bit;
      }
    }
  }
}

TEST(AesSealer, RefusesOtherLengths) {
  AesSealer sealer;
  const std::string sealed = sealer.seal("hello", "c");
  for (std::size_t size = 0; size < sealed.size(); ++size) {
    EXPECT_FALSE(sealer.open(sealed.substr(0, size), "c")) << size;
    EXPECT_FALSE(sealer.open(sealed.substr(sealed.size() - size), "c")) << size;
  }
  for (const char* more : {"A", "AA", "AAAA", "=", "==", " ", "\n"}) {
    EXPECT_FALSE(sealer.open(sealed + more, "c")) << more;
  }
  EXPECT_FALSE(sealer.open("g1." + std::string(2 << 20, 'A'), "c"));
  EXPECT_FALSE(sealer.open("g2" + sealed.substr(2), "c"));
  EXPECT_FALSE(sealer.open(std::string_view("\0\0\0", 3), "c"));
}

TEST(AesSealer, RefusesTheTextsOfOthers) {
  AesSealer mine, other;
  EXPECT_FALSE(mine.open(other.seal("text", "c"), "c"));
}

TEST(AesSealer, KeysAreReplaced) {
  AesSealer old({key_of(1)});
  AesSealer both({key_of(2), key_of(1)});
  AesSealer fresh({key_of(2)});
  const std::string by_old = old.seal("text", "c");
  EXPECT_EQ(both.open(by_old, "c"), "text");
  EXPECT_FALSE(fresh.open(by_old, "c"));
  const std::string by_both = both.seal("text", "c");
  EXPECT_EQ(fresh.open(by_both, "c"), "text");
  EXPECT_FALSE(old.open(by_both, "c"));
  // The same key in another object is the same sealer.
  EXPECT_EQ(AesSealer({key_of(1)}).open(by_old, "c"), "text");
  EXPECT_THROW(AesSealer(std::vector<SealKey>{}), std::invalid_argument);
}

TEST(AesSealer, TheFormatStays) {
  // Made once by this class. It must open forever: clients hold such texts over an upgrade.
  AesSealer sealer({key_of(42)});
  EXPECT_EQ(sealer.open("g1.eLyaa2_Lz8MT4HZXq4RQ4mFQtVlsOt0P9NLUSl5iN4R7-"
                        "vkwMyfY2qEDtM2fdNNoKzUsM9lHS6O_lrfDCPMakw",
                        "context"),
            "format 1");
}

TEST(AesSealer, NoTwoAreTheSame) {
  AesSealer sealer;
  EXPECT_NE(sealer.seal("text", "c"), sealer.seal("text", "c"));
  EXPECT_NE(AesSealer::random_key().bytes, AesSealer::random_key().bytes);
}

TEST(AesSealer, TooLongIsAMistakeOfTheCaller) {
  AesSealer sealer;
  EXPECT_THROW(sealer.seal(std::string(1 << 20, 'a'), "c"), std::length_error);
  const std::string most(((1 << 20) - 3) / 4 * 3 - 56, 'a');
  EXPECT_EQ(sealer.open(sealer.seal(most, "c"), "c"), most);
}

TEST(AesSealer, KeysFromText) {
  const auto key = AesSealer::key_from_base64("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd/j8=");
  ASSERT_TRUE(key);
  EXPECT_EQ(key->bytes[0], 0);
  EXPECT_EQ(key->bytes[29], 29);
  EXPECT_EQ(key->bytes[30], 0xfe);
  EXPECT_EQ(key->bytes[31], 0x3f);
  for (const char* same : {"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd/j8",
                           "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd_j8"}) {
    const auto again = AesSealer::key_from_base64(same);
    ASSERT_TRUE(again) << same;
    EXPECT_EQ(again->bytes, key->bytes);
  }
  for (const char* bad :
       {"", "=", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd/j8==",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd/j9", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd",
        " AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd/j8="}) {
    EXPECT_FALSE(AesSealer::key_from_base64(bad)) << bad;
  }

  EXPECT_FALSE(AesSealer::key_from_text(std::string(31, 'a')));
  const auto a = AesSealer::key_from_text(std::string(32, 'a'));
  const auto b = AesSealer::key_from_text(std::string(33, 'a'));
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->bytes, b->bytes);
  EXPECT_EQ(a->bytes, AesSealer::key_from_text(std::string(32, 'a'))->bytes);
}

TEST(AesSealer, ServesSeveralThreads) {
  AesSealer sealer({key_of(1), key_of(2)});
  AesSealer old({key_of(2)});
  const std::string shared = old.seal("shared", "c");
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string plain = std::to_string(t) + ":" + std::to_string(i);
        if (sealer.open(sealer.seal(plain, plain), plain) != plain) ++wrong;
        if (sealer.open(shared, "c") != "shared") ++wrong;
        if (sealer.open(shared, plain)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace godwit::inline v0
