#include "godwit/base/base64.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>

using godwit::base64;
using godwit::from_base64;

TEST(Base64, TheExamplesOfTheSpecification) {
  const std::pair<const char*, const char*> cases[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, EveryByteComesBack) {
  std::mt19937 random(1);
  for (std::size_t size = 0; size < 300; ++size) {
    std::string bytes(size, ' ');
    for (char& c : bytes) c = static_cast<char>(random());
    EXPECT_EQ(from_base64(base64(bytes)), bytes);
  }
}

TEST(Base64, OtherTextsAreRefused) {
  for (const char* bad :
       {"Z", "Zg", "Zg=", "Zg===", "=", "====", "Z===", "Zh==", "Zm9=", "Zm9v\n", " Zm9v", "Zm 9",
        "Zm_v", "Zm-v", "Zg==Zg==", "Zg=v", "\xff\xff\xff\xff"}) {
    EXPECT_FALSE(from_base64(bad)) << bad;
  }
}
