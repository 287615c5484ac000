#include "godwit/http/trusted_proxies.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace godwit::inline v0::http {
namespace {

struct Case {
  const char* peer;
  std::vector<const char*> fields;
  const char* client;  // null if there is none
};

std::optional<IpAddress> client_of(const Case& c, const TrustedProxies& proxies) {
  std::vector<Field> fields{{"Host", "localhost"}};
  for (const char* value : c.fields) fields.push_back({"x-forwarded-for", value});
  const Request request{.fields = FieldsView(fields), .peer = c.peer};
  return proxies.client_of(request);
}

TrustedProxies behind(std::vector<const char*> networks) {
  TrustedProxies out;
  for (const char* text : networks) out.networks.push_back(IpNetwork::parse(text).value());
  return out;
}

TEST(TrustedProxies, NobodyIsBelievedUnasked) {
  for (const Case& c :
       {Case{"127.0.0.1:1", {"192.0.2.7"}, "127.0.0.1"}, Case{"[::1]:1", {"192.0.2.7"}, "::1"},
        Case{"198.51.100.3:1", {}, "198.51.100.3"}}) {
    EXPECT_EQ(client_of(c, {}), IpAddress::parse(c.client)) << c.peer;
  }
  EXPECT_FALSE(client_of({"", {"192.0.2.7"}, nullptr}, {}));
  EXPECT_FALSE(client_of({"a socket", {"192.0.2.7"}, nullptr}, behind({"0.0.0.0/0"})));
}

TEST(TrustedProxies, TheLastOneThatIsNoProxyIsTheClient) {
  const TrustedProxies proxies = behind({"127.0.0.1", "::1", "10.0.0.0/8"});
  for (const Case& c : {
           Case{"127.0.0.1:1", {"192.0.2.7"}, "192.0.2.7"},
           Case{"[::1]:1", {"2001:db8::7"}, "2001:db8::7"},
           Case{"[::ffff:127.0.0.1]:1", {"192.0.2.7"}, "192.0.2.7"},
           // What stands before is the client's own invention.
           Case{"127.0.0.1:1", {"1.1.1.1, 192.0.2.7"}, "192.0.2.7"},
           Case{"127.0.0.1:1", {"127.0.0.1, 192.0.2.7"}, "192.0.2.7"},
           Case{"127.0.0.1:1", {"1.1.1.1", "192.0.2.7"}, "192.0.2.7"},
           // Proxies behind each other.
           Case{"127.0.0.1:1", {"1.1.1.1, 192.0.2.7,10.1.2.3 ,\t10.0.0.1 "}, "192.0.2.7"},
           Case{"127.0.0.1:1", {"192.0.2.7", "10.0.0.1"}, "192.0.2.7"},
           // A client inside.
           Case{"127.0.0.1:1", {"10.0.0.9, 10.0.0.1"}, "10.0.0.9"},
           // With a port.
           Case{"127.0.0.1:1", {"192.0.2.7:5000"}, "192.0.2.7"},
           Case{"127.0.0.1:1", {"[2001:db8::7]:5000"}, "2001:db8::7"},
           Case{"127.0.0.1:1", {"[2001:db8::7]"}, "2001:db8::7"},
           // Nothing is said: the proxy itself.
           Case{"127.0.0.1:1", {}, "127.0.0.1"},
           Case{"127.0.0.1:1", {""}, "127.0.0.1"},
           // A client is not asked.
           Case{"198.51.100.3:1", {"192.0.2.7"}, "198.51.100.3"},
       }) {
    EXPECT_EQ(client_of(c, proxies), IpAddress::parse(c.client))
        << c.peer << " " << (c.fields.empty() ? "" : c.fields[0]);
  }
}

TEST(TrustedProxies, WhatCannotBeReadEndsTheSearch) {
  const TrustedProxies proxies = behind({"127.0.0.1", "10.0.0.0/8"});
  for (const char* bad :
       {"unknown", "_hidden", "client.example.com", "192.0.2", "192.0.2.7.8", "\"192.0.2.7\"",
        "192.0.2.7;", "for=192.0.2.7", "192.0.2.7:", "192.0.2.7:99999", "[192.0.2.7]", "[]",
        "192.0.2.7,", ",", " , ", "192.0.2.7 10.0.0.1"}) {
    EXPECT_EQ(client_of({"127.0.0.1:1", {bad}, nullptr}, proxies), IpAddress::parse("127.0.0.1"))
        << bad;
    const std::string more = std::string(bad) + ", 10.0.0.1";
    EXPECT_EQ(client_of({"127.0.0.1:1", {more.c_str()}, nullptr}, proxies),
              IpAddress::parse("10.0.0.1"))
        << more;
  }
}

TEST(TrustedProxies, AnotherField) {
  TrustedProxies proxies = behind({"127.0.0.1"});
  proxies.field = "X-Real-IP";
  std::vector<Field> fields{{"X-Forwarded-For", "192.0.2.7"}, {"X-Real-IP", "192.0.2.8"}};
  const Request request{.fields = FieldsView(fields), .peer = "127.0.0.1:1"};
  EXPECT_EQ(proxies.client_of(request), IpAddress::parse("192.0.2.8"));
}

}  // namespace
}  // namespace godwit::inline v0::http
