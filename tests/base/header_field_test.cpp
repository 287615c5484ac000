#include "godwit/base/header_field.hpp"

#include <gtest/gtest.h>

#include <string>

namespace godwit {
namespace {

TEST(HeaderField, NamesDoNotDistinguishCase) {
  EXPECT_TRUE(same_header_name("", ""));
  EXPECT_TRUE(same_header_name("Content-Type", "content-TYPE"));
  EXPECT_FALSE(same_header_name("Content-Type", "Content-Typ"));
  EXPECT_FALSE(same_header_name("a", "b"));
  // Only letters of ASCII have two forms.
  EXPECT_FALSE(same_header_name("@", "`"));
  EXPECT_FALSE(same_header_name("[", "{"));
  EXPECT_FALSE(same_header_name("\xc3\x84", "\xc3\xa4"));
}

TEST(HeaderField, EveryByteOfANameCounts) {
  // Names of all lengths around a machine word, with one byte of each value at each place.
  for (std::size_t size = 1; size <= 25; ++size) {
    const std::string name(size, 'x');
    for (std::size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string other = name;
        other[at] = static_cast<char>(byte);
        const bool same = byte == 'x' || byte == 'X';
        EXPECT_EQ(same_header_name(name, other), same) << size << " " << at << " " << byte;
        std::string capital = name;
        capital[at] = static_cast<char>(byte >= 'a' && byte <= 'z' ? byte - 32 : byte);
        EXPECT_TRUE(same_header_name(other, capital)) << size << " " << at << " " << byte;
      }
    }
  }
}

}  // namespace
}  // namespace godwit
