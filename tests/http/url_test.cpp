#include "godwit/http/url.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

using godwit::http::Url;

TEST(Url, Parts) {
  const auto url = Url::parse("HTTPS://Example.COM:8443/a%2Fb?c=d?e&%zz#frag?ment");
  ASSERT_TRUE(url) << url.error().message;
  EXPECT_EQ(url->scheme, "https");
  EXPECT_EQ(url->host, "example.com");
  EXPECT_EQ(url->port, 8443);
  EXPECT_EQ(url->target, "/a%2Fb?c=d?e&%zz");
  EXPECT_TRUE(url->secure());
  EXPECT_EQ(url->authority(), "example.com:8443");
  EXPECT_EQ(url->origin(), "https://example.com:8443");
  EXPECT_EQ(url->text(), "https://example.com:8443/a%2Fb?c=d?e&%zz");
}

TEST(Url, WhatIsTheSame) {
  const std::pair<const char*, const char*> cases[] = {
      {"http://a", "http://a/"},
      {"http://a?x", "http://a/?x"},
      {"http://a#x", "http://a/"},
      {"http://a?", "http://a/?"},
      {"http://a:80/", "http://a/"},
      {"http://a:/", "http://a/"},
      {"http://a:0080/", "http://a/"},
      {"https://a:443/", "https://a/"},
      {"https://a:80/", "https://a:80/"},
      {"ws://a:80/x", "ws://a/x"},
      {"wss://A:443/x", "wss://a/x"},
      {"ws://a:443/x", "ws://a:443/x"},
      {"http://127.0.0.1:8080/mcp", "http://127.0.0.1:8080/mcp"},
      {"http://[::1]:8080/mcp", "http://[::1]:8080/mcp"},
      {"http://[FE80::A]", "http://[fe80::a]/"},
      {"http://a_b-c.d./", "http://a_b-c.d./"},
      {"http://a//b/../c", "http://a//b/../c"},
      {"http://a/@b:c", "http://a/@b:c"},
      {"http://a/?u@b", "http://a/?u@b"},
  };
  for (const auto& [text, same] : cases) {
    const auto url = Url::parse(text);
    ASSERT_TRUE(url) << text << ": " << url.error().message;
    EXPECT_EQ(url->text(), same);
    const auto again = Url::parse(url->text());
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, *url);
  }
  EXPECT_EQ(Url::parse("http://[::1]/")->host, "::1");
  EXPECT_FALSE(Url::parse("ws://a")->secure());
  EXPECT_TRUE(Url::parse("wss://a")->secure());
}

TEST(Url, WhatIsRefused) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "no scheme"},
      {"a", "no scheme"},
      {"/a", "no scheme"},
      {"//a/b", "no scheme"},
      {"://a", "no scheme"},
      {"1http://a", "no scheme"},
      {"ftp://a", "http, https, ws or wss"},
      {"file:///etc/passwd", "http, https, ws or wss"},
      {"javascript:alert(1)", "http, https, ws or wss"},
      {"httpx://a", "http, https, ws or wss"},
      {"h+t.p-://a", "http, https, ws or wss"},
      {"http:a", "\"//\" is missing"},
      {"http:/a", "\"//\" is missing"},
      {"http:", "\"//\" is missing"},
      {"http://", "a host was expected"},
      {"http:///a", "a host was expected"},
      {"http://?a", "a host was expected"},
      {"http://:80", "a host was expected"},
      {"http://:", "a host was expected"},
      {"http://a::", "a host was expected"},
      {"http://a:b", "a host was expected"},
      {"http://a:-1", "a host was expected"},
      {"http://a:+1", "a host was expected"},
      {"http://a:65536", "a host was expected"},
      {"http://a:100000", "a host was expected"},
      {"http://a:1:2", "a host was expected"},
      {"http://a:0", "0 is no port"},
      {"http://u@a/", "user name"},
      {"http://u:p@a/", "user name"},
      {"http://@a/", "user name"},
      {"http://[::1", "a host was expected"},
      {"http://::1/", "a host was expected"},
      {"http://[]/", "a host was expected"},
      {"http://[::1]a/", "a host was expected"},
      {"http://[fe80::1%25eth0]/", "a host was expected"},
      {"http://a%41/", "a host was expected"},
      {"http://a,b/", "a host was expected"},
      {"http://a b/", "0x20"},
      {" http://a/", "0x20"},
      {"http://a/ ", "0x20"},
      {"http://a/\r\nX: y", "0x0d"},
      {"http://a/\t", "0x09"},
      {"http://a/\x7f", "0x7f"},
      {"http://\xc3\xa4/", "0xc3"},
      {"http://a\\@b/", "0x5c"},
      {"http://a/#\n", "0x0a"},
      {std::string("http://a\0b/", 11), "0x00"},
      {"http://" + std::string(256, 'a'), "a host was expected"},
  };
  for (const auto& [text, why] : cases) {
    const auto url = Url::parse(text);
    ASSERT_FALSE(url) << text;
    EXPECT_NE(url.error().message.find(why), std::string::npos) << url.error().message;
  }
  // A password must not end up in a log.
  for (const char* text : {"http://u:secret@a/", "http://u:secret@a/ b", "ftp://u:secret@a/"})
    EXPECT_EQ(Url::parse(text).error().message.find("secret"), std::string::npos) << text;
}

// RFC 3986 5.4, as far as these schemes go.
TEST(Url, References) {
  const auto base = Url::parse("http://a/b/c/d;p?q");
  ASSERT_TRUE(base);
  const std::pair<const char*, const char*> cases[] = {
      {"g", "http://a/b/c/g"},
      {"./g", "http://a/b/c/g"},
      {"g/", "http://a/b/c/g/"},
      {"/g", "http://a/g"},
      {"//g", "http://g/"},
      {"?y", "http://a/b/c/d;p?y"},
      {"g?y", "http://a/b/c/g?y"},
      {"#s", "http://a/b/c/d;p?q"},
      {"g#s", "http://a/b/c/g"},
      {"g?y#s", "http://a/b/c/g?y"},
      {";x", "http://a/b/c/;x"},
      {"g;x", "http://a/b/c/g;x"},
      {"g;x?y#s", "http://a/b/c/g;x?y"},
      {"", "http://a/b/c/d;p?q"},
      {".", "http://a/b/c/"},
      {"./", "http://a/b/c/"},
      {"..", "http://a/b/"},
      {"../", "http://a/b/"},
      {"../g", "http://a/b/g"},
      {"../..", "http://a/"},
      {"../../", "http://a/"},
      {"../../g", "http://a/g"},
      {"../../../g", "http://a/g"},
      {"../../../../g", "http://a/g"},
      {"/./g", "http://a/g"},
      {"/../g", "http://a/g"},
      {"g.", "http://a/b/c/g."},
      {".g", "http://a/b/c/.g"},
      {"g..", "http://a/b/c/g.."},
      {"..g", "http://a/b/c/..g"},
      {"./../g", "http://a/b/g"},
      {"./g/.", "http://a/b/c/g/"},
      {"g/./h", "http://a/b/c/g/h"},
      {"g/../h", "http://a/b/c/h"},
      {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
      {"g;x=1/../y", "http://a/b/c/y"},
      {"g?y/./x", "http://a/b/c/g?y/./x"},
      {"g?y/../x", "http://a/b/c/g?y/../x"},
      {"g#s/../x", "http://a/b/c/g"},
      {"/messages?s=1", "http://a/messages?s=1"},
      {"https://b:8443/x/../y", "https://b:8443/y"},
      {"//b:81/x", "http://b:81/x"},
      {"g/http://x", "http://a/b/c/g/http://x"},
      {"?a:b", "http://a/b/c/d;p?a:b"},
      {"/", "http://a/"},
      {"/..", "http://a/"},
      {"//g?y", "http://g/?y"},
      {"/a//../b", "http://a/a/b"},
  };
  for (const auto& [reference, target] : cases) {
    const auto url = base->resolve(reference);
    ASSERT_TRUE(url) << reference << ": " << url.error().message;
    EXPECT_EQ(url->text(), target) << reference;
  }
  for (const char* bad :
       {"g:h", "http:g", "ftp://x", "//", "//u@b/", "a b", "\\\\b", "/\r\n", "/\xe4"})
    EXPECT_FALSE(base->resolve(bad)) << bad;
}

TEST(Url, DescribesWhatAServerPointsTo) {
  const Url here = *Url::parse("https://example.com/a/b?c");
  EXPECT_EQ(here.describe("d#e"), "https://example.com/a/d");
  EXPECT_EQ(here.describe("http://me:secret@else.example/x?y=1@2"), "http://else.example/x?y=1@2");
  EXPECT_EQ(here.describe("//me@else.example"), "https://else.example/");
  EXPECT_EQ(here.describe("/x//y@z"), "https://example.com/x//y@z");
  EXPECT_EQ(here.describe("ftp://else.example/x"), "\"ftp://else.example/x\"");
  EXPECT_EQ(here.describe("mailto:me@else.example"), "an address that cannot be read");
  EXPECT_EQ(here.describe("/\x1b[31m"), "\"/?[31m\"");
  EXPECT_EQ(here.describe("/" + std::string(10'000, 'x')).size(), 303u);
}
