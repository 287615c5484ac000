#include "godwit/io/ip_address.hpp"

#include <gtest/gtest.h>

#include <string>

namespace godwit::inline v0 {
namespace {

IpAddress ip(std::string_view text) {
  const auto found = IpAddress::parse(text);
  EXPECT_TRUE(found) << text;
  return found.value_or(IpAddress{});
}

TEST(IpAddress, ReadsNumbersOnly) {
  EXPECT_TRUE(ip("192.0.2.1").is_v4());
  EXPECT_FALSE(ip("2001:db8::1").is_v4());
  EXPECT_EQ(ip("::ffff:192.0.2.1"), ip("192.0.2.1"));
  EXPECT_EQ(ip("2001:DB8:0::1"), ip("2001:db8::1"));
  for (const std::string& bad :
       {std::string(""), std::string("localhost"), std::string("1.2.3"), std::string("1.2.3.4.5"),
        std::string("256.1.1.1"), std::string("01.2.3.4"), std::string("1.2.3.4 "),
        std::string(" 1.2.3.4"), std::string("1.2.3.4:80"), std::string("[::1]"),
        std::string("::1%lo"), std::string(":::"), std::string("1.2.3.4\0", 8),
        std::string("0x7f.1"), std::string(1'000, '1')}) {
    EXPECT_FALSE(IpAddress::parse(bad)) << bad;
  }
}

TEST(IpAddress, TheOwnerOfIpv6IsANetwork) {
  EXPECT_EQ(ip("2001:db8::1").owner(), ip("2001:db8::ffff:1").owner());
  EXPECT_NE(ip("2001:db8:0:1::1").owner(), ip("2001:db8:0:2::1").owner());
  EXPECT_NE(ip("192.0.2.1").owner(), ip("192.0.2.2").owner());
}

TEST(IpAddress, KnowsTheOwnMachine) {
  EXPECT_TRUE(ip("127.0.0.1").is_loopback());
  EXPECT_TRUE(ip("127.9.9.9").is_loopback());
  EXPECT_TRUE(ip("::1").is_loopback());
  EXPECT_FALSE(ip("128.0.0.1").is_loopback());
  EXPECT_FALSE(ip("::2").is_loopback());
  EXPECT_FALSE(ip("1::1").is_loopback());
}

TEST(IpNetwork, Contains) {
  const auto in = [](std::string_view network, std::string_view address) {
    const auto found = IpNetwork::parse(network);
    EXPECT_TRUE(found) << network;
    return found && found->contains(ip(address));
  };
  EXPECT_TRUE(in("10.0.0.0/8", "10.255.0.1"));
  EXPECT_FALSE(in("10.0.0.0/8", "11.0.0.1"));
  EXPECT_TRUE(in("10.128.0.0/9", "10.200.0.1"));
  EXPECT_FALSE(in("10.128.0.0/9", "10.1.0.1"));
  EXPECT_TRUE(in("0.0.0.0/0", "1.2.3.4"));
  EXPECT_FALSE(in("0.0.0.0/0", "2001:db8::1"));
  EXPECT_TRUE(in("::/0", "2001:db8::1"));
  EXPECT_TRUE(in("127.0.0.1", "127.0.0.1"));
  EXPECT_TRUE(in("127.0.0.1", "::ffff:127.0.0.1"));
  EXPECT_FALSE(in("127.0.0.1", "127.0.0.2"));
  EXPECT_TRUE(in("2001:db8::/33", "2001:db8:7fff::1"));
  EXPECT_FALSE(in("2001:db8::/33", "2001:db8:8000::1"));
  for (const char* bad : {"10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/", "10.0.0.0/x", "10.0.0.0/-1",
                          "::/129", "proxy", "10.0.0.0/8/8", "/8", ""}) {
    EXPECT_FALSE(IpNetwork::parse(bad)) << bad;
  }
}

}  // namespace
}  // namespace godwit::inline v0
