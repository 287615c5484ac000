#include "godwit/io/address.hpp"

#include <gtest/gtest.h>

using godwit::Address;

TEST(Address, GoodOnes) {
  for (const char* text : {"127.0.0.1:8080", "[::1]:80", "localhost:0", "my-host.example:65535",
                           "0.0.0.0:1", "[::]:1", "[fe80::1%eth0]:7"}) {
    const auto address = Address::parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->text(), text);
  }
  EXPECT_EQ(*Address::parse("[::1]:80"), (Address{.host = "::1", .port = 80}));
}

TEST(Address, TheOwnMachine) {
  for (const char* host : {"localhost", "LocalHost", "app.localhost", "127.0.0.1", "127.255.0.7",
                           "::1", "0:0:0:0:0:0:0:1"}) {
    EXPECT_TRUE(godwit::is_loopback(host)) << host;
  }
  for (const char* host :
       {"", "127.evil.example", "127.0.0.1.evil.example", "127.", "127.0.0.1.2", "128.0.0.1",
        "127.0.0.256", "localhost.evil.example", "mylocalhost", ".localhost", "0.0.0.0",
        "::", "::2", "[::1]", "fe80::1", "10.0.0.1", "127.0.0.1 ", "2001:db8::127.0.0.1"}) {
    EXPECT_FALSE(godwit::is_loopback(host)) << host;
  }
  EXPECT_FALSE(godwit::is_loopback(std::string_view("127.0.0.1\0.evil.example", 23)));
}

TEST(Address, BadOnesSayWhyAndWhatToWrite) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "port is missing"},
      {"8080", "port is missing"},
      {":8080", "host is missing"},
      {"::1:80", "needs brackets"},
      {"[::1:80", "']'"},
      {"[::1]", "port is missing"},
      {"[::1]80", "port is missing"},
      {"[host]:80", "no IPv6"},
      {"h:", "0 to 65535"},
      {"h:65536", "0 to 65535"},
      {"h:-1", "0 to 65535"},
      {"h:+1", "0 to 65535"},
      {"h:1x", "0 to 65535"},
      {"h: 1", "0 to 65535"},
      {"h:000001", "0 to 65535"},
      {"a b:1", "no host name"},
      {"http://h:1", "needs brackets"},
      {"a/b:1", "no host name"},
  };
  for (const auto& [text, why] : cases) {
    const auto address = Address::parse(text);
    ASSERT_FALSE(address) << text;
    EXPECT_NE(address.error().message.find(why), std::string::npos) << address.error().message;
    EXPECT_NE(address.error().message.find("HOST:PORT"), std::string::npos);
  }
}
