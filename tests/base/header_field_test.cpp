#include "godwit/base/header_field.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace godwit
